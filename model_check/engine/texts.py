"""The ``repr`` of values, put together from that of their parts."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from msgspec import Struct

#: The texts, at most, that are kept; then it begins anew.
KEPT = 20_000


class Texts:
    """What ``repr`` says of values, with the texts of their parts kept.

    A step changes little of a local state, whose text is long: that of a log, say, is taken as it is. The
    texts of whole values are not kept, as each is asked for once; nor those of their fields, such as that
    of a replica in a node, as they are hardly ever those of another value.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, str] = {}
        self._fields: dict[type, tuple[str, ...]] = {}

    def of(self, value: Hashable) -> str:
        """``repr(value)``."""
        fields = self._fields_of(type(value))
        if not fields:
            return repr(value)
        return self._joined(value, fields, self._of_field)

    def _of_field(self, value: Hashable) -> str:
        fields = self._fields_of(type(value))
        return self._joined(value, fields, self._of_part) if fields else self._of_part(value)

    def _of_part(self, value: Hashable) -> str:
        kind = type(value)
        if kind is tuple:
            inner = ", ".join([self._of_part(item) for item in value])  # type: ignore[attr-defined]
            return f"({inner},)" if len(value) == 1 else f"({inner})"  # type: ignore[arg-type]
        fields = self._fields_of(kind)
        if not fields:
            return repr(value)
        known = self._known.get(value)
        if known is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[value] = self._joined(value, fields, self._of_part)
        return known

    @staticmethod
    def _joined(value: Hashable, fields: tuple[str, ...], text_of: Callable[[Hashable], str]) -> str:
        parts = [f"{name}={text_of(getattr(value, name))}" for name in fields]
        return f"{type(value).__name__}({', '.join(parts)})"

    def _fields_of(self, kind: type) -> tuple[str, ...]:
        """The fields of a class of values whose ``repr`` names all of them; of any other class none."""
        fields = self._fields.get(kind)
        if fields is None:
            fields = ()
            if issubclass(kind, Struct) and kind.__repr__ is Struct.__repr__:
                fields = kind.__struct_fields__
            self._fields[kind] = fields
        return fields
