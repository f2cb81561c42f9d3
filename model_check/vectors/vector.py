"""Conformance vectors as JSON: what they hold, and whether the reference agrees with them.

A vector is an object with ``kind``:

* ``step``: a node and an event (or ``"start"`` and the disk of a replica), and the outcome;
* ``sequence``: a replica's configuration and what happens to it, one step after the other, with outcomes;
* ``function``: a pure function of the protocol of replicas with its arguments and its result;
* ``message``: a message as it arrives at a replica, malformed perhaps, and what becomes of it.

States, disks, events and outcomes have the form of :mod:`kraftcheck.support.codec`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from msgspec import to_builtins

from kraftcheck.evidence.recordings.fields import typed
from kraftcheck.query import broker_step
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Fatal, Stop
from kraftcheck.reference.events import Event
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome, start, step
from kraftcheck.support import codec
from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers.switches import SWITCHES as BROKER_SWITCHES
from kraftcheck.systems.kraft.switches import SWITCHES
from kraftcheck.systems.switches import Switches, switches_of
from kraftcheck.vectors import form
from kraftcheck.vectors.asked import Asked
from kraftcheck.vectors.form import (
    BROKER,
    CONTROLLER,
    FUNCTION,
    MESSAGE,
    REPLICA,
    SEQUENCE,
    STEP,
    Vector,
    compare,
)

START, CRASH = "start", "crash"


@dataclass(frozen=True, slots=True)
class Node:
    """The steps of a kind of node: the field of a vector that has its state, the types of its state, events
    and outcomes, its step, and the kinds of vectors that it has.
    """

    field: str
    state: Any
    event: Any
    outcome: Any
    step: Callable[[Any, Any, Any], Any]
    kinds: tuple[str, ...] = (STEP,)


#: The nodes by the value of the field ``node``.
NODES: Mapping[str, Node] = {
    REPLICA: Node("replica", Replica, Event, Outcome, step, (STEP, SEQUENCE, FUNCTION, MESSAGE)),
    CONTROLLER: Node("state", Controller, ControllerEvent, ControllerOutcome, broker_step.ask),
    BROKER: Node("state", Broker, BrokerEvent, BrokerOutcome, broker_step.ask),
}


# Protocols.


@dataclass(frozen=True, slots=True)
class Variants:
    """The variants of a protocol: all of them, the presets whose vectors are wanted first, in order, and the
    switches that are sizes and times.
    """

    all: Switches[Any]
    first: tuple[Any, ...]
    measures: frozenset[str]


_VARIANTS: Mapping[type, Variants] = {
    Protocol: Variants(
        SWITCHES,
        (KAFKA,),
        frozenset({
            "fetch-max-batches", "fetch-max-wait-ms", "fetch-timeout-ms", "request-timeout-ms",
            "fetch-snapshot-max-bytes",
        }),
    ),
    BrokerProtocol: Variants(
        BROKER_SWITCHES, (SHIPPED, KIP343), frozenset({"controller-timeout", "broker-timeout"})
    ),
}  # fmt: skip


def encode_protocol(protocol: Protocol | BrokerProtocol) -> Json:
    """The preset that is nearest to ``protocol``, and the switches in which it differs from that."""
    preset, switches = _nearest(protocol)
    return {"preset": preset, "switches": dict(switches)}


@cache
def _nearest(protocol: Protocol | BrokerProtocol) -> tuple[str, dict[str, str | bool | int]]:
    presets = _VARIANTS[type(protocol)].all.presets
    found = {name: switches_of(protocol, preset) for name, preset in presets.items()}
    # Of brokers the preset decides on the liveness; no switch may change it.
    nearest = min(found, key=lambda name: ("liveness" in found[name], len(found[name])))
    return nearest, found[nearest]


def decode_protocol(data: Json, where: str, kind: type = Protocol) -> Any:
    """The protocol that a vector names; ``kind``: its class. Raises InputError."""
    variants = _VARIANTS[kind].all
    given: form.Protocol = typed(data, form.Protocol, f"{where}.protocol")
    if given.preset not in variants.presets:
        raise InputError(f"{where}.protocol.preset: expected one of {', '.join(variants.presets)}.")
    return variants.protocol(given.preset, given.switches, f"{where}.protocol")


@cache
def tier_of(protocol: Protocol | BrokerProtocol) -> int:
    """How early vectors of ``protocol`` are wanted, whatever its sizes and times: 0 for that of Apache Kafka;
    of brokers 1 for the draft; the largest for other variants.
    """
    variants = _VARIANTS[type(protocol)]
    fits = (switches_of(protocol, each).keys() <= variants.measures for each in variants.first)
    return next((tier for tier, each in enumerate(fits) if each), len(variants.first))


# Writing.


def of_step(asked: Asked) -> Vector:
    """The vector of one step."""
    name, node = next((name, each) for name, each in NODES.items() if isinstance(asked.state, each.state))
    return {
        "kind": STEP,
        "node": name,
        "protocol": encode_protocol(asked.protocol),
        node.field: codec.encode(asked.state, node.state),
        **_happened(node, asked.happened),
        "outcome": codec.encode(asked.outcome, node.outcome),
    }


def _happened(node: Node, happened: Any) -> Vector:
    if isinstance(happened, Disk):
        return {"event": START, "disk": codec.encode(happened, Disk)}
    return {"event": codec.encode(happened, node.event)}


def of_sequence(identity: Replica, steps: Sequence[Asked | None], protocol: Protocol) -> Vector:
    """The vector of steps of one replica, ``None`` for a crash; the last one has an outcome."""
    encoded: list[Json] = []
    for position, asked in enumerate(steps, 1):
        if asked is None:
            encoded.append({"event": CRASH})
            continue
        outcome = cast(dict[str, Json], codec.encode(asked.outcome, Outcome))
        if position < len(steps):
            del outcome["replica"]
        encoded.append({**_happened(NODES[REPLICA], asked.happened), "outcome": outcome})
    return {
        "kind": SEQUENCE,
        "node": REPLICA,
        "protocol": encode_protocol(protocol),
        "replica": codec.encode(identity, Replica),
        "steps": encoded,
    }


def of_question(kind: str, asked: form.Question) -> Vector:
    """The vector of a function, or of a message."""
    result, rules = asked.answer(kind)
    head: Vector = {"kind": kind, "node": REPLICA, "protocol": encode_protocol(KAFKA)}
    return {**head, **to_builtins(asked), "result": result, "rules": list(rules)}


# Reading.


def difference(vector: Mapping[str, Json], where: str) -> str | None:
    """In which field the reference does something else than ``vector`` says; ``None``: nowhere.

    Raises InputError for what is no vector.
    """
    kind, name = vector.get("kind"), vector.get("node")
    if not isinstance(name, str) or name not in NODES:
        raise InputError(f"{where}.node: expected one of {', '.join(NODES)}.")
    node = NODES[name]
    if kind not in node.kinds:
        raise InputError(f"{where}.kind: expected {' or '.join(node.kinds)}.")
    protocol = decode_protocol(vector.get("protocol"), where, Protocol if name == REPLICA else BrokerProtocol)
    if kind in form.QUESTIONS:
        asked: form.Question = typed(vector, form.QUESTIONS[kind], where)
        result, decided = asked.answer(where)
        expected = to_builtins(typed(vector, form.Answer, where))
        return compare({"result": result, "rules": list(decided)}, expected, where)
    if kind == SEQUENCE:
        return _difference_of_sequence(protocol, vector, where)
    state = codec.decode(vector.get(node.field), node.state, f"{where}.{node.field}")
    return _difference_of_step(node, protocol, state, state, vector, where)[0]


def _difference_of_sequence(protocol: Protocol, vector: Mapping[str, Json], where: str) -> str | None:
    given: form.Sequence = typed(vector, form.Sequence, where)
    identity = codec.decode(given.replica, Replica, f"{where}.replica")
    replica: Replica | None = None
    for number, each in enumerate(given.steps):
        place = f"{where}.steps[{number}]"
        if each.get("event") == CRASH:
            replica = None
            continue
        if replica is None and each.get("event") != START:
            raise InputError(f"{place}.event: nothing runs here; expected '{START}'.")
        found, outcome = _difference_of_step(NODES[REPLICA], protocol, identity, replica, each, place)
        if found is not None:
            return found
        ended = bool(outcome.effects) and isinstance(outcome.effects[-1], Fatal | Stop)
        replica = None if ended else outcome.replica
    return None


def _difference_of_step(
    node: Node, protocol: Any, identity: Any, state: Any, data: Mapping[str, Json], where: str
) -> tuple[str | None, Any]:
    given: form.Step = typed(data, form.Step, where)
    expected = given.outcome
    if node.state is Replica and given.event == START:
        outcome = start(protocol, identity, codec.decode(given.disk, Disk, f"{where}.disk"))
    else:
        event = codec.decode(given.event, node.event, f"{where}.event")
        try:
            outcome = node.step(protocol, state, event)
        except InputError as error:
            raise InputError(f"{where}: {error}") from None
    told = cast(dict[str, Json], codec.encode(outcome, node.outcome))
    if node.state is Replica and "replica" not in expected:
        del told["replica"]
    return compare(told, expected, f"{where}.outcome"), outcome
