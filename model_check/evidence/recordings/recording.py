"""Recorded runs: a folder with ``trace.jsonl.gz`` (one event a line) and ``run.json`` (a summary).

The recorder writes the steps of each node of a cluster, in the exact global order; the events that are steps
of a node carry the effects of the step and the node's state after it.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from msgspec import UNSET

from kraftcheck.evidence.recordings.fields import Fields, Json, typed
from kraftcheck.evidence.recordings.lines import (
    CALLS,
    KEYS,
    WORLD,
    AdminResultLine,
    AnyLine,
    ApiVersionsLine,
    CallLine,
    ConfigLine,
    Content,
    EndLine,
    LeftLine,
    LostLine,
    NodeConfig,
    ReceiveLine,
    RecordedState,
    Sent,
    Step,
    StepLine,
    names,
)
from kraftcheck.evidence.recordings.lines import (
    STEPS as STEPS,
)
from kraftcheck.support import codec
from kraftcheck.support.collector import without_collector
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import opened, read_text

#: Fields about a node's step or message: on a line that cannot have one they are wrong, not unknown.
_ACTS = frozenset({"mid", "during", "s", "log", "persist", "out", "cb"})

#: The fields that a state, a message and an entry of ``out`` may have; others are counted as unknown.
STATE, _CONTENT, _SENT = names(RecordedState), names(Content), names(Sent)

#: The files of a run.
FILES = ("run.json", "trace.jsonl.gz")

#: The longest line and the largest content that are read; a run of more than ``_CHECKED_BYTES`` must not be
#: compressed more than ``MAX_RATIO`` times. Recorded runs have less than a hundredth of both, and a ratio of
#: 30.
MAX_LINE_BYTES, MAX_TRACE_BYTES = 2**20, 2**28
MAX_RATIO, _CHECKED_BYTES = 200, 16 * 2**20

#: The node's server answers requests of this API, not its raft module; the recorder lists the answer among
#: the effects of the node's next step.
NOT_RAFT = "ApiVersions"


class Message(NamedTuple):
    """A message with its content. ``destination`` is ``None`` on the line of the node that handles it;
    ``seq`` is the line that shows the content; ``why`` is the reason of its loss, if it was lost.
    """

    mid: int
    is_request: bool
    api: str
    source: int
    destination: int | None
    correlation: int
    version: int
    data: Fields
    synthetic: str | None
    seq: int = -1
    why: str | None = None


class Event(NamedTuple):
    """One line of a trace.

    ``time`` is the global time, ``now`` the node's own clock. ``message`` is the message handled; of an
    ``end`` line, the one being handled when the process ended. ``state`` is ``None`` where no process runs.
    """

    seq: int
    kind: str
    node: int | None
    time: int
    now: int
    line: AnyLine
    where: str
    message: Message | None
    log: tuple[Fields, ...] = ()
    persisted: tuple[Fields, ...] = ()
    sent: tuple[Sent, ...] = ()
    callbacks: tuple[Fields, ...] = ()
    state: dict[str, Json] | None = None

    @property
    def label(self) -> str:
        """The kind of the event, for counts: ``recv Fetch request``, ``api append``, ``tick``."""
        if self.kind == "recv" and self.message is not None:
            return f"recv {self.message.api} {'request' if self.message.is_request else 'response'}"
        return f"api {self.line.call}" if isinstance(self.line, CallLine) else self.kind

    @property
    def shows_clock(self) -> bool:
        """Whether the line shows the node's own clock."""
        return isinstance(self.line, Step) and self.line.local_time is not UNSET


@dataclass(frozen=True, slots=True)
class Recording:
    """A run: its configuration, its events in order, and every message content by message id.

    unknown: the number of lines with an unknown field, by kind and field. summary: ``run.json``. notes: the
    recorder's notes by line.
    """

    name: str
    config: ConfigLine
    events: tuple[Event, ...]
    messages: dict[int, Message]
    summary: Fields
    unknown: Counter[str]
    notes: dict[int, Json]


def read(folder: Path) -> Recording:
    """Read and validate the run in ``folder``. Raises InputError unless it is a whole run."""
    summary = _read_summary(folder / "run.json")
    trace = folder / "trace.jsonl.gz"
    with without_collector():
        reading = _Reading()
        for fields in _lines(trace):
            reading.take(fields)
    recording = reading.whole(summary.text("run", folder.name), str(trace), summary)
    given, lines = summary.number("events"), len(recording.events)
    if given != lines:
        raise InputError(f"{summary.where}: 'events' says {given}, the trace has {lines} lines.")
    return recording


def recording_of(lines: Iterable[Json], name: str = "lines") -> Recording:
    """A whole run in memory, without a summary. Raises InputError as :func:`read` does."""
    reading = _Reading()
    for number, line in enumerate(lines, 1):
        reading.take(Fields.of(line, f"{name}, line {number}"))
    return reading.whole(name, name, Fields({}, name))


