"""One question to the reference of brokers: what does the controller, or a process, do on this event?

A value is its name and the fields that differ from their defaults, in JSON or in the short form::

    controller(active=1 durable=store())
    broker id=1 incarnation=1 controller=1 fenced=no
    request-received node=1 source=process(broker=1 incarnation=1)
        request=metadata-heartbeat-request(broker=1 incarnation=1 target=active)

Names of classes and fields are those of ``reference/brokers`` with "-" for capitals and "_"; a list is in
brackets, ``[1 2]``; yes, no and none are what they say. The outermost parentheses may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NoReturn, get_args

from model_check import codec
from model_check.codec import Json
from model_check.errors import InputError
from reference.brokers import broker, controller, effects, events, messages, partition
from reference.brokers.broker import Broker
from reference.brokers.controller import Controller
from reference.brokers.events import BrokerEvent, ControllerEvent
from reference.brokers.protocol import BrokerProtocol
from reference.brokers.step import BrokerOutcome, ControllerOutcome, step
from reference.frozen import field_types, is_frozen

_TOKEN = re.compile(r"\s*([\[\]()]|[^\s\[\]()=]+=?)")
_CONSTANTS: Mapping[str, Json] = {"yes": True, "no": False, "none": None}
_MOST_NESTED = 20
_EFFECT = effects.ControllerEffect | effects.BrokerEffect


def is_about_brokers(text: str) -> bool:
    """Whether ``text`` is a controller or a broker, and no replica."""
    if not text.lstrip().startswith("{"):
        return bool(re.match(r"\s*(controller|broker)\b(?!-)", text))
    try:
        data = _innermost(codec.parse(text, "STATE"))
    except InputError:
        return False
    return isinstance(data, dict) and data.get("type") in ("Controller", "Broker")


def _innermost(data: Json) -> Json:
    """The state in what ``step --json`` prints: after the step. Other data is left as it is."""
    for key in ("outcome", "state"):
        if isinstance(data, dict) and isinstance(inner := data.get(key), dict):
            data = inner
    return data


def ask(
    protocol: BrokerProtocol, state: Controller | Broker, event: ControllerEvent | BrokerEvent
) -> ControllerOutcome | BrokerOutcome:
    """What ``state`` does. Raises InputError for an event that it does not know."""
    mine = get_args(ControllerEvent if isinstance(state, Controller) else BrokerEvent)
    if not isinstance(event, mine):
        known = ", ".join(_kebab(kind.__name__) for kind in mine)
        raise InputError(f"EVENT: this is no event of a {type(state).__name__.lower()}; there are {known}.")
    try:
        return step(protocol, state, event)
    except TypeError as error:
        raise InputError(
            f"EVENT: the other form has it ({error}); choose --protocol draft or shipped."
        ) from None


def parse_state(text: str) -> Controller | Broker:
    """The controller or broker that ``text`` stands for. Raises InputError."""
    found: Controller | Broker = codec.decode(_innermost(_data(text, "STATE")), Controller | Broker, "STATE")
    return found


def parse_event(text: str) -> ControllerEvent | BrokerEvent:
    """The event that ``text`` stands for. Raises InputError."""
    kind = ControllerEvent | BrokerEvent
    found: ControllerEvent | BrokerEvent = codec.decode(_data(text, "EVENT"), kind, "EVENT")
    return found


def _data(text: str, where: str) -> Json:
    if text.lstrip().startswith("{"):
        return codec.parse(text, where)
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s+", "", text) or not tokens:
        _refuse(where, "a name and fields, for example 'broker id=1 incarnation=1'")
    if tokens[1:2] != ["("]:
        tokens = [tokens[0], "(", *tokens[1:], ")"]
    value, rest = _value(tokens, where, 0)
    if rest or not isinstance(value, dict):
        _refuse(where, "one value; close every parenthesis")
    return value


def _value(tokens: list[str], where: str, depth: int) -> tuple[Json, list[str]]:
    """The value that ``tokens`` begin with, and the rest of them."""
    if not tokens or depth > _MOST_NESTED:
        _refuse(where, "a value")
    first, rest = tokens[0], tokens[1:]
    if first == "[":
        items: list[Json] = []
        while rest and rest[0] != "]":
            item, rest = _value(rest, where, depth + 1)
            items.append(item)
        return items, _without(rest, "]", where)
    if rest[:1] == ["("]:
        return _object(first, rest[1:], where, depth)
    if first in _CONSTANTS:
        return _CONSTANTS[first], rest
    if re.fullmatch(r"-?\d{1,18}", first):
        return int(first), rest
    return first, rest


def _object(name: str, tokens: list[str], where: str, depth: int) -> tuple[Json, list[str]]:
    kind = _kinds().get(name)
    if kind is None:
        _refuse(where, f"the name of a class of reference/brokers, as in 'broker', in place of '{name[:40]}'")
    found: dict[str, Json] = {"type": kind}
    while tokens and tokens[0] != ")":
        if not tokens[0].endswith("=") or len(tokens[0]) < 2:
            _refuse(where, f"a field and its value, as in 'id=1', in place of '{tokens[0][:40]}'")
        key = tokens[0][:-1].replace("-", "_")
        value, tokens = _value(tokens[1:], where, depth + 1)
        found[key] = _constant(value) if isinstance(value, str) else value
    return found, _without(tokens, ")", where)


def _without(tokens: list[str], closing: str, where: str) -> list[str]:
    if tokens[:1] != [closing]:
        _refuse(where, f"'{closing}' where something ends")
    return tokens[1:]


def _constant(word: str) -> str:
    """A word as the reference writes it: some constants are in capitals there."""
    upper = word.upper().replace("-", "_")
    return upper if upper in _constants() else word


@cache
def _constants() -> frozenset[str]:
    from reference.brokers.errors import BrokerErrorCode

    return frozenset((*messages.BrokerState.__members__, *BrokerErrorCode.__members__))


@cache
def _kinds() -> Mapping[str, str]:
    """The classes of the reference of brokers by their names in the short form."""
    found = {}
    for module in (broker, controller, effects, events, messages, partition):
        for name, value in vars(module).items():
            if is_frozen(value):
                found[_kebab(name)] = name
    return found


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()


def _refuse(where: str, expected: str) -> NoReturn:
    raise InputError(f"{where}: expected {expected}; see model_check/consult/broker_step.py.")


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
