"""The parts of the reference that checks executed, recorded by a run of them and kept in files of the
package.

A check is a scenario, a file of conformance vectors or a file of tests. ``make executed`` records scenarios
and vectors, ``make pages`` the tests of the reference. Each function is kept with a digest of its source,
which shows whether it has changed since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from kraftcheck.checking.coverage.functions import Function
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import write_atomically
from kraftcheck.support.validation import problem

#: The files of the package: the checks that are recorded together.
CHECKS, TESTS = "executed_by_checks.json", "executed_by_tests.json"
#: The kinds of checks, with which their names begin: "scenario divergence".
SCENARIO, VECTORS, TEST = "scenario", "vectors", "test"

_Bits = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{1,2000}$")]
_Seconds = Annotated[float, Field(ge=0, le=10**6)]


@dataclass(frozen=True, slots=True)
class Executed:
    """The execution of a check: the functions of the reference, the rules that decided there, and its time in
    seconds on the machine that recorded it.
    """

    functions: frozenset[str]
    rules: frozenset[str]
    seconds: float


@dataclass(frozen=True, slots=True)
class Index:
    """``checks`` by kind and name; ``digests``: those of all functions at the time of the recording."""

    checks: Mapping[str, Executed]
    digests: Mapping[str, str]

    def stale(self, functions: Mapping[str, Function]) -> list[str]:
        """Those of ``functions`` that have changed, or come, since they were recorded."""
        return [name for name, each in functions.items() if self.digests.get(name) != each.digest]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    command: str
    functions: dict[str, str]
    rules: list[str]
    checks: dict[str, Annotated[tuple[_Seconds, _Bits, _Bits], Field(strict=False)]]


@cache
def recorded(name: str) -> Index:
    """The file ``name`` of the package. Raises InputError if it is damaged."""
    try:
        content = (resources.files("kraftcheck.checking.coverage") / name).read_bytes()
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror}); restore the file.") from None
    return read(content, name)


def read(content: bytes, where: str) -> Index:
    """The content of a file called ``where``. Raises InputError if it is damaged."""
    try:
        file = _File.model_validate_json(content)
    except ValidationError as error:
        raise InputError(f"{where}: {problem(error)}; restore the file.") from None
    functions, rules = list(file.functions), file.rules
    checks = {
        check: Executed(_of_bits(ran, functions), _of_bits(decided, rules), seconds)
        for check, (seconds, ran, decided) in file.checks.items()
    }
    return Index(checks, file.functions)


def write(path: Path, index: Index, command: str) -> None:
    """Write a recording, a line for each check. Raises InputError where that is not possible."""
    functions = sorted(index.digests)
    rules = sorted({rule for each in index.checks.values() for rule in each.rules})
    checks = {
        name: (round(each.seconds, 1), _as_bits(each.functions, functions), _as_bits(each.rules, rules))
        for name, each in sorted(index.checks.items())
    }
    parts = [
        f' "command": {json.dumps(command)}',
        f' "functions": {_lines({name: index.digests[name] for name in functions})}',
        f' "rules": {json.dumps(rules)}',
        f' "checks": {_lines(checks)}',
    ]
    write_atomically(path, "{\n" + ",\n".join(parts) + "\n}\n")


def _lines(content: Mapping[str, object]) -> str:
    lines = (f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items())
    return "{\n" + ",\n".join(lines) + "\n }"


def _as_bits(chosen: Iterable[str], order: list[str]) -> str:
    """Hexadecimal digits; the lowest bit is the first of ``order``."""
    number = {name: bit for bit, name in enumerate(order)}
    return f"{sum(1 << number[name] for name in set(chosen) if name in number):x}"


def _of_bits(bits: str, order: list[str]) -> frozenset[str]:
    value = int(bits, 16)
    return frozenset(name for bit, name in enumerate(order) if value >> bit & 1)
