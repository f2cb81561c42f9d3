"""Evidence of a rule outside the code: the tests that exercise it, and steps of recorded runs of Kafka.

The sources show neither, so a run counts both and keeps them in a file:

* ``model_check/checking/coverage/executed_by_tests.json`` (:mod:`kraftcheck.checking.coverage.index`): the
  rules that decided a step, or another result, of the tests of ``tests/reference`` (random tests aside).
* ``model_check/checking/coverage/rules_in_recorded_runs.json``: rule id → the number of recorded steps
  that it decided and in which Kafka and the reference agree.

``docs/extending.md`` has the commands that write them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kraftcheck import spec
from kraftcheck.checking.coverage import index
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text
from kraftcheck.support.validation import problem

RECORDED_RUNS = "rules_in_recorded_runs.json"
MAX_REPORT_BYTES = 2**28
_Count = Annotated[int, Field(ge=0, le=10**15)]


class RecordedRuns(BaseModel):
    """Rules in recorded runs: the runs, the events recorded and compared in them, and rule id → steps."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    command: str
    runs: tuple[str, ...]
    recorded: _Count
    compared: _Count
    rules: Mapping[str, _Count]


class _Run(BaseModel):
    """The fields that are read of one run in the report of ``kraftcheck conform --json``."""

    run: str
    recorded: _Count
    compared: dict[str, _Count]


class _Report(BaseModel):
    runs: list[_Run]
    rules: dict[str, _Count]


@cache
def in_tests() -> Mapping[str, tuple[str, ...]]:
    """Rule id → the modules of ``tests/reference`` that exercise it. Raises InputError for a damaged file."""
    found: dict[str, list[str]] = {}
    for check, executed in index.recorded(index.TESTS).checks.items():
        module = check.removeprefix(f"{index.TEST} tests/reference/").removesuffix(".py")
        for rule_id in executed.rules:
            found.setdefault(rule_id, []).append(module)
    return {rule_id: tuple(found[rule_id]) for rule_id in _in_order(found)}


@cache
def in_recorded_runs() -> RecordedRuns:
    """The evidence of recorded runs for each rule. Raises InputError if the file is damaged."""
    try:
        content = (resources.files("kraftcheck.checking.coverage") / RECORDED_RUNS).read_bytes()
        return RecordedRuns.model_validate_json(content)
    except OSError as error:
        raise InputError(f"{RECORDED_RUNS}: cannot be read ({error.strerror}); restore the file.") from None
    except ValidationError as error:
        raise InputError(f"{RECORDED_RUNS}: {problem(error)}; restore the file.") from None


def counted(report: Path) -> str:
    """The content of the file for the counts in a report of ``kraftcheck conform --json``. Raises
    InputError.
    """
    what = "a report of 'kraftcheck conform --json'"
    text = read_text(report, what, most=MAX_REPORT_BYTES)
    try:
        found = _Report.model_validate_json(text)
    except ValidationError as error:
        raise InputError(f"{report}: not {what} ({problem(error)}); make one.") from None
    if unknown := sorted(found.rules.keys() - spec.load().rules.keys()):
        raise InputError(
            f"{report}: {unknown[0][:40]!r} is not a rule of this catalogue; make the report anew."
        )
    count = f"kraftcheck rules --count REPORT -o model_check/checking/coverage/{RECORDED_RUNS}"
    content = {
        "command": f"kraftcheck conform RUNS --json -o REPORT && {count}",
        "runs": sorted(run.run for run in found.runs),
        "recorded": sum(run.recorded for run in found.runs),
        "compared": sum(sum(run.compared.values()) for run in found.runs),
        "rules": {rule_id: found.rules[rule_id] for rule_id in _in_order(found.rules)},
    }
    return _as_text(content)


def _in_order(rules: Iterable[str]) -> list[str]:
    """``rules`` in the order of the catalogue."""
    named = set(rules)
    return [rule_id for rule_id in spec.load().rules if rule_id in named]


def _as_text(content: Mapping[str, object]) -> str:
    """A line for each rule, so that a change of one is a change of one line."""
    *head, (_, rules) = content.items()
    assert isinstance(rules, dict)
    lines = [f"  {json.dumps(rule_id)}: {json.dumps(value)}" for rule_id, value in rules.items()]
    fields = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head]
    body = ",\n".join(lines)
    fields.append(f' "rules": {{\n{body}\n }}')
    return "{\n" + ",\n".join(fields) + "\n}\n"
