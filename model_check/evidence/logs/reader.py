"""Reads log files and folders of them, and reports their content."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from kraftcheck.evidence.history.cluster import Cluster
from kraftcheck.evidence.logs.findings import Findings, Where
from kraftcheck.evidence.logs.json_layout import json_layout
from kraftcheck.evidence.logs.layout import PATTERNS, Found, Layout, compile_pattern, is_foreign
from kraftcheck.evidence.logs.messages import FATAL, FATAL_TEXT, Said, parse
from kraftcheck.evidence.logs.node import Node
from kraftcheck.evidence.logs.node_history import HistoryEntry, LastLines
from kraftcheck.evidence.logs.releases import release_named
from kraftcheck.evidence.logs.scan import DROPPED, Counts, Hit, scan
from kraftcheck.evidence.logs.sources import Progress, Source, find_sources
from kraftcheck.evidence.logs.states import Unreadable
from kraftcheck.support.arguments import whole_number
from kraftcheck.support.errors import InputError

#: More nodes than this in one set of files are not a cluster.
NODES_KEPT: Final = 1000
#: So many lines that matter are read in a step.
_STEP: Final = 4096
#: So many bytes of an exception are shown.
_DETAIL: Final = 300


@dataclass(frozen=True, slots=True)
class Options:
    """How logs are read: a conversion pattern and a release, where they are not to be recognised."""

    pattern: str | None = None
    release: str | None = None

    @staticmethod
    def add_to(parser: argparse.ArgumentParser) -> None:
        """Define the options of commands that read logs, those of the report included."""
        tried = f"log4j conversion pattern (tried by itself: '{PATTERNS[0]}', others, JSON)"
        parser.add_argument("--pattern", metavar="PATTERN", help=tried.replace("%", "%%"))
        release = "Kafka release that wrote the logs (default: recognised)"
        parser.add_argument("--release", metavar="N.N", help=release)
        parser.add_argument("--json", action="store_true", help="print the machine-readable report")
        limit = "problems shown in full (default: 20)"
        parser.add_argument("--limit", type=whole_number, default=20, metavar="N", help=limit)
        parser.epilog = (
            "Exit status: 0 no problem, 1 problems, 2 nothing to read, 3 only problems in doubt, as lines "
            "are out of order."
        )


@dataclass(slots=True)
class FileReport:
    """The content of one file."""

    path: Path | str
    """A name of another file system is a text."""
    counts: Counts
    relevant: int = 0
    nodes: set[int] = field(default_factory=set)
    damaged: str | None = None


@dataclass(slots=True)
class LogReport:
    """The content of all files, and the findings."""

    nodes: dict[int, Node]
    files: list[FileReport]
    copies: list[Path | str]
    findings: Findings
    epochs_forgotten: int = 0

    @property
    def bytes(self) -> int:
        """Bytes of text, decompressed."""
        return sum(file.counts.bytes for file in self.files)


class Reader:
    """Takes log text, file by file, oldest first."""

    def __init__(
        self,
        options: Options,
        listen: Callable[[HistoryEntry], None] | None = None,
        findings: Findings | None = None,
    ) -> None:
        patterns = PATTERNS if options.pattern is None else (options.pattern,)
        self.layouts = [compile_pattern(pattern) for pattern in patterns]
        if options.pattern is None:
            self.layouts.append(json_layout())
        self._release = None if options.release is None else release_named(options.release)
        self._listen = listen
        self.findings = Findings() if findings is None else findings
        self.cluster = Cluster(self.findings)
        self._nodes: dict[int, Node] = {}
        self.files: list[FileReport] = []

    def read(self, path: Path | str, text: Iterable[bytes], layout: Layout | None) -> FileReport:
        """Read one file from its decompressed ``text``."""
        for _ in self.reading(path, text, layout):
            pass
        return self.files[-1]

    def reading(self, path: Path | str, text: Iterable[bytes], layout: Layout | None) -> Iterator[None]:
        """As `read`, in steps: what is told between two of them is bounded."""
        file = _File(self, FileReport(path, Counts()), layout)
        for node in self._nodes.values():
            node.disturb()
        self.files.append(file.report)
        for number, hit in enumerate(scan(text, file.report.counts), 1):
            file.take(hit)
            if number % _STEP == 0:
                yield

    def reading_all(self, sources: Iterable[Source], progress: Progress | None = None) -> Iterator[None]:
        """Read files in steps; ``progress`` receives the numbers of bytes read from disk."""
        for source in sources:
            yield from self.reading(source.path, source.text(progress), source.layout)
            self.files[-1].damaged = source.damaged[0] if source.damaged else None
            yield

    def finish(self, copies: Sequence[Path | str] = ()) -> LogReport:
        """Make the comparisons that need everything, and report."""
        for node in self._nodes.values():
            node.finish()
        self.cluster.finish()
        nodes = dict(sorted(self._nodes.items()))
        return LogReport(nodes, self.files, list(copies), self.findings, self.cluster.forgotten)

    def node(self, number: int) -> Node | None:
        """The node with this id; None if there are too many nodes for one more."""
        found = self._nodes.get(number)
        if found is None and len(self._nodes) < NODES_KEPT:
            found = Node(number, self.findings, self.cluster, self._release, self._listen)
            self._nodes[number] = found
        return found


def _is_json(line: bytes) -> bool:
    """Whether ``line`` is a JSON object, or a member of one that stands on several lines."""
    text = line.strip().removesuffix(b",")
    return text[:1] + text[-1:] in (b"{}", b'""')


class _File:
    """The reading of one file."""

    def __init__(self, reader: Reader, report: FileReport, layout: Layout | None) -> None:
        self.report = report
        self._reader = reader
        self._name = str(report.path)
        self._layout = layout or reader.layouts[0]
        self._skip: dict[int, LastLines] = {}
        self._last: Node | None = None
        self._latest: dict[int, tuple[bytes, int, bool]] = {}

    def take(self, hit: Hit) -> None:
        """One line with a message that matters."""
        number, line, at, beginning = hit
        where = Where(self._name, number)
        if beginning == DROPPED:
            self._disturb()
            return
        if beginning == FATAL_TEXT:
            self._fatal(line, where)
            return
        found = self._layout.read(line, at)
        if found is None or found.mixed:
            found = self._read_otherwise(line, at, found)
        if found is None:
            if is_foreign(line, at):
                return
            fits = any(layout.begins(line) for layout in self._reader.layouts)
            kind = "json-form" if _is_json(line) else "unreadable" if fits else "no-layout"
            self._damaged(kind, where)
            return
        if found.mixed:
            self._damaged("mixed", where)
        try:
            fact = parse(beginning, found.message)
        except Unreadable:
            self._damaged("unreadable", where)
            return
        node = self._reader.node(found.node)
        if node is None or self._is_repeated(found.node, line, where):
            return
        if not self._in_order(found, line, where, node):
            return
        self._last = node
        self.report.relevant += 1
        node.apply(fact, where, found.time)

    def _is_repeated(self, node: int, line: bytes, where: Where) -> bool:
        """Whether a line is the one before, as all lines of the node were so far: two appenders write each
        record to one file. A single line that stands there twice may show a fault.
        """
        latest, count, always = self._latest.get(node, (b"", 2, True))
        if latest != line:
            self._latest[node] = line, 1, always and count > 1
            return False
        self._latest[node] = line, count + 1, always
        if always:
            self._reader.findings.note("repeated", where)
        return always

    def _fatal(self, line: bytes, where: Where) -> None:
        """The line names no node: it is about the one whose lines surround it."""
        if self._last is not None:
            time = self._layout.time(line) or self._last.summary.last_time
            detail = self._layout.exception(line)[:_DETAIL].decode("utf-8", "replace").strip()
            self._last.apply(Said(FATAL, detail), where, time)

    def _read_otherwise(self, line: bytes, at: int, found: Found | None) -> Found | None:
        """The record by the layout that fits best; the file is read with that one from here on."""
        for layout in self._reader.layouts:
            other = layout.read(line, at)
            if other is not None and not other.mixed:
                self._layout = layout
                return other
        return found

    def _damaged(self, note: str, where: Where) -> None:
        self._reader.findings.note(note, where)
        self._disturb()

    def _disturb(self) -> None:
        for number in self.report.nodes:
            node = self._reader.node(number)
            if node is not None:
                node.disturb()

    def _in_order(self, found: Found, line: bytes, where: Where, node: Node) -> bool:
        """Whether the line is to be read, and not part of a stretch of time that an earlier file has."""
        time, number, last = found.time, found.node, node.last_lines
        if time < last.time or number not in self.report.nodes or self._skip:
            if self._is_overlap(number, time, line, last):
                self._reader.findings.note("overlap", where)
                return False
            if number not in self._skip and last.time and self._layout.goes_back(time, last.time):
                self._reader.findings.note("time-back", where)
        behind = last.latest != time and bool(last.latest) and self._layout.goes_back(time, last.latest)
        if behind:
            is_later = partial(self._layout.goes_back, time)
            self._reader.findings.goes_back(number, where, time, last.latest, is_later)
        else:
            last.latest = time
        node.order(where, behind=behind)
        last.add(time, line)
        return True

    def _is_overlap(self, number: int, time: bytes, line: bytes, last: LastLines) -> bool:
        if number not in self.report.nodes:
            self.report.nodes.add(number)
            if last.time and not self._layout.goes_back(last.time, time):
                self._skip[number] = replace(last)
        skip = self._skip.get(number)
        if skip is None:
            return False
        if self._layout.goes_back(skip.time, time):
            del self._skip[number]
            return False
        return self._layout.goes_back(time, skip.time) or line in skip


def read_logs(
    paths: Sequence[Path],
    options: Options,
    listen: Callable[[HistoryEntry], None] | None = None,
    progress: Progress | None = None,
) -> LogReport:
    """Read the log files among ``paths`` and in the folders among them.

    ``listen`` is told of every step of a node's history as it is read, ``progress`` of the bytes read from
    disk. Raises InputError if a path cannot be read or no line of a raft node is found.
    """
    reader = Reader(options, listen)
    sources, copies = find_sources(paths, reader.layouts)
    for _ in reader.reading_all(sources, progress):
        pass
    report = reader.finish(copies)
    if not any(file.relevant for file in report.files):
        files = [(str(file.path), file.damaged) for file in report.files]
        raise InputError(nothing_found(files, report.findings.notes, options))
    return report


def nothing_found(files: Sequence[tuple[str, str | None]], notes: Mapping[str, int], options: Options) -> str:
    """Why there is no line of a raft node in ``files``, each with what is wrong with it."""
    names = ", ".join(name for name, _ in files[:3])
    more = f" and {len(files) - 3:,} more" if len(files) > 3 else ""
    damaged = next((f" ({damaged})" for _, damaged in files if damaged), "")
    if notes.get("json-form"):
        what = (
            "raft messages are there in JSON that cannot be read; expected one object a line with 'message' "
        )
        what += "and '@timestamp', as 'jq -c' and 'journalctl -o cat' print it"
    elif notes.get("no-layout") or notes.get("unreadable"):
        pattern = options.pattern or PATTERNS[0]
        what = f"raft lines are there but not in the layout '{pattern}'; give theirs with --pattern"
    else:
        what = (
            "no line of a raft node in it; expected lines such as '[RaftManager id=1] Completed transition to"
        )
        what += " ...' of org.apache.kafka.raft"
    return f"{names}{more}{damaged}: {what}."
