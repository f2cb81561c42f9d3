"""What the logs of a fleet showed, for people."""

from __future__ import annotations

from typing import Any

from kraftcheck.evidence.history.checks import CHECKS
from kraftcheck.evidence.logs.findings import NOTES
from kraftcheck.pipeline.logs.fleet import FleetReport
from kraftcheck.support.printable import printable
from kraftcheck.support.terminal import Console, entry, heading, say


def print_fleet(out: Console, report: FleetReport, output: str | None) -> None:
    """The counts, what is missing or damaged, the first problems, and a verdict."""
    heading(out, "fleet")
    entry(out, "read", f"{report.clusters:,} clusters, {report.nodes:,} nodes, {report.files:,} files")
    text = f"{report.lines:,}, {report.bytes / 1e6:,.1f} MB; {report.relevant:,} raft lines; "
    entry(out, "lines", text + f"{report.lines - report.records:,} that begin no record")
    if output is not None:
        entry(out, "written", printable(output))
    words = {"overlong": "overlong lines", "nul": "NUL bytes", "invalid": "lines not UTF-8"}
    for name, count in report.damage.items():
        entry(out, "damage", f"{count:,} {words[name]}")
    for file in report.damaged:
        entry(
            out,
            "damage",
            f"{printable(file['file'])}: {printable(file['damaged'])}; read up to line {file['lines']:,}",
        )
    if report.without_raft:
        first = printable(report.without_raft_files[0])
        entry(out, "no raft", f"{report.without_raft:,} files without a line of a raft node; first {first}")
    if report.copies:
        entry(out, "copies", f"{report.copies:,} files begin like one read already, skipped")
    for one in report.missing:
        ids = ", ".join(str(node) for node in one["nodes"])
        entry(out, "missing", f"{printable(one['cluster'])}: no logs of voter {ids}, so not compared")
    for one in report.mixed:
        ids = printable(", ".join(one["ids"]))
        entry(out, "mixed", f"{printable(one['cluster'])}: lines of clusters {ids}; see --layout")
    if report.epochs_forgotten:
        entry(out, "epochs", f"{report.epochs_forgotten:,} small epochs were not compared between nodes")
    for name, count in report.notes.items():
        where = printable(report.first_notes[name])
        entry(out, name, f"{count:,}: {NOTES[name]}; first at {where}", column=16)
    for number, problem in enumerate(report.problems, 1):
        _print_problem(out, number, problem)
    _print_verdict(out, report)


def _print_problem(out: Console, number: int, problem: dict[str, Any]) -> None:
    check = problem["check"]
    heading(out, f"problem {number}: {check}, {printable(problem['cluster'])}, node {problem['node']}")
    entry(out, "at", printable(f"{problem['file']}:{problem['line']}, {problem['time']}"))
    entry(out, "demanded", CHECKS[check].demands)
    entry(out, "expected", printable(problem["expected"]))
    entry(out, "found", printable(problem["found"]))
    if problem["earlier_file"] is not None:
        entry(out, "against", printable(f"{problem['earlier_file']}:{problem['earlier_line']}"))
    if problem["rules"]:
        entry(out, "rules", " ".join(problem["rules"]))


def _print_verdict(out: Console, report: FleetReport) -> None:
    total, shown = sum(report.problem_counts.values()), len(report.problems)
    of = f"{report.nodes:,} nodes of {report.clusters:,} clusters"
    out.print()
    if not total:
        say(out, f"no problem: {of}, {len(CHECKS)} checks")
        return
    parts = ", ".join(f"{name} {count:,}" for name, count in report.problem_counts.items())
    more = "" if total <= shown else f"; the first {shown:,} are shown"
    say(out, f"{total:,} problem{'' if total == 1 else 's'} in the logs of {of}: {parts}{more}")
