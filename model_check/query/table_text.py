"""A decision table for people: a grid where the columns allow it, else one paragraph a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table as Grid
from rich.text import Text

from kraftcheck.query.cover import Row
from kraftcheck.query.decision_table import Decision, DecisionTable
from kraftcheck.support.terminal import Console, heading, say, width

#: The narrowest grid column of rules; below it the table is printed row by row.
MIN_RULES = 24


def print_table(
    out: Console, table: DecisionTable[Any], rows: Sequence[Row[Decision]], protocol: str
) -> None:
    """Print a table with what it takes for granted."""
    heading(out, f"{table.name}: {table.about}")
    say(out, f"Protocol: {protocol}. {table.assumes}")
    say(out, "* : does not matter, or only one value can occur in the row.")
    texts = [_texts(table, row) for row in rows]
    names = [*table.columns, *(rows[0].decision.results if rows else ())]
    widths = [max(len(text[index]) for text in (names, *texts)) for index in range(len(names))]
    if sum(widths) + 2 * len(widths) + MIN_RULES <= width(out):
        _print_grid(out, names, texts, rows)
    else:
        for number, (row, text) in enumerate(zip(rows, texts, strict=True), start=1):
            _print_paragraph(out, number, names, text, row.decision)
    heading(out, f"{len(rows)} rows")


def as_json(table: DecisionTable[Any], rows: Sequence[Row[Decision]]) -> dict[str, Any]:
    """A table as JSON data. A condition is ``"*"`` or the list of its values."""
    return {
        "table": table.name,
        "about": table.about,
        "assumes": table.assumes,
        "columns": {name: list(values) for name, values in table.columns.items()},
        "rows": [
            {
                "conditions": _conditions(table, row),
                **row.decision.results,
                "rules": list(row.decision.rules),
            }
            for row in rows
        ],
    }


def _conditions(table: DecisionTable[Any], row: Row[Decision]) -> Mapping[str, str | list[str]]:
    named = zip(table.columns.items(), row.conditions, strict=True)
    return {
        name: "*" if len(allowed) == len(values) else [value for value in values if value in allowed]
        for (name, values), allowed in named
    }


def _texts(table: DecisionTable[Any], row: Row[Decision]) -> list[str]:
    conditions = _conditions(table, row)
    texts = []
    for name, values in table.columns.items():
        allowed = conditions[name]
        if isinstance(allowed, str):
            texts.append(allowed)
        elif len(values) > 3 and len(allowed) == len(values) - 1:
            texts.append(f"not {next(value for value in values if value not in allowed)}")
        else:
            texts.append(" | ".join(allowed))
    return [*texts, *row.decision.results.values()]


def _print_grid(
    out: Console, names: Sequence[str], texts: Sequence[Sequence[str]], rows: Sequence[Row[Decision]]
) -> None:
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in names:
        grid.add_column(name, no_wrap=True)
    grid.add_column("rules")
    for text, row in zip(texts, rows, strict=True):
        grid.add_row(*map(Text, text), Text(" ".join(row.decision.rules), "dim"))
    out.print(Text())
    out.print(grid, soft_wrap=False)


def _print_paragraph(
    out: Console, number: int, names: Sequence[str], text: Sequence[str], decision: Decision
) -> None:
    named = dict(zip(names, text, strict=True))
    conditions = {name: value for name, value in named.items() if name not in decision.results}
    matter = "; ".join(f"{name}: {value}" for name, value in conditions.items() if value != "*")
    rest = ", ".join(name for name, value in conditions.items() if value == "*")
    out.print(Text())
    say(out, f"{number}. {matter or 'always'}" + (f"; *: {rest}" if rest else ""), hang=4)
    say(out, f"→ {decision.sentence}", "bold", indent=4, hang=2)
    say(out, " ".join(decision.rules) or "no rule", "dim", indent=4)
