"""The step of the reference, and who is told of what brokers and their controller ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast, overload

from kraftcheck.reference.brokers import step as reference
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome

#: Told of every question: what the controller or broker was, what happened to it, and the outcome.
Listener = Callable[
    [BrokerProtocol, Controller | Broker, ControllerEvent | BrokerEvent, ControllerOutcome | BrokerOutcome],
    None,
]
_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Meanwhile ``listener`` is told of all that is asked in this process."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@overload
def step(protocol: BrokerProtocol, state: Controller, event: ControllerEvent) -> ControllerOutcome: ...


@overload
def step(protocol: BrokerProtocol, state: Broker, event: BrokerEvent) -> BrokerOutcome: ...


def step(
    protocol: BrokerProtocol, state: Controller | Broker, event: ControllerEvent | BrokerEvent
) -> ControllerOutcome | BrokerOutcome:
    """See :func:`kraftcheck.reference.brokers.step.step`."""
    outcome = reference.step(protocol, cast(Broker, state), cast(BrokerEvent, event))
    for listener in _listeners:
        listener(protocol, state, event, outcome)
    return outcome
