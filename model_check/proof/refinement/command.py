"""``kraftcheck prove --refinement``: the explored transitions of the reference, judged by the proof."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from kraftcheck.checking.mutation.server import Server
from kraftcheck.proof.refinement import violations
from kraftcheck.proof.refinement.expected import ALL, DIFFERENCES, EXPECTED
from kraftcheck.proof.refinement.run import Progress, Refinement, Work, check_refinement
from kraftcheck.proof.refinement.worker import refute
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED
from kraftcheck.support.outputs import versioned
from kraftcheck.support.streams import progress
from kraftcheck.support.terminal import Console, console, fitted, heading, say
from kraftcheck.systems.kraft.scenario import of_replicas
from kraftcheck.systems.scenario import find

#: The number of violations of a scenario that are printed in full.
_TOLD = 3


def run(names: Sequence[str], *, only_list: bool, as_json: bool) -> int:
    """Judge the scenarios ``names`` (none: all of ``ALL``) and print the results.

    Returns the exit status. Raises InputError for a scenario that cannot be judged.
    """
    names = names or ALL
    if only_list:
        print("\n".join(names))
        return EXIT_EXPECTED
    chosen = [of_replicas(find(name), "--refinement") for name in names]
    out, done = console(), []
    for scenario in chosen:
        with progress(quiet=as_json) as tell:
            work = check_refinement(scenario, progress=_named(tell, scenario.name))
        done.append(work.refinement)
        if as_json:
            print(json.dumps(versioned("refinement", as_data(work))), flush=True)
        else:
            _print(out, work)
    if not as_json:
        _print_total(out, done)
    return EXIT_EXPECTED if all(each.holds for each in done) else EXIT_DIFFERS


def _named(tell: Progress, name: str) -> Progress:
    return lambda text: tell(f"{name}: {text}")


def _print(out: Console, work: Work) -> None:
    found = work.refinement
    line = (
        f"{found.scenario:30} {found.transitions:>10,} transitions, {found.states:>9,} states, "
        f"{found.pairs:>5,} pairs; {found.seconds:.1f} s; {found.system}"
    )
    fitted(out, line, "refines" if found.holds else "DOES NOT REFINE", "green" if found.holds else "bold red")
    for name in sorted(found.outside):
        style = "bold red" if name in found.unexpected else "yellow"
        count, before = found.passed.outside.get(name, 0), found.beginning.outside.get(name, 0)
        more = f" and {before:,} before the initial state" if before else ""
        text = f"{name}: {count:,} transitions{more}; Kafka {DIFFERENCES[name].says}"
        if name in found.unexpected:
            text += "; in this scenario it should not"
        say(out, text, style, indent=4, hang=2)
    if found.behind:
        failing = [each.conjunct.name for each in found.broken if not each.states]
        text = f"behind those: {found.behind:,} states"
        text += f", in some of which these fail: {', '.join(failing)}" if failing else ""
        say(out, text, "dim", indent=4, hang=2)
    if not found.holds:
        _print_violations(out, work)


def _print_violations(out: Console, work: Work) -> None:
    found = work.refinement
    for text in found.beginning.lacks[:_TOLD]:
        say(out, f"on the path to the initial state: {text}", "bold red", indent=4, hang=2)
    if found.disturbed:
        text = f"in {found.disturbed:,} local states the step of another replica changes what the proof sees"
        say(out, text, "bold red", indent=4, hang=2)
    for passed, which in ((found.passed, "a shortest path"), (found.on_all_ways, "every path")):
        if passed.lacking:
            text = f"{passed.lacking:,} transitions are not the proof's, with {which} to each state"
            say(out, text, "bold red", indent=4, hang=2)
    lacks = found.passed.lacks or found.on_all_ways.lacks
    for lack in lacks[:_TOLD]:
        _print_parts(out, violations.lines_of_lack(work, lack))
    for broken in [each for each in found.broken if each.states][:_TOLD]:
        text = f"{broken.conjunct.name} fails in {broken.states:,} states"
        say(out, text, "bold red", indent=4, hang=2)
        _print_parts(out, violations.lines_of_broken(work, broken))


def _print_parts(out: Console, parts: Iterable[tuple[str, list[str]]]) -> None:
    for title, lines in parts:
        say(out, title, "dim", indent=4)
        for line in filter(None, lines):
            say(out, line, indent=6, hang=2)


def _print_total(out: Console, done: list[Refinement]) -> None:
    transitions, states = (sum(getattr(each, name) for each in done) for name in ("transitions", "states"))
    clean = sum(not each.outside for each in done)
    heading(
        out,
        f"{sum(each.holds for each in done)} of {len(done)} scenarios refine the proved system "
        f"({clean} without any step outside it): {transitions:,} distinct transitions, {states:,} states, "
        f"{sum(each.pairs for each in done):,} pairs in {sum(each.seconds for each in done):.0f} s",
    )


def as_data(work: Work) -> dict[str, Any]:
    """The result for a scenario as JSON data."""
    found = work.refinement
    told = [dict(violations.lines_of_lack(work, each)) for each in found.passed.lacks[:_TOLD]]
    return {
        "scenario": found.scenario,
        "system": found.system,
        "refines": found.holds,
        "transitions": found.transitions,
        "losses": found.losses,
        "acting": found.acting,
        "states": found.states,
        "pairs": found.pairs,
        "facts": found.facts,
        "structures": found.evaluated,
        "outside": found.passed.outside,
        "outside_before": found.beginning.outside,
        "unexpected": sorted(found.unexpected),
        "states_behind": found.behind,
        "lacking": found.passed.lacking,
        "lacking_on_some_way": found.on_all_ways.lacking,
        "disturbed": found.disturbed,
        "before": list(found.beginning.lacks),
        "violations": told,
        "broken": [
            {"conjunct": each.conjunct.name, "states": each.states, "states_behind": each.after_difference}
            for each in found.broken
        ],
        "seconds": round(found.seconds, 2),
    }


def run_mutants(names: Sequence[str], *, only_list: bool, as_json: bool) -> int:
    """Judge the mutants ``names`` (none: all of ``expected.toml``) and print whether each was killed;
    the exit status. Raises InputError for another name.
    """
    for name in names:
        if name not in EXPECTED.killed:
            raise InputError(
                f"the refinement check has no mutant '{name}'; it has {', '.join(sorted(EXPECTED.killed))}."
            )
    names = names or tuple(EXPECTED.killed)
    if only_list:
        print("\n".join(names))
        return EXIT_EXPECTED
    out, seen = console(), 0
    with Server() as server, progress(quiet=as_json) as tell:
        for name in names:
            tell(name)
            found = refute(server, name, EXPECTED.killed[name])
            seen += found["killed"]
            if as_json:
                data = {"mutant": name, "scenario": EXPECTED.killed[name], **found}
                print(json.dumps(versioned("refinement-mutant", data)), flush=True)
            else:
                _print_mutant(out, name, found)
    if not as_json:
        heading(out, f"{seen} of {len(names)} mutants killed")
    return EXIT_EXPECTED if seen == len(names) else EXIT_DIFFERS


def _print_mutant(out: Console, name: str, found: dict[str, Any]) -> None:
    word, style = ("killed", "green") if found["killed"] else ("survived", "bold red")
    fitted(out, f"{name:40} {EXPECTED.killed[name]:30}", word, style)
    for text in found["why"]:
        say(out, text, indent=4, hang=2)
