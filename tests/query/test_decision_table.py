"""Decision tables as data: what a file of them says, and which combinations occur."""

from __future__ import annotations

import itertools
import tomllib
from importlib import resources

import pytest

from kraftcheck.query.decision_table import DecisionTable, Other, holds
from kraftcheck.query.tables import BY_FORM

TABLES = [(form, table) for form, known in BY_FORM.items() for table in known.values()]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"role": "Leader"}, True),
        ({"role": ("Follower", "Leader"), "epoch": "same"}, True),
        ({"role": "Leader", "epoch": "larger"}, False),
        ({"role": Other("Leader")}, False),
        ({"role": Other("Follower")}, True),
        ({"vote": Other("none")}, False),
        ({}, True),
    ],
)
def test_a_condition_holds_of_columns_that_are_there(condition: dict[str, str], expected: bool) -> None:
    assert holds(condition, {"role": "Leader", "epoch": "same"}) is expected


def test_later_words_replace_earlier_ones_and_templates_nest() -> None:
    table = DecisionTable(
        "name",
        "about",
        "assumes",
        {"a": {"1": "one", "2": {"b": "two"}}, "c": {"x": "{a} {b}", "y": "why"}},
        state="{c}",
        event="{b}",
        read=lambda state, event: (state, event),
        ask=lambda protocol, situation: None,
        words={"a": "no a", "b": "no b"},
        where=[({"a": "2", "c": "y"}, {"c": "because"})],
        never=[{"a": "1", "c": "y"}, {"d": "assumed", "a": "2", "c": "x"}],
        assumed={"d": "another"},
        finish=lambda found, given: (*found, given["a"]),  # type: ignore[arg-type, return-value]
    )
    found = {
        cell: table.situation(dict(zip("ac", cell, strict=True))) for cell in itertools.product("12", "xy")
    }
    assert found == {
        ("1", "x"): ("one no b", "no b", "1"),
        ("1", "y"): None,
        ("2", "x"): ("no a two", "two", "2"),
        ("2", "y"): ("because", "two", "2"),
    }


def test_conditions_name_columns_and_values_of_their_table() -> None:
    """But for shared conditions, of which those about other columns never hold."""
    for _, table in TABLES:
        for condition in (*table.never, *(when for when, _ in table.where)):
            for column, wanted in condition.items():
                values = {wanted} if isinstance(wanted, str) else set(wanted)
                if column in table.columns and set(condition) <= {*table.columns}:
                    assert values <= {*table.columns[column]}, (table.name, condition)


def test_files_define_nothing_that_no_table_refers_to() -> None:
    folder = resources.files("kraftcheck.query") / "situations"
    texts = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
    defined = {
        name
        for text in texts.values()
        for sort in ("columns", "words", "conditions")
        for name in tomllib.loads(text).get(sort, {})
    }
    whole = "".join(texts.values())
    assert not {name for name in defined if f'"@{name}"' not in whole}
