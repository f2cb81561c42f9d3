"""What an adapter says: the handshake and the answers, read strictly where the driver relies on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kraftcheck.evidence.adapters.process import AdapterError
from kraftcheck.evidence.adapters.shown_state import require_numbers, require_state
from kraftcheck.evidence.adapters.wire import EFFECTS, EVENTS, PROTOCOL, STATE
from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError

_CAPABILITIES = frozenset({"events", "effects", "state", "ordered"})


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an adapter says of itself.

    name: what the implementation calls itself. events: the kinds of steps it supports; effects and state:
    what it can show; ordered: whether its effects come in the order in which they happened. not_known: what
    else it says of itself, which nobody reads.
    """

    name: str
    events: frozenset[str]
    effects: frozenset[str]
    state: frozenset[str]
    ordered: bool
    not_known: tuple[str, ...] = ()

    def missing(self) -> Mapping[str, tuple[str, ...]]:
        """What the adapter does not support or show, by kind."""
        found = {
            "events": tuple(name for name in EVENTS if name not in self.events),
            "effects": tuple(name for name in EFFECTS if name not in self.effects),
            "state": tuple(name for name in STATE if name not in self.state),
        }
        return {kind: names for kind, names in found.items() if names}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a step: effects in order and the state afterwards, as they came; ``unsupported``: why the
    adapter cannot take this step.
    """

    effects: tuple[dict[str, Json], ...]
    state: dict[str, Json]
    unsupported: str | None = None


def read_hello(line: str) -> Capabilities:
    """The answer to the handshake. Raises AdapterError."""
    fields = _object(line, 0, "the handshake")
    try:
        version = fields.number("protocol")
        if version != PROTOCOL:
            raise AdapterError(
                f"speaks version {version} of the drive protocol, and this is version {PROTOCOL}; "
                "use an adapter of this version (docs/drive.md)"
            )
        shown = fields.inner("capabilities")
        return Capabilities(
            name=fields.text("name"),
            events=_names(shown, "events", EVENTS, needed=("start",)),
            effects=_names(shown, "effects", EFFECTS),
            state=_names(shown, "state", STATE),
            ordered=shown.flag("ordered", True),
            not_known=tuple(sorted(shown.values.keys() - _CAPABILITIES)),
        )
    except AdapterError:
        raise
    except InputError as error:
        raise AdapterError(f"gave a wrong answer: {str(error).rstrip('.')}") from None


def _names(shown: Fields, key: str, known: tuple[str, ...], needed: tuple[str, ...] = ()) -> frozenset[str]:
    found = shown.items(key)
    for name in found:
        if not isinstance(name, str) or name not in known:
            raise InputError(f"{shown.where}: capabilities.{key}: expected names of {', '.join(known)}")
    for name in needed:
        if name not in found:
            raise InputError(
                f"{shown.where}: capabilities.{key}: an adapter without {name!r} cannot be driven"
            )
    return frozenset(found)


def read_answer(line: str, number: int) -> Answer:
    """The answer to question ``number``. Raises AdapterError."""
    fields = _object(line, number, f"answer {number}")
    try:
        if "error" in fields:
            raise AdapterError(f"answered with an error: {fields.text('error')[:300]}")
        if "unsupported" in fields:
            return Answer((), {}, fields.text("unsupported"))
        effects = tuple(each.values for each in fields.objects("effects", []))
        for index, effect in enumerate(effects):
            kind = effect.get("effect")
            if not isinstance(kind, str) or kind not in EFFECTS:
                raise InputError(
                    f"{fields.where}: effects[{index}].effect: expected one of {', '.join(EFFECTS)}"
                )
        state = fields.inner("state").values if "state" in fields else {}
        require_numbers(fields.where, effects)
        require_state(fields.where, state)
        return Answer(effects, state)
    except AdapterError:
        raise
    except InputError as error:
        raise AdapterError(f"gave a wrong answer: {str(error).rstrip('.')}") from None


def _object(line: str, number: int, where: str) -> Fields:
    try:
        data = codec.parse(line, where)
        fields = Fields.of(data, where)
        found = fields.number("id")
    except InputError as error:
        text = line.strip()
        readable = text[:60].encode("unicode_escape").decode("ascii")
        hint = ""
        if text.startswith("{") and not text.endswith("}"):
            hint = " and has no end: an answer is one object on one line"
        raise AdapterError(
            f"gave a wrong answer: {str(error).rstrip('.')}; the line begins '{readable}'{hint}"
        ) from None
    if found != number:
        raise AdapterError(
            f"answered question {found} when asked question {number}; answers come in order, one for each"
        )
    return fields
