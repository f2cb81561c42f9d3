"""What is left of an election timer that goes on is a number that follows from the time it was armed for."""

import json
from typing import Any

import pytest

from kraftcheck.evidence.adapters.answers import read_hello
from kraftcheck.evidence.adapters.compare import compare
from kraftcheck.evidence.adapters.election_timer import ElectionTimer
from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.adapters.session import Session
from kraftcheck.evidence.adapters.stimuli import DriveSequence, Start
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Poll, ResponseReceived, Timer
from kraftcheck.reference.messages import VoteResponse
from kraftcheck.reference.protocol import PRESETS
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import ReplicaKey, static_voters
from tests.evidence.adapters.in_process import InProcess

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
        (1500, [armed(1700)], False),
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


@pytest.mark.parametrize(("preset", "runs_on"), [("kafka-3.9", True), ("kip595", False)])
def test_only_a_back_off_of_its_own_leaves_the_election_timer_alone(preset: str, runs_on: bool) -> None:
    identity = Replica(ReplicaKey(1), static_voters((1, 2, 3)))
    refused = tuple(ResponseReceived(node, VoteResponse(1)) for node in (2, 3))
    stimuli = (Start(), Poll((Timer.ELECTION,)), Poll(), *refused, Poll())
    sequence = DriveSequence("a lost election", PRESETS[preset], identity, Disk(), stimuli)
    found = Session(InProcess(ReferenceAdapter())).drive(sequence)
    outcomes = [each.outcome for each in found.questions if each.outcome is not None]
    assert any("TIMER-6" in outcome.rules for outcome in outcomes)
    # The longest back-off is shorter than any election timeout that is drawn here.
    timer, longest = found.timer.deadline, found.questions[-1].now + 1100
    assert timer is not None and (timer > longest) == runs_on


def test_a_step_that_arms_the_timer_first_says_nothing_about_what_is_left() -> None:
    timer = ElectionTimer(deadline=1000)
    effects = [armed((1000, 1999)), armed("remaining")]
    assert timer.expected(effects, 0) == effects
