"""Recordings of simulated clusters, small enough to read, and how to write and compare them.

They agree with the reference by construction. Whether the reference is right, the recorded runs of
production show (tests/recorded); these show that the comparison sees whatever is changed in them.
"""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from kraftcheck.evidence.recorder.simulation import Simulation
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.outcome import RunReport
from kraftcheck.evidence.recordings.recording import recording_of

Json = dict[str, Any]


@cache
def _small() -> list[Json]:
    simulation = Simulation(7, hurry=10)
    for node in (1, 2, 3):
        simulation.at(20 * node, lambda node=node: simulation.start(node))
    simulation.at(300, simulation.append)
    simulation.at(340, lambda: simulation.kill(1, power_loss=False))
    simulation.run(380)
    return simulation.finish()


def small_recording() -> list[Json]:
    """Three voters elect a leader, one record is committed, and voter 1 is killed; a fresh copy."""
    return copy.deepcopy(_small())


@cache
def eventful_recording() -> tuple[Json, ...]:
    """Every kind of event that is covered, some 700 lines; not to be changed."""
    simulation = Simulation(11, brokers=1, skew={2: (150, 0.003), 101: (-200, -0.002)}, hurry=5)
    at = simulation.at
    for node in (1, 2, 3):
        at(20 * node, lambda node=node: simulation.start(node))
    at(450, lambda: simulation.start(101))
    for time in range(500, 3600, 150):
        at(time, lambda: simulation.append(2))
    at(570, lambda: simulation.append_elsewhere(101))
    at(600, lambda: simulation.write_back(101))
    at(720, lambda: simulation.kill(101))
    at(760, lambda: simulation.start(101))
    at(800, simulation.resign)
    at(1150, lambda: simulation.isolate(1))
    at(1750, simulation.heal)
    at(1800, lambda: simulation.crash_at(2, "crash:appended"))
    at(2050, lambda: simulation.start(2) if simulation.nodes[2].process is None else None)
    at(2200, lambda: simulation.pause(3, 60))
    at(2400, lambda: simulation.shut_down(1))
    at(2700, lambda: simulation.start(1) if simulation.nodes[1].process is None else None)
    at(2750, lambda: simulation.kill(101))
    at(2770, lambda: simulation.wipe(101))
    at(2800, lambda: simulation.start(101))
    at(3000, lambda: simulation.crash_at(3, "crash:preStore"))
    at(3010, simulation.resign)
    at(3500, lambda: simulation.start(3) if simulation.nodes[3].process is None else None)
    at(3795, simulation.append)
    simulation.run(3802)
    return tuple(simulation.finish())


def report_on(lines: Sequence[Json]) -> RunReport:
    """The comparison of a run with these lines."""
    return compare(recording_of(lines))


def agrees(lines: Sequence[Json]) -> RunReport:
    """The comparison of a run with these lines, which agrees with the reference."""
    report = report_on(lines)
    assert [(one.seq, one.field, one.reference, one.production) for one in report.differences] == []
    assert not report.skipped
    return report


def renumbered(lines: Sequence[Json]) -> list[Json]:
    """``lines`` with their numbers counted again."""
    return [{**line, "seq": seq} for seq, line in enumerate(lines)]


def all_events(report: RunReport) -> int:
    """How many events are in the counters of ``report``."""
    counters = (report.compared, report.world, report.not_covered, report.skipped)
    return sum(counter.total() for counter in counters)


def write(folder: Path, lines: list[Json]) -> Path:
    """Write a run with these lines into ``folder``."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return write_bytes(folder, gzip.compress(text.encode()), len(lines))


def write_bytes(folder: Path, trace: bytes, events: int) -> Path:
    """Write a run whose trace file has exactly these bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trace.jsonl.gz").write_bytes(trace)
    (folder / "run.json").write_text(json.dumps({"run": "small", "events": events}))
    return folder


def first(lines: list[Json], event: str, /, **fields: Any) -> int:
    """The first line of a kind with these values of its fields."""
    return next(
        line["seq"]
        for line in lines
        if line["ev"] == event and all(line.get(key) == value for key, value in fields.items())
    )
