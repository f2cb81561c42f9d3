"""What a Spark task does with a run: ``kraftcheck conform`` on a copy in a temporary folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.properties.judge import judge
from kraftcheck.evidence.recordings.recording import read
from kraftcheck.evidence.recordings.report import RunResult
from kraftcheck.evidence.recordings.runs import FILES
from kraftcheck.pipeline.runs.rows import to_row
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import TemporaryFolder
from kraftcheck.systems.variants import read_protocol

if TYPE_CHECKING:
    import pyarrow

    Judges = Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]


def judge_run(
    folder: str, contents: dict[str, bytes | None], preset: str, switches: list[str]
) -> dict[str, Any]:
    """The row of the run in ``folder``; ``contents``: its files by name, ``None``: it is not there."""
    begin = time.monotonic()
    with TemporaryFolder() as temporary:
        place = Path(temporary) / folder.rstrip("/").rpartition("/")[2]
        place.mkdir()
        for name in FILES:
            if (content := contents.get(name)) is not None:
                (place / name).write_bytes(content)
        try:
            protocol = read_protocol(preset, switches)
            recording = read(place)
            row = to_row(RunResult(compare(recording, protocol), judge(recording, protocol)))
        except InputError as error:
            row = {"error": str(error).replace(str(place), folder)}
    return row | {"folder": folder, "seconds": time.monotonic() - begin}


def judges(schema: pyarrow.Schema, preset: str, switches: list[str]) -> Judges:
    """For ``mapInArrow``: from the columns ``folder``, ``trace``, ``summary`` to runs with all they have."""

    def judge_runs(batches: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        from kraftcheck.pipeline.runs.executor import judge_run

        for batch in batches:
            for number in range(batch.num_rows):
                folder, summary, trace = (
                    batch.column(name)[number].as_py() for name in ("folder", "summary", "trace")
                )
                row = judge_run(folder, {"run.json": summary, "trace.jsonl.gz": trace}, preset, switches)
                row = {
                    key: list(value.items()) if isinstance(value, dict) else value
                    for key, value in row.items()
                }
                yield pyarrow.RecordBatch.from_pylist([row], schema=schema)

    return judge_runs
