"""BrokerHeartbeat: fenced, unfenced, shutting down, and the sessions behind it (HBK)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Broker, Life
from kraftcheck.reference.brokers.controller import Controller, Session
from kraftcheck.reference.brokers.effects import BrokerFenced, PartitionChanged, Send, Stop
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import (
    ClientRequest,
    ClientRequestDone,
    HeartbeatDue,
    SessionExpired,
    ShutdownWished,
    Tick,
)
from kraftcheck.reference.brokers.messages import BrokerHeartbeatRequest, BrokerHeartbeatResponse, Process
from kraftcheck.reference.brokers.protocol import SHIPPED
from kraftcheck.reference.brokers.starting import starting
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, answer, ask, cluster

TIMED = replace(SHIPPED, controller_timeout=2)


def beat(controller: Controller, broker: int = 1, offset: int = 99, **wishes: bool) -> BrokerHeartbeatRequest:
    known = views.registration(controller, broker)
    assert known is not None
    return BrokerHeartbeatRequest(broker, known.epoch, offset, **wishes)


def fenced(*brokers: int) -> Controller:
    controller, *_ = cluster(SHIPPED, LED_BY_1, LED_BY_2)
    for broker in brokers:
        controller = step(SHIPPED, controller, SessionExpired(broker)).state
    return controller


@pytest.mark.parametrize(
    ("node", "broker", "epoch", "error"),
    [
        (2, 1, 9, BrokerErrorCode.NOT_CONTROLLER),
        (1, 1, 9, BrokerErrorCode.STALE_BROKER_EPOCH),
        (1, 7, 1, BrokerErrorCode.STALE_BROKER_EPOCH),
    ],
)
def test_refused_as_a_whole(node: int, broker: int, epoch: int, error: BrokerErrorCode) -> None:
    controller, *_ = cluster(SHIPPED)
    outcome, response = ask(SHIPPED, controller, BrokerHeartbeatRequest(broker, epoch, 99), node)
    assert response == BrokerHeartbeatResponse(error)
    assert outcome.rules == ("HBK-1",) and outcome.state == controller


@pytest.mark.parametrize(
    ("offset", "wishes", "expected"),
    [
        (2, {}, BrokerHeartbeatResponse(caught_up=True, fenced=False)),
        (1, {}, BrokerHeartbeatResponse(caught_up=False, fenced=True)),
        (2, {"want_fence": True}, BrokerHeartbeatResponse(caught_up=True, fenced=True)),
        (1, {"want_shutdown": True}, BrokerHeartbeatResponse(fenced=True, should_shut_down=True)),
        (
            2,
            {"want_fence": True, "want_shutdown": True},
            BrokerHeartbeatResponse(caught_up=True, fenced=True, should_shut_down=True),
        ),
    ],
)
def test_heartbeat_of_a_fenced_broker(
    offset: int, wishes: dict[str, bool], expected: BrokerHeartbeatResponse
) -> None:
    """HBK-2: unfenced exactly from the offset of its registration record on, which is 2."""
    controller = fenced(1)
    assert views.registration(controller, 1).epoch == 2
    outcome, response = ask(SHIPPED, controller, beat(controller, offset=offset, **wishes))
    assert response == expected and outcome.rules[:2] == ("HBK-1", "HBK-2")
    assert (BrokerFenced(1, False) in outcome.effects) is not expected.fenced
    assert (outcome.state.durable == controller.durable) is expected.fenced  # no record says it again
    assert views.session(outcome.state, 1) == Session(1, offset=offset)


def test_an_unfenced_broker_leads_what_nobody_leads() -> None:
    controller = fenced(1, 2)
    first, second = controller.durable.partitions
    # Broker 1 was fenced first: 2 was the last member of both ISRs, and stays in them.
    assert (first.isr, first.leader, second.isr, second.leader) == ((2,), None, (2,), None)
    outcome, _ = ask(SHIPPED, controller, beat(controller, 2))
    assert "HBK-7" in outcome.rules
    assert [each.leader for each in outcome.state.durable.partitions] == [2, 2]
    other, _ = ask(SHIPPED, controller, beat(controller, 1))
    assert [each.leader for each in other.state.durable.partitions] == [None, None]


@pytest.mark.parametrize("want_shutdown", [False, True])
def test_a_broker_that_wishes_to_be_fenced(want_shutdown: bool) -> None:
    controller, *_ = cluster(SHIPPED)
    request = beat(controller, want_fence=True, want_shutdown=want_shutdown)
    outcome, response = ask(SHIPPED, controller, request)
    assert response.fenced and response.should_shut_down is want_shutdown
    assert "HBK-3" in outcome.rules and BrokerFenced(1, True) in outcome.effects
    assert outcome.state.durable.partitions[0].leader == 2


def test_a_broker_that_leads_nothing_shuts_down_at_once() -> None:
    controller, *_ = cluster(SHIPPED)
    outcome, response = ask(SHIPPED, controller, beat(controller, 2, want_shutdown=True))
    assert response.should_shut_down and "HBK-4" in outcome.rules
    assert views.registration(outcome.state, 2).fenced


def test_a_controlled_shutdown_ends_when_every_active_broker_knows_of_it() -> None:
    controller, *_ = cluster(SHIPPED, LED_BY_1, brokers=(1, 2, 3))
    begun, response = ask(SHIPPED, controller, beat(controller, want_shutdown=True))
    assert not response.should_shut_down and not response.fenced
    known = views.registration(begun.state, 1)
    assert known.in_controlled_shutdown and not known.fenced
    partition = begun.state.durable.partitions[0]
    assert (partition.leader, partition.isr) == (2, (2,))
    end = begun.state.durable.end_offset - 1
    assert views.session(begun.state, 1).shutdown_offset == end
    state = begun.state
    for broker, offset, done in ((2, end, False), (3, end - 1, False), (3, end, True)):
        state = ask(SHIPPED, state, beat(state, broker, offset))[0].state
        again, response = ask(SHIPPED, state, beat(state, want_shutdown=True))
        assert response.should_shut_down is done and "HBK-5" in again.rules
    assert views.registration(again.state, 1).fenced
    assert views.session(again.state, 1).shutdown_offset is None


def test_the_offset_of_a_shutdown_is_that_of_its_begin() -> None:
    controller, *_ = cluster(SHIPPED, LED_BY_1, brokers=(1, 2, 3))
    begun = ask(SHIPPED, controller, beat(controller, want_shutdown=True))[0].state
    more = step(SHIPPED, begun, SessionExpired(3)).state
    again = ask(SHIPPED, more, beat(more, offset=0, want_shutdown=True))[0].state
    assert views.session(again, 1).shutdown_offset == views.session(begun, 1).shutdown_offset


def test_a_broker_on_its_way_out_that_is_unfenced_leads_again() -> None:
    controller, *_ = cluster(SHIPPED, replace(LED_BY_1, isr=(1,)))
    begun = ask(SHIPPED, controller, beat(controller, want_shutdown=True))[0].state
    assert begun.durable.partitions[0].leader is None
    expired = step(SHIPPED, begun, SessionExpired(1)).state
    back = ask(SHIPPED, expired, beat(expired))[0].state
    assert not views.registration(back, 1).fenced and back.durable.partitions[0].leader == 1


def test_a_session_that_expires_fences_the_broker() -> None:
    controller, *_ = cluster(TIMED)
    once = step(TIMED, controller, Tick()).state
    heard = ask(TIMED, once, beat(once, 2))[0].state
    outcome = step(TIMED, heard, Tick())
    assert outcome.rules == ("HBK-6", "CONFIG-12")
    kinds = [type(each) for each in outcome.effects]
    assert kinds == [PartitionChanged, BrokerFenced]
    assert [each.broker for each in outcome.state.sessions] == [2]
    assert views.registration(outcome.state, 1).fenced
    # A second end of a session of a fenced broker writes nothing.
    again = ask(TIMED, outcome.state, beat(outcome.state, offset=0))[0].state
    assert views.session(again, 1) is not None and views.registration(again, 1).fenced
    ended = step(TIMED, step(TIMED, again, Tick()).state, Tick()).state
    assert views.session(ended, 1) is None


def test_untimed_a_session_may_end_at_any_time() -> None:
    controller, *_ = cluster(SHIPPED)
    assert step(SHIPPED, controller, Tick()).state == controller
    gone = step(SHIPPED, controller, SessionExpired(1))
    assert gone.rules == ("HBK-6", "CONFIG-12")
    assert step(SHIPPED, gone.state, SessionExpired(1)).state == gone.state
    timed, *_ = cluster(TIMED)
    assert step(TIMED, timed, SessionExpired(1)).state == timed


# The process.


def registered(life: Life = Life.STARTING) -> Broker:
    return replace(starting(SHIPPED, Process(1, 9), controller=1), epoch=4, offset=6, life=life)


def beaten(broker: Broker, response: BrokerHeartbeatResponse) -> Broker:
    return answer(SHIPPED, step(SHIPPED, broker, HeartbeatDue()).state, response).state


@pytest.mark.parametrize(
    ("life", "response", "then"),
    [
        (Life.STARTING, BrokerHeartbeatResponse(caught_up=False), Life.STARTING),
        (Life.STARTING, BrokerHeartbeatResponse(caught_up=True), Life.RECOVERY),
        (Life.RECOVERY, BrokerHeartbeatResponse(caught_up=True), Life.RECOVERY),
        (Life.RECOVERY, BrokerHeartbeatResponse(caught_up=True, fenced=False), Life.RUNNING),
        (Life.RUNNING, BrokerHeartbeatResponse(caught_up=True), Life.RUNNING),
        (Life.PENDING_CONTROLLED_SHUTDOWN, BrokerHeartbeatResponse(), Life.PENDING_CONTROLLED_SHUTDOWN),
    ],
)
def test_the_life_of_a_process(life: Life, response: BrokerHeartbeatResponse, then: Life) -> None:
    assert beaten(registered(life), response).life is then


@pytest.mark.parametrize(
    ("life", "wishes"),
    [
        (Life.STARTING, (True, False)),
        (Life.RECOVERY, (False, False)),
        (Life.RUNNING, (False, False)),
        (Life.PENDING_CONTROLLED_SHUTDOWN, (False, True)),
    ],
)
def test_what_a_heartbeat_wishes(life: Life, wishes: tuple[bool, bool]) -> None:
    outcome = step(SHIPPED, registered(life), HeartbeatDue())
    assert outcome.effects == (Send(1, BrokerHeartbeatRequest(1, 4, 6, *wishes)),)
    assert outcome.rules == ("HBK-1", "HBK-9")


def test_nobody_heartbeats_before_it_is_registered() -> None:
    broker = replace(registered(), epoch=-1)
    assert step(SHIPPED, broker, HeartbeatDue()).effects == ()


@pytest.mark.parametrize("error", [BrokerErrorCode.STALE_BROKER_EPOCH, BrokerErrorCode.NOT_CONTROLLER])
def test_a_superseded_life_goes_on(error: BrokerErrorCode) -> None:
    """HBK-10: nothing fences it but the metadata that it reads."""
    after = beaten(registered(Life.RUNNING), BrokerHeartbeatResponse(error))
    assert after.life is Life.RUNNING and views.serves(SHIPPED, after)
    assert (after.controller is None) == (error is BrokerErrorCode.NOT_CONTROLLER)


def test_an_orderly_end() -> None:
    taken = step(SHIPPED, registered(Life.RUNNING), ClientRequest())
    assert taken.rules == ("HBK-10",)
    pending = step(SHIPPED, taken.state, ShutdownWished()).state
    assert pending.life is Life.PENDING_CONTROLLED_SHUTDOWN and views.serves(SHIPPED, pending)
    let_go = beaten(pending, BrokerHeartbeatResponse(should_shut_down=True))
    assert let_go.life is Life.SHUTTING_DOWN and not views.serves(SHIPPED, let_go)
    assert step(SHIPPED, let_go, HeartbeatDue()).effects == ()
    done = step(SHIPPED, let_go, ClientRequestDone())
    assert done.effects[-1] == Stop() and done.state == Broker(1, 9, ended=True)
    assert step(SHIPPED, done.state, ClientRequest()).effects == ()


def test_a_process_that_does_not_run_yet_ends_at_once() -> None:
    outcome = step(SHIPPED, registered(), ShutdownWished())
    assert outcome.effects == (Stop(),) and outcome.rules == ("HBK-9",)
