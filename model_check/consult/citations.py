"""Where the rules of the catalogue are at work: reference code, mutants and tests that name them.

A place in the reference is found by scanning its syntax trees for string constants that are rule ids, so the
list cannot fall behind the code.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import model_check
import reference
import spec
from model_check.errors import InputError

_ID = re.compile(r"(?:TRANS|OLD)-[A-Z][A-Za-z0-9]*(?:-[A-Za-z0-9]+){1,2}|[A-Z]+-[0-9]+")


def _folder(package_file: str | None) -> Path:
    assert package_file is not None
    return Path(package_file).parent


def looks_like_id(text: str) -> bool:
    """Whether ``text`` has the form of a rule id, whether or not there is such a rule."""
    return _ID.fullmatch(text) is not None


@cache
def areas() -> frozenset[str]:
    """The areas of the catalogue, ``VOTE`` for instance, with those that are planned."""
    specification = spec.load()
    return frozenset(rule_id.partition("-")[0] for rule_id in (*specification.rules, *specification.planned))


def strings_of(source: str) -> Iterator[tuple[str, int]]:
    """The string constants of a Python source that are no docstrings, with their lines."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.value, node.lineno


@cache
def in_reference() -> Mapping[str, tuple[str, ...]]:
    """Rule id → the places that name it (``reference/vote.py:59``), in order. An id of a known area is listed
    even if the catalogue has no such rule.
    """
    found: dict[str, list[str]] = {}
    for file in sorted(_folder(reference.__file__).glob("*.py")):
        lines = strings_of(file.read_text(encoding="utf-8"))
        for text, line in sorted(lines, key=lambda pair: pair[1]):
            if looks_like_id(text) and text.partition("-")[0] in areas():
                found.setdefault(text, []).append(f"reference/{file.name}:{line}")
    return {rule_id: tuple(dict.fromkeys(places)) for rule_id, places in found.items()}


#: What of the reference no step runs through: what a process is before its first step, the network layer's
#: part of a message, and what an operator sees.
OUTSIDE_STEPS = ("authorization", "bootstrap", "config", "metrics", "versions")


@cache
def in_steps() -> Mapping[str, tuple[str, ...]]:
    """Of :func:`in_reference`, the rules that can decide a step, each with the places where it does."""
    outside = tuple(f"reference/{module}.py:" for module in OUTSIDE_STEPS)
    found = {
        rule_id: tuple(place for place in places if not place.startswith(outside))
        for rule_id, places in in_reference().items()
    }
    return {rule_id: places for rule_id, places in found.items() if places}


@cache
def in_mutants() -> Mapping[str, tuple[str, ...]]:
    """Rule id → the mutants that break it, from ``model_check/mutants.toml``; empty if there is no such file.

    Raises InputError if the file is damaged.
    """
    file = _folder(model_check.__file__) / "mutants.toml"
    if not file.exists():
        return {}
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: not TOML: {error}; restore the file.") from None
    found: dict[str, list[str]] = {}
    tables = [entries for entries in content.values() if isinstance(entries, list)]
    for entry in (each for table in tables for each in table if isinstance(each, dict) and "id" in each):
        rules: str | list[str] = entry.get("rules") or entry.get("rule") or []
        for rule_id in [rules] if isinstance(rules, str) else rules:
            found.setdefault(rule_id, []).append(str(entry["id"]))
    return {rule_id: tuple(mutants) for rule_id, mutants in found.items()}


@cache
def in_tests() -> Mapping[str, tuple[str, ...]]:
    """Rule id → the tests that name it (``tests/reference/test_vote.py:40``); empty where there are none."""
    root = _folder(reference.__file__).parent
    found: dict[str, list[str]] = {}
    for file in sorted((root / "tests").rglob("test_*.py")):
        name = file.relative_to(root).as_posix()
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            for rule_id in _named(line):
                found.setdefault(rule_id, []).append(f"{name}:{number}")
    return {rule_id: tuple(dict.fromkeys(places)) for rule_id, places in found.items()}


def _named(line: str) -> Iterable[str]:
    known = spec.load().rules
    words: list[str] = re.findall(r"(?<![\w-])[A-Z]+-[\w-]+", line)
    return [word for word in words if word in known]
