"""Replicas that begin by a start on a given disk (``replicas.disks``), and what must have happened before.

Unlike the states of ``replicas.initial``, disks need not be such as a run of the protocol leaves them: files
are lost, and disks replaced. What they show of the past is recorded, and a property that they contradict is
violated in the initial state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from kraftcheck.reference import log as logs
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.log import Batch, Log, Snapshot, SnapshotId
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import ReplicaKey, Voter, VoterSet, voter_set
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import identities as identities_of
from kraftcheck.systems.kraft import membership
from kraftcheck.systems.kraft.administration import first_directory
from kraftcheck.systems.kraft.consistency import FROM_LEADER_ON
from kraftcheck.systems.kraft.history import History, record
from kraftcheck.systems.kraft.labels import Committed, Elected, Label, Voted, Wiped
from kraftcheck.systems.kraft.membership import Origin
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.text import DiskText, parse_disk

#: The name of a directory without an id, in ``lost``.
_EMPTY = "empty"


def disk_of(scenario: KRaftScenario, identity: Replica) -> Disk | None:
    """The disk that the scenario gives the replica, None if it gives none. Raises InputError."""
    given = _given(scenario, identity.id)
    if given is None:
        return None
    if given.lost is not None:
        return Disk(directory=_lost_for(given))
    return _described(scenario, identity, given)


def _described(scenario: KRaftScenario, identity: Replica, given: DiskText) -> Disk:
    """The disk that the text describes, lost or not."""
    log = _log(scenario, identity.id, given)
    directory = identity.key.directory if given.directory is None else given.directory
    return Disk(given.quorum_state, log, log.end_offset, directory)


def _lost_for(given: DiskText) -> str | None:
    """The directory id of the empty disk that replaces a lost one."""
    return None if given.lost == _EMPTY else given.lost


def formatted(scenario: KRaftScenario, replica: int) -> tuple[ReplicaKey, Origin]:
    """The key and the voters before any record with which the process of a replica should start."""
    key, origin = identities_of.key_of(scenario, replica), identities_of.formatted_for(scenario, replica)
    given = _given(scenario, replica)
    if given is None:
        return key, origin
    directory = (given.directory or key.directory) if given.lost is None else _lost_for(given)
    if directory == key.directory:
        return key, origin
    # A disk of another directory has no checkpoint of the first voters.
    another = ReplicaKey(replica, directory)
    return another, Origin(VoterSet(), 0) if origin.kraft_version else origin


def history_before(scenario: KRaftScenario, identities: Sequence[Replica]) -> tuple[History, frozenset[str]]:
    """The events that the disks show, and the properties that they violate."""
    history, violated = History(origin=identities_of.origin_of(scenario)), set[str]()
    for label in dict.fromkeys(_labels(scenario, identities)):
        recorded = record(history, label)
        violated |= set(recorded.violations) - set(FROM_LEADER_ON)
        assert isinstance(recorded.history, History)
        history = recorded.history
    return history, frozenset(violated)


def broken(scenario: KRaftScenario, identities: Sequence[Replica]) -> set[str]:
    """The properties that the given disks violate."""
    return set(history_before(scenario, identities)[1]) if scenario.replicas.disks else set()


def _labels(scenario: KRaftScenario, identities: Sequence[Replica]) -> Iterator[Label]:
    """The elections, votes and commits that the disks show."""
    found = [(each, given) for each in identities if (given := _given(scenario, each.id)) is not None]
    for _, given in found:
        state = given.quorum_state
        leaders = [*given.leaders]
        if state is not None and state.leader is not None:
            leaders.append((state.epoch, state.leader))
        yield from (Elected(leader, epoch) for epoch, leader in sorted(leaders))
    for each, given in found:
        state = given.quorum_state
        if given.lost_vote is not None:
            epoch, candidate = given.lost_vote
            yield Voted(each.id, epoch, candidate)
        if state is not None and state.voted is not None:
            yield Voted(each.id, state.epoch, state.voted)
        yield from _commits(scenario, each, given)
    for each, given in found:
        if given.lost is not None:
            yield _taken_out(scenario, each, given)


def _taken_out(scenario: KRaftScenario, identity: Replica, given: DiskText) -> Wiped:
    """What is lost with the disk of a replica."""
    disk = _described(scenario, identity, given)
    key = ReplicaKey(identity.id, disk.directory)
    entry = membership.newest(membership.own_origin(identity), disk.log).find(key.id)
    another = entry is None or entry.key.directory is not None
    return Wiped(key, disk.log.batches, disk.log.start_offset, another)


def _commits(scenario: KRaftScenario, identity: Replica, given: DiskText) -> Iterator[Committed]:
    batches = given.batches(_voter_sets(scenario, identity.id, given))
    prefix = tuple(batch for batch in batches if batch.end_offset <= given.committed)
    if prefix:
        origin = identities_of.origin_of(scenario)
        keys = () if origin is None else membership.newest(origin, logs.log_of(prefix)).keys
        yield Committed(identity.id, prefix, prefix[-1].epoch, voters=keys)


def _given(scenario: KRaftScenario, replica: int) -> DiskText | None:
    text = scenario.replicas.disks.get(str(replica))
    if text is None:
        return None
    try:
        return _parsed(text)
    except InputError as problem:
        raise scenario.error(f"replicas.disks.{replica}: {str(problem).rstrip('.')}") from None


@cache
def _parsed(text: str) -> DiskText:
    return parse_disk(text)


def _log(scenario: KRaftScenario, replica: int, given: DiskText) -> Log:
    """The log on the disk, with the snapshot of what was before its start."""
    whole = logs.log_of(given.batches(_voter_sets(scenario, replica, given)))
    if not given.start:
        return whole
    before = tuple(batch for batch in whole.batches if batch.end_offset <= given.start)
    rest = tuple(batch for batch in whole.batches if batch.end_offset > given.start)
    return logs.log_of(rest, given.start, (_snapshot(before),))


def _snapshot(before: tuple[Batch, ...]) -> Snapshot:
    """The snapshot of all these records."""
    known = logs.log_of(before)
    version = known.kraft_versions[-1][1] if known.kraft_versions else 0
    voters = known.voter_sets[-1][1] if known.voter_sets and version else None
    id = SnapshotId(known.end_offset, before[-1].epoch)
    return Snapshot(id, voters, version, membership.values_of(before))


def _voter_sets(scenario: KRaftScenario, replica: int, given: DiskText) -> dict[int, VoterSet]:
    """The voter sets of the log, by the offsets of their records."""
    known = scenario.replicas.everybody
    for _, keys in given.sets:
        for key in keys:
            if key.id not in known:
                raise scenario.error(
                    f"replicas.disks.{replica}: sets names replica {key.id}, which the scenario does not have"
                )
    return {
        offset: voter_set(
            Voter(_keyed(scenario, key), identities_of.listens_at(key.id), 0, 1) for key in keys
        )
        for offset, keys in given.sets
    }


def _keyed(scenario: KRaftScenario, key: ReplicaKey) -> ReplicaKey:
    """``key`` with its first directory, unless it has one or nothing depends on it."""
    if key.directory is not None or not scenario.replicas.changing:
        return key
    return ReplicaKey(key.id, first_directory(key.id))
