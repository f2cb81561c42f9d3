"""One question to the reference of brokers: what does the controller, or a process, do on this event?

State and event are in JSON or in the short form (:mod:`kraftcheck.systems.brokers.short_form`).
"""

from __future__ import annotations

import re
from typing import Any, get_args

from kraftcheck.query.ask import innermost
from kraftcheck.query.broker_consistency import require_consistent, require_consistent_after
from kraftcheck.reference.brokers import effects
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome, UnknownEventError, step
from kraftcheck.reference.frozen import field_types
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers import short_form as broker_short
from kraftcheck.systems.short_form import name_of


def is_about_brokers(text: str) -> bool:
    """Whether ``text`` is a controller or a broker, and no replica."""
    if not _is_json(text):
        return bool(re.match(r"\s*(controller|broker)\b(?!-)", text))
    try:
        data = innermost(codec.parse(text, "STATE"))
    except InputError:
        return False
    return isinstance(data, dict) and data.get("type") in ("Controller", "Broker")


def answer(
    protocol: BrokerProtocol, state: Controller | Broker, event: ControllerEvent | BrokerEvent
) -> ControllerOutcome | BrokerOutcome:
    """What ``state`` does, all of it such as a running cluster can be in. Raises InputError if it is not."""
    require_consistent(protocol, state, event)
    outcome = ask(protocol, state, event)
    require_consistent_after(protocol, outcome.state)
    return outcome


def ask(
    protocol: BrokerProtocol, state: Controller | Broker, event: ControllerEvent | BrokerEvent
) -> ControllerOutcome | BrokerOutcome:
    """What ``state`` does. Raises InputError for an event that it does not know."""
    mine = _events_of(state)
    if not isinstance(event, mine):
        known = ", ".join(map(name_of, get_args(mine)))
        raise InputError(f"EVENT: this is no event of a {type(state).__name__.lower()}; there are {known}.")
    try:
        return step(protocol, state, event)
    except UnknownEventError:
        name = name_of(type(getattr(event, "request", event)))
        raise InputError(
            f"EVENT: '{name}' is of the other form; give a state of that form, and its --protocol."
        ) from None


def parse_state(text: str) -> Controller | Broker:
    """The controller or broker that ``text`` stands for. Raises InputError."""
    kind = Controller | Broker
    found: Controller | Broker = (
        codec.decode(innermost(codec.parse(text, "STATE")), kind, "STATE")
        if _is_json(text)
        else broker_short.parse(text, kind, "STATE")
    )
    return found


def parse_event(text: str, state: Controller | Broker | None = None) -> ControllerEvent | BrokerEvent:
    """The event that ``text`` stands for. Raises InputError, which names the events of ``state`` alone where
    ``text`` names none.
    """
    kind: Any = ControllerEvent | BrokerEvent
    names = {name for each in get_args(kind) for name in (each.__name__, name_of(each))}
    if state is not None and _name(text) not in names:
        kind = _events_of(state)
    found: ControllerEvent | BrokerEvent = (
        codec.loads(text, kind, "EVENT") if _is_json(text) else broker_short.parse(text, kind, "EVENT")
    )
    return found


def _events_of(state: Controller | Broker) -> Any:
    return ControllerEvent if isinstance(state, Controller) else BrokerEvent


def _name(text: str) -> codec.Json:
    """The name of a value that a text gives, in JSON or in the short form; ``None`` if there is none."""
    if _is_json(text):
        data = codec.parse(text, "EVENT")
        return data.get("type") if isinstance(data, dict) else None
    found = re.match(r"\s*([a-z-]+)", text)
    return found[1] if found else None


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")


def as_json(
    protocol: BrokerProtocol, event: Any, outcome: ControllerOutcome | BrokerOutcome
) -> dict[str, Any]:
    """The answer for machines."""
    return {
        "protocol": {
            name.replace("_", "-"): getattr(getattr(protocol, name), "value", getattr(protocol, name))
            for name in field_types(BrokerProtocol)
        },
        "event": codec.encode(event, ControllerEvent | BrokerEvent),
        "outcome": {
            "state": codec.encode(outcome.state, Controller | Broker),
            "effects": codec.encode(
                outcome.effects, tuple[effects.ControllerEffect | effects.BrokerEffect, ...]
            ),
            "rules": list(outcome.rules),
        },
    }
