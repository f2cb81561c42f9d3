"""The table rule × (code, properties, mutants, tests, steps of recorded runs), as a page that shows gaps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from kraftcheck import spec
from kraftcheck.checking.coverage import rule_evidence as evidence
from kraftcheck.checking.mutation import catalogue
from kraftcheck.query.releases import id_runs, in_words
from kraftcheck.spec import Rule
from kraftcheck.systems import citations

#: What may show a rule at work: the heading of its column, and how a row is asked for it.
KINDS: tuple[tuple[str, str], ...] = (
    ("code", "a function of the reference names it"),
    ("property", "a property of the catalogue rests on it"),
    ("mutant", "a mutant removes its guard"),
    ("test", "it decides a step, or another result, in a unit test of the reference"),
    ("recorded step", "it decides a step of recorded runs in which Kafka and the reference agree"),
)


@dataclass(frozen=True, slots=True)
class Row:
    """A rule and what shows it at work.

    code: functions of the reference (``vote.would_grant_vote``); properties: ids; mutants: ids, equivalent
    ones in ``equivalent``; tests: modules of ``tests/reference`` that exercise it, those that name it in
    ``naming``; production: steps of recorded runs that it decided.
    """

    rule: Rule
    code: tuple[str, ...]
    properties: tuple[str, ...]
    mutants: tuple[str, ...]
    equivalent: tuple[str, ...]
    tests: tuple[str, ...]
    naming: tuple[str, ...]
    production: int

    def shown_by(self, kind: str) -> bool:
        """Whether there is anything of one of the KINDS."""
        found: dict[str, object] = {
            "code": self.code,
            "property": self.properties,
            "mutant": self.mutants + self.equivalent,
            "test": self.tests,
            "recorded step": self.production,
        }
        return bool(found[kind])


@cache
def rows() -> tuple[Row, ...]:
    """A row for each rule, in the order of the catalogue. Raises InputError if a file of it is damaged."""
    mutants = catalogue.shipped().values()
    production = evidence.in_recorded_runs().rules

    def row(rule: Rule) -> Row:
        breaking = [mutant for mutant in mutants if rule.id in mutant.rules]
        naming = {place.partition(".py:")[0] for place in citations.in_tests().get(rule.id, ())}
        tests = evidence.in_tests().get(rule.id, ())
        return Row(
            rule=rule,
            code=citations.functions_of_reference().get(rule.id, ()),
            properties=rule.protects,
            mutants=tuple(each.id for each in breaking if each.equivalent is None),
            equivalent=tuple(each.id for each in breaking if each.equivalent is not None),
            tests=tests,
            naming=tuple(name for name in tests if f"tests/reference/{name}" in naming),
            production=production.get(rule.id, 0),
        )

    return tuple(row(rule) for rule in spec.load().rules.values())


# The page.

_INTRODUCTION = """\
# Rules, and what shows them at work

Written by `kraftcheck rules --table -o docs/rule-table.md`; do not edit it.

