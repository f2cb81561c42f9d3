"""``kraftcheck plan``: the shortest safe order of operations that leads a quorum to other voters."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from kraftcheck.support.arguments import KEEPS_ANSWERS, add_json, thread_count
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.files import require_folder_can_be_written, write_atomically
from kraftcheck.support.outputs import print_output
from kraftcheck.support.streams import status
from kraftcheck.support.terminal import console

if TYPE_CHECKING:
    from kraftcheck.evidence.planning.search import Plan
    from kraftcheck.evidence.planning.situation import Situation
    from kraftcheck.systems.scenario import Scenario

_FAULTS = {"none": (), "crash": ("crash",), "crash,power-loss": ("crash", "power-loss")}


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.add_argument(
        "situation",
        nargs="?",
        help="the quorum now: 'voters=1,2,3 observers=4 leader=1 down=3 lost=3' (lost: the disk, too)",
    )
    parser.add_argument(
        "--goal", required=True, metavar="VOTERS", help="the voters in the end: 'voters=1,2,4'"
    )
    parser.add_argument(
        "--from",
        dest="disks",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="take the quorum from the disks of its nodes, which are taken to run",
    )
    parser.add_argument(
        "--status",
        type=Path,
        metavar="FILE",
        help="take it from the output of kafka-metadata-quorum.sh describe, --status and --replication",
    )
    parser.add_argument("--down", default="", metavar="IDS", help="with --from or --status: these do not run")
    parser.add_argument("--lost", default="", metavar="IDS", help="with them: the disks of these are lost")
    parser.add_argument(
        "--faults",
        choices=_FAULTS,
        default="crash",
        metavar="FAULTS",
        help="what happens while a step is carried out, together with late and lost messages: none, crash, "
        "or crash,power-loss (default: crash)",
    )
    parser.add_argument("--protocol", metavar="PRESET", help="for example kafka-4.0 (default: kafka, 4.3.1)")
    parser.add_argument(
        "--threads", type=thread_count, default=os.cpu_count() or 1, metavar="N", help="default: all cores"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="write there the scenarios that refuse an operation or show its risk; 'kraftcheck check FILE "
        "--traces DIR' shows the counterexample",
    )
    add_json(parser)
    parser.epilog = (
        "Exit status: 0 a plan was found, 1 there is none, 2 bad input, 3 a limit was reached: a step of the "
        f"plan was not explored whole, or there may be a plan. {KEEPS_ANSWERS}"
    )


def run(arguments: argparse.Namespace) -> int:
    """Look for a plan and print it; 1: there is none. Raises InputError."""
    from kraftcheck.checking.answers import kept_answers
    from kraftcheck.evidence.planning import report
    from kraftcheck.evidence.planning.judging import Judge
    from kraftcheck.evidence.planning.search import plan
    from kraftcheck.evidence.planning.situation import parse_goal
    from kraftcheck.systems.other_protocol import replica_preset

    goal, faults = parse_goal(arguments.goal), _FAULTS[arguments.faults]
    start, preset = _situation(arguments), replica_preset(arguments.protocol)
    require_folder_can_be_written(arguments.output, "--output")
    judge = Judge(preset, faults, arguments.threads)
    with status(quiet=arguments.json) as tell, kept_answers():
        found = plan(start, goal, judge, tell)
    saved = _save(found, arguments.output)
    if arguments.json:
        print_output("plan", report.as_json(found, preset, faults), indent=2)
    else:
        report.print_plan(console(), found, start, goal, preset, faults)
        for path in saved:
            print(f"{path}: written")
    if found.steps is None:
        return EXIT_UNDETERMINED if judge.limited else EXIT_DIFFERS
    return EXIT_EXPECTED if all(each.complete for each in found.steps) else EXIT_UNDETERMINED


def _save(found: Plan, folder: Path | None) -> list[Path]:
    """Write the scenarios that refuse operations, or show their risk; their files."""
    from kraftcheck.support.toml_form import toml_text

    if folder is None:
        return []
    scenarios: list[Scenario] = []
    risks = [risk.scenario for step in found.steps or () for risk in step.risks]
    for each in (*(refused.scenario for refused in found.refused), *risks):
        if each is not None and each not in scenarios:
            scenarios.append(each)
    files = []
    for number, scenario in enumerate(scenarios, 1):
        # One operation may be refused in several situations.
        kind = "risk" if scenario in risks else "refused"
        named = scenario.model_copy(update={"name": f"{kind}-{number}-{scenario.name}"})
        files.append(folder / f"{named.name}.toml")
        text = toml_text(named.model_dump(by_alias=True, exclude_defaults=True))
        write_atomically(files[-1], text, create_folder=True)
    return files


def _situation(arguments: argparse.Namespace) -> Situation:
    """The situation, of exactly one of its sources."""
    from kraftcheck.evidence.disks.disk import find_disks, read_disk
    from kraftcheck.evidence.disks.quorum import Quorum
    from kraftcheck.evidence.disks.reported import read_described
    from kraftcheck.evidence.planning.observed import of_description, of_disks
    from kraftcheck.evidence.planning.situation import parse_ids, parse_situation

    sources = [arguments.situation, arguments.disks, arguments.status]
    if sum(each is not None for each in sources) != 1:
        raise InputError("give the situation in words, or --from, or --status; one of them.")
    if arguments.situation is not None:
        if arguments.down or arguments.lost:
            raise InputError("--down, --lost: say it in the situation: 'voters=1,2,3 down=3'.")
        return parse_situation(arguments.situation)
    down = parse_ids(arguments.down, "--down") if arguments.down else frozenset()
    lost = parse_ids(arguments.lost, "--lost") if arguments.lost else frozenset()
    if arguments.status is not None:
        return of_description(read_described(arguments.status), down, lost)
    return of_disks(Quorum(tuple(map(read_disk, find_disks(arguments.disks)))), down, lost)
