"""What a Spark task does with its cells: it hands them to a server process, one after the other."""

from __future__ import annotations

import atexit
import socket
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from kraftcheck.checking.mutation import patch
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.checking.mutation.server import Job, Server
from kraftcheck.pipeline.campaign.cells import Cell, from_task
from kraftcheck.support.errors import InputError
from kraftcheck.support.forks import End, Ended
from kraftcheck.support.sources import require_sources

if TYPE_CHECKING:
    import pyarrow

    Runs = Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]


@cache
def server_of_worker() -> Server:
    """The server of this worker of Spark, which is used for task after task."""
    server = Server()
    atexit.register(server.close)
    return server


def run_cell(task: str) -> dict[str, Any]:
    """A row of the data set of cells. Raises InputError where executors have other sources."""
    cell, id_, sources = from_task(task)
    require_sources(sources)
    found = found_by(cell, task)
    now = datetime.now(UTC)
    return coordinates(cell, id_) | {"finished": now, "host": socket.gethostname()} | found


def found_by(cell: Cell, task: str) -> dict[str, Any]:
    """What the cell of ``task`` finds, in a process of its own."""
    try:
        changed = {}
        if cell.mutant_content is not None:
            changed = patch.mutated_sources(Mutant.model_validate_json(cell.mutant_content))
    except InputError as error:
        return {"verdict": "invalid", "error": str(error)}
    arguments, seconds = {"task": task}, cell.limits.seconds
    job = Job("kraftcheck.pipeline.campaign.explore:run", arguments, seconds, cell.mutant, changed)
    ended = server_of_worker().run(job)
    return _row(ended) | {"seconds": ended.seconds, "peak_memory": ended.peak_memory}


def _row(ended: Ended) -> dict[str, Any]:
    if ended.error is not None:
        verdict = "invalid" if ended.end is End.INPUT else "failed"
        return {"verdict": verdict, "error": ended.error[:2000]}
    if ended.found:
        # The last is the most that is known.
        found: dict[str, Any] = ended.found[-1]
        return found
    if ended.end is End.MACHINE:
        return {"verdict": "failed", "error": ended.why}
    return {"verdict": "undetermined", "limit": "max_seconds" if ended.end is End.TIME else "max_memory"}


def coordinates(cell: Cell, id_: str) -> dict[str, Any]:
    """The columns that say which cell it is."""
    return {
        "cell": id_,
        "scenario": cell.scenario,
        "protocol": cell.protocol,
        "bounds": cell.bounds,
        "mutant": cell.mutant,
        "judged": cell.judged,
        "engine": cell.engine,
        "seed": cell.seed,
        "expected": cell.expected,
    }


def runs_cells(schema: pyarrow.Schema) -> Runs:
    """For ``mapInArrow``: from the column ``task`` to rows with the columns of ``schema``."""

    def run_cells(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        from kraftcheck.pipeline.campaign.executor import run_cell

        for batch in batches:
            for task in batch.column("task").to_pylist():
                yield pyarrow.RecordBatch.from_pylist([run_cell(task)], schema=schema)

    return run_cells
