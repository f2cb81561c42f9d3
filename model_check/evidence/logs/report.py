"""The report on log files, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from kraftcheck.evidence.history.checks import ALL, CHECKS, LEVELS, Verdict
from kraftcheck.evidence.logs.findings import NOTES, Problem, Where
from kraftcheck.evidence.logs.node import Node
from kraftcheck.evidence.logs.node_history import HistoryEntry
from kraftcheck.evidence.logs.reader import FileReport, LogReport
from kraftcheck.evidence.logs.releases import span, tables_of
from kraftcheck.evidence.logs.scan import Counts
from kraftcheck.support.printable import printable
from kraftcheck.support.terminal import Console, entry, heading, say

#: Steps of a history that are shown; the others (every append, every high watermark) are too many to read.
SHOWN: Final = frozenset(
    {"start", "transition", "interrupted", "voters", "version", "truncation", "snapshot", "end"}
)


class NotJudged(NamedTuple):
    """A check that needs lines of a ``level`` which the logs of some nodes do not show."""

    check: str
    level: str
    in_part: bool
    nodes: list[int]


def not_judged(report: LogReport) -> list[NotJudged]:
    """The checks that the level of the logs did not allow."""
    found = []
    for check in CHECKS.values():
        needs = LEVELS.index(check.level)
        nodes = [one.number for one in report.nodes.values() if LEVELS.index(one.summary.level) < needs]
        if nodes:
            found.append(NotJudged(check.name, check.level, check.level == "DEBUG", nodes))
    return found


class Judged(NamedTuple):
    """The verdict on a check, and the lines that are missing for a full one."""

    verdict: Verdict
    because: str = ""


def judged(report: LogReport) -> dict[str, Judged]:
    """The verdict on every check of the judge of histories, also on those that no log shows."""
    missed = {one.check: one for one in not_judged(report)}
    found = {}
    for check in ALL.values():
        lacking = missed.get(check.name)
        because = "" if lacking is None else f"no line of {check.level} of node {_ids(lacking.nodes)}"
        if report.findings.problem_counts[check.name]:
            found[check.name] = Judged(Verdict.VIOLATED, because)
        elif not check.level:
            found[check.name] = Judged(Verdict.NOT_JUDGED, "log files do not show the facts that it needs")
        elif lacking is not None and not lacking.in_part and len(lacking.nodes) == len(report.nodes):
            found[check.name] = Judged(Verdict.NOT_JUDGED, because)
        else:
            found[check.name] = Judged(Verdict.HOLDS, because)
    return found


def _ids(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, nodes))


def as_json(report: LogReport) -> dict[str, Any]:
    """The machine-readable form, without history."""
    return {
        "files": [_file(file) for file in report.files],
        "copies": [str(path) for path in report.copies],
        "nodes": [_node(node) for node in report.nodes.values()],
        "problems": [
            _problem(problem, report.findings.disorder.get(problem)) for problem in report.findings.problems
        ],
        "problemCounts": dict(sorted(report.findings.problem_counts.items())),
        "problemsInDoubt": dict(sorted(report.findings.doubtful.items())),
        "verdicts": {name: one._asdict() for name, one in judged(report).items()},
        "notJudged": [
            {"check": one.check, "level": one.level, "inPart": one.in_part, "nodes": one.nodes}
            for one in not_judged(report)
        ],
        "notes": dict(sorted(report.findings.notes.items())),
        "firstNotes": {name: str(where) for name, where in sorted(report.findings.first_notes.items())},
        "epochsForgotten": report.epochs_forgotten,
    }


def _file(file: FileReport) -> dict[str, Any]:
    counts = asdict(file.counts)
    nul, invalid = counts.pop("nul"), counts.pop("invalid")
    return {
        "file": str(file.path),
        **counts,
        "relevant": file.relevant,
        "nulBytes": nul,
        "notUtf8": invalid,
        "nodes": sorted(file.nodes),
        "damaged": file.damaged,
    }


def _node(node: Node) -> dict[str, Any]:
    summary = node.summary
    last = summary.last
    return {
        "node": node.number,
        "releases": [span(one) for one in summary.releases],
        "tables": list(tables_of(frozenset().union(*summary.releases))),
        "relevant": summary.lines,
        "processes": summary.processes,
        "transitions": summary.transitions,
        "elections": summary.elections,
        "leaderships": summary.leaderships,
        "firstEpoch": summary.first_epoch,
        "lastEpoch": summary.last_epoch,
        "firstTime": summary.first_time.decode("ascii", "replace"),
        "lastTime": summary.last_time.decode("ascii", "replace"),
        "lastState": None if last is None else str(last),
        "voters": None if node.voters is None else sorted(str(key) for key in node.voters),
    }


def _problem(problem: Problem, disorder: Where | None) -> dict[str, Any]:
    return {
        "check": problem.check,
        "node": problem.node,
        "file": problem.where.file,
        "line": problem.where.line,
        "time": problem.time,
        "expected": problem.expected,
        "found": problem.found,
        "earlier": None if problem.earlier is None else str(problem.earlier),
        "cites": list(problem.cites),
        "timeGoesBack": None if disorder is None else str(disorder),
    }


def history_json(step: HistoryEntry) -> dict[str, Any]:
    """One step of a history for programs."""
    return {
        "node": step.node,
        "process": step.process,
        "what": step.what,
        "file": step.where.file,
        "line": step.where.line,
        "time": step.time,
        "state": None if step.state is None else str(step.state),
        "epoch": None if step.state is None else step.state.epoch,
        "highWatermark": step.high_watermark,
        "voters": None if step.voters is None else [str(key) for key in step.voters],
        "votersOffset": step.voters_offset,
        "kraftVersion": step.version,
    }


def history_text(step: HistoryEntry) -> str:
    """One step of a history for people."""
    return f"{step.time}  node {step.node}  {_said(step)}  [{printable(str(step.where))}]"


def _said(step: HistoryEntry) -> str:
    return {
        "voters": f"voters {_voters(step)}",
        "version": f"kraft.version {step.version}",
        "truncation": f"log truncated; voters {_voters(step)}",
        "snapshot": "log replaced by a snapshot",
        "end": "shut down",
        "interrupted": f"cut off: {step.state}",
        "start": f"starts as {step.state}",
    }.get(step.what, str(step.state))


def _voters(step: HistoryEntry) -> str:
    ids = "not known" if step.voters is None else ", ".join(str(key.id) for key in step.voters) or "none"
    return ids if step.voters_offset is None else f"{ids} at offset {step.voters_offset}"


def print_report(out: Console, report: LogReport, limit: int) -> None:
    """The summary of each node, the first ``limit`` problems, the counts, and a verdict."""
    for node in report.nodes.values():
        _print_node(out, node)
    _print_files(out, report)
    _print_not_judged(out, report)
    for number, problem in enumerate(report.findings.problems[:limit], 1):
        _print_problem(out, number, problem, report.findings.disorder.get(problem))
    _print_counts(out, report, limit)


def _print_node(out: Console, node: Node) -> None:
    summary = node.summary
    heading(out, f"node {node.number}")
    entry(out, "release", _releases(node))
    entry(
        out,
        "history",
        f"starts {summary.processes:,}, transitions {summary.transitions:,}, "
        f"candidacies {summary.elections:,}, leaderships {summary.leaderships:,}, "
        f"raft lines {summary.lines:,}",
    )
    if summary.last is not None:
        entry(out, "epochs", f"{summary.first_epoch} to {summary.last_epoch}; last: {summary.last}")
    if node.voters is not None:
        entry(
            out,
            "voters",
            ", ".join(str(one) for one in sorted(key.id for key in node.voters)) or "none known",
        )
    first, last = (time.decode("ascii", "replace") for time in (summary.first_time, summary.last_time))
    entry(out, "time", f"{first} to {last}")


def _releases(node: Node) -> str:
    spans = node.summary.releases
    if not spans:
        return "not recognised: no transition in these lines"
    tables = " or ".join(tables_of(frozenset().union(*spans)))
    return f"{', then '.join(span(one) for one in spans)}; transition table {tables}"


def _print_files(out: Console, report: LogReport) -> None:
    counts = [asdict(file.counts) for file in report.files]
    total = Counts(**{name: sum(one[name] for one in counts) for name in asdict(Counts())})
    relevant = sum(file.relevant for file in report.files)
    heading(out, "files")
    text = f"{len(report.files):,} with {total.lines:,} lines, {total.bytes / 1e6:,.1f} MB; "
    text += f"{relevant:,} raft lines; {total.lines - total.records:,} lines that begin no record"
    entry(out, "read", text)
    damage = {"overlong lines": total.overlong, "NUL bytes": total.nul, "lines not UTF-8": total.invalid}
    for what, count in damage.items():
        if count:
            entry(out, "damage", f"{count:,} {what}")
    for file in report.files:
        if file.damaged:
            entry(
                out,
                "damage",
                f"{printable(str(file.path))}: {file.damaged}; read up to line {file.counts.lines:,}",
            )
        elif not file.relevant:
            entry(out, "no raft", f"{printable(str(file.path))}: no line of a raft node")
    for path in report.copies:
        entry(out, "copy", f"{printable(str(path))}: begins like a file read already, skipped")
    for name, count in sorted(report.findings.notes.items()):
        where = report.findings.first_notes[name]
        entry(out, f"{name}", f"{count:,}: {NOTES[name]}; first at {printable(str(where))}", column=16)
    if report.epochs_forgotten:
        entry(
            out, "epochs", f"{report.epochs_forgotten:,} small epochs were forgotten in comparisons of nodes"
        )


def _print_not_judged(out: Console, report: LogReport) -> None:
    found = not_judged(report)
    if not found:
        return
    heading(out, "not judged")
    for level in LEVELS:
        by_nodes: dict[str, list[str]] = {}
        for one in found:
            if one.level == level:
                by_nodes.setdefault(_ids(one.nodes), []).append(one.check)
        for nodes, checks in by_nodes.items():
            what = f"{'in part only' if level == 'DEBUG' else 'not at all'}: {', '.join(checks)}"
            entry(out, level, f"no such line of node {nodes}; {what}")


def _print_problem(out: Console, number: int, problem: Problem, disorder: Where | None) -> None:
    doubt = "" if disorder is None else ", in doubt"
    heading(out, f"problem {number}: {problem.check}, node {problem.node}{doubt}")
    if disorder is not None:
        entry(
            out,
            "order",
            f"the time of this log goes back at {printable(str(disorder))}: if lines are out of order, sort "
            "them by time; if the clock was set back, read what was written before and after by itself",
        )
    entry(out, "at", printable(f"{problem.where}, {problem.time}"))
    entry(out, "demanded", CHECKS[problem.check].demands)
    entry(out, "expected", problem.expected)
    entry(out, "found", printable(problem.found))
    if problem.earlier is not None:
        entry(out, "against", printable(str(problem.earlier)))
    if problem.cites:
        entry(out, "rules", " ".join(problem.cites))


def _print_counts(out: Console, report: LogReport, limit: int) -> None:
    counts = report.findings.problem_counts
    total = sum(counts.values())
    out.print()
    if not total:
        found = not_judged(report)
        part = sum(one.in_part for one in found)
        missed = f"; the log level leaves out {len(found) - part} and a part of {part}" if found else ""
        say(out, f"no problem: {_nodes(report)}, {len(CHECKS)} checks{missed}")
        return
    parts = ", ".join(f"{name} {count:,}" for name, count in counts.most_common())
    more = "" if total <= limit else f"; the first {limit:,} are shown"
    doubtful = report.findings.doubtful.total()
    more += f"; {doubtful:,} in doubt, as the lines are out of order: sort them by time" if doubtful else ""
    say(out, f"{total:,} problem{'' if total == 1 else 's'} in the logs of {_nodes(report)}: {parts}{more}")


def _nodes(report: LogReport) -> str:
    return f"{len(report.nodes):,} node{'' if len(report.nodes) == 1 else 's'}"


def print_checks(out: Console) -> None:
    """All checks, with the ids of the specification behind them."""
    for check in CHECKS.values():
        say(out, check.name, "bold")
        cites = f" ({' '.join(check.cites)})" if check.cites else ""
        say(out, f"{check.demands}{cites}", indent=4)
