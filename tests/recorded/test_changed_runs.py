"""A recorded run of production with one change in one line: the comparison reports it at that line."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from line_changes import any_change, is_reported
from recorded_runs import recorded_runs

from model_check.conform.simulated import finished

Lines = list[dict[str, Any]]

#: Runs in which everything is covered, of different kinds; enough lines of each for elections and records.
SAMPLE = {
    "run-05": 1300,
    "run-14": 2100,
    "run-16": 1500,
    "run-20": 1400,
    "run-25": 900,
    "run-27": 1250,
    "run-31": 1400,
    "run-36": 1700,
    "run-41": 1300,
}

RUNS = [(run, SAMPLE[run.name[:6]]) for run in recorded_runs() if run.name[:6] in SAMPLE]


def beginning(run: Path, length: int) -> Lines:
    """The first lines of a run, closed as the recorder closes one: what is under way is left over."""
    with gzip.open(run / "trace.jsonl.gz", "rt", encoding="utf-8") as stream:
        lines: Lines = [json.loads(line) for line in stream]
    kept, rest = lines[:length], lines[length:]
    sent = {one["mid"] for line in kept for one in line.get("out", ())}
    for line in kept:
        sent.discard(line.get("mid", line.get("during", {}).get("mid")))
    time = kept[-1]["t"]
    for line in rest:
        message = line if "data" in line else line.get("during", {})
        if message.get("mid") in sent:
            left = {"seq": len(kept), "t": time, "ev": "inflight", "to": line.get("to", line.get("n"))}
            fields = ("mid", "kind", "api", "from", "corr", "ver", "data")
            kept.append(left | {name: message[name] for name in fields})
    return finished(kept, time)


@pytest.mark.parametrize(("run", "length"), RUNS, ids=[run.name for run, _ in RUNS])
def test_one_wrong_field_of_a_recorded_run_is_reported_at_its_line(run: Path, length: int) -> None:
    lines, draw = beginning(run, length), random.Random(length)
    missed = [str(made) for made in (any_change(lines, draw) for _ in range(60)) if not is_reported(made)]
    assert missed == []
