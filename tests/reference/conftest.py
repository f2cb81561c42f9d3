"""Which tests of this folder run which functions and exercise which rules: written to the file that
EXECUTED_BY_TESTS names.

A test exercises a rule if the rule decided a step that the test took, or another result that names its rules.
Tests with random input do not count: what they take differs from run to run.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import time
from collections.abc import Callable, Iterator
from functools import wraps
from inspect import isfunction
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

from kraftcheck import reference
from kraftcheck.reference.frozen import field_types, is_frozen

ROOT = Path(__file__).parents[2]
TARGET = os.environ.get("EXECUTED_BY_TESTS")
seen: set[str] = set()
#: By file: the functions that its tests ran, the rules that they exercised, their seconds.
done: dict[str, tuple[set[str], set[str], float]] = {}


def watch(module: ModuleType) -> None:
    """Note the rules in what each public function of a module gives, if its type says which rules decided."""
    for name, function in list(vars(module).items()):
        own = isfunction(function) and function.__module__ == module.__name__
        if own and not name.startswith("_") and names_rules(get_type_hints(function).get("return")):
            setattr(module, name, noting(function))


def names_rules(kind: Any) -> bool:
    """Whether values of a type say which rules decided, or some of those that it is made of."""
    if is_frozen(kind):
        return bool({"rule", "rules"} & field_types(kind).keys())
    return any(names_rules(part) for part in get_args(kind))


def noting(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def and_note(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        for each in result if isinstance(result, tuple) else (result,):
            seen.update(getattr(each, "rules", ()))
            seen.update({getattr(each, "rule", None)} - {None})
        return result

    return and_note


if TARGET:
    for found in pkgutil.walk_packages(reference.__path__, "kraftcheck.reference."):
        watch(importlib.import_module(found.name))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if TARGET:
        items[:] = [item for item in items if not getattr(item.obj, "is_hypothesis_test", False)]  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    if not TARGET:
        return (yield)
    from kraftcheck.checking.coverage.executed import recording

    seen.clear()
    begin = time.monotonic()
    with recording() as ran:
        result = yield
    file = item.path.relative_to(ROOT).as_posix()
    functions, rules, seconds = done.get(file, (set(), set(), 0.0))
    done[file] = functions | ran.names, rules | seen, seconds + time.monotonic() - begin
    return result


def pytest_sessionfinish(exitstatus: int) -> None:
    if TARGET and exitstatus == pytest.ExitCode.OK:
        # Not before: what it imports would have kept the functions that note nothing.
        from kraftcheck.checking.coverage import index
        from kraftcheck.checking.coverage.functions import functions_of, sources_in

        checks = {
            f"{index.TEST} {file}": index.Executed(frozenset(functions), frozenset(rules), seconds)
            for file, (functions, rules, seconds) in done.items()
        }
        digests = {name: each.digest for name, each in functions_of(sources_in(ROOT)).items()}
        index.write(Path(TARGET), index.Index(checks, digests), "make pages")
