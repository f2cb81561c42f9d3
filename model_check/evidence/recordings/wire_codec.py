"""Reads and writes Kafka's wire JSON by the layouts of ``spec/messages.toml``.

Rows map fields of a layout to attributes of a class of the reference; :mod:`.wire_types` makes the types of
the JSON. Unknown ids, epochs and offsets are -1 on the wire and ``None`` in the reference; the zero UUID is
"no directory".

Source: Kafka: the JSON converters made from the message schemas.
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec import UNSET, Struct

from kraftcheck.evidence.recordings.typed import Json, typed
from kraftcheck.evidence.recordings.wire_types import (
    ZERO_UUID as ZERO_UUID,
)
from kraftcheck.evidence.recordings.wire_types import (
    Types,
    default_of,
    first_version,
    grouped,
    key_of,
)
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import Frozen, field_defaults, field_types, is_frozen
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.spec.model import Field
from kraftcheck.support.errors import InputError

#: The result of a field's writer if the field is left out.
ABSENT = object()

_ERRORS = frozenset(int(code) for code in ErrorCode)
Values = dict[str, Any]


class Computed(NamedTuple):
    """A field that is more than a copy of an attribute.

    read: the attribute's value by the object in which the field is (of :mod:`.wire_types`), and by the
    attributes that were read before it; ``None``: the field is written only. write: its value, or
    :data:`ABSENT`. key, since: its name in JSON and the version from which on Kafka fills it, if they are not
    the layout's.
    """

    attribute: str
    read: Callable[[Any, Values], Any] | None
    write: Callable[[Any], Any]
    key: str | None = None
    since: int | None = None


class Each(NamedTuple):
    """An array: a tuple of values of ``kind``."""

    attribute: str
    kind: type[Frozen]
    rows: Mapping[str, str | Computed | Each] = {}


#: By the path of a field in its layout, or by its name where only one field with that name has a row: the
#: attribute, dotted where it is inside another value. A field without a row is a constant, or the attribute
#: of the same name if there is one.
Rows = Mapping[str, "str | Computed | Each"]


class Layout(NamedTuple):
    """A class of the reference and its rows. more: fields that the specification leaves out because they do
    not concern the quorum, with the values that Kafka gives them, by the path after which they stand; a path
    that ends with a dot names the object that they begin.
    """

    kind: type[Frozen]
    rows: Rows
    more: Mapping[str, Mapping[str, Json]] = {}


def uuid(directory_id: str | None) -> str:
    """A directory id on the wire."""
    return directory_id or ZERO_UUID


def directory(written: str) -> str | None:
    """The directory id that the wire shows."""
    return None if written == ZERO_UUID else written


def or_minus_one(value: int | None) -> int:
    """The wire's value for "unknown"."""
    return -1 if value is None else value


def known_error(code: int) -> ErrorCode:
    """The error of a code. The receiver of one that the quorum protocol does not name treats it like any
    other unexpected error (Kafka: KafkaRaftClient.handleTopLevelError).
    """
    return ErrorCode(code) if code in _ERRORS else ErrorCode.UNKNOWN_SERVER_ERROR


@dataclass(frozen=True, slots=True)
class Part:
    """A field of an object. since: the first version that has it. read: put its value into the attributes;
    ``None``: it carries no information. write: its value. inside: the parts of the objects in it. missing:
    the attributes if the object that it belongs to is missing.
    """

    key: str
    since: int
    read: Callable[[Any, Values], None] | None
    write: Callable[[Any], Any]
    inside: tuple[Part, ...] = ()
    missing: Mapping[str, Any] = field(default_factory=dict)


