"""The data sets have the columns that their pages say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from kraftcheck.pipeline.campaign import store as campaign
from kraftcheck.pipeline.datasets import Dataset, pairs_of
from kraftcheck.pipeline.explore import store
from kraftcheck.pipeline.logs import tables

PAGES = Path(__file__).parents[2] / "docs" / "pipeline"
#: The name and the version of a data set, before the table of its columns.
NAMED = re.compile(r"(?:`|: )([a-z][a-z -]+)`?, version (\d+)")
ROW = re.compile(r"\| `(\w+)` \| `?([^`|]+?)`? \|")
Described = dict[tuple[str, int], list[tuple[str, str]]]


def described(text: str) -> Described:
    """The columns and their types, by data set."""
    found: Described = {}
    columns: list[tuple[str, str]] | None = None
    named: tuple[str, int] | None = None
    for line in text.splitlines():
        if (match := NAMED.search(line)) is not None:
            named = (match[1], int(match[2]))
        if line == "| Column | Type | Meaning |":
            assert named is not None and named not in found
            columns = found.setdefault(named, [])
        elif not line.startswith("|"):
            columns = None
        elif columns is not None and (row := ROW.match(line)) is not None:
            columns.append((row[1], row[2]))
    return found


def datasets(module: ModuleType) -> Iterator[Dataset]:
    if module is tables:
        return iter(tables.DATASETS.values())
    return (each for each in vars(module).values() if isinstance(each, Dataset))


@pytest.mark.parametrize(
    ("page", "module"),
    [("campaign", campaign), ("logs", tables), ("explore", store)],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_page_says_which_columns_there_are(page: str, module: ModuleType) -> None:
    said = described((PAGES / f"{page}.md").read_text(encoding="utf-8"))
    there = {(each.name, each.version): pairs_of(each.columns) for each in datasets(module)}
    assert there and said == there
