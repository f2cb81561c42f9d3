"""JSON for every value of the reference: replicas, disks, events, effects, messages, protocols, outcomes.

The JSON form follows the classes of :mod:`reference` field by field, so that a reader needs no other
description of it:

* A value is an object whose keys are its fields, in their order. A field at its default is left out.
* Where the declared type allows several classes, ``"type"`` names the one: ``{"type": "Value", ...}``.
  :func:`encode` without a declared type always writes the tag, :func:`decode` without one requires it.
* A tuple is an array. An enumeration is its value if that is a word (``"check-quorum"``), else its name
  (``"FENCED_LEADER_EPOCH"``, ``"ELECTION_TIMEOUT"``). ``None`` is ``null``.
* Of a log only ``batches`` are written; what follows from them (epoch starts, voter sets, versions) is
  written only where it differs, as for a leader that has not appended a record of its epoch yet.

Decoding is strict: a key, type or number that does not belong there raises :class:`InputError`, which names
the place (``replica.log.batches[2].epoch``). ``decode(encode(x)) == x`` for every value.
"""

from __future__ import annotations

import itertools
import json
import types
import typing
from collections.abc import Mapping, Sized
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast, overload

from kraftcheck.reference import disk, effects, events, log, messages, protocol, replica, voters
from kraftcheck.reference import step as steps
from kraftcheck.reference.brokers.messages import MetadataHeartbeatResponse
from kraftcheck.reference.frozen import (
    Frozen,
    Unbounded,
    declared_types,
    field_defaults,
    field_types,
    is_frozen,
    marks_of,
    options_of,
    replace,
)
from kraftcheck.reference.log import Log
from kraftcheck.reference.types import INT64, Range
from kraftcheck.reference.voters import VoterSet
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Shape:
    """The fields of a class with their types, and the defaults and ranges of those that have one."""

    types: Mapping[str, Any]
    defaults: Mapping[str, Any]
    ranges: Mapping[str, Range]


@cache
def _shape(cls: type[Frozen]) -> _Shape:
    return _Shape(field_types(cls), field_defaults(cls), ranges_of(cls))


def ranges_of(cls: type[Frozen]) -> Mapping[str, Range]:
    """The fields of a class that hold a number, or none, with the range of their declared type.

    Numbers of an :class:`~kraftcheck.reference.frozen.Unbounded` value have none: what a replica answers to a
    request out of range is part of the protocol.
    """
    if issubclass(cls, Unbounded):
        return {}
    return {
        name: mark
        for name, declared in declared_types(cls).items()
        for option in options_of(declared)
        for mark in marks_of(option)[1]
        if isinstance(mark, Range)
    }


@cache
def kinds() -> Mapping[str, type]:
    """The classes of values of the reference by name: the values that ``"type"`` may have."""
    found: dict[str, type] = {}
    for module in (disk, effects, events, log, messages, protocol, replica, steps, voters):
        for name, value in vars(module).items():
            if is_frozen(value):
                found[name] = value
    return found


# Encoding.


def encode(value: Any, kind: Any = None) -> Json:
    """``value`` as JSON data. ``kind`` is its declared type, a class or a union such as
    ``reference.events.Event``; ``None`` writes the type tag in any case. Raises TypeError for a value that is
    neither of the reference of replicas nor of its declared type.
    """
    if isinstance(value, Enum):
        return _enum_word(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, tuple):
        return [encode(part, declared) for part, declared in zip(value, _items(kind, value), strict=True)]
    if kinds().get(type(value).__name__) is not type(value) and type(value) not in options_of(kind):
        raise TypeError(f"no JSON form for {value!r}")
    cls: type = type(value)
    shape = _shape(cls)
    omitted = shape.defaults
    if isinstance(value, Log):
        omitted = {**omitted, **following(value.batches, value.start_offset, value.snapshots)}
    encoded: dict[str, Json] = {"type": cls.__name__} if _is_tagged(kind) else {}
    for name, declared in shape.types.items():
        part = getattr(value, name)
        if name not in omitted or omitted[name] != part:
            encoded[name] = encode(part, declared)
    return encoded


def dumps(value: Any, kind: Any = None, *, indent: int | None = None) -> str:
    """``value`` as JSON text; see :func:`encode`."""
    return json.dumps(encode(value, kind), indent=indent, ensure_ascii=True)


