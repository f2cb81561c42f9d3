"""What the controller of KIP-343 holds brokers to be: states, timers, and what a new controller knows.

Source: KIP-343 (Broker State, Controller-Side Heartbeat Timeout).
"""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.brokers import leadership, views
from kraftcheck.reference.brokers.controller import Liveness
from kraftcheck.reference.brokers.effects import BrokerDeclared
from kraftcheck.reference.brokers.messages import BrokerState
from kraftcheck.reference.brokers.protocol import NewController
from kraftcheck.reference.brokers.work import ControllerWork
from kraftcheck.reference.frozen import replace


def declare(work: ControllerWork, broker: int, **changes: Any) -> None:
    """Remember something else of a broker, and let its partitions follow."""
    before = views.state_of(work.controller, broker)
    remember(work, replace(views.remembered(work.controller, broker), **changes))
    follow(work, broker, before)


def remember(work: ControllerWork, known: Liveness) -> None:
    """Remember this of a broker. A legacy one has no state of its own and no timer."""
    if views.is_legacy(work.controller, known.broker):
        known = replace(known, state=BrokerState.INACTIVE)
    work.remember(known, timed=work.protocol.controller_timeout is not None)


def follow(work: ControllerWork, broker: int, before: BrokerState) -> None:
    """The partitions follow a broker whose state was ``before``."""
    after = views.state_of(work.controller, broker)
    if after is before:
        return
    work.by("BSTATE-1")
    work.emit(BrokerDeclared(broker, after))
    if after is BrokerState.INACTIVE:
        work.by("BSTATE-3")
        _leave(work, broker)
    elif after is BrokerState.ACTIVE:
        work.by("BSTATE-4", "BSTATE-7")
        leadership.come(work, broker)
    else:
        work.by("BSTATE-4", "BSTATE-5")


def tick(work: ControllerWork) -> None:
    """A unit of the controller's time is over; timers that end with it end in this step."""
    timeout = work.protocol.controller_timeout
    if work.controller.active is None or timeout is None:
        return
    work.by("FENCE-7")
    for known in work.controller.brokers:
        if known.state is BrokerState.INACTIVE:
            continue
        if known.ticks + 1 < timeout:
            remember(work, replace(known, ticks=known.ticks + 1))
        else:
            _expire(work, known.broker)


def session_expired(work: ControllerWork, broker: int) -> None:
    """The time of a broker is over, in a protocol that does not count it."""
    if work.controller.active is None or work.protocol.controller_timeout is not None:
        return
    if views.is_legacy(work.controller, broker):
        work.by("COMPAT-3")
    elif views.remembered(work.controller, broker).state is not BrokerState.INACTIVE:
        _expire(work, broker)


def _expire(work: ControllerWork, broker: int) -> None:
    work.by("HEARTBEAT-7", "CONFIG-12", "FENCE-5")
    declare(work, broker, state=BrokerState.INACTIVE)


def take_over(work: ControllerWork) -> None:
    """What a new controller, which remembers nothing, takes the brokers for."""
    work.by("INC-5")
    for registration in work.store.registrations:
        incarnation = registration.incarnation if work.protocol.rebuilds_incarnations else None
        state = BrokerState.INACTIVE
        if views.is_legacy(work.controller, registration.broker):
            work.by("COMPAT-3")
        elif work.protocol.new_controller is NewController.TAKES_AS_ACTIVE:
            work.by("HEARTBEAT-11")
            state = BrokerState.ACTIVE
        remember(work, Liveness(registration.broker, incarnation, state))
    for broker in sorted({each for partition in work.store.partitions for each in partition.replicas}):
        if views.state_of(work.controller, broker) is BrokerState.INACTIVE:
            _leave(work, broker)
        else:
            work.by("BSTATE-7")
            leadership.come(work, broker)


def _leave(work: ControllerWork, broker: int) -> None:
    work.by("BSTATE-6")
    leadership.leave(work, broker, leaves_isr=work.protocol.inactive_leaves_isr)
