"""Reads and writes Kafka's wire JSON by the layouts of ``spec/messages.toml``.

Rows map fields of a layout to attributes of a class of the reference.

Unknown ids, epochs and offsets are -1 on the wire and ``None`` in the reference; the zero UUID is "no
directory". A field may be missing if it is tagged, nullable or younger than the oldest version in use.

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

from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.frozen import Frozen, field_defaults, field_types, is_frozen
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.spec.model import Field

ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA"

#: The result of a field's writer if the field is left out.
ABSENT = object()

_ERRORS = frozenset(int(code) for code in ErrorCode)
_DEFAULTS: Mapping[str, Json] = {"true": True, "false": False, "null": None, "zero": ZERO_UUID, "empty": ""}

Values = dict[str, Any]


class Computed(NamedTuple):
    """A field that is more than a copy of an attribute.

    read: the attribute's value by the object in which the field is, and by the attributes that were read
    before it; ``None``: the field is written only. write: its value, or :data:`ABSENT`. key, since: its name
    in JSON and the version from which on Kafka fills it, if they are not the layout's.
    """

    attribute: str
    read: Callable[[Fields, Values], Any] | None
    write: Callable[[Any], Any]
    key: str | None = None
    since: int | None = None


class Each(NamedTuple):
    """An array: a tuple of values of ``kind``, or, if that is ``None``, of the only field of each element."""

    attribute: str
    kind: type[Frozen] | None
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


def error_of(data: Fields) -> ErrorCode:
    """The error in ``errorCode``. The receiver of one that the quorum protocol does not name treats it like
    any other unexpected error (Kafka: KafkaRaftClient.handleTopLevelError).
    """
    return _known_error(data.number("errorCode"))


@dataclass(frozen=True, slots=True)
class Part:
    """A field of an object. since: the first version that has it. read: put its value into the attributes;
    ``None``: it carries no information. write: its value. inside: the parts of the objects in it. missing:
    the attributes if the object that it belongs to is missing.
    """

    key: str
    since: int
    read: Callable[[Fields, Values], None] | None
    write: Callable[[Any], Any]
    inside: tuple[Part, ...] = ()
    missing: Mapping[str, Any] = field(default_factory=dict)


class Codec:
    """One layout in both directions, in its ``newest`` version; versions before ``oldest`` are not in use.

    constants: the values of fields without a row. Raises ValueError if a row names no field of the layout.
    """

    def __init__(
        self,
        layout: Layout,
        fields: Sequence[Field],
        constants: Mapping[str, Json],
        oldest: int,
        newest: int,
    ) -> None:
        self.kind = layout.kind
        self._layout = layout
        self._constants = constants
        self._oldest, self._newest = oldest, newest
        self._used: set[str] = set()
        self.parts = tuple(self._parts("", [each for each in fields if each.exists_in(newest)], oldest))
        unused = layout.rows.keys() - self._used
        if unused:
            raise ValueError(f"{layout.kind.__name__} has rows without a field: {', '.join(sorted(unused))}")
        known = field_types(layout.kind)
        needs_epoch = "epoch" in known and "epoch" not in field_defaults(layout.kind)
        self._begin: Values = {"epoch": -1} if needs_epoch else {}
        self._inner = {name: _class_in(kind) for name, kind in known.items()}

    def read(self, data: Fields) -> Any:
        """The value that ``data`` stands for. Raises InputError."""
        whole: Values = {}
        inner: dict[str, Values] = {}
        for name, value in _read(self.parts, data, dict(self._begin)).items():
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

    def _parts(self, prefix: str, fields: Sequence[Field], oldest: int) -> Iterator[Part]:
        """The parts of the object whose fields begin with ``prefix``."""
        heads: dict[str, list[Field]] = {}
        for each in fields:
            heads.setdefault(prefix + each.path.removeprefix(prefix).partition(".")[0], []).append(each)
        yield from self._more(prefix)
        for path, inside in heads.items():
            part = self._part(path, inside, oldest)
            if part is not None:
                yield part
            yield from self._more(path)

    def _more(self, path: str) -> Iterator[Part]:
        """The fields after ``path`` that the specification leaves out."""
        for key, value in self._layout.more.get(path, {}).items():
            yield _constant(key, 0, value)

    def _part(self, path: str, inside: list[Field], oldest: int) -> Part | None:
        row, name = self._row(path)
        since = min(map(self._since, inside))
        key = name[0].lower() + name[1:]
        is_array = path.endswith("[]")
        if isinstance(row, Computed):
            return _computed(row, key, since)
        if isinstance(row, Each):
            return self._each(row, key, path, inside, oldest)
        if inside[0].path == path and not is_array:
            return self._leaf(row, name, key, inside[0], oldest)
        untagged = [replace(each, tag=None) for each in inside]
        parts = tuple(
            self._parts(f"{path}.", untagged if inside[0].tag is not None else inside, max(oldest, since))
        )
        if not parts:
            return None
        return _single(key, since, parts) if is_array else self._structure(key, since, parts, inside)

    def _since(self, field: Field) -> int:
        """The first version with the field; 0: all versions in use have it."""
        first = int(field.versions.partition("-")[0].removesuffix("+"))
        return first if first > self._oldest else 0

    def _row(self, path: str) -> tuple[str | Computed | Each | None, str]:
        name = path.rpartition(".")[2].removesuffix("[]")
        found = path if path in self._layout.rows else name
        self._used.add(found)
        return self._layout.rows.get(found), name

    def _leaf(self, row: str | None, name: str, key: str, layout: Field, oldest: int) -> Part | None:
        since = self._since(layout)
        if row is None and name in self._constants:
            return _constant(key, since, self._constants[name])
        row = row or re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
        if row.partition(".")[0] not in field_types(self.kind):
            return None
        if layout.type == "records":
            key += "SizeInBytes"
        default = _default(layout)
        get = _GETTERS.get(layout.type, Fields.number)
        may_be_missing = layout.tag is not None or since > oldest
        convert = _conversion(layout, _type_of(self.kind, row))
        of_value = _getter(row)

        def read(data: Fields, values: Values) -> None:
            if layout.nullable and data.values.get(key) is None:
                found = None
            else:
                found = get(data, key, default) if may_be_missing and not layout.nullable else get(data, key)
            values[row] = found if convert is None else convert(found)

        def write(value: Any) -> Json:
            found = of_value(value)
            if layout.type == "uuid":
                return uuid(found)
            if layout.type in ("string", "bool"):
                return found
            return -1 if found is None else int(found)

        missing = {} if "." in row else {row: default if convert is None else convert(default)}
        return Part(key, since, read, write, (), missing)

    def _each(self, row: Each, key: str, path: str, inside: list[Field], oldest: int) -> Part:
        since, prefix = min(map(self._since, inside)), f"{path}."
        attribute = row.attribute
        if row.kind is None:
            (only,) = row.rows
            item = only[0].lower() + only[1:]

            def read_scalars(data: Fields, values: Values) -> None:
                values[attribute] = tuple(each.number(item) for each in data.objects(key))

            return Part(
                key, since, read_scalars, lambda value: [{item: one} for one in getattr(value, attribute)]
            )
        fields = [replace(each, path=each.path.removeprefix(prefix), tag=None) for each in inside]
        codec = Codec(Layout(row.kind, row.rows), fields, {}, max(oldest, since), self._newest)

        def read(data: Fields, values: Values) -> None:
            values[attribute] = tuple(map(codec.read, data.objects(key, [])))

        return Part(
            key,
            since,
            read,
            lambda value: [codec.write(each) for each in getattr(value, attribute)],
            codec.parts,
        )

    def _structure(self, key: str, since: int, parts: tuple[Part, ...], inside: list[Field]) -> Part:
        """An object in an object. A tagged one may be missing: all its fields have their defaults."""
        rows = [self._row(each.path)[0] for each in inside]
        heads = {row.partition(".")[0] for row in rows if isinstance(row, str) and "." in row}
        types = field_types(self.kind)
        optional = [head for head in heads if _class_in(types[head])[1]]
        is_tagged = inside[0].tag is not None
        missing = {name: value for part in parts for name, value in part.missing.items()}
        may_be_missing = is_tagged and len(optional) == len(heads)
        whole = optional[0] if is_tagged and optional else None

        def read(data: Fields, values: Values) -> None:
            if may_be_missing and key not in data:
                values.update(missing)
            else:
                _read(parts, data.inner(key), values)

        def write(value: Any) -> Any:
            is_absent = whole is not None and getattr(value, whole) is None
            return ABSENT if is_absent else _write(parts, value)

        return Part(key, since, read, write, parts)


def _constant(key: str, since: int, value: Json) -> Part:
    return Part(key, since, None, lambda _: value)


def _computed(row: Computed, key: str, since: int) -> Part:
    compute = row.read

    def read(data: Fields, values: Values) -> None:
        assert compute is not None
        values[row.attribute] = compute(data, values)

    return Part(row.key or key, row.since or since, None if compute is None else read, row.write)


def _single(key: str, since: int, parts: tuple[Part, ...]) -> Part:
    """The one topic or partition of a message; a response with an error has none."""

    def read(data: Fields, values: Values) -> None:
        if not values.get("error"):
            _read(parts, data.only(key), values)

    def write(value: Any) -> Json:
        return [] if getattr(value, "error", None) else [_write(parts, value)]

    return Part(key, since, read, write, parts)


def _read(parts: tuple[Part, ...], data: Fields, values: Values) -> Values:
    for part in parts:
        if part.read is not None:
            part.read(data, values)
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


def _default(field: Field) -> Json:
    if field.default is None:
        return ZERO_UUID if field.type == "uuid" else -1
    return _DEFAULTS[field.default] if field.default in _DEFAULTS else int(field.default)


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


def _conversion(field: Field, kind: Any) -> Callable[[Any], Any] | None:
    if field.type == "uuid":
        return directory
    if kind is ErrorCode:
        return _known_error
    return _unless_negative if kind == int | None else None


def _known_error(code: int) -> ErrorCode:
    return ErrorCode(code) if code in _ERRORS else ErrorCode.UNKNOWN_SERVER_ERROR


def _unless_negative(value: int) -> int | None:
    return None if value < 0 else value


_GETTERS: Mapping[str, Callable[..., Json]] = {
    "uuid": Fields.text,
    "string": Fields.text,
    "bool": Fields.flag,
}
