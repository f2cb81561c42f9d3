"""The one entry point: ``step(protocol, replica, event) -> Outcome``.

A step is what Kafka does between two rounds of its message loop for one event. It never raises for
anything a peer, a disk or a clock may do: where Kafka throws and the process exits, the outcome ends
with the effect ``Fatal``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kraftcheck.reference import (
    add_voter,
    alter_quorum,
    begin_quorum_epoch,
    describe_quorum,
    end_quorum_epoch,
    epochs,
    events,
    fetch,
    find_quorum,
    kraft_version,
    leadership,
    messages,
    parked,
    remove_voter,
    snapshots,
    startup,
    update_voter,
    vote,
)
from kraftcheck.reference import poll as poll_loop
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Effect, Fatal, ForgetRequests
from kraftcheck.reference.events import Event, RequestReceived, ResponseReceived
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import AddingVoter, Follower, Leader, Replica, UpdatingVoter
from kraftcheck.reference.types import InSequence, Name
from kraftcheck.reference.work import ProcessExited, Work

T = TypeVar("T")


class Outcome(Frozen):
    """What a step did: the replica afterwards, the effects in order, and the rules that decided, in order.

    If the last effect is ``Fatal`` the process is gone; ``replica`` then shows its last state.
    """

    replica: Replica
    effects: InSequence[Effect]
    rules: InSequence[Name]

    @property
    def fatal(self) -> Fatal | None:
        """The effect with which the process exited, or ``None``."""
        last = self.effects[-1] if self.effects else None
        return last if isinstance(last, Fatal) else None


def step(protocol: Protocol, replica: Replica, event: Event) -> Outcome:
    """What ``replica`` does on ``event``. Raises TypeError for an event or message of an unknown type."""
    work = Work(protocol, replica, getattr(event, "now", None))
    try:
        _handler(_EVENTS, event, "an event")(work, event)
    except ProcessExited as ended:
        work.emit(ended.fatal)
    return Outcome(work.replica, tuple(work.effects), tuple(work.rules))


def start(protocol: Protocol, identity: Replica, disk: Disk) -> Outcome:
    """What a process does when it starts with the durable state ``disk``.

    ``identity`` gives what configuration says (key, endpoints, bootstrap voters); its durable and volatile
    fields are ignored.
    """
    work = startup.begin(protocol, identity, disk)
    try:
        startup.require_known(work, disk)
        startup.initialize(work)
    except ProcessExited as ended:
        work.emit(ended.fatal)
    return Outcome(work.replica, tuple(work.effects), tuple(work.rules))


def _handler(handlers: Mapping[type, T], given: object, what: str) -> T:
    handler = handlers.get(type(given))
    if handler is None:
        raise TypeError(f"not {what}: {given!r}")
    return handler


def _time_out(work: Work, node: int) -> None:
    """No answer came. A Follower passes over its leader once, which is what a back-off does."""
    work.by("TIMER-7")
    if isinstance(work.replica.role, Follower) and work.replica.quorum_state.leader == node:
        work.by("FETCH-32")
        work.back_off(node)
    else:
        work.connection_ready(node)
    work.emit(ForgetRequests(node))


def _end_back_off(work: Work, event: events.BackoffExpired) -> None:
    """The node may be sent another request, unless it owes an answer (Kafka: RequestManager.isReady)."""
    work.by("TIMER-7")
    connection = work.connection(event.node)
    if connection is not None and not connection.awaiting:
        work.connection_ready(event.node)


def _shut_down(work: Work, event: events.Shutdown) -> None:
    work.by("TIMER-8")
    work.replica = replace(work.replica, shutting_down=True)


def _receive_request(work: Work, event: RequestReceived) -> None:
    request = event.request
    if type(request) in _WAITING:
        response = _WAITING[type(request)](work, event.source, event.correlation, request)
    else:
        response = _handler(_REQUESTS, request, "a request")(work, request)
    if response is not None:
        work.reply(event.source, event.correlation, response)


def _receive_response(work: Work, event: ResponseReceived) -> None:
    connection = work.connection(event.source)
    work.by("RESP-7")
    if connection is None or not connection.awaiting or connection.correlation != event.correlation:
        return
    work.connection_ready(event.source)
    _handler(_RESPONSES, event.response, "a response")(work, event.source, event.response)


def _learn_versions(work: Work, source: int, response: messages.ApiVersionsResponse) -> None:
    """A leader has asked ``source``, of which it was about to add or replace the entry in the voter set."""
    change = work.replica.role.change if isinstance(work.replica.role, Leader) else None
    if isinstance(change, AddingVoter):
        add_voter.handle_api_versions_response(work, source, change, response)
    elif isinstance(change, UpdatingVoter):
        update_voter.handle_api_versions_response(work, source, change, response)


def _unexpected_description(work: Work, source: int, response: messages.DescribeQuorumResponse) -> None:
    raise work.exit(Fatal(FatalReason.UNEXPECTED_DESCRIPTION))


_EVENTS: Mapping[type, Callable[[Work, Any], None]] = {
    RequestReceived: _receive_request,
    ResponseReceived: _receive_response,
    events.RequestTimedOut: lambda work, event: _time_out(work, event.node),
    events.Poll: poll_loop.poll,
    events.BackoffExpired: _end_back_off,
    events.FetchWaitExpired: lambda work, event: parked.expire_parked(work, event.source, event.correlation),
    events.Append: leadership.accept_append,
    events.Resign: leadership.request_resignation,
    events.UpgradeKRaftVersion: kraft_version.upgrade,
    events.CreateSnapshot: snapshots.create,
    events.Shutdown: _shut_down,
}
#: Requests that are answered at once.
_REQUESTS: Mapping[type, Callable[[Work, Any], messages.Response]] = {
    messages.VoteRequest: vote.handle_request,
    messages.BeginQuorumEpochRequest: begin_quorum_epoch.handle_request,
    messages.EndQuorumEpochRequest: end_quorum_epoch.handle_request,
    messages.FetchSnapshotRequest: snapshots.handle_request,
    messages.DescribeQuorumRequest: describe_quorum.handle_request,
    messages.FindQuorumRequest: lambda work, request: find_quorum.handle_request(work),
    messages.ApiVersionsRequest: lambda work, request: messages.ApiVersionsResponse(
        (0, work.replica.max_kraft_version)
    ),
}
#: Requests that may wait for their response (``None``), each with its source and correlation id.
_WAITING: Mapping[type, Callable[[Work, int, int | None, Any], messages.Response | None]] = {
    messages.FetchRequest: fetch.handle_request,
    messages.AddRaftVoterRequest: add_voter.handle_request,
    messages.RemoveRaftVoterRequest: remove_voter.handle_request,
    messages.UpdateRaftVoterRequest: update_voter.handle_request,
    messages.AlterQuorumRequest: alter_quorum.handle_request,
}
_RESPONSES: Mapping[type, Callable[[Work, int, Any], None]] = {
    messages.VoteResponse: vote.handle_response,
    messages.BeginQuorumEpochResponse: begin_quorum_epoch.handle_response,
    messages.EndQuorumEpochResponse: end_quorum_epoch.handle_response,
    messages.FetchResponse: fetch.handle_response,
    messages.FetchSnapshotResponse: snapshots.handle_response,
    messages.AddRaftVoterResponse: add_voter.handle_response,
    messages.RemoveRaftVoterResponse: remove_voter.handle_response,
    messages.UpdateRaftVoterResponse: update_voter.handle_response,
    messages.FindQuorumResponse: find_quorum.handle_response,
    messages.AlterQuorumResponse: lambda work, source, response: epochs.unexpected_error(work, source),
    messages.ApiVersionsResponse: _learn_versions,
    messages.DescribeQuorumResponse: _unexpected_description,
}
