"""The one entry point: ``step(protocol, replica, event) -> Outcome``.

A step is what Kafka does between two rounds of its message loop for one event. It never raises for
anything a peer, a disk or a clock may do: where Kafka throws and the process exits, the outcome ends
with the effect ``Fatal``.
"""

from __future__ import annotations

from kraftcheck.reference import (
    add_voter,
    alter_quorum,
    begin_quorum_epoch,
    describe_quorum,
    end_quorum_epoch,
    epochs,
    fetch,
    find_quorum,
    kraft_version,
    leadership,
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
from kraftcheck.reference.events import (
    Append,
    BackoffExpired,
    CreateSnapshot,
    Event,
    FetchWaitExpired,
    Poll,
    RequestReceived,
    RequestTimedOut,
    Resign,
    ResponseReceived,
    Shutdown,
    UpgradeKRaftVersion,
)
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    AlterQuorumRequest,
    AlterQuorumResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    FindQuorumRequest,
    FindQuorumResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    Response,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Follower, Replica
from kraftcheck.reference.types import InSequence, Name
from kraftcheck.reference.work import ProcessExited, Work


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
        _dispatch(work, event)
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
        startup.initialize(work)
    except ProcessExited as ended:
        work.emit(ended.fatal)
    return Outcome(work.replica, tuple(work.effects), tuple(work.rules))


def _dispatch(work: Work, event: Event) -> None:
    if isinstance(event, RequestReceived):
        _receive_request(work, event)
    elif isinstance(event, ResponseReceived):
        _receive_response(work, event)
    elif isinstance(event, Poll):
        poll_loop.poll(work, event)
    elif isinstance(event, RequestTimedOut):
        _time_out(work, event.node)
    elif isinstance(event, BackoffExpired):
        work.by("TIMER-7")
        work.connection_ready(event.node)
    elif isinstance(event, FetchWaitExpired):
        parked.expire_parked(work, event.source, event.correlation)
    elif isinstance(event, Append):
        leadership.accept_append(work, event)
    elif isinstance(event, Resign):
        leadership.request_resignation(work, event)
    elif isinstance(event, UpgradeKRaftVersion):
        kraft_version.upgrade(work, event)
    elif isinstance(event, CreateSnapshot):
        snapshots.create(work, event)
    elif isinstance(event, Shutdown):
        work.by("TIMER-8")
        work.replica = replace(work.replica, shutting_down=True)
    else:
        raise TypeError(f"not an event: {event!r}")


def _time_out(work: Work, node: int) -> None:
    """No answer came. A Follower passes over its leader once, which is what a back-off does."""
    work.by("TIMER-7")
    if isinstance(work.replica.role, Follower) and work.replica.quorum_state.leader == node:
        work.by("FETCH-32")
        work.back_off(node)
    else:
        work.connection_ready(node)
    work.emit(ForgetRequests(node))


def _receive_request(work: Work, event: RequestReceived) -> None:
    request = event.request
    response: Response | None
    if isinstance(request, VoteRequest):
        response = vote.handle_request(work, request)
    elif isinstance(request, BeginQuorumEpochRequest):
        response = begin_quorum_epoch.handle_request(work, request)
    elif isinstance(request, EndQuorumEpochRequest):
        response = end_quorum_epoch.handle_request(work, request)
    elif isinstance(request, FetchRequest):
        response = fetch.handle_request(work, event.source, event.correlation, request)
    elif isinstance(request, FetchSnapshotRequest):
        response = snapshots.handle_request(work, request)
    elif isinstance(request, AddRaftVoterRequest):
        response = add_voter.handle_request(work, event.source, event.correlation, request)
    elif isinstance(request, RemoveRaftVoterRequest):
        response = remove_voter.handle_request(work, event.source, event.correlation, request)
    elif isinstance(request, UpdateRaftVoterRequest):
        response = update_voter.handle_request(work, request)
    elif isinstance(request, DescribeQuorumRequest):
        response = describe_quorum.handle_request(work, request)
    elif isinstance(request, AlterQuorumRequest):
        response = alter_quorum.handle_request(work, event.source, event.correlation, request)
    elif isinstance(request, FindQuorumRequest):
        response = find_quorum.handle_request(work)
    elif isinstance(request, ApiVersionsRequest):
        response = ApiVersionsResponse((0, work.replica.max_kraft_version))
    else:
        raise TypeError(f"not a request: {request!r}")
    if response is not None:
        work.reply(event.source, event.correlation, response)


def _receive_response(work: Work, event: ResponseReceived) -> None:
    connection = work.connection(event.source)
    work.by("RESP-7")
    if connection is None or not connection.awaiting or connection.correlation != event.correlation:
        return
    work.connection_ready(event.source)
    response = event.response
    if isinstance(response, VoteResponse):
        vote.handle_response(work, event.source, response)
    elif isinstance(response, BeginQuorumEpochResponse):
        begin_quorum_epoch.handle_response(work, event.source, response)
    elif isinstance(response, EndQuorumEpochResponse):
        end_quorum_epoch.handle_response(work, event.source, response)
    elif isinstance(response, FetchResponse):
        fetch.handle_response(work, event.source, response)
    elif isinstance(response, FetchSnapshotResponse):
        snapshots.handle_response(work, event.source, response)
    elif isinstance(response, AddRaftVoterResponse):
        add_voter.handle_response(work, event.source, response)
    elif isinstance(response, RemoveRaftVoterResponse):
        remove_voter.handle_response(work, event.source, response)
    elif isinstance(response, UpdateRaftVoterResponse):
        update_voter.handle_response(work, event.source, response)
    elif isinstance(response, FindQuorumResponse):
        find_quorum.handle_response(work, event.source, response)
    elif isinstance(response, AlterQuorumResponse):
        epochs.unexpected_error(work, event.source)
    elif isinstance(response, ApiVersionsResponse):
        add_voter.handle_api_versions_response(work, event.source, response)
    elif isinstance(response, DescribeQuorumResponse):
        raise work.exit(Fatal(FatalReason.UNEXPECTED_DESCRIPTION))
    else:
        raise TypeError(f"not a response: {response!r}")
