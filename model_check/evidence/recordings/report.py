"""The result of comparing recorded runs with the reference: the machine-readable form and the exit status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import to_builtins

from kraftcheck import spec
from kraftcheck.evidence.history.checks import GOALS, JUDGED, why_not
from kraftcheck.evidence.recordings.exceptions import EXCEPTIONS, NOT_COMPARED
from kraftcheck.evidence.recordings.outcome import RunResult
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.systems.citations import in_steps


def exit_status(results: Sequence[RunResult], *, findings_fail: bool) -> int:
    """1: differences, or findings if ``findings_fail``; 3: a step was not compared; else 0."""
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


def not_judged() -> dict[str, str]:
    """The properties that a recording cannot show, by id, each with the reason."""
    reasons = {id: why_not(each.name) for id, each in spec.load().properties.items()}
    return {id: reason for id, reason in reasons.items() if reason is not None}


def total(counters: Iterable[Counter[str]]) -> Counter[str]:
    """The sum of counters."""
    added: Counter[str] = Counter()
    for counter in counters:
        added.update(counter)
    return added


def as_json(results: Sequence[RunResult], protocol: str) -> Json:
    """The machine-readable form; nothing is left out of it."""
    properties = spec.load().properties
    return {
        "protocol": protocol,
        "runs": [
            {name: value for part in (each.report, each.judgement) for name, value in _plain(part).items()}
            for each in results
        ],
        "rules": _plain(rule_counts(results)),
        "rulesNeverExercised": unexercised(results),
        "goalsMissing": missing_goals(results),
        "properties": {
            "judged": dict(JUDGED),
            "notJudged": {properties[id].name: reason for id, reason in not_judged().items()},
        },
        "exceptions": dict(EXCEPTIONS),
        "notCompared": [
            {"event": event, "fields": list(each.fields), "reason": each.reason}
            for each in NOT_COMPARED
            for event in each.events
        ],
    }


def _plain(value: object) -> Json:
    return to_builtins(value, order="deterministic")
