"""Production's timers as the comparison keeps them: what expires, what is noticed, which draws there are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.evidence.recordings.clock import Clock
from kraftcheck.evidence.recordings.lines import Sent, TickLine
from kraftcheck.evidence.recordings.processes import is_second_half
from kraftcheck.evidence.recordings.recording import StepEvent
from kraftcheck.evidence.recordings.typed import typed
from kraftcheck.reference.config import Times
from kraftcheck.reference.effects import ArmTimer, Duration, SuccessorBackoff
from kraftcheck.reference.events import BackoffExpired, RequestTimedOut, Timer
from kraftcheck.reference.replica import (
    Candidate,
    Connection,
    Election,
    Follower,
    Leader,
    Progress,
    Replica,
    Resigned,
    Role,
    Unattached,
)
from kraftcheck.reference.voters import ReplicaKey, static_voters

TIMES = Times()
WAITS = tuple(Connection(node, True, node) for node in (1, 2, 3))


def replica(role: Role, connections: tuple[Connection, ...] = WAITS) -> Replica:
    return Replica(ReplicaKey(9), static_voters((1, 2, 3, 9)), role=role, connections=connections)


def noticed(role: Role, waited: int, *expired: Timer, announces_to_all: bool = False) -> set[int]:
    """The nodes whose requests, sent at 0, a poll after ``waited`` ms finds timed out."""
    clock, asking = Clock(TIMES, announces_to_all=announces_to_all), replica(role)
    clock.connect(asking, 0)
    return {event.node for event in clock.ready_again(asking, expired, waited)}


@given(st.integers(0, 10_000))
def test_a_request_times_out_however_late_the_poll_is(late: int) -> None:
    assert noticed(Unattached(), 2000 + late) == {1, 2, 3}
    assert noticed(Unattached(), 1999) == set()


def test_each_role_looks_only_at_connections_that_it_needs() -> None:
    progress = (
        Progress(ReplicaKey(1), last_fetch_time=1500),
        Progress(ReplicaKey(2)),
        Progress(ReplicaKey(3), last_fetch_time=1000),
        Progress(ReplicaKey(9)),
    )
    leads = Leader(0, (9,), progress)
    assert noticed(leads, 2000) == set()
    assert noticed(leads, 2000, Timer.BEGIN_QUORUM_EPOCH) == {2, 3}
    assert noticed(leads, 2000, Timer.BEGIN_QUORUM_EPOCH, announces_to_all=True) == {1, 2, 3}
    assert noticed(Resigned((2,)), 2000) == {2}
    assert noticed(Candidate(Election((1, 2, 3, 9), (3, 9), (1,))), 2000) == {2}
    assert noticed(Follower(()), 2000) == {1, 2, 3}


def test_a_back_off_is_over_and_a_request_is_not() -> None:
    clock = Clock(TIMES)
    both = replica(Unattached(), (Connection(1, False), Connection(2, True, 5)))
    clock.connect(both, 100)
    assert list(clock.ready_again(both, (), 119)) == []
    assert list(clock.ready_again(both, (), 120)) == [BackoffExpired(1)]
    assert list(clock.ready_again(both, (), 2100)) == [BackoffExpired(1), RequestTimedOut(2)]


@given(st.integers(0, 10_000))
def test_timers_expire_after_a_pause_of_any_length(pause: int) -> None:
    clock = Clock(TIMES)
    clock.arm(ArmTimer(Timer.FETCH, Duration.FETCH_TIMEOUT), 50)
    clock.arm(ArmTimer(Timer.CHECK_QUORUM, Duration.CHECK_QUORUM_TIMEOUT), 50)
    due = [Timer.FETCH] * (pause >= 2000) + [Timer.CHECK_QUORUM] * (pause >= 3000)
    assert list(clock.expired(50 + pause)) == due


def test_a_timer_that_goes_on_keeps_its_deadline() -> None:
    clock = Clock(TIMES)
    clock.arm(ArmTimer(Timer.FETCH, SuccessorBackoff(0, 2)), 70)
    assert clock.expired(70) == (Timer.FETCH,)
    clock.arm(ArmTimer(Timer.FETCH, Duration.REMAINING), 90)
    assert clock.deadlines[Timer.FETCH] == 70


@given(st.integers(-10, 1020))
def test_a_drawn_election_timeout_lies_within_the_draw(drawn: int) -> None:
    clock = Clock(TIMES)
    clock.arm(ArmTimer(Timer.ELECTION, Duration.ELECTION_TIMEOUT), 5)
    state = {"deadlines": {"election": 1005 + drawn}}
    shown, wrong = clock.shown(replica(Unattached()), state, _tick(state, 10))
    assert (wrong == []) == (0 <= drawn < 1000)
    assert shown == {"election": 1005 + drawn}


def _tick(state: dict[str, Any], now: int) -> StepEvent:
    shown: dict[str, Any] = dict.fromkeys(("epoch", "leader", "leo", "lastEpoch", "hw", "votersOffset"), 0)
    shown |= {"voters": [], "kraftVersion": 1, "isVoter": True, "state": "Unattached", **state}
    line = typed({"seq": 1, "t": now, "ev": "tick", "n": 9, "s": shown}, TickLine, "test")
    return StepEvent(line=line, shown={"s": state}, where="test", now=now)


def test_a_tick_in_which_only_a_timer_ran_out_is_the_second_half_of_a_poll() -> None:
    before: dict[str, Any] = {"state": "Leader", "deadlines": {"checkQuorum": 90, "beginQuorumEpoch": 50}}
    ran_out = {"state": "Leader", "deadlines": {"checkQuorum": 90, "beginQuorumEpoch": -1}}
    armed = {"state": "Leader", "deadlines": {"checkQuorum": 90, "beginQuorumEpoch": 1050}}
    assert is_second_half(_tick(ran_out, 50), before)
    assert not is_second_half(_tick(armed, 50), before)
    assert not is_second_half(_tick({**before, "state": "Resigned"}, 50), before)
    assert not is_second_half(_tick(before, 50), None)


def test_what_the_server_of_a_node_answers_may_stand_on_any_half() -> None:
    before: dict[str, Any] = {"state": "Leader", "deadlines": {"beginQuorumEpoch": 50}}
    event = _tick({"state": "Leader", "deadlines": {"beginQuorumEpoch": -1}}, 50)
    event.line.sent.append(Sent(7, 4, "resp", "ApiVersions", 6))
    assert is_second_half(event, before)
    event.line.sent.append(Sent(8, 4, "resp", "Fetch", 5))
    assert not is_second_half(event, before)


@pytest.mark.parametrize(("found", "is_wrong"), [(7, False), (1056, True)])
def test_a_backoff_that_is_drawn_is_taken_over_from_the_recording(found: int, is_wrong: bool) -> None:
    clock = Clock(TIMES)
    clock.arm(ArmTimer(Timer.ELECTION, Duration.ELECTION_BACKOFF), 6)
    assert bool(list(clock._adopt(found, 1))) == is_wrong
    assert list(clock.due()) == [found]


def test_what_is_left_of_the_election_timer_after_a_back_off_is_not_the_back_off() -> None:
    clock = Clock(Times())
    clock.arm(ArmTimer(Timer.ELECTION, Duration.ELECTION_TIMEOUT), 0)
    clock.deadlines[Timer.ELECTION], clock.random_from = 1_700, None
    clock.arm(ArmTimer(Timer.ELECTION, Duration.SEPARATE_BACKOFF), 500)
    clock.arm(ArmTimer(Timer.ELECTION, Duration.REMAINING), 600)
    assert clock.deadlines[Timer.ELECTION] == 1_700 and clock.random_from is None
    clock.arm(ArmTimer(Timer.ELECTION, Duration.REMAINING), 700)
    assert clock.deadlines[Timer.ELECTION] == 1_700
