"""Which tests of this folder exercise which rules: written to the file that RULES_IN_TESTS names.

A test exercises a rule if the rule decided a step that the test took, or another result that names its rules.
Tests with random input do not count: what they take differs from run to run.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable, Iterator
from functools import wraps
from inspect import isfunction
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import pytest

import reference
from reference.frozen import field_types, is_frozen

TARGET = os.environ.get("RULES_IN_TESTS")
seen: set[str] = set()
exercised: dict[str, set[str]] = {}


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
    for found in pkgutil.walk_packages(reference.__path__, "reference."):
        watch(importlib.import_module(found.name))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if TARGET:
        items[:] = [item for item in items if not getattr(item.obj, "is_hypothesis_test", False)]  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    seen.clear()
    result = yield
    for rule_id in seen:
        module = item.path.relative_to(Path(__file__).parent).with_suffix("").as_posix()
        exercised.setdefault(rule_id, set()).add(module)
    return result


def pytest_sessionfinish(exitstatus: int) -> None:
    if TARGET and exitstatus == pytest.ExitCode.OK:
        # Not before: what it imports would have kept the functions that note nothing.
        from model_check.consult import evidence

        evidence.write_tests(Path(TARGET), exercised)
