"""Each configuration of brokers in ``tla/`` has the bounds, switches and properties of its scenario."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

import pytest

from kraftcheck.reference.brokers.protocol import IsrChanges
from kraftcheck.systems.brokers import names
from kraftcheck.systems.brokers.build import build
from kraftcheck.systems.brokers.scenario import BrokerScenario
from kraftcheck.systems.brokers.system import BrokerSystem
from kraftcheck.systems.scenario import find
from kraftcheck.tlc.brokers import BUDGETS
from kraftcheck.tlc.modules import BROKERS_MODULE, Configuration, Modules

#: The scenarios of brokers that have a configuration.
NAMES = tuple(
    name for name in Modules().names() if Modules().configuration(name).root.startswith(BROKERS_MODULE)
)
#: Of legacy brokers, which the modules do not have.
WITHOUT_COUNTERPART = {names.LEGACY_ACTIVE}
LINE = re.compile(r"^ {4}(\w+) (?:=|<-) ([^\n]+(?:\n {5,}[^\n]+)*)", re.MULTILINE)


def scenario_of(name: str) -> BrokerScenario:
    return cast(BrokerScenario, find(name))


def constants_of(configuration: Configuration) -> dict[str, str]:
    """The constants, each on one line."""
    before = configuration.text.partition("\nINVARIANTS")[0]
    return {name: re.sub(r"\s+", " ", value) for name, value in LINE.findall(before)}


def known(value: int | None) -> str:
    return "None" if value is None else str(value)


def yes(value: bool) -> str:
    return str(value).upper()


def set_of(members: Iterable[object]) -> str:
    return "{" + ", ".join(map(str, members)) + "}"


def quoted(words: Iterable[str]) -> str:
    return set_of(f'"{word}"' for word in words)


def of_protocol(system: BrokerSystem) -> dict[str, str]:
    protocol = system.wiring.protocol
    return {
        "Form": '"draft"' if protocol.is_draft else '"shipped"',
        "AlterPartitionVersion": str(protocol.alter_partition_version),
        "ControllerTimeout": known(protocol.controller_timeout),
        "BrokerTimeout": known(protocol.broker_timeout),
        "RebuildsIncarnations": yes(protocol.rebuilds_incarnations),
        "NewController": f'"{protocol.new_controller.value}"',
        "RejectionRestartsTimer": yes(protocol.rejection_restarts_timer),
        "RejectionFences": yes(protocol.rejection_fences),
        "Contact": f'"{protocol.contact.value}"',
        "ContactTime": f'"{protocol.contact_time.value}"',
        "KnownLife": f'"{protocol.known_life.value}"',
        "ComparesLeaderEpoch": yes(protocol.compares_leader_epoch),
        "InactiveLeavesIsr": yes(protocol.inactive_leaves_isr),
    }


def of_environment(scenario: BrokerScenario, system: BrokerSystem) -> dict[str, str]:
    brokers, wiring = scenario.brokers, system.wiring
    begin = 1 + len(brokers.running)
    replicas = "".join(map(str, brokers.replicas))
    return {
        "Ids": set_of(sorted({*wiring.ids, *brokers.replicas})),
        "Replicas": f"Replicas{replicas}" if replicas else "NoReplicas",
        "Running": quoted(wiring.places[1:begin]),
        "StartingLater": quoted(wiring.places[begin:]),
        "Nodes": set_of(wiring.nodes),
        "FirstIsr": set_of(sorted(brokers.isr or brokers.replicas)),
        "Capacity": str(scenario.network.capacity),
        "Loss": f'"{scenario.network.loss}"',
        "Wishes": set_of(map(set_of, wiring.wishes)),
        "Sessions": yes(wiring.environment.sessions),
        "SilentOnly": yes(wiring.silent_only),
        "Drift": str(wiring.environment.drift),
        "NewestMetadata": yes(wiring.environment.metadata == "newest"),
        "Delay": known(wiring.environment.delay),
        "ServesAtMost": known(scenario.check.serves_at_most),
    }


def of_budgets(system: BrokerSystem) -> dict[str, str]:
    given = dict(zip(system.budget_names, system.budgets, strict=True))
    unbounded = system.wiring.unbounded
    return {
        name[0].upper() + name[1:]: "None" if ours in unbounded else str(given.get(ours, 0))
        for name, ours in BUDGETS.items()
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_constants_are_those_of_the_scenario(name: str) -> None:
    scenario = scenario_of(name)
    system = build(scenario)
    expected = of_protocol(system) | of_environment(scenario, system) | of_budgets(system)
    constants = constants_of(Modules().configuration(name))
    assert {key: constants[key] for key in expected} == expected
    assert set(constants) == {*expected, "None", "Judged"}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_judged_is_what_the_scenario_asks_for(name: str) -> None:
    configuration = Modules().configuration(name)
    asked = set(build(scenario_of(name)).properties) - WITHOUT_COUNTERPART
    assert set(configuration.invariants) == asked
    assert set(re.findall(r'"(\w+)"', constants_of(configuration)["Judged"])) == asked


@pytest.mark.parametrize("name", NAMES)
def test_clocks_take_their_turns_in_the_order_of_the_module(name: str) -> None:
    """The module has a fixed order of places; the checker's is that of the scenario."""
    listed = re.search(r"InOrder == SelectSeq\(<<([^>]*)>>", Modules().sources()["BrokersNetwork.tla"])
    assert listed is not None
    order = re.findall(r'"([\w-]+)"', listed[1])
    places = build(scenario_of(name)).wiring.places[1:]
    assert sorted(places, key=order.index) == list(places)


def test_what_is_left_out_is_left_out() -> None:
    """The module has no form for these; a configuration of such a scenario would be wrong."""
    assert len(NAMES) > 10
    assert {build(scenario_of(name)).wiring.is_draft for name in NAMES} == {True, False}
    for name in NAMES:
        wiring = build(scenario_of(name)).wiring
        assert not wiring.legacy and not wiring.environment.data
        assert wiring.is_draft is (wiring.protocol.isr_changes is IsrChanges.ISR_CHANGE)
