"""The voters as their leader knows them: their progress, the high watermark, and which are in contact.

Source: KIP-595 (high watermark), KIP-836 (timestamps), KIP-996 (check quorum); Kafka:
LeaderState.updateLocalState, updateReplicaState, maybeUpdateHighWatermark,
updateCheckQuorumForFollowingVoter, ReplicaState.updateFollowerState.
"""

from __future__ import annotations

from kraftcheck.reference.effects import ArmTimer, Duration, HighWatermark
from kraftcheck.reference.events import Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import CaughtUp, VoterChanges
from kraftcheck.reference.replica import Leader, Progress
from kraftcheck.reference.voters import ReplicaKey, majority, matches
from kraftcheck.reference.work import Work

#: An observer that is to become a voter must have fetched this recently (LeaderState.isReplicaCaughtUp).
CAUGHT_UP_WITHIN_MS = 3_600_000


def count_own_log(work: Work) -> None:
    """The leader's own end offset counts like a voter's, as long as it is one; new voters get an entry."""
    replica = work.replica
    role = replica.role
    assert isinstance(role, Leader)
    work.by("HWM-3", "DEF-2")
    if replica.voters.keys != tuple(entry.key for entry in role.progress):
        _follow_voter_set(work, role)
    if replica.is_voter:
        _count(work, replica.key, replica.log.end_offset)


def _count(work: Work, voter: ReplicaKey, end_offset: int) -> None:
    role = work.replica.role
    assert isinstance(role, Leader)
    progress = tuple(
        replace(entry, end_offset=end_offset) if matches(entry.key, voter) else entry
        for entry in role.progress
    )
    work.update_role(progress=progress)


def _follow_voter_set(work: Work, role: Leader) -> None:
    """Voters and observers trade places; what is known of them stays (another directory is a new one)."""
    if work.protocol.voter_changes is VoterChanges.KIP853:
        work.by("VSET-10", "VSET-11", "VSET-12")
    known = (*role.progress, *role.observers)
    voters = []
    for key in work.replica.voters.keys:
        entry = next((entry for entry in known if matches(entry.key, key)), Progress(key))
        voters.append(replace(entry, key=key))
    others = [entry for entry in known if all(voter.key != entry.key for voter in voters)]
    observers = tuple(sorted(others, key=lambda entry: (entry.id, entry.key.directory or "")))
    work.update_role(progress=tuple(voters), observers=observers)


def record_fetch(work: Work, fetcher: ReplicaKey, offset: int, *, again: bool = False) -> None:
    """A valid fetch at ``offset``: everything below it is durable at ``fetcher``, and it is alive.

    ``again``: the fetch arrived earlier, and has waited since.
    """
    if fetcher.id < 0:
        work.by("FETCH-17")
        return
    role = work.replica.role
    assert isinstance(role, Leader)
    work.by("ID-8")
    if not work.replica.voters.is_voter(fetcher):
        work.by("HWM-5", "FETCH-20")
        _record_observer(work, role, fetcher, offset)
        count_contact(work, fetcher, again=again)
        return
    work.by("FETCH-15", "BEGIN-3")
    progress = tuple(
        _fetched(work, entry, offset) if matches(entry.key, fetcher) else entry for entry in role.progress
    )
    work.update_role(progress=progress)
    count_contact(work, fetcher, again=again)


def _record_observer(work: Work, role: Leader, fetcher: ReplicaKey, offset: int) -> None:
    """Observers count for nothing; whether one has caught up decides if it may become a voter."""
    before = next((entry for entry in role.observers if entry.key == fetcher), Progress(fetcher))
    after = _after_fetch(work, before, offset)
    others = [entry for entry in role.observers if entry.key != fetcher]
    observers = sorted((*others, after), key=lambda entry: (entry.id, entry.key.directory or ""))
    work.update_role(observers=tuple(observers))


def has_caught_up(work: Work, key: ReplicaKey) -> bool:
    """Whether an observer has once held all that the leader had, and has fetched within the last hour."""
    role = work.replica.role
    assert isinstance(role, Leader)
    entry = next((entry for entry in role.observers if entry.key == key), None)
    if entry is None or not entry.caught_up:
        return False
    if work.now is None or entry.last_fetch_time is None:
        return True
    return work.now - entry.last_fetch_time < CAUGHT_UP_WITHIN_MS


def _fetched(work: Work, entry: Progress, offset: int) -> Progress:
    if entry.end_offset is not None and offset < entry.end_offset:
        work.by("FETCH-16")
    return _after_fetch(work, entry, offset)


