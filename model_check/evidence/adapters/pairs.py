"""The coverage of a step of one replica, in two kinds of pairs.

* a rule that decided the step and an outcome of the step (:mod:`kraftcheck.checking.coverage.outcomes`)
* a field of the local state before the step, with its value, and the event: ``Follower, loading a part:
  request timed out``. Values are classes, such as ``none``, ``itself`` and ``another`` of a leader.

So a sequence is worth driving if it comes to an outcome of a rule, or an event in a state, that no other
sequence has come to.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from kraftcheck.checking.coverage.outcomes import features
from kraftcheck.evidence.adapters.asked import Asking, Question
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import (
    BackoffExpired,
    CreateSnapshot,
    Event,
    Poll,
    RequestReceived,
    RequestTimedOut,
    ResponseReceived,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Log, Value
from kraftcheck.reference.messages import Message, VoteRequest, VoteResponse
from kraftcheck.reference.replica import (
    AddingVoter,
    Candidate,
    Follower,
    Leader,
    Prospective,
    QuorumState,
    Replica,
    Resigned,
    UpdatingVoter,
)
from kraftcheck.reference.step import Outcome
from kraftcheck.reference.transitions import role_name

#: Separates the field from the event in the text of a pair.
SEPARATOR = ": "

_NONE, _YES, _NO, _BOTH = map(frozenset, ((), (True,), (False,), (True, False)))
#: Whether records of the state machine are among the batches of a leader that are not appended yet.
_PENDING = {_NONE: "nothing", _YES: "data", _NO: "control records", _BOTH: "both"}
#: Whether the answers of nodes are awaited.
_REQUESTS = {_NONE: "none", _YES: "awaited", _NO: "backing off", _BOTH: "awaited and backing off"}


def of_sequence(sequence: DriveSequence) -> frozenset[str]:
    """All pairs that ``sequence`` covers."""
    return frozenset(pair for question in Asking(sequence).questions() for pair in of_question(question))


def of_question(question: Question) -> frozenset[str]:
    """The pairs that one step covers. Of a crash only the event counts: no rule decides it."""
    known, event = question.before, question.event
    if isinstance(event, Start) or known is None:
        known = replace(question.identity, log=question.disk.log)
        event = Start()
    return pairs(known, question.disk, event, question.outcome)


def pairs(
    before: Replica, disk: Disk, event: Event | Start | Crash, outcome: Outcome | None
) -> frozenset[str]:
    """The pairs of a step of a replica that is as ``before``; at a start the configuration with the log
    found on ``disk``.
    """
    found = set(features(before, outcome)) if outcome is not None else set()
    state = stored_state(disk, before.id) if isinstance(event, Start) else local_state(before)
    happened = tuple(_happened(before, event))
    found.update(f"{field}{SEPARATOR}{word}" for field in state for word in happened)
    return frozenset(found)


# Fields.


@lru_cache(maxsize=4096)
def stored_state(disk: Disk, id: int) -> tuple[str, ...]:
    """The fields that a process finds at its start on ``disk``."""
    found = QuorumState() if disk.quorum_state is None else disk.quorum_state
    parts = ["no process, no quorum state"] if disk.quorum_state is None else []
    voted = None if found.voted is None else found.voted.id
    parts += [f"no process, leader {_whom(found.leader, id)}", f"no process, voted {_whom(voted, id)}"]
    return (*parts, *(f"no process, {word}" for word in _log(disk.log, found.epoch)))


@lru_cache(maxsize=16_384)
def local_state(replica: Replica) -> tuple[str, ...]:
    """The fields of a running replica, each with the role and the class of its value."""
    state, role = replica.quorum_state, replica.role
    voted = None if state.voted is None else state.voted.id
    words = [
        f"leader {_whom(state.leader, replica.id)}",
        f"voted {_whom(voted, replica.id)}",
        *_log(replica.log, replica.epoch),
        f"high watermark {_high_watermark(replica)}",
        f"voter set {_voter_set(replica)}",
        _membership(replica),
        f"kraft.version {replica.kraft_version}",
        f"requests {_requests(replica)}",
        f"{_number(len(replica.parked))} in purgatory",
        *_of_role(replica),
    ]
    if replica.log.read_to:
        words.append("control records passed over")
    if replica.log.voters_forgotten:
        words.append("earlier voter sets forgotten")
    if replica.shutting_down:
        words.append("shutting down")
    return tuple(f"{role_name(role)}, {word}" for word in words)


def _of_role(replica: Replica) -> Iterator[str]:
    role = replica.role
    if isinstance(role, Prospective | Candidate):
        granted = [voter for voter in role.election.granted if voter != replica.id]
        yield f"{_number(len(granted))} granted"
        yield f"{_number(len(role.election.rejected))} rejected"
    elif isinstance(role, Follower):
        yield "has fetched" if role.has_fetched else "has not fetched"
        loading = role.fetching_snapshot
        part = "nothing" if loading is None else "a part" if loading.position else "from the start"
        yield f"loading {part}"
        yield "leader updated" if role.has_updated_leader else "leader not updated"
    elif isinstance(role, Leader):
        yield from _of_leader(replica, role)
    elif isinstance(role, Resigned):
        yield f"{_number(len(role.unacknowledged))} unacknowledged"
        yield f"{_number(len(role.preferred_successors))} successors"


def _of_leader(replica: Replica, role: Leader) -> Iterator[str]:
    kinds = {isinstance(batch[0], Value) for batch in role.pending}
    yield f"pending {_PENDING[frozenset(kinds)]}"
    committed = replica.high_watermark is not None and replica.high_watermark > role.epoch_start_offset
    yield f"own epoch {'committed' if committed else 'not committed'}"
    others = [entry for entry in role.progress if entry.id != replica.id]
    known = [entry for entry in others if entry.end_offset is not None]
    yield f"{_number(len(known))} of its voters have fetched"
    yield "all acknowledged" if all(entry.acknowledged for entry in others) else "some unacknowledged"
    yield f"{_number(len(role.observers))} observers"
    yield f"{_number(len(role.contacts))} contacts"
    if role.resign_requested:
        yield "resignation requested"
    if isinstance(role.change, AddingVoter):
        yield f"adding a voter, {'asked' if role.change.offset is None else 'written'}"
    elif isinstance(role.change, UpdatingVoter):
        yield f"updating a voter, {'asked' if role.change.offset is None else 'written'}"
    elif role.change is not None:
        yield "removing a voter"


def _log(log: Log, epoch: int) -> Iterator[str]:
    if log.end_offset == 0:
        yield "log empty"
    else:
        yield f"log of {'this epoch' if log.last_epoch == epoch else 'an earlier epoch'}"
    yield f"{_number(len(log.snapshots))} snapshots"
    if log.start_offset:
        yield "log start deleted"


def _high_watermark(replica: Replica) -> str:
    if replica.high_watermark is None:
        return "unknown"
    return "at the end" if replica.high_watermark >= replica.log.end_offset else "before the end"


def _voter_set(replica: Replica) -> str:
    if replica.voters_offset < 0:
        return "configured"
    return "committed" if (replica.high_watermark or 0) > replica.voters_offset else "not committed"


def _membership(replica: Replica) -> str:
    if not replica.is_voter:
        return "observer"
    return "only voter" if len(replica.voters) == 1 else "voter"


def _requests(replica: Replica) -> str:
    awaiting = {connection.awaiting for connection in replica.connections}
    return _REQUESTS[frozenset(awaiting)]


def _whom(id: int | None, own: int) -> str:
    return "none" if id is None else "itself" if id == own else "another"


def _number(count: int) -> str:
    return ("no", "one")[count] if count < 2 else "several"


# Events.


def _happened(before: Replica, event: Event | Start | Crash) -> Iterator[str]:
    """The event in words: messages with their epoch and error compared, a poll for each expired timer."""
    if isinstance(event, RequestReceived):
        yield _message(before, event.request)
    elif isinstance(event, ResponseReceived):
        awaited = any(
            each.node == event.source and each.awaiting and each.correlation == event.correlation
            for each in before.connections
        )
        yield f"{_message(before, event.response)}{'' if awaited else ', late'}"
    elif isinstance(event, Poll):
        yield from (f"poll, {timer.value}" for timer in event.expired)
        if not event.expired:
            yield "poll" if event.discovery is None else "poll, discovery"
    elif isinstance(event, RequestTimedOut | BackoffExpired):
        whose = "the leader" if event.node == before.quorum_state.leader else "another"
        yield f"{type(event).__name__} of {whose}"
    elif isinstance(event, CreateSnapshot):
        yield "CreateSnapshot, deletes" if event.delete_prefix else "CreateSnapshot"
    elif isinstance(event, Crash):
        yield "loses power" if event.loses_power else "crash"
    else:
        yield type(event).__name__


def _message(before: Replica, message: Message) -> str:
    words = [type(message).__name__]
    for name in ("error", "partition_error"):
        code = getattr(message, name, ErrorCode.NONE)
        if code is not ErrorCode.NONE:
            words.append(code.name)
    epoch = getattr(message, "epoch", None)
    if epoch is not None and epoch != before.epoch:
        words.append("older" if epoch < before.epoch else "newer")
    if isinstance(message, VoteRequest) and message.pre_vote:
        words.append("pre-vote")
    if isinstance(message, VoteResponse) and message.granted:
        words.append("granted")
    return " ".join(words)
