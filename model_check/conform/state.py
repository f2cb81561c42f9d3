"""What a node shows after each step, from the reference's replica, and how two JSON values differ."""

from __future__ import annotations

from collections.abc import Iterator

from model_check.conform.encode import NOT_MODELLED, encode_voters, or_minus_one
from model_check.conform.fields import Json
from reference.replica import Candidate, Leader, Progress, Prospective, Replica, Resigned
from reference.transitions import role_name

#: Parts of a recorded state that belong to what the reference does not cover yet.
NOT_COVERED = frozenset({"logStart", "snapshot", "fetchingSnapshot", "pendingAdd", "pendingRemove"})

#: Lists that production writes in the order of a hash set, which no rule fixes.
UNORDERED = frozenset({"grantingVoters"})

#: ``deadlines`` are compared by :mod:`.clock`, which knows that some of them are random.
ELSEWHERE = frozenset({"deadlines"})


def encode_state(replica: Replica, *, stopped: bool) -> dict[str, Json]:
    """The recorder's state of ``replica``; a process that has ``stopped`` is not shutting down any more."""
    quorum_state, role = replica.quorum_state, replica.role
    state: dict[str, Json] = {
        "state": role_name(role),
        "epoch": replica.epoch,
        "leader": or_minus_one(quorum_state.leader),
        "leo": replica.log.end_offset,
        "lastEpoch": replica.log.last_epoch,
        "hw": or_minus_one(replica.high_watermark),
        "voters": encode_voters(replica.voters),
        "votersOffset": replica.voters_offset,
        "kraftVersion": replica.kraft_version,
        "isVoter": replica.is_voter,
    }
    voted = quorum_state.voted
    if voted is not None:
        state["voted"] = [voted.id] if voted.directory is None else [voted.id, voted.directory]
    if isinstance(role, Prospective | Candidate):
        election = role.election
        state["election"] = {"granted": list(election.granted), "rejected": list(election.rejected)}
    elif isinstance(role, Leader):
        state.update(_leader(replica, role))
    elif isinstance(role, Resigned):
        state["unacked"] = list(role.unacknowledged)
        state["preferredSuccessors"] = [key.id for key in role.preferred_successors]
    if replica.shutting_down and not stopped:
        state["shuttingDown"] = True
    return state


def _leader(replica: Replica, role: Leader) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "epochStart": role.epoch_start_offset,
        "progress": {str(entry.id): _progress(replica, entry) for entry in role.progress},
    }
    silent = [entry.id for entry in role.progress if not entry.acknowledged]
    if silent:
        shown["unacked"] = silent
    if role.resign_requested:
        shown["resignRequested"] = True
    return shown


def _progress(replica: Replica, entry: Progress) -> Json:
    if entry.id == replica.id:
        return [or_minus_one(entry.end_offset)]
    times = (entry.end_offset, entry.last_fetch_time, entry.last_caught_up_time)
    return [or_minus_one(value) for value in times]


def state_differences(expected: dict[str, Json], found: dict[str, Json]) -> Iterator[tuple[str, Json, Json]]:
    """Field, expected and found value, for each part of a state that is compared here."""
    for key in sorted((expected.keys() | found.keys()) - NOT_COVERED - ELSEWHERE):
        yield from differences(expected.get(key), found.get(key), key)


def differences(expected: Json, found: Json, path: str) -> Iterator[tuple[str, Json, Json]]:
    """The innermost places where two JSON values differ; ``None`` stands for a field that is absent."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted((expected.keys() | found.keys()) - NOT_MODELLED):
            left, right = expected.get(key), found.get(key)
            if key in UNORDERED and isinstance(left, list) and isinstance(right, list):
                left, right = sorted(left, key=str), sorted(right, key=str)
            yield from differences(left, right, f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (left, right) in enumerate(zip(expected, found, strict=True)):
            yield from differences(left, right, f"{path}[{index}]")
    elif expected != found or type(expected) is not type(found):
        yield path, expected, found
