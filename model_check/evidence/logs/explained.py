"""The story of a quorum's epochs for a terminal and for programs."""

from __future__ import annotations

from typing import Any

from kraftcheck.evidence.logs.explain import Line, Story
from kraftcheck.evidence.logs.reader import LogReport
from kraftcheck.evidence.logs.sections import findings, place, shown_epochs, what
from kraftcheck.evidence.logs.signatures import likenesses
from kraftcheck.support.printable import printable
from kraftcheck.support.terminal import Console, entry, heading, say

Data = dict[str, Any]


def explained(story: Story, report: LogReport) -> Data:
    """The story and what it looks like, as JSON data."""
    return {
        "epochs": [
            {"epoch": epoch, "lines": [_line(each) for each in lines]} for epoch, lines in story.epochs()
        ],
        "epochsLeftOut": None if story.gap is None else {"after": story.gap[0], "before": story.gap[1]},
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
    for epoch in shown_epochs(data):
        if isinstance(epoch, str):
            heading(out, epoch)
            continue
        date = _date(epoch["lines"][0]["time"])
        heading(out, f"epoch {epoch['epoch']}{f', {date}' if date else ''}")
        for line in epoch["lines"]:
            date = _day(out, line, date)
            entry(out, _clock(line["time"]), f"{what(line)} [{place(line)}]", column=16)
    for like in data["looksLike"]:
        heading(out, f"looks like {findings(like)}")
        entry(out, "because", f"node {like['node']}: {printable(like['because'])} [{place(like)}]", column=16)
        entry(out, "check", like["look"], column=16)
        say(out, "each finding has a page in docs/findings, with what to do", indent=2)


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
