"""``kraftcheck mutate``: remove one guard of the reference at a time and see whether the checker notices."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from rich.text import Text

from kraftcheck.checking import ledger
from kraftcheck.checking.mutation import campaign, catalogue
from kraftcheck.checking.mutation.campaign import Result, Run, Status, exit_status
from kraftcheck.checking.mutation.catalogue import Mutant, choose
from kraftcheck.impact import own_edit
from kraftcheck.support.arguments import add_jobs, flag
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_EXPECTED
from kraftcheck.support.files import require_folder_can_be_written
from kraftcheck.support.outputs import print_output
from kraftcheck.support.streams import counted
from kraftcheck.support.terminal import Console, console, entry, fitted, heading, say, width

_STYLES = {
    Status.KILLED: "green",
    Status.EQUIVALENT: "dim",
    Status.SURVIVED: "bold red",
    Status.FAILED: "bold red",
    Status.UNDETERMINED: "yellow",
    Status.SKIPPED: "yellow",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = (
        "Exit status: 0 every mutant is killed as expected or explained as equivalent, 1 one is not, "
        "3 undetermined. With --patch: 0 the edit is killed, 1 it survived."
    )
    parser.add_argument(
        "mutants",
        nargs="*",
        metavar="ID|RULE|BUG",
        help="mutants, rules, or historical bugs of Apache Kafka ('bugs': all of those); "
        "default, and 'all': all mutants",
    )
    parser.add_argument(
        "--patch",
        metavar="FILE",
        help="judge an edit of your own instead: a unified diff of the reference ('-': standard input)",
    )
    flag(parser, "--list", says="list the mutants and stop")
    add_jobs(parser)
    flag(parser, "--json", says="one JSON object a mutant on standard output")
    flag(parser, "-v", "--trace", says="print the edits and the shortest counterexamples")
    parser.add_argument(
        "--html", type=Path, metavar="DIR", help="write a page for each shortest counterexample there"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command. Raises InputError for an unknown mutant or a patch that does not apply."""
    if arguments.patch is not None:
        if arguments.mutants or arguments.list or arguments.trace or arguments.html:
            raise InputError("--patch judges one edit; leave mutants, --list, --trace and --html out.")
        return own_edit.judge(
            arguments.patch, threads=arguments.jobs, timeout=arguments.timeout, as_json=arguments.json
        )
    # As in a campaign; without names it is all of them too.
    words = [] if "all" in arguments.mutants else arguments.mutants
    chosen = choose(words, catalogue.shipped())
    if arguments.list:
        _list(chosen, as_json=arguments.json)
        return EXIT_EXPECTED
    require_folder_can_be_written(arguments.html, "--html")
    results = []
    out = console()
    columns = width(out) if arguments.trace and not arguments.json else None
    found = campaign.run(
        chosen,
        jobs=arguments.jobs,
        timeout=arguments.timeout,
        width=columns,
        pages=arguments.html,
        ledger=ledger.of_this_user(),
    )
    for result in counted(found, len(chosen), "mutants"):
        results.append(result)
        if arguments.json:
            print_output("mutant", result.as_data())
        else:
            _print_result(out, result, details=arguments.trace)
    if not arguments.json:
        heading(out, summary(results))
        if any(result.status is Status.SKIPPED for result in results):
            say(out, "A skipped mutant no longer applies to the reference: adapt its edit in the catalogue.")
    return exit_status(results)


def summary(results: list[Result]) -> str:
    """How many mutants had which status, in words."""
    counts = Counter(result.status for result in results)
    parts = ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status])
    return f"{len(results)} mutants: {parts}" if len(results) != 1 else f"1 mutant: {parts}"


def _list(mutants: list[Mutant], *, as_json: bool) -> None:
    if as_json:
        data = [mutant.model_dump(mode="json") for mutant in mutants]
        print_output("mutants", {"mutants": data}, indent=2)
        return
    out = console()
    for mutant in mutants:
        out.print(Text(mutant.id, "bold").append(f"  {', '.join(mutant.rules)}", "not bold dim"))
        say(out, mutant.about.strip(), indent=4)
        if mutant.equivalent is not None:
            say(out, f"equivalent: {' '.join(mutant.equivalent.split())}", "dim", indent=4)
        else:
            say(out, f"violates {', '.join(mutant.expect)} in {mutant.scenario}", "dim", indent=4)


def _rules(mutant: Mutant) -> str:
    more = len(mutant.rules) - 1
    return mutant.rules[0] + (f" +{more}" if more else "")


def _print_result(out: Console, result: Result, *, details: bool) -> None:
    mutant = result.mutant
    fitted(out, f"{mutant.id}  {_rules(mutant)}", result.status.value, _STYLES[result.status])
    for run_ in result.runs:
        say(out, _measured(run_), indent=4, hang=2)
    if result.status not in (Status.KILLED, Status.EQUIVALENT) or (details and result.reason):
        say(out, " ".join(result.reason.split()), indent=4)
    if details:
        _print_details(out, result)


def _measured(run_: Run) -> str:
    steps = "" if run_.steps is None else f" in {run_.steps} step{'s' if run_.steps != 1 else ''}"
    found = f"violates {run_.property}{steps}" if run_.property else "violates nothing"
    return f"{found}; {run_.states:,} states, {run_.seconds:.1f} s"


def _print_details(out: Console, result: Result) -> None:
    say(out, result.mutant.about.strip(), indent=4)
    for edit in result.mutant.edit:
        entry(out, "edit", edit.module + (f", {edit.function}" if edit.function else ""))
        for sign, text, style in (("-", edit.find, "red"), ("+", edit.replace, "green")):
            for line in text.strip("\n").splitlines():
                out.print(Text(f"    {sign} {line}", style))
    for run_ in result.runs:
        out.print()
        for line in run_.trace:
            out.print(Text(line))
    out.print()
