"""The text of a value, put together from parts that are known, is its ``repr``: fingerprints rest on it."""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Struct

from kraftcheck.engine import texts
from kraftcheck.engine.texts import Texts


class Named(Struct, frozen=True):
    name: str
    parts: tuple[Any, ...] = ()
    other: Any = None


class Spelt(Struct, frozen=True):
    name: str

    def __repr__(self) -> str:
        return f"<{self.name}>"


class Colour(Enum):
    RED = 1


VALUES = [
    0,
    "a'b",
    None,
    (),
    (1,),
    Colour.RED,
    Spelt("own"),
    Named("nothing"),
    Named("deep", (Named("one", (Named("two", ((), (1,), (1, "x"))),)), Spelt("own")), Colour.RED),
    Named("deep", (), Named("one", (Named("two", ((), (2,), (1, "x"))),), Named("two", (1, (None,))))),
    (Named("in a tuple"), Named("in a tuple")),
    frozenset([Named("in a set")]),
]


def test_a_text_is_the_repr_the_first_time_and_again() -> None:
    known = Texts()
    for value in VALUES + VALUES[::-1]:
        assert known.of(value) == repr(value)


def test_no_more_texts_are_kept_than_allowed(monkeypatch: Any) -> None:
    monkeypatch.setattr(texts, "KEPT", 3)
    known = Texts()
    for number in range(20):
        value = Named("top", (), Named("field", (Named("part", (number,)), Named("part"))))
        assert known.of(value) == repr(value)
        assert len(known._known) <= 3
