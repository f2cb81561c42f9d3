"""What single steps of brokers and of the controller are judged by: steps in order, and with a fault."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.checking.run import check
from kraftcheck.reference.brokers import events, views
from kraftcheck.reference.brokers import step as reference
from kraftcheck.reference.brokers.broker import Api, Broker, Life
from kraftcheck.reference.brokers.controller import Controller, MetadataLog
from kraftcheck.reference.brokers.effects import (
    Accepted,
    BrokerFenced,
    FencedItself,
    Reply,
    SendMetadata,
    Stop,
)
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerState,
    IsrMember,
    MetadataHeartbeatResponse,
    PartitionProposal,
    Process,
    VisibleBroker,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED
from kraftcheck.reference.brokers.starting import running_cluster
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome
from kraftcheck.reference.frozen import replace
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers import control_checks, registration_checks, shutdown_checks
from kraftcheck.systems.brokers.controller_step import ControllerStep
from kraftcheck.systems.brokers.process_checks import violations as of_process
from kraftcheck.systems.brokers.shutdown_checks import leaving_after
from tests.systems.brokers.broker_samples import scenario_of, system_of

LED_BY_1 = Partition("t", 0, replicas=(1, 2), isr=(1, 2), leader=1)
CLUSTER, (FIRST, SECOND) = running_cluster(SHIPPED, (1, 2), (LED_BY_1,))
WIRING = system_of(brokers={"running": [1]}, protocol={"form": "shipped"}).wiring
TIMED = {"controller-timeout": 2, "broker-timeout": 3, "contact-time": "request"}
DRAFT = system_of(brokers={"running": [1]}, protocol={"set": TIMED}).wiring
_, (ACTIVE,) = running_cluster(DRAFT.protocol, (1,))


def heartbeat(of: Broker, offset: int, **wants: bool) -> events.RequestReceived:
    """A heartbeat that arrives at the controller."""
    return events.RequestReceived(1, of.process, BrokerHeartbeatRequest(of.id, of.epoch, offset, **wants))


def taken(state: Controller, event: events.ControllerEvent) -> ControllerOutcome:
    return reference.step(SHIPPED, state, event)


def log_of(state: Controller) -> MetadataLog:
    assert isinstance(state.durable, MetadataLog)
    return state.durable


def judged(
    before: Controller, event: events.ControllerEvent, outcome: ControllerOutcome, leaving: Any = ()
) -> set[str]:
    """The properties that a step of the controller violates."""
    step = ControllerStep(SHIPPED, before, event, outcome, leaving)
    return {*shutdown_checks.violations(step), *registration_checks.violations(step)}


def with_answer(outcome: ControllerOutcome, **changes: bool) -> ControllerOutcome:
    """``outcome`` with another answer to a heartbeat."""
    effects = tuple(
        replace(each, response=replace(each.response, **changes)) if isinstance(each, Reply) else each
        for each in outcome.effects
    )
    return replace(outcome, effects=effects)


def with_log(outcome: ControllerOutcome, **changes: Any) -> ControllerOutcome:
    """``outcome`` with another metadata log."""
    durable = replace(log_of(outcome.state), **changes)
    return replace(outcome, state=replace(outcome.state, durable=durable))


# The controller.


def test_a_leader_that_requests_a_shutdown_goes_when_the_others_have_read_so() -> None:
    request = heartbeat(FIRST, FIRST.offset, want_shutdown=True)
    begun = taken(CLUSTER, request)
    assert judged(CLUSTER, request, begun) == set()
    leaving = leaving_after(ControllerStep(SHIPPED, CLUSTER, request, begun))
    assert leaving == ((1, log_of(begun.state).end_offset - 1),)
    early = with_answer(taken(begun.state, request), should_shut_down=True)
    assert "ShutdownHandsLeadersOver" in judged(begun.state, request, early, leaving)
    read = taken(begun.state, heartbeat(SECOND, leaving[0][1])).state
    gone = taken(read, request)
    (told,) = (each.response for each in gone.effects if isinstance(each, Reply))
    assert told == BrokerHeartbeatResponse(caught_up=True, fenced=True, should_shut_down=True)
    assert judged(read, request, gone, leaving) == set()
    assert leaving_after(ControllerStep(SHIPPED, read, request, gone, leaving)) == ()


def test_a_shutdown_that_is_not_written_or_keeps_a_leadership_is_none() -> None:
    request = heartbeat(FIRST, FIRST.offset, want_shutdown=True)
    begun = taken(CLUSTER, request)
    registrations = log_of(begun.state).registrations
    forgotten = tuple(replace(each, in_controlled_shutdown=False) for each in registrations)
    kept, unwritten = with_log(begun, partitions=(LED_BY_1,)), with_log(begun, registrations=forgotten)
    assert "ShutdownHandsLeadersOver" in judged(CLUSTER, request, kept)
    assert "ShutdownHandsLeadersOver" in judged(CLUSTER, request, unwritten)
    unasked = with_answer(taken(CLUSTER, heartbeat(FIRST, 0)), should_shut_down=True)
    assert judged(CLUSTER, heartbeat(FIRST, 0), unasked) == {"ShutdownHandsLeadersOver"}


def test_nobody_joins_an_isr_on_its_way_out_or_in_a_former_life() -> None:
    alone = replace(CLUSTER, durable=replace(log_of(CLUSTER), partitions=(replace(LED_BY_1, isr=(1,)),)))
    both = replace(alone, durable=replace(log_of(alone), partitions=(LED_BY_1,)))

    def found(epoch: int, leaving: Any = ()) -> set[str]:
        asked = PartitionProposal("t", 0, 0, 0, (IsrMember(1), IsrMember(2, epoch)))
        event = events.RequestReceived(1, FIRST.process, AlterPartitionRequest(1, FIRST.epoch, (asked,)))
        step = ControllerStep(SHIPPED, alone, event, ControllerOutcome(both, (), ()), leaving)
        return set(shutdown_checks.violations(step))

    assert found(SECOND.epoch) == set()
    assert found(SECOND.epoch + 1) == {"LeavingBrokerIsNotChosen"}
    assert found(SECOND.epoch, ((2, 9),)) == {"LeavingBrokerIsNotChosen"}


def test_a_stopping_broker_of_the_draft_is_not_elected() -> None:
    before, _ = running_cluster(KIP343, (1, 2), (LED_BY_1,))
    stopping = tuple(
        replace(each, state=BrokerState.STOPPING) if each.broker == 2 else each for each in before.brokers
    )
    led = replace(LED_BY_1, leader=2, leader_epoch=1)
    after = replace(before, brokers=stopping, durable=replace(before.durable, partitions=(led,)))
    step = ControllerStep(KIP343, before, events.SessionExpired(1), ControllerOutcome(after, (), ()))
    assert set(shutdown_checks.violations(step)) == {"LeavingBrokerIsNotChosen"}


def test_a_registration_changes_by_its_own_life_only() -> None:
    fenced = taken(CLUSTER, events.SessionExpired(1)).state
    newcomer = events.RequestReceived(1, Process(1, 9), BrokerRegistrationRequest(1, "cluster", 9))
    registered = taken(fenced, newcomer)
    assert judged(fenced, newcomer, registered) == set()
    epoch = log_of(fenced).end_offset
    for wrong in ({"epoch": epoch + 1}, {"fenced": False}, {"incarnation": 8}):
        others = tuple(
            replace(each, **wrong) if each.broker == 1 else each
            for each in log_of(registered.state).registrations
        )
        bent = with_log(registered, registrations=others)
        assert "NewestRegistrationCounts" in judged(fenced, newcomer, bent)
    late = heartbeat(FIRST, 99)
    assert judged(registered.state, late, taken(registered.state, late)) == set()
    unfenced = taken(registered.state, heartbeat(replace(FIRST, epoch=epoch), epoch))
    assert {"UnfencedBrokerHasCaughtUp", "NewestRegistrationCounts"} <= judged(
        registered.state, late, unfenced
    )


def test_a_session_that_ends_fences_its_own_broker_and_no_other() -> None:
    event = events.SessionExpired(1)
    ended = taken(CLUSTER, event)
    assert judged(CLUSTER, event, ended) == set()
    both = tuple(replace(each, fenced=True) for each in log_of(ended.state).registrations)
    assert "NewestRegistrationCounts" in judged(CLUSTER, event, with_log(ended, registrations=both))


def judged_by_controller(
    before: Controller, event: events.ControllerEvent, outcome: ControllerOutcome, protocol: Any = SHIPPED
) -> set[str]:
    return set(control_checks.violations(ControllerStep(protocol, before, event, outcome)))


def test_a_broker_that_was_never_heard_of_is_not_shown() -> None:
    registered = reference.step(KIP343, running_cluster(KIP343, (1,))[0], events.RegistrationWritten(2, 5))
    told = views.metadata(registered.state)
    event = events.MetadataDue(Process(1, 1))

    def found(*shown: VisibleBroker) -> set[str]:
        tells = (SendMetadata(event.target, replace(told, brokers=shown)),)
        outcome = ControllerOutcome(registered.state, tells, ())
        return judged_by_controller(registered.state, event, outcome, KIP343)

    assert found(*told.brokers) == found(VisibleBroker(1, 1)) == set()
    assert found(*told.brokers, VisibleBroker(2, 2)) == {"InactiveBrokerIsInvisible"}


def test_an_error_of_one_partition_leaves_it_as_it_was_whatever_others_say() -> None:
    other = replace(LED_BY_1, index=1)
    before, (leader, _) = running_cluster(SHIPPED, (1, 2), (LED_BY_1, other))
    asked = tuple(PartitionProposal("t", index, 0, 0, (IsrMember(1),)) for index in (0, 1))
    stale = replace(asked[1], partition_epoch=-1)

    def judged_of(*proposals: PartitionProposal, bent: bool = False) -> set[str]:
        event = events.RequestReceived(1, leader.process, AlterPartitionRequest(1, leader.epoch, proposals))
        outcome = taken(before, event)
        if bent:
            written = tuple(replace(each, isr=(1,), partition_epoch=1) for each in (LED_BY_1, other))
            outcome = with_log(outcome, partitions=written)
        return judged_by_controller(before, event, outcome)

    assert judged_of(*asked) == judged_of(asked[0], stale) == set()
    both = {"IsrChangedByLeaderOnly", "RejectedIsrChangeHasNoEffect"}
    assert judged_of(asked[0], stale, bent=True) == both
    assert "RejectedIsrChangeHasNoEffect" in judged_of(stale, bent=True)


def test_unfencing_is_judged_by_the_registration_and_not_by_the_effect() -> None:
    fenced = taken(CLUSTER, events.SessionExpired(1)).state
    back = heartbeat(FIRST, FIRST.epoch)
    silent = taken(fenced, back)
    silent = replace(
        silent, effects=tuple(each for each in silent.effects if not isinstance(each, BrokerFenced))
    )
    assert judged(fenced, back, silent) == set()
    behind = heartbeat(FIRST, FIRST.epoch - 1)
    assert "UnfencedBrokerHasCaughtUp" in judged(fenced, behind, silent)


def test_a_new_controller_has_heard_nothing() -> None:
    spoken = taken(CLUSTER, heartbeat(FIRST, 99)).state
    event = events.Failover(2)
    new = taken(spoken, event)
    assert judged(spoken, event, new) == set()
    for sessions in ((), spoken.sessions, new.state.sessions[:1]):
        kept = replace(new, state=replace(new.state, sessions=sessions))
        assert judged(spoken, event, kept) == {"SessionsSayWhatWasHeard"}


# A process.


def of(before: Broker, event: Any, after: Broker, *effects: Any) -> set[str]:
    """The properties that a step of a process violates."""
    wiring = WIRING if before.life is not Life.STARTING else DRAFT
    return set(of_process(wiring, before, event, BrokerOutcome(after, effects, ())))


def test_a_shipped_process_stops_when_it_is_told_that_it_may() -> None:
    pending = replace(FIRST, life=Life.PENDING_CONTROLLED_SHUTDOWN, awaiting=(Api.HEARTBEAT,))
    ended = Broker(1, FIRST.incarnation, ended=True)
    told = events.ResponseReceived(1, BrokerHeartbeatResponse(fenced=True, should_shut_down=True))
    not_yet = events.ResponseReceived(1, BrokerHeartbeatResponse(fenced=False))
    assert of(pending, told, ended, Stop()) == set()
    assert of(pending, not_yet, ended, Stop()) == {"StopsOnlyWhenLetGo"}
    assert of(replace(pending, life=Life.RUNNING), told, ended, Stop()) == {"StopsOnlyWhenLetGo"}
    assert of(replace(pending, accepted=1), told, ended, Stop()) == {"AcceptedRequestsAreCompleted"}


def test_a_process_that_was_let_go_accepts_nothing() -> None:
    leaving = replace(FIRST, life=Life.SHUTTING_DOWN, accepted=1)
    assert of(leaving, events.HeartbeatDue(), replace(leaving, accepted=2), Accepted()) == {
        "AcceptedRequestsAreCompleted"
    }


def test_a_process_that_says_that_it_fences_itself_is_fenced() -> None:
    lonely = replace(ACTIVE, ticks=2, accepted=1)
    fenced = replace(lonely, ticks=0, fenced=True)
    assert of(lonely, events.Tick(), fenced, FencedItself()) == set()
    assert of(lonely, events.Tick(), replace(fenced, accepted=0), FencedItself()) == {
        "AcceptedRequestsAreCompleted"
    }
    found = of(lonely, events.Tick(), replace(fenced, fenced=False), FencedItself())
    assert found == {"FencedBrokerServesNothingNew", "ContactCountsByItsRequest"}


def test_a_stopping_process_leaves_when_it_leads_nothing() -> None:
    stopping = replace(ACTIVE, target=BrokerState.STOPPING, state=BrokerState.STOPPING)
    leaves = replace(stopping, target=BrokerState.INACTIVE, awaiting=(Api.HEARTBEAT,))
    assert of(stopping, events.HeartbeatDue(), leaves) == set()
    _, (leader, _) = running_cluster(DRAFT.protocol, (1, 2), (LED_BY_1,))
    leads = {"partitions": leader.partitions}
    assert of(replace(stopping, **leads), events.HeartbeatDue(), replace(leaves, **leads)) == {
        "StopsOnlyWhenLetGo"
    }


@pytest.mark.parametrize(
    ("age", "ticks", "right"), [(0, 0, True), (2, 2, True), (2, 0, False), (2, 1, False)]
)
def test_time_counts_from_the_request_that_is_answered(age: int, ticks: int, right: bool) -> None:
    before = replace(ACTIVE, ticks=2, request_ticks=age, awaiting=(Api.HEARTBEAT,))
    answer = events.ResponseReceived(1, MetadataHeartbeatResponse(state=BrokerState.ACTIVE))
    after = replace(ACTIVE, ticks=ticks)
    assert of(before, answer, after) == (set() if right else {"ContactCountsByItsRequest"})


def test_nothing_is_asked_of_a_process_that_has_ended_but_that_it_stays_so() -> None:
    """Its machine goes on, and with it the clock."""
    for wiring in (WIRING, DRAFT):
        ended = Broker(1, FIRST.incarnation, ended=True)
        again = replace(ended, ended=False)

        def found(after: Broker, wiring: Any = wiring, ended: Broker = ended) -> set[str]:
            return set(of_process(wiring, ended, events.Tick(), BrokerOutcome(after, (), ())))

        assert found(ended) == set() and found(again) == {"StopsOnlyWhenLetGo"}


# Scenarios.


def test_a_broker_with_a_clock_shuts_down_in_order() -> None:
    """The age of its last heartbeat ends with the answer, and its clock goes on when it has ended."""
    result = check(
        scenario_of(
            brokers={"running": [1]},
            protocol={"set": TIMED},
            network={"capacity": 3},
            budgets={"shutdowns": 1, "requests": 1},
            check={"goals": ["GoalBrokerStopped"]},
        )
    )
    assert result.exploration.violations == () and not result.exploration.missing_goals


@pytest.mark.slow
def test_a_scenario_of_brokers_may_ask_for_what_must_be_covered() -> None:
    tables: dict[str, Any] = {"brokers": {"running": [1]}, "budgets": {"timeouts": 1, "contact-losses": 0}}
    asked = ["rule HEARTBEAT-7", "action timeout", "rule FENCE-1"]
    result = check(scenario_of(**tables, expect={"verdict": "holds", "covers": asked}))
    assert result.differences == ("rule FENCE-1 was expected to be covered, and is not",)
    with pytest.raises(InputError, match="there is nothing called 'rule VOTE-10'"):
        check(scenario_of(**tables, expect={"verdict": "holds", "covers": ["rule VOTE-10"]}))


def test_only_silent_processes_lose_their_sessions_where_that_is_asked_for() -> None:
    tables: dict[str, Any] = {"brokers": {"running": [1]}, "protocol": {"form": "shipped"}}
    for cuts, reached in ((0, False), (1, True)):
        scenario = scenario_of(
            **tables,
            environment={"timeouts": "silent"},
            budgets={"cuts": cuts},
            check={"goals": ["GoalBrokerInactive"]},
        )
        assert ("GoalBrokerInactive" in check(scenario).exploration.reached_goals) is reached


@pytest.mark.slow
@pytest.mark.parametrize(("cuts", "violated"), [(0, False), (1, True)])
def test_a_link_that_stays_cut_counts(cuts: int, violated: bool) -> None:
    """The controller's time-outs never end: a broker that stays cut off stays active."""
    scenario = scenario_of(
        brokers={"running": [1]},
        environment={"metadata": "newest"},
        network={"capacity": 8},
        budgets={"timeouts": 0, "cuts": cuts},
        check={"eventually": [{"property": "BrokerLivenessEventuallyKnown", "goal": "liveness-known"}]},
    )
    (found,) = check(scenario).judged
    assert found.holds is not violated


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "goal", "losses"),
    [
        ("BrokerLivenessEventuallyKnown", "liveness-known", {"contact-losses": 0}),
        ("LiveBrokerEventuallyServes", "connected-serve", {}),
    ],
)
def test_what_becomes_of_a_broker_does_not_wait_for_another(
    name: str, goal: str, losses: dict[str, int]
) -> None:
    """The time of the one that is gone ends however often that of the other does, and both serve in turn."""
    scenario = scenario_of(
        brokers={"running": [1, 2]},
        environment={"metadata": "newest"},
        network={"capacity": 8},
        budgets={"crashes": 1, **losses},
        check={"eventually": [{"property": name, "goal": goal}]},
    )
    (found,) = check(scenario).judged
    assert found.holds
