"""Guards of brokers and their controller that no mutant's edit touches, with the reasons.

The reasons are in ``unmutated_guards.toml``. An edit touches a guard if it changes its condition, or code
that it guards and that no inner guard decides on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from kraftcheck.checking.mutation import patch
from kraftcheck.checking.mutation.catalogue import Edit, Mutant, Table, Text
from kraftcheck.support.places import REFERENCE
from kraftcheck.support.validation import read_toml
from kraftcheck.systems.guards import Guard, guards_of_brokers

FILE = "unmutated_guards.toml"
Line = Annotated[str, StringConstraints(min_length=1, max_length=300, pattern=r"^[^\n]+$")]


class Reason(Table):
    """The reason why no mutant touches some guards; each in the form of :func:`key`.

    kind: ``form``, the guard distinguishes forms of the protocol, messages or events, and the other branch
    raises; ``same``, nothing can differ in the model; ``test``, nothing that is judged differs, and ``test``,
    the name of a test, fails if the condition is replaced by ``becomes``.
    """

    kind: Literal["form", "same", "test"]
    why: Line
    guards: Annotated[tuple[Line, ...], Field(min_length=1, strict=False)]
    becomes: Text = "False"
    test: Line | None = None

    @model_validator(mode="after")
    def _test_of_its_kind(self) -> Reason:
        if (self.kind == "test") != (self.test is not None):
            raise ValueError("a reason of the kind 'test' names one, and no other does")
        return self


class _File(Table):
    reason: Annotated[tuple[Reason, ...], Field(strict=False)]


def key(guard: Guard) -> str:
    """The identity of a guard that does not change when lines move: file, function and condition."""
    return f"{guard.place.partition('/')[2].partition(':')[0]} {guard.function}: {guard.text}"


@cache
def reasons() -> tuple[Reason, ...]:
    """The reasons of the package."""
    text = (resources.files("kraftcheck.checking.mutation") / FILE).read_text(encoding="utf-8")
    return read_toml(_File, text, FILE, "correct it").reason


def touched(mutants: Iterable[Mutant]) -> frozenset[str]:
    """The places of the guards of brokers that edits of ``mutants`` touch."""
    changed: defaultdict[str, set[int]] = defaultdict(set)
    for mutant in mutants:
        for edit in mutant.edit:
            package, _, module = edit.module.removeprefix(f"{REFERENCE}.").rpartition(".")
            if package == "brokers":
                changed[f"brokers/{module}.py"] |= _lines(edit, mutant.id)
    found: set[str] = set()
    for name, owners in _owners().items():
        found |= {owners[line] for line in changed[name] if line in owners}
    return frozenset(found)


def _lines(edit: Edit, mutant: str) -> set[int]:
    """The lines of the module that the edit changes; none where it adds lines."""
    source = patch.source_of(edit.module, mutant)
    find, replace = edit.find, edit.replace
    begin = _same(find, replace)
    end = len(find) - _same(find[begin:][::-1], replace[begin:][::-1])
    if end == begin and "\n" in replace[begin:]:
        return set()
    where = source.index(find, *patch.region(source, edit, mutant))
    first, last = (source.count("\n", 0, where + at) + 1 for at in (begin, max(begin, end - 1)))
    return set(range(first, last + 1))


def _same(one: str, other: str) -> int:
    """The length of the common prefix of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


@cache
def _owners() -> Mapping[str, Mapping[int, str]]:
    """By file the lines that a guard decides on, with the place of the innermost one."""
    found: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for place, guard in sorted(guards_of_brokers().items(), key=lambda each: each[1].first):
        lines = found[place.partition(":")[0]]
        lines.update(dict.fromkeys(range(guard.first, guard.last + 1), place))
        if guard.then:
            lines.update(dict.fromkeys(range(guard.then, guard.end + 1), place))
    return found
