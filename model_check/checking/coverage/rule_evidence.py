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
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kraftcheck import spec
from kraftcheck.checking.coverage import index
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text
from kraftcheck.support.validation import problem

PRODUCTION = "rules_in_recorded_runs.json"
F = TypeVar("F", bound="_File")
MAX_REPORT_BYTES = 2**28
_Count = Annotated[int, Field(ge=0, le=10**15)]


@dataclass(frozen=True, slots=True)
class Production:
    """Rules in recorded runs: the runs, the events recorded and compared in them, and rule id → steps."""

    runs: tuple[str, ...]
    recorded: int
    compared: int
    rules: Mapping[str, int]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _ProductionFile(_File):
    command: str
    runs: list[str]
    recorded: _Count
    compared: _Count
    rules: dict[str, _Count]


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
def in_recorded_runs() -> Production:
    """The evidence of recorded runs for each rule. Raises InputError if the file is damaged."""
    file = _read(PRODUCTION, _ProductionFile)
    return Production(tuple(file.runs), file.recorded, file.compared, file.rules)


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
    count = f"kraftcheck rules --count REPORT -o model_check/{PRODUCTION}"
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


def _read(name: str, kind: type[F]) -> F:
    try:
        return kind.model_validate_json((resources.files("kraftcheck.checking.coverage") / name).read_bytes())
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror}); restore the file.") from None
    except ValidationError as error:
        raise InputError(f"{name}: {problem(error)}; restore the file.") from None
