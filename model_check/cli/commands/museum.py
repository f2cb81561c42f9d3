"""``kraftcheck museum``: former defects of production, brought back one at a time and refuted."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from kraftcheck import spec
from kraftcheck.checking.mutation import campaign, museum, museum_page
from kraftcheck.checking.mutation.campaign import Result, Status, exit_status
from kraftcheck.checking.mutation.museum import Defect
from kraftcheck.support.arguments import cores, positive, thread_count
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_EXPECTED
from kraftcheck.support.files import require_file_can_be_written, write_atomically
from kraftcheck.support.terminal import Console, console, entry, heading, say


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = (
        "Without a defect: the list. With some, each is brought back and refuted; exit status: 0 all are, "
        "1 one is not, 3 undetermined."
    )
    parser.add_argument("defects", nargs="*", metavar="DEFECT", help="KAFKA-10527, or 10527")
    parser.add_argument("--json", action="store_true", help="print machine-readable output")
    parser.add_argument("--markdown", action="store_true", help="refute all of them and print the page")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="for --markdown; default: standard output"
    )
    parser.add_argument(
        "--jobs", type=thread_count, default=cores(), metavar="N", help="processes (default: cores)"
    )
    parser.add_argument(
        "--timeout", type=positive, default=120, metavar="S", help="for one exploration (default: 120)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the command. Raises InputError for an unknown defect."""
    chosen = museum.choose(arguments.defects)
    if arguments.markdown:
        if arguments.json:
            raise InputError("--markdown and --json exclude each other; give one of them.")
        require_file_can_be_written(arguments.output, "-o")
        return _write_page(arguments, chosen)
    if arguments.output is not None:
        raise InputError("-o is for --markdown; leave it out.")
    if not arguments.defects:
        _list(chosen, as_json=arguments.json)
        return EXIT_EXPECTED
    results = _refute(arguments, chosen)
    for defect in chosen:
        if arguments.json:
            print(json.dumps(described(defect, results[defect.id])))
        else:
            _show(console(), defect, results[defect.id])
    return exit_status(each for found in results.values() for each in found)


def _refute(arguments: argparse.Namespace, chosen: Sequence[Defect]) -> dict[str, list[Result]]:
    """The results of each defect's mutants, with a line on a terminal that says how far this has come."""
    mutants = [mutant for defect in chosen for mutant in defect.mutants()]
    found: dict[str, list[Result]] = {defect.id: [] for defect in chosen}
    results = campaign.run(mutants, jobs=arguments.jobs, timeout=arguments.timeout, brief=True)
    screen = Console(stderr=True, quiet=not sys.stderr.isatty())
    with screen.status(f"0 of {len(mutants)} mutants") as status:
        for done, result in enumerate(results, 1):
            assert result.mutant.defect is not None
            found[result.mutant.defect].append(result)
            status.update(f"{done} of {len(mutants)} mutants")
    return found


def _write_page(arguments: argparse.Namespace, chosen: Sequence[Defect]) -> int:
    results = _refute(arguments, chosen)
    status = exit_status(each for found in results.values() for each in found)
    if status != EXIT_EXPECTED:
        for result in (each for found in results.values() for each in found):
            if result.status is not Status.REFUTED:
                print(
                    f"kraftcheck: {result.mutant.id} is {result.status.value}: {result.reason}",
                    file=sys.stderr,
                )
        return status
    page = museum_page.as_markdown(chosen, results)
    if arguments.output is None:
        print(page, end="")
    else:
        write_atomically(arguments.output, page)
    return status


def described(defect: Defect, results: Sequence[Result] | None = None) -> dict[str, Any]:
    """A defect as JSON data, with what became of its mutants if they were run."""
    data = defect.model_dump(mode="json", exclude={"shows"})
    data["mutants"] = [mutant.id for mutant in defect.mutants()]
    if results is not None:
        best = defect.best(results)
        data["results"] = [result.as_data() for result in results]
        data["trace"] = None if best is None else list(best[1].trace)
        data["violates"] = None if best is None else best[1].property
    return data


def _list(defects: Sequence[Defect], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([described(defect) for defect in defects], indent=2))
        return
    out = console()
    for defect in defects:
        out.print(Text(defect.id, "bold").append(f"  {defect.kind}", "not bold dim"))
        say(out, defect.title, indent=4)
        names = ", ".join(mutant.id for mutant in defect.mutants()) or "not in the reference"
        say(out, names, "dim", indent=4)
    heading(out, f"{len(defects)} defects; 'kraftcheck museum KAFKA-…' shows one")


def _show(out: Console, defect: Defect, results: Sequence[Result]) -> None:
    heading(out, f"{', '.join((defect.id, *defect.also))}: {defect.title}")
    say(out, " ".join(defect.story.split()), indent=2)
    entry(out, "missing", " ".join(defect.missing.split()))
    if defect.outside is not None:
        entry(out, "no mutant", " ".join(defect.outside.split()))
        return
    rules = dict.fromkeys(rule for mutant in defect.mutants() for rule in mutant.rules)
    entry(out, "rules", ", ".join(f"{each} {spec.load().rules[each].title}" for each in rules))
    for result in results:
        entry(out, "mutant", f"{result.mutant.id}, in {result.mutant.scenario}: {result.status.value}")
        if result.status is not Status.REFUTED:
            entry(out, "", result.reason)
    out.print()
    for line in museum_page.edits(defect):
        out.print(Text(f"    {line}", {"-": "red", "+": "green"}.get(line[:1], "dim")))
    best = defect.best(results)
    if best is not None:
        heading(out, f"{best[1].property} is violated after {best[1].steps} steps ({best[0].mutant.id})")
        for line in best[1].trace:
            indent = len(line) - len(line.lstrip())
            say(out, line.strip(), indent=indent, hang=2)
