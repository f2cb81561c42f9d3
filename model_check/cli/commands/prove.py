"""``kraftcheck prove``: prove the safety core for any number of replicas, epochs and records."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from rich.text import Text

from kraftcheck.proof import report
from kraftcheck.proof import run as proofs
from kraftcheck.proof.logic import System
from kraftcheck.proof.mutants import Mutant, refute
from kraftcheck.proof.refinement import command
from kraftcheck.proof.solve import MINIMISING, Induction, Result, Verdict
from kraftcheck.proof.system import SYSTEMS
from kraftcheck.support.arguments import positive
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.outputs import versioned
from kraftcheck.support.streams import progress
from kraftcheck.support.terminal import Console, console, fitted, heading, say

_STYLES = {
    Verdict.PROVED: "green",
    Verdict.FAILED: "bold red",
    Verdict.UNDETERMINED: "yellow",
}

Work = TypeVar("Work")

EPILOG = """\
A name is that of a system, an action or a conjunct, or several of these
joined by colons; 'arithmetic' can stand in the place of a system.
Default: everything.

  kraftcheck prove
  kraftcheck prove grant-vote LogMatching
  kraftcheck prove changing-voters:become-leader:SingleLeaderPerEpoch
  kraftcheck prove --mutants grant-vote
  kraftcheck prove --refinement parity-crash grow-and-restart
  kraftcheck prove --refinement --mutants

Exit status: 0 all is proved (--mutants: every mutant is killed; --refinement: only
the steps and states that docs/proofs.md lists are outside the proof), 1 something is
not, 2 bad input, 3 undetermined.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="what to prove (--mutants: systems, actions)"
    )
    parser.add_argument("--list", action="store_true", help="list systems, actions and conjuncts, and stop")
    parser.add_argument(
        "--mutants", action="store_true", help="leave out one guard or update at a time; something must fail"
    )
    parser.add_argument(
        "--refinement",
        action="store_true",
        help="check every transition that the checker explores of scenarios (NAME) against the proved "
        "system; with --mutants, mutants of the reference",
    )
    parser.add_argument(
        "--timeout", type=positive, default=60, metavar="S", help="for one line of the report (default: 60)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")


def run(arguments: argparse.Namespace) -> int:
    """Run the command. Raises InputError for a name that means nothing."""
    if arguments.refinement:
        judge = command.run_mutants if arguments.mutants else command.run
        return judge(arguments.names, only_list=arguments.list, as_json=arguments.json)
    return _run_mutants(arguments) if arguments.mutants else _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    selection = proofs.select(SYSTEMS, arguments.names)
    if arguments.list:
        for work in selection.works:
            print(f"{work.place}:{work.name}")
        return EXIT_EXPECTED
    out, results = console(), []
    place = None
    for work in _in_turn(selection.works, lambda work: work.name, quiet=arguments.json):
        result = proofs.carry_out(work, arguments.timeout)
        results.append(result)
        if arguments.json:
            print(json.dumps(versioned("proof", {"system": work.place} | as_data(result))), flush=True)
            continue
        place = _print_place(out, work.place, place)
        _print(out, work.system, result)
    if not arguments.json:
        _print_total(out, results, selection.unchanged)
    return _status(result.verdict for result in results)


def _in_turn(works: Sequence[Work], name: Callable[[Work], str], *, quiet: bool) -> Iterator[Work]:
    """``works``, one after the other; standard error shows which is being done."""
    with progress(quiet=quiet) as tell:
        for done, work in enumerate(works):
            tell(f"{done} of {len(works)}: {name(work)}")
            yield work


def _print_place(out: Console, place: str, before: str | None) -> str:
    """Name the place where it is another than ``before``."""
    if place != before:
        say(out, place, "bold")
    return place


def _print_total(out: Console, results: Sequence[Result], unchanged: int) -> None:
    seconds = sum(result.seconds for result in results)
    proved = sum(result.verdict is Verdict.PROVED for result in results)
    text = f"{proved} of {len(results)} proved in {seconds:.1f} s"
    if unchanged:
        text += f"; {unchanged} more need no proof: the action changes nothing that the conjunct is about"
    say(out, text)


