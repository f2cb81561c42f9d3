"""What ``kraftcheck impact`` and ``kraftcheck mutate --patch`` print."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kraftcheck.checking.coverage import rule_evidence as evidence
from kraftcheck.impact import concern
from kraftcheck.impact.concern import Concerned, Nearness
from kraftcheck.impact.run import FAILED, PASSED, UNDETERMINED, Ran, run
from kraftcheck.impact.targets import Sources, Target, mutants
from kraftcheck.support.outputs import versioned
from kraftcheck.support.printable import printable
from kraftcheck.support.streams import progress
from kraftcheck.support.terminal import Console, console, entry, fitted, heading, say

_MOST_SHOWN = 12
_COLUMN = 14
_STYLES = {PASSED: "green", FAILED: "bold red", UNDETERMINED: "yellow"}


def run_and_report(
    found: Sequence[Concerned],
    threads: int,
    timeout: float,
    *,
    as_json: bool,
    changed: Mapping[str, str] | None = None,
) -> list[Ran]:
    """Run checks until one fails, with a line for each; see :func:`kraftcheck.impact.run.run`."""
    out = console()
    ran: list[Ran] = []
    with progress(quiet=as_json) as tell:
        for each in run([one.name for one in found], threads, timeout, changed):
            ran.append(each)
            following = f"; {found[len(ran)].name} …" if len(ran) < len(found) else ""
            tell(f"{len(ran)} of {len(found)} checks{following}")
            if as_json:
                print(json.dumps(versioned("impact-check", each.as_data())), flush=True)
                continue
            fitted(out, f"{each.check}; {each.seconds:.1f} s", each.status, _STYLES[each.status])
            for line in each.why:
                say(out, printable(line), indent=4, hang=2)
    return ran


def show(
    out: Console,
    target: Target,
    found: Sequence[Concerned],
    other: Sequence[str],
    sources: Sources,
    *,
    everything: bool,
) -> None:
    """Print what a target is, and the nearest checks or all of them."""
    heading(out, "Concerned")
    entry(out, "code", ", ".join(_places(target, sources)) or "none", column=_COLUMN)
    entry(out, "rules", ", ".join(in_order(target.rules)) or "none", column=_COLUMN)
    entry(out, "properties", ", ".join(concern.properties(target)) or "none", column=_COLUMN)
    entry(out, "mutants", ", ".join(_mutants(target)) or "none", column=_COLUMN)
    production = evidence.in_recorded_runs()
    steps = sum(production.rules.get(rule, 0) for rule in target.rules)
    runs = f"{len(production.runs)} recorded runs ('kraftcheck conform RUNS' compares them)"
    entry(
        out,
        "recorded",
        f"{steps:,} decisions in steps of {runs}" if steps else "decided no step",
        column=_COLUMN,
    )
    stale = [name for name in concern.stale(sources.functions) if name not in target.functions]
    if stale:
        changed = f"also changed since checks were recorded: {', '.join(stale)}"
        entry(out, "stale", f"{changed}; 'make executed pages' records them anew", column=_COLUMN)
    if other:
        entry(
            out, "left out", f"neither code of the reference nor a check: {', '.join(map(printable, other))}"
        )
    heading(out, f"Checks that concern it, nearest first ({len(found)} of {len(concern.checks())})")
    for each in found if everything else found[:_MOST_SHOWN]:
        fitted(out, f"{each.name}  {_why(each)}", f"{each.seconds:.1f} s", "dim")
    if len(found) > _MOST_SHOWN and not everything:
        say(out, f"and {len(found) - _MOST_SHOWN} more (-v)")


def as_data(
    target: Target, found: Sequence[Concerned], other: Sequence[str], sources: Sources
) -> dict[str, Any]:
    """The same as JSON data, with all checks."""
    production = evidence.in_recorded_runs()
    return {
        "functions": sorted(target.functions),
        "rules": in_order(target.rules),
        "properties": list(concern.properties(target)),
        "mutants": sorted(target.mutants),
        "recorded": {rule: production.rules.get(rule, 0) for rule in in_order(target.rules)},
        "stale": concern.stale(sources.functions),
        "left_out": list(other),
        "checks": [each.as_data() for each in found],
    }


def in_order(rules: frozenset[str]) -> list[str]:
    """Rules by area and number."""

    def key(rule: str) -> tuple[str, int, str]:
        area, _, number = rule.partition("-")
        return area, int(number) if number.isdigit() else 0, rule

    return sorted(rules, key=key)


def _places(target: Target, sources: Sources) -> Iterator[str]:
    for name in sorted(target.functions):
        each = sources.functions.get(name)
        if each is None:
            yield f"{name} (removed)"
        else:
            yield each.file if each.is_module else f"{name} ({each.file}:{each.lines[0]})"


def _mutants(target: Target) -> Iterator[str]:
    for mutant in mutants().values():
        if mutant.id in target.mutants:
            yield mutant.id if mutant.equivalent is None else f"{mutant.id} (equivalent)"


def _why(each: Concerned) -> str:
    if each.nearness is Nearness.CHANGED:
        return "changed itself"
    parts = [f"kills {', '.join(each.mutants)}"] if each.mutants else []
    if each.rules:
        shown = in_order(each.rules)
        parts.append(", ".join(shown[:4]) + (f" and {len(shown) - 4} more" if len(shown) > 4 else ""))
    return "; ".join([*parts, f"runs {each.functions}, and {each.others} other functions"])