Every rule of the catalogue with the functions of the reference that carry it out, the properties that rest on
it, the mutants that remove its guard (in italics: equivalent mutants, with a
reason), the modules of `tests/reference` in which it decides something (with a star: the module names the
rule; tests with random input do not count, because what they take differs from run to run), and the steps of
recorded runs of Kafka that it decided and in which Kafka and the reference agree ({runs}
runs, {compared:,} of {recorded:,} events compared). The releases of Kafka that follow the rule are named if
they are not all since 3.9. `kraftcheck rules ID` has the text of a rule.
"""


def as_markdown(table: Sequence[Row]) -> str:
    """The page: counts, gaps, then the rules of each area."""
    production = evidence.in_recorded_runs()
    introduction = _INTRODUCTION.format(
        runs=len(production.runs), recorded=production.recorded, compared=production.compared
    )
    areas = (_area(area, group) for area, group in _areas(table).items())
    return "\n".join([introduction, overview(table), _by_area(table), *areas])


def overview(table: Sequence[Row]) -> str:
    """The sections about all rules together: counts, gaps and their reasons, as Markdown."""
    parts = (
        _summary(table),
        _gaps(table),
        _with_reasons(table, "Without mutant, and why", lambda rule: rule.unmutated),
        _with_reasons(table, "Without code, and why", lambda rule: rule.uncovered),
    )
    return "\n".join(parts)


def _summary(table: Sequence[Row]) -> str:
    coded = [row for row in table if row.shown_by("code")]
    lines = [
        "## Summary",
        "",
        f"| | of {len(table)} rules | of the {len(coded)} with code |",
        "|---|---:|---:|",
    ]
    for kind, meaning in KINDS:
        counts = (sum(row.shown_by(kind) for row in group) for group in (table, coded))
        lines.append(f"| {kind}: {meaning} | {' | '.join(map(str, counts))} |")
    every = sum(all(row.shown_by(kind) for kind, _ in KINDS) for row in table)
    lines.append(f"| all five | {every} | {every} |")
    return "\n".join([*lines, ""])


def _areas(table: Sequence[Row]) -> dict[str, list[Row]]:
    grouped: dict[str, list[Row]] = {}
    for row in table:
        grouped.setdefault(row.rule.area, []).append(row)
    return grouped


def _by_area(table: Sequence[Row]) -> str:
    lines = [
        "## By area",
        "",
        f"| area | rules | {' | '.join(kind for kind, _ in KINDS)} |",
        f"|---|---:|{'---:|' * len(KINDS)}",
    ]
    for area, group in _areas(table).items():
        counts = (str(sum(row.shown_by(kind) for row in group) or "–") for kind, _ in KINDS)
        lines.append(f"| [{area}](#{area.lower()}) | {len(group)} | {' | '.join(counts)} |")
    return "\n".join([*lines, ""])


def _gaps(table: Sequence[Row]) -> str:
    coded = [row for row in table if row.shown_by("code")]
    lines = ["## Gaps", "", "Rules with code, and nothing else of a kind:", ""]
    for kind, _ in KINDS[1:]:
        explained = [row for row in coded if kind == "mutant" and row.rule.unmutated is not None]
        missing = [row for row in coded if not row.shown_by(kind) and row not in explained]
        lines.append(f"- no {kind} ({len(missing)}): {_ids(missing)}")
    code_only = [row for row in coded if not any(row.shown_by(kind) for kind, _ in KINDS[1:])]
    lines.append(f"- nothing but code ({len(code_only)}): {_ids(code_only)}")
    return "\n".join([*lines, ""])


def _with_reasons(table: Sequence[Row], title: str, reason_of: Callable[[Rule], str | None]) -> str:
    by_reason: dict[str, list[Row]] = {}
    for row in table:
        given = reason_of(row.rule)
        if given is not None:
            by_reason.setdefault(given, []).append(row)
    total = sum(map(len, by_reason.values()))
    lines = [f"## {title} ({total})", ""]
    for reason, group in sorted(by_reason.items(), key=lambda pair: -len(pair[1])):
        lines.append(f"- {_ids(group)} ({len(group)}): {reason}")
    return "\n".join([*lines, ""])


def _ids(group: Iterable[Row]) -> str:
    return id_runs(row.rule.id for row in group)


def _area(area: str, group: Sequence[Row]) -> str:
    lines = [
        f"## {area}",
        "",
        f"`spec/{group[0].rule.file}`",
        "",
        "| rule | releases | code | properties | mutants | tests | recorded |",
        "|---|---|---|---|---|---|---:|",
    ]
    lines += [_line(row) for row in group]
    return "\n".join([*lines, ""])


def _line(row: Row) -> str:
    code: Callable[[str], str] = "`{}`".format
    tests = [f"{name.removeprefix('test_')}{'*' if name in row.naming else ''}" for name in row.tests]
    cells = (
        f"**{row.rule.id}** {row.rule.title}",
        in_words(row.rule) if row.rule.since or row.rule.until else "",
        ", ".join(map(code, row.code)),
        ", ".join(row.properties),
        ", ".join((*row.mutants, *(f"*{name}*" for name in row.equivalent))),
        ", ".join(tests),
        f"{row.production:,}" if row.production else "",
    )
    return f"| {' | '.join(cell or '–' for cell in cells)} |"
