"""The result of comparing recorded runs with the reference: the machine-readable form and the exit status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kraftcheck import spec
from kraftcheck.evidence.history.checks import GOALS, JUDGED, why_not
from kraftcheck.evidence.recordings.exceptions import EXCEPTIONS, NOT_COMPARED
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.lockstep import RunReport
from kraftcheck.evidence.recordings.outcome import Difference
from kraftcheck.evidence.recordings.properties.finding import Finding
from kraftcheck.evidence.recordings.properties.judge import Judgement
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.systems.citations import in_steps


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run: its comparison with the reference, and the findings of its judges."""

    report: RunReport
    judgement: Judgement

    @property
    def violations(self) -> list[Finding]:
        """The findings that violate a property, without hazards."""
        return [finding for finding in self.judgement.findings if not finding.hazard]


def exit_status(results: Sequence[RunResult], *, findings_fail: bool) -> int:
    """1: differences, or findings if ``findings_fail``; 3: a run of which a step, or everything, was not
    compared; else 0.
    """
    if any(result.report.differences for result in results):
        return EXIT_DIFFERS
    if findings_fail and any(result.violations or result.judgement.unexplained for result in results):
        return EXIT_DIFFERS
    if any(not result.report.is_whole for result in results):
        return EXIT_UNDETERMINED
    return EXIT_EXPECTED


def rule_counts(results: Iterable[RunResult]) -> Counter[str]:
    """How many agreeing steps each rule decided, in all runs together."""
    return total(result.report.rules for result in results)


def unexercised(results: Iterable[RunResult]) -> list[str]:
    """The rules that steps carry out and that decided no step that agrees, in catalogue order."""
    counts = rule_counts(results)
    return [rule_id for rule_id in spec.load().rules if rule_id in in_steps() and not counts[rule_id]]


def missing_goals(results: Sequence[RunResult]) -> list[str]:
    """The goals of the catalogue that none of the runs reaches."""
    return [goal for goal in GOALS if not any(result.judgement.goals.get(goal) for result in results)]


def total(counters: Iterable[Counter[str]]) -> Counter[str]:
    """The sum of counters."""
    added: Counter[str] = Counter()
    for counter in counters:
        added.update(counter)
    return added


def as_json(results: Sequence[RunResult], protocol: str) -> Json:
    """The machine-readable form; nothing is left out of it."""
    properties = spec.load().properties.values()
    return {
        "protocol": protocol,
        "runs": [_run(result) for result in results],
        "rules": dict(sorted(rule_counts(results).items())),
        "rulesNeverExercised": unexercised(results),
        "goalsMissing": missing_goals(results),
        "properties": {
            "judged": dict(JUDGED),
            "notJudged": {each.name: why for each in properties if (why := why_not(each.name)) is not None},
        },
        "exceptions": dict(EXCEPTIONS),
        "notCompared": [
            {"event": each.event, "fields": list(each.fields), "reason": each.reason} for each in NOT_COMPARED
        ],
    }


def _run(result: RunResult) -> Json:
    report, judgement = result.report, result.judgement
    return {
        "run": report.run,
        "recorded": report.recorded,
        "compared": _counts(report.compared),
        "world": _counts(report.world),
        "notCovered": _counts(report.not_covered),
        "skipped": _counts(report.skipped),
        "fieldsUnknown": _counts(report.unknown),
        "exceptions": _counts(report.exceptions),
        "rules": _counts(report.rules),
        "differences": [_difference(difference) for difference in report.differences],
        "findings": [_finding(finding) for finding in judgement.findings],
        "goals": judgement.goals,
        "notesUnexplained": [{"seq": note.seq, "text": note.text} for note in judgement.unexplained],
    }


def _counts(counter: Counter[str]) -> Json:
    return dict(sorted(counter.items()))


def _difference(difference: Difference) -> Json:
    return {
        "seq": difference.seq,
        "shownAt": difference.shown_at,
        "node": difference.node,
        "event": difference.event,
        "field": difference.field,
        "reference": difference.expected,
        "production": difference.found,
        "rules": list(difference.rules),
        "before": list(difference.before),
    }


def _finding(finding: Finding) -> Json:
    return {
        "property": finding.property,
        "id": property_id(finding.property),
        "hazard": finding.hazard,
        "seq": finding.seq,
        "time": finding.time,
        "nodes": list(finding.nodes),
        "evidence": finding.evidence,
        "cause": finding.cause,
        "scenario": finding.scenario,
    }


def property_id(name: str) -> str:
    """The id of a property of the catalogue."""
    return next(each.id for each in spec.load().properties.values() if each.name == name)
