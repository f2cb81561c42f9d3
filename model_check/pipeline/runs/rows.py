"""Results of runs as rows of the data sets, and back, for the report of ``kraftcheck conform``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from kraftcheck.evidence.recordings.lockstep import RunReport
from kraftcheck.evidence.recordings.outcome import Difference
from kraftcheck.evidence.recordings.properties.finding import Finding
from kraftcheck.evidence.recordings.properties.judge import Judgement, Remark
from kraftcheck.evidence.recordings.report import RunResult

Row = dict[str, Any]

_COUNTERS = ("compared", "world", "not_covered", "skipped", "unknown", "exceptions")
_KINDS = {False: "finding", True: "hazard"}


def to_row(result: RunResult) -> Row:
    """A run's columns, with lists of its differences and findings."""
    report, judgement = result.report, result.judgement
    return {
        "run": report.run,
        "recorded": report.recorded,
        **{name: dict(getattr(report, name)) for name in _COUNTERS},
        "goals": dict(judgement.goals),
        "rules": dict(report.rules),
        "differences": [_difference(number, each) for number, each in enumerate(report.differences)],
        "findings": [
            *(_finding(number, each) for number, each in enumerate(judgement.findings)),
            *(_note(number, each) for number, each in enumerate(judgement.unexplained)),
        ],
    }


def _difference(number: int, each: Difference) -> Row:
    return {
        "number": number,
        "seq": each.seq,
        "node": each.node,
        "event": each.event,
        "field": each.field,
        "reference": json.dumps(each.expected),
        "production": json.dumps(each.found),
        "rules": list(each.rules),
        "before": list(each.before),
        "shown_at": each.shown_at,
    }


def _finding(number: int, each: Finding) -> Row:
    return {
        "number": number,
        "kind": _KINDS[each.hazard],
        "seq": each.seq,
        "time": each.time,
        "nodes": list(each.nodes),
        "property": each.property,
        "evidence": each.evidence,
        "cause": each.cause,
        "scenario": each.scenario,
    }


def _note(number: int, each: Remark) -> Row:
    return {"number": number, "kind": "note", "seq": each.seq, "evidence": each.text}


def from_rows(run: Row, differences: list[Row], findings: list[Row], rules: Mapping[str, int]) -> RunResult:
    """The result of a run from its rows."""
    name = run["run"]
    report = RunReport(
        name,
        run["recorded"],
        **{counter: Counter(run[counter]) for counter in _COUNTERS},
        differences=[_as_difference(name, row) for row in sorted(differences, key=_number)],
        rules=Counter(rules),
    )
    findings = sorted(findings, key=_number)
    judgement = Judgement(
        [_as_finding(name, row) for row in findings if row["kind"] != "note"],
        dict(run["goals"]),
        [Remark(name, row["seq"], row["evidence"]) for row in findings if row["kind"] == "note"],
    )
    return RunResult(report, judgement)


def _number(row: Row) -> int:
    number: int = row["number"]
    return number


def _as_difference(run: str, row: Row) -> Difference:
    return Difference(
        run,
        row["seq"],
        row["node"],
        row["event"],
        row["field"],
        json.loads(row["reference"]),
        json.loads(row["production"]),
        tuple(row["rules"]),
        tuple(row["before"]),
        row["shown_at"],
    )


def _as_finding(run: str, row: Row) -> Finding:
    return Finding(
        run,
        row["property"],
        row["seq"],
        row["time"],
        tuple(row["nodes"]),
        row["evidence"],
        row["kind"] == "hazard",
        row["cause"],
        row["scenario"],
    )
