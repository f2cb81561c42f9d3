"""Each message of a trace has one journey from where it is sent to where it ends."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.reference.frozen import replace
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.build import build as build_system
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import find
from kraftcheck.traces import Trace, build
from kraftcheck.traces.journeys import End, Journey, journeys
from kraftcheck.traces.walk import Walk
from tests.traces.trace_samples import FAULTY, UNSTABLE, counterexample, scenario_of


@cache
def faulty() -> KRaftSystem:
    return build_system(scenario_of(FAULTY))


@st.composite
def behaviours(draw: st.DrawFn) -> Trace:
    """A random behaviour of two voters under every fault."""
    walk = Walk(faulty())
    for _ in range(draw(st.integers(0, 25))):
        within = [at for at, step in enumerate(walk.options()) if step.cut is None]
        if walk.violated or not within:
            break
        walk.take(draw(st.sampled_from(within)))
    return build(faulty(), scenario_of(FAULTY), [taken.option for taken in walk.taken])


@pytest.mark.slow
@settings(max_examples=25)
@given(behaviours())
def test_journeys_and_the_network_agree(trace: Trace) -> None:
    found = journeys(trace)
    assert [each.sent for each in found] == sorted(each.sent for each in found)
    for number in range(len(trace.steps) + 1):
        flying = trace.steps[number - 1].in_flight if number else trace.in_flight
        expected = Counter((each.source, each.destination, type(each.payload)) for each in flying)
        assert (
            Counter(
                (each.message.source, each.message.destination, type(each.message.payload))
                for each in found
                if each.sent <= number and (each.ended is None or each.ended > number)
            )
            == expected
        )
    for step in trace.steps:
        end = End.LOST if step.kind == "lose" else End.DELIVERED
        ended = [
            each for each in found if each.ended == step.number and each.end in (End.LOST, End.DELIVERED)
        ]
        assert [(each.end, each.message) for each in ended] == ([(end, step.message)] if step.message else [])


def test_how_journeys_end() -> None:
    trace = counterexample(UNSTABLE)
    assert {each.end for each in journeys(trace)} >= {End.DELIVERED, End.CUT_LINK}


def test_a_copy_stays() -> None:
    """Brokers may receive a message twice."""
    chosen = find("parity-brokers-faults")
    walk = Walk(kind_of(chosen).build(chosen, chosen.name))
    for _ in range(9):
        twice = [at for at, step in enumerate(walk.options()) if step.path.duplicate and step.cut is None]
        acts = [at for at, step in enumerate(walk.options()) if step.path.kind == "act" and step.cut is None]
        walk.take((twice or acts)[0])
        if twice:
            break
    trace = build(walk.system, chosen, [taken.option for taken in walk.taken])
    copies = [each for each in journeys(trace) if each.copy]
    assert [(each.end, each.message) for each in copies] == [(End.ON_THE_WAY, trace.steps[-1].message)]


def test_what_is_in_flight_at_the_beginning() -> None:
    trace = replace(counterexample(UNSTABLE), steps=())
    assert journeys(trace) == tuple(Journey(each, 0, None, End.ON_THE_WAY) for each in trace.in_flight)
