"""Which tests of this folder exercise which rules: written to the file that RULES_IN_TESTS names.

A test exercises a rule if the rule decided a step that the test took, or another result that names its rules.
Tests with random input do not count: what they take differs from run to run.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

import reference
from model_check.consult import evidence

TARGET = os.environ.get("RULES_IN_TESTS")
seen: set[str] = set()
exercised: dict[str, set[str]] = {}


def results() -> Iterator[type[Any]]:
    """The types of the reference that say which rules decided."""
    for found in pkgutil.iter_modules(reference.__path__):
        module = importlib.import_module(f"reference.{found.name}")
        for kind in vars(module).values():
            own = isinstance(kind, type) and kind.__module__ == module.__name__
            if own and is_dataclass(kind) and {"rule", "rules"} & {each.name for each in fields(kind)}:
                yield kind


def watch(kind: type[Any]) -> None:
    build = kind.__init__

    @wraps(build)
    def and_note(self: Any, *arguments: Any, **named: Any) -> None:
        build(self, *arguments, **named)
        seen.update(getattr(self, "rules", ()))
        seen.update({getattr(self, "rule", None)} - {None})

    setattr(kind, "__init__", and_note)  # noqa: B010


if TARGET:
    for each in results():
        watch(each)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if TARGET:
        items[:] = [item for item in items if not getattr(item.obj, "is_hypothesis_test", False)]  # type: ignore[attr-defined]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    seen.clear()
    result = yield
    for rule_id in seen:
        exercised.setdefault(rule_id, set()).add(item.path.stem)
    return result


def pytest_sessionfinish(exitstatus: int) -> None:
    if TARGET and exitstatus == pytest.ExitCode.OK:
        evidence.write_tests(Path(TARGET), exercised)
