"""A hunt as a command: run it, say how it ended, and report what was seen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from kraftcheck.hunt.run import Hunt
from kraftcheck.hunt.store import Seen, State
from kraftcheck.support import streams
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.outputs import print_output
from kraftcheck.support.terminal import Console, console, say

#: Says how far something is, as long as it is open.
Progress = AbstractContextManager[Callable[[str], None]]


def run(hunt: Hunt, seconds: float, progress: Progress, *, as_json: bool) -> int:
    """Hunt for so many seconds, and report. Exit status: 1 something new, 0 nothing, 3 interrupted or out of
    memory before.
    """
    complete, interrupted = False, False
    with progress as hunt.tell:
        try:
            complete = hunt.run(seconds)
        except KeyboardInterrupt:
            interrupted = True
    if interrupted:
        streams.say("kraftcheck: interrupted. The same command goes on.")
    elif not complete:
        streams.say("kraftcheck: stopped by --max-memory. The same command with more goes on.")
    if as_json:
        print_output("hunt", as_data(hunt.state, complete=complete))
    else:
        _report(console(), hunt.state, hunt.folder)
    if hunt.state.new:
        return EXIT_DIFFERS
    return EXIT_EXPECTED if complete else EXIT_UNDETERMINED


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
