"""The result of comparing recorded runs with the reference, for people: plain lines of at most ``width``."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kraftcheck import spec
from kraftcheck.evidence.history.checks import JUDGED
from kraftcheck.evidence.recordings.exceptions import EXCEPTIONS, NOT_COMPARED
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.outcome import Difference, Finding, RunResult
from kraftcheck.evidence.recordings.report import missing_goals, not_judged, rule_counts, total, unexercised
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
        parts.append(_listed(result, "differences", differences, _difference, wanted, width))
        parts.append(_findings(result, wanted, width))
    parts += [_open(results, width), _exceptions(results, wanted, width)]
    if wanted.verbose:
        parts.append(_properties(width))
    if wanted.rules:
        parts.append(_rules(results, width))
    if wanted.unexercised:
        parts.append(_never(results, width))
    parts.append(_summary(results, width))
    blocks = ["\n".join(printable(line) for line in part) for part in map(list, parts) if part]
    return "\n\n".join(blocks)


def _wrapped(text: str, width: int, indent: int = 0, hang: int = 2) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hang),
        break_on_hyphens=False,
    ) or [""]


def _table(results: Sequence[RunResult], width: int) -> Iterator[str]:
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
        yield "run"
    yield f"{'run' if one_line else '':<{indent}}" + _row([name for name, _, _ in _COLUMNS], sizes)
    for name, row in zip(names, figures, strict=True):
        if not one_line:
            yield from _wrapped(name, width)
        yield f"{name if one_line else '':<{indent}}" + _row(row, sizes)


def _row(cells: Sequence[str], sizes: Sequence[int]) -> str:
    return "".join(f"{cell:>{size}}" for cell, size in zip(cells, sizes, strict=True))


# Differences and findings.


def _listed(
    result: RunResult,
    what: str,
    entries: Sequence[T],
    block: Callable[[str, T, Wanted, int], Iterator[str]],
    wanted: Wanted,
    width: int,
) -> Iterator[str]:
    """The first entries, and how many more there are."""
    run = result.report.run
    for number, entry in enumerate(entries[: wanted.limit]):
        if number:
            yield ""
        yield from block(run, entry, wanted, width)
    more = len(entries) - wanted.limit
    if more > 0:
        yield from _wrapped(f"{run}: {more:,} more {what} (--limit shows more)", width)


def _difference(run: str, difference: Difference, wanted: Wanted, width: int) -> Iterator[str]:
    node = "the run" if difference.node is None else f"node {difference.node}"
    yield from _wrapped(f"{run}: seq {difference.seq}, {node}, {difference.event}: {difference.field}", width)
    shown = "" if difference.shown_at is None else f" (content recorded at seq {difference.shown_at})"
    yield from _labelled("reference", _value(difference.reference), width)
    yield from _labelled("production", _value(difference.production) + shown, width)
    if wanted.verbose:
        rules = spec.load().rules
        for rule in difference.rules:
            sentence = rules[rule].sentence if rule in rules else ""
            yield from _labelled("rule", f"{rule}  {sentence}", width)
    else:
        yield from _labelled("rules", " ".join(difference.rules) or "none", width)
    for step in difference.before:
        yield from _labelled("before", step, width)


def _value(value: Json) -> str:
    """A value as JSON; ``None`` is an absent value."""
    return "nothing" if value is None else json.dumps(value)


def _labelled(label: str, text: str, width: int) -> list[str]:
    lines = textwrap.wrap(text, width - 14, break_on_hyphens=False) or [""]
    return [f"  {label if number == 0 else '':<12}{line}" for number, line in enumerate(lines)]


def _finding(run: str, finding: Finding, wanted: Wanted, width: int) -> Iterator[str]:
    kind = "hazard" if finding.hazard else "finding"
    nodes = f"node {finding.nodes[0]}"
    if len(finding.nodes) > 1:
        nodes += f" with {', '.join(map(str, finding.nodes[1:]))}"
    name = f"{finding.property} ({finding.id})"
    yield from _wrapped(f"{kind}: {run}: seq {finding.seq}, t {finding.time} ms, {nodes}: {name}", width)
    if wanted.verbose:
        yield from _labelled("property", spec.load().properties[finding.id].statement, width)
    yield from _labelled("seen", finding.evidence, width)
    yield from _labelled("cause", finding.cause or "not known", width)
    if finding.scenario is not None:
        yield from _labelled("again", f"kraftcheck check {finding.scenario} -v", width)


def _findings(result: RunResult, wanted: Wanted, width: int) -> Iterator[str]:
    yield from _listed(result, "findings", result.judgement.findings, _finding, wanted, width)
    for note in result.judgement.unexplained:
        where = "run.json" if note.seq is None else f"seq {note.seq}"
        text = f"{result.report.run}: {where}: the recorder noted what no finding explains: {note.text}"
        yield from _wrapped(text, width)


# Parts that were not compared.


def _open(results: Sequence[RunResult], width: int) -> Iterator[str]:
    reports = [result.report for result in results]
    counts = (
        ("open: the reference does not cover yet", total(report.not_covered for report in reports)),
        ("skipped", total(report.skipped for report in reports)),
        ("fields that are not known", total(report.unknown for report in reports)),
    )
    for title, counter in counts:
        yield from _counted(title, counter, width)


def _counted(title: str, counter: Counter[str], width: int) -> Iterator[str]:
    if counter:
        yield from _wrapped(f"{title}:", width)
        for name, count in sorted(counter.items(), key=lambda item: (-item[1], item[0])):
            yield from _wrapped(f"{count:>9,}  {name}", width, 0, 11)


def _exceptions(results: Sequence[RunResult], wanted: Wanted, width: int) -> Iterator[str]:
    counter = total(result.report.exceptions for result in results)
    if wanted.verbose:
        yield from _wrapped("exceptions, which follow no rule:", width)
        for name, count in sorted(counter.items()):
            yield from _wrapped(f"{count:>9,}  {name}: {EXCEPTIONS.get(name, '')}", width, 0, 11)
        yield from _wrapped("not compared, whatever the run:", width)
        for each in NOT_COMPARED:
            events, fields = ", ".join(each.events), ", ".join(each.fields)
            yield from _wrapped(f"{events}: {fields}: {each.reason}", width, 2)
        return
    yield from _counted("exceptions, which follow no rule (-v says what is checked)", counter, width)
    yield from _wrapped("not compared, or in part only, whatever the run (-v says why):", width)
    names: dict[str, dict[str, None]] = {}
    for each in NOT_COMPARED:
        for event in each.events:
            names.setdefault(event, {}).update(dict.fromkeys(field or "all" for field in each.fields))
    for event, listed in names.items():
        yield from _wrapped(f"{event}: {', '.join(listed)}", width, 2)


def _properties(width: int) -> Iterator[str]:
    properties = spec.load().properties.values()
    yield from _wrapped("properties judged on the recording:", width)
    for each in properties:
        if each.name in JUDGED:
            yield from _wrapped(f"{each.id} {each.name}: {JUDGED[each.name]}", width, 2)
    yield from _wrapped("properties that a recording cannot show:", width)
    reasons = not_judged()
    for each in properties:
        if each.id in reasons:
            yield from _wrapped(f"{each.id} {each.name}: {reasons[each.id]}", width, 2)


# Rules.


def _rules(results: Sequence[RunResult], width: int) -> Iterator[str]:
    yield from _wrapped("rules exercised by production, in steps that agree:", width)
    for rule, count in sorted(rule_counts(results).items()):
        yield f"  {rule:<32}{count:>10,} {'time' if count == 1 else 'times'}"


def _never(results: Iterable[RunResult], width: int) -> Iterator[str]:
    never = unexercised(results)
    yield from _wrapped(f"rules never exercised in these runs: {len(never):,}", width)
    for rule in never:
        yield from _wrapped(f"{rule}  {spec.load().rules[rule].title}", width, 2)


def _summary(results: Sequence[RunResult], width: int) -> Iterator[str]:
    events = sum(result.report.recorded for result in results)
    compared = sum(result.report.compared.total() for result in results)
    left = sum(result.report.not_compared for result in results)
    differences = sum(len(result.report.differences) for result in results)
    violations = sum(len(result.violations) for result in results)
    hazards = sum(len(result.judgement.findings) for result in results) - violations
    parts = [
        _number(len(results), "run"),
        _number(events, "event"),
        f"{compared:,} compared",
        *([f"{left:,} NOT compared"] if left else []),
        _number(differences, "difference"),
        _number(violations, "finding"),
    ]
    parts += [_number(hazards, "hazard")] if hazards else []
    text = f"{len(JUDGED)} properties judged; {', '.join(parts)}"
    missing = missing_goals(results)
    if missing:
        text += f"; never reached: {', '.join(missing)}"
    yield from _wrapped(text, width)


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
