"""The parts that all vectors share: kinds, nodes, canonical JSON and hashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from kraftcheck.support.codec import Json
from kraftcheck.support.json_differences import Differing, differing
from kraftcheck.support.printable import shortened
from kraftcheck.vectors import functions, messages

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
    if vector["kind"] in QUESTIONS:
        return set(vector["rules"])
    outcomes = [vector] if vector["kind"] == STEP else vector["steps"]
    return {rule for each in outcomes if "outcome" in each for rule in each["outcome"].get("rules", ())}


class Function(Struct):
    """A function of :mod:`.functions` with its arguments."""

    function: str
    arguments: dict[str, Any]

    def answer(self, where: str) -> tuple[Json, tuple[str, ...]]:
        """Its result, and the rules that decide it. Raises InputError."""
        return functions.call(self.function, self.arguments, where)


class Message(Struct):
    """A message of :mod:`.messages`."""

    api: str
    direction: str
    version: int
    body: Any

    def answer(self, where: str) -> tuple[Json, tuple[str, ...]]:
        """What becomes of it, and the rules that decide that. Raises InputError."""
        return messages.result_of(self.api, self.direction, self.version, self.body, where)


Question = Function | Message
#: By kind the questions that need no state of a node.
QUESTIONS: Mapping[str, type[Question]] = {FUNCTION: Function, MESSAGE: Message}


class Answer(Struct):
    """The answer to a question as a vector has it."""

    result: Any
    rules: list[str]


class Sequence(Struct):
    """Steps of one replica."""

    replica: Any
    steps: Annotated[list[dict[str, Any]], Meta(min_length=1)]


class Step(Struct):
    """One step; ``disk``: of a start."""

    event: Any
    outcome: dict[str, Any]
    disk: Any = None


class Protocol(Struct, forbid_unknown_fields=True):
    """The protocol of a vector: a preset, and the switches in which it differs from that."""

    preset: str
    switches: dict[str, Any]


def compare(answered: Mapping[str, Json], expected: Mapping[str, Json], where: str) -> str | None:
    """The first place in which ``expected`` is not what the reference has ``answered``; ``None``: none is."""
    for key, value in answered.items():
        if canonical(expected.get(key)) != canonical(value):
            whole = Differing(f"{where}.{key}", expected.get(key), value)
            place, *both = next(differing(whole.left, whole.right, whole.place), whole)
            vector, reference = (
                "nothing" if each == "nothing" else shortened(canonical(each), 80) for each in both
            )
            return f"{place}: the vector has {vector}, the reference has {reference}"
    return None
