"""The model of brokers step by step: signals, replication, history; scenarios that contradict themselves."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.engine.steps import initial_states, steps
from kraftcheck.engine.system import GlobalState
from kraftcheck.reference.brokers.broker import Api, Life
from kraftcheck.reference.brokers.events import RequestReceived
from kraftcheck.reference.brokers.messages import (
    BrokerHeartbeatRequest,
    BrokerState,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
    Process,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED
from kraftcheck.reference.brokers.starting import running_cluster
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers import network, shutdown_checks
from kraftcheck.systems.brokers.build import build
from kraftcheck.systems.brokers.controller_step import ControllerStep, Leaving
from kraftcheck.systems.brokers.coverage import to_cover
from kraftcheck.systems.brokers.history import (
    Crashed,
    Declared,
    HeartbeatAccepted,
    History,
    LaterProcessLeads,
    Served,
    TickEnded,
    beginning,
    record,
)
from kraftcheck.systems.brokers.places import Machine, Time
from kraftcheck.systems.brokers.replication import actions as replication_steps
from kraftcheck.systems.brokers.replication import with_metadata
from kraftcheck.systems.brokers.scenario import NAMES
from kraftcheck.systems.kinds import KINDS, kind_of
from tests.systems.brokers.broker_samples import scenario_of, system_of

HEARTBEAT = MetadataHeartbeatRequest(1, 1, BrokerState.ACTIVE)
CLOCKS = "protocol.set = { controller-timeout = 2, broker-timeout = 3 }"
TIMED = {"set": {"controller-timeout": 2, "broker-timeout": 3}}
ALL = frozenset(NAMES.judged("always", "on-request"))


def taken(system: Any, state: GlobalState, *actions: str) -> GlobalState:
    """The state after the only steps with these names."""
    for action in actions:
        (step,) = (
            each for each in steps(system, state) if str(each.outcome and each.outcome.action) == action
        )
        state = step.target
    return state


def test_a_forgotten_request_is_not_answered_and_its_answer_is_dropped() -> None:
    request = network.InFlight("broker-1", network.CONTROLLER, HEARTBEAT, node=1)
    answer = network.InFlight(
        network.CONTROLLER, "broker-1", MetadataHeartbeatResponse(state=BrokerState.ACTIVE), node=1
    )
    assert network.after_forgetting(request, "broker-1", Api.HEARTBEAT) == replace(request, answerable=False)
    assert network.after_forgetting(request, "broker-1", Api.ISR) == request
    assert network.after_forgetting(answer, "broker-1", Api.HEARTBEAT) is None
    assert network.after_forgetting(answer, "broker-2", None) == answer


def test_nobody_reads_metadata_for_the_process_that_starts_next() -> None:
    reads = network.InFlight("broker-1", network.CONTROLLER, network.ReadMetadata(), sender=Process(1, 1))
    assert network.after_forgetting(reads, "broker-1", None) is None
    assert (
        network.after_forgetting(reads, "broker-1", Api.HEARTBEAT)
        == network.after_forgetting(reads, "broker-2", None)
        == reads
    )


@pytest.mark.parametrize(("life", "committed"), [(Life.STARTING, 0), (Life.RECOVERY, 2)])
def test_a_shipped_process_that_starts_does_not_lead_for_its_former_life(life: Life, committed: int) -> None:
    """What it reads is older than its registration, by which its former life lost the leadership."""
    tables = {"running": [1, 2], "replicas": [1, 2], "isr": [1]}
    environment = {"data": True}
    system = system_of(brokers=tables, protocol={"form": "shipped"}, environment=environment)
    first = initial_states(system)[0].locals[1]
    assert isinstance(first, Machine) and first.broker is not None
    begun = replace(first, broker=replace(first.broker, life=life), log=(network.Record(0, "broker-1"),) * 2)
    assert with_metadata(system.wiring, begun).committed == committed
    sends = [step.outcome for step in replication_steps(system.wiring, 1, begun)]
    assert bool(sends) is (life is not Life.STARTING)


def test_a_message_is_lost_when_it_has_been_in_flight_for_too_long() -> None:
    message = network.InFlight("broker-1", network.CONTROLLER, HEARTBEAT)
    older = network.after_tick(message, 1)
    assert older is not None and older.age == 1
    assert network.after_tick(older, 1) is None
    assert network.after_tick(message, None) == message


def test_nothing_happens_within_a_tick_but_the_turns_of_those_whose_clocks_move() -> None:
    system = system_of(protocol=TIMED, brokers={"running": [1, 2]})
    state = taken(system, initial_states(system)[0], "tick at time")
    for place in ("controller", "broker-1", "broker-2"):
        assert [str(each.outcome and each.outcome.action) for each in steps(system, state)] == [
            f"tick at {place}"
        ]
        state = taken(system, state, f"tick at {place}")
    assert "heartbeat at broker-1" in {
        str(each.outcome and each.outcome.action) for each in steps(system, state)
    }
    assert [local.left for local in state.locals] == [0, 0, 0, 0]  # type: ignore[attr-defined]


def test_clocks_stay_within_their_drift() -> None:
    system = system_of(protocol=TIMED, brokers={"running": [1]}, environment={"drift": 1})
    seen, frontier = set(), [initial_states(system)[0]]
    for _ in range(8):
        found = {
            each.target for state in frontier for each in steps(system, state) if "tick" in str(each.outcome)
        }
        frontier = list(found - seen)
        seen |= found
    ahead = {local.ahead for state in seen for local in state.locals if isinstance(local, Time)}
    assert ahead == {(one, other) for one in (-1, 0, 1) for other in (-1, 0, 1)}


def test_a_follower_refuses_the_log_of_another_leader_epoch() -> None:
    for compared, log in (("compared", ()), ("ignored", (network.Record(7, "broker-1"),))):
        system = system_of(
            brokers={"running": [1, 2], "replicas": [1, 2]},
            environment={"data": True, "leader-epochs": compared},
        )
        follower = initial_states(system)[0].locals[2]
        message = network.InFlight(
            "broker-1", "broker-2", network.Replicate(7, (network.Record(7, "broker-1"),))
        )
        (outcome,) = system.deliver(2, follower, message)
        assert isinstance(outcome.local, Machine) and outcome.local.log == log
        assert len(outcome.sends) == (compared == "ignored")


def test_a_leader_commits_what_all_of_the_isr_hold() -> None:
    system = system_of(
        brokers={"running": [1, 2], "replicas": [1, 2]}, environment={"data": True}, budgets={"appends": 1}
    )
    state = taken(
        system, initial_states(system)[0], "append at broker-1", "replicate at broker-1 (to broker-2)"
    )
    assert state.history == History()
    state = taken(
        system, state, "Replicate at broker-2 (from broker-1)", "Replicated at broker-1 (from broker-2)"
    )
    assert state.history == History(committed=(network.Record(0, "broker-1"),))


def test_a_former_life_that_is_heard_after_a_later_one_violates() -> None:
    after = record(History(), HeartbeatAccepted(1, 2, 2), None, ALL).history
    found = record(after, HeartbeatAccepted(1, 1, 1), None, ALL)
    assert set(found.violations) == {"IncarnationMonotone", "OneLiveIncarnation"}
    assert record(after, HeartbeatAccepted(1, 3, 3), None, ALL).violations == ()


@pytest.mark.parametrize(
    ("label", "goal"), [(Crashed(), "GoalCrashAfterCommit"), (LaterProcessLeads(), "GoalLaterLifeLeads")]
)
def test_goals_of_crashes_need_something_committed(label: Crashed | LaterProcessLeads, goal: str) -> None:
    committed = History(committed=(network.Record(0, "broker-1"),))
    assert record(History(), label, None, frozenset()).goals == ()
    assert record(committed, label, None, frozenset()).goals == (goal,)


def test_a_broker_that_leads_nothing_waits_for_others_to_read_so() -> None:
    partition = Partition("t", 0, (1, 2), (1, 2), leader=1)
    controller, (one, _) = running_cluster(SHIPPED, (1, 2), (partition,))
    request = RequestReceived(1, one.process, BrokerHeartbeatRequest(1, one.epoch, 9, want_shutdown=True))
    told: list[list[str]] = []
    leaving: Leaving = ()
    for _ in range(2):
        outcome = step(SHIPPED, controller, request)
        taken_step = ControllerStep(SHIPPED, controller, request, outcome, leaving)
        told.append(list(shutdown_checks.goals(taken_step)))
        leaving = shutdown_checks.leaving_after(taken_step)
        controller = outcome.state
    assert told == [[], ["GoalShutdownWaits"]]


def test_ticks_count_from_the_declaration() -> None:
    history: Any = record(beginning((1,), (1,), 1, ALL), Declared(1, True), 1, ALL).history
    first = record(history, TickEnded(), 1, ALL)
    assert first.violations == () and first.goals == ("GoalServesTicks1",)
    second = record(first.history, TickEnded(), 1, ALL)  # type: ignore[arg-type]
    assert second.violations == ("InactiveBrokerServesBriefly",)
    fenced: Any = record(first.history, Served(1, False), 1, ALL).history  # type: ignore[arg-type]
    assert record(fenced, TickEnded(), 1, ALL).violations == ()


def test_each_value_belongs_to_its_kind() -> None:
    system = system_of(brokers={"running": [1]})
    kraft, brokers = KINDS
    state = initial_states(system)[0]
    assert {kind_of(each) for each in (system, *state.locals, state.history)} == {brokers}
    assert not set(kraft.values) & set(brokers.values)
    with pytest.raises(TypeError, match="belongs to no kind"):
        kind_of(1)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("brokers = {}", "name a broker"),
        ("replicas.voters = [1]", "tables of different scenarios"),
        ("brokers.running = [1, 1]", "named twice"),
        ("brokers.legacy = [2]", "2 does not take part"),
        ("environment.drift = 1", "no clock runs"),
        ("environment.data = true", "there is no partition"),
        ("brokers.partitions = 2", "there is none without replicas"),
        ("brokers.replicas = [1]; brokers.partitions = 2; environment.data = true", "the only one"),
        (
            "brokers.replicas = [1]; brokers.legacy = [1]; environment.data = true; "
            "budgets.request-timeouts = 1",
            "repeats its writes",
        ),
        ("check.serves-at-most = 1", "no clock runs"),
        ("reduction.symmetry = true", "brokers have none"),
        ("protocol.set.no-such = 1", "no switch 'no-such'"),
        ("protocol.set.contact = 'x'", "there are success, any-answer"),
        ("protocol.set.rejection-fences = 1", "true or false"),
        (f"{CLOCKS}; budgets.timeouts = 1", "counted in ticks"),
        (f"{CLOCKS}; environment.timeouts = 'silent'", "counted in ticks"),
        ("check.only = ['NoFatal']", "of this kind judges NoFatal"),
        ("check.goals = ['GoalX']", "is no goal"),
        ("brokers.replicas = [2]", "none of its members runs"),
        # It takes the place of ShutdownHandsLeadersOver, so that neither would be judged.
        (
            "check.properties = ['HandOverSurvivesFailover']; check.without = ['HandOverSurvivesFailover']",
            "'HandOverSurvivesFailover' is asked for in only or properties; choose one",
        ),
        (
            "protocol.form = 'shipped'; check.eventually = ["
            "{ property = 'PartitionedBrokerEventuallyFenced', goal = 'connected-are-unfenced' }]",
            "no shipped broker fences itself",
        ),
        (
            "protocol.form = 'shipped'; budgets.rolls = 1",
            "brokers.legacy, budgets.rolls: only the draft has legacy brokers",
        ),
    ],
)
def test_a_scenario_that_contradicts_itself_is_refused_in_one_sentence(keys: str, says: str) -> None:
    """One broker runs unless it says otherwise."""
    tables = tomllib.loads(keys.replace("; ", "\n"))
    if tables.setdefault("brokers", {"running": [1]}):
        tables["brokers"].setdefault("running", [1])
    with pytest.raises(InputError, match=says) as refused:
        build(scenario_of(**tables))
    assert str(refused.value).startswith("small.toml: ") and "\n" not in str(refused.value)


def test_graphs_of_brokers_show_what_the_controller_holds(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["graph", "brokers-cut-off-fences", "--shared", "fenced=yes"]) == 0
    said = capsys.readouterr().out
    assert "state=ACTIVE" in said and "fenced=no" in said
    # The controller is not fenced, and has no link.
    assert "node 1 brokers=" in said


def test_coverage_asks_for_nothing_of_the_other_form() -> None:
    draft, shipped_form = to_cover([KIP343]), to_cover([SHIPPED])
    assert "MetadataHeartbeatRequest" in draft["message"] and "leader moves" in draft["action"]
    assert "BrokerHeartbeatRequest" in shipped_form["message"] and "register" in shipped_form["action"]
    assert not {"MetadataHeartbeatRequest", "IsrChangeResponse"} & {*shipped_form["message"]}
    assert not {"BrokerHeartbeatRequest", "AlterPartitionResponse"} & {*draft["message"]}
    assert "INELIGIBLE_REPLICA" in shipped_form["error"] and "INELIGIBLE_REPLICA" not in draft["error"]
    everything = to_cover([])
    for kind in ("message", "error", "action"):
        assert {*everything[kind]} == {*draft[kind], *shipped_form[kind]}


def test_a_pattern_stands_for_all_scenarios_so_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "brokers-timeouts-*", "--list", "--json"]) == 0
    names = {each["name"] for each in json.loads(capsys.readouterr().out)["scenarios"]}
    assert names == {"brokers-timeouts-drift", "brokers-timeouts-in-order", "brokers-timeouts-swapped"}


def test_nothing_arrives_twice_from_the_store() -> None:
    """A copy of a registration would be an incarnation that no process has."""
    system = system_of(brokers={"starting": [1]}, network={"capacity": 4}, budgets={"duplicates": 2})
    graph = [initial_states(system)[0]]
    copied = set()
    for _ in range(6):
        found = [step for state in graph for step in steps(system, state)]
        copied |= {type(step.path.message.payload).__name__ for step in found if step.path.duplicate}
        graph = list({step.target: None for step in found})
    assert "MetadataHeartbeatRequest" in copied
    assert not copied & {"StoreRegistration", "StoreRegistered"}


def test_who_has_not_registered_leads_nothing() -> None:
    """A shipped process that starts reads that its id leads; that is the process with the disk."""
    twins = scenario_of(
        protocol={"form": "shipped"},
        brokers={"running": [1], "starting": [1], "replicas": [1]},
        environment={"data": True},
        network={"capacity": 1},
        budgets={"timeouts": 0, "appends": 1},
        check={"only": ["CommittedPartitionDataSurvives"]},
    )
    result = check(twins)
    assert result.exploration.limit is None and not result.exploration.violations
