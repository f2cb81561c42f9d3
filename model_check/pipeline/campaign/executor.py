"""What a Spark task does with its cells: it hands them to a server process, one after the other."""

from __future__ import annotations

import atexit
import socket
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from kraftcheck.pipeline.campaign.cells import Cell, from_task
from kraftcheck.support.forks import Server
from kraftcheck.support.sources import require_sources

if TYPE_CHECKING:
    import pyarrow

    Runs = Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]

_MODULE = "kraftcheck.pipeline.campaign.server"
#: How often a cell is begun whose server ends.
_ATTEMPTS = 2


@cache
def _server() -> Server:
    """The server of this worker of Spark, which is used for task after task."""
    server = Server(_MODULE)
    atexit.register(server.close)
    return server


def run_cell(task: str) -> dict[str, Any]:
    """A row of the data set of cells. Raises InputError where executors have other sources."""
    cell, id_, sources = from_task(task)
    require_sources(sources)
    found = None
    for _ in range(_ATTEMPTS):
        found = _server().ask(task)
        if found is not None:
            break
        _server().close()
        _server.cache_clear()
    found = found or {"verdict": "failed", "error": f"its server ended, {_ATTEMPTS} times"}
    now = datetime.now(UTC)
    return coordinates(cell, id_) | {"finished": now, "host": socket.gethostname()} | found


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
