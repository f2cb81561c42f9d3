"""A broker of KIP-343 that fences and unfences itself, its timer, and what it serves (FENCE, BSTATE-4)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Api, Broker
from kraftcheck.reference.brokers.configuration import problems
from kraftcheck.reference.brokers.effects import (
    Accepted,
    Completed,
    FencedItself,
    ForgetRequest,
    Refused,
    Send,
    Unfenced,
)
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import (
    ClientRequest,
    ClientRequestDone,
    ContactLost,
    ControllerFound,
    HeartbeatDue,
    RequestTimedOut,
    Tick,
)
from kraftcheck.reference.brokers.messages import BrokerState, MetadataHeartbeatResponse, Process
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol, Contact, ContactTime
from kraftcheck.reference.brokers.starting import starting
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import answer, cluster

TIMED = replace(KIP343, controller_timeout=2, broker_timeout=3)
ACTIVE = MetadataHeartbeatResponse(state=BrokerState.ACTIVE)


def error(code: BrokerErrorCode) -> MetadataHeartbeatResponse:
    return MetadataHeartbeatResponse(code)


def waiting(protocol: BrokerProtocol, ticks: int = 0) -> Broker:
    """An unfenced broker that has sent a heartbeat ``ticks`` ago."""
    _, broker, _ = cluster(protocol)
    broker = step(protocol, broker, HeartbeatDue()).state
    for _ in range(ticks):
        broker = step(protocol, broker, Tick()).state
    return broker


def test_a_process_is_fenced_until_it_reaches_the_controller() -> None:
    broker = starting(KIP343, Process(1, 1), controller=1)
    refused = step(KIP343, broker, ClientRequest())
    assert refused.effects == (Refused(),) and refused.rules == ("FENCE-2", "FENCE-9")
    reached = answer(KIP343, step(KIP343, broker, HeartbeatDue()).state, ACTIVE)
    assert reached.effects == (Unfenced(),)
    assert reached.rules == ("BSTATE-2", "BSTATE-4", "FENCE-8", "FENCE-3")
    taken = step(KIP343, reached.state, ClientRequest())
    assert taken.effects == (Accepted(),) and taken.rules == ("BSTATE-4",)


def test_a_lonely_broker_fences_itself_in_the_tick_that_ends_its_time() -> None:
    broker = waiting(TIMED, ticks=2)
    assert not broker.fenced and broker.ticks == 2
    outcome = step(TIMED, broker, Tick())
    assert outcome.effects == (FencedItself(),)
    assert outcome.rules == ("FENCE-7", "FENCE-1", "CONFIG-13", "FENCE-2")
    assert outcome.state.fenced and outcome.state.ticks == 0
    assert step(TIMED, outcome.state, Tick()).state == outcome.state


def test_a_fenced_broker_completes_what_it_has_accepted() -> None:
    _, broker, _ = cluster(KIP343)
    broker = step(KIP343, broker, ClientRequest()).state
    broker = step(KIP343, broker, ContactLost()).state
    assert broker.fenced and not views.serves(KIP343, broker)
    assert step(KIP343, broker, ClientRequest()).effects == (Refused(),)
    done = step(KIP343, broker, ClientRequestDone())
    assert done.effects == (Completed(),) and done.rules == ("FENCE-2",) and done.state.accepted == 0
    assert step(KIP343, done.state, ClientRequestDone()).effects == ()


def test_a_stopping_broker_serves() -> None:
    _, broker, _ = cluster(KIP343)
    broker = replace(broker, state=BrokerState.STOPPING)
    assert step(KIP343, broker, ClientRequest()).effects == (Accepted(),)


def test_contact_starts_the_time_over() -> None:
    outcome = answer(TIMED, waiting(TIMED, ticks=2), ACTIVE)
    assert outcome.state.ticks == 0 and "FENCE-8" in outcome.rules


def test_counted_from_the_request_an_old_answer_is_worth_less() -> None:
    protocol = replace(TIMED, contact_time=ContactTime.REQUEST)
    assert answer(protocol, waiting(protocol, ticks=2), ACTIVE).state.ticks == 2
    fenced = waiting(protocol, ticks=3)
    assert fenced.fenced and fenced.request_ticks == 3
    assert answer(protocol, fenced, ACTIVE).state.fenced  # the answer is as old as the time-out


@pytest.mark.parametrize("rejection_fences", [True, False])
def test_a_superseded_life_fences_itself_at_once(rejection_fences: bool) -> None:
    protocol = replace(KIP343, rejection_fences=rejection_fences)
    outcome = answer(protocol, waiting(protocol), error(BrokerErrorCode.INVALID_INCARNATION_ID))
    assert outcome.state.fenced is rejection_fences and "FENCE-6" in outcome.rules


def test_the_state_inactive_fences() -> None:
    outcome = answer(KIP343, waiting(KIP343), MetadataHeartbeatResponse(state=BrokerState.INACTIVE))
    assert outcome.effects == (FencedItself(),) and outcome.rules == ("BSTATE-2", "FENCE-6", "FENCE-2")


@pytest.mark.parametrize(("contact", "ticks"), [(Contact.SUCCESS, 2), (Contact.ANY_ANSWER, 0)])
def test_an_error_is_no_contact(contact: Contact, ticks: int) -> None:
    protocol = replace(TIMED, contact=contact)
    outcome = answer(protocol, waiting(protocol, ticks=2), error(BrokerErrorCode.NOT_CONTROLLER))
    assert outcome.state.ticks == ticks and outcome.rules[0] == "HEARTBEAT-10"
    # It looks for the controller and asks that one.
    assert outcome.state.controller is None
    found = step(protocol, outcome.state, ControllerFound(2)).state
    (sent,) = step(protocol, found, HeartbeatDue()).effects
    assert isinstance(sent, Send) and sent.to == 2


def test_a_request_that_is_given_up_may_be_sent_anew() -> None:
    protocol = replace(TIMED, contact_time=ContactTime.REQUEST)
    outcome = step(protocol, waiting(protocol, ticks=1), RequestTimedOut(Api.HEARTBEAT))
    assert outcome.effects == (ForgetRequest(Api.HEARTBEAT),)
    assert outcome.state.awaiting == () and outcome.state.request_ticks == 0
    assert step(protocol, outcome.state, RequestTimedOut(Api.HEARTBEAT)).effects == ()
    assert answer(protocol, outcome.state, ACTIVE).state == outcome.state  # an answer that nobody awaits


def test_untimed_contact_may_be_lost_at_any_time() -> None:
    broker = waiting(KIP343)
    assert step(KIP343, broker, Tick()).state == broker
    assert step(KIP343, broker, ContactLost()).rules == ("FENCE-1", "CONFIG-13", "FENCE-2")
    timed = waiting(TIMED)
    assert step(TIMED, timed, ContactLost()).state == timed


def test_a_shipped_broker_does_not_fence_itself() -> None:
    protocol = replace(SHIPPED, controller_timeout=2, broker_timeout=1)
    _, broker, _ = cluster(protocol)
    for event in (Tick(), ContactLost()):
        outcome = step(protocol, broker, event)
        assert outcome.state == broker and outcome.rules == ("HBK-10",)
    assert step(protocol, broker, ClientRequest()).effects == (Accepted(),)


def test_a_fenced_broker_shows_no_old_metadata() -> None:
    _, broker, _ = cluster(KIP343)
    assert [each.broker for each in views.shown_to_clients(KIP343, broker) or ()] == [1, 2]
    assert views.shown_to_clients(KIP343, replace(broker, fenced=True)) is None


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, []),
        ({"controller_timeout": 2, "broker_timeout": 3}, []),
        ({"controller_timeout": 2, "broker_timeout": 2}, [("broker.heartbeat.timeout.ms", "FENCE-4")]),
        ({"controller_timeout": 0}, [("controller.heartbeat.timeout.ms", "CONFIG-12")]),
        ({"broker_timeout": 0}, [("broker.heartbeat.timeout.ms", "CONFIG-13")]),
    ],
)
def test_order_of_the_timeouts(changes: dict[str, int], found: list[tuple[str, str]]) -> None:
    assert [(each.key, each.rule) for each in problems(replace(KIP343, **changes))] == found


def test_a_shipped_broker_has_one_timeout() -> None:
    assert problems(replace(SHIPPED, controller_timeout=3, broker_timeout=1)) == ()
    (problem,) = problems(replace(SHIPPED, controller_timeout=0))
    assert (problem.key, problem.rule) == ("broker.session.timeout.ms", "CONFIG-12")
