"""BrokerHeartbeat: fenced, unfenced, shutting down, and the sessions behind it (HBK)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import events, views
from kraftcheck.reference.brokers.broker import Broker, Life
from kraftcheck.reference.brokers.controller import Session
from kraftcheck.reference.brokers.effects import BrokerFenced, PartitionChanged, Send, Stop
from kraftcheck.reference.brokers.errors import BrokerErrorCode as Error
from kraftcheck.reference.brokers.messages import BrokerHeartbeatRequest, Process
from kraftcheck.reference.brokers.messages import BrokerHeartbeatResponse as Response
from kraftcheck.reference.brokers.protocol import SHIPPED
from kraftcheck.reference.brokers.starting import starting
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, After, controller

TIMED = replace(SHIPPED, controller_timeout=2)


def beat(after: After, broker: int = 1, offset: int = 99, **wanted: bool) -> After:
    """The controller after a heartbeat of a registered broker."""
    known = views.registration(after.state, broker)
    assert known is not None
    return after.ask(BrokerHeartbeatRequest(broker, known.epoch, offset, **wanted))


def fenced(*brokers: int) -> After:
    return controller(SHIPPED, LED_BY_1, LED_BY_2).on(*map(events.SessionExpired, brokers))


@pytest.mark.parametrize(
    ("node", "broker", "epoch", "error"),
    [
        (2, 1, 9, Error.NOT_CONTROLLER),
        (1, 1, 9, Error.STALE_BROKER_EPOCH),
        (1, 7, 1, Error.STALE_BROKER_EPOCH),
    ],
)
def test_refused_as_a_whole(node: int, broker: int, epoch: int, error: Error) -> None:
    before = controller(SHIPPED)
    after = before.ask(BrokerHeartbeatRequest(broker, epoch, 99), node)
    assert (after.response, after.rules, after.state) == (Response(error), ("HBK-1",), before.state)


@pytest.mark.parametrize(
    ("offset", "wanted", "expected"),
    [
        (2, {}, Response(caught_up=True, fenced=False)),
        (1, {}, Response(caught_up=False, fenced=True)),
        (2, {"want_fence": True}, Response(caught_up=True, fenced=True)),
        (1, {"want_shutdown": True}, Response(fenced=True, should_shut_down=True)),
        (
            2,
            {"want_fence": True, "want_shutdown": True},
            Response(caught_up=True, fenced=True, should_shut_down=True),
        ),
    ],
)
def test_heartbeat_of_a_fenced_broker(offset: int, wanted: dict[str, bool], expected: Response) -> None:
    """HBK-2: unfenced exactly from the offset of its registration record on, which is 2."""
    before = fenced(1)
    assert views.registration(before.state, 1).epoch == 2
    after = beat(before, offset=offset, **wanted)
    assert after.response == expected and after.rules[:2] == ("HBK-1", "HBK-2")
    assert (BrokerFenced(1, False) in after.effects) is not expected.fenced
    assert (after.state.durable == before.state.durable) is expected.fenced  # no record says it again
    assert views.session(after.state, 1) == Session(1, offset=offset)


def test_an_unfenced_broker_leads_partitions_without_a_leader() -> None:
    before = fenced(1, 2)
    # Broker 1 was fenced first: 2 was the last member of both ISRs, and stays in them.
    assert [(each.isr, each.leader) for each in before.partitions] == [((2,), None), ((2,), None)]
    after = beat(before, 2)
    assert "HBK-7" in after.rules and [each.leader for each in after.partitions] == [2, 2]
    assert [each.leader for each in beat(before, 1).partitions] == [None, None]


@pytest.mark.parametrize("want_shutdown", [False, True])
def test_a_broker_that_requests_to_be_fenced(want_shutdown: bool) -> None:
    after = beat(controller(SHIPPED), want_fence=True, want_shutdown=want_shutdown)
    assert after.response.fenced and after.response.should_shut_down is want_shutdown
    assert "HBK-3" in after.rules and BrokerFenced(1, True) in after.effects
    assert after.partitions[0].leader == 2


def test_a_broker_that_leads_nothing_shuts_down_at_once() -> None:
    after = beat(controller(SHIPPED), 2, want_shutdown=True)
    assert after.response.should_shut_down and "HBK-4" in after.rules
    assert views.registration(after.state, 2).fenced


def test_a_controlled_shutdown_ends_when_every_active_broker_knows_of_it() -> None:
    after = begun = beat(controller(SHIPPED, LED_BY_1, brokers=(1, 2, 3)), want_shutdown=True)
    assert not begun.response.should_shut_down and not begun.response.fenced
    known = views.registration(begun.state, 1)
    assert known.in_controlled_shutdown and not known.fenced
    assert (begun.partitions[0].leader, begun.partitions[0].isr) == (2, (2,))
    end = begun.state.durable.end_offset - 1
    assert views.session(begun.state, 1).shutdown_offset == end
    for broker, offset, done in ((2, end, False), (3, end - 1, False), (3, end, True)):
        after = beat(after, broker, offset)
        again = beat(after, want_shutdown=True)
        assert again.response.should_shut_down is done and "HBK-5" in again.rules
    assert views.registration(again.state, 1).fenced
    assert views.session(again.state, 1).shutdown_offset is None
    # The offset of a shutdown is that of its begin.
    more = beat(begun.on(events.SessionExpired(3)), offset=0, want_shutdown=True)
    assert views.session(more.state, 1).shutdown_offset == end


def test_a_broker_in_controlled_shutdown_that_is_unfenced_leads_again() -> None:
    begun = beat(controller(SHIPPED, replace(LED_BY_1, isr=(1,))), want_shutdown=True)
    assert begun.partitions[0].leader is None
    back = beat(begun.on(events.SessionExpired(1)))
    assert not views.registration(back.state, 1).fenced and back.partitions[0].leader == 1


def test_a_broker_in_controlled_shutdown_that_is_unfenced_leads_nothing_with_the_fix() -> None:
    fixed = replace(SHIPPED, leaving_broker_leads_nothing=True)
    begun = beat(controller(fixed, replace(LED_BY_1, isr=(1,))), want_shutdown=True)
    back = beat(begun.on(events.SessionExpired(1)))
    assert not views.registration(back.state, 1).fenced and back.partitions[0].leader is None
    stays = beat(controller(fixed, replace(LED_BY_1, isr=(1,))).on(events.SessionExpired(1)))
    assert stays.partitions[0].leader == 1


def test_a_session_that_expires_fences_the_broker() -> None:
    after = beat(controller(TIMED).on(events.Tick()), 2).on(events.Tick())
    assert after.rules == ("HBK-6", "CONFIG-12")
    assert [type(each) for each in after.effects] == [PartitionChanged, BrokerFenced]
    assert [each.broker for each in after.state.sessions] == [2]
    assert views.registration(after.state, 1).fenced
    # A second end of a session of a fenced broker writes nothing.
    again = beat(after, offset=0)
    assert views.session(again.state, 1) is not None and views.registration(again.state, 1).fenced
    assert views.session(again.on(events.Tick(), events.Tick()).state, 1) is None
    # Timed sessions end by ticks alone.
    assert controller(TIMED).on(events.SessionExpired(1)).state == controller(TIMED).state


def test_untimed_a_session_may_end_at_any_time() -> None:
    before = controller(SHIPPED)
    assert before.on(events.Tick()).state == before.state
    gone = before.on(events.SessionExpired(1))
    assert gone.rules == ("HBK-6", "CONFIG-12")
    assert gone.on(events.SessionExpired(1)).state == gone.state


# The process.


def registered(life: Life = Life.STARTING) -> After:
    process = starting(SHIPPED, Process(1, 9), controller=1)
    return After(SHIPPED, replace(process, epoch=4, offset=6, life=life))


@pytest.mark.parametrize(
    ("life", "response", "then"),
    [
        (Life.STARTING, Response(caught_up=False), Life.STARTING),
        (Life.STARTING, Response(caught_up=True), Life.RECOVERY),
        (Life.RECOVERY, Response(caught_up=True), Life.RECOVERY),
        (Life.RECOVERY, Response(caught_up=True, fenced=False), Life.RUNNING),
        (Life.RUNNING, Response(caught_up=True), Life.RUNNING),
        (Life.PENDING_CONTROLLED_SHUTDOWN, Response(), Life.PENDING_CONTROLLED_SHUTDOWN),
    ],
)
def test_the_life_of_a_process(life: Life, response: Response, then: Life) -> None:
    assert registered(life).on(events.HeartbeatDue()).hear(response).state.life is then


@pytest.mark.parametrize(
    ("life", "wanted"),
    [
        (Life.STARTING, (True, False)),
        (Life.RECOVERY, (False, False)),
        (Life.RUNNING, (False, False)),
        (Life.PENDING_CONTROLLED_SHUTDOWN, (False, True)),
    ],
)
def test_what_a_heartbeat_requests(life: Life, wanted: tuple[bool, bool]) -> None:
    after = registered(life).on(events.HeartbeatDue())
    assert after.effects == (Send(1, BrokerHeartbeatRequest(1, 4, 6, *wanted)),)
    assert after.rules == ("HBK-1", "HBK-9")
    assert registered(life).but(epoch=-1).on(events.HeartbeatDue()).effects == ()  # not registered yet


@pytest.mark.parametrize("error", [Error.STALE_BROKER_EPOCH, Error.NOT_CONTROLLER])
def test_a_superseded_process_goes_on(error: Error) -> None:
    """HBK-10: nothing fences it but the metadata that it reads."""
    after = registered(Life.RUNNING).on(events.HeartbeatDue()).hear(Response(error)).state
    assert after.life is Life.RUNNING and views.serves(SHIPPED, after)
    assert (after.controller is None) == (error is Error.NOT_CONTROLLER)


def test_an_orderly_end() -> None:
    taken = registered(Life.RUNNING).on(events.ClientRequest())
    assert taken.rules == ("HBK-10",)
    pending = taken.on(events.ShutdownRequested())
    assert pending.state.life is Life.PENDING_CONTROLLED_SHUTDOWN and views.serves(SHIPPED, pending.state)
    let_go = pending.on(events.HeartbeatDue()).hear(Response(should_shut_down=True))
    assert let_go.state.life is Life.SHUTTING_DOWN and not views.serves(SHIPPED, let_go.state)
    assert let_go.on(events.HeartbeatDue()).effects == ()
    done = let_go.on(events.ClientRequestDone())
    assert done.effects[-1] == Stop() and done.state == Broker(1, 9, ended=True)
    assert done.on(events.ClientRequest()).effects == ()


def test_a_process_that_does_not_run_yet_ends_at_once() -> None:
    after = registered().on(events.ShutdownRequested())
    assert after.effects == (Stop(),) and after.rules == ("HBK-9",)
