"""What a Spark task does with the log files of a cluster: it reads them as `kraftcheck logs` does, and keeps
history, facts and findings as rows.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kraftcheck.evidence.history.cluster import Cluster, Seen
from kraftcheck.evidence.history.facts import NOT_SHOWN, Key
from kraftcheck.evidence.logs.content import chunks_of
from kraftcheck.evidence.logs.findings import Findings
from kraftcheck.evidence.logs.layout import Layout
from kraftcheck.evidence.logs.node import Node
from kraftcheck.evidence.logs.node_history import HistoryEntry
from kraftcheck.evidence.logs.reader import FileReport, Options, Reader
from kraftcheck.evidence.logs.releases import span
from kraftcheck.evidence.logs.report import SHOWN
from kraftcheck.evidence.logs.sources import peek, rotation
from kraftcheck.evidence.logs.states import LoggedState
from kraftcheck.pipeline.logs.files import open_file

if TYPE_CHECKING:
    import pyarrow as pa

#: What tasks are given, and the rows that they give: ``detail`` is JSON with the columns of the data set
#: ``kind``; ``step`` orders the rows of a cluster.
GIVEN: Final = "cluster string, files array<struct<file:string,size:bigint>>"
ROWS: Final = "kind string, cluster string, step bigint, detail string"
#: Rows sent to Spark at a time, and bytes of a file that show its first record.
_BATCH, _PEEK = 8192, 1 << 18
_COUNTS: Final = ("bytes", "lines", "records", "overlong", "nul", "invalid")


class Rows:
    """The rows of a cluster that were not sent yet."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._step = 0
        self._rows: list[tuple[str, str, int, str]] = []

    def add(self, kind: str, /, **columns: Any) -> None:
        """Add a row of the data set ``kind``."""
        self._step += 1
        self._rows.append((kind, self._cluster, self._step, json.dumps(columns)))

    def batch(self, least: int = 0) -> Iterator[pa.RecordBatch]:
        """The rows, if there are ``least`` of them."""
        import pyarrow as pa

        if self._rows and len(self._rows) >= least:
            text = pa.large_string()  # as spark.sql.execution.arrow.useLargeVarTypes demands
            schema = pa.schema({"kind": text, "cluster": text, "step": pa.int64(), "detail": text})
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(each, field.type) for each, field in zip(columns, schema, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            self._rows.clear()


class Recorder(Cluster):
    """Compares nodes as :class:`Cluster` does, and keeps the facts as rows."""

    def __init__(self, findings: Findings, rows: Rows) -> None:
        super().__init__(findings)
        self.found = findings
        self.rows = rows
        self.ids: set[bytes] = set()
        self._last: dict[tuple[str, int], tuple[int, int]] = {}
        self._named: dict[int, set[int]] = {}

    def same(self, cluster: bytes) -> bool:
        """As of `Cluster`."""
        self.ids.add(cluster)
        return super().same(cluster)

    def leader(self, epoch: int, seen: Seen) -> None:
        """As of `Cluster`."""
        super().leader(epoch, seen)
        if self._is_new("leader", epoch, seen):
            self._fact("leaders", seen, epoch=epoch, leader=seen.value)

    def vote(self, epoch: int, seen: Seen) -> None:
        """As of `Cluster`."""
        super().vote(epoch, seen)
        if self._is_new("vote", epoch, seen):
            self._fact("votes", seen, epoch=epoch, voter=seen.node, candidate=seen.value, kind="vote")

    def grant(self, epoch: int, voter: int, seen: Seen) -> None:
        """As of `Cluster`."""
        super().grant(epoch, voter, seen)
        self._fact("votes", seen, epoch=epoch, voter=voter, candidate=seen.value, kind="grant")

    def starts(self, epoch: int, seen: Seen) -> None:
        """As of `Cluster`."""
        super().starts(epoch, seen)
        self.rows.add("offsets", epoch=epoch, kind="start", value=seen.value)

    def high_watermark(self, epoch: int, seen: Seen) -> None:
        """As of `Cluster`."""
        super().high_watermark(epoch, seen)
        self.rows.add("offsets", epoch=epoch, kind="high", value=seen.value)

    def committed_set(self, offset: int, voters: frozenset[Key], seen: Seen) -> None:
        """As of `Cluster`."""
        super().committed_set(offset, voters, seen)
        self._fact("voter_sets", seen, offset=offset, voters=sorted(map(str, voters)), committed=True)

    def _is_new(self, kind: str, epoch: int, seen: Seen) -> bool:
        """Whether the node did not say the same just before."""
        before = self._last.get((kind, seen.node))
        self._last[kind, seen.node] = epoch, seen.value
        return before != (epoch, seen.value)

    def _fact(self, kind: str, seen: Seen, /, **columns: Any) -> None:
        file, line = seen.where
        time = seen.time.decode("ascii", "replace")
        self.rows.add(kind, node=seen.node, file=file, line=line, time=time, **columns)

    def listen(self, step: HistoryEntry) -> None:
        """A step of a node's history was read."""
        state = step.state
        named = self._named.setdefault(step.node, set())
        if state is not None:
            named.update(state.voters or ())
        columns = _state_columns(state) | {"node": step.node, "process": step.process, "time": step.time}
        columns |= {"file": step.where.file, "line": step.where.line}
        if step.what == "high watermark":
            self.rows.add("high_watermarks", high_watermark=step.offset, **columns)
        elif step.what == "voters":
            named.update(key.id for key in step.voters or ())
            voters = [str(key) for key in step.voters or ()]
            self.rows.add("voter_sets", offset=step.offset, voters=voters, committed=False, **columns)
        elif step.what in SHOWN and step.what != "version":
            high = step.high_watermark
            self.rows.add("transitions", what=step.what, offset=step.offset, high_watermark=high, **columns)

    def take_problems(self) -> None:
        """Keep the problems that were found since the last time."""
        for one in self.found.problems:
            file, line = one.earlier or (None, None)
            self.rows.add(
                "findings",
                node=one.node,
                file=one.where.file,
                line=one.where.line,
                time=one.time,
                severity="error",
                check=one.check,
                rules=list(one.cites),
                expected=one.expected,
                found=one.found,
                earlier_file=file,
                earlier_line=line,
                count=1,
            )
        self.found.problems.clear()

    def end(self, nodes: Iterable[Node]) -> None:
        """All files were read and compared."""
        self.take_problems()
        for name, count in self.found.notes.items():
            file, line = self.found.first_notes[name]
            self.rows.add("findings", severity="note", check=name, count=count, file=file, line=line)
        for node in nodes:
            summary = node.summary
            self.rows.add(
                "nodes",
                node=node.number,
                releases=[span(one) for one in summary.releases],
                relevant=summary.lines,
                processes=summary.processes,
                transitions=summary.transitions,
                elections=summary.elections,
                leaderships=summary.leaderships,
                first_epoch=summary.first_epoch,
                last_epoch=summary.last_epoch,
                first_time=summary.first_time.decode("ascii", "replace"),
                last_time=summary.last_time.decode("ascii", "replace"),
                names=sorted(self._named.get(node.number, ())),
                cluster_id=self.id.decode("ascii", "replace") or None,
            )
        ids = sorted(one.decode("ascii", "replace") for one in self.ids)
        self.rows.add("clusters", ids=ids, forgotten=self.forgotten)


def _state_columns(state: LoggedState | None) -> dict[str, Any]:
    if state is None:
        return {}
    voted = None if state.voted is NOT_SHOWN or state.voted is None else state.voted.id
    leader = state.leader if isinstance(state.leader, int) else None
    return {"role": state.role, "epoch": state.epoch, "leader": leader, "voted": voted}


# Reading.


class _Source(NamedTuple):
    """A file before it is read: see :class:`kraftcheck.evidence.logs.sources.Source`."""

    name: str
    layout: Layout | None
    first: tuple[int, ...] | None
    digest: bytes


def read_clusters(batches: Iterable[pa.RecordBatch], options: Options) -> Iterator[pa.RecordBatch]:
    """The rows of the clusters in ``batches``."""
    for batch in batches:
        for given in batch.to_pylist():
            files = [(file["file"], file["size"]) for file in given["files"]]
            yield from _read_cluster(given["cluster"], files, options)


def _read_cluster(cluster: str, files: list[tuple[str, int]], options: Options) -> Iterator[pa.RecordBatch]:
    rows = Rows(cluster)
    # All problems are kept: they are taken away after each step of a file.
    recorder = Recorder(Findings(sys.maxsize), rows)
    reader = Reader(options, recorder.listen, recorder.found, recorder)
    sources, copies = _in_order([_looked_at(name, size, reader.layouts) for name, size in files])
    for number, source in enumerate(sources, 1):
        for _ in _reading(reader, source):
            recorder.take_problems()
            yield from rows.batch(_BATCH)
        _end_file(rows, number, reader.files[-1])
    for number, source in enumerate(copies, len(sources) + 1):
        rows.add("files", number=number, file=source.name, copy=True)
    reader.finish()
    recorder.end(reader.nodes)
    yield from rows.batch()


def _looked_at(name: str, size: int, layouts: list[Layout]) -> _Source:
    try:
        with open_file(name) as file:
            return _Source(name, *peek(chunks_of(file, [], size=_PEEK), lambda: size, layouts))
    except (OSError, ValueError):  # reported when it is read
        return _Source(name, None, None, name.encode())


def _in_order(sources: list[_Source]) -> tuple[list[_Source], list[_Source]]:
    """The files in the order in which `kraftcheck logs` reads them, and those that are copies."""
    seen: set[bytes] = set()
    kept: list[_Source] = []
    copies: list[_Source] = []
    for source in sorted(sources, key=lambda source: source.name.split("/")):
        copied = source.first is not None and source.digest in seen
        (copies if copied else kept).append(source)
        seen.add(source.digest)
    kept.sort(key=lambda one: (one.first is None, one.first or (), -rotation(one.name), one.name))
    return kept, copies


def _reading(reader: Reader, source: _Source) -> Iterator[None]:
    """Read a file in steps; its report says what is wrong with it."""
    damaged: list[str] = []

    def text() -> Iterator[bytes]:
        try:
            with open_file(source.name) as file:
                yield from chunks_of(file, damaged)
        except (OSError, ValueError) as error:
            said = str(error).splitlines()
            damaged.append(f"cannot be read ({said[0][:200] if said else type(error).__name__})")

    yield from reader.reading(source.name, text(), source.layout)
    reader.files[-1].damaged = damaged[0] if damaged else None
    yield


def _end_file(rows: Rows, number: int, report: FileReport) -> None:
    rows.add(
        "files",
        number=number,
        file=str(report.path),
        copy=False,
        damaged=report.damaged,
        relevant=report.relevant,
        nodes=sorted(report.nodes),
        **{name: getattr(report.counts, name) for name in _COUNTS},
    )
