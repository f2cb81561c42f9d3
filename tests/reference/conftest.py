"""Which tests of this folder exercise which rules: written to the file that RULES_IN_TESTS names.

A test exercises a rule if the rule decided a step that the test took. Tests with random input do not count:
what they take differs from run to run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from model_check.consult import evidence
from reference.step import Outcome

TARGET = os.environ.get("RULES_IN_TESTS")
seen: set[str] = set()
exercised: dict[str, set[str]] = {}


def watch() -> None:
    build = Outcome.__init__

    @wraps(build)
    def and_note(self: Outcome, *arguments: Any, **named: Any) -> None:
        build(self, *arguments, **named)
        seen.update(self.rules)

    Outcome.__init__ = and_note  # type: ignore[method-assign]


if TARGET:
    watch()


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
