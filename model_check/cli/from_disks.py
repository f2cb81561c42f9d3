"""``kraftcheck check --from DIR...``: what controllers can do that start on these disks."""

from __future__ import annotations

import argparse
from pathlib import Path

from kraftcheck.support.errors import InputError

OPTION = "--from"
#: Without other limits each question is explored so far.
_MAX_STATES, _MAX_SECONDS = 3_000_000, 10
#: The arguments of the command that have no meaning with disks.
_OF_SCENARIOS = (
    "scenarios", "list", "all", "tag", "watch", "checkpoint", "coverage", "coverage_html", "causes",
    "smallest_bounds", "traces", "junit", "github", "symmetry", "keep_going",
)  # fmt: skip


def add(parser: argparse.ArgumentParser) -> None:
    """Add the option and the one for what it writes."""
    parser.add_argument(
        OPTION,
        dest="disks",
        nargs="+",
        type=Path,
        metavar="DIR",
        help="start controllers on the disks in these directories (as of inspect), all, all but one, or one "
        "of them on an empty disk: can a leader be elected, and does what is committed survive?",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help=f"with {OPTION}: write there the scenario of each question, to go on with",
    )


def is_asked(arguments: argparse.Namespace) -> bool:
    """Whether disks are given. Raises InputError for an option that only goes with them."""
    if arguments.disks is None and arguments.output is not None:
        raise InputError(f"--output: goes with {OPTION}; add the directories of controllers.")
    return arguments.disks is not None


def run(arguments: argparse.Namespace) -> int:
    """Explore from the disks, and print the answers. Exit status: 1 where a property can be violated, or no
    leader elected with all nodes; 3 where a limit left a question open. Raises InputError.
    """
    from kraftcheck.checking.answers import kept_answers
    from kraftcheck.engine.system import Limits
    from kraftcheck.evidence.disks.disk import find_disks, read_disk
    from kraftcheck.evidence.disks.observations import observations
    from kraftcheck.evidence.disks.quorum import Quorum
    from kraftcheck.evidence.restart import questions, report
    from kraftcheck.support.files import require_folder_can_be_written, write_atomically
    from kraftcheck.support.outputs import print_output
    from kraftcheck.support.streams import status
    from kraftcheck.support.terminal import console
    from kraftcheck.support.toml_form import toml_text
    from kraftcheck.systems.other_protocol import replica_preset

    other = [name for name in _OF_SCENARIOS if getattr(arguments, name) not in (None, False, [])]
    if other:
        what = "names of scenarios" if other[0] == "scenarios" else f"--{other[0].replace('_', '-')}"
        raise InputError(f"{OPTION}: disks take the place of scenarios; leave {what} out.")
    require_folder_can_be_written(arguments.output, "--output")
    limits = Limits(
        max_states=arguments.max_states or _MAX_STATES,
        max_memory=arguments.max_memory,
        max_seconds=arguments.max_seconds or _MAX_SECONDS,
    )
    quorum = Quorum(tuple(map(read_disk, find_disks(arguments.disks))))
    beginning = questions.beginning_of(quorum, replica_preset(arguments.protocol))
    asked, out, answers = list(questions.questions(beginning)), console(), []
    if not arguments.json:
        report.print_beginning(out, beginning, observations(quorum))
    for question in asked:
        with status(quiet=arguments.json) as tell, kept_answers():
            answer = questions.answer(question, beginning, limits, arguments.threads, tell)
        answers.append(answer)
        saved = "" if arguments.output is None else f"{arguments.output / question.scenario.name}.toml"
        if saved:
            text = toml_text(questions.with_verdict(answer).model_dump(by_alias=True, exclude_defaults=True))
            write_atomically(Path(saved), text, create_folder=True)
        if not arguments.json:
            report.print_answer(out, answer, saved)
    if arguments.json:
        print_output("check-from", report.as_json(beginning, answers), indent=2)
    else:
        report.print_end(out, asked[0].scenario, answers)
    return report.exit_status(answers)
