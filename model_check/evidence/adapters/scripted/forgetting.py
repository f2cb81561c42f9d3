"""State that a replica must forget when its role or epoch changes.

State that outlives its epoch shows only later: in the next pre-vote, election, fetch or append.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.evidence.adapters.scripted.setting import (
    EPOCH,
    STATIC,
    Scripts,
    answer,
    candidate,
    deposed_and_elected,
    elected,
    endpoints,
    fetch,
    granted,
    in_epoch,
    leads,
    nothing_new,
    rejected,
    vote_request,
)
from kraftcheck.evidence.adapters.stimuli import DriveSequence, LateResponse
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Append, BackoffExpired, Poll, RequestTimedOut, Resign, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, Value
from kraftcheck.reference.messages import (
    BeginQuorumEpochResponse,
    EndQuorumEpochResponse,
    FetchResponse,
    VoteResponse,
)
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.voters import ReplicaKey, static_voters

_NEXT = EPOCH + 1
_TIME_OUT = Poll((Timer.ELECTION, Timer.FETCH))
_FIVE = replace(STATIC, bootstrap_voters=static_voters((1, 2, 3, 4, 5)))


def scripts(protocol: Protocol) -> Iterator[DriveSequence]:
    """The sequences."""
    made = Scripts("forgetting", protocol)
    yield from _fetched(made)
    yield from _old_answers(made)
    yield from _tallies(made)
    yield from _back_off(made)
    yield from _leadership(made)
    yield from _high_watermark(made)


def _fetched(made: Scripts) -> Iterator[DriveSequence]:
    """Whether it has fetched concerns one leader in one epoch: a Follower of another grants pre-votes."""
    fetched = (Poll(), leads(2, EPOCH), Poll(), nothing_new(2))
    before, after = vote_request(3, EPOCH, pre_vote=True), vote_request(2, _NEXT, pre_vote=True)
    told = FetchResponse(
        _NEXT, 3, partition_error=ErrorCode.FENCED_LEADER_EPOCH, leader_endpoints=endpoints(3)
    )
    ways = {
        "another leader": (leads(3, _NEXT), after),
        "the same leader, another epoch": (leads(2, _NEXT), vote_request(3, _NEXT, pre_vote=True)),
        "another leader, by an answer": (Poll(), answer(2, told), after),
        "another leader, after an election": (vote_request(2, _NEXT), leads(3, _NEXT), after),
        "the same leader again, after a lost pre-vote": (
            _TIME_OUT, Poll(), rejected(2, leader=2), rejected(3, leader=2), before,
        ),
        "the same leader with more endpoints": (leads(2, EPOCH, "SECOND"), before),
    }  # fmt: skip
    for name, way in ways.items():
        yield made.sequence(f"fetched, then {name}", STATIC, in_epoch(), *fetched, before, *way)
    follows = (leads(3, _NEXT), Poll(), nothing_new(3, _NEXT), after)
    yield made.sequence("fetched from both", STATIC, in_epoch(), *fetched, before, *follows)


def _old_answers(made: Scripts) -> Iterator[DriveSequence]:
    """An answer to a forgotten request does not answer the request that is awaited."""
    again = (_TIME_OUT, _TIME_OUT, Poll())
    late = LateResponse(2, VoteResponse(EPOCH, granted=True))
    yield made.sequence(
        "pre-vote of an earlier round", STATIC, in_epoch(), _TIME_OUT, Poll(), *again, late, granted(2)
    )
    yield made.sequence("vote of the candidacy before the pre-vote", STATIC, candidate(STATIC),
        Poll(), _TIME_OUT, Poll(), late, rejected(2), granted(3))  # fmt: skip
    yield made.sequence("refusal of an earlier round", STATIC, in_epoch(), _TIME_OUT, Poll(), *again,
        LateResponse(2, VoteResponse(EPOCH)), LateResponse(3, VoteResponse(EPOCH)), granted(2))  # fmt: skip
    records = FetchResponse(EPOCH, 2, 1, (Batch(0, EPOCH, (Value(7),)),))
    retry = (RequestTimedOut(2), BackoffExpired(2), Poll())
    follower = (Poll(), leads(2, EPOCH), Poll())
    yield made.sequence("records of a request that timed out", STATIC, in_epoch(), *follower, *retry,
        LateResponse(2, records), answer(2, records), LateResponse(2, records))  # fmt: skip
    yield made.sequence("records of a leader that is leader again", STATIC, in_epoch(), *follower,
        vote_request(3, _NEXT), leads(2, _NEXT), Poll(), LateResponse(2, replace(records, epoch=_NEXT)),
        nothing_new(2, _NEXT))  # fmt: skip
    announced = (*elected(2), RequestTimedOut(3), Poll((Timer.BEGIN_QUORUM_EPOCH,)))
    late_begin = BeginQuorumEpochResponse(EPOCH, 1)
    yield made.sequence("acknowledgement of an earlier announcement", STATIC, candidate(STATIC), *announced,
        LateResponse(3, late_begin), Poll((Timer.BEGIN_QUORUM_EPOCH,)), answer(3, late_begin))  # fmt: skip
    resigned = (*elected(2), Resign(EPOCH), Poll(), Poll(), RequestTimedOut(3), Poll())
    yield made.sequence("acknowledgement of an earlier end", STATIC, candidate(STATIC), *resigned,
        LateResponse(3, EndQuorumEpochResponse(EPOCH, 1)), RequestTimedOut(3), Poll())  # fmt: skip


def _tallies(made: Scripts) -> Iterator[DriveSequence]:
    """Votes count for one election."""
    again = (_TIME_OUT, _TIME_OUT, Poll())
    yield made.sequence("pre-votes of an earlier round", _FIVE, in_epoch(), _TIME_OUT, Poll(), granted(2),
        *again, granted(3), granted(2))  # fmt: skip
    yield made.sequence("refusals of an earlier round", _FIVE, in_epoch(), _TIME_OUT, Poll(), rejected(2),
        rejected(3), *again, rejected(4), granted(2), granted(3))  # fmt: skip
    won = (granted(2), granted(3), Poll(), granted(2, _NEXT), granted(3, _NEXT))
    yield made.sequence("votes of an earlier candidacy", _FIVE, candidate(_FIVE), Poll(), granted(2),
        _TIME_OUT, Poll(), granted(3), granted(4), Poll(), granted(5, _NEXT), *won)  # fmt: skip
    yield made.sequence("votes of another epoch", _FIVE, candidate(_FIVE), Poll(), granted(2),
        vote_request(3, _NEXT), _TIME_OUT, Poll(), granted(4, _NEXT), granted(5, _NEXT))  # fmt: skip


def _back_off(made: Scripts) -> Iterator[DriveSequence]:
    """The requests that follow a transition leave at once."""
    refused = answer(2, FetchResponse(-1, error=ErrorCode.BROKER_NOT_AVAILABLE))
    yield made.sequence("the back-off of a Follower", STATIC, in_epoch(), Poll(), leads(2, EPOCH), Poll(),
        refused, Poll(), _TIME_OUT, Poll())  # fmt: skip
    unknown = answer(2, VoteResponse(-1, error=ErrorCode.BROKER_NOT_AVAILABLE))
    yield made.sequence("the back-off of a Candidate", STATIC, candidate(STATIC), Poll(), unknown, Poll(),
        granted(3), Poll())  # fmt: skip


def _leadership(made: Scripts) -> Iterator[DriveSequence]:
    """A leader's knowledge of its epoch ends with the epoch."""
    two, three = ReplicaKey(2), ReplicaKey(3)
    again = deposed_and_elected(EPOCH, 2)
    new = EPOCH + 2
    lead, disk = elected(2), candidate(STATIC)
    linger = Poll((Timer.LINGER,))
    yield made.sequence("records that were not appended yet", STATIC, disk, *lead, Append(EPOCH, (7,)),
        *again, linger, Append(new, (8,)), linger)  # fmt: skip
    yield made.sequence("parked fetches", STATIC, disk, *lead, fetch(two, 1), fetch(two, 1, waits=True),
        *again, Append(new, (8,)), linger, fetch(two, 2, new))  # fmt: skip
    yield made.sequence("how far the voters are", STATIC, disk, *lead, fetch(two, 1), fetch(three, 1), *again,
        Append(new, (8,)), linger, fetch(two, 2, new), fetch(three, 3, new))  # fmt: skip
    yield made.sequence("the wish to resign", STATIC, disk, *lead, Resign(EPOCH), *again, Poll())
    five = elected(2, 3)
    others = deposed_and_elected(EPOCH, 2, 3)
    yield made.sequence("who was heard from before the timer was armed", _FIVE, candidate(_FIVE), *five,
        fetch(two, 1), fetch(three, 1), fetch(three, 1), fetch(two, 1), fetch(two, 1))  # fmt: skip
    yield made.sequence("who was heard from in another epoch", _FIVE, candidate(_FIVE), *five, fetch(two, 1),
        *others, fetch(three, 2, new), fetch(three, 2, new), fetch(two, 2, new))  # fmt: skip
    yield made.sequence("who has acknowledged", STATIC, disk, *lead, fetch(two, 1), fetch(three, 1), *again,
        Poll((Timer.BEGIN_QUORUM_EPOCH,)), Poll((Timer.BEGIN_QUORUM_EPOCH,)))  # fmt: skip


def _high_watermark(made: Scripts) -> Iterator[DriveSequence]:
    """A leader establishes the high watermark anew, and so does a Follower that was a leader."""
    two = ReplicaKey(2)
    led = (*elected(2), fetch(two, 1))
    disk = candidate(STATIC)
    yield made.sequence("what was committed, by a leader", STATIC, disk, *led,
        *deposed_and_elected(EPOCH, 2), fetch(two, 1, EPOCH + 2), fetch(two, 2, EPOCH + 2))  # fmt: skip
    yield made.sequence("what was committed, by a resigned leader", STATIC, disk, *led, Resign(EPOCH), Poll(),
        Poll(), leads(2, _NEXT), Poll(), nothing_new(2, _NEXT), Poll())  # fmt: skip
    records = FetchResponse(EPOCH, 2, 1, (Batch(0, EPOCH, (Value(7),)),))
    yield made.sequence("what was committed, by a Follower that wins", STATIC, in_epoch(), Poll(),
        leads(2, EPOCH), Poll(), answer(2, records), _TIME_OUT, Poll(), granted(3), Poll(), granted(3, _NEXT),
        Poll(), fetch(ReplicaKey(3), 1, _NEXT), fetch(ReplicaKey(3), 2, _NEXT))  # fmt: skip
