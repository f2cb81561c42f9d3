"""The places that name rules of the catalogue: reference code, mutants and tests.

A place in the reference is found by scanning its syntax trees for string constants that are rule ids, so the
list cannot fall behind the code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from kraftcheck import spec
from kraftcheck.spec import Rule
from kraftcheck.support.places import REFERENCE, folder_of
from kraftcheck.support.places import root as checkout

_ID = re.compile(r"(?:TRANS|OLD)-[A-Z][A-Za-z0-9]*(?:-[A-Za-z0-9]+){1,2}|[A-Z]+-[0-9]+")


def looks_like_id(text: str) -> bool:
    """Whether ``text`` has the form of a rule id, independent of the existence of such a rule."""
    return _ID.fullmatch(text) is not None


@cache
def areas() -> frozenset[str]:
    """The areas of the catalogue, ``VOTE`` for instance."""
    return frozenset(spec.load().areas)


def strings_of(source: str) -> Iterator[tuple[str, int]]:
    """The string constants of a Python source that are not docstrings, with their lines."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value, node.lineno


@cache
def _cited() -> tuple[tuple[str, str, str], ...]:
    """The citations in the reference in order of modules and lines: rule id, place
    (``reference/vote.py:59``), and the function around it (``vote.would_grant_vote``), or the module.
    """
    folder, found = folder_of(REFERENCE), []
    for file in sorted(folder.rglob("*.py")):
        module = file.relative_to(folder).with_suffix("").as_posix()
        source = file.read_text(encoding="utf-8")
        functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
        for text, line in sorted(strings_of(source), key=lambda pair: pair[1]):
            if looks_like_id(text):
                around = [node for node in functions if node.lineno <= line <= (node.end_lineno or line)]
                name = f".{max(around, key=lambda node: node.lineno).name}" if around else ""
                found.append((text, f"reference/{module}.py:{line}", f"{module}{name}"))
    return tuple(found)


def _by_rule(pairs: Iterable[tuple[str, str]]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for rule_id, place in pairs:
        found.setdefault(rule_id, {})[place] = None
    return {rule_id: tuple(places) for rule_id, places in found.items()}


@cache
def in_reference() -> Mapping[str, tuple[str, ...]]:
    """Rule id → the places that name it (``reference/vote.py:59``), in order. A text that looks like an id is
    listed even if the catalogue has no such rule.
    """
    return _by_rule((rule_id, place) for rule_id, place, _ in _cited())


#: The modules of the reference that no step runs through: the state of a process before its first step, the
#: network layer's part of a message, and an operator's view.
OUTSIDE_STEPS = ("authorization", "bootstrap", "config", "metrics", "versions")

#: The package of brokers and their controller, whose steps are not those of a replica.
BROKERS = "brokers"
#: Its modules that no step runs through: the validation of time-outs.
OUTSIDE_BROKER_STEPS = ("configuration",)


def _at(kept: Callable[[str], bool]) -> Mapping[str, tuple[str, ...]]:
    """Of :func:`in_reference` the rules with places that are ``kept``, with these places."""
    found = {rule_id: tuple(filter(kept, places)) for rule_id, places in in_reference().items()}
    return {rule_id: places for rule_id, places in found.items() if places}


@cache
def in_steps() -> Mapping[str, tuple[str, ...]]:
    """The rules that can decide a step of a replica, with the places."""
    outside = (*(f"reference/{module}.py:" for module in OUTSIDE_STEPS), f"reference/{BROKERS}/")
    return _at(lambda place: not place.startswith(outside))


@cache
def in_broker_steps() -> Mapping[str, tuple[str, ...]]:
    """The rules that can decide a step of a broker or of the controller, with the places."""
    folder = f"reference/{BROKERS}/"
    outside = tuple(f"{folder}{module}.py:" for module in OUTSIDE_BROKER_STEPS)
    return _at(lambda place: place.startswith(folder) and not place.startswith(outside))


@cache
def functions_of_reference() -> Mapping[str, tuple[str, ...]]:
    """Rule id → the functions that name it (``vote.would_grant_vote``), or the module if no function does.

    Unlike the lines of :func:`in_reference` these do not change when code moves.
    """
    return _by_rule((rule_id, function) for rule_id, _, function in _cited())


def problems(rules: Mapping[str, Rule], cited: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """The contradictions between a catalogue and the code that cites it (rule id → places), a sentence each.

    A rule has code or a stated reason why it has none, not both and not neither; code cites rules that exist.
    """
    for rule_id, places in cited.items():
        where = ", ".join(places)
        if rule_id not in rules:
            yield f"{rule_id} at {where} is not in the catalogue."
        elif rules[rule_id].uncovered is not None:
            yield f"{rule_id} is called uncovered, yet cited at {where}."
    for rule in rules.values():
        if rule.uncovered is None and rule.id not in cited:
            yield f"{rule.id} ({rule.title}) has no code and no reason why."
        if rule.uncovered is not None and not rule.uncovered.strip():
            yield f"{rule.id} ({rule.title}) gives an empty reason why it has no code."


@cache
def in_tests() -> Mapping[str, tuple[str, ...]]:
    """Rule id → the tests of the reference that name it (``tests/reference/test_vote.py:40``).

    Other tests use rules only as examples. Empty where there are no tests.
    """
    root, found = checkout(), []
    for file in sorted((root / "tests" / "reference").rglob("test_*.py")):
        name = file.relative_to(root).as_posix()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            found += [(rule_id, f"{name}:{number}") for rule_id in _named(line)]
    return _by_rule(found)


def _named(line: str) -> Iterable[str]:
    known = spec.load().rules
    words: list[str] = re.findall(r"(?<![\w-])[A-Z]+-[\w-]+", line)
    return [word for word in words if word in known]