def _is_tagged(kind: Any) -> bool:
    return kind is None or sum(map(is_frozen, options_of(kind))) > 1


def _items(kind: Any, values: Sized) -> tuple[Any, ...]:
    """The declared type of each item of a tuple."""
    declared = next((option for option in options_of(kind) if typing.get_origin(option) is tuple), None)
    arguments = typing.get_args(declared)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return (arguments[0],) * len(values)
    return arguments or (None,) * len(values)


def _enum_word(member: Enum) -> str:
    value = member.value
    return value if isinstance(value, str) and " " not in value else member.name


def following(
    batches: tuple[log.Batch, ...], start_offset: int, snapshots: tuple[log.Snapshot, ...]
) -> dict[str, Any]:
    """The fields of a log that follow from these, as it is found on disk. Raises ValueError as
    :func:`kraftcheck.reference.log.log_of` does.
    """
    derived = log.log_of(batches, start_offset, snapshots)
    names = ("epoch_starts", "voter_sets", "kraft_versions", "assignments")
    return {name: getattr(derived, name) for name in names}


# Decoding.


@overload
def decode(data: Json, kind: type[T], where: str = ...) -> T: ...
@overload
def decode(data: Json, kind: Any = ..., where: str = ...) -> Any: ...
def decode(data: Json, kind: Any = None, where: str = "value") -> Any:
    """The value that JSON ``data`` stands for.

    ``kind`` is the type that is expected, a class or a union; ``None``: any dataclass of the reference, as
    its tag says. ``where`` names the input in errors. Raises InputError if ``data`` is not such a value.
    """
    if kind is None:
        return _decode_object(data, tuple(kinds().values()), where, tagged=True)
    return _decode(data, kind, where)


def loads(text: str, kind: Any = None, where: str = "value") -> Any:
    """The value that a JSON text stands for; see :func:`decode`."""
    return decode(parse(text, where), kind, where)


def parse(text: str, where: str) -> Json:
    """JSON data from a text. Raises InputError for what is no JSON, repeats a key or is nested too deeply."""

    def unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise InputError(f"{where}: the key {twice!r} is given twice in one object; remove one.")
        return found

    try:
        return cast(Json, json.loads(text, object_pairs_hook=unique, parse_constant=_refuse))
    except json.JSONDecodeError as error:
        raise InputError(
            f"{where}: not JSON at line {error.lineno}, column {error.colno}: {error.msg}."
        ) from None
    except RecursionError:
        raise InputError(f"{where}: the JSON is nested too deeply; no value of the reference is.") from None
    except ValueError:
        raise InputError(f"{where}: a number is no JSON number or has too many digits.") from None


def _refuse(word: str) -> Json:
    raise ValueError(word)


def _decode(data: Json, kind: Any, where: str) -> Any:
    options = options_of(kind)
    if data is None and types.NoneType in options:
        return None
    if isinstance(data, dict):
        classes = tuple(option for option in options if is_frozen(option))
        if classes:
            return _decode_object(data, classes, where, tagged=len(classes) > 1)
    for option in options:
        if isinstance(data, list) and typing.get_origin(option) is tuple:
            return _decode_tuple(data, option, where)
        if isinstance(option, type) and issubclass(option, Enum):
            return _decode_enum(data, option, where)
        if option in (bool, int, str) and type(data) is option:
            if isinstance(data, str):
                _require_text(data, where)
            elif option is int:
                _require_range(cast(int, data), Range(-INT64 - 1, INT64), where)
            return data
    raise InputError(f"{where}: expected {_describe(kind)}, found {show(data)}.")


def _decode_tuple(data: list[Json], kind: Any, where: str) -> tuple[Any, ...]:
    items = _items(kind, data)
    if len(items) != len(data):
        raise InputError(f"{where}: expected an array of {len(items)} items, found {len(data)}.")
    places = (
        (part, item, f"{where}[{index}]") for index, (part, item) in enumerate(zip(data, items, strict=True))
    )
    return tuple(_decode(part, item, place) for part, item, place in places)


def _decode_enum(data: Json, kind: type[Enum], where: str) -> Enum:
    words = {_enum_word(member): member for member in kind}
    if not isinstance(data, str) or data not in words:
        raise InputError(f"{where}: expected one of {', '.join(words)}, found {show(data)}.")
    return words[data]