def _read_summary(path: Path) -> Fields:
    text = read_text(path, "the summary of a run", most=MAX_LINE_BYTES)
    return Fields.of(codec.parse(text, str(path)), str(path))


def _lines(path: Path) -> Iterator[Fields]:
    number = 0
    try:
        with opened(path, "the events of a recorded run") as file, gzip.GzipFile(fileobj=file) as stream:
            while line := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                where = f"{path}, line {number}"
                if len(line) > MAX_LINE_BYTES:
                    raise InputError(f"{where}: longer than {MAX_LINE_BYTES:,} bytes; no event of a run is.")
                if stream.tell() > max(MAX_RATIO * file.tell(), _CHECKED_BYTES):
                    raise InputError(
                        f"{where}: the file is compressed more than {MAX_RATIO} times; no recorded run is."
                    )
                if stream.tell() > MAX_TRACE_BYTES:
                    raise InputError(
                        f"{where}: the events take more than {MAX_TRACE_BYTES:,} bytes; give a shorter run."
                    )
                yield Fields.of(_parse(line, where), where)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the gzip file is damaged or cut off after line {number}.") from error


def _parse(line: bytes, where: str) -> Json:
    try:
        return codec.parse(line.decode(), where)
    except UnicodeDecodeError:
        raise InputError(f"{where}: is not UTF-8 text.") from None


