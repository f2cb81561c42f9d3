"""Conformance vectors of brokers and their controller as JSON, and whether the reference agrees with them.

A vector is a step: ``state``, ``event`` and ``outcome`` in the form of :mod:`kraftcheck.support.codec`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any, cast

from kraftcheck.query import broker_step
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome
from kraftcheck.reference.frozen import field_types
from kraftcheck.support import codec
from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers.switches import FORMS, with_switches
from kraftcheck.vectors import form
from kraftcheck.vectors.broker_situations import AskedBroker
from kraftcheck.vectors.form import Vector

#: By node the types of its state, what happens to it, and what it does.
TYPES: Mapping[str, tuple[Any, Any, Any]] = {
    form.CONTROLLER: (Controller, ControllerEvent, ControllerOutcome),
    form.BROKER: (Broker, BrokerEvent, BrokerOutcome),
}
#: Switches that are configuration: how long time-outs are, in ticks.
_TIMES = frozenset({"controller-timeout", "broker-timeout"})


def encode_protocol(protocol: BrokerProtocol) -> dict[str, Json]:
    """The form of ``protocol``, and the switches in which it differs from that."""
    preset, switches = _switches(protocol)
    return {"preset": preset, "switches": dict(switches)}


@cache
def _switches(protocol: BrokerProtocol) -> tuple[str, dict[str, Json]]:
    preset = next(name for name, each in FORMS.items() if each.liveness is protocol.liveness)
    switches: dict[str, Json] = {}
    for name in field_types(BrokerProtocol):
        value = getattr(protocol, name)
        if value != getattr(FORMS[preset], name):
            switches[name.replace("_", "-")] = value.value if isinstance(value, Enum) else value
    return preset, switches


def decode_protocol(data: Json, where: str) -> BrokerProtocol:
    """The protocol that a vector names. Raises InputError."""
    preset, switches = form.read_protocol(data, where)
    if preset not in FORMS:
        raise InputError(f"{where}.protocol.preset: expected one of {', '.join(FORMS)}.")
    return with_switches(preset, switches, lambda said: InputError(f"{where}.protocol.switches: {said}."))


@cache
def tier_of(protocol: BrokerProtocol) -> int:
    """0: what shipped, of whatever time-outs; 1: the draft, its open points decided; 2: other variants."""
    preset, switches = _switches(protocol)
    if not switches.keys() <= _TIMES:
        return 2
    return (SHIPPED, KIP343).index(FORMS[preset])


def of_step(asked: AskedBroker) -> Vector:
    """The vector of one step."""
    node = form.CONTROLLER if isinstance(asked.state, Controller) else form.BROKER
    state, event, outcome = TYPES[node]
    return {
        "kind": form.STEP,
        "node": node,
        "protocol": encode_protocol(asked.protocol),
        "state": codec.encode(asked.state, state),
        "event": codec.encode(asked.event, event),
        "outcome": codec.encode(asked.outcome, outcome),
    }


def difference(vector: Mapping[str, Json], where: str) -> str | None:
    """In which field the reference does something else than ``vector`` says; ``None``: nowhere.

    Raises InputError for what is no vector.
    """
    form.require(vector, ("kind", "node", "protocol", "state", "event", "outcome"), where)
    if vector["kind"] != form.STEP:
        raise InputError(f"{where}.kind: expected {form.STEP}.")
    state_type, event_type, outcome_type = TYPES[str(vector["node"])]
    protocol = decode_protocol(vector["protocol"], where)
    state = codec.decode(vector["state"], state_type, f"{where}.state")
    event = codec.decode(vector["event"], event_type, f"{where}.event")
    expected = vector["outcome"]
    if not isinstance(expected, dict):
        raise InputError(f"{where}.outcome: expected an object.")
    try:
        outcome = broker_step.ask(protocol, state, event)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    told = cast(dict[str, Json], codec.encode(outcome, outcome_type))
    return form.compare(told, expected, f"{where}.outcome")
