"""``kraftcheck hunt``: widen scenarios step by step, and look for violations without a known cause."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from kraftcheck.hunt import store
from kraftcheck.hunt.run import Hunt, generic
from kraftcheck.hunt.store import Seen, State
from kraftcheck.support import streams
from kraftcheck.support.arguments import add_json, byte_count, duration, positive, thread_count, whole_number
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.files import require_folder_can_be_written
from kraftcheck.support.outputs import print_output
from kraftcheck.support.streams import progress
from kraftcheck.support.terminal import Console, console, say
from kraftcheck.systems.scenario import Scenario, find

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
    _require_different_names(scenarios)
    state = store.begin(arguments.output, scenarios, arguments.seed)
    each = None if arguments.max_memory is None else arguments.max_memory // arguments.threads
    complete, interrupted = False, False
    with progress(quiet=arguments.json) as tell:
        hunt = Hunt(
            scenarios,
            state,
            arguments.output,
            threads=arguments.threads,
            max_memory=each,
            max_steps=arguments.steps,
            tell=tell,
        )
        try:
            complete = hunt.run(arguments.seconds)
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        streams.say("kraftcheck: interrupted. The same command goes on.")
    elif not complete:
        streams.say("kraftcheck: stopped by --max-memory. The same command with more goes on.")
    if arguments.json:
        print_output("hunt", as_data(state, complete=complete))
    else:
        _report(console(), state, arguments.output)
    if state.new:
        return EXIT_DIFFERS
    return EXIT_EXPECTED if complete else EXIT_UNDETERMINED


def _require_different_names(scenarios: list[Scenario]) -> None:
    names = [each.name for each in scenarios]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two scenarios are called '{twice}'; give each once.")


def as_data(state: State, *, complete: bool) -> dict[str, Any]:
    """The result for machines; without ``seconds`` it follows from the seed and the number of steps."""
    return {
        "complete": complete,
        "seed": state.seed,
        "scenarios": len(state.scenarios),
        "rounds": state.round,
        "steps": state.steps,
        "states": state.states,
        "walked_steps": state.walked,
        "seconds": round(state.seconds, 1),
        "known": [_seen_as_data(name, each) for name, each in state.causes.items()],
        "new": [_seen_as_data(name, each) for name, each in state.new.items()],
    }


def _seen_as_data(name: str, seen: Seen) -> dict[str, Any]:
    return {"name": name, **seen.model_dump(mode="json")}


def _report(out: Console, state: State, folder: Path) -> None:
    say(
        out,
        f"{len(state.scenarios):,} scenarios, {state.steps:,} steps in {state.seconds:,.0f} s: "
        f"{state.states:,} states explored, {state.walked:,} steps of random walks",
        hang=2,
    )
    say(out, f"known causes, set aside: {len(state.causes) or 'none'}")
    for name, seen in state.causes.items():
        say(out, f"{name}: {_where(seen)}", indent=2, hang=2)
    say(out, f"new: {len(state.new) or 'nothing'}")
    for seen in state.new.values():
        hint = "" if seen.confirmed else "; to explore it takes many states, so replay its trace"
        say(out, f"{folder / (seen.file or '')}: {_where(seen)}{hint}", indent=2, hang=2)


def _where(seen: Seen) -> str:
    widened = f", with {', '.join(seen.widened)}" if seen.widened else ""
    times = f"; {seen.times:,} times" if seen.times > 1 else ""
    return f"{seen.property} in {seen.steps} steps, {seen.scenario}{widened} (step {seen.at_step:,}){times}"
