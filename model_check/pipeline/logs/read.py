"""A Spark task: it reads the logs of a cluster as `kraftcheck logs` does; history and report become rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kraftcheck.evidence.history.cluster import Cluster
from kraftcheck.evidence.logs.content import chunks_of
from kraftcheck.evidence.logs.findings import Findings
from kraftcheck.evidence.logs.node_history import HistoryEntry
from kraftcheck.evidence.logs.reader import LogReport, Options, Reader
from kraftcheck.evidence.logs.report import as_json, history_json
from kraftcheck.evidence.logs.sources import in_order, looked_at
from kraftcheck.pipeline.logs.files import open_file

if TYPE_CHECKING:
    import pyarrow as pa

#: The input of tasks, and their rows: ``detail`` is JSON with the columns of the data set
#: ``kind``; that of a row of ``clusters`` is the whole report, with the first problems.
GIVEN: Final = "cluster string, files array<struct<file:string,size:bigint>>"
ROWS: Final = "kind string, cluster string, detail string"
#: Rows sent to Spark at a time.
_BATCH: Final = 8192
#: Problems of a cluster that are kept in full.
_PROBLEMS_KEPT: Final = 1_000_000


class Rows:
    """The rows of a cluster that were not sent yet."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._rows: list[tuple[str, str, str]] = []

    def add(self, kind: str, detail: dict[str, Any]) -> None:
        """Add a row of the data set ``kind``."""
        self._rows.append((kind, self._cluster, json.dumps(detail)))

    def batch(self, least: int = 0) -> Iterator[pa.RecordBatch]:
        """The rows, if there are ``least`` of them."""
        import pyarrow as pa

        if self._rows and len(self._rows) >= least:
            text = pa.large_string()  # as spark.sql.execution.arrow.useLargeVarTypes demands
            arrays = [pa.array(each, text) for each in zip(*self._rows, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, ["kind", "cluster", "detail"])
            self._rows.clear()


def read_clusters(
    batches: Iterable[pa.RecordBatch], options: Options, limit: int
) -> Iterator[pa.RecordBatch]:
    """The rows of the clusters in ``batches``; their reports have ``limit`` problems each."""
    for batch in batches:
        for given in batch.to_pylist():
            files = [(file["file"], file["size"]) for file in given["files"]]
            yield from _read_cluster(Rows(given["cluster"]), files, options, limit)


def _read_cluster(
    rows: Rows, files: list[tuple[str, int]], options: Options, limit: int
) -> Iterator[pa.RecordBatch]:
    def listen(step: HistoryEntry) -> None:
        if step.what not in ("append", "attempt"):
            candidate = None if step.vote is None else step.vote.candidate.id
            rows.add("history", history_json(step) | {"candidate": candidate})

    reader = Reader(options, listen, Findings(_PROBLEMS_KEPT))
    sources, copies = in_order(
        looked_at(name, partial(_text, name), partial(int, size), reader.layouts) for name, size in files
    )
    for _ in reader.reading_all(sources):
        yield from rows.batch(_BATCH)
    report = reader.finish(copies)
    ids = [id.decode("ascii", "replace") for id in reader.cluster.ids]
    data = as_json(report) | {"missing": _missing(report), "clusterIds": ids}
    for kind in ("problems", "files", "nodes"):
        for detail in data[kind]:
            rows.add(kind, detail)
    for detail in _epochs(reader.cluster):
        rows.add("epochs", detail)
    rows.add("clusters", data | {"problems": data["problems"][:limit]})
    yield from rows.batch()


def _text(
    name: str, damaged: list[str], size: int, progress: Callable[[int], None] | None
) -> Iterator[bytes]:
    """The text of a file; the report says where it cannot be read, and the rest of the fleet is read."""
    try:
        with open_file(name) as file:
            yield from chunks_of(file, damaged, size, progress)
    except (OSError, ValueError) as error:
        said = str(error).splitlines()
        damaged.append(f"cannot be read ({said[0][:200] if said else type(error).__name__})")


def _missing(report: LogReport) -> list[int]:
    """The voters that the last lines name and of which there are no logs."""
    named: set[int] = set()
    for node in report.nodes.values():
        named.update(key.id for key in node.voters or ())
        named.update((node.summary.last and node.summary.last.voters) or ())
    return sorted(named - report.nodes.keys())


def _epochs(cluster: Cluster) -> Iterator[dict[str, Any]]:
    for number, epoch in sorted(cluster.epochs.items()):
        seen = {"leader": epoch.leader, "start": epoch.start, "highWatermark": epoch.high}
        votes = {"votes": epoch.votes, "grants": epoch.grants}
        yield (
            {"epoch": number}
            | {name: None if one is None else one.value for name, one in seen.items()}
            | {"knownBy": sorted(epoch.known_by)}
            | {
                name: [{"voter": voter, "candidate": one.value} for voter, one in sorted(of.items())]
                for name, of in votes.items()
            }
        )
