"""Conformance vectors of replicas as JSON: what they hold, and whether the reference agrees with them.

A vector is an object with ``kind``:

* ``step``: a replica and an event (or ``"start"`` and a disk), and the outcome;
* ``sequence``: a replica's configuration and what happens to it, one step after the other, with outcomes;
* ``function``: a pure function of the protocol with its arguments and its result;
* ``message``: a message as it arrives, malformed perhaps, and what becomes of it.

Replicas, disks, events and outcomes have the form of :mod:`kraftcheck.support.codec`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from kraftcheck.evidence.adapters.generate import switches_of
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Fatal, Stop
from kraftcheck.reference.events import Event
from kraftcheck.reference.protocol import KAFKA, PRESETS, Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome, start, step
from kraftcheck.support import codec
from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError
from kraftcheck.systems.variants import with_switches
from kraftcheck.vectors import functions, messages
from kraftcheck.vectors.asked import Asked
from kraftcheck.vectors.form import (
    FUNCTION,
    MESSAGE,
    REPLICA,
    SEQUENCE,
    STEP,
    Vector,
    compare,
    read_protocol,
    require,
)

START, CRASH = "start", "crash"


# Protocols.


def encode_protocol(protocol: Protocol) -> Json:
    """The preset that is nearest to ``protocol``, and the switches in which it differs from that."""
    preset, switches = _nearest(protocol)
    return {"preset": preset, "switches": dict(switches)}


@cache
def _nearest(protocol: Protocol) -> tuple[str, dict[str, str | bool | int]]:
    found = {name: switches_of(protocol, preset) for name, preset in PRESETS.items()}
    nearest = min(found, key=lambda name: len(found[name]))
    return nearest, found[nearest]


def decode_protocol(data: Json, where: str) -> Protocol:
    """The protocol that a vector names. Raises InputError."""
    preset, switches = read_protocol(data, where)
    return with_switches(preset, switches, f"{where}.protocol")


@cache
def is_production(protocol: Protocol) -> bool:
    """Whether ``protocol`` is production's, whatever its sizes and times."""
    sizes = {"fetch-max-batches", "fetch-max-wait-ms", "fetch-timeout-ms", "request-timeout-ms"}
    sizes |= {"fetch-snapshot-max-bytes"}
    return switches_of(protocol, KAFKA).keys() <= sizes


# Writing.


def of_step(asked: Asked) -> Vector:
    """The vector of one step."""
    happened: Vector
    if asked.event is None:
        happened = {"event": START, "disk": codec.encode(asked.disk, Disk)}
    else:
        happened = {"event": codec.encode(asked.event, Event)}
    return {
        "kind": STEP,
        "node": REPLICA,
        "protocol": encode_protocol(asked.protocol),
        "replica": codec.encode(asked.replica, Replica),
        **happened,
        "outcome": codec.encode(asked.outcome, Outcome),
    }


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
        happened: Vector = {"event": START, "disk": codec.encode(asked.disk, Disk)}
        if asked.event is not None:
            happened = {"event": codec.encode(asked.event, Event)}
        encoded.append({**happened, "outcome": outcome})
    return {
        "kind": SEQUENCE,
        "node": REPLICA,
        "protocol": encode_protocol(protocol),
        "replica": codec.encode(identity, Replica),
        "steps": encoded,
    }


def of_function(name: str, arguments: Mapping[str, Json]) -> Vector:
    """The vector of a function of :mod:`.functions`."""
    result, rules = functions.call(name, arguments, f"{FUNCTION} {name}")
    return {
        "kind": FUNCTION,
        "node": REPLICA,
        "protocol": encode_protocol(KAFKA),
        "function": name,
        "arguments": dict(arguments),
        "result": result,
        "rules": list(rules),
    }


def of_message(api: str, direction: str, version: int, body: Json) -> Vector:
    """The vector of a message of :mod:`.messages`."""
    result, rules = messages.result_of(api, direction, version, body, MESSAGE)
    return {
        "kind": MESSAGE,
        "node": REPLICA,
        "protocol": encode_protocol(KAFKA),
        "api": api,
        "direction": direction,
        "version": version,
        "body": body,
        "result": result,
        "rules": list(rules),
    }


# Reading.


def difference(vector: Mapping[str, Json], where: str) -> str | None:
    """In which field the reference does something else than ``vector`` says; ``None``: nowhere.

    Raises InputError for what is no vector.
    """
    kind = vector.get("kind")
    protocol = decode_protocol(vector.get("protocol"), where)
    if kind == FUNCTION:
        require(vector, ("function", "arguments", "result", "rules"), where)
        arguments = vector["arguments"]
        if not isinstance(arguments, dict):
            raise InputError(f"{where}.arguments: expected an object.")
        result, decided = functions.call(str(vector["function"]), arguments, where)
        return compare({"result": result, "rules": list(decided)}, vector, where)
    if kind == MESSAGE:
        return _difference_of_message(vector, where)
    if kind == STEP:
        replica = codec.decode(vector.get("replica"), Replica, f"{where}.replica")
        return _difference_of_step(protocol, replica, replica, vector, where)[0]
    if kind == SEQUENCE:
        return _difference_of_sequence(protocol, vector, where)
    raise InputError(f"{where}.kind: expected {STEP}, {SEQUENCE}, {FUNCTION} or {MESSAGE}.")


def _difference_of_message(vector: Mapping[str, Json], where: str) -> str | None:
    require(vector, ("api", "direction", "version", "body", "result", "rules"), where)
    version = vector["version"]
    if type(version) is not int:
        raise InputError(f"{where}.version: expected a number.")
    named = str(vector["api"]), str(vector["direction"])
    result, decided = messages.result_of(*named, version, vector["body"], where)
    return compare({"result": result, "rules": list(decided)}, vector, where)


def _difference_of_sequence(protocol: Protocol, vector: Mapping[str, Json], where: str) -> str | None:
    require(vector, ("replica", "steps"), where)
    identity = codec.decode(vector["replica"], Replica, f"{where}.replica")
    steps = vector["steps"]
    if not isinstance(steps, list) or not steps:
        raise InputError(f"{where}.steps: expected an array with at least one step.")
    replica: Replica | None = None
    for number, each in enumerate(steps):
        place = f"{where}.steps[{number}]"
        if not isinstance(each, dict):
            raise InputError(f"{place}: expected an object.")
        if each.get("event") == CRASH:
            replica = None
            continue
        if replica is None and each.get("event") != START:
            raise InputError(f"{place}.event: nothing runs here; expected '{START}'.")
        found, outcome = _difference_of_step(protocol, identity, replica, each, place)
        if found is not None:
            return found
        ended = bool(outcome.effects) and isinstance(outcome.effects[-1], Fatal | Stop)
        replica = None if ended else outcome.replica
    return None


def _difference_of_step(
    protocol: Protocol, identity: Replica, replica: Replica | None, data: Mapping[str, Json], where: str
) -> tuple[str | None, Outcome]:
    require(data, ("event", "outcome"), where)
    expected = data["outcome"]
    if not isinstance(expected, dict):
        raise InputError(f"{where}.outcome: expected an object.")
    if data["event"] == START:
        outcome = start(protocol, identity, codec.decode(data.get("disk"), Disk, f"{where}.disk"))
    else:
        event: Event = codec.decode(data["event"], Event, f"{where}.event")
        assert replica is not None
        outcome = step(protocol, replica, event)
    told = cast(dict[str, Json], codec.encode(outcome, Outcome))
    if "replica" not in expected:
        del told["replica"]
    return compare(told, expected, f"{where}.outcome"), outcome
