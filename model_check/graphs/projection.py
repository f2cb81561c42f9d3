"""The parts of a global state that are shown: fields of replicas, by name; and conditions on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from kraftcheck.engine.system import GlobalState
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kind import ModelSystem, Place
from kraftcheck.systems.kinds import KINDS
from kraftcheck.traces.words import RUNNING, node_fields

MESSAGES = "messages"
#: What components have, in the words of traces with "-" for blanks; "messages" counts those in flight.
FIELDS = (*dict.fromkeys(name for model in KINDS for name in model.fields), MESSAGES)
VIOLATED = "violated"
#: What fields are called where several are shown next to each other.
_SHORT = {"end-offset": "end", "high-watermark": "hw"}


@lru_cache(maxsize=1 << 16)
def _fields(node: Any) -> dict[str, str]:
    return {name.replace(" ", "-"): value for name, value in node_fields(node).items()}


def value(node: Any, field: str) -> str:
    """A field of a node as text; ``none`` where it has none, and ``stopped`` for the role of no process."""
    fields = _fields(node)
    if field == "role" and fields.get("process", RUNNING) != RUNNING:
        return "stopped"
    return fields.get(field, "none")


@dataclass(frozen=True, slots=True)
class Projection:
    """Fields of all replicas (``None``) or of one. No fields at all: all states look the same."""

    fields: tuple[tuple[str, Place | None], ...]

    def label(self, system: ModelSystem, state: GlobalState) -> str:
        """The look of ``state``: a part for each replica, as in ``1 Leader e1, 2 Follower e1``."""
        parts = []
        for place, local in zip(system.places, state.locals, strict=True):
            wanted = [name for name, owner in self.fields if owner in (None, place) and name != MESSAGES]
            # What a component of this kind has not says nothing of the state.
            had = [name for name in wanted if name in _fields(local)]
            shown = [text for name in had if (text := _shown(local, name))]
            if wanted:
                parts.append(f"{place} {' '.join(shown)}")
        if (MESSAGES, None) in self.fields:
            parts.append(f"{len(state.messages)} in flight")
        return ", ".join(parts) or "all states"


def _shown(node: Any, field: str) -> str:
    text = value(node, field).replace(", ", ",")
    if field == "role":
        return text
    if field == "epoch":
        return "" if text == "none" else f"e{text}"
    return f"{_SHORT.get(field, field)}={text}"


#: Role and epoch of every replica.
ROLE_EPOCH = Projection((("role", None), ("epoch", None)))


def parse_projection(text: str, ids: Sequence[Place], option: str) -> Projection:
    """``role,epoch`` or ``role.1,leader.2``. Raises InputError, which names ``option``."""
    if text == "role-epoch":
        return ROLE_EPOCH
    return Projection(tuple(_field(word, ids, option) for word in text.split(",")))


def _field(word: str, ids: Sequence[Place], option: str) -> tuple[str, Place | None]:
    name, dot, owner = word.partition(".")
    if name not in FIELDS:
        raise InputError(
            f"{option}: there is no field '{name[:40]}', only {', '.join(FIELDS)}; correct the name."
        )
    if not dot:
        return name, None
    known = {str(each): each for each in ids}
    if name == MESSAGES or owner not in known:
        raise InputError(
            f"{option}: '{word[:40]}' names no replica; add one of {', '.join(map(str, ids))} after the dot, "
            "or nothing for all."
        )
    return name, known[owner]


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunction on states: field, replica (``None``: some replica; the same for all such), wanted text.

    ``violated``: a property that is violated there, or the empty text for any; ``None`` if it does not
    matter.
    """

    wanted: tuple[tuple[str, Place | None, str], ...]
    violated: str | None = None

    def holds(self, system: ModelSystem, state: GlobalState, violated: Sequence[str]) -> bool:
        """Whether ``state``, in which the properties ``violated`` are violated, is meant."""
        if self.violated is not None and not (self.violated in violated or (violated and not self.violated)):
            return False
        nodes = dict(zip(system.places, state.locals, strict=True))
        some = []
        for field, owner, text in self.wanted:
            if field == MESSAGES:
                if str(len(state.messages)) != text:
                    return False
            elif owner is None:
                some.append((field, text))
            elif _written(nodes[owner], field) != text:
                return False
        return not some or any(
            all(_written(node, field) == text for field, text in some) for node in nodes.values()
        )

    def each(self) -> Iterator[Condition]:
        """Its conditions on fields, one at a time."""
        yield from (Condition((asked,)) for asked in self.wanted)


def _written(node: Any, field: str) -> str:
    """A field as conditions write it, without blanks."""
    return value(node, field).replace(", ", ",")


def seen(system: ModelSystem, state: GlobalState, field: str, owner: Place | None) -> Iterator[str]:
    """The texts of a field by which a condition finds ``state``."""
    if field == MESSAGES:
        yield str(len(state.messages))
        return
    for place, local in zip(system.places, state.locals, strict=True):
        if owner in (None, place):
            yield _written(local, field)


def parse_condition(text: str, system: ModelSystem, option: str) -> Condition:
    """``role.1=Leader,epoch.2=2``; ``role=Leader,epoch=2`` for one replica, whichever; ``violated`` or
    ``violated=NoFatal`` for states in which a property is violated. What has no ``=`` goes on with the value
    before it: ``log.1=1@1,1@2``. Raises InputError, with ``option``.
    """
    ids = system.places
    wanted: list[tuple[str, Place | None, str]] = []
    violated: str | None = None
    for word in text.split(","):
        name, equals, text_of = word.partition("=")
        if name == VIOLATED:
            if text_of and text_of not in system.properties:
                raise InputError(f"{option}: {text_of[:60]} is not judged here; name a property that is.")
            violated = text_of
        elif not equals and wanted and text_of == "" and word and word not in FIELDS:
            field, owner, begun = wanted.pop()
            wanted.append((field, owner, f"{begun},{word}"))
        elif not equals or not text_of:
            raise InputError(
                f"{option}: '{word[:60]}' says nothing of a field; write for example role.1=Leader,epoch.2=2."
            )
        else:
            wanted.append((*_field(name, ids, option), text_of))
    return Condition(tuple(wanted), violated)
