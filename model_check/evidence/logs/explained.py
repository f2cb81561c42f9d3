"""The story of a quorum's epochs for a terminal, a ticket in Markdown, and programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kraftcheck.evidence.logs.explain import Line, Story
from kraftcheck.evidence.logs.reader import LogReport
from kraftcheck.evidence.logs.signatures import likenesses
from kraftcheck.support.printable import printable
from kraftcheck.support.terminal import Console, entry, heading, say

Data = dict[str, Any]
#: So many of the first and of the last epochs are printed.
_FIRST, _LAST = 20, 80


def explained(story: Story, report: LogReport) -> Data:
    """The story and what it looks like, as JSON data."""
    return {
        "epochs": [
            {"epoch": epoch, "lines": [_line(each) for each in lines]} for epoch, lines in story.epochs()
        ],
        "looksLike": [
            {
                "findings": list(each.signature.findings),
                "check": each.problem.check,
                "node": each.problem.node,
                "file": each.problem.where.file,
                "line": each.problem.where.line,
                "because": each.problem.found.partition("\n")[0],
                "look": each.signature.look,
            }
            for each in likenesses(report.findings.problems)
        ],
    }


def _line(line: Line) -> Data:
    return {
        "time": line.time,
        "node": line.node,
        "text": line.text,
        "file": line.where.file,
        "line": line.where.line,
        "rules": list(line.rules),
    }


def print_explained(out: Console, data: Data) -> None:
    """Print the story of each epoch, and the findings that problems look like."""
    epochs = data["epochs"]
    left_out = len(epochs) - _FIRST - _LAST
    for number, epoch in enumerate(epochs):
        if left_out > 0 and _FIRST <= number < _FIRST + left_out:
            if number == _FIRST:
                heading(out, f"{left_out:,} epochs are left out; --json has them")
            continue
        date = _date(epoch["lines"][0]["time"])
        heading(out, f"epoch {epoch['epoch']}{f', {date}' if date else ''}")
        for line in epoch["lines"]:
            date = _day(out, line, date)
            entry(out, _clock(line["time"]), f"{_what(line)} [{_place(line)}]", column=16)
    for like in data["looksLike"]:
        heading(out, f"looks like {_findings(like)}")
        entry(
            out, "because", f"node {like['node']}: {printable(like['because'])} [{_place(like)}]", column=16
        )
        entry(out, "check", like["look"], column=16)
        say(out, "each finding has a page in docs/findings, with what to do", indent=2)


def markdown(data: Data) -> Iterator[str]:
    """The same as lines of Markdown; what logs contain is code in it."""
    for epoch in data["epochs"]:
        yield f"### Epoch {epoch['epoch']}\n"
        yield "| Time | What | Where |\n|---|---|---|"
        for line in epoch["lines"]:
            yield f"| {printable(line['time'])} | {_what(line)} | {_code(_place(line))} |"
        yield ""
    for like in data["looksLike"]:
        yield f"### Looks like {_findings(like)}\n"
        yield f"Because node {like['node']}: {_code(like['because'])} ({_code(_place(like))})."
        yield f"Check {like['look']}.\n"


def _what(line: Data) -> str:
    rules = f" ({', '.join(line['rules'])})" if line["rules"] else ""
    return f"node {line['node']} {line['text']}{rules}"


def _findings(like: Data) -> str:
    return " or ".join(like["findings"])


def _place(data: Data) -> str:
    return printable(f"{data['file'].rpartition('/')[2]}:{data['line']}")


def _date(time: str) -> str:
    return printable(time.rpartition(" ")[0])


def _day(out: Console, line: Data, date: str) -> str:
    """Print the date of a line where it is another one than ``date``."""
    found = _date(line["time"])
    if found != date:
        say(out, found, indent=2)
    return found


def _clock(time: str) -> str:
    return printable(time.rpartition(" ")[2])


def _code(text: str) -> str:
    return f"`{printable(text).replace('`', chr(39)).replace('|', '/')}`"
