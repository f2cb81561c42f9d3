"""A follower passes over a silent leader at one poll: where it fetches, poll by poll."""

from __future__ import annotations

import pytest

from kraftcheck.evidence.adapters.silent_leader import SilentLeader
from kraftcheck.reference.effects import Send
from kraftcheck.reference.events import BackoffExpired, Event, Poll, RequestTimedOut, Timer
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Replica
from kraftcheck.systems.kraft.text import parse_replica

FOLLOWER = parse_replica("follower id=1 voters=1,2,3 epoch=5 leader=2 fetched awaiting=2")
STALE_ENTRY = parse_replica(
    "follower id=1/A voters=1/A,2/B,3/C kraft=1 max-kraft=2 epoch=5 leader=2 fetched awaiting=2"
)


def sent(replica: Replica, *events: Event) -> list[list[tuple[int, str]]]:
    """The requests of each poll, by destination."""
    silent, found = SilentLeader(), []
    for event in events:
        outcome = silent.step(KAFKA, replica, event)
        replica = outcome.replica
        requests = [
            (each.to, type(each.request).__name__) for each in outcome.effects if isinstance(each, Send)
        ]
        if isinstance(event, Poll):
            found.append(requests)
        else:
            assert not requests
    return found


@pytest.mark.parametrize(
    ("events", "requests"),
    [
        ([Poll(), Poll()], [[], [2]]),
        ([Poll((), 3), Poll()], [[3], []]),
        ([Poll((), 2)], [[2]]),
        # There is no back-off that could be over, not even before the poll that notices.
        ([BackoffExpired(2), Poll(), Poll()], [[], [2]]),
        ([BackoffExpired(3), Poll(), BackoffExpired(2), Poll()], [[], [2]]),
        ([RequestTimedOut(2), Poll(), Poll()], [[], [2]]),
    ],
)
def test_the_leader_is_passed_over_at_one_poll(events: list[Event], requests: list[list[int]]) -> None:
    found = sent(FOLLOWER, RequestTimedOut(2), *events)
    assert [[to for to, _ in poll] for poll in found] == requests


def test_a_request_about_the_own_entry_is_not_held_up() -> None:
    reports = sent(STALE_ENTRY, RequestTimedOut(2), Poll((Timer.UPDATE_VOTER,)))
    assert reports == [[(2, "UpdateRaftVoterRequest")]]
