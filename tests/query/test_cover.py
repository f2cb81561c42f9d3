"""The merging of decision tables is sound and complete."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.query.cover import Cell, cover

COLUMNS = [["a", "b", "c"], ["x", "y"], ["0", "1", "2"]]


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(list(itertools.product(*COLUMNS))), st.integers(0, 2)))
def test_rows_say_exactly_what_the_combinations_say(decisions: dict[Cell, int]) -> None:
    rows = cover(COLUMNS, decisions)
    for cell, decision in decisions.items():
        matching = [row.decision for row in rows if row.holds(cell)]
        assert matching
        assert set(matching) == {decision}
    for row in rows:
        assert any(row.holds(cell) for cell in decisions)


def test_what_does_not_matter_is_merged() -> None:
    decisions = {cell: int(cell[0] == "a" and cell[2] != "2") for cell in itertools.product(*COLUMNS)}
    rows = cover(COLUMNS, decisions)
    assert [(tuple(map(sorted, row.conditions)), row.decision) for row in rows] == [
        ((["a"], ["x", "y"], ["0", "1"]), 1),
        ((["a", "b", "c"], ["x", "y"], ["2"]), 0),
        ((["b", "c"], ["x", "y"], ["0", "1", "2"]), 0),
    ]
