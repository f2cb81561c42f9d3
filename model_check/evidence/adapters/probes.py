"""Single events that a working quorum does not send: every situation of the decision tables, and bad
messages.

An implementation meets them when a peer is faulty, very old or of another cluster. Each probe leads a replica
into a role and then gives it one event; of those that the reference decides in the same way one is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from kraftcheck.evidence.adapters.asked import Asking
from kraftcheck.evidence.adapters.prologue import approach
from kraftcheck.evidence.adapters.situation import situation
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start
from kraftcheck.evidence.recordings.wire import OTHER_TOPIC
from kraftcheck.query import replica_tables as tables
from kraftcheck.query.ask import ask, expecting_answer
from kraftcheck.query.replica_tables import REPLICATION
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import (
    Append,
    BackoffExpired,
    Event,
    Poll,
    RequestReceived,
    RequestTimedOut,
    Resign,
    ResponseReceived,
    Shutdown,
    Timer,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, EpochEnd, Value
from kraftcheck.reference.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    PartitionRequest,
    Response,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.protocol import PreVoteCompatibility, Protocol
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.step import Outcome
from kraftcheck.reference.transitions import role_name
from kraftcheck.reference.voters import Endpoint, ReplicaKey

#: The cluster of bad requests, and the cluster that receives them.
_THEIRS, _OURS = "another-cluster", "this-cluster"

#: The events after the probe: its effect shows in the next steps of the replica.
_AFTERWARDS = (Poll(), Poll((Timer.ELECTION, Timer.FETCH)), Poll())

Probe = tuple[str, Replica, Event | str]
Summary = tuple[str, ...]


def probes(protocol: Protocol) -> Iterator[DriveSequence]:
    """The probes, in a fixed order."""
    expected: set[Summary] = set()
    seen: set[Summary] = set()
    numbers: dict[str, int] = {}
    for name, replica, event in itertools.chain(
        _from_tables(), _bad_messages(), _calls(), _without_flag(protocol)
    ):
        likely = _likely(protocol, replica, event)
        if likely in expected:
            continue
        for sequence in _sequences(protocol, replica, event):
            done = _probed(sequence)
            if done is not None and done not in seen:
                seen.add(done)
                expected.add(likely)
                numbers[name] = numbers.get(name, 0) + 1
                yield replace(sequence, name=f"probe {name} {numbers[name]}")
            elif done == likely:
                expected.add(likely)


def _likely(protocol: Protocol, replica: Replica, event: Event | str) -> Summary:
    """The result of the reference if the replica is in exactly this state."""
    asked = "start" if isinstance(event, str) else event
    before = replica if isinstance(event, str) else expecting_answer(replica, event)
    outcome = ask(protocol, before, asked).outcome  # type: ignore[arg-type]
    if isinstance(event, str):
        return _summary(None, "start", outcome)
    return _summary(replica, f"{type(event).__name__} {_compared(replica, event)}", outcome)


def _compared(replica: Replica, event: Event) -> str:
    """The comparison of a Fetch response's content with the log; few rules decide many cases."""
    fetched = isinstance(event, ResponseReceived) and isinstance(event.response, FetchResponse)
    return situation(replica, event) if fetched else ""


def _summary(before: Replica | None, kind: str, outcome: Outcome) -> Summary:
    role = "none" if before is None else role_name(before.role)
    effects = tuple(type(effect).__name__ for effect in outcome.effects)
    return role, kind, *outcome.rules, *effects


def _probed(sequence: DriveSequence) -> Summary | None:
    """The result in the sequence, at the probed step."""
    for question in Asking(sequence).questions():
        if question.position == len(sequence.stimuli) - len(_AFTERWARDS) - 1:
            assert question.outcome is not None
            if question.before is None or isinstance(question.event, Start | Crash):
                return _summary(None, "start", question.outcome)
            kind = f"{type(question.event).__name__} {_compared(question.before, question.event)}"
            return _summary(question.before, kind, question.outcome)
    return None


def _sequences(protocol: Protocol, replica: Replica, event: Event | str) -> Iterator[DriveSequence]:
    """The sequence of a probe, if a path to its situation is known."""
    identity = replace(
        replica, endpoints=replica.endpoints or (Endpoint("CONTROLLER", f"node-{replica.id}", 9093),)
    )
    if isinstance(event, str):
        state = None if replica.quorum_state == QuorumState() else replica.quorum_state
        disk = Disk(state, replica.log, replica.log.end_offset)
        yield DriveSequence("", protocol, identity, disk, (Start(), *_AFTERWARDS))
        return
    disk, opening = approach(protocol, identity, replica)
    if opening is not None:
        yield DriveSequence("", protocol, identity, disk, (*opening, event, *_AFTERWARDS))


def _from_tables() -> Iterator[Probe]:
    for table in REPLICATION.values():
        for cell in itertools.product(*table.columns.values()):
            found = table.situation(dict(zip(table.columns, cell, strict=True)))
            if found is not None:
                yield table.name, *found


