"""The report of a campaign for people: on a terminal, and in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kraftcheck.pipeline.campaign.cells import AS_WRITTEN, NO_MUTANT
from kraftcheck.support.terminal import Console, entry, heading, say

_MOST = 20
_LIMITS = {"max_seconds": "time", "max_memory": "memory", "max_states": "states"}

Data = dict[str, Any]


class Section(NamedTuple):
    """A part of the report: a title, a text below it, and a table."""

    title: str
    text: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


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


def _different(each: Data) -> tuple[str, ...]:
    return (
        which(each),
        f"{each['verdict']}, expected {each['expected']}",
        "; ".join(each["differences"] or ()),
    )


def _found(each: Data) -> tuple[str, ...]:
    numbers = (_number(each["steps"]), _number(each["cells"]))
    return (each["property"], which(each), *numbers, each["expected"] or "")


def _limited(each: Data) -> tuple[str, ...]:
    limit: str = each["limit"]
    return (which(each), _LIMITS.get(limit, limit), *_measured(each))


#: Lists of the report: title, key, columns, and what stands there of an entry.
_LISTS: tuple[tuple[str, str, Sequence[str], Callable[[Data], Sequence[str]]], ...] = (
    ("Not as expected", "not_as_expected", ("cell", "found", "difference"), _different),
    ("Found", "found", ("property", "by", "fewest steps", "cells", "expected"), _found),
    ("Limits hit", "limited", ("cell", "limit", "seconds", "memory", "states"), _limited),
    (
        "Invalid or failed",
        "trouble",
        ("cell", "what", "why"),
        lambda each: (which(each), each["verdict"], each["error"] or ""),
    ),
    (
        "Slowest",
        "slowest",
        ("cell", "seconds", "memory", "states"),
        lambda each: (which(each), *_measured(each)),
    ),
)


def sections(found: Data) -> Iterator[Section]:
    """The parts of the report that have something in them."""
    cells = found["cells"]
    verdicts = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(cells["verdicts"].items()))
    text = f"{cells['finished']:,} of {cells['planned']:,} cells are finished"
    text += f": {verdicts}. " if verdicts else ". "
    text += f"As expected: {cells['as_expected']:,}; not as expected: {cells['not_as_expected']:,}. "
    text += f"{cells['distinct_states']:,} distinct states, {cells['seconds']:,.0f} s in all."
    yield Section(f"Campaign {found['campaign']}", text)
    lists = found | {"limited": found["limits"]["which"]}
    for title, key, columns, row in _LISTS:
        if lists[key]:
            yield Section(title, "", columns, [row(each) for each in lists[key]])
    yield from _mutants(found)
    if found["coverage"]:
        lines = found["coverage"]["lines"]
        yield Section("Coverage", "Of the unchanged reference.", ("what", "exercised"), lines)


def _mutants(found: Data) -> Iterator[Section]:
    status, reasons = found["mutants"]["status"], found["mutants"]["reasons"]
    if not status:
        return
    counts = ", ".join(f"{count:,} {what}" for what, count in sorted(Counter(status.values()).items()))
    others = [(id_, what, reasons.get(id_, "")) for id_, what in status.items()]
    others = [row for row in others if row[1] not in ("killed", "equivalent")]
    columns = ("mutant", "what became of it", "why")
    yield Section("Mutants", f"{len(status):,} mutants: {counts}.", columns, others)
    if not found["kills"]:
        return
    by_mutant: dict[str, list[str]] = {}
    for each in found["kills"]:
        steps = "" if each["steps"] is None else f" {each['steps']}"
        by_mutant.setdefault(each["mutant"], []).append(f"{each['property']}{steps}")
    text = "Properties that it violates and the reference does not, with the fewest steps."
    rows = [(id_, ", ".join(names)) for id_, names in by_mutant.items()]
    yield Section("What kills which mutant", text, ("mutant", "violates"), rows)
    counted = Counter(each["property"] for each in found["kills"])
    by_count = sorted(counted.items(), key=lambda each: (-each[1], each[0]))
    rows = [(name, f"{number:,}") for name, number in by_count]
    yield Section("Mutants by property", "", ("property", "mutants"), rows)


def show(out: Console, found: Data, *, verbose: bool) -> None:
    """Print the report."""
    for title, text, columns, rows in sections(found):
        heading(out, title)
        if text:
            say(out, text, indent=2)
        shown = rows if verbose else rows[:_MOST]
        for first, *others in shown:
            if title == "Coverage":
                entry(out, first, "; ".join(others), column=14)
            else:
                named = [
                    _named(name, value) for name, value in zip(columns[1:], others, strict=True) if value
                ]
                say(out, f"{first}: {'; '.join(named)}", indent=2, hang=2)
        if len(shown) < len(rows):
            say(out, f"and {len(rows) - len(shown):,} more (-v)", indent=2)


def _named(column: str, value: str) -> str:
    """A value, with the name of its column if it is a number."""
    return f"{column} {value}" if value.replace(",", "").replace(".", "").isdigit() else value


def markdown(found: Data) -> str:
    """The whole report in Markdown."""
    parts: list[str] = []
    for title, text, columns, rows in sections(found):
        parts.append(f"{'#' if not parts else '##'} {title}\n")
        if text:
            parts.append(f"{_escaped(text)}\n")
        if rows:
            parts.append("\n".join(map(_row, (columns, ["---"] * len(columns), *rows))) + "\n")
    return "\n".join(parts)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_escaped, cells))} |"


def _escaped(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
