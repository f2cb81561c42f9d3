"""When timers expire: also the election timer below a back-off of Kafka 3.9 and 4.0."""

from __future__ import annotations

import pytest

from kraftcheck.evidence.adapters.deadlines import Deadlines
from kraftcheck.reference.config import Times
from kraftcheck.reference.effects import ArmTimer, Duration
from kraftcheck.reference.events import Poll, Timer
from kraftcheck.reference.protocol import PRESETS
from kraftcheck.reference.replica import Follower, QuorumState, Replica
from kraftcheck.reference.voters import ReplicaKey, static_voters


@pytest.mark.parametrize(
    ("back_off", "expires"), [(Duration.SEPARATE_BACKOFF, 1999), (Duration.ELECTION_BACKOFF, 1549)]
)
def test_what_is_left_after_a_back_off(back_off: Duration, expires: int) -> None:
    """Elsewhere the back-off is the election timer, and is what goes on."""
    deadlines = Deadlines(PRESETS["kafka-4.0"], Times())
    for now, duration in enumerate((Duration.ELECTION_TIMEOUT, back_off, Duration.REMAINING)):
        deadlines.follow(None, [ArmTimer(Timer.ELECTION, duration)], 500 * now)
    assert deadlines.of(Timer.ELECTION) == expires
    deadlines.follow(None, [ArmTimer(Timer.ELECTION, Duration.REMAINING)], 1_600)
    assert deadlines.of(Timer.ELECTION) == expires


@pytest.mark.parametrize(("preset", "own_id", "longest"), [
    ("kafka-4.1", 9, None), ("kafka-4.2", 9, 1), ("kafka-4.1", 3, 1),
])  # fmt: skip
def test_whether_a_follower_sleeps_past_an_expired_fetch_timer(
    preset: str, own_id: int, longest: int | None
) -> None:
    """An observer up to 4.1 looks for a leader, and does not look at the timer until one is found."""
    deadlines = Deadlines(PRESETS[preset], Times())
    deadlines.follow(None, [ArmTimer(Timer.FETCH, Duration.FETCH_TIMEOUT)], 0)
    follower = Replica(
        ReplicaKey(own_id), static_voters((1, 2, 3)), quorum_state=QuorumState(1, 1), role=Follower(())
    )
    assert deadlines.longest_wait(follower, Poll((Timer.FETCH,), None, 5_000), 5_000) == longest
