"""What a comparison found, for people and for programs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from model_check.conform.fields import Json
from model_check.conform.lockstep import RunReport
from model_check.conform.nodes import Difference

#: The version of the JSON form.
FORMAT = 1

#: What recordings hold and the comparison leaves aside, whatever the run.
NEVER_COMPARED = (
    "callbacks of the state machine",
    "the order in which one step sends to several nodes",
    "message versions and sizes",
)

_COLUMNS = (("recorded", 9), ("compared", 9), ("world", 7), ("not covered", 12), ("skipped", 8))
_HEADER = f"{'run':<36}" + "".join(f"{name:>{width}}" for name, width in (*_COLUMNS, ("differences", 12)))


def as_json(reports: Sequence[RunReport]) -> Json:
    """The machine-readable form."""
    return {
        "format": FORMAT,
        "runs": [_run(report) for report in reports],
        "rules": dict(_rules(reports)),
        "neverCompared": list(NEVER_COMPARED),
    }


def _run(report: RunReport) -> Json:
    return {
        "run": report.run,
        "recorded": report.recorded,
        "compared": dict(sorted(report.compared.items())),
        "world": dict(sorted(report.world.items())),
        "notCovered": dict(sorted(report.not_covered.items())),
        "skipped": dict(sorted(report.skipped.items())),
        "fieldsNotCovered": dict(sorted(report.fields.items())),
        "differences": [_difference(difference) for difference in report.differences],
    }


def _difference(difference: Difference) -> Json:
    return {
        "seq": difference.seq,
        "node": difference.node,
        "event": difference.event,
        "field": difference.field,
        "reference": difference.expected,
        "production": difference.found,
        "rules": list(difference.rules),
        "before": list(difference.before),
    }


def _rules(reports: Iterable[RunReport]) -> list[tuple[str, int]]:
    total: Counter[str] = Counter()
    for report in reports:
        total.update(report.rules)
    return sorted(total.items())


def as_text(reports: Sequence[RunReport], *, rules: bool, limit: int) -> str:
    """A table of the runs, the first ``limit`` differences of each, and how often each rule decided."""
    lines = [_HEADER]
    for report in reports:
        counts = [report.compared, report.world, report.not_covered, report.skipped]
        figures = [report.recorded, *(sum(counter.values()) for counter in counts)]
        row = "".join(f"{figure:>{width}}" for figure, (_, width) in zip(figures, _COLUMNS, strict=True))
        lines.append(f"{report.run:<36}{row}{len(report.differences):>12}")
    for report in reports:
        lines.extend(_details(report, limit))
    lines.append(f"never compared: {'; '.join(NEVER_COMPARED)}")
    if rules:
        lines.append("rules exercised by production, in steps that agree:")
        lines.extend(f"  {rule:<32}{count:>8} times" for rule, count in _rules(reports))
    return "\n".join(lines)


def _details(report: RunReport, limit: int) -> Iterable[str]:
    for kind, count in sorted(report.not_covered.items()):
        yield f"{report.run}: not covered yet: {kind}: {count}"
    for name, count in sorted(report.fields.items()):
        yield f"{report.run}: field not covered yet: {name}: in {count} compared states"
    for reason, count in sorted(report.skipped.items()):
        yield f"{report.run}: not compared, {reason} of the same node: {count}"
    for difference in report.differences[:limit]:
        yield from _explain(difference)
    if len(report.differences) > limit:
        yield f"{report.run}: {len(report.differences) - limit} more differences (--limit shows more)"


def _explain(difference: Difference) -> Iterable[str]:
    where = f"seq {difference.seq}, node {difference.node}, {difference.event}"
    yield f"{difference.run}: {where}: {difference.field}"
    yield f"    reference:  {json.dumps(difference.expected)}"
    yield f"    production: {json.dumps(difference.found)}"
    yield f"    rules:      {' '.join(difference.rules) or 'none'}"
    for step in difference.before:
        yield f"    before:     {step}"
