"""What an operator should know of the disks of a quorum: each observation a sentence, a problem or a note.

A note is a state that the protocol gives rise to and gets over by itself. A problem is one that it does not
get over, that breaks a promise, or that makes the next start dangerous.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Final

from kraftcheck.evidence.disks.disk import QUORUM_STATE, StoredDisk, VoterSetAt
from kraftcheck.evidence.disks.quorum import Quorum, agreed, is_voter
from kraftcheck.evidence.disks.records import VoterKey


@dataclass(frozen=True, slots=True)
class Observation:
    """``nodes``: whom it concerns; ``kind``: its name for programs; ``text``: a sentence or two; ``see``: the
    rules, or the pages of findings, behind it.
    """

    kind: str
    is_problem: bool
    nodes: tuple[str, ...]
    text: str
    see: tuple[str, ...] = ()


def observations(quorum: Quorum) -> list[Observation]:
    """All that the disks show."""
    found = [each for disk in quorum.disks for check in _OF_A_DISK for each in check(disk)]
    # Logs of several clusters differ from the first record on, which is no finding.
    together = (_identities, _untouched) if len(quorum.clusters) > 1 else _OF_THE_QUORUM
    return found + [each for check in together for each in check(quorum)]


def in_order(found: Iterable[Observation]) -> list[Observation]:
    """Problems first, then by node."""
    return sorted(found, key=lambda each: (not each.is_problem, each.nodes))


def _note(kind: str, disk: StoredDisk, text: str, *see: str) -> Observation:
    return Observation(kind, False, (disk.name,), f"{disk.label} {text}", see)


def _problem(kind: str, disk: StoredDisk, text: str, *see: str) -> Observation:
    return Observation(kind, True, (disk.name,), f"{disk.label} {text}", see)


# -- one disk ---------------------------------------------------------------------------------------


def _damage(disk: StoredDisk) -> Iterator[Observation]:
    for each in disk.damage:
        text = str(each)
        behind = [batch for batch in disk.behind if each.base is not None and batch.base > each.base]
        if each.cuts_off and behind:
            text += (
                f", {len(behind)} readable {'batch' if len(behind) == 1 else 'batches'} up to offset "
                f"{behind[-1].last:,} included. Copy the directory before this node starts"
            )
        yield Observation("damage", True, (disk.name,), f"{disk.label}: {text}.")


def _identity(disk: StoredDisk) -> Iterator[Observation]:
    if disk.key is None and not any(each.file == "meta.properties" for each in disk.damage):
        yield _problem(
            "no-identity", disk, "has no meta.properties with a node id: Kafka does not start with it."
        )


def _election_state(disk: StoredDisk) -> Iterator[Observation]:
    state = disk.state
    unreadable = any(each.file == QUORUM_STATE for each in disk.damage)
    if state is None and not unreadable and not _is_untouched(disk):
        yield _forgotten_vote(disk)
    if state is None:
        return
    if state.epoch < disk.last_epoch:
        yield _problem(
            "epoch-behind-log",
            disk,
            f"has epoch {state.epoch} in quorum-state, but records of epoch {disk.last_epoch}: the file is "
            "older than the log, and a vote may be forgotten.",
        )
        return
    own = disk.key
    if own is None or state.vote is None or state.leader in (None, own.id):
        return
    if state.vote.id != own.id or state.vote.directory not in (None, own.directory):
        return
    text = f"has its own vote and node {state.leader} as the leader of epoch {state.epoch} in quorum-state. "
    if not disk.voters or is_voter(disk, disk.voters):
        text += "Kafka writes this state; the next start makes it a candidate of an epoch that has a leader."
        yield _problem("own-vote-other-leader", disk, text, "INIT-4", "restart-as-candidate")
    else:
        text += "It is no voter any more, so that the process exits at its next start."
        yield _problem("own-vote-other-leader", disk, text, "INIT-4", "removed-candidate")


def _is_untouched(disk: StoredDisk) -> bool:
    """Whether a disk has nothing of a quorum, as after it was formatted without voters."""
    kept = disk.batches or disk.snapshots or disk.log_is_damaged or disk.state is not None
    return not kept and not any(each.file == QUORUM_STATE for each in disk.damage)


def _untouched(quorum: Quorum) -> Iterator[Observation]:
    """Disks with nothing of a quorum. Voters in the log were formatted with a checkpoint, or had caught up
    when they were added.
    """
    keys = {each for disk in quorum.disks for one in disk.voter_sets for each in one.voters.keys}
    for disk in filter(_is_untouched, quorum.disks):
        if disk.key is not None and disk.key.directory is not None and disk.key in keys:
            yield _problem(
                "no-quorum-state",
                disk,
                "has neither records nor a quorum-state, but a voter set names its directory id: what it had "
                "is lost. Its votes are forgotten, it can vote again in an epoch in which it has voted: two "
                "leaders of one epoch become possible.",
                "INIT-1",
            )
        else:
            yield _note(
                "never-started",
                disk,
                "has neither records nor a quorum-state: it has not taken part in a quorum.",
            )


def _forgotten_vote(disk: StoredDisk) -> Observation:
    text = (
        f"has no quorum-state. Kafka then starts without a vote, in epoch {disk.last_epoch} as its log ends."
    )
    if disk.voters and (not is_voter(disk, disk.voters) or len(disk.voters) == 1):
        return _note("no-quorum-state", disk, text)
    more = (
        " Its vote is forgotten, it can vote again in that epoch: two leaders of one epoch become possible."
    )
    return _problem("no-quorum-state", disk, text + more, "INIT-1")


def _snapshots(disk: StoredDisk) -> Iterator[Observation]:
    snapshot = disk.snapshot
    if snapshot is not None and disk.empties_log:
        yield _note(
            "snapshot-beyond-log",
            disk,
            f"has a snapshot up to offset {snapshot.end:,}, epoch {snapshot.epoch}; its log ends at "
            f"{disk.end:,}, in epoch {disk.last_epoch}. At its start it empties the log and continues "
            "from the snapshot.",
        )
    if not disk.has_prefix:
        yield _problem(
            "prefix-is-lost",
            disk,
            f"has a log that begins at offset {disk.start:,}, and no snapshot of what was before: it cannot "
            "rebuild the metadata.",
        )


# -- the quorum -------------------------------------------------------------------------------------


def _identities(quorum: Quorum) -> Iterator[Observation]:
    for what, of in _IDENTITIES.items():
        by_value = _grouped(quorum.disks, of)
        if what == "cluster id":
            if len(by_value) > 1:
                said = "; ".join(
                    f"{value}: {_named_disks(disks)}" for value, disks in sorted(by_value.items())
                )
                nodes = tuple(disk.name for disk in quorum.disks)
                yield Observation(
                    "cluster-ids", True, nodes, f"the disks are of {len(by_value)} clusters ({said})."
                )
            continue
        for value, disks in by_value.items():
            if len(disks) > 1:
                folders = " and ".join(str(disk.folder) for disk in disks)
                yield Observation(
                    f"same-{what.replace(' ', '-')}",
                    True,
                    (disks[0].name,),
                    f"{folders} have the same {what}, {value}: one is a copy, or was formatted by mistake.",
                )


_IDENTITIES: Final[dict[str, Callable[[StoredDisk], str | None]]] = {
    "cluster id": lambda disk: disk.meta.cluster if disk.meta else None,
    "node id": lambda disk: str(disk.key.id) if disk.key else None,
    "directory id": lambda disk: disk.key.directory if disk.key else None,
}


def _grouped(
    disks: Iterable[StoredDisk], of: Callable[[StoredDisk], str | None]
) -> dict[str, list[StoredDisk]]:
    found: dict[str, list[StoredDisk]] = defaultdict(list)
    for disk in disks:
        value = of(disk)
        if value is not None:
            found[value].append(disk)
    return found


def _leaders(quorum: Quorum) -> Iterator[Observation]:
    """Two leaders of one epoch, by what the nodes have persisted and by the first records of epochs."""
    seen: dict[int, dict[int, str]] = defaultdict(dict)
    for disk in quorum.disks:
        if disk.state is not None and disk.state.leader is not None:
            seen[disk.state.epoch].setdefault(disk.state.leader, f"quorum-state of node {disk.name}")
        for epoch, leader, offset in disk.leaders():
            seen[epoch].setdefault(leader, f"record {offset:,} of node {disk.name}")
    for epoch, leaders in sorted(seen.items()):
        if len(leaders) > 1:
            said = ", ".join(f"node {leader} ({where})" for leader, where in sorted(leaders.items()))
            yield Observation(
                "two-leaders",
                True,
                tuple(str(leader) for leader in sorted(leaders)),
                f"epoch {epoch} has {len(leaders)} leaders: {said}.",
                ("second-leader-of-epoch",),
            )


def _elections(quorum: Quorum) -> Iterator[Observation]:
    """A leader was elected, but too few voters know its epoch: some have lost their election state."""
    for disk in quorum.disks:
        for epoch, leader, offset in disk.leaders():
            sets = [each for each in disk.voter_sets if each.offset < offset]
            voters = sets[-1].voters.keys if sets else ()
            present = [each for each in map(quorum.disk_of, voters) if each is not None]
            known = [each for each in present if each.state is None or each.state.epoch >= epoch]
            if len(known) + len(voters) - len(present) < len(voters) // 2 + 1 and voters:
                yield Observation(
                    "election-forgotten",
                    True,
                    (disk.name,),
                    f"node {disk.name} has the first record of leader {leader} of epoch {epoch}, but too few "
                    f"voters know that epoch ({_named_disks(known) or 'none'} of {named(voters)}): others "
                    "have lost their votes, by a power loss or a restored copy.",
                )
                return


def _forgotten_candidacies(quorum: Quorum) -> Iterator[Observation]:
    """A node that another one voted for, or follows, in an epoch that its own disk does not know: it writes
    its candidacy before it asks for votes. A disk that was put in since is in no voter set before that epoch.
    """
    found: dict[tuple[int, str], Observation] = {}
    for disk, other in permutations(quorum.disks, 2):
        state, behind, key = disk.state, other.state, other.key
        if state is None or behind is None or key is None or behind.epoch >= state.epoch:
            continue
        follows = state.leader == key.id and (state.vote is None or state.vote.id != key.id)
        is_voter = any(key in one.voters.keys for one in disk.voter_sets)
        if is_voter and key.directory is not None and (follows or state.vote == key):
            found[state.epoch, other.name] = Observation(
                "election-forgotten",
                True,
                (other.name,),
                f"node {disk.name} follows node {other.name}, or has voted for it, in epoch {state.epoch}, "
                f"but node {other.name} is in epoch {behind.epoch}: it has lost its election state, by a "
                "power loss or a restored copy, or the disks were copied at different moments.",
            )
    yield from found.values()


def _votes(quorum: Quorum) -> Iterator[Observation]:
    """A candidate of one epoch with several directory ids, by the votes for it, its own disk where that has
    its own vote, and the voter set that elected it. A vote for a disk that was replaced is no case of it.
    """
    found: dict[tuple[int, int], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    voted: dict[tuple[int, int], list[str]] = defaultdict(list)
    for disk in quorum.disks:
        state, own = disk.state, disk.key
        if state is not None and state.vote is not None and state.vote.directory is not None:
            candidate = state.epoch, state.vote.id
            voted[candidate].append(disk.name)
            found[candidate][state.vote.directory].append(f"quorum-state of node {disk.name}")
            if own is not None and own.id == state.vote.id and own.directory is not None:
                found[candidate][own.directory].append(f"meta.properties of node {disk.name}")
        for epoch, leader, offset in disk.leaders():
            sets = [each for each in disk.voter_sets if each.offset < offset]
            for voter in sets[-1].voters.keys if sets else ():
                if voter.id == leader and voter.directory is not None:
                    where = f"the voter set before record {offset:,} of node {disk.name}"
                    found[epoch, leader][voter.directory].append(where)
    for (epoch, id), nodes in sorted(voted.items()):
        directories = found[epoch, id]
        if len(directories) > 1:
            said = "; ".join(f"{key} ({', '.join(places)})" for key, places in sorted(directories.items()))
            yield Observation(
                "vote-other-directory",
                True,
                tuple(nodes),
                f"the candidate {id} of epoch {epoch} has {len(directories)} directory ids: {said}. A "
                "quorum-state was changed or is of another disk, or two processes ran with this id.",
            )


def _histories(quorum: Quorum) -> Iterator[Observation]:
    """Logs that part: in one epoch, below what is committed, or in a tail that will be truncated."""
    best, committed = quorum.best, quorum.committed.below
    for one, other in combinations(quorum.disks, 2):
        fork = agreed(one, other)[1]
        if fork is None:
            continue
        names = (one.name, other.name)
        if fork.epoch == fork.other_epoch:
            yield Observation(
                "two-histories",
                True,
                names,
                f"nodes {one.name} and {other.name} have different records of epoch {fork.epoch} from offset "
                f"{fork.offset:,} on: a leader writes each offset of its epoch once.",
                ("second-leader-of-epoch",),
            )
        elif best in (one, other):
            behind = other if best is one else one
            epoch = fork.other_epoch if best is one else fork.epoch
            tail = (
                f"has a tail of epoch {epoch} from offset {fork.offset:,} on that differs from the log of "
                f"node {(best or one).name}"
            )
            if fork.offset < committed and best is not None and best.end >= committed:
                first = best.start
                truncates = f"the node truncates to offset {fork.offset:,} when it fetches"
                if first > 0 and fork.offset <= first:
                    truncates = "the node receives a snapshot when it fetches"
                yield _note(
                    "diverged-tail", behind, f"{tail}. These records were not committed; {truncates}."
                )
            else:
                yield _note(
                    "diverged-tail", behind, f"{tail}. The next election decides which of both is kept."
                )


def _lagging(quorum: Quorum) -> Iterator[Observation]:
    best = quorum.best
    for disk in quorum.disks:
        if best is None or disk is best or agreed(disk, best)[1] is not None:
            continue
        (own_epoch, own_end), (epoch, end) = disk.position, best.position
        if disk.position < best.position and own_end < end and disk.segments:
            yield _note(
                "lagging",
                disk,
                f"lags: its log ends at offset {own_end:,}, in epoch {own_epoch}; that of {best.label} at "
                f"{end:,}, in epoch {epoch}.",
            )


def _voter_sets(quorum: Quorum) -> Iterator[Observation]:
    newest = quorum.committed.voters
    if newest is None:
        return
    keys = newest.voters.keys
    for disk in quorum.disks:
        effective = disk.voter_sets[-1] if disk.voter_sets else None
        if effective is not None and effective in quorum.later_sets and effective.voters.keys != keys:
            yield _note(
                "uncommitted-voter-set",
                disk,
                f"uses the voter set of offset {effective.offset:,} ({named(effective.voters.keys)}), which "
                "these disks do not show to be committed. If it is not, the next election may remove it.",
            )
        elif effective is not None and effective.voters.keys != keys and effective.offset < newest.offset:
            yield _note(
                "older-voter-set", disk, f"uses an older voter set, {_told_apart(effective, newest)}."
            )
        yield from _membership(quorum, disk, keys)


def _membership(quorum: Quorum, disk: StoredDisk, voters: tuple[VoterKey, ...]) -> Iterator[Observation]:
    """Whether a disk is that of a voter. A later set that has it may be the effective one."""
    key = disk.key
    if key is None or is_voter(disk, voters):
        return
    if any(is_voter(disk, each.voters.keys) for each in quorum.later_sets):
        return
    entry = next((each for each in voters if each.id == key.id), None)
    if entry is not None:
        own = "no directory id" if key.directory is None else f"the directory id {key.directory}"
        yield _problem(
            "other-directory",
            disk,
            f"has {own}, but the voter set names {entry}: it is no voter, and the quorum of {len(voters)} is "
            f"one short. When a leader is there, remove the voter {entry}, then add node {key.id} with its "
            "new directory.",
        )
    elif any(each.id == key.id for each in disk.voters):
        yield _note(
            "removed-unaware",
            disk,
            f"is not in the committed voter set ({named(voters)}); its own log ends before its removal.",
        )


def _static_voters(quorum: Quorum) -> Iterator[Observation]:
    lists = {each.voters: each for each in quorum.disks if not each.voter_sets and each.voters}
    if len(lists) > 1:
        said = "; ".join(f"{disk.label} {named(voters)}" for voters, disk in lists.items())
        yield Observation(
            "static-voters-differ",
            True,
            tuple(disk.name for disk in lists.values()),
            f"the lists of static voters differ ({said}): their majorities need not have a voter in common.",
        )


def _versions(quorum: Quorum) -> Iterator[Observation]:
    level = max((disk.kraft_version for disk in quorum.disks), default=0)
    for disk in quorum.disks:
        if disk.kraft_version < level and disk.batches and disk.has_prefix:
            yield _note(
                "older-kraft-version",
                disk,
                f"has kraft.version {disk.kraft_version}; others have {level}.",
            )


def _missing(quorum: Quorum) -> Iterator[Observation]:
    newest = quorum.committed.voters
    sets = [() if newest is None else newest.voters.keys, *(each.voters.keys for each in quorum.later_sets)]
    voters = dict.fromkeys(each for keys in sets for each in keys) or dict.fromkeys(_configured(quorum))
    missing = [each for each in voters if not any(is_voter(disk, (each,)) for disk in quorum.disks)]
    replaced = {disk.key.id for disk in quorum.disks if disk.key is not None}
    away = list({each.id: each for each in missing if each.id not in replaced}.values())
    if away:
        yield Observation(
            "not-given",
            False,
            tuple(str(each.id) for each in away),
            f"no disk of {'voter' if len(away) == 1 else 'voters'} {named(away)} was given: what is on it is "
            "not known here.",
        )


def _configured(quorum: Quorum) -> tuple[VoterKey, ...]:
    return next((disk.voters for disk in quorum.disks if disk.voters), ())


def _named_disks(disks: Iterable[StoredDisk]) -> str:
    return ", ".join(disk.name for disk in disks)


def named(keys: Iterable[VoterKey], *, whole: bool = False) -> str:
    """Voters by their ids, or with their directories."""
    return ", ".join(str(each) if whole else str(each.id) for each in keys)


def _told_apart(older: VoterSetAt, newer: VoterSetAt) -> str:
    """Two voter sets by ids, or by directories where the ids are the same."""
    keys = older.voters.keys, newer.voters.keys
    whole = named(keys[0]) == named(keys[1])
    return (
        f"that of offset {older.offset:,} ({named(keys[0], whole=whole)}); the committed one is of offset "
        f"{newer.offset:,} ({named(keys[1], whole=whole)})"
    )


_OF_A_DISK = (_damage, _identity, _election_state, _snapshots)
_OF_THE_QUORUM = (
    *(
        _identities,
        _untouched,
        _leaders,
        _elections,
        _forgotten_candidacies,
        _votes,
        _histories,
        _lagging,
        _voter_sets,
        _static_voters,
    ),
    *(_versions, _missing),
)
