"""Which releases print a line as it stands, and which transition table they follow; from ``forms.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from kraftcheck.support.errors import InputError

Releases = frozenset[str]


@dataclass(frozen=True, slots=True)
class Forms:
    """The content of ``forms.toml``. Releases are named like ``4.2``, oldest first."""

    releases: tuple[str, ...]
    tables: MappingProxyType[str, str]
    """Release → transition table (a value of V-SM)."""
    states: MappingProxyType[tuple[str, tuple[str, ...]], Releases]
    """Word and fields of a printed state → the releases that print it so."""
    marks: MappingProxyType[str, Releases]
    """Part of a line → the releases that print it."""

    @property
    def all(self) -> Releases:
        """Every release known here."""
        return frozenset(self.releases)


@cache
def forms() -> Forms:
    """The forms that ship with this package."""
    data = tomllib.loads((files("kraftcheck.evidence.logs") / "forms.toml").read_text(encoding="utf-8"))
    releases = tuple(str(one) for one in data["releases"])

    def between(entry: dict[str, object]) -> Releases:
        first = releases.index(str(entry["since"]))
        last = releases.index(str(entry.get("until", releases[-1])))
        return frozenset(releases[first : last + 1])

    states = {(form["word"], tuple(form["fields"])): between(form) for form in data["form"]}
    tables = {release: table["name"] for table in data["table"] for release in between(table)}
    marks = {mark["text"]: between(mark) for mark in data["mark"]}
    return Forms(releases, MappingProxyType(tables), MappingProxyType(states), MappingProxyType(marks))


def release_named(text: str) -> str:
    """The release that ``text`` names: ``4.3`` or ``4.3.1``. Raises InputError if it is not known here."""
    name = ".".join(text.split(".")[:2])
    if name not in forms().all:
        known = f"{forms().releases[0]} to {forms().releases[-1]}"
        raise InputError(f"--release {text}: expected a release from {known}, such as 4.3.")
    return name


@cache
def tables_of(releases: Releases) -> tuple[str, ...]:
    """The transition tables of ``releases``, each once, oldest first."""
    return tuple(dict.fromkeys(forms().tables[one] for one in forms().releases if one in releases))


@cache
def printing(completed: bool, old_shown: bool, new: Releases, old: Releases | None) -> Releases:
    """The releases that print such a line of a change between states of those forms; empty for none."""
    marks = forms().marks
    found = marks["old state shown" if old_shown else "old state not shown"]
    if not completed:
        found &= marks["Attempting durable transition to"]
    for releases in (new, old):
        if releases:
            found &= releases
    return found


def span(releases: Iterable[str]) -> str:
    """``4.2 to 4.5``, ``3.9``, or ``unknown`` for none."""
    wanted = set(releases)
    ordered = [one for one in forms().releases if one in wanted]
    if not ordered:
        return "unknown"
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"
