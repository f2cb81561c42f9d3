"""What ``kraftcheck logs --explain`` says as a document, and that as Markdown for a ticket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final, NamedTuple

from kraftcheck.evidence.history.checks import CHECKS
from kraftcheck.support.printable import printable

Data = Mapping[str, Any]
#: So many of the first and of the last epochs are shown.
FIRST_SHOWN: Final = 20
LAST_SHOWN: Final = 80
#: So many problems are shown.
_PROBLEMS: Final = 20


class Row(NamedTuple):
    """A line of the story of an epoch."""

    time: str
    what: str
    where: str


class Section(NamedTuple):
    """A part of the document: rows of the story, or names and what is said of them."""

    title: str
    rows: tuple[Row, ...] = ()
    said: tuple[tuple[str, str], ...] = ()


def sections(data: Data) -> Iterator[Section]:
    """The parts of a report as of `explained.explained`: the story, the problems, what they look like, and
    what was not judged.
    """
    for epoch in shown_epochs(data):
        if isinstance(epoch, str):
            yield Section(epoch)
            continue
        rows = (Row(printable(each["time"]), what(each), place(each)) for each in epoch["lines"])
        yield Section(f"Epoch {epoch['epoch']}", rows=tuple(rows))
    problems = data["problems"]
    for number, each in enumerate(problems[:_PROBLEMS], 1):
        facts = {
            "at": f"{place(each)}, {each['time']}",
            "demanded": CHECKS[each["check"]].demands,
            "expected": each["expected"],
            "found": each["found"],
        }
        title = f"Problem {number}: {each['check']}, node {each['node']}"
        yield Section(title, said=tuple((name, printable(value)) for name, value in facts.items()))
    if len(problems) > _PROBLEMS:
        yield Section(f"{len(problems) - _PROBLEMS:,} more problems; --json has them")
    for like in data["looksLike"]:
        because = printable(f"node {like['node']}: {like['because']}")
        yield Section(
            f"Looks like {findings(like)}",
            said=(("because", f"{because} [{place(like)}]"), ("check", like["look"])),
        )
    missed = groupby(data["notJudged"], lambda each: (each["level"], each["inPart"], each["nodes"]))
    said = tuple(
        (
            f"no line of {level} of node {', '.join(map(str, nodes))}",
            f"{'in part only' if in_part else 'not at all'}: {', '.join(each['check'] for each in checks)}",
        )
        for (level, in_part, nodes), checks in missed
    )
    if said:
        yield Section("Not judged", said=said)


def shown_epochs(data: Data) -> Iterator[Any]:
    """The epochs that people read, and in the place of the others a sentence."""
    epochs, gap = data["epochs"], data["epochsLeftOut"]
    if gap is None and len(epochs) <= FIRST_SHOWN + LAST_SHOWN:
        yield from epochs
        return
    first, last = epochs[:FIRST_SHOWN], epochs[FIRST_SHOWN:][-LAST_SHOWN:]
    yield from first
    if last:
        yield f"epochs {first[-1]['epoch'] + 1} to {last[0]['epoch'] - 1} are left out"
    yield from last


def what(line: Data) -> str:
    """The sentence of a line of the story."""
    rules = f" ({', '.join(line['rules'])})" if line["rules"] else ""
    return f"node {line['node']} {line['text']}{rules}"


def findings(like: Data) -> str:
    """The findings that a problem looks like."""
    return " or ".join(like["findings"])


def place(data: Data) -> str:
    """The file, without its folder, and the line."""
    return printable(f"{data['file'].rpartition('/')[2]}:{data['line']}")


def markdown(data: Data) -> Iterator[str]:
    """The document as lines of Markdown; what logs contain is code in it."""
    for section in sections(data):
        yield f"### {section.title}\n"
        if section.rows:
            yield "| Time | What | Where |\n|---|---|---|"
            yield from (f"| {row.time} | {row.what} | {_code(row.where)} |" for row in section.rows)
            yield ""
        if section.said:
            yield from (f"- {name}: {_code(value)}" for name, value in section.said)
            yield ""


def _code(value: str) -> str:
    return f"`{value.replace('`', chr(39)).replace('|', '/')}`"
