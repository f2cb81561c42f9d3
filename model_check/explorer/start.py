"""Where the explorer begins: a scenario, a trace file, or replicas in the short form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path as File

from kraftcheck.explorer.ground import Ground, Path
from kraftcheck.explorer.short_forms import is_short_form, scenario_of
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_standard_input, read_text
from kraftcheck.systems import scenario
from kraftcheck.systems.other_protocol import under
from kraftcheck.traces import TraceError, json_form
from kraftcheck.traces.build import walk_again

#: The scenario that is explored where none is named.
DEFAULT = "three-voters-crash"


@dataclass(frozen=True, slots=True)
class Start:
    """The ground to explore, and the path at whose end the page opens."""

    ground: Ground
    path: Path


def start_of(words: Sequence[str], path: Path = (), preset: str | None = None) -> Start:
    """The start that ``words`` name: a scenario or its file, a trace file ("-": standard input), or replicas
    in the short form, one a word. ``preset``: another preset of the protocol, of a scenario.

    Raises InputError for anything else, and where the reference does not take the path or the trace.
    """
    words = words or [DEFAULT]
    if any(map(is_short_form, words)):
        chosen = scenario_of(words)
    elif len(words) > 1:
        raise InputError(
            "explore takes one scenario or trace, or replicas in the short form, one an argument; leave out "
            f"'{words[1][:80]}'."
        )
    elif (text := _text_of_trace(words[0])) is not None:
        if path or preset is not None:
            raise InputError("a trace file has its own path and protocol; leave out --path and --protocol.")
        return _of_trace(text, words[0])
    else:
        chosen = scenario.find(words[0])
    ground = Ground(under(chosen, preset))
    ground.walk(path)
    return Start(ground, path)


def _text_of_trace(word: str) -> str | None:
    """The text of the trace file that ``word`` names; ``None`` where it names something else."""
    if word == "-":
        return read_standard_input("a trace file")
    if word in scenario.shipped_files() or word.endswith(".toml") or not File(word).exists():
        return None
    text = read_text(File(word), "a scenario or a trace file")
    return text if text.lstrip().startswith("{") else None


def _of_trace(text: str, word: str) -> Start:
    where = "standard input" if word == "-" else word
    trace = json_form.loads(text, where)
    ground = Ground(trace.scenario, trace.initial)
    try:
        walked = walk_again(ground.system, trace)
    except TraceError as error:
        raise InputError(f"{where}: the present reference does not take this behaviour ({error}).") from None
    return Start(ground, tuple(taken.option for taken in walked.taken))
