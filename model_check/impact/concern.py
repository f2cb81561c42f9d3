"""Which checks concern a target, nearest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from kraftcheck import spec
from kraftcheck.checking.coverage.functions import Function
from kraftcheck.checking.coverage.index import CHECKS, TEST, TESTS, Executed, recorded
from kraftcheck.impact.targets import Target, mutants

#: What starting a run of tests takes, in seconds.
_START_OF_TESTS = 1.0


class Nearness(IntEnum):
    """How a check concerns a target; smaller is nearer."""

    CHANGED = 0
    RULE = 1
    FUNCTION = 2


@dataclass(frozen=True, slots=True)
class Concerned:
    """A check that concerns a target.

    name: ``scenario divergence``; rules: those of the target that decided in it; mutants: those of the target
    that are killed in it; functions: how many of the target it runs; others: how many other functions
    it runs; seconds: what it took when it was recorded.
    """

    name: str
    nearness: Nearness
    rules: frozenset[str]
    mutants: tuple[str, ...]
    functions: int
    others: int
    seconds: float

    def as_data(self) -> dict[str, object]:
        """The same as JSON data."""
        kind, _, name = self.name.partition(" ")
        return {
            "check": kind,
            "name": name,
            "nearness": self.nearness.name.lower(),
            "rules": sorted(self.rules),
            "mutants": list(self.mutants),
            "functions": self.functions,
            "other_functions": self.others,
            "seconds": self.seconds,
        }


def checks() -> Mapping[str, Executed]:
    """All checks that are recorded. Raises InputError for a damaged recording."""
    return {**recorded(CHECKS).checks, **recorded(TESTS).checks}


def stale(functions: Mapping[str, Function]) -> list[str]:
    """The functions that have changed since a recording, or are in none."""
    return sorted({*recorded(CHECKS).stale(functions), *recorded(TESTS).stale(functions)})


def concerned(target: Target, functions: Mapping[str, Function]) -> list[Concerned]:
    """The checks that concern ``target``, nearest first.

    Nearest are checks that the change itself changes. Then come those in which its rules decided or its
    mutants are killed, then those that run its functions. Among equals, a check that runs fewer other
    functions comes first, then the quicker one.
    """
    killed = _killed(target.mutants)
    wanted = _with_users(target.functions, functions)
    known = dict(checks())
    for name in target.checks:
        known.setdefault(name, Executed(frozenset(), frozenset(), 0.0))
    found = [_concern(name, ran, target, wanted, killed.get(name, ())) for name, ran in known.items()]
    return sorted(filter(None, found), key=lambda each: (each.nearness, each.others, each.seconds, each.name))


def _concern(
    name: str, ran: Executed, target: Target, wanted: frozenset[str], mutants: Iterable[str]
) -> Concerned | None:
    rules, run, mutants = ran.rules & target.rules, ran.functions & wanted, tuple(mutants)
    if name in target.checks:
        near = Nearness.CHANGED
    elif rules or mutants:
        near = Nearness.RULE
    elif run:
        near = Nearness.FUNCTION
    else:
        return None
    seconds = ran.seconds + (_START_OF_TESTS if name.startswith(TEST) else 0.0)
    return Concerned(name, near, rules, mutants, len(run), len(ran.functions) - len(run), round(seconds, 1))


def _with_users(wanted: frozenset[str], functions: Mapping[str, Function]) -> frozenset[str]:
    """``wanted``; for what a module has outside functions also all of its functions."""
    modules = {functions[name].file for name in wanted if name in functions and functions[name].is_module}
    return wanted | {name for name, each in functions.items() if each.file in modules}


def _killed(wanted: frozenset[str]) -> dict[str, list[str]]:
    """By check those of ``mutants`` that are killed in it."""
    found: dict[str, list[str]] = {}
    for mutant in mutants().values():
        if mutant.id in wanted and mutant.equivalent is None:
            found.setdefault(f"scenario {mutant.scenario}", []).append(mutant.id)
    return found


def properties(target: Target) -> Iterator[str]:
    """The properties that rest on the rules of ``target``, and those that its mutants violate."""
    catalogued = spec.load()
    protected = {each for rule in target.rules for each in catalogued.rules[rule].protects}
    violated = {name for each in mutants().values() if each.id in target.mutants for name in each.expect}
    for each in catalogued.properties.values():
        if each.id in protected or each.name in violated:
            yield f"{each.id} {each.name}"
