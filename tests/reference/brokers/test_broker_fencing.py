"""A broker of KIP-343 that fences and unfences itself, its timer, and what it serves (FENCE, BSTATE-4)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import effects, events, views
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.configuration import problems
from kraftcheck.reference.brokers.errors import BrokerErrorCode as Error
from kraftcheck.reference.brokers.messages import BrokerState, MetadataHeartbeatResponse, Process
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol, Contact, ContactTime
from kraftcheck.reference.brokers.starting import starting
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import After, leader

TIMED = replace(KIP343, controller_timeout=2, broker_timeout=3)
FROM_REQUEST = replace(TIMED, contact_time=ContactTime.REQUEST)
ACTIVE = MetadataHeartbeatResponse(state=BrokerState.ACTIVE)


def waiting(protocol: BrokerProtocol, ticks: int = 0) -> After:
    """An unfenced broker that has sent a heartbeat ``ticks`` ago."""
    return leader(protocol).on(events.HeartbeatDue(), *[events.Tick()] * ticks)


def test_a_process_is_fenced_until_it_reaches_the_controller() -> None:
    process = After(KIP343, starting(KIP343, Process(1, 1), controller=1))
    refused = process.on(events.ClientRequest())
    assert refused.effects == (effects.Refused(),) and refused.rules == ("FENCE-2", "FENCE-9")
    reached = process.on(events.HeartbeatDue()).hear(ACTIVE)
    assert reached.effects == (effects.Unfenced(),)
    assert reached.rules == ("BSTATE-2", "BSTATE-4", "FENCE-8", "FENCE-3")
    taken = reached.on(events.ClientRequest())
    assert taken.effects == (effects.Accepted(),) and taken.rules == ("BSTATE-4",)


def test_a_broker_without_contact_fences_itself_in_the_tick_that_ends_its_time() -> None:
    before = waiting(TIMED, ticks=2)
    assert not before.state.fenced and before.state.ticks == 2
    after = before.on(events.Tick())
    assert after.effects == (effects.FencedItself(),)
    assert after.rules == ("FENCE-7", "FENCE-1", "CONFIG-13", "FENCE-2")
    assert after.state.fenced and after.state.ticks == 0
    assert after.on(events.Tick()).state == after.state


def test_a_fenced_broker_completes_what_it_has_accepted() -> None:
    fenced = leader(KIP343).on(events.ClientRequest(), events.ContactLost())
    assert fenced.state.fenced and not views.serves(KIP343, fenced.state)
    assert fenced.on(events.ClientRequest()).effects == (effects.Refused(),)
    done = fenced.on(events.ClientRequestDone())
    assert done.effects == (effects.Completed(),) and done.rules == ("FENCE-2",) and done.state.accepted == 0
    assert done.on(events.ClientRequestDone()).effects == ()


def test_a_stopping_broker_serves() -> None:
    stopping = leader(KIP343).but(state=BrokerState.STOPPING)
    assert stopping.on(events.ClientRequest()).effects == (effects.Accepted(),)


def test_contact_restarts_the_time() -> None:
    after = waiting(TIMED, ticks=2).hear(ACTIVE)
    assert after.state.ticks == 0 and "FENCE-8" in after.rules
    # Counted from the request an old answer is worth less.
    assert waiting(FROM_REQUEST, ticks=2).hear(ACTIVE).state.ticks == 2
    fenced = waiting(FROM_REQUEST, ticks=3)
    assert fenced.state.fenced and fenced.state.request_ticks == 3
    assert fenced.hear(ACTIVE).state.fenced  # the answer is as old as the time-out


@pytest.mark.parametrize("rejection_fences", [True, False])
def test_a_superseded_process_fences_itself_at_once(rejection_fences: bool) -> None:
    rejected = MetadataHeartbeatResponse(Error.INVALID_INCARNATION_ID)
    after = waiting(replace(KIP343, rejection_fences=rejection_fences)).hear(rejected)
    assert after.state.fenced is rejection_fences and "FENCE-6" in after.rules


def test_the_state_inactive_fences() -> None:
    after = waiting(KIP343).hear(MetadataHeartbeatResponse(state=BrokerState.INACTIVE))
    assert after.effects == (effects.FencedItself(),) and after.rules == ("BSTATE-2", "FENCE-6", "FENCE-2")


@pytest.mark.parametrize(("contact", "ticks"), [(Contact.SUCCESS, 2), (Contact.ANY_ANSWER, 0)])
def test_an_error_is_no_contact(contact: Contact, ticks: int) -> None:
    lost = MetadataHeartbeatResponse(Error.NOT_CONTROLLER)
    after = waiting(replace(TIMED, contact=contact), ticks=2).hear(lost)
    assert after.state.ticks == ticks and after.rules[0] == "HEARTBEAT-10"
    # It looks for the controller and asks that one.
    assert after.state.controller is None
    (sent,) = after.on(events.ControllerFound(2), events.HeartbeatDue()).effects
    assert sent.to == 2


def test_a_request_that_timed_out_may_be_sent_anew() -> None:
    after = waiting(FROM_REQUEST, ticks=1).on(events.RequestTimedOut(Api.HEARTBEAT))
    assert after.effects == (effects.ForgetRequest(Api.HEARTBEAT),)
    assert after.state.awaiting == () and after.state.request_ticks == 0
    assert after.on(events.RequestTimedOut(Api.HEARTBEAT)).effects == ()
    assert after.hear(ACTIVE).state == after.state  # an answer that is not awaited


def test_untimed_contact_may_be_lost_at_any_time() -> None:
    broker = waiting(KIP343)
    assert broker.on(events.Tick()).state == broker.state
    assert broker.on(events.ContactLost()).rules == ("FENCE-1", "CONFIG-13", "FENCE-2")
    timed = waiting(TIMED)
    assert timed.on(events.ContactLost()).state == timed.state


def test_a_shipped_broker_does_not_fence_itself() -> None:
    broker = leader(replace(SHIPPED, controller_timeout=2, broker_timeout=1))
    for event in (events.Tick(), events.ContactLost()):
        after = broker.on(event)
        assert after.state == broker.state and after.rules == ("HBK-10",)
    assert broker.on(events.ClientRequest()).effects == (effects.Accepted(),)


def test_a_fenced_broker_shows_no_old_metadata() -> None:
    broker = leader(KIP343)
    assert [each.broker for each in views.shown_to_clients(KIP343, broker.state) or ()] == [1, 2]
    assert views.shown_to_clients(KIP343, broker.but(fenced=True).state) is None


@pytest.mark.parametrize(
    ("protocol", "found"),
    [
        (KIP343, []),
        (TIMED, []),
        (replace(TIMED, broker_timeout=2), [("broker.heartbeat.timeout.ms", "FENCE-4")]),
        (replace(KIP343, controller_timeout=0), [("controller.heartbeat.timeout.ms", "CONFIG-12")]),
        (replace(KIP343, broker_timeout=0), [("broker.heartbeat.timeout.ms", "CONFIG-13")]),
        (replace(SHIPPED, controller_timeout=3, broker_timeout=1), []),
        (replace(SHIPPED, controller_timeout=0), [("broker.session.timeout.ms", "CONFIG-12")]),
    ],
)
def test_problems_of_timeouts(protocol: BrokerProtocol, found: list[tuple[str, str]]) -> None:
    """The draft has two in one order, a shipped broker has one."""
    assert [(each.key, each.rule) for each in problems(protocol)] == found
