"""The report of a campaign for people: on a terminal, and in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kraftcheck.pipeline.campaign.cells import AS_WRITTEN, NO_MUTANT
from kraftcheck.support.terminal import Console, entry, heading, say

_MOST = 20
_LIMITS = {"max_seconds": "time", "max_memory": "memory", "max_states": "states"}

Data = dict[str, Any]
Rows = Sequence[Sequence[str]]
#: A title, what is said below it, the columns of a table and its rows.
Section = tuple[str, str, Sequence[str], Rows]


def sections(found: Data) -> Iterator[Section]:
    """The parts of the report that have something in them."""
    rows: Rows
    yield _summary(found)
    if found["not_as_expected"]:
        rows = [
            (
                which(each),
                f"{each['verdict']}, expected {each['expected']}",
                "; ".join(each["differences"] or ()),
            )
            for each in found["not_as_expected"]
        ]
        yield "Not as expected", "", ("cell", "found", "difference"), rows
    if found["found"]:
        rows = [
            (
                each["property"],
                which(each),
                _number(each["steps"]),
                f"{each['cells']:,}",
                each["expected"] or "",
            )
            for each in found["found"]
        ]
        yield "Found", "", ("property", "by", "fewest steps", "cells", "expected"), rows
    yield from _mutants(found)
    if found["coverage"]:
        rows = [(label, text) for label, text in found["coverage"]["lines"]]
        yield "Coverage", "Of the reference as it is.", ("what", "exercised"), rows
    if found["limits"]["which"]:
        rows = [
            (which(each), _LIMITS.get(each["limit"], each["limit"]), *_measured(each))
            for each in found["limits"]["which"]
        ]
        yield "Limits hit", "", ("cell", "limit", "seconds", "memory", "states"), rows
    if found["trouble"]:
        rows = [(which(each), each["verdict"], each["error"] or "") for each in found["trouble"]]
        yield "Invalid or failed", "", ("cell", "what", "why"), rows
    if found["slowest"]:
        rows = [(which(each), *_measured(each)) for each in found["slowest"]]
        yield "Slowest", "", ("cell", "seconds", "memory", "states"), rows


def _summary(found: Data) -> Section:
    cells = found["cells"]
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(cells["verdicts"].items()))
    text = f"{cells['finished']:,} of {cells['planned']:,} cells are finished"
    text += f": {verdicts}. " if verdicts else ". "
    text += f"As expected: {cells['as_expected']:,}; not as expected: {cells['not_as_expected']:,}. "
    text += f"{cells['distinct_states']:,} distinct states, {cells['seconds']:,.0f} s in all."
    return f"Campaign {found['campaign']}", text, (), []


def _mutants(found: Data) -> Iterator[Section]:
    status = found["mutants"]["status"]
    if not status:
        return
    counts = ", ".join(f"{count:,} {what}" for what, count in sorted(Counter(status.values()).items()))
    survivors = [(id_, what, found["mutants"]["reasons"].get(id_, "")) for id_, what in status.items()]
    rows: Rows = [row for row in survivors if row[1] not in ("killed", "equivalent")]
    yield "Mutants", f"{len(status):,} mutants: {counts}.", ("mutant", "what became of it", "why"), rows
    if found["kills"]:
        properties = list(dict.fromkeys(sorted(each["property"] for each in found["kills"])))
        by_mutant: dict[str, dict[str, str]] = {}
        for each in found["kills"]:
            cell = "x" if each["steps"] is None else str(each["steps"])
            by_mutant.setdefault(each["mutant"], {})[each["property"]] = cell
        rows = [
            (id_, ", ".join(f"{name} {row[name]}".removesuffix(" x") for name in properties if name in row))
            for id_, row in by_mutant.items()
        ]
        yield (
            "What kills which mutant",
            "Properties that it violates and the reference does not, with the fewest steps.",
            ("mutant", "violates"),
            rows,
        )
        count = Counter(each["property"] for each in found["kills"])
        yield (
            "Mutants by property",
            "",
            ("property", "mutants"),
            [
                (name, f"{number:,}")
                for name, number in sorted(count.items(), key=lambda each: (-each[1], each[0]))
            ],
        )


def which(cell: Data) -> str:
    """A cell, or some, in words."""
    parts = [cell["scenario"]]
    parts += [cell[name] for name in ("protocol", "bounds") if cell.get(name) not in (None, AS_WRITTEN)]
    if cell.get("mutant") not in (None, NO_MUTANT):
        parts.append(f"mutant {cell['mutant']}")
    if cell.get("judged") is not None:
        parts.append(f"judging {cell['judged']}")
    if cell.get("engine") == "simulate":
        parts.append("walks" if cell.get("seed") is None else f"walks of seed {cell['seed']}")
    return ", ".join(parts)


def _measured(each: Data) -> tuple[str, str, str]:
    memory = "" if each["peak_memory"] is None else f"{each['peak_memory'] / 2**20:,.0f} MiB"
    return f"{each['seconds']:,.1f}", memory, _number(each["distinct_states"])


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def show(out: Console, found: Data, *, verbose: bool) -> None:
    """Print the report."""
    for title, text, columns, rows in sections(found):
        heading(out, title)
        if text:
            say(out, text, indent=2)
        shown = rows if verbose else rows[:_MOST]
        for first, *others in shown:
            told = [_told(name, value) for name, value in zip(columns[1:], others, strict=True) if value]
            if title == "Coverage":
                entry(out, first, "; ".join(others), column=14)
            else:
                say(out, f"{first}: {'; '.join(told)}", indent=2, hang=2)
        if len(shown) < len(rows):
            say(out, f"and {len(rows) - len(shown):,} more (-v)", indent=2)


def _told(column: str, value: str) -> str:
    """A value with the name of its column, where it does not speak for itself."""
    return f"{column} {value}" if value.replace(",", "").replace(".", "").isdigit() else value


def markdown(found: Data) -> str:
    """The whole report in Markdown, with the kill matrix as a table."""
    parts: list[str] = []
    for title, text, columns, rows in sections(found):
        parts.append(f"{'#' if not parts else '##'} {title}\n")
        if text:
            parts.append(f"{_escaped(text)}\n")
        if rows:
            parts.append(_table(columns, rows))
    return "\n".join(parts)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row(columns), _row(["---"] * len(columns)), *map(_row, rows)]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
