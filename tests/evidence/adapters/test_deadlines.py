"""When timers expire: also the election timer below a back-off of Kafka 3.9 and 4.0."""

from __future__ import annotations

import pytest

from kraftcheck.evidence.adapters.deadlines import Deadlines
from kraftcheck.reference.config import Times
from kraftcheck.reference.effects import ArmTimer, Duration
from kraftcheck.reference.events import Timer


@pytest.mark.parametrize(
    ("back_off", "expires"), [(Duration.SEPARATE_BACKOFF, 1999), (Duration.ELECTION_BACKOFF, 1549)]
)
def test_what_is_left_after_a_back_off(back_off: Duration, expires: int) -> None:
    """Elsewhere the back-off is the election timer, and is what goes on."""
    deadlines = Deadlines(Times())
    for now, duration in enumerate((Duration.ELECTION_TIMEOUT, back_off, Duration.REMAINING)):
        deadlines.follow(None, [ArmTimer(Timer.ELECTION, duration)], 500 * now)
    assert deadlines.of(Timer.ELECTION) == expires
    deadlines.follow(None, [ArmTimer(Timer.ELECTION, Duration.REMAINING)], 1_600)
    assert deadlines.of(Timer.ELECTION) == expires
