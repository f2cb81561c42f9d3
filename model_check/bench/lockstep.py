"""The speed of ``kraftcheck conform`` in recorded events a second, reading the files included.

Over the recorded runs that are given, and over one of a simulated cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter

from kraftcheck.bench.measure import Figure
from kraftcheck.evidence.recorder.simulation import Simulation
from kraftcheck.evidence.recorder.writing import files_of, write_files
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.recording import read
from kraftcheck.support.files import TemporaryFolder

UNIT = "recorded events/s"


def figures(runs: Sequence[Path] = (), rounds: int = 3, seconds: int = 40) -> list[Figure]:
    """Events compared a second, medians over ``rounds``: of the recorded ``runs`` (folders) together, if
    there are any, and of a simulated cluster of three voters and a broker over ``seconds``.

    Raises InputError for a folder that is no recorded run.
    """
    found = []
    if runs:
        speed = median(_speed(runs) for _ in range(rounds))
        found.append(Figure("lockstep_recorded", "lockstep, recorded runs", speed, UNIT))
    with TemporaryFolder() as folder:
        run = Path(folder, "run-simulated")
        write_files(run, files_of(run.name, simulated(seconds)))
        speed = median(_speed([run]) for _ in range(rounds))
        found.append(Figure("lockstep_simulated", "lockstep, simulated cluster", speed, UNIT))
    return found


def _speed(runs: Sequence[Path]) -> float:
    begun, events = perf_counter(), 0
    for run in runs:
        events += compare(read(run)).recorded
    return events / (perf_counter() - begun)


def simulated(seconds: int) -> list[Json]:
    """The lines of a simulated cluster that elects, appends, and loses its leader once."""
    simulation = Simulation(1, brokers=1)
    for node in simulation.nodes:
        simulation.at(100, partial(simulation.start, node))
    for time in range(3_000, seconds * 1_000, 200):
        simulation.at(time, partial(simulation.append, 2))
    simulation.at(seconds * 500, simulation.resign)
    simulation.run(seconds * 1_000)
    return simulation.finish()
