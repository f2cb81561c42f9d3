"""What is left of an election timer that goes on is a number that follows from the time it was armed for."""

import json
from typing import Any

import pytest

from kraftcheck.evidence.adapters.answers import read_hello
from kraftcheck.evidence.adapters.compare import compare
from kraftcheck.evidence.adapters.election_timer import ElectionTimer
from kraftcheck.evidence.adapters.serving import ReferenceAdapter

SHOWN = read_hello(json.dumps({"id": 0, **ReferenceAdapter().hello()}))


def armed(ms: Any) -> dict[str, Any]:
    return {"effect": "timer", "timer": "election", "ms": ms}


@pytest.mark.parametrize(
    ("before", "got", "fits"),
    [
        (1500, [armed(1200)], True),
        (1500, [armed("remaining")], True),
        (1500, [], True),
        (1500, [armed(1999)], False),
        (1500, [armed(1500)], False),
        (1500, [armed(None)], False),
        (None, [armed(1999)], True),
        (100, [armed(0)], True),
        (100, [armed(1)], True),
        (100, [armed(2)], False),
    ],
)
def test_what_is_left_is_what_was_left(before: int | None, got: list[dict[str, Any]], fits: bool) -> None:
    timer = ElectionTimer()
    timer.note([armed(before)], 1000)
    expected = timer.expected([armed("remaining")], 1300)
    found = [each.field for each in compare(SHOWN, expected, {}, got, {})]
    assert [field for field in found if field.startswith("timer")] == ([] if fits else ["timer election"])


def test_a_timer_that_goes_on_keeps_its_deadline_and_a_new_time_changes_it() -> None:
    timer = ElectionTimer()
    timer.note([armed(1000)], 0)
    timer.note([armed("remaining")], 400)
    assert timer.deadline == 1000
    timer.note([armed(1000)], 400)
    assert timer.deadline == 1400


def test_a_back_off_leaves_the_election_timer_below_it_alone() -> None:
    timer = ElectionTimer()
    timer.note([armed(1500)], 0)
    timer.note([armed(100)], 700, backs_off=True)
    assert timer.deadline == 1500


def test_a_step_that_arms_the_timer_first_says_nothing_about_what_is_left() -> None:
    timer = ElectionTimer(deadline=1000)
    effects = [armed((1000, 1999)), armed("remaining")]
    assert timer.expected(effects, 0) == effects