class Codec:
    """One layout in both directions, in its newest version. type: of the JSON, by the name ``name``.

    Raises ValueError if a row names no field of the layout.
    """

    def __init__(self, layout: Layout, fields: Sequence[Field], types: Types, name: str = "") -> None:
        self.kind = layout.kind
        self.type = types.of(name, fields)
        self._layout, self._types = layout, types
        self._used: set[str] = set()
        self.fields = [each for each in fields if each.exists_in(types.newest)]
        self.parts = tuple(self._parts("", self.fields))
        unused = layout.rows.keys() - self._used
        if unused:
            raise ValueError(f"{layout.kind.__name__} has rows without a field: {', '.join(sorted(unused))}")
        known = field_types(layout.kind)
        needs_epoch = "epoch" in known and "epoch" not in field_defaults(layout.kind)
        self._begin: Values = {"epoch": -1} if needs_epoch else {}
        self._inner = {name: _class_in(kind) for name, kind in known.items()}

    def read(self, data: Json, where: str) -> Any:
        """The value that ``data`` stands for. Raises InputError."""
        return self.value(typed(data, self.type, where), where)

    def value(self, content: Struct, where: str) -> Any:
        """The value that ``content``, of :attr:`type`, stands for. Raises InputError."""
        try:
            return self.value_of(content)
        except ValueError as error:
            raise InputError(f"{where}: {error}.") from None

    def value_of(self, content: Struct) -> Any:
        """As :meth:`value`. Raises ValueError without the place."""
        whole: Values = {}
        inner: dict[str, Values] = {}
        for name, value in _read(self.parts, content, dict(self._begin)).items():
            head, dot, rest = name.partition(".")
            if dot:
                inner.setdefault(head, {})[rest] = value
            else:
                whole[name] = value
        for head, parts in inner.items():
            kind, is_optional = self._inner[head]
            is_absent = is_optional and kind is ReplicaKey and parts["id"] < 0
            whole[head] = None if is_absent else kind(**parts)
        return self.kind(**whole)

    def write(self, value: Any) -> dict[str, Json]:
        """The counterpart of :meth:`read`."""
        return _write(self.parts, value)

    def at_version(self, data: Mapping[str, Json], version: int) -> dict[str, Json]:
        """``data``, of the newest version, without the fields that ``version`` does not have."""
        return _at_version(self.parts, data, version)

    def shown_since(self, data: Mapping[str, Json]) -> int:
        """The first version that has all the fields of ``data``."""
        return max(_versions(self.parts, data), default=0)

    # Making the parts.

    def _parts(self, prefix: str, fields: Sequence[Field]) -> Iterator[Part]:
        """The parts of the object whose fields begin with ``prefix``."""
        yield from self._more(prefix)
        for path, inside in grouped(fields, prefix).items():
            part = self._part(path, inside)
            if part is not None:
                yield part
            yield from self._more(path)

    def _more(self, path: str) -> Iterator[Part]:
        """The fields after ``path`` that the specification leaves out."""
        for key, value in self._layout.more.get(path, {}).items():
            yield _constant(key, 0, value)

    def _part(self, path: str, inside: list[Field]) -> Part | None:
        row, key, first = self._row(path), key_of(path), min(map(first_version, inside))
        # 0: all versions in use have it.
        since = first if first > self._types.oldest else 0
        is_array = path.endswith("[]")
        if isinstance(row, Computed):
            return _computed(row, key, since)
        if isinstance(row, Each):
            return self._each(row, key, since, path, inside)
        if inside[0].path == path and not is_array:
            return self._leaf(row, key, since, inside[0])
        parts = tuple(self._parts(f"{path}.", inside))
        if not parts:
            return None
        return _single(key, since, parts) if is_array else self._structure(key, since, parts, inside)

    def _row(self, path: str) -> str | Computed | Each | None:
        name = path.rpartition(".")[2].removesuffix("[]")
        found = path if path in self._layout.rows else name
        self._used.add(found)
        return self._layout.rows.get(found)

    def _leaf(self, row: str | None, key: str, since: int, layout: Field) -> Part | None:
        if row is None and layout.name in self._types.constants:
            return _constant(key, since, self._types.constants[layout.name])
        row = row or re.sub(r"(?<!^)(?=[A-Z])", "_", layout.name).lower()
        if row.partition(".")[0] not in field_types(self.kind):
            return None
        if layout.type == "records":
            key += "SizeInBytes"
        convert = _conversion(layout, _type_of(self.kind, row))
        of_value = _getter(row)

        def read(content: Any, values: Values) -> None:
            found = getattr(content, key)
            values[row] = found if found is None else convert(found)

        def write(value: Any) -> Json:
            found = of_value(value)
            if layout.type == "uuid":
                return uuid(found)
            if layout.type in ("string", "bool"):
                return found
            return -1 if found is None else int(found)

        default = default_of(layout)
        missing = {} if "." in row else {row: default if default is None else convert(default)}
        return Part(key, since, read, write, (), missing)

    def _each(self, row: Each, key: str, since: int, path: str, inside: list[Field]) -> Part:
        attribute, prefix = row.attribute, f"{path}."
        fields = [replace(each, path=each.path.removeprefix(prefix), tag=None) for each in inside]
        codec = Codec(Layout(row.kind, row.rows), fields, self._types._replace(constants={}))

        def read(content: Any, values: Values) -> None:
            values[attribute] = tuple(map(codec.value_of, getattr(content, key)))

        return Part(
            key,
            since,
            read,
            lambda value: [codec.write(each) for each in getattr(value, attribute)],
            codec.parts,
        )

    def _structure(self, key: str, since: int, parts: tuple[Part, ...], inside: list[Field]) -> Part:
        """An object in an object. A tagged one may be missing: all its fields have their defaults."""
        rows = [self._row(each.path) for each in inside]
        heads = {row.partition(".")[0] for row in rows if isinstance(row, str) and "." in row}
        types = field_types(self.kind)
        optional = [head for head in heads if _class_in(types[head])[1]]
        missing = {name: value for part in parts for name, value in part.missing.items()}
        whole = optional[0] if inside[0].tag is not None and optional else None

        def read(content: Any, values: Values) -> None:
            found = getattr(content, key)
            if found is not UNSET:
                _read(parts, found, values)
            elif len(optional) < len(heads):
                raise ValueError(f"field '{key}' is missing")
            else:
                values.update(missing)

        def write(value: Any) -> Any:
            is_absent = whole is not None and getattr(value, whole) is None
            return ABSENT if is_absent else _write(parts, value)

        return Part(key, since, read, write, parts)


