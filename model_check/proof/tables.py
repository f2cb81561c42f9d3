"""The TOML files of this package, read as values."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import TypeVar

import msgspec


class Row(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """A row of a table."""


class Table(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A table with keys."""


Content = TypeVar("Content", bound=Table)


def read(name: str, kind: type[Content]) -> Content:
    """The file ``name`` of this package. Raises msgspec.ValidationError."""
    text = (files("kraftcheck.proof") / name).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), kind)
