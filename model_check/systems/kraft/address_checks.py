"""S-43: a follower knows where its leader listens, as the message says by which it learned of it."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.effects import Transition
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event
from kraftcheck.reference.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EpochResponse,
    VoteResponse,
)
from kraftcheck.reference.replica import Follower, Replica
from kraftcheck.systems.kraft import membership
from kraftcheck.systems.kraft.addresses import Endpoints
from kraftcheck.systems.kraft.network import request_of, response_of
from kraftcheck.systems.kraft.node import Execution


def violations(before: Replica, event: Event | None, execution: Execution) -> Iterator[str]:
    """The property, if a step violates it; ``event`` is ``None`` for a restart.

    Where AlterQuorum names voters by their ids (KIP-595), logs do not say where they listen.
    """
    after = execution.replica
    role, leader = after.role, after.quorum_state.leader
    if execution.ended is not None or not isinstance(role, Follower) or leader is None:
        return
    if after.log.assignments:
        return
    if event is None:
        known = role.leader_endpoints == membership.own_voters(after).endpoints(leader)
    else:
        known = _is_as_named(before, event, execution, role.leader_endpoints)
    if not known:
        yield "LeaderEndpointsAreKnown"


def _is_as_named(before: Replica, event: Event, execution: Execution, known: Endpoints) -> bool:
    """Whether a follower knows the endpoints that the message of ``event`` names, or of a leader that it knew
    before, at least as many as that leader announces.
    """
    after, named = execution.replica, _named(event)
    if named is None or named[:2] != (after.epoch, after.quorum_state.leader):
        return True
    kept = before.leader_endpoints if (before.epoch, before.quorum_state.leader) == named[:2] else ()
    # A Prospective replica that loses the election returns to the leader as it has known it.
    returns = isinstance(response_of(event), VoteResponse)
    endpoints = (kept or named[2]) if returns else (named[2] or kept)
    endpoints = endpoints or membership.own_voters(before).endpoints(named[1])
    if any(effect.target == "Follower" for effect in execution.all(Transition)):
        return known == endpoints
    announced = any(_is_accepted(response) for response in execution.responses)
    return not announced or len(known) >= len(endpoints)


def _is_accepted(response: object) -> bool:
    """Whether a replica takes the announcement of a leader."""
    if not isinstance(response, BeginQuorumEpochResponse):
        return False
    return response.error is ErrorCode.NONE and response.partition_error is ErrorCode.NONE


def _named(event: Event) -> tuple[int, int, Endpoints] | None:
    """The epoch, leader and endpoints that the message of ``event`` names."""
    request, response = request_of(event), response_of(event)
    if isinstance(request, BeginQuorumEpochRequest | EndQuorumEpochRequest):
        return request.epoch, request.leader, request.leader_endpoints
    if isinstance(response, EpochResponse) and response.leader is not None:
        return response.epoch, response.leader, response.leader_endpoints
    return None
