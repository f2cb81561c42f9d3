"""What belongs to a rule, a property or a scenario: the catalogues, read the other way round."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from kraftcheck.checking import finding_pages
from kraftcheck.checking.coverage import index
from kraftcheck.checking.finding_pages import Page
from kraftcheck.checking.mutation import catalogue, historical_bugs
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.query.rule_table import Row, rows
from kraftcheck.support.places import REFERENCE, folder_of
from kraftcheck.systems import citations
from kraftcheck.systems.scenario import Scenario, shipped

#: A function with more lines is shown around the line that names the rule.
_MOST_LINES = 60
_AROUND = 12

_PROPERTY_LINE = re.compile(r"^\| ([A-Z]-\d+) \| `[^`]+` \| ([^|]+?) \| (.*) \|$", re.M)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of the reference around those that name a rule. ``place``: "reference/vote.py:40" to
    ``last``; ``named``: the lines that name it, counted from 1 within ``text``.
    """

    place: str
    function: str
    text: str
    named: tuple[int, ...]


@cache
def row_of() -> Mapping[str, Row]:
    """Rule id → what shows the rule at work."""
    return {row.rule.id: row for row in rows()}


@cache
def mutants() -> tuple[Mutant, ...]:
    """The mutants of the package."""
    return tuple(catalogue.shipped().values())


@cache
def scenarios_of_rules() -> Mapping[str, tuple[str, ...]]:
    """Rule id → the scenarios in which it decides a step, those that take least time first."""
    found: dict[str, list[tuple[float, str]]] = {}
    known = shipped()
    for check, executed in index.recorded(index.CHECKS).checks.items():
        kind, _, name = check.partition(" ")
        if kind == index.SCENARIO and name in known:
            for rule in executed.rules:
                found.setdefault(rule, []).append((executed.seconds, name))
    return {rule: tuple(name for _, name in sorted(each)) for rule, each in found.items()}


@cache
def rules_of_scenarios() -> Mapping[str, frozenset[str]]:
    """Scenario → the rules that decide a step in it; not every scenario is recorded."""
    checks = index.recorded(index.CHECKS).checks
    return {name: checks[f"{index.SCENARIO} {name}"].rules for name in shipped() if _is_recorded(name)}


def _is_recorded(name: str) -> bool:
    return f"{index.SCENARIO} {name}" in index.recorded(index.CHECKS).checks


@cache
def pages_of_scenarios() -> Mapping[str, tuple[Page, ...]]:
    """Scenario → the findings that it shows, or that it shows to be repaired."""
    found: dict[str, list[Page]] = {}
    for page in finding_pages.pages():
        for name in dict.fromkeys([*(each.name for each in page.scenarios), *page.holds]):
            found.setdefault(name, []).append(page)
    return {name: tuple(each) for name, each in found.items()}


def violating(name: str) -> tuple[Scenario, ...]:
    """The shipped scenarios that expect a violation of the property called ``name``."""
    return tuple(each for each in shipped().values() if name in each.expect.violates)


@cache
def how_judged(page: str) -> Mapping[str, tuple[str, str]]:
    """Property id → how it is judged, and its statement with remarks, from the text of docs/properties.md."""
    return {match[1]: (match[2], match[3]) for match in _PROPERTY_LINE.finditer(page)}


def bugs_of(names: Iterable[str]) -> tuple[str, ...]:
    """The historical bugs of Kafka that mutants with these ids bring back, in order."""
    brought = {mutant.bug for mutant in mutants() if mutant.id in set(names) and mutant.bug}
    return tuple(bug for bug in historical_bugs.shipped() if bug in brought)


@cache
def excerpts_of_rules() -> Mapping[str, tuple[Excerpt, ...]]:
    """Rule id → the functions of the reference that name it, in order."""
    found: dict[str, dict[tuple[str, int, int, str], list[int]]] = {}
    for rule, places in citations.in_reference().items():
        for place in places:
            path, _, line = place.rpartition(":")
            around = _around(path, int(line))
            found.setdefault(rule, {}).setdefault((path, *around), []).append(int(line))
    return {
        rule: tuple(
            Excerpt(f"{path}:{first}", name, _lines(path, first, last), tuple(n - first + 1 for n in named))
            for (path, first, last, name), named in each.items()
        )
        for rule, each in found.items()
    }


@cache
def _source(path: str) -> str:
    return (folder_of(REFERENCE) / path.removeprefix("reference/")).read_text(encoding="utf-8")


@cache
def _functions(path: str) -> tuple[tuple[int, int, str], ...]:
    nodes = [node for node in ast.walk(ast.parse(_source(path))) if isinstance(node, ast.FunctionDef)]
    return tuple((node.lineno, node.end_lineno or node.lineno, node.name) for node in nodes)


def _around(path: str, line: int) -> tuple[int, int, str]:
    """The first and last line to show of a place, and the name of the function that it is in."""
    around = [each for each in _functions(path) if each[0] <= line <= each[1]]
    first, last, name = max(around, default=(1, _source(path).count("\n"), ""))
    if last - first < _MOST_LINES:
        return first, last, name
    return max(first, line - _AROUND), min(last, line + _AROUND), name


def _lines(path: str, first: int, last: int) -> str:
    return "\n".join(_source(path).splitlines()[first - 1 : last])
