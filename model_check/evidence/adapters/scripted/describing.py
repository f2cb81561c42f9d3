"""DescribeQuorum: requests to a leader that others fetch from, to a follower, and about another partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kraftcheck.evidence.adapters.scripted.setting import (
    EPOCH,
    KEYS,
    Scripts,
    Stimuli,
    candidate,
    changing,
    elected,
    fetch,
    in_epoch,
    leads,
)
from kraftcheck.evidence.adapters.stimuli import DriveSequence
from kraftcheck.reference.events import Append, Poll, RequestReceived, Timer
from kraftcheck.reference.messages import DescribeQuorumRequest
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.voters import ReplicaKey

_CLIENT = -1
_ASK = RequestReceived(_CLIENT, DescribeQuorumRequest())


def scripts(protocol: Protocol) -> Iterator[DriveSequence]:
    """The sequences."""
    made = Scripts("describe the quorum", protocol)
    replica = changing(1, 2, 3)
    led: Stimuli = (*elected(2), _ASK, fetch(KEYS[2], 3), _ASK)
    appended: Stimuli = (Append(EPOCH, (7,)), Poll((Timer.LINGER,)), _ASK)
    elsewhere = RequestReceived(_CLIENT, DescribeQuorumRequest("another-topic-0"))
    ways: Mapping[str, Stimuli] = {
        "as its leader": (*led, *appended, fetch(KEYS[2], 4), _ASK),
        "with an observer": (*led, fetch(ReplicaKey(9, "d9"), 0), _ASK, fetch(ReplicaKey(9, "d9"), 3), _ASK),
        "of another partition": (*led, elsewhere),
    }
    for name, way in ways.items():
        yield made.sequence(name, replica, candidate(replica), *way)
    follower: Stimuli = (_ASK, Poll(), leads(2, EPOCH), _ASK, elsewhere)
    yield made.sequence("as no leader", replica, in_epoch(), *follower)
