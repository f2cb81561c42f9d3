"""``tla/Brokers.tla`` beside the checker: forms of states, small scenarios, mutants, traces."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from kraftcheck.checking.run import check
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import find, shipped
from kraftcheck.tlc.brokers import BrokerForms
from kraftcheck.tlc.compare import Status, Wanted, ask, ask_about_mutant
from kraftcheck.tlc.follow import behaviour, configuration_of, follow
from kraftcheck.tlc.modules import BROKERS_MUTANTS_MODULE, Modules
from kraftcheck.tlc.parse import parse_value
from kraftcheck.tlc.values import NoFormError, text
from tests.tlc.tools import compared, tools

#: The draft without clocks and with them, and with a link that is cut; and what shipped.
SMALL = (
    "parity-brokers-incarnations",
    "brokers-serves-delay-1",
    "parity-brokers-faults",
    "parity-brokers-shipped-isr",
    "parity-brokers-shipped-restart",
    "parity-brokers-shipped-hands-over",
)
VIOLATED = "brokers-timeouts-drift"
MUTANTS = (
    "former-life-accepted",
    "leader-of-an-earlier-epoch-changes-isrs",
    "any-proposal-is-an-isr",
    "fenced-broker-serves",
    "ends-with-accepted-requests",
    "given-up-heartbeat-counts-on",
    "broker-epoch-stays",
    "unfenced-by-any-heartbeat",
    "controlled-shutdown-waits-for-nobody",
    "fenced-member-joins",
    "session-without-the-offset",
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["parity-brokers-heartbeats", "brokers-serves-delay-1", "mutants-brokers-shipped-empty-isr"]
)
def test_different_states_have_different_forms(name: str) -> None:
    """The forms say all that the states say, and what they say is TLA+."""
    scenario = find(name)
    system = kind_of(scenario).build(scenario)
    _, states = explore_naively(system)
    forms = BrokerForms(system)  # type: ignore[arg-type]
    written = {str(sorted((key, text(value)) for key, value in forms.state(each).items())) for each in states}
    assert len(written) == len(states)
    for state in list(states)[:50]:
        for value in forms.state(state).values():
            assert text(parse_value(text(value))) == text(value)


@pytest.mark.parametrize(
    "name",
    ["brokers-legacy", "brokers-shipped-data", "brokers-data", "brokers-shipped-liveness-after-shutdown"],
)
def test_systems_that_the_module_cannot_say_are_refused(name: str) -> None:
    scenario = shipped()[name]
    with pytest.raises(NoFormError):
        BrokerForms(kind_of(scenario).build(scenario))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_take_the_place_of_operators_that_exist(name: str) -> None:
    modules = Modules()
    mutant = modules.mutants()[name]
    configuration = modules.mutated(mutant)
    assert configuration.root == BROKERS_MUTANTS_MODULE
    mutants = modules.sources()[f"{BROKERS_MUTANTS_MODULE}.tla"]
    others = "".join(source for file, source in modules.sources().items() if file.startswith("Brokers"))
    for old, new in mutant.replaces.items():
        assert f"\n{old}(" in others and f"\n{new}(" in mutants
        assert configuration.text.count(f"    {old} <- {new}\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_small_scenarios_are_the_same(name: str) -> None:
    found = compared(partial(ask, find(name), Modules()), Wanted(compare_states=20_000))
    assert found.status is Status.SAME, found.differences
    assert found.states is not None and found.states.common == found.checker.distinct_states


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_killed_by_both(name: str) -> None:
    modules = Modules()
    found = compared(partial(ask_about_mutant, modules.mutants()[name], modules), Wanted())
    assert found.status is Status.SAME, found.differences
    assert found.checker.violated and found.tlc.violated


@pytest.mark.slow
def test_tlc_takes_a_counterexample_and_refuses_it_with_a_state_changed() -> None:
    trace, modules = check(find(VIOLATED)).traces()[0], Modules()
    configuration = configuration_of(trace.scenario, modules, "the trace")
    course = behaviour(trace, "the trace")
    found = follow(course, configuration, trace.property, modules, tools())
    assert found.accepted and found.violated and found.taken == len(trace.steps)
    states = list(course.states)
    changed = text(states[2]["control"]).replace("epoch |-> 1", "epoch |-> 2", 1)
    states[2] = {**states[2], "control": parse_value(changed)}
    assert states[2] != course.states[2]
    found = follow(replace(course, states=tuple(states)), configuration, trace.property, modules, tools())
    assert not found.accepted and found.taken == 1 and found.unlike
