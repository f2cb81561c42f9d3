"""``kraftcheck bugs``: historical bugs of Apache Kafka, each as a mutant that the checker kills."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from kraftcheck import spec
from kraftcheck.checking.mutation import campaign, historical_bugs
from kraftcheck.checking.mutation.campaign import Result, Status, exit_status
from kraftcheck.checking.mutation.historical_bugs import Bug
from kraftcheck.support import streams
from kraftcheck.support.arguments import add_jobs, add_json, add_output, flag
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_EXPECTED
from kraftcheck.support.files import require_file_can_be_written, write_output
from kraftcheck.support.outputs import print_output
from kraftcheck.support.streams import counted
from kraftcheck.support.terminal import Console, console, entry, heading, say


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = (
        "Without a bug: the list. With some, their mutants run; exit status: 0 all are killed, "
        "1 one is not, 3 undetermined."
    )
    parser.add_argument("bugs", nargs="*", metavar="BUG", help="KAFKA-10527, or 10527")
    add_json(parser)
    flag(parser, "--markdown", says="run all mutants and print the page")
    add_output(parser, "for --markdown; ")
    add_jobs(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the command. Raises InputError for an unknown bug."""
    chosen = historical_bugs.choose(arguments.bugs)
    if arguments.markdown:
        if arguments.json:
            raise InputError("--markdown and --json exclude each other; give one of them.")
        require_file_can_be_written(arguments.output, "-o")
        return _write_page(arguments, chosen)
    if arguments.output is not None:
        raise InputError("-o is for --markdown; leave it out.")
    if not arguments.bugs:
        _list(chosen, as_json=arguments.json)
        return EXIT_EXPECTED
    results = _run_mutants(arguments, chosen)
    for bug in chosen:
        if arguments.json:
            print_output("bug", described(bug, results[bug.id]))
        else:
            _show(console(), bug, results[bug.id])
    return exit_status(each for found in results.values() for each in found)


def _run_mutants(arguments: argparse.Namespace, chosen: Sequence[Bug]) -> dict[str, list[Result]]:
    """The results of each bug's mutants, with a line on a terminal that says how far this has come."""
    mutants = [mutant for bug in chosen for mutant in bug.mutants()]
    found: dict[str, list[Result]] = {bug.id: [] for bug in chosen}
    results = campaign.run(mutants, jobs=arguments.jobs, timeout=arguments.timeout, brief=True)
    for result in counted(results, len(mutants), "mutants"):
        assert result.mutant.bug is not None
        found[result.mutant.bug].append(result)
    return found


def _write_page(arguments: argparse.Namespace, chosen: Sequence[Bug]) -> int:
    results = _run_mutants(arguments, chosen)
    status = exit_status(each for found in results.values() for each in found)
    if status != EXIT_EXPECTED:
        for result in (each for found in results.values() for each in found):
            if result.status is not Status.KILLED:
                streams.say(f"kraftcheck: {result.mutant.id} is {result.status.value}: {result.reason}")
        return status
    page = historical_bugs.as_markdown(chosen, results)
    write_output(arguments.output, page)
    return status


def described(bug: Bug, results: Sequence[Result] | None = None) -> dict[str, Any]:
    """A bug as JSON data, with what became of its mutants if they were run."""
    data = bug.model_dump(mode="json", exclude={"shows"})
    data["mutants"] = [mutant.id for mutant in bug.mutants()]
    if results is not None:
        best = bug.best(results)
        data["results"] = [result.as_data() for result in results]
        data["trace"] = None if best is None else list(best[1].trace)
        data["violates"] = None if best is None else best[1].property
    return data


def _list(bugs: Sequence[Bug], *, as_json: bool) -> None:
    if as_json:
        print_output("bugs", {"bugs": [described(bug) for bug in bugs]}, indent=2)
        return
    out = console()
    for bug in bugs:
        out.print(Text(bug.id, "bold").append(f"  {bug.kind}", "not bold dim"))
        say(out, bug.title, indent=4)
        names = ", ".join(mutant.id for mutant in bug.mutants()) or "not in the reference"
        say(out, names, "dim", indent=4)
    heading(out, f"{len(bugs)} bugs; 'kraftcheck bugs KAFKA-…' shows one")


def _show(out: Console, bug: Bug, results: Sequence[Result]) -> None:
    heading(out, f"{', '.join((bug.id, *bug.also))}: {bug.title}")
    say(out, " ".join(bug.story.split()), indent=2)
    entry(out, "missing", " ".join(bug.missing.split()))
    if bug.outside is not None:
        entry(out, "no mutant", " ".join(bug.outside.split()))
        return
    rules = dict.fromkeys(rule for mutant in bug.mutants() for rule in mutant.rules)
    entry(out, "rules", ", ".join(f"{each} {spec.load().rules[each].title}" for each in rules))
    for result in results:
        entry(out, "mutant", f"{result.mutant.id}, in {result.mutant.scenario}: {result.status.value}")
        if result.status is not Status.KILLED:
            entry(out, "", result.reason)
    out.print()
    for line in historical_bugs.edits(bug):
        out.print(Text(f"    {line}", {"-": "red", "+": "green"}.get(line[:1], "dim")))
    best = bug.best(results)
    if best is not None:
        heading(out, f"{best[1].property} is violated after {best[1].steps} steps ({best[0].mutant.id})")
        for line in best[1].trace:
            indent = len(line) - len(line.lstrip())
            say(out, line.strip(), indent=indent, hang=2)
