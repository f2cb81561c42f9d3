"""The state that a node shows after each step, from the reference's replica, and the differences of two JSON
values.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator

from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.recording import STATE
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.evidence.recordings.wire_codec import or_minus_one
from kraftcheck.evidence.recordings.wire_records import write_key
from kraftcheck.reference.replica import (
    AddingVoter,
    Candidate,
    Follower,
    Leader,
    Progress,
    Prospective,
    RemovingVoter,
    Replica,
    Resigned,
    UpdatingVoter,
)
from kraftcheck.reference.transitions import role_name
from kraftcheck.reference.voters import VoterSet

#: Lists of control records that Kafka writes in the order of a hash table, which no rule fixes.
UNORDERED = frozenset({"value.grantingVoters", "value.voters"})


def encode_state(replica: Replica, *, stopped: bool) -> dict[str, Json]:
    """The recorder's state of ``replica``; a process that has ``stopped`` is no longer shutting down."""
    quorum_state, role = replica.quorum_state, replica.role
    voters = replica.voters
    state: dict[str, Json] = {
        "state": role_name(role),
        "epoch": quorum_state.epoch,
        "leader": or_minus_one(quorum_state.leader),
    }
    voted = quorum_state.voted
    if voted is not None:
        state["voted"] = write_key(voted.id, voted.directory)
    state["leo"] = replica.log.end_offset
    state["lastEpoch"] = replica.log.last_epoch
    state["hw"] = or_minus_one(replica.high_watermark)
    log = replica.log
    if log.snapshots:
        newest = log.snapshots[-1].id
        if log.start_offset:
            state["logStart"] = log.start_offset
        state["snapshot"] = [newest.end_offset, newest.epoch]
    state["voters"] = _voters(voters)
    state["votersOffset"] = replica.voters_offset
    state["kraftVersion"] = replica.kraft_version
    state["isVoter"] = voters.is_voter(replica.key)
    if isinstance(role, Leader):
        state.update(_leader(replica, role))
    elif isinstance(role, Prospective | Candidate):
        election = role.election
        state["election"] = {"granted": list(election.granted), "rejected": list(election.rejected)}
    elif isinstance(role, Follower) and role.fetching_snapshot is not None:
        partial = role.fetching_snapshot
        state["fetchingSnapshot"] = [partial.id.end_offset, partial.id.epoch, partial.position]
    elif isinstance(role, Resigned):
        state["unacked"] = list(role.unacknowledged)
        state["preferredSuccessors"] = [key.id for key in role.preferred_successors]
    if replica.shutting_down and not stopped:
        state["shuttingDown"] = True
    return state


#: Voter sets change seldom: the last ones shown, by identity, each with its JSON form.
_SHOWN: dict[int, tuple[VoterSet, Json]] = {}


def _voters(voters: VoterSet) -> Json:
    known = _SHOWN.get(id(voters))
    if known is None or known[0] is not voters:
        if len(_SHOWN) > 64:
            _SHOWN.clear()
        known = _SHOWN[id(voters)] = (
            voters,
            [write_key(voter.key.id, voter.key.directory) for voter in voters.voters],
        )
    return known[1]


def _leader(replica: Replica, role: Leader) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "epochStart": role.epoch_start_offset,
        "progress": {str(entry.id): _progress(replica, entry) for entry in role.progress},
    }
    silent = [entry.id for entry in role.progress if not entry.acknowledged]
    if silent:
        shown["unacked"] = silent
    if isinstance(role.change, AddingVoter):
        key = role.change.voter.key
        shown["pendingAdd"] = write_key(key.id, key.directory)
    elif isinstance(role.change, UpdatingVoter):
        key = role.change.voter.key
        shown["pendingUpdate"] = write_key(key.id, key.directory)
    elif isinstance(role.change, RemovingVoter):
        shown["pendingRemove"] = role.change.offset
    if role.resign_requested:
        shown["resignRequested"] = True
    return shown


def _progress(replica: Replica, entry: Progress) -> Json:
    if entry.id == replica.id:
        return [or_minus_one(entry.end_offset)]
    times = (entry.end_offset, entry.last_fetch_time, entry.last_caught_up_time)
    return [or_minus_one(value) for value in times]


def state_differences(expected: dict[str, Json], found: dict[str, Json]) -> list[Found]:
    """Where a recorded state differs from the expected one; parts that are not known are left out."""
    if same(expected, found):
        return []
    keys = sorted(expected.keys() | found.keys() & STATE)
    return [one for key in keys for one in differences(expected.get(key), found.get(key), key)]


def same(left: Json, right: Json) -> bool:
    """Whether two JSON values are the same, objects with their keys in the same order.

    ``==`` would take 1 for true. This form of marshal is a plain serialization, the fastest there is.
    """
    return marshal.dumps(left, 2) == marshal.dumps(right, 2)


def equal(left: Json, right: Json) -> bool:
    """Whether two JSON values are the same, in any order of the keys in objects."""
    return same(left, right) or not any(differences(left, right, ""))


def differences(expected: Json, found: Json, path: str, shown_at: int | None = None) -> Iterator[Found]:
    """The innermost places where two JSON values differ; ``None`` stands for a field that is absent.

    ``shown_at``: the line that shows ``found``, where that is not the line of the event.
    """
    if isinstance(expected, dict) and isinstance(found, dict):
        inside = path.rpartition(".")[2]
        for key in [*expected, *(key for key in found if key not in expected)]:
            left, right = expected.get(key), found.get(key)
            if f"{inside}.{key}" in UNORDERED and isinstance(left, list) and isinstance(right, list):
                left, right = sorted(left, key=str), sorted(right, key=str)
            if left is None and right is None and (key in expected) != (key in found):
                yield Found(f"{path}.{key}", _shown(key in expected), _shown(key in found), shown_at)
            yield from differences(left, right, f"{path}.{key}", shown_at)
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (left, right) in enumerate(zip(expected, found, strict=True)):
            yield from differences(left, right, f"{path}[{index}]", shown_at)
    elif expected != found or type(expected) is not type(found):
        yield Found(path, expected, found, shown_at)


def _shown(is_there: bool) -> Json:
    return "null" if is_there else None