class _Reading:
    """The lines read so far; each is compared with those before it."""

    def __init__(self) -> None:
        self.config: ConfigLine | None = None
        self.nodes: dict[int, NodeConfig] = {}
        self.events: list[Event] = []
        self.messages: dict[int, Message] = {}
        self.unknown: Counter[str] = Counter()
        self.notes: dict[int, Json] = {}
        self._sent_at: dict[int, int] = {}
        self._done_at: dict[int, int] = {}

    def take(self, fields: Fields) -> None:
        """Read one line. Raises InputError."""
        seq = fields.number("seq")
        if seq != len(self.events):
            raise InputError(
                f"{fields.where}: 'seq' is {seq}, expected {len(self.events)}; lines are missing or moved."
            )
        kind, time = fields.text("ev"), fields.number("t")
        if kind not in STEPS and kind not in WORLD:
            raise InputError(f"{fields.where}: unknown event '{kind}'.")
        if (kind == "config") != (seq == 0):
            raise InputError(f"{fields.where}: the first line, and no other, must be the 'config' line.")
        if self.events and self.events[-1].kind == "final":
            raise InputError(f"{fields.where}: nothing may follow the 'final' line.")
        if time < (self.events[-1].time if self.events else 0):
            raise InputError(f"{fields.where}: 't' is {time}, before the line above; lines were moved.")
        self._count_unknown(kind, fields)
        line: AnyLine = typed(fields.values, AnyLine, fields.where)
        if isinstance(line, ConfigLine):
            self.config = line
            self.nodes = {node.id: node for node in line.nodes}
            if len(self.nodes) != len(line.nodes):
                raise InputError(f"{fields.where}: field 'nodes' must name each node once.")
        elif kind == "note":
            self.notes[seq] = fields.values
        event = self._step(kind, line, fields) if isinstance(line, Step) else self._world(kind, line, fields)
        self.events.append(event)

    def whole(self, name: str, where: str, summary: Fields) -> Recording:
        """The run, if it is whole. Raises InputError otherwise."""
        if self.config is None:
            raise InputError(f"{where}: the trace is empty.")
        if self.events[-1].kind != "final":
            raise InputError(f"{where}: the trace ends without its 'final' line; it was cut off.")
        events = tuple(self.events)
        return Recording(name, self.config, events, self.messages, summary, self.unknown, self.notes)

    def _count_unknown(self, kind: str, fields: Fields) -> None:
        more = fields.values.keys() - KEYS[kind]
        if not more:
            return
        wrong = sorted(more & _ACTS)
        if wrong:
            raise InputError(f"{fields.where}: a line '{kind}' cannot have the field '{wrong[0]}'.")
        if kind != "note":
            self.unknown.update(f"{kind}.{key}" for key in more)

    def _step(self, kind: str, line: StepLine, fields: Fields) -> Event:
        node, values, where = line.node, fields.values, fields.where
        if node not in self.nodes:
            raise InputError(f"{where}: the configuration names no node {node}.")
        message = None
        if isinstance(line, ReceiveLine):
            message = self._message(line.seq, line, where)
        elif isinstance(line, EndLine) and line.during is not UNSET:
            message = self._message(line.seq, line.during, where)
            self._count(f"{kind}.during", values["during"], _CONTENT)
        elif isinstance(line, CallLine):
            for name in CALLS.get(line.call, ()):
                fields.value(name)
        now = self.nodes[node].local_times(line.time)[0] if line.local_time is UNSET else line.local_time
        state = None
        if kind != "end":
            state = values["s"]
            self._count(f"{kind}.s", state, STATE)
        for sent, shown in zip(line.out, values.get("out", ()), strict=True):
            self._sent(line.seq, sent, shown, fields)
        return Event(
            line.seq,
            kind,
            node,
            line.time,
            now,
            line,
            where,
            message,
            tuple([Fields(entry, where) for entry in line.log]),
            tuple([Fields(entry, where) for entry in line.persist]),
            tuple(line.out),
            tuple([Fields(entry, where) for entry in line.cb]),
            state,
        )

    def _world(self, kind: str, line: AnyLine, fields: Fields) -> Event:
        message = None
        if isinstance(line, LeftLine):
            message = self._message(line.seq, line, fields.where)
        elif isinstance(line, ApiVersionsLine):
            self._is_done(line.mid, line.seq, fields.where)
        elif isinstance(line, AdminResultLine):
            self._admin_result(line, fields.where)
        return Event(line.seq, kind, None, line.time, line.time, line, fields.where, message)

    def _message(self, seq: int, line: ReceiveLine | LeftLine | Content, where: str) -> Message:
        self._is_done(line.mid, seq, where)
        synthetic = UNSET if isinstance(line, LeftLine) else line.synthetic
        message = Message(
            line.mid,
            line.kind == "req",
            line.api,
            line.source,
            line.to if isinstance(line, LeftLine) else None,
            line.correlation,
            line.version,
            Fields(line.data, where),
            None if synthetic is UNSET else synthetic,
            seq,
            line.why if isinstance(line, LostLine) else None,
        )
        self.messages[line.mid] = message
        return message

    def _admin_result(self, line: AdminResultLine, where: str) -> None:
        """The content of an answer to the client; its version and correlation id are those of the request."""
        self._is_done(line.mid, line.seq, where)
        request = self.messages.get(line.answers)
        correlation, version = (-1, -1) if request is None else (request.correlation, request.version)
        data = Fields(line.data, where)
        self.messages[line.mid] = Message(
            line.mid, False, line.api, line.source, -1, correlation, version, data, None, line.seq
        )

    def _is_done(self, mid: int, seq: int, where: str) -> None:
        if mid in self._done_at:
            raise InputError(
                f"{where}: message {mid} was already accounted for on line {self._done_at[mid] + 1}."
            )
        self._done_at[mid] = seq

    def _sent(self, seq: int, sent: Sent, shown: dict[str, Json], fields: Fields) -> None:
        if sent.mid in self._sent_at:
            line = self._sent_at[sent.mid] + 1
            raise InputError(f"{fields.where}: message {sent.mid} was already sent on line {line}.")
        if sent.mid in self._done_at and sent.api != NOT_RAFT:
            line = self._done_at[sent.mid] + 1
            raise InputError(f"{fields.where}: message {sent.mid} arrived before, on line {line}.")
        self._sent_at[sent.mid] = seq
        if sent.is_request != ("re" not in shown):
            wrong = "a request in 'out' cannot have" if sent.is_request else "a response in 'out' must have"
            raise InputError(f"{fields.where}: {wrong} the field 're'.")
        self._count("out", shown, _SENT)

    def _count(self, kind: str, shown: dict[str, Json], known: frozenset[str]) -> None:
        if not shown.keys() <= known:
            self.unknown.update(f"{kind}.{key}" for key in shown.keys() - known)


# Runs in folders.


def find_runs(folders: Iterable[Path]) -> list[Path]:
    """The runs among ``folders``, each once: a folder that is a run, or every ``run-*`` below a folder.

    Raises InputError for a folder without runs. An incomplete ``run-*`` is listed too: reading it reports the
    missing part.
    """
    found: dict[Path, Path] = {}
    for folder in folders:
        try:
            for run in _runs_in(folder):
                found.setdefault(run.resolve(), run)
        except (OSError, ValueError) as error:
            raise InputError(f"{folder}: cannot be read ({error}); give a folder of recorded runs.") from None
    return list(found.values())


def _runs_in(folder: Path) -> list[Path]:
    if folder.is_file():
        raise InputError(
            f"{folder}: is a file; give the folder of a recorded run, or a folder of such folders."
        )
    if not folder.exists():
        raise InputError(f"{folder}: there is no such folder; give the folder of a recorded run.")
    if any((folder / name).exists() for name in FILES):
        return [folder]
    runs = sorted(path for path in folder.rglob("run-*") if path.is_dir())
    if not runs:
        files = " and ".join(FILES)
        raise InputError(
            f"{folder}: there is no recorded run; expected {files}, or folders run-* that have them."
        )
    return runs
