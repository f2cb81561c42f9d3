"""The report on log files, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from kraftcheck.evidence.history.checks import ALL, CHECKS, LEVELS, Verdict
from kraftcheck.evidence.history.facts import Key
from kraftcheck.evidence.logs.findings import NOTES, Problem, Where
from kraftcheck.evidence.logs.node import Node
from kraftcheck.evidence.logs.node_history import HistoryEntry
from kraftcheck.evidence.logs.reader import FileReport, LogReport
from kraftcheck.evidence.logs.releases import span, tables_of
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.printable import printable
from kraftcheck.support.terminal import Console, entry, heading, say

#: Steps of a history that are shown; the others (every append, every high watermark) are too many to read.
SHOWN: Final = frozenset(
    {"start", "transition", "interrupted", "voters", "version", "truncation", "snapshot", "end"}
)


#: The counts of files, and the names of damage among them.
_COUNTED: Final = ("bytes", "lines", "records", "relevant", "overlong", "nulBytes", "notUtf8")
_DAMAGE: Final = {"overlong": "overlong lines", "nulBytes": "NUL bytes", "notUtf8": "lines not UTF-8"}
#: Damaged files that are listed.
_LISTED: Final = 100

Data = dict[str, Any]


def not_judged(report: LogReport) -> list[Data]:
    """The checks that need lines of a level which the logs of some ``nodes`` do not show."""
    found = []
    for check in CHECKS.values():
        needs = LEVELS.index(check.level)
        nodes = [one.number for one in report.nodes.values() if LEVELS.index(one.summary.level) < needs]
        if nodes:
            in_part = check.level == "DEBUG"
            found.append({"check": check.name, "level": check.level, "inPart": in_part, "nodes": nodes})
    return found


class Judged(NamedTuple):
    """The verdict on a check, and the lines that are missing for a full one."""

    verdict: Verdict
    because: str = ""


def judged(report: LogReport) -> dict[str, Judged]:
    """The verdict on every check of the judge of histories, also on those that no log shows."""
    missed = {one["check"]: one for one in not_judged(report)}
    found = {}
    for check in ALL.values():
        lacking = missed.get(check.name)
        because = "" if lacking is None else f"no line of {check.level} of node {_ids(lacking['nodes'])}"
        if report.findings.problem_counts[check.name]:
            found[check.name] = Judged(Verdict.VIOLATED, because)
        elif not check.level:
            found[check.name] = Judged(Verdict.NOT_JUDGED, "log files do not show the facts that it needs")
        elif lacking is not None and not lacking["inPart"] and len(lacking["nodes"]) == len(report.nodes):
            found[check.name] = Judged(Verdict.NOT_JUDGED, because)
        else:
            found[check.name] = Judged(Verdict.HOLDS, because)
    return found


def _ids(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, nodes))


def as_json(report: LogReport) -> Data:
    """The machine-readable form, without history."""
    findings = report.findings
    return {
        "files": [_file(file) for file in report.files],
        "copies": [str(path) for path in report.copies],
        "nodes": [_node(node) for node in report.nodes.values()],
        "problems": [_problem(problem, findings.disorder.get(problem)) for problem in findings.problems],
        "problemCounts": dict(sorted(findings.problem_counts.items())),
        "problemsInDoubt": dict(sorted(findings.doubtful.items())),
        "verdicts": {name: one._asdict() for name, one in judged(report).items()},
        "notJudged": not_judged(report),
        "notes": dict(sorted(findings.notes.items())),
        "firstNotes": {name: str(where) for name, where in sorted(findings.first_notes.items())},
        "epochsForgotten": report.epochs_forgotten,
    }


def _file(file: FileReport) -> Data:
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


def _node(node: Node) -> Data:
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
        "voters": None if node.voters is None else [str(key) for key in sorted(node.voters, key=_in_order)],
    }


def _in_order(key: Key) -> tuple[int, str]:
    return key.id, key.directory or ""


def _problem(problem: Problem, disorder: Where | None) -> Data:
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


def history_json(step: HistoryEntry) -> Data:
    """One step of a history for programs."""
    state = step.state
    return {
        "node": step.node,
        "process": step.process,
        "what": step.what,
        "file": step.where.file,
        "line": step.where.line,
        "time": step.time,
        "state": None if state is None else str(state),
        "role": None if state is None else state.role,
        "epoch": None if state is None else state.epoch,
        "leader": state.leader if state is not None and isinstance(state.leader, int) else None,
        "voted": state.voted.id if state is not None and isinstance(state.voted, Key) else None,
        "offset": step.offset,
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


def exit_status(data: Data) -> int:
    """The status of `kraftcheck logs` for a report, as of `as_json`: 3 if all problems are in doubt."""
    problems = sum(data["problemCounts"].values())
    if problems > sum(data["problemsInDoubt"].values()):
        return EXIT_DIFFERS
    return EXIT_UNDETERMINED if problems else EXIT_EXPECTED


def print_report(out: Console, data: Data, limit: int) -> None:
    """The summary of each node, the first ``limit`` problems, the counts, and a verdict: of `as_json`."""
    for node in data["nodes"]:
        _print_node(out, node)
    heading(out, "files")
    print_files(out, data)
    _print_not_judged(out, data["notJudged"])
    print_problems(out, data["problems"][:limit])
    nodes = f"{len(data['nodes']):,} node{'' if len(data['nodes']) == 1 else 's'}"
    print_verdict(out, data, limit, nodes, _missed(data["notJudged"]))


def _print_node(out: Console, node: Data) -> None:
    heading(out, f"node {node['node']}")
    releases = "not recognised: no transition in these lines"
    if node["releases"]:
        releases = f"{', then '.join(node['releases'])}; transition table {' or '.join(node['tables'])}"
    entry(out, "release", releases)
    entry(
        out,
        "history",
        f"starts {node['processes']:,}, transitions {node['transitions']:,}, "
        f"candidacies {node['elections']:,}, leaderships {node['leaderships']:,}, "
        f"raft lines {node['relevant']:,}",
    )
    if node["lastState"] is not None:
        entry(out, "epochs", f"{node['firstEpoch']} to {node['lastEpoch']}; last: {node['lastState']}")
    if node["voters"] is not None:
        ids = (key.partition(" ")[0] for key in node["voters"])
        entry(out, "voters", ", ".join(ids) or "none known")
    entry(out, "time", f"{node['firstTime']} to {node['lastTime']}")


def print_files(out: Console, data: Data) -> None:
    """The counts of all files, what is wrong with them, and the notes."""
    files = data["files"]
    total = Counter({name: sum(file[name] for file in files) for name in _COUNTED})
    text = f"{len(files):,} with {total['lines']:,} lines, {total['bytes'] / 1e6:,.1f} MB; "
    text += f"{total['relevant']:,} raft lines; "
    text += f"{total['lines'] - total['records']:,} lines that begin no record"
    entry(out, "read", text)
    for name, what in _DAMAGE.items():
        if total[name]:
            entry(out, "damage", f"{total[name]:,} {what}")
    damaged = [file for file in files if file["damaged"]]
    for file in damaged[:_LISTED]:
        text = f"{printable(file['file'])}: {printable(file['damaged'])}; read up to line {file['lines']:,}"
        entry(out, "damage", text)
    if len(damaged) > _LISTED:
        entry(out, "damage", f"{len(damaged) - _LISTED:,} more damaged files; --json lists them")
    plain = [file["file"] for file in files if not file["damaged"] and not file["relevant"]]
    if plain:
        entry(out, "no raft", f"{_first(plain)}: no line of a raft node")
    if data["copies"]:
        entry(out, "copy", f"{_first(data['copies'])}: begins like a file read already, skipped")
    for name, count in sorted(data["notes"].items()):
        where = printable(data["firstNotes"][name])
        entry(out, name, f"{count:,}: {NOTES[name]}; first at {where}", column=16)
    if data["epochsForgotten"]:
        entry(out, "epochs", f"{data['epochsForgotten']:,} small epochs were not compared between nodes")


def _first(names: list[str]) -> str:
    return printable(names[0]) + (f" and {len(names) - 1:,} more" if len(names) > 1 else "")


def _print_not_judged(out: Console, found: list[Data]) -> None:
    if found:
        heading(out, "not judged")
    for level in LEVELS:
        by_nodes: dict[str, list[str]] = {}
        for one in found:
            if one["level"] == level:
                by_nodes.setdefault(_ids(one["nodes"]), []).append(one["check"])
        for nodes, checks in by_nodes.items():
            what = f"{'in part only' if level == 'DEBUG' else 'not at all'}: {', '.join(checks)}"
            entry(out, level, f"no such line of node {nodes}; {what}")


def _missed(found: list[Data]) -> str:
    part = sum(one["inPart"] for one in found)
    told = [
        *([f"{len(found) - part}"] if part < len(found) else []),
        *([f"a part of {part}"] if part else []),
    ]
    return f"; the log level leaves out {' and '.join(told)}" if told else ""


def print_problems(out: Console, problems: list[Data]) -> None:
    """The problems in full; ``cluster`` is named where a problem has one."""
    for number, problem in enumerate(problems, 1):
        place = f"{printable(problem['cluster'])}, " if "cluster" in problem else ""
        back = problem["timeGoesBack"]
        doubt = "" if back is None else ", in doubt"
        heading(out, f"problem {number}: {problem['check']}, {place}node {problem['node']}{doubt}")
        if back is not None:
            entry(
                out,
                "order",
                f"the time of this log goes back at {printable(back)}: if lines are out of order, sort "
                "them by time; if the clock was set back, read what was written before and after by itself",
            )
        entry(out, "at", printable(f"{problem['file']}:{problem['line']}, {problem['time']}"))
        entry(out, "demanded", CHECKS[problem["check"]].demands)
        entry(out, "expected", printable(problem["expected"]))
        entry(out, "found", printable(problem["found"]))
        if problem["earlier"] is not None:
            entry(out, "against", printable(problem["earlier"]))
        if problem["cites"]:
            entry(out, "rules", " ".join(problem["cites"]))


def print_verdict(out: Console, data: Data, limit: int, nodes: str, missed: str = "") -> None:
    """How many problems the logs of ``nodes`` have; ``missed``: the checks that were not made."""
    counts = data["problemCounts"]
    total, doubtful = sum(counts.values()), sum(data["problemsInDoubt"].values())
    out.print()
    if not total:
        notes = data["notes"]
        left = sum(notes.get(each, 0) for each in ("unreadable", "no-layout", "json-form"))
        unread = "" if not left else f" in what could be read; {left:,} raft lines could not"
        say(out, f"no problem{unread}: {nodes}, {len(CHECKS)} checks{missed}")
        return
    parts = ", ".join(
        f"{check} {counts[check]:,}" for check in sorted(counts, key=lambda check: -counts[check])
    )
    more = "" if total <= limit else f"; the first {limit:,} are shown"
    more += f"; {doubtful:,} in doubt, as the lines are out of order: sort them by time" if doubtful else ""
    say(out, f"{total:,} problem{'' if total == 1 else 's'} in the logs of {nodes}: {parts}{more}")


def print_checks(out: Console) -> None:
    """All checks, with the ids of the specification behind them."""
    for check in CHECKS.values():
        say(out, check.name, "bold")
        cites = f" ({' '.join(check.cites)})" if check.cites else ""
        say(out, f"{check.demands}{cites}", indent=4)
