"""Timers that run only if they were armed."""

from __future__ import annotations

import pytest

from kraftcheck.reference.effects import ArmTimer, Duration, Effect, SuccessorBackoff, Transition
from kraftcheck.reference.events import Event, Poll, RequestReceived, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import EndQuorumEpochRequest
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Candidate
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import timers
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.node import Execution, Node
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.kraft.text import parse_replica
from kraftcheck.systems.kraft.timer_causes import Case, _is_rank
from kraftcheck.systems.kraft.timer_checks import violations
from kraftcheck.systems.kraft.timers import Timers
from kraftcheck.systems.scenario import find, parse

UNATTACHED = parse_replica("unattached epoch=1 id=1 voters=1,2")
LEADER = parse_replica("leader epoch=1 log=1@1 start=0 id=1 voters=1,2")
RUNS, EXPIRED = Timers((Timer.ELECTION,)), Timers((), (Timer.ELECTION,))
ENTERED = Transition("Candidate", "Unattached", 1)


def after(known: Timers, *effects: object, lingers: bool = True) -> Timers:
    replica = LEADER if any(getattr(each, "target", "") == "Leader" for each in effects) else UNATTACHED
    return timers.after(known, effects, replica, lingers=lingers)  # type: ignore[arg-type]


def test_a_timer_is_expired_until_it_is_armed_again() -> None:
    expired = RUNS.with_expired((Timer.ELECTION,))
    assert expired == EXPIRED
    assert after(expired) == EXPIRED
    assert after(expired, ArmTimer(Timer.ELECTION, Duration.ELECTION_TIMEOUT)) == RUNS


@pytest.mark.parametrize(("known", "found"), [(RUNS, RUNS), (EXPIRED, EXPIRED), (Timers(), Timers())])
def test_the_time_left_is_that_of_the_state_before(known: Timers, found: Timers) -> None:
    assert after(known, ENTERED, ArmTimer(Timer.ELECTION, Duration.REMAINING)) == found


def test_a_change_of_state_forgets_the_timers_of_the_state_before() -> None:
    known = Timers((Timer.ELECTION, Timer.FETCH), (Timer.UPDATE_VOTER,))
    assert after(known, ENTERED) == Timers()
    assert after(known, ENTERED, ArmTimer(Timer.ELECTION, Duration.FOREVER)) == Timers()


def test_some_timers_have_no_time_when_they_are_armed() -> None:
    assert after(Timers(), ArmTimer(Timer.FETCH, SuccessorBackoff(0, 2))).expired == (Timer.FETCH,)
    assert after(Timers(), ArmTimer(Timer.FETCH, SuccessorBackoff(1, 2))).running == (Timer.FETCH,)
    assert after(Timers(), ArmTimer(Timer.ELECTION, Duration.NONE)) == EXPIRED


def test_a_leader_forgets_the_timers_of_waits_that_are_over() -> None:
    entered = Transition("Candidate", "Leader", 1)
    waits = (ArmTimer(Timer.LINGER, Duration.LINGER), ArmTimer(Timer.VOTER_CHANGE, Duration.REQUEST_TIMEOUT))
    assert after(Timers(), entered, *waits) == Timers()


def test_each_state_needs_its_timers() -> None:
    assert timers.needed(KAFKA, LEADER) == (Timer.CHECK_QUORUM, Timer.BEGIN_QUORUM_EPOCH)
    assert timers.needed(KAFKA, UNATTACHED) == (Timer.ELECTION,)
    observer = parse_replica("unattached epoch=1 id=3 voters=1,2")
    assert timers.needed(KAFKA, observer) == ()


def test_a_wait_without_a_timer_and_an_expiry_without_consequence_are_violations() -> None:
    system = build(find("timers-elect"))  # type: ignore[arg-type]
    node = system.nodes[0]
    assert isinstance(node, Node) and node.replica is not None and node.timers == RUNS
    (step,) = [step for step in system.action_steps(0, node) if "timer" in str(step.outcome.action)]
    assert step.execution is not None
    first = step.execution.events[0]
    found = step.outcome.local
    assert isinstance(found, Node)
    for left, broken in ((Timers(), "WaitsAreTimed"), (EXPIRED, "ExpiriesAreHandled")):
        after_step = replace(found, timers=left)
        assert [*violations(KAFKA, node.replica, first, step.execution, after_step)] == [broken]


