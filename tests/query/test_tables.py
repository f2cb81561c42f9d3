"""The decision tables are computed from the reference, and their merged rows say what the reference says."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from kraftcheck.query.broker_tables import BROKER_TABLES
from kraftcheck.query.cover import cover
from kraftcheck.query.decision_table import Decision, rows
from kraftcheck.query.replica_tables import TABLES
from kraftcheck.query.tables import BY_FORM, REPLICAS
from kraftcheck.reference.protocol import DOCUMENTS, KAFKA
from kraftcheck.systems.brokers.switches import SWITCHES as BROKER_SWITCHES
from kraftcheck.systems.kraft.switches import SWITCHES
from tests.query.broker_rows import PROTOCOLS, decided
from tests.query.transcripts import cases, name_of

#: The presets of replicas of the documents.
OTHERS = {REPLICAS: tuple(DOCUMENTS.values())}
ALL = [(form, name) for form, known in BY_FORM.items() for name in known]
#: What a table says takes long to compute; by night also under the other presets of replicas.
EACH = [
    *((*each, protocol, pytest.mark.slow) for each in ALL for protocol in PROTOCOLS[each[0]]),
    *((*each, protocol, pytest.mark.nightly) for each in ALL for protocol in OTHERS.get(each[0], ())),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "name", "protocol"),
    [
        pytest.param(*each, marks=[] if each[2] is KAFKA else mark, id=f"{each[0]}-{each[1]}")
        for *each, mark in EACH
    ],
)
def test_every_combination_is_in_a_row_and_every_row_is_right(form: str, name: str, protocol: Any) -> None:
    decisions = decided(form, name, protocol)
    merged = cover(tuple(map(tuple, BY_FORM[form][name].columns.values())), decisions)
    assert decisions
    assert len(merged) < len(decisions)
    for cell, decision in decisions.items():
        assert {row.decision for row in merged if row.holds(cell)} == {decision}


@pytest.mark.slow
@pytest.mark.parametrize(("form", "name"), ALL)
def test_every_value_of_every_column_occurs(form: str, name: str) -> None:
    cells = [cell for protocol in PROTOCOLS[form] for cell in decided(form, name, protocol)]
    for index, (column, values) in enumerate(BY_FORM[form][name].columns.items()):
        assert {cell[index] for cell in cells} == set(values), column


@pytest.mark.slow
def test_rows_are_the_same_every_time() -> None:
    table = TABLES["vote-request"]
    assert rows(table, KAFKA) == rows(table, KAFKA)


Conditions = Mapping[str, str]


@cache
def decisions(head: str) -> list[tuple[Conditions, Decision]]:
    """The decisions of a table under a protocol, which ``head`` names, with their conditions."""
    name, form, *settings = head.split()
    read = BROKER_SWITCHES.read if form in BROKER_TABLES else SWITCHES.read
    known = form if form in BROKER_TABLES else REPLICAS
    columns = BY_FORM[known][name].columns
    found = decided(known, name, read(form, settings))
    return [(dict(zip(columns, cell, strict=True)), each) for cell, each in found.items()]


def matching(head: str, given: Conditions) -> list[Decision]:
    return [each for conditions, each in decisions(head) if given.items() <= conditions.items()]


#: Tables of brokers with the most combinations.
LARGE = ("alter-partition-request", "isr-change-request", "metadata-heartbeat-re")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(each, id=name_of(each), marks=[pytest.mark.slow] if each[0].startswith(LARGE) else [])
        for each in cases("decisions.txt")
    ],
)
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
