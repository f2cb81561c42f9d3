"""The lines of an adapter: the handshake and the answers, read strictly where the driver relies on them.

The types of their lines are types of msgspec; :func:`schema` gives them as a JSON Schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from msgspec import UNSET, Meta, Struct, UnsetType

from kraftcheck.evidence.adapters.wire import EFFECTS, EVENTS, PROTOCOL, STATE
from kraftcheck.evidence.recordings.fields import Fields, Json, typed
from kraftcheck.evidence.recordings.lines import State, names
from kraftcheck.evidence.recordings.typed import schemas_of
from kraftcheck.reference.types import INT64
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import printable

#: The effects of what the state machine is given, which the reference has not; adapters may lack them.
GIVEN = ("giveRecords", "giveSnapshot", "giveLeader")
#: The sleep of the poll loop and what ends it, which the reference has not either.
WAIT, WAKE_UP = "wait", "wakeUp"
#: The effects that an adapter may report.
REPORTED = (*EFFECTS, *GIVEN, WAIT, WAKE_UP)
#: Without so many digits in a line no number in it has more than 64 bits.
_MANY_DIGITS = re.compile("[0-9]{19}")


class AdapterError(InputError):
    """The adapter breaks the protocol, or has ended: no verdict about the replica.

    what: its action, a predicate such as ``gave no answer``; last_words: the end of its standard error,
    printed after the place. Neither contains characters that a terminal takes for a command.
    """

    def __init__(self, what: str, last_words: str = "") -> None:
        self.what, self.last_words = printable(what), printable(last_words)
        super().__init__(self.what + self.last_words)

    def placed(self, place: str) -> AdapterError:
        """The same as a sentence that names the place in the run."""
        return AdapterError(f"the adapter {self.what}, {place}{self.last_words}.")


def _one_of(words: tuple[str, ...]) -> Meta:
    """For the schema alone; the error for an unknown word lists the known ones."""
    return Meta(extra_json_schema={"enum": list(words)})


class _Shown(Struct):
    """The kinds of steps that the adapter supports, and the parts of a step that it shows."""

    events: list[Annotated[str, _one_of(EVENTS)]]
    effects: list[Annotated[str, _one_of(REPORTED)]]
    state: list[Annotated[str, _one_of(STATE)]]
    ordered: bool = True
    addresses: bool = False
    draws: bool = False


class _Hello(Struct):
    """The answer to the handshake."""

    id: int
    protocol: Annotated[int, Meta(extra_json_schema={"const": PROTOCOL})]
    name: str
    capabilities: _Shown


_Effect = Annotated[
    dict[str, Any],
    Meta(extra_json_schema={"required": ["effect"], "properties": {"effect": {"enum": list(REPORTED)}}}),
]


class _Line(Struct):
    """The answer to a step: effects in order and the state afterwards, or the reason why there is none."""

    id: int
    effects: list[_Effect] = []
    state: State | UnsetType = UNSET
    unsupported: str | UnsetType = UNSET
    error: str | UnsetType = UNSET


def schema() -> Json:
    """The JSON Schema of the lines that an adapter writes."""
    lines, components = schemas_of([_Hello, _Line])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A line of an adapter, drive protocol {PROTOCOL}",
        "anyOf": list(lines),
        "$defs": components,
    }


class Capabilities(NamedTuple):
    """An adapter's description of itself.

    name: the implementation's name for itself. events: the kinds of steps it supports; effects and state: the
    parts it can show; ordered: whether its effects come in the order in which they happened;
    addresses: whether its requests show the address that they go to; draws: whether it draws the numbers that
    the driver chooses. not_known: its other statements about itself, which the driver ignores.
    """

    name: str
    events: frozenset[str]
    effects: frozenset[str]
    state: frozenset[str]
    ordered: bool
    addresses: bool = False
    draws: bool = False
    not_known: tuple[str, ...] = ()

    def missing(self) -> Mapping[str, tuple[str, ...]]:
        """The parts that the adapter does not support or show, by kind."""
        known = {"events": EVENTS, "effects": REPORTED, "state": STATE}
        lacking = {
            kind: tuple(name for name in known[kind] if name not in getattr(self, kind)) for kind in known
        }
        return {kind: names for kind, names in lacking.items() if names}


class Answer(NamedTuple):
    """The answer to a step: effects in order and the state afterwards, as they came; ``unsupported``: the
    reason why the adapter cannot take this step.
    """

    effects: tuple[dict[str, Json], ...]
    state: dict[str, Json]
    unsupported: str | None = None


def read_hello(line: str) -> Capabilities:
    """The answer to the handshake. Raises AdapterError."""
    fields = _object(line, 0, "the handshake")
    try:
        if "error" in fields:
            raise AdapterError(f"answered with an error: {fields.text('error')[:300]}")
        version = fields.number("protocol")
        if version != PROTOCOL:
            raise AdapterError(
                f"speaks version {version} of the drive protocol, and this is version {PROTOCOL}; "
                "use an adapter of this version (docs/drive.md)"
            )
        hello: _Hello = typed(fields.values, _Hello, fields.where)
        shown = hello.capabilities
        for key, known in (("events", EVENTS), ("effects", REPORTED), ("state", STATE)):
            if not set(getattr(shown, key)) <= set(known):
                raise InputError(f"{fields.where}: capabilities.{key}: expected names of {', '.join(known)}")
        if "start" not in shown.events:
            raise InputError(
                f"{fields.where}: capabilities.events: an adapter without 'start' cannot be driven"
            )
    except InputError as error:
        raise _wrong(error) from None
    sets = (frozenset(shown.events), frozenset(shown.effects), frozenset(shown.state))
    not_known = tuple(sorted(fields.values["capabilities"].keys() - names(_Shown)))
    return Capabilities(hello.name, *sets, shown.ordered, shown.addresses, shown.draws, not_known)


def read_answer(line: str, number: int) -> Answer:
    """The answer to question ``number``. Raises AdapterError."""
    fields = _object(line, number, f"answer {number}")
    where = fields.where
    try:
        answer: _Line = typed(fields.values, _Line, where)
        if isinstance(answer.error, str):
            raise AdapterError(f"answered with an error: {answer.error[:300]}")
        if isinstance(answer.unsupported, str):
            return Answer((), {}, answer.unsupported)
        for index, effect in enumerate(answer.effects):
            if effect.get("effect") not in REPORTED:
                raise InputError(f"{where}: effects[{index}].effect: expected one of {', '.join(REPORTED)}")
        state = fields.values.get("state", {})
        if _MANY_DIGITS.search(line):
            _require_numbers(where, [answer.effects, state])
        return Answer(tuple(answer.effects), state)
    except InputError as error:
        raise _wrong(error) from None


def _wrong(error: InputError, hint: str = "") -> AdapterError:
    if isinstance(error, AdapterError):
        return error
    return AdapterError(f"gave a wrong answer: {str(error).rstrip('.')}{hint}")


def _require_numbers(where: str, value: Json) -> None:
    """Raise InputError if ``value`` has, at any depth, a number that no field of Kafka can hold."""
    left = [value]
    while left:
        found = left.pop()
        if isinstance(found, dict):
            left.extend(found.values())
        elif isinstance(found, list):
            left.extend(found)
        elif isinstance(found, int) and not -INT64 - 1 <= found <= INT64:
            raise InputError(f"{where}: the number {str(found)[:24]} has more than 64 bits.")


def _object(line: str, number: int, where: str) -> Fields:
    try:
        fields = Fields.of(codec.parse(line, where), where)
        found = fields.number("id")
    except InputError as error:
        text = line.strip()
        readable = text[:60].encode("unicode_escape").decode("ascii")
        hint = f"; the line begins '{readable}'"
        if text.startswith("{") and not text.endswith("}"):
            hint += " and has no end: an answer is one object on one line"
        raise _wrong(error, hint) from None
    if found != number:
        raise AdapterError(
            f"answered question {found} when asked question {number}; answers come in order, one for each"
        )
    return fields
