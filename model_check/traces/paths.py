"""Paths as texts: the options taken, ``0,3,1``, or ``none``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable

#: The most steps of a path.
MAX_PATH = 10_000


def path_text(path: Iterable[int]) -> str:
    """A path as ``--path`` takes it: ``0,3,1``, or ``none``."""
    return ",".join(map(str, path)) or "none"


def parse_path(text: str) -> tuple[int, ...]:
    """The path that ``text`` stands for. Raises ValueError with what is expected."""
    if text in ("", "none"):
        return ()
    if not re.fullmatch(r"\d{1,6}(,\d{1,6})*", text, re.ASCII):
        raise ValueError("expected numbers separated by commas, for example 0,3,1")
    if text.count(",") >= MAX_PATH:
        raise ValueError(f"expected at most {MAX_PATH:,} steps")
    return tuple(map(int, text.split(",")))


def path_argument(text: str) -> tuple[int, ...]:
    """:func:`parse_path` as the type of an argument of a command."""
    try:
        return parse_path(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