def _constant(key: str, since: int, value: Json) -> Part:
    return Part(key, since, None, lambda _: value)


def _computed(row: Computed, key: str, since: int) -> Part:
    compute = row.read

    def read(content: Any, values: Values) -> None:
        assert compute is not None
        values[row.attribute] = compute(content, values)

    return Part(row.key or key, row.since or since, None if compute is None else read, row.write)


def _single(key: str, since: int, parts: tuple[Part, ...]) -> Part:
    """The one topic or partition of a message; a response with an error has none."""

    def read(content: Any, values: Values) -> None:
        if not values.get("error"):
            _read(parts, only(content, key), values)

    def write(value: Any) -> Json:
        return [] if getattr(value, "error", None) else [_write(parts, value)]

    return Part(key, since, read, write, parts)


def only(content: Any, key: str) -> Any:
    """The one element of an array. Raises ValueError if it has none or more."""
    found = getattr(content, key)
    if len(found) != 1:
        raise ValueError(f"field '{key}' must hold one element, found {len(found)}")
    return found[0]


def _read(parts: tuple[Part, ...], content: Any, values: Values) -> Values:
    for part in parts:
        if part.read is not None:
            part.read(content, values)
    return values


def _write(parts: tuple[Part, ...], value: Any) -> dict[str, Json]:
    written = {}
    for part in parts:
        shown = part.write(value)
        if shown is not ABSENT:
            written[part.key] = shown
    return written


def _at_version(parts: tuple[Part, ...], data: Mapping[str, Json], version: int) -> dict[str, Json]:
    known = {part.key: part for part in parts}
    shown: dict[str, Json] = {}
    for name, value in data.items():
        part = known.get(name)
        if part is None or not part.inside or part.since > version:
            if part is None or part.since <= version:
                shown[name] = value
        elif isinstance(value, list):
            shown[name] = [_at_version(part.inside, each, version) for each in value]
        else:
            shown[name] = _at_version(part.inside, value, version)
    return shown


def _versions(parts: tuple[Part, ...], data: Mapping[str, Json]) -> Iterator[int]:
    known = {part.key: part for part in parts}
    for name, value in data.items():
        part = known.get(name)
        if part is None:
            continue
        yield part.since
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                yield from _versions(part.inside, each)


def _class_in(kind: Any) -> tuple[Any, bool]:
    """The class of values that a type is or allows, and whether it allows ``None``."""
    options = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    classes = [option for option in options if is_frozen(option)]
    return classes[0] if classes else None, types.NoneType in options


def _type_of(kind: type[Frozen], attribute: str) -> Any:
    head, _, rest = attribute.partition(".")
    found = field_types(kind)[head]
    return _type_of(_class_in(found)[0], rest) if rest else found


def _getter(attribute: str) -> Callable[[Any], Any]:
    head, _, rest = attribute.partition(".")
    whole = attrgetter(head)
    if not rest:
        return whole
    part = attrgetter(rest)
    return lambda value: None if (inner := whole(value)) is None else part(inner)


def _conversion(field: Field, kind: Any) -> Callable[[Any], Any]:
    if field.type == "uuid":
        return directory
    if kind is ErrorCode:
        return known_error
    return _unless_negative if kind == int | None else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _unless_negative(value: int) -> int | None:
    return None if value < 0 else value
