"""The parts that all vectors share: kinds, nodes, canonical JSON and hashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError
from kraftcheck.support.json_differences import Differing, differing
from kraftcheck.support.printable import shortened

STEP, SEQUENCE, FUNCTION, MESSAGE = "step", "sequence", "function", "message"
#: The values of the field ``node``: the node that a vector is about.
REPLICA, CONTROLLER, BROKER = "replica", "controller", "broker"
#: Fields that are no part of the content of a vector.
_BESIDE = ("hash", "covers")

Vector = dict[str, Json]


def canonical(data: Json) -> str:
    """JSON text with sorted keys, without white space, in ASCII: equal data has equal text."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(text: str) -> str:
    """The SHA-256 of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()


def content(vector: Mapping[str, Json]) -> str:
    """The canonical text of what is hashed of a vector."""
    return canonical({key: value for key, value in vector.items() if key not in _BESIDE})


def rules(vector: Mapping[str, Any]) -> set[str]:
    """The rules that decided something in a vector that agrees with the reference."""
    if vector["kind"] in (FUNCTION, MESSAGE):
        return set(vector["rules"])
    outcomes = [vector] if vector["kind"] == STEP else vector["steps"]
    return {rule for each in outcomes if "outcome" in each for rule in each["outcome"].get("rules", ())}


def read_protocol(data: Json, where: str) -> tuple[str, dict[str, Json]]:
    """The preset and the switches that a vector names. Raises InputError."""
    if not isinstance(data, dict) or set(data) != {"preset", "switches"}:
        raise InputError(f"{where}.protocol: expected an object with 'preset' and 'switches'.")
    preset, switches = data["preset"], data["switches"]
    if not isinstance(preset, str) or not isinstance(switches, dict):
        raise InputError(f"{where}.protocol: expected a text 'preset' and an object 'switches'.")
    return preset, switches


def require(vector: Mapping[str, Json], keys: Sequence[str], where: str) -> None:
    """Raise InputError where a field is missing."""
    for key in keys:
        if key not in vector:
            raise InputError(f"{where}: the field '{key}' is missing.")


def compare(told: Mapping[str, Json], expected: Mapping[str, Json], where: str) -> str | None:
    """The first place in which ``expected`` is not what the reference has ``told``; ``None``: none is."""
    for key, value in told.items():
        if canonical(expected.get(key)) != canonical(value):
            whole = Differing(f"{where}.{key}", expected.get(key), value)
            place, *both = next(differing(whole.left, whole.right, whole.place), whole)
            vector, reference = (shortened(canonical(each), 80) for each in both)
            return f"{place}: the vector has {vector}, the reference has {reference}"
    return None
