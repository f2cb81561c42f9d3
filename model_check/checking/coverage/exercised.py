"""The rules that an implementation has exercised, in reports of several commands together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kraftcheck import spec
from kraftcheck.checking.coverage.not_exercised import OTHER_VARIANT, carried_out, not_exercised
from kraftcheck.checking.coverage.rule_evidence import MAX_REPORT_BYTES
from kraftcheck.reference.protocol import KAFKA, PRESETS
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text
from kraftcheck.systems.switches import choices

#: The commands whose ``--json`` counts the steps of each rule in which an implementation agrees.
COMMANDS = ("drive", "conform", "record")


def exercised(report: Path) -> frozenset[str]:
    """The rules that a report of one of :data:`COMMANDS` has steps of. Raises InputError."""
    text = read_text(report, "a report with rules", most=MAX_REPORT_BYTES)
    data = codec.parse(text, str(report))
    rules = data.get("rules") if isinstance(data, dict) else None
    if not isinstance(rules, dict):
        raise InputError(f"{report}: is no report of '{_commands()}' with rules; make one.")
    unknown = sorted(rules.keys() - spec.load().rules.keys())
    if unknown:
        raise InputError(
            f"{report}: {unknown[0][:40]!r} is not a rule of this catalogue; make the report anew."
        )
    return frozenset(rule for rule, steps in rules.items() if steps)


def _commands() -> str:
    return "', '".join(f"{command} --json" for command in COMMANDS)


def summary(reports: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """The lines of a report: how many rules of steps ``reports`` exercise, each and together, and the rest by
    the reason: of a rule that Kafka's newest release does not follow, the presets under which it decides.
    """
    steps = carried_out()
    for name, rules in reports.items():
        yield f"{name}: {_count(rules, steps)}"
    together = frozenset[str]().union(*reports.values())
    yield f"rules exercised: {_count(together, steps)} of {len(steps)} that steps carry out"
    left = dict(not_exercised(together, KAFKA))
    for rule in left.pop(OTHER_VARIANT, ()):
        reason = _presets_of(rule)
        left[reason] = (*left.get(reason, ()), rule)
    for reason, missing in left.items():
        yield f"not exercised, {reason} ({len(missing)}): {' '.join(missing)}"


def _presets_of(rule: str) -> str:
    catalogued = spec.load().rules[rule]
    found = [name for name, preset in PRESETS.items() if catalogued.belongs_to(choices(preset))]
    return f"in force under preset {' or '.join(found)} alone" if found else "in force under no preset"


def _count(rules: Iterable[str], steps: tuple[str, ...]) -> int:
    return len(set(rules) & set(steps))
