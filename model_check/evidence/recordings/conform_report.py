"""The report of ``kraftcheck conform``: its machine-readable form, its text and its exit status."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from msgspec import to_builtins

from kraftcheck import spec
from kraftcheck.checking.coverage.not_exercised import carried_out
from kraftcheck.evidence.history.checks import GOALS, JUDGED, why_not
from kraftcheck.evidence.recordings.exceptions import EXCEPTIONS, NOT_COMPARED
from kraftcheck.evidence.recordings.outcome import Difference, Finding, RunReport, RunResult
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.printable import printable

T = TypeVar("T")

#: The narrowest report.
MIN_WIDTH = 60

_COLUMNS: tuple[tuple[str, int, Callable[[RunResult], int]], ...] = (
    ("events", 8, lambda result: result.report.recorded),
    ("compared", 9, lambda result: result.report.compared.total()),
    ("world", 6, lambda result: result.report.world.total()),
    ("open", 5, lambda result: result.report.not_covered.total()),
    ("skipped", 8, lambda result: result.report.skipped.total()),
    ("differ", 7, lambda result: len(result.report.differences)),
    ("found", 6, lambda result: len(result.violations)),
)


def exit_status(results: Sequence[RunResult], *, findings_fail: bool) -> int:
    """1: differences, or findings if ``findings_fail``; 3: a step was not compared; else 0."""
    if any(result.report.differences for result in results):
        return EXIT_DIFFERS
    if findings_fail and any(result.violations or result.judgement.unexplained for result in results):
        return EXIT_DIFFERS
    if any(not result.report.is_whole for result in results):
        return EXIT_UNDETERMINED
    return EXIT_EXPECTED


def total(results: Iterable[RunResult], counter: Callable[[RunReport], Counter[str]]) -> Counter[str]:
    """The sum of a counter of all runs."""
    added: Counter[str] = Counter()
    for result in results:
        added.update(counter(result.report))
    return added


def unexercised(results: Iterable[RunResult]) -> list[str]:
    """The rules that steps carry out and that decided no step that agrees, in catalogue order."""
    counts = total(results, lambda report: report.rules)
    return [rule for rule in carried_out() if not counts[rule]]


def missing_goals(results: Sequence[RunResult]) -> list[str]:
    """The goals of the catalogue that none of the runs reaches."""
    return [goal for goal in GOALS if not any(result.judgement.goals.get(goal) for result in results)]


def not_judged() -> dict[str, str]:
    """The properties that a recording cannot show, by name, each with the reason."""
    reasons = {each.name: why_not(each.name) for each in spec.load().properties.values()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


def as_json(results: Sequence[RunResult], protocol: str) -> Json:
    """The machine-readable form; nothing is left out of it."""
    return {
        "protocol": protocol,
        "runs": [
            {name: value for part in (each.report, each.judgement) for name, value in _plain(part).items()}
            for each in results
        ],
        "rules": _plain(total(results, lambda report: report.rules)),
        "rulesNeverExercised": unexercised(results),
        "goalsMissing": missing_goals(results),
        "properties": {
            "judged": dict(JUDGED),
            "notJudged": not_judged(),
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


# For people.


@dataclass(frozen=True, slots=True)
class Wanted:
    """The amount of output. limit: differences and findings of each run; verbose: also texts and reasons;
    rules: how often each rule was exercised; unexercised: which rules never were.
    """

    limit: int = 10
    verbose: bool = False
    rules: bool = False
    unexercised: bool = False


def as_text(results: Sequence[RunResult], wanted: Wanted, width: int) -> str:
    """The report: the runs, differences, findings, parts that were not compared, rules on request."""
    width = max(width, MIN_WIDTH)
    parts = [_table(results, width)]
    for result in results:
        differences = result.report.differences
        parts.append(_listed(result, "differences", differences, _difference, wanted))
        parts.append(_findings(result, wanted))
    parts += [_open(results), _exceptions(results, wanted)]
    if wanted.verbose:
        parts.append(_properties())
    if wanted.rules:
        parts.append(_rules(results))
    if wanted.unexercised:
        parts.append(_never(results))
    parts.append(_summary(results))
    blocks = [[printable(text) for line in part for text in line.wrapped(width)] for part in parts]
    return "\n\n".join("\n".join(block) for block in blocks if block)


class _Line(NamedTuple):
    """A line to wrap: its further lines are ``hang`` deeper, or below the text after the label."""

    text: str
    indent: int = 0
    hang: int = 2
    label: str = ""

    def wrapped(self, width: int) -> list[str]:
        """The lines of at most ``width``."""
        first = f"  {self.label:<12}" if self.label else " " * self.indent
        room = len(first) if self.label else self.indent + self.hang
        return textwrap.wrap(
            self.text,
            width,
            initial_indent=first,
            subsequent_indent=" " * room,
            break_on_hyphens=False,
        ) or [first.rstrip()]


def _table(results: Sequence[RunResult], width: int) -> Iterator[_Line]:
    names = [result.report.run for result in results]
    rows = [[figure(result) for _, _, figure in _COLUMNS] for result in results]
    if len(results) > 1:
        names.append(f"{len(results):,} runs")
        rows.append([sum(column) for column in zip(*rows, strict=True)])
    figures = [[f"{figure:,}" for figure in row] for row in rows]
    sizes = [max(size, *(len(row[n]) + 1 for row in figures)) for n, (_, size, _) in enumerate(_COLUMNS)]
    column = max(len(name) for name in ["run", *names])
    one_line = column + sum(sizes) <= width
    indent = column if one_line else 2
    if not one_line:
        yield _Line("run")
    yield _Line(f"{'run' if one_line else '':<{indent}}" + _row([name for name, _, _ in _COLUMNS], sizes))
    for name, row in zip(names, figures, strict=True):
        if not one_line:
            yield _Line(name)
        yield _Line(f"{name if one_line else '':<{indent}}" + _row(row, sizes))


def _row(cells: Sequence[str], sizes: Sequence[int]) -> str:
    return "".join(f"{cell:>{size}}" for cell, size in zip(cells, sizes, strict=True))


# Differences and findings.


def _listed(
    result: RunResult,
    what: str,
    entries: Sequence[T],
    block: Callable[[str, T, Wanted], Iterator[_Line]],
    wanted: Wanted,
) -> Iterator[_Line]:
    """The first entries, and how many more there are."""
    run = result.report.run
    for number, entry in enumerate(entries[: wanted.limit]):
        if number:
            yield _Line("")
        yield from block(run, entry, wanted)
    more = len(entries) - wanted.limit
    if more > 0:
        yield _Line(f"{run}: {more:,} more {what} (--limit shows more)")


def _difference(run: str, difference: Difference, wanted: Wanted) -> Iterator[_Line]:
    node = "the run" if difference.node is None else f"node {difference.node}"
    yield _Line(f"{run}: seq {difference.seq}, {node}, {difference.event}: {difference.field}")
    shown = "" if difference.shown_at is None else f" (content recorded at seq {difference.shown_at})"
    yield _Line(_value(difference.reference), label="reference")
    yield _Line(_value(difference.production) + shown, label="Kafka")
    if wanted.verbose:
        rules = spec.load().rules
        for rule in difference.rules:
            sentence = rules[rule].sentence if rule in rules else ""
            yield _Line(f"{rule}  {sentence}", label="rule")
    else:
        yield _Line(" ".join(difference.rules) or "none", label="rules")
    for step in difference.before:
        yield _Line(step, label="before")


def _value(value: Json) -> str:
    """A value as JSON; ``None`` is an absent value."""
    return "nothing" if value is None else json.dumps(value)


def _finding(run: str, finding: Finding, wanted: Wanted) -> Iterator[_Line]:
    kind = "hazard" if finding.hazard else "finding"
    nodes = f"node {finding.nodes[0]}"
    if len(finding.nodes) > 1:
        nodes += f" with {', '.join(map(str, finding.nodes[1:]))}"
    name = f"{finding.property} ({finding.id})"
    yield _Line(f"{kind}: {run}: seq {finding.seq}, t {finding.time} ms, {nodes}: {name}")
    if wanted.verbose:
        yield _Line(spec.load().properties[finding.id].statement, label="property")
    yield _Line(finding.evidence, label="seen")
    yield _Line(finding.cause or "not known", label="cause")
    if finding.scenario is not None:
        yield _Line(f"kraftcheck check {finding.scenario} -v", label="again")


def _findings(result: RunResult, wanted: Wanted) -> Iterator[_Line]:
    yield from _listed(result, "findings", result.judgement.findings, _finding, wanted)
    for note in result.judgement.unexplained:
        where = "run.json" if note.seq is None else f"seq {note.seq}"
        text = f"{result.report.run}: {where}: the recorder noted what no finding explains: {note.text}"
        yield _Line(text)


# Parts that were not compared.


def _open(results: Sequence[RunResult]) -> Iterator[_Line]:
    yield from _counted(
        "open: the reference does not cover yet", total(results, lambda report: report.not_covered)
    )
    yield from _counted("skipped", total(results, lambda report: report.skipped))
    yield from _counted("fields that are not known", total(results, lambda report: report.unknown))


def _counted(title: str, counter: Counter[str]) -> Iterator[_Line]:
    if counter:
        yield _Line(f"{title}:")
        for name, count in sorted(counter.items(), key=lambda item: (-item[1], item[0])):
            yield _Line(f"{count:>9,}  {name}", 0, 11)


def _exceptions(results: Sequence[RunResult], wanted: Wanted) -> Iterator[_Line]:
    counter = total(results, lambda report: report.exceptions)
    if wanted.verbose:
        yield _Line("exceptions, which follow no rule:")
        for name, count in sorted(counter.items()):
            yield _Line(f"{count:>9,}  {name}: {EXCEPTIONS.get(name, '')}", 0, 11)
        yield _Line("not compared, whatever the run:")
        for each in NOT_COMPARED:
            events, fields = ", ".join(each.events), ", ".join(each.fields)
            yield _Line(f"{events}: {fields}: {each.reason}", 2)
        return
    yield from _counted("exceptions, which follow no rule (-v says what is checked)", counter)
    yield _Line("not compared, or in part only, whatever the run (-v says why):")
    names: dict[str, dict[str, None]] = {}
    for each in NOT_COMPARED:
        for event in each.events:
            names.setdefault(event, {}).update(dict.fromkeys(field or "all" for field in each.fields))
    for event, listed in names.items():
        yield _Line(f"{event}: {', '.join(listed)}", 2)


def _properties() -> Iterator[_Line]:
    for title, texts in (
        ("properties judged on the recording:", JUDGED),
        ("properties that a recording cannot show:", not_judged()),
    ):
        yield _Line(title)
        for each in spec.load().properties.values():
            if each.name in texts:
                yield _Line(f"{each.id} {each.name}: {texts[each.name]}", 2)


# Rules.


def _rules(results: Sequence[RunResult]) -> Iterator[_Line]:
    yield _Line("rules exercised by Kafka, in steps that agree:")
    for rule, count in sorted(total(results, lambda report: report.rules).items()):
        yield _Line(f"{rule:<32}{count:>10,} {'time' if count == 1 else 'times'}", 2)


def _never(results: Iterable[RunResult]) -> Iterator[_Line]:
    never = unexercised(results)
    yield _Line(f"rules never exercised in these runs: {len(never):,}")
    for rule in never:
        yield _Line(f"{rule}  {spec.load().rules[rule].title}", 2)


def _summary(results: Sequence[RunResult]) -> Iterator[_Line]:
    reports = [result.report for result in results]
    left = sum(report.not_compared for report in reports)
    violations = sum(len(result.violations) for result in results)
    hazards = sum(len(result.judgement.findings) for result in results) - violations
    parts = [
        _number(len(results), "run"),
        _number(sum(report.recorded for report in reports), "event"),
        f"{sum(report.compared.total() for report in reports):,} compared",
        *([f"{left:,} NOT compared"] if left else []),
        _number(sum(len(report.differences) for report in reports), "difference"),
        _number(violations, "finding"),
        *([_number(hazards, "hazard")] if hazards else []),
    ]
    text = f"{len(JUDGED)} properties judged; {', '.join(parts)}"
    missing = missing_goals(results)
    yield _Line(text + (f"; never reached: {', '.join(missing)}" if missing else ""))


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
