"""Kafka's wire JSON as types of msgspec, made from the layouts of ``spec/messages.toml``.

A field may be missing if it is tagged, nullable, younger than the oldest version in use, or constant. Arrays
may be missing as well: a response with an error has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

from msgspec import NODEFAULT, UNSET, Struct, UnsetType, defstruct

from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.spec.model import Field

ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"

#: A field of a struct: its name, its type and its default.
_Child: TypeAlias = "tuple[str, Any, Any]"

_TYPES: Mapping[str, Any] = {"string": str, "uuid": str, "bool": bool}
_EMPTY: Mapping[str, Json] = {"string": "", "uuid": ZERO_UUID}
_DEFAULTS: Mapping[str, Json] = {"true": True, "false": False, "null": None, "zero": ZERO_UUID, "empty": ""}


class ControlRecord(Struct):
    """A control record in a batch, by the name of its kind; the layouts of the kinds give the value."""

    type: str
    value: dict[str, Any]


class RecordBatch(Struct):
    """A batch as the recorder decodes it: its first and last offset, its epoch, values or control records."""

    base: int
    last: int
    epoch: int
    control: bool
    records: list[int | ControlRecord]


def key_of(path: str) -> str:
    """The name in JSON of the field at a path of a layout."""
    name = path.rpartition(".")[2].removesuffix("[]")
    return name[0].lower() + name[1:]


def grouped(fields: Sequence[Field], prefix: str) -> Mapping[str, list[Field]]:
    """``fields``, which are below ``prefix``, by the path of the child of ``prefix`` that they belong to."""
    children: dict[str, list[Field]] = {}
    for each in fields:
        children.setdefault(prefix + each.path.removeprefix(prefix).partition(".")[0], []).append(each)
    return children


def first_version(field: Field) -> int:
    """The first version that has the field."""
    return int(field.versions.partition("-")[0].removesuffix("+"))


def default_of(field: Field) -> Json:
    """The value of a field that is missing."""
    if field.default is None:
        return _EMPTY.get(field.type, -1)
    return _DEFAULTS[field.default] if field.default in _DEFAULTS else int(field.default)


class Types(NamedTuple):
    """The versions in use, and the fields that are constant, by name."""

    oldest: int
    newest: int
    constants: Mapping[str, Json] = {}

    def of(self, name: str, fields: Sequence[Field], prefix: str = "") -> type[Struct]:
        """The type ``name`` of the objects with ``fields``, which are below ``prefix``."""
        made = [
            child
            for path, inside in grouped(fields, prefix).items()
            for child in self._child(name, path, inside)
        ]
        return defstruct(name, made, kw_only=True)

    def _child(self, name: str, path: str, inside: Sequence[Field]) -> Iterator[_Child]:
        first, key, is_array = inside[0], key_of(path), path.endswith("[]")
        if first.path != path:
            if is_array and first.tag is not None:
                inside = [replace(each, tag=None) for each in inside]
            within = self._replace(oldest=max(self.oldest, min(map(first_version, inside))))
            kind = within.of(name + key[0].upper() + key[1:], inside, f"{path}.")
            if is_array:
                yield key, list[kind], []  # type: ignore[valid-type]
            else:
                yield (key, kind | UnsetType, UNSET) if first.tag is not None else (key, kind, NODEFAULT)
        elif is_array:
            yield key, list[_TYPES.get(first.type, int)], []  # type: ignore[misc]
        elif first.type == "records":
            yield f"{key}SizeInBytes", int, 0
            if first.name == "Records":
                yield "batches", list[RecordBatch], []
        else:
            yield key, *self._leaf(first)

    def _leaf(self, field: Field) -> tuple[Any, Json]:
        kind = _TYPES.get(field.type, int)
        if field.nullable:
            return kind | None, None
        is_younger = first_version(field) > self.oldest or not field.exists_in(self.newest)
        is_optional = is_younger or field.tag is not None or field.name in self.constants
        return kind, default_of(field) if is_optional else NODEFAULT


# Sizes in Kafka's compact encoding.

_BYTES: Mapping[str, int] = {"int16": 2, "uint16": 2, "int32": 4, "int64": 8, "uuid": 16}


def encoded_size(fields: Sequence[Field], shown: Json, prefix: str = "") -> int:
    """The size in bytes of an object with ``fields``, which are below ``prefix``; a structure ends with the
    number of its tagged fields, which is 0.
    """
    size = 1
    for path, inside in grouped(fields, prefix).items():
        kind, below = inside[0].type, f"{path}."
        if inside[0].path != path:
            value = shown[key_of(path)]
            items = value if path.endswith("[]") else [value]
            size += sum(encoded_size(inside, item, below) for item in items)
            size += unsigned_size(len(items) + 1) if path.endswith("[]") else 0
        elif kind == "string":
            text = shown[key_of(path)].encode()
            size += unsigned_size(len(text) + 1) + len(text)
        else:
            size += _BYTES[kind]
    return size


def signed_size(value: int) -> int:
    """The size of a varint, of which the sign is the last bit."""
    return unsigned_size(value << 1 if value >= 0 else (-value << 1) - 1)


def unsigned_size(value: int) -> int:
    """The size of a varint."""
    return max(1, (value.bit_length() + 6) // 7)
