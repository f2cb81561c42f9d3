"""Reads the files of one node after the other in an executor, as `kraftcheck logs` does.

What is compared between nodes is not compared here but kept as rows, and so is the history.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kraftcheck.evidence.history.cluster import Seen
from kraftcheck.evidence.history.facts import NOT_SHOWN, Key
from kraftcheck.evidence.logs.content import chunks_of
from kraftcheck.evidence.logs.findings import Findings, Problem, Where
from kraftcheck.evidence.logs.node import Node
from kraftcheck.evidence.logs.node_history import HistoryEntry
from kraftcheck.evidence.logs.reader import FileReport, Options, Reader
from kraftcheck.evidence.logs.releases import span
from kraftcheck.evidence.logs.report import SHOWN
from kraftcheck.evidence.logs.states import LoggedState
from kraftcheck.pipeline.logs.files import open_file

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows sent to Spark at a time.
_BATCH: Final = 8192


class Row(NamedTuple):
    """What a line says, of any ``kind``; most columns are of some kinds only.

    Kinds: transition, high watermark, voters; leader, vote, grant, epoch start, epoch high, committed, wiped
    (the facts that a `kraftcheck.evidence.history.cluster.Cluster` takes); problem, note; file, node.
    """

    kind: str
    cluster: str
    folder: str
    number: int
    """Place of the file in the order in which those of the cluster are read."""
    step: int
    """Place of the row among those of the folder."""
    node: int | None = None
    file: str | None = None
    line: int | None = None
    time: str | None = None
    epoch: int | None = None
    value: int | None = None
    """Of a fact, as of `Seen`; an offset; a count."""
    voter: int | None = None
    process: int | None = None
    what: str | None = None
    """What a step of the history is, or the name of a check or note."""
    role: str | None = None
    leader: int | None = None
    voted: int | None = None
    high: int | None = None
    names: list[str] | None = None
    """Voters or rules."""
    expected: str | None = None
    found: str | None = None
    earlier_file: str | None = None
    earlier_line: int | None = None
    detail: str | None = None
    """Of files and nodes: JSON."""


_TYPES: Final = {
    "number": "int",
    "step": "bigint",
    "node": "int",
    "line": "bigint",
    "epoch": "bigint",
    "value": "bigint",
    "voter": "int",
    "process": "int",
    "leader": "int",
    "voted": "int",
    "high": "bigint",
    "names": "array<string>",
    "earlier_line": "bigint",
}
#: The columns of a `Row` as Spark SQL writes them.
ROWS: Final = ", ".join(f"`{name}` {_TYPES.get(name, 'string')}" for name in Row._fields)


class Recorder:
    """Keeps as rows what the reader of one node's files tells. A
    `kraftcheck.evidence.history.cluster.Comparison`.
    """

    forgotten = 0

    def __init__(self, cluster: str, folder: str) -> None:
        self.rows: list[Row] = []
        # Bounded all the same: `take_problems` takes them away after each step of a file.
        self.findings = Findings(sys.maxsize)
        self.number = 0
        self._cluster, self._folder = cluster, folder
        self._step = 0
        self._last: dict[tuple[str, int, int | None], int] = {}
        self._named: dict[int, set[int]] = {}
        self._id = b""

    def add(self, kind: str, **values: Any) -> None:
        """Keep a row."""
        self._step += 1
        self.rows.append(Row(kind, self._cluster, self._folder, self.number, self._step, **values))

    # --- history ------------------------------------------------------------------------------------------

    def listen(self, step: HistoryEntry) -> None:
        """A step of a history was read."""
        where, state = step.where, step.state
        named = self._named.setdefault(step.node, set())
        if state is not None:
            named.update(state.voters or ())
        values: dict[str, Any] = {"node": step.node, "file": where.file, "line": where.line}
        values |= {"time": step.time, "process": step.process, "value": step.offset}
        if step.what == "high watermark":
            epoch, role = (None, None) if state is None else (state.epoch, state.role)
            self.add("high watermark", epoch=epoch, role=role, **values)
        elif step.what == "voters":
            named.update(key.id for key in step.voters or ())
            voters = [] if step.voters is None else [str(key) for key in step.voters]
            self.add("voters", names=voters, **values)
        elif step.what in SHOWN and step.what != "version":
            self.add(
                "transition", what=step.what, high=step.high_watermark, **values, **_state_columns(state)
            )

    # --- facts to compare ---------------------------------------------------------------------------------

    def same(self, cluster: bytes) -> bool:
        """As of `Cluster`, within the files of one folder."""
        self._id = self._id or cluster
        return self._id == cluster

    def wiped(self, node: int) -> None:
        """As of `Cluster`."""
        self.add("wiped", node=node)

    def leader(self, epoch: int, seen: Seen) -> None:
        """As of `Cluster`."""
        if self._is_new("leader", seen.node, None, epoch, seen.value):
            self._fact("leader", epoch, seen)

    def vote(self, epoch: int, seen: Seen) -> None:
        """As of `Cluster`."""
        if self._is_new("vote", seen.node, None, epoch, seen.value):
            self._fact("vote", epoch, seen, voter=seen.node)

    def grant(self, epoch: int, voter: int, seen: Seen) -> None:
        """As of `Cluster`."""
        self._fact("grant", epoch, seen, voter=voter)

    def starts(self, epoch: int, seen: Seen) -> None:
        """As of `Cluster`."""
        self._fact("epoch start", epoch, seen)

    def high_watermark(self, epoch: int, seen: Seen) -> None:
        """As of `Cluster`."""
        self._fact("epoch high", epoch, seen)

    def committed_set(self, offset: int, voters: frozenset[Key], seen: Seen) -> None:
        """As of `Cluster`."""
        self._fact("committed", None, seen, names=sorted(str(key) for key in voters))

    def finish(self) -> None:
        """Everything is compared later."""

    def _is_new(self, kind: str, node: int, voter: int | None, epoch: int, value: int) -> bool:
        """Whether it was not said just before: what a node repeats changes no comparison."""
        key, said = (kind, node, voter), hash((epoch, value))
        new = self._last.get(key) != said
        self._last[key] = said
        return new

    def _fact(self, kind: str, epoch: int | None, seen: Seen, **more: Any) -> None:
        file, line = seen.where
        time = seen.time.decode("ascii", "replace")
        self.add(kind, node=seen.node, file=file, line=line, time=time, epoch=epoch, value=seen.value, **more)

    # --- findings and reports -----------------------------------------------------------------------------

    def take_problems(self) -> None:
        """Keep the problems found since the last time."""
        for one in self.findings.problems:
            self.add("problem", **problem_columns(one))
        self.findings.problems.clear()

    def end_file(self, report: FileReport) -> None:
        """A file was read."""
        counts = report.counts
        detail = {
            "damaged": report.damaged,
            "relevant": report.relevant,
            "nodes": sorted(report.nodes),
            **{
                name: getattr(counts, name)
                for name in ("bytes", "lines", "records", "overlong", "nul", "invalid")
            },
        }
        self.add("file", file=str(report.path), detail=json.dumps(detail))

    def end(self, nodes: Iterable[Node]) -> None:
        """All files were read."""
        for name, count in self.findings.notes.items():
            file, line = self.findings.first_notes[name]
            self.add("note", what=name, value=count, file=file, line=line)
        for node in nodes:
            summary = node.summary
            detail = {
                "releases": [span(one) for one in summary.releases],
                "relevant": summary.lines,
                "processes": summary.processes,
                "transitions": summary.transitions,
                "elections": summary.elections,
                "leaderships": summary.leaderships,
                "first_epoch": summary.first_epoch,
                "last_epoch": summary.last_epoch,
                "first_time": summary.first_time.decode("ascii", "replace"),
                "last_time": summary.last_time.decode("ascii", "replace"),
                "names": sorted(self._named.get(node.number, ())),
                "cluster_id": self._id.decode("ascii", "replace") or None,
            }
            self.add("node", node=node.number, detail=json.dumps(detail))


def _state_columns(state: LoggedState | None) -> dict[str, Any]:
    if state is None:
        return {}
    voted = None if state.voted is NOT_SHOWN or state.voted is None else state.voted.id
    leader = state.leader if isinstance(state.leader, int) else None
    return {"role": state.role, "epoch": state.epoch, "leader": leader, "voted": voted}


def problem_columns(one: Problem) -> dict[str, Any]:
    """The columns of a `Row` of a problem."""
    earlier = one.earlier or Where("", 0)
    return {
        "node": one.node,
        "file": one.where.file,
        "line": one.where.line,
        "time": one.time,
        "what": one.check,
        "names": list(one.cites),
        "expected": one.expected,
        "found": one.found,
        "earlier_file": earlier.file or None,
        "earlier_line": earlier.line or None,
    }


def scan_folders(batches: Iterator[pa.RecordBatch], options: Options) -> Iterator[pa.RecordBatch]:
    """The rows of the files in ``batches`` of cluster, folder, number, file and layout, sorted by the first
    three.
    """
    files = (file for batch in batches for file in batch.to_pylist())
    for (cluster, folder), group in groupby(files, lambda file: (file["cluster"], file["folder"])):
        yield from _scan_folder(cluster, folder, group, options)


def _scan_folder(
    cluster: str, folder: str, files: Iterable[dict[str, Any]], options: Options
) -> Iterator[pa.RecordBatch]:
    recorder = Recorder(cluster, folder)
    reader = Reader(options, recorder.listen, recorder.findings, recorder)
    for file in files:
        recorder.number = file["number"]
        for _ in _scan_file(reader, file["file"], file["layout"]):
            recorder.take_problems()
            if len(recorder.rows) >= _BATCH:
                yield _batch(recorder.rows)
        recorder.end_file(reader.files[-1])
    reader.finish()
    recorder.take_problems()
    recorder.end(reader.nodes)
    yield _batch(recorder.rows)


def _scan_file(reader: Reader, name: str, layout: int | None) -> Iterator[None]:
    """Read a file in steps; what is wrong with it is said in its report."""
    damaged: list[str] = []

    def text() -> Iterator[bytes]:
        try:
            with open_file(name) as file:
                yield from chunks_of(file, damaged)
        except (OSError, ValueError) as error:
            said = str(error).splitlines()
            damaged.append(f"cannot be read ({said[0][:200] if said else type(error).__name__})")

    yield from reader.reading(name, text(), None if layout is None else reader.layouts[layout])
    reader.files[-1].damaged = damaged[0] if damaged else None
    yield


def _batch(rows: list[Row]) -> pa.RecordBatch:
    """``rows``, which are removed from there."""
    import pyarrow as pa

    batch = batch_of(rows) if rows else pa.RecordBatch.from_pylist([], schema())
    rows.clear()
    return batch


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    """Rows in columns."""
    import pyarrow as pa

    wanted = schema()
    columns = zip(*rows, strict=True) if rows else ((),) * len(wanted)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, wanted, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=wanted)


def schema() -> pa.Schema:
    """The columns of a `Row` in Arrow."""
    import pyarrow as pa

    text = pa.large_string()  # as spark.sql.execution.arrow.useLargeVarTypes of our sessions demands
    types = {"int": pa.int32(), "bigint": pa.int64(), "array<string>": pa.list_(pa.field("element", text))}
    return pa.schema([(name, types.get(_TYPES.get(name, ""), text)) for name in Row._fields])