def _after_fetch(work: Work, before: Progress, offset: int) -> Progress:
    """``before`` after a fetch at ``offset``, where the leader's log may end, or have ended a fetch ago."""
    leader_end = _own_end_offset(work)
    if leader_end is None:
        # It has appended nothing since it was elected: Kafka compares with no end offset yet.
        moved = replace(before, end_offset=offset, acknowledged=True)
        return moved if work.now is None else _with_times(work, before, moved, work.now)
    moved = replace(
        before,
        end_offset=offset,
        acknowledged=True,
        leader_end_offset=leader_end,
        caught_up=before.caught_up or offset >= (before.leader_end_offset or leader_end),
    )
    return moved if work.now is None else _with_times(work, before, moved, work.now)


def _own_end_offset(work: Work) -> int | None:
    """The leader's own end offset as its progress has it: ``None`` until it has appended its first record."""
    role = work.replica.role
    assert isinstance(role, Leader)
    known = (*role.progress, *role.observers)
    own = next((entry for entry in known if entry.id == work.replica.id), None)
    return None if own is not None and own.end_offset is None else work.replica.log.end_offset


def _with_times(work: Work, before: Progress, moved: Progress, now: int) -> Progress:
    """KIP-836: when the replica last fetched, and when it last held everything the leader had.

    Being caught up comes first: it may need the time of the previous fetch.
    """
    work.by("DESCRIBE-6", "DESCRIBE-7")
    assert moved.end_offset is not None
    last_fetch, caught_up = before.last_fetch_time, before.last_caught_up_time
    leader_end = _own_end_offset(work)
    if leader_end is None:
        pass
    elif _is_caught_up(work, moved.end_offset, leader_end):
        caught_up = max(now, caught_up or now)
    elif (
        last_fetch is not None
        and before.leader_end_offset
        and _is_caught_up(work, moved.end_offset, before.leader_end_offset)
    ):
        caught_up = max(last_fetch, caught_up or last_fetch)
    return replace(moved, last_fetch_time=max(now, last_fetch or now), last_caught_up_time=caught_up)


def _is_caught_up(work: Work, offset: int, leader_end: int) -> bool:
    """Whether a fetch at ``offset`` holds all of a log that ends at ``leader_end``."""
    if work.protocol.caught_up is CaughtUp.BEYOND_END:
        return offset > leader_end
    return offset >= leader_end


def count_contact(work: Work, key: ReplicaKey, *, again: bool = False) -> None:
    """Check quorum: a majority heard from in time keeps the leader in office.

    Observers are not counted. But on a fetch of any replica the count is taken anew: a voter set that has
    become smaller may need no more than those heard from before, and a single voter needs no other.
    ``again``: by a fetch that has counted before, when it arrived.
    """
    if not work.protocol.counts_contacts or (again and work.protocol.count_fetch_once):
        return
    role = work.replica.role
    assert isinstance(role, Leader)
    replica = work.replica
    contacts = role.contacts
    if work.protocol.forget_removed_contacts:
        contacts = tuple(id for id in contacts if replica.voters.find(id) is not None)
    if replica.voters.is_voter(key):
        work.by("CHECKQ-3")
        contacts = tuple(sorted({*contacts, key.id}))
    work.by("CHECKQ-2")
    needed = majority(len(replica.voters)) - (1 if replica.is_voter else 0)
    if len(contacts) >= needed:
        work.emit(ArmTimer(Timer.CHECK_QUORUM, Duration.CHECK_QUORUM_TIMEOUT))
        contacts = ()
    work.update_role(contacts=contacts)


def advance_high_watermark(work: Work) -> bool:
    """Adopt the largest offset that a majority holds, once a record of the own epoch is among it.

    Whether it moved; fetches in purgatory must then be answered.
    """
    replica = work.replica
    role = replica.role
    assert isinstance(role, Leader)
    ends = sorted(
        (-1 if entry.end_offset is None else entry.end_offset for entry in role.progress), reverse=True
    )
    work.by("HWM-1")
    reached = ends[len(ends) // 2]
    if reached <= role.epoch_start_offset:
        work.by("HWM-2")
        return False
    if replica.high_watermark is not None and reached <= replica.high_watermark:
        work.by("HWM-4")
        return False
    work.by("HWM-2", "HWM-6", "HWM-9")
    if len(role.progress) == 1:
        work.by("HWM-8")
    work.update(high_watermark=reached)
    work.emit(HighWatermark(reached))
    return True