def _status(verdicts: Iterable[Verdict]) -> int:
    found = set(verdicts)
    if Verdict.FAILED in found:
        return EXIT_DIFFERS
    return EXIT_UNDETERMINED if Verdict.UNDETERMINED in found else EXIT_EXPECTED


def as_data(result: Result) -> dict[str, Any]:
    """A result as JSON data."""
    data: dict[str, Any] = {
        "action": result.action,
        "conjunct": result.conjunct,
        "verdict": result.verdict.value,
        "seconds": round(result.seconds, 3),
    }
    if result.found is not None:
        data["before"] = report.lines_of(result.found.before)
        data["parameters"] = {
            name: report.element(sort, number, result.found.before)
            for name, sort, number in result.found.before.parameters
        }
        data["after"] = None if result.found.after is None else report.lines_of(result.found.after)
    return data


def _print(out: Console, system: System | None, result: Result) -> None:
    line = f"  {result.action:20} {result.conjunct:31} {result.seconds:5.2f} s"
    fitted(out, line, result.verdict.value, _STYLES[result.verdict])
    if result.found is not None:
        assert system is not None
        _print_induction(out, system, result, result.found)


def _print_induction(out: Console, system: System, result: Result, found: Induction) -> None:
    say(out, f"does not follow: {result.says}", "bold", indent=4)
    say(out, "before", "dim", indent=4)
    for line in report.lines_of(found.before):
        say(out, line, indent=6, hang=2)
    if found.after is None:
        return
    action = next(each for each in system.actions if each.name == result.action)
    say(out, "then", "dim", indent=4)
    say(out, report.described(action, found.before), indent=6, hang=2)
    gone, new = report.differences(found)
    for label, lines in (("no longer", gone), ("after", new)):
        if lines:
            say(out, label, "dim", indent=4)
        for line in lines:
            say(out, line, indent=6, hang=2)


def _run_mutants(arguments: argparse.Namespace) -> int:
    """Run mutants: each must make a conjunct fail, which kills it."""
    chosen = proofs.select_mutants(SYSTEMS, arguments.names)
    if arguments.list:
        for system, mutant in chosen:
            print(f"{system.name}: {mutant.name}")
        return EXIT_EXPECTED
    out, statuses = console(), []
    place = None
    for system, mutant in _in_turn(chosen, lambda each: each[1].name, quiet=arguments.json):
        shown = arguments.json or bool(arguments.names)
        result = refute(system, mutant, arguments.timeout, MINIMISING if shown else 0.0)
        statuses.append(_mutant_status(result))
        if arguments.json:
            data = {"system": system.name} | _mutant_data(mutant, result)
            print(json.dumps(versioned("proof-mutant", data)), flush=True)
            continue
        place = _print_place(out, system.name, place)
        _print_mutant(out, system, mutant, result, verbose=bool(arguments.names))
    if not arguments.json:
        heading(out, f"{statuses.count(EXIT_EXPECTED)} of {len(chosen)} mutants killed")
    return max(statuses, key=(EXIT_EXPECTED, EXIT_UNDETERMINED, EXIT_DIFFERS).index, default=EXIT_EXPECTED)


def _mutant_status(result: Result | None) -> int:
    if result is None:
        return EXIT_DIFFERS
    return EXIT_EXPECTED if result.verdict is Verdict.FAILED else EXIT_UNDETERMINED


def _mutant_data(mutant: Mutant, result: Result | None) -> dict[str, Any]:
    found = None if result is None else as_data(result)
    return {"mutant": mutant.name, "rules": list(mutant.rules), "result": found}


def _print_mutant(
    out: Console, system: System, mutant: Mutant, result: Result | None, *, verbose: bool
) -> None:
    rules = f" ({' '.join(mutant.rules)})" if mutant.rules else ""
    out.print(Text(f"{mutant.name}{rules}"))
    if result is None:
        say(out, "survived: everything is proved without it", "bold red", indent=4)
        return
    killed = result.verdict is Verdict.FAILED
    word = "killed" if killed else "undetermined"
    say(out, f"{word}: {result.conjunct}, {result.seconds:.1f} s", "green" if killed else "yellow", indent=4)
    if verbose and result.found is not None:
        _print_induction(out, system, result, result.found)
