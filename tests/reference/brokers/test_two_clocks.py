"""When a broker may fence itself before the controller gives it up: all orders of ticks and heartbeats.

A moment is one tick of the controller and then one of the broker, unless the clocks drift. What the order of
the two time-outs (FENCE-4) is for, B-7, needs more than the order: these are the conditions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kraftcheck.reference.brokers import events, views
from kraftcheck.reference.brokers.broker import Api, Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.effects import Reply, Send
from kraftcheck.reference.brokers.messages import BrokerState
from kraftcheck.reference.brokers.protocol import KIP343, BrokerProtocol, ContactTime
from kraftcheck.reference.brokers.starting import running_cluster
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace

#: The controller, the broker, and what is on its way: a request, or a response, or nothing.
State = tuple[Controller, Broker, Any]


def successors(protocol: BrokerProtocol, state: State, answers: str, broker_ticks: int) -> Iterator[State]:
    """What may happen next; ``answers``: they come at once, or late, or may get lost."""
    controller, broker, message = state
    later, ticking = step(protocol, controller, events.Tick()).state, broker
    for _ in range(broker_ticks):
        ticking = step(protocol, ticking, events.Tick()).state
    yield later, ticking, message
    beating = step(protocol, broker, events.HeartbeatDue())
    for effect in beating.effects:
        assert isinstance(effect, Send)
        yield controller, beating.state, events.RequestReceived(effect.to, broker.process, effect.request)
    if isinstance(message, events.RequestReceived):
        heard = step(protocol, controller, message)
        (response,) = (each.response for each in heard.effects if isinstance(each, Reply))
        answer = events.ResponseReceived(1, response)
        if answers == "at once":
            yield heard.state, step(protocol, broker, answer).state, None
        else:
            yield heard.state, broker, answer
        yield controller, given_up(protocol, broker), None
    elif message is not None:
        yield controller, step(protocol, broker, message).state, None
        if answers == "may be lost":
            yield controller, given_up(protocol, broker), None


def given_up(protocol: BrokerProtocol, broker: Broker) -> Broker:
    return step(protocol, broker, events.RequestTimedOut(Api.HEARTBEAT)).state


def fences_first(protocol: BrokerProtocol, answers: str, broker_ticks: int = 1) -> bool:
    """Whether the broker can fence itself while the controller still holds it to be active."""
    controller, (broker,) = running_cluster(protocol, (1,))
    first: State = (controller, broker, None)
    seen, open_states = {first}, [first]
    while open_states:
        state = open_states.pop()
        for following in successors(protocol, state, answers, broker_ticks):
            fences = following[1].fenced and not state[1].fenced
            if fences and views.state_of(following[0], 1) is BrokerState.ACTIVE:
                return True
            if following not in seen:
                seen.add(following)
                open_states.append(following)
        assert len(seen) < 5000
    return False


def timed(controller: int, broker: int, contact: ContactTime = ContactTime.ANSWER) -> BrokerProtocol:
    return replace(KIP343, controller_timeout=controller, broker_timeout=broker, contact_time=contact)


@pytest.mark.parametrize(("controller", "broker"), [(1, 2), (2, 3), (2, 5), (3, 4)])
def test_the_order_is_enough_while_every_heartbeat_that_is_heard_is_answered_at_once(
    controller: int, broker: int
) -> None:
    """Requests may take any time and get lost."""
    assert not fences_first(timed(controller, broker), "at once")


@pytest.mark.parametrize(("controller", "broker"), [(2, 2), (3, 2)])
def test_the_wrong_order(controller: int, broker: int) -> None:
    """Equal time-outs end in the same moment, the controller's first."""
    assert fences_first(timed(controller, broker), "at once") == (broker < controller)


@pytest.mark.parametrize("answers", ["late", "may be lost"])
@pytest.mark.parametrize("broker", [3, 5])
def test_the_order_is_not_enough_if_an_answer_is_late_or_lost(answers: str, broker: int) -> None:
    """The controller has heard a heartbeat whose answer the broker waits for: its time began anew alone."""
    assert fences_first(timed(2, broker), answers)


def test_the_order_is_not_enough_counted_from_the_request() -> None:
    """FENCE-8: a request that takes long renews the controller's time, and little of the broker's."""
    assert fences_first(timed(2, 3, ContactTime.REQUEST), "at once")


def test_the_order_is_not_enough_if_the_broker_runs_fast() -> None:
    assert fences_first(timed(3, 4), "at once", broker_ticks=2)
    assert not fences_first(timed(3, 6), "at once", broker_ticks=2)