def _replicas() -> Iterator[Replica]:
    """A replica in each role, with a known leader and with a fetch where possible; and an observer."""
    for words in ("unattached", "follower leader=3", "follower leader=3 fetched"):
        yield tables.read(f"{words} id=1 epoch=5 voters=2,3,4 log=2@2,2@3")
    for role in tables.ROLES:
        for leader, words in itertools.product(("none", "1", "3"), ("", "fetched")):
            itself = role in ("Leader", "Resigned")
            if (words and role != "Follower") or (leader == "1") != itself:
                continue
            replica = tables.replica_in(role, words, leader=leader)
            if replica is not None:
                yield replica


def _bad_messages() -> Iterator[Probe]:
    for replica in _replicas():
        ours = replace(replica, cluster_id=_OURS)
        for epoch in (replica.epoch - 1, replica.epoch, replica.epoch + 1):
            for cluster in (_OURS, _THEIRS, None):
                for request in _requests(replica, epoch):
                    asked = replace(request, cluster_id=cluster)
                    yield "request of a cluster", ours, RequestReceived(2, asked)
        for request in _requests(replica, replica.epoch):
            elsewhere = replace(request, partition=f"{OTHER_TOPIC}-0")
            yield "request for another partition", replica, RequestReceived(2, elsewhere)
        for source in (2, 3):
            for response in _responses(replica):
                yield "response", replica, ResponseReceived(source, response)
    for known in ("", "hw=3"):
        follower = tables.read(f"follower id=1 epoch=5 log=2@2,2@3 leader=3 fetched {known}")
        for fetched in _fetched(follower):
            yield "fetch-response", follower, ResponseReceived(3, fetched)


def _requests(replica: Replica, epoch: int) -> Iterator[PartitionRequest]:
    sender, log = ReplicaKey(2), replica.log
    for voter in (replica.key, None, ReplicaKey(3)):
        for pre_vote in (False, True):
            yield VoteRequest(epoch, sender, voter, log.last_epoch, log.end_offset, pre_vote)
        yield BeginQuorumEpochRequest(epoch, 2, voter, (Endpoint("CONTROLLER", "node-2", 9093),))
    for successors in ((), (replica.key,), (ReplicaKey(3), replica.key)):
        yield EndQuorumEpochRequest(epoch, 2, successors, ())
    for voter in (ReplicaKey(2), ReplicaKey(9), ReplicaKey(-1)):
        for offset in (-1, 0, log.end_offset, log.end_offset + 1):
            yield FetchRequest(epoch, voter, offset, log.last_epoch, None, 0)
            yield FetchRequest(epoch, voter, offset, log.last_epoch + 9, None, 500)


def _responses(replica: Replica) -> Iterator[Response]:
    kinds = (VoteResponse, BeginQuorumEpochResponse, EndQuorumEpochResponse, FetchResponse)
    for kind in kinds:
        for error in (
            ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
            ErrorCode.BROKER_NOT_AVAILABLE,
            ErrorCode.UNSUPPORTED_VERSION,
            ErrorCode.INCONSISTENT_CLUSTER_ID,
        ):
            yield kind(-1, error=error)
        for epoch, leader, error in itertools.product(
            (replica.epoch - 1, replica.epoch, replica.epoch + 1),
            (None, 1, 2, 3, 9),
            (
                ErrorCode.NONE,
                ErrorCode.FENCED_LEADER_EPOCH,
                ErrorCode.UNKNOWN_LEADER_EPOCH,
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                ErrorCode.INVALID_REQUEST,
                ErrorCode.BROKER_NOT_AVAILABLE,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ),
        ):
            yield kind(epoch, leader, partition_error=error)


def _fetched(follower: Replica) -> Iterator[FetchResponse]:
    """Records that a leader may send, and ones that no leader sends: gaps, records of later epochs,
    truncations of committed ones.
    """
    epoch, end = follower.epoch, follower.log.end_offset
    for base, of_epoch, committed in itertools.product(
        (end - 1, end, end + 1), (4, 5, 6), (None, 0, 3, 4, 9)
    ):
        batches = (Batch(base, of_epoch, (Value(7),)), Batch(base + 1, of_epoch, (Value(8),)))
        for count in range(3):
            yield FetchResponse(epoch, 3, committed, batches[:count])
    for of_epoch, offset in itertools.product((0, 1, 2, 3, 4), (0, 1, 2, 3, 4, 9)):
        yield FetchResponse(epoch, 3, None, diverging=EpochEnd(of_epoch, offset))


def _without_flag(protocol: Protocol) -> Iterator[Probe]:
    """An answer to a pre-vote by a peer that took it for a vote, where answers carry the flag."""
    if protocol.pre_vote_compatibility is PreVoteCompatibility.RESPONSE_FLAG:
        for replica in _replicas():
            answer = VoteResponse(replica.epoch, pre_vote=False)
            yield "response without pre-vote", replica, ResponseReceived(2, answer)


def _calls() -> Iterator[Probe]:
    """Calls and network events in every role."""
    for replica in _replicas():
        for epoch in (replica.epoch - 1, replica.epoch, replica.epoch + 1):
            yield "call", replica, Append(epoch, (7, 8))
            yield "call", replica, Resign(epoch)
        yield "call", replica, Shutdown()
        for node in (2, 3):
            yield "network", replica, RequestTimedOut(node)
            yield "network", replica, BackoffExpired(node)