def _decode_object(data: Json, classes: tuple[Any, ...], where: str, *, tagged: bool) -> Any:
    if not isinstance(data, dict):
        raise InputError(f"{where}: expected an object, found {show(data)}.")
    names = {cls.__name__: cls for cls in classes}
    tag = data.get("type")
    if tag is None and not tagged:
        (cls,) = classes
    elif not isinstance(tag, str) or tag not in names:
        wanted = ", ".join(names) if len(names) < 20 else "the name of a class of the reference"
        raise InputError(f"{where}.type: expected {wanted}, found {show(tag)}{did_you_mean(tag, names)}.")
    else:
        cls = names[tag]
    shape = _shape(cls)
    for key in data:
        if key != "type" and key not in shape.types:
            raise InputError(
                f"{where}: {cls.__name__} has no field {show(key)}{did_you_mean(key, shape.types)}."
            )
    for name in shape.types:
        if name not in data and name not in shape.defaults:
            raise InputError(f"{where}: {cls.__name__} needs the field {name!r}.")
    values = {}
    for name, declared in shape.types.items():
        if name in data:
            values[name] = _decode(data[name], declared, f"{where}.{name}")
            if values[name] is not None and name in shape.ranges:
                _require_range(values[name], shape.ranges[name], f"{where}.{name}")
    return _checked(cls, values, where)


def _checked(cls: type, values: dict[str, Any], where: str) -> Any:
    """The value, once what its class demands beyond the types of its fields holds."""
    if cls is Log:
        return _decode_log(values, where)
    value = cls(**values)
    if isinstance(value, log.Batch) and not value.records:
        raise InputError(f"{where}.records: expected at least one record, found none.")
    if isinstance(value, MetadataHeartbeatResponse) and value.state is None and not value.error:
        raise InputError(f"{where}: expected a state, or an error that it goes without; found neither.")
    if isinstance(value, VoterSet) and any(a >= b for a, b in itertools.pairwise(map(_order, value.keys))):
        raise InputError(
            f"{where}.voters: expected distinct ids in ascending order, found {list(value.ids)}."
        )
    return value


def _order(key: voters.ReplicaKey) -> tuple[int, str]:
    """The place of a voter in its set; with composite keys an id may be there under two directories."""
    return key.id, key.directory or ""


def _decode_log(values: dict[str, Any], where: str) -> Log:
    try:
        start, snapshots = values.get("start_offset", 0), values.get("snapshots", ())
        decoded = replace(log.log_of(values.get("batches", ()), start, snapshots), **values)
    except ValueError as error:
        raise InputError(f"{where}.batches: {error}.") from None
    starts = decoded.epoch_starts
    if any(a.epoch >= b.epoch or a.offset > b.offset for a, b in itertools.pairwise(starts)):
        raise InputError(f"{where}.epoch_starts: expected ascending epochs and offsets.")
    if any(start.offset > decoded.end_offset for start in starts):
        raise InputError(
            f"{where}.epoch_starts: expected offsets up to {decoded.end_offset}, the end of the log."
        )
    return decoded


# Errors.


def _require_text(text: str, where: str) -> None:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"{where}: expected Unicode text, found a lone surrogate.")


def _require_range(number: int, allowed: Range, where: str) -> None:
    if not allowed.low <= number <= allowed.high:
        raise InputError(
            f"{where}: expected a number from {allowed.low} to {allowed.high}, found {show(number)}."
        )


_WORDS: Mapping[Any, str] = {
    types.NoneType: "null",
    bool: "true or false",
    int: "a whole number",
    str: "a string",
}


def _describe(kind: Any) -> str:
    names = []
    for option in options_of(kind):
        if typing.get_origin(option) is tuple:
            names.append("an array")
        elif is_frozen(option):
            names.append(f"an object ({cast(type, option).__name__})")
        else:
            names.append(_WORDS.get(option, "a string"))
    return " or ".join(names)


def show(data: object) -> str:
    """Data that does not belong where it is, in a few words."""
    if isinstance(data, dict | list):
        return "an object" if isinstance(data, dict) else "an array"
    if isinstance(data, int) and abs(data) > 10**30:
        return "a number of more than 30 digits"
    text = json.dumps(data)
    return text if len(text) < 60 else text[:57] + "..."
