"""Declared types: every field of a value says what it means, and so does every reason of a fatal."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import typing
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Any

import pytest

from kraftcheck import reference
from kraftcheck.reference import brokers
from kraftcheck.reference.effects import Fatal
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.frozen import Frozen, declared_types, field_types, is_frozen, marks_of, options_of
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.types import Ascending, Epoch, Meaning, Order, ReplicaId
from kraftcheck.systems import kraft

REFERENCE = (Path(__file__).parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")


def _values(package: Any) -> list[type[Frozen]]:
    """The classes of values that the modules of a package define."""
    names = [f"{package.__name__}.{each.name}" for each in pkgutil.iter_modules(package.__path__)]
    modules = [importlib.import_module(name) for name in names]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if is_frozen(value) and value.__module__ == module.__name__
    ]


def _without_meaning(declared: Any) -> bool:
    """Whether some part of a declared type does not say what it means."""
    if (options := options_of(declared)) != (declared,):
        return any(map(_without_meaning, options))
    kind, marks = marks_of(declared)
    if typing.get_origin(kind) is tuple:
        items = typing.get_args(kind)
        ordered = items[-1] is not Ellipsis or any(isinstance(mark, Order) for mark in marks)
        return not ordered or any(_without_meaning(item) for item in items if item is not Ellipsis)
    if kind in (int, str):
        return not any(isinstance(mark, Meaning) for mark in marks)
    is_class = isinstance(kind, type)
    known = is_class and (issubclass(kind, Enum) or kind.__module__.startswith("kraftcheck."))
    return is_class and not known and kind not in (bool, NoneType)


#: The systems take half a second to import.
PACKAGES = [reference, brokers, pytest.param(kraft, marks=pytest.mark.slow)]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_every_field_says_what_it_means(package: Any) -> None:
    values = _values(package)
    assert len(values) > 15
    missing = [
        f"{kind.__module__}.{kind.__name__}.{name}: {declared}"
        for kind in values
        for name, declared in declared_types(kind).items()
        if _without_meaning(declared)
    ]
    assert missing == []


class _Plain(Frozen):
    number: int
    text: str | None
    epochs: tuple[Epoch, ...]
    pairs: Ascending[tuple[ReplicaId, int]]


class _Meant(Frozen):
    epoch: Epoch | None
    voters: Ascending[ReplicaId]
    pairs: Ascending[tuple[ReplicaId, Epoch]]


def test_a_type_without_meaning_is_found() -> None:
    assert all(map(_without_meaning, declared_types(_Plain).values()))
    assert not any(map(_without_meaning, declared_types(_Meant).values()))


def test_the_types_of_fields_without_what_they_mean() -> None:
    assert field_types(_Meant) == {
        "epoch": int | None,
        "voters": tuple[int, ...],
        "pairs": tuple[tuple[int, int], ...],
    }


# Reasons of fatals.


def _fatals() -> list[tuple[str, set[str]]]:
    """Every ``Fatal(FatalReason.…)`` in the reference, with the fields that it is given."""
    found = []
    for path in sorted(Path(reference.__path__[0]).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Fatal":
                reason = ast.unparse(node.args[0]).removeprefix("FatalReason.")
                found.append((reason, {str(each.arg) for each in node.keywords}))
    return found


def test_every_reason_is_given_the_fields_of_its_sentence() -> None:
    fatals = _fatals()
    assert {reason for reason, _ in fatals} == {reason.name for reason in FatalReason}
    for name, fields in fatals:
        assert set(re.findall(r"{(\w+)}", FatalReason[name].sentence)) == fields, name


def test_reasons_are_named_alike_everywhere() -> None:
    for reason in FatalReason:
        assert f"| `{reason.value}` |" in REFERENCE
        assert reason.value == reason.name.lower().replace("_", "-")
    assert len({reason.sentence for reason in FatalReason}) == len(FatalReason)


def test_the_sentence_is_made_of_the_fields() -> None:
    invalid = Fatal(FatalReason.INVALID_REQUEST, replica=2)
    assert invalid.sentence == "node 2 found a request invalid"
    part = Fatal(FatalReason.SNAPSHOT_NOT_ASKED_FOR, snapshot=SnapshotId(5, 2), position=60)
    assert part.sentence == "a part of snapshot 5-2 from 60 on was not asked for"
    one = Fatal(FatalReason.CONFLICTING_LEADER, replica=2, epoch=1, known_epoch=1)
    assert one.sentence.endswith("this replica is in epoch 1 and knows no leader there")
    other = Fatal(FatalReason.CONFLICTING_LEADER, replica=2, epoch=1, known_leader=3, known_epoch=1)
    assert other.sentence.endswith("this replica is in epoch 1 and knows leader 3 there")