def _candidate(preset: str, *, backs_off: bool) -> tuple[KRaftSystem, Node]:
    text = f"""
    name = "waits"
    about = "The election of a candidate times out."
    protocol = {{ preset = "{preset}" }}
    replicas = {{ voters = [1, 2, 3], initial.1 = "candidate epoch=1" }}
    environment = {{ timers = ["election"] }}
    bounds = {{ max-epoch = 2 }}
    expect = {{ verdict = "holds" }}
    """
    system = build(parse(text, "waits.toml"))  # type: ignore[arg-type]
    node = system.nodes[0]
    assert isinstance(node, Node) and node.replica is not None and isinstance(node.replica.role, Candidate)
    role = replace(node.replica.role, backs_off=backs_off)
    return system, replace(node, replica=replace(node.replica, role=role))


@pytest.mark.parametrize(
    ("preset", "backs_off", "wait"),
    [
        ("kafka-3.9", False, Duration.SEPARATE_BACKOFF),
        ("kafka-3.9", True, Duration.ELECTION_TIMEOUT),
        ("kafka-4.0", False, Duration.ELECTION_TIMEOUT),
        ("kafka-4.0", True, Duration.ELECTION_TIMEOUT),
    ],
)
def test_an_election_that_times_out_is_followed_by_a_wait_before_kip_996(
    preset: str, backs_off: bool, wait: Duration
) -> None:
    """Kafka 3.9 waits once in each candidacy; then, and in Kafka 4.0 at once, the next election begins."""
    system, node = _candidate(preset, backs_off=backs_off)
    (step,) = [step for step in system.action_steps(0, node) if "timer" in str(step.outcome.action)]
    after_step, execution = step.outcome.local, step.execution
    assert execution is not None and isinstance(after_step, Node) and node.replica is not None
    armed = [each for each in execution.effects if isinstance(each, ArmTimer)]
    assert [each.duration for each in armed] == [wait]
    protocol, first = system.protocols[0], execution.events[0]
    assert [*violations(protocol, node.replica, first, execution, after_step)] == []
    for other in {*Duration} - {wait}:
        wrong = [replace(each, duration=other) if each in armed else each for each in execution.effects]
        changed = replace(execution, effects=tuple(wrong))
        assert "TimersRunTheirTime" in [*violations(protocol, node.replica, first, changed, after_step)]


@pytest.mark.parametrize(("preset", "backs_off"), [("kafka-3.9", False), ("kafka-4.0", False)])
def test_timers_that_start_without_a_cause_or_do_not_start_are_violations(
    preset: str, backs_off: bool
) -> None:
    """In Kafka 3.9 the candidate has a cause to wait, in 4.0 a new state begins with its timer."""
    system, node = _candidate(preset, backs_off=backs_off)
    (step,) = [step for step in system.action_steps(0, node) if "timer" in str(step.outcome.action)]
    after_step, execution = step.outcome.local, step.execution
    assert execution is not None and isinstance(after_step, Node) and node.replica is not None
    first, effects = execution.events[0], execution.effects

    def judged(event: Event, *effects: Effect, events: tuple[Event, ...] = execution.events) -> list[str]:
        changed = replace(execution, events=events, effects=effects)
        return [*violations(system.protocols[0], node.replica, event, changed, after_step)]  # type: ignore[arg-type]

    assert judged(first, *effects) == []
    unarmed = [each for each in effects if not isinstance(each, ArmTimer)]
    assert "TimersStartForCause" in judged(first, *unarmed)
    for timer in {*Timer} - {Timer.ELECTION}:
        without_cause = ArmTimer(timer, Duration.FETCH_TIMEOUT)
        assert "TimersStartForCause" in judged(first, *effects, without_cause), timer
    if any(isinstance(each, Transition) for each in effects):
        assert "ElectionsWaitForTimers" in judged(Poll(), *effects, events=(Poll(),))


def test_linger_needs_timers_that_are_armed() -> None:
    text = """
    name = "lingers"
    about = "A leader collects records."
    replicas = { voters = [1] }
    environment = { timers = ["linger"] }
    expect = { verdict = "holds" }
    """
    with pytest.raises(InputError, match="linger is over at once"):
        build(parse(text, "lingers.toml"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("successors", "place"),
    [
        ((ReplicaKey(1), ReplicaKey(2)), 0),
        ((ReplicaKey(2), ReplicaKey(1)), 1),
        ((ReplicaKey(2), ReplicaKey(4)), 2),
        ((ReplicaKey(1, "d1"), ReplicaKey(2)), 2),
    ],
)
def test_a_voter_waits_as_its_place_among_the_successors_says(
    successors: tuple[ReplicaKey, ...], place: int
) -> None:
    """One that is not among them, or is on another disk, waits longest."""
    event = RequestReceived(3, EndQuorumEpochRequest(1, 3, successors))
    case = Case(KAFKA, UNATTACHED, event, Execution((event,), (), (), UNATTACHED))
    assert [n for n in range(4) if _is_rank(case, SuccessorBackoff(n, 2))] == [place]
