"""``kraftcheck hunt``: widen scenarios step by step, and look for violations without a known cause."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from kraftcheck.hunt import report, store
from kraftcheck.hunt.run import Hunt, generic
from kraftcheck.support.arguments import add_json, byte_count, duration, positive, thread_count, whole_number
from kraftcheck.support.files import require_folder_can_be_written
from kraftcheck.support.streams import progress
from kraftcheck.systems.scenario import find

EPILOG = """\
A step widens one scenario: one more crash, epoch, request of the admin client,
timer, replica. It explores all states while they are few, and takes random
walks beyond. A violation that looks like a known finding is set aside, and
the next search goes past it. Any other is shortened and written to FOLDER, as
a scenario with its verdict and as a trace:

  kraftcheck hunt --for 30m -o hunted
  kraftcheck check hunted/hunt-no-fatal-1a2b3c.toml -v

The same command goes on where it ended, after Ctrl-C too. The same seed takes
the same steps, whatever the number of threads; time only says how many.

Exit status: 0 nothing new, 1 something new, 2 bad input, 3 interrupted or
stopped by --max-memory with nothing new so far.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument(
        "scenarios",
        nargs="*",
        metavar="NAME|FILE",
        help="scenarios to begin with (default: the shipped ones that hold and are about no single finding)",
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FOLDER", required=True, help="for what is new, and the progress"
    )
    parser.add_argument(
        "--for",
        dest="seconds",
        type=duration,
        default=3600.0,
        metavar="TIME",
        help="how long to hunt from now on: 90s, 30m, 1h (default)",
    )
    parser.add_argument(
        "--seed", type=whole_number, default=0, help="the same seed takes the same steps (default: 0)"
    )
    parser.add_argument("--steps", type=positive, metavar="N", help="end after N steps in all")
    parser.add_argument(
        "--threads", type=thread_count, default=os.cpu_count() or 1, metavar="N", help="default: all cores"
    )
    parser.add_argument(
        "--max-memory", type=byte_count, metavar="SIZE", help="stop when more memory is used, e.g. 8G"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Hunt. Exit status: 1 something new, 0 nothing, 3 interrupted or out of memory before."""
    require_folder_can_be_written(arguments.output, "-o")
    scenarios = [find(word) for word in arguments.scenarios] or generic()
    hunt = Hunt(
        scenarios,
        store.begin(arguments.output, scenarios, arguments.seed),
        arguments.output,
        threads=arguments.threads,
        max_memory=None if arguments.max_memory is None else arguments.max_memory // arguments.threads,
        max_steps=arguments.steps,
    )
    return report.run(hunt, arguments.seconds, progress(quiet=arguments.json), as_json=arguments.json)
