"""The differences of two JSON values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kraftcheck.support.codec import Json


class Differing(NamedTuple):
    """A place in both values, such as ``log.batches[0].epoch``, and what each has there, or ``nothing``."""

    place: str
    left: Json
    right: Json


def differing(left: Json, right: Json, place: str = "") -> Iterator[Differing]:
    """The innermost places where ``left`` and ``right`` differ, in the order of ``left``."""
    if isinstance(left, dict) and isinstance(right, dict):
        for key in dict.fromkeys([*left, *right]):
            inner = f"{place}.{key}" if place else key
            if key in left and key in right:
                yield from differing(left[key], right[key], inner)
            else:
                yield Differing(inner, left.get(key, "nothing"), right.get(key, "nothing"))
    elif isinstance(left, list) and isinstance(right, list):
        for index, (one, other) in enumerate(zip(left, right, strict=False)):
            yield from differing(one, other, f"{place}[{index}]")
        if len(left) != len(right):
            end = min(len(left), len(right))
            one, other = (each[end] if len(each) > end else "nothing" for each in (left, right))
            yield Differing(f"{place}[{end}]", one, other)
    elif left != right:
        yield Differing(place, left, right)
