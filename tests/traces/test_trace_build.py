"""Traces are built by replay, and refuse what the reference does not do."""

from __future__ import annotations

from random import Random

import pytest

from kraftcheck.reference.frozen import replace
from kraftcheck.systems.kraft.build import build as build_system
from kraftcheck.traces import TraceError, build, build_lasso
from kraftcheck.traces.walk import Walk
from tests.traces.trace_samples import FAULTY, POWER_LOSS, UNSTABLE, counterexample, scenario_of, violation


def test_a_violation_becomes_a_trace_that_ends_in_it() -> None:
    system, chosen, found = violation(UNSTABLE)
    trace = build(system, chosen, found)
    assert len(trace.steps) == found.depth
    assert trace.property == "ReturningReplicaDeposesNobody"
    assert trace.steps[-1].violations == ("ReturningReplicaDeposesNobody",)
    assert all(not step.violations for step in trace.steps[:-1])
    assert trace.finding is not None
    assert trace.finding.reasons == ("Replica 2 becomes Leader of epoch 2 although replica 1 leads epoch 1.",)


def test_what_is_not_that_violation_is_refused() -> None:
    system, chosen, found = violation(UNSTABLE)
    with pytest.raises(TraceError, match="not in a violation of LogMatching"):
        build(system, chosen, replace(found, property="LogMatching"))
    with pytest.raises(TraceError, match="no violation"):
        build(system, chosen, replace(found, path=found.path[:-1]))
    with pytest.raises(TraceError, match="violated already"):
        build(system, chosen, (*build(system, chosen, found).path, 0))
    for option in (99, -1):
        with pytest.raises(TraceError, match="step 1"):
            build(system, chosen, (option,))


def test_a_path_of_options_addresses_the_same_behaviour() -> None:
    system, chosen, found = violation(UNSTABLE)
    trace = build(system, chosen, found)
    assert build(system, chosen, trace.path) == trace
    assert build(system, chosen, trace.path[:2]).steps == trace.steps[:2]


def test_rules_and_effects_are_those_of_the_reference() -> None:
    system, _, found = violation(UNSTABLE)
    trace = counterexample(UNSTABLE)
    nodes = dict(trace.nodes)
    for step in trace.steps:
        (run,) = step.runs
        before = nodes[step.replica].replica
        assert before is not None
        again = system.hosts[system.wiring.component(step.replica)].execute(before, run.events[0])
        assert (again.events, again.rules, again.effects) == (run.events, run.rules, run.effects)
        nodes |= dict(step.nodes)
        assert again.replica == nodes[step.replica].replica
    assert found.depth == len(trace.steps)


def test_a_crash_tells_what_never_happened_and_the_start_after_it() -> None:
    trace = counterexample(POWER_LOSS)
    handling, start = trace.steps[-1].runs
    assert not handling.start and start.start
    assert handling.completed < len(handling.effects)
    assert start.completed == len(start.effects)
    assert "loses power" in trace.steps[-1].action
    assert trace.steps[-1].budgets == (("appends", 0), ("crashes", 0))


@pytest.mark.slow
def test_messages_in_flight_add_up() -> None:
    system = build_system(scenario_of(FAULTY))
    random = Random(1)
    seen = set()
    for _ in range(15):
        walk = Walk(system)
        while walk.number <= 30 and not walk.violated:
            options = [number for number, step in enumerate(walk.options()) if step.cut is None]
            if not options:
                break
            walk.take(random.choice(options))
        path = [taken.option for taken in walk.taken]
        trace = build(system, scenario_of(FAULTY), path)
        known = len(trace.in_flight)
        for step in trace.steps:
            delivered = step.kind == "deliver"
            lost = step.kind == "lose"
            known += len(step.sent) - len(step.forgotten) - delivered - lost
            assert known == len(step.in_flight)
            seen |= {step.kind, "forgotten" if step.forgotten else ""}
    assert seen >= {"deliver", "act", "lose", "forgotten"}


def test_a_cycle_becomes_a_trace_that_repeats() -> None:
    system = build_system(scenario_of(FAULTY))
    random = Random(2)
    walk = Walk(system)
    states = [walk.state]
    while states.count(walk.state) < 2:
        options = [number for number, step in enumerate(walk.options()) if step.cut is None]
        walk.take(random.choice(options))
        states.append(walk.state)
    path = [taken.step.path for taken in walk.taken]
    begin = states.index(walk.state)
    trace = build_lasso(system, scenario_of(FAULTY), "EventuallyALeader", path[:begin], path[begin:])
    assert trace.loop == begin and trace.property == "EventuallyALeader"
    staying = build_lasso(system, scenario_of(FAULTY), "EventuallyALeader", path, ())
    assert staying.loop == len(path)
    with pytest.raises(TraceError, match="does not lead back"):
        build_lasso(system, scenario_of(FAULTY), "EventuallyALeader", path[:0], path[:1])
