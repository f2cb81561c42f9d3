"""Each configuration in ``tla/`` has the bounds, switches and properties of its scenario."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

import pytest

from kraftcheck.reference.brokers.protocol import IsrChanges
from kraftcheck.systems.brokers.build import build
from kraftcheck.systems.brokers.scenario import BrokerScenario
from kraftcheck.systems.brokers.system import BrokerSystem
from kraftcheck.systems.kraft import identities
from kraftcheck.systems.kraft.scenario import NAMES
from kraftcheck.systems.scenario import Scenario, find
from kraftcheck.tlc.brokers import BUDGETS
from kraftcheck.tlc.modules import BROKERS_MODULE, Configuration, Modules

MODULES = Modules()
CONFIGURATIONS = {name: MODULES.configuration(name) for name in MODULES.names()}
OF_BROKERS = tuple(n for n, each in CONFIGURATIONS.items() if each.root.startswith(BROKERS_MODULE))
OF_REPLICAS = tuple(name for name in CONFIGURATIONS if name not in OF_BROKERS)
#: Judged by the checker, and not by the modules: they have no fetches in purgatory, no endpoints, no legacy
#: brokers, no timers that start, one record in each append, no time between a request to resign and the
#: resignation, no disks of other releases, no calls that name an epoch, and logs that cannot have gaps.
WITHOUT_COUNTERPART = {
    "ResignedKeepsNobodyWaiting",
    "LeaderEndpointsAreKnown",
    "LegacyBrokerAlwaysActive",
    "TimersStartForCause",
    "TimersRunTheirTime",
    "ElectionsWaitForTimers",
    "WaitsAreTimed",
    "ExpiriesAreHandled",
    "AppendIsAtomic",
    "ResignationIsHeeded",
    "StartsOnKnownDisk",
    "LateCallsAreRefused",
    "LogHasNoGap",
}
#: The properties of voter changes that the modules judge.
OF_CHANGES = {
    "OneVoterChangeAtATime",
    "VoterChangeNeedsOwnEpochCommit",
    "CommittedSurvivesVoterChanges",
    "RemovedLeaderDoesNotCount",
    "AddedVoterIsReady",
    "VoterSetNotEmpty",
    "VoterChangeAcknowledgedWhenCommitted",
    "VoterChangeIsAnswered",
}
#: Timers that a configuration names for all replicas; scenarios of their own name them as they like.
TIMERS = {
    "NoTimers": set(),
    "ElectionOnly": {"election"},
    "ElectionAndFetch": {"election", "fetch"},
    "AllTimers": {"election", "fetch", "check-quorum", "begin-quorum-epoch"},
    "VoterChangeOnly": {"voter-change"},
    "ElectionFetchAndCheckQuorum": {"election", "fetch", "check-quorum"},
}
LINE = re.compile(r"^ {4}(\w+) (?:=|<-) ([^\n]+(?:\n {5,}[^\n]+)*)", re.MULTILINE)


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


def ids(replicas: Iterable[int]) -> str:
    return set_of(sorted(replicas))


def quoted(words: Iterable[str]) -> str:
    return set_of(f'"{word}"' for word in words)


def of_replicas(scenario: Scenario) -> dict[str, str]:
    """The constants that follow from a scenario of replicas alone."""
    replicas, network, environment = scenario.replicas, scenario.network, scenario.environment
    budgets, switches = scenario.budgets, scenario.protocol.set
    return {
        "StateMachine": f'"{switches.get("state-machine", "kip996")}"',
        "FollowerPreVote": f'"{switches.get("follower-pre-vote", "until-fetched")}"',
        "CandidateRestart": f'"{switches.get("candidate-restart", "own-vote")}"',
        "CheckQuorum": yes(bool(switches.get("check-quorum", True))),
        "Addable": ids(identities.addable(scenario)),
        "Voters": ids(replicas.voters),
        "Observers": ids(replicas.observers),
        "Joining": ids(replicas.joining),
        "Capacity": str(network.capacity),
        "Loss": f'"{network.loss}"',
        "ForgottenStay": yes(network.forgotten == "stay"),
        "Timely": yes(environment.timely),
        "Discovery": yes(environment.discovery),
        "PowerLoss": yes(environment.power_loss),
        "WriteBack": yes(environment.write_back),
        "Boundaries": yes(environment.boundaries),
        "CrashesAt": ids(environment.crashes_at or replicas.everybody),
        "Appends": str(budgets.appends),
        "Crashes": str(budgets.crashes),
        "Timeouts": str(budgets.timeouts),
        "Resigns": str(budgets.resigns),
        "Requests": str(budgets.admin),
        "Expirations": str(budgets.timers),
        "MaxEpoch": str(scenario.bounds.max_epoch),
    }


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
        "Ids": ids({*wiring.ids, *brokers.replicas}),
        "Replicas": f"Replicas{replicas}" if replicas else "NoReplicas",
        "Running": quoted(wiring.places[1:begin]),
        "StartingLater": quoted(wiring.places[begin:]),
        "Nodes": set_of(wiring.nodes),
        "FirstIsr": ids(brokers.isr or brokers.replicas),
        "Capacity": str(scenario.network.capacity),
        "Loss": f'"{scenario.network.loss}"',
        "ProposedIsrs": set_of(map(set_of, wiring.proposed_isrs)),
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


@pytest.mark.parametrize("name", OF_REPLICAS)
def test_the_constants_are_those_of_the_scenario(name: str) -> None:
    scenario, constants = find(name), constants_of(CONFIGURATIONS[name])
    wanted = of_replicas(scenario)
    assert {key: constants[key] for key in wanted} == wanted
    assert scenario.protocol.preset == "kafka" and not scenario.protocol.at
    assert (constants["CutLinks"] == "{}") == (not scenario.network.cut)
    if not scenario.environment.timers_at:
        assert TIMERS[constants["TimersAt"]] == set(scenario.environment.timers)
    if scenario.replicas.dynamic:
        assert constants["VotersOf"] == "LoggedVotersOf"
        assert constants["Steps"] == "".join(step.title().replace(" ", "") for step in scenario.admin.steps)
        assert constants["InOrder"] == yes(scenario.admin.order == "listed")
        assert constants["FirstLeader"] == str(scenario.replicas.initial_leader)
    # The modules have no form for these; a configuration of such a scenario would be wrong.
    assert not scenario.environment.delayed_fetches and not scenario.replicas.stopped
    assert not (scenario.budgets.shutdowns or scenario.budgets.wipes or scenario.budgets.snapshots)
    assert not scenario.network.no_pre_vote and scenario.network.idle_answers != "left-out"


@pytest.mark.parametrize("name", OF_BROKERS)
def test_the_constants_are_those_of_the_scenario_of_brokers(name: str) -> None:
    scenario = cast(BrokerScenario, find(name))
    system, constants = build(scenario), constants_of(CONFIGURATIONS[name])
    expected = of_protocol(system) | of_environment(scenario, system) | of_budgets(system)
    assert {key: constants[key] for key in expected} == expected
    assert set(constants) == {*expected, "None", "Judged"}
    wiring = system.wiring
    assert not wiring.legacy and not wiring.environment.data
    assert wiring.is_draft is (wiring.protocol.isr_changes is IsrChanges.ISR_CHANGE)
    # Clocks take their turns in the fixed order of the module; the checker has the order of the scenario.
    listed = re.search(r"InOrder == SelectSeq\(<<([^>]*)>>", MODULES.sources()["BrokersNetwork.tla"])
    assert listed is not None
    order = re.findall(r'"([\w-]+)"', listed[1])
    assert sorted(wiring.places[1:], key=order.index) == list(wiring.places[1:])


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_judged_properties_are_those_of_the_scenario(name: str) -> None:
    scenario, configuration = find(name), CONFIGURATIONS[name]
    if name in OF_BROKERS:
        asked = set(build(cast(BrokerScenario, scenario)).properties) - WITHOUT_COUNTERPART
        assert set(re.findall(r'"(\w+)"', constants_of(configuration)["Judged"])) == asked
    else:
        asked = {*(scenario.check.only or NAMES.judged("always")), *scenario.check.properties}
        asked |= OF_CHANGES if scenario.replicas.dynamic else set()
        asked -= {*scenario.check.without, *WITHOUT_COUNTERPART}
        waived = re.search(r"NotJudged = \{([^}]*)\}", configuration.text)
        assert waived is not None and not asked & set(re.findall(r'"(\w+)"', waived.group(1)))
    assert set(configuration.invariants) == asked


def test_there_are_configurations_of_both_forms_of_the_protocol_of_brokers() -> None:
    assert len(OF_BROKERS) > 10
    assert {build(cast(BrokerScenario, find(n))).wiring.is_draft for n in OF_BROKERS} == {True, False}
