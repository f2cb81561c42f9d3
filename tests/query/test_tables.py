"""The decision tables are computed from the reference, and their merged rows say what the reference says."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from kraftcheck.query.broker_tables import BROKER_TABLES
from kraftcheck.query.cover import cover
from kraftcheck.query.decision_table import Decision, DecisionTable, decide, rows
from kraftcheck.query.replica_tables import TABLES
from kraftcheck.reference.protocol import KAFKA, PRESETS
from kraftcheck.systems.brokers.switches import SWITCHES as BROKER_SWITCHES
from kraftcheck.systems.kraft.switches import SWITCHES
from tests.query.transcripts import cases, name_of


@pytest.mark.parametrize(
    "preset",
    ["kafka", *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(PRESETS) if name != "kafka")],
)
@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_combination_is_in_a_row_and_every_row_is_right(name: str, preset: str) -> None:
    table, protocol = TABLES[name], PRESETS[preset]
    decisions = decide(table, protocol)
    merged = cover(tuple(map(tuple, table.columns.values())), decisions)
    assert decisions
    assert len(merged) < len(decisions)
    for cell, decision in decisions.items():
        matching = {row.decision for row in merged if row.holds(cell)}
        assert matching == {decision}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_value_of_every_column_occurs(name: str) -> None:
    table = TABLES[name]
    for index, (column, values) in enumerate(table.columns.items()):
        seen = {cell[index] for cell in decide(table, KAFKA)}
        assert seen == set(values), column


def test_rows_are_the_same_every_time() -> None:
    table = TABLES["vote-request"]
    assert rows(table, KAFKA) == rows(table, KAFKA)


Conditions = Mapping[str, str]


@cache
def decisions(head: str) -> list[tuple[Conditions, Decision]]:
    """The decisions of a table under a protocol, which ``head`` names, with their conditions."""
    name, form, *settings = head.split()
    if form in BROKER_TABLES:
        table: DecisionTable[Any] = BROKER_TABLES[form][name]
        found = decide(table, BROKER_SWITCHES.read(form, settings))
    else:
        table = TABLES[name]
        found = decide(table, SWITCHES.read(form, settings))
    return [(dict(zip(table.columns, cell, strict=True)), each) for cell, each in found.items()]


def matching(head: str, given: Conditions) -> list[Decision]:
    return [each for conditions, each in decisions(head) if given.items() <= conditions.items()]


@pytest.mark.parametrize("case", cases("decisions.txt"), ids=name_of)
def test_some_decisions(case: list[str]) -> None:
    head, given, results, *named = case
    conditions = dict(each.split("=") for each in given.split("; ") if each != "always")
    found = matching(head, conditions)
    if results == "never":
        assert not found and all(matching(head, {name: value}) for name, value in conditions.items())
        return
    assert found
    for column, expected in zip(found[0].results, results.split(" | "), strict=True):
        if expected != "...":
            assert {each.results[column] for each in found} == set(expected.split(" / ")), column
    assert set.intersection(*(set(each.rules) for each in found)) == set(" ".join(named).split())
