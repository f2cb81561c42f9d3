"""Lines of a recording dropped, doubled or exchanged, and whether a comparison notices."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from kraftcheck.evidence.recorder.parts import finished
from kraftcheck.evidence.recordings.exceptions import NUMBER_LEFT_OUT
from kraftcheck.evidence.recordings.lines import STEPS
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.recording import recording_of
from kraftcheck.support.errors import InputError

Json = dict[str, Any]


def has_effects(line: Json) -> bool:
    """Whether a line is a step that did more than change the state."""
    return line["ev"] in STEPS and any(name in line for name in ("log", "persist", "out", "cb"))


def any_disorder(lines: Sequence[Json], draw: random.Random) -> tuple[str, list[Json]]:
    """A step left out, a step twice, or two steps of a node exchanged, and what that was; the lines are
    numbered anew and the totals counted again.

    Only steps with effects: others may say nothing that another line does not say as well. Each kind of step
    has the same chance.
    """
    kinds: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for line in lines:
        if has_effects(line):
            kinds[tuple(str(line.get(name)) for name in ("ev", "api", "kind", "call"))].append(line["seq"])
    seq = draw.choice(draw.choice(list(kinds.values())))
    how, changed = draw.choice(["without", "twice", "exchanged"]), list(lines)
    if how == "without":
        del changed[seq]
    elif how == "twice":
        changed.insert(seq, changed[seq])
    else:
        node = lines[seq]["n"]
        other = next(
            (line["seq"] for line in lines[seq + 1 :] if line.get("n") == node and has_effects(line)), seq
        )
        changed[seq], changed[other] = _at(lines[other], lines[seq]), _at(lines[seq], lines[other])
    numbered = [{**line, "seq": number} for number, line in enumerate(changed[:-1])]
    what = {name: lines[seq].get(name) for name in ("seq", "n", "ev", "api", "call")}
    return f"{how}: {what}", [*numbered, {**changed[-1], "seq": len(numbered)}]


def _at(line: Json, other: Json) -> Json:
    """``line`` at the time of ``other``, by the clock of the node too."""
    return line | {name: other[name] for name in ("t", "lt") if name in line and name in other}


def is_noticed(lines: list[Json]) -> bool:
    """Whether a comparison reports something, or counts a message that no line shows."""
    try:
        report = compare(recording_of(finished(lines[:-1], lines[-1]["t"])))
    except InputError:
        return True
    return bool(report.differences) or bool(report.exceptions[NUMBER_LEFT_OUT])
