"""Names that a mistyped word may stand for."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

#: Longer words are no slip of a finger, and comparing them takes long.
_LONGEST = 80


def closest(word: str, known: Iterable[str], *, most: int = 3) -> list[str]:
    """The names of ``known`` that are like ``word``, at most so many, the most similar one first.

    Capital letters and the difference of ``_``, ``-`` and spaces do not count.
    """
    if not word or len(word) > _LONGEST:
        return []
    names: dict[str, list[str]] = {}
    for name in known:
        names.setdefault(_plain(name), []).append(name)
    near = difflib.get_close_matches(_plain(word), names, n=most, cutoff=0.7)
    return [name for plain in near for name in names[plain]][:most]


def did_you_mean(word: object, known: Iterable[str], *, most: int = 1) -> str:
    """``; did you mean 'a', 'b' or 'c'?``, which ends a sentence; nothing where no name is like ``word``."""
    near = closest(str(word), known, most=most)
    return f"; did you mean {one_of(near)}?" if near else ""


def one_of(names: Sequence[str]) -> str:
    """``'a', 'b' or 'c'``."""
    *first, last = map(repr, names)
    return f"{', '.join(first)} or {last}" if first else last


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-").replace(" ", "-")
