"""Recorded runs: a folder with ``trace.jsonl.gz`` (one event a line) and ``run.json`` (a summary).

The recorder writes the steps of each node of a cluster, in the exact global order; the events that are steps
of a node carry the effects of the step and the node's state after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from msgspec import UNSET, Struct

from kraftcheck.evidence.recordings.lines import (
    CALLS,
    KEYS,
    MESSAGE,
    STEPS,
    WORLD,
    AdminResultLine,
    AnyLine,
    ApiVersionsLine,
    CallLine,
    ConfigLine,
    EndLine,
    LeftLine,
    Message,
    NodeConfig,
    ReceiveLine,
    RecordedState,
    Sent,
    Step,
    StepLine,
    Summary,
    names,
)
from kraftcheck.evidence.recordings.typed import Json, typed
from kraftcheck.support import codec
from kraftcheck.support.collector import without_collector
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text
from kraftcheck.support.gzip_lines import MAX_LINE_BYTES, gzip_lines

#: Fields about a node's step or message: on a line that cannot have one they are wrong, not unknown.
_ACTS = frozenset({"mid", "during", "s", "log", "persist", "out", "cb"})

#: The fields that a state and an entry of ``out`` may have; others are counted as unknown.
STATE, _SENT = names(RecordedState), names(Sent)

#: The files of a run.
FILES = ("run.json", "trace.jsonl.gz")

#: The node's server answers requests of this API, not its raft module; the recorder lists the answer among
#: the effects of the node's next step.
NOT_RAFT = "ApiVersions"


class Event(Struct, frozen=True):
    """One line of a trace. shown: the line as it is written."""

    line: AnyLine
    shown: Json
    where: str
    message: Message | None = None

    @property
    def seq(self) -> int:
        """The number of the line."""
        return self.line.seq

    @property
    def kind(self) -> str:
        """The ``ev`` of the line."""
        return self.line.kind

    @property
    def time(self) -> int:
        """The global time."""
        return self.line.time

    @property
    def label(self) -> str:
        """The kind of the event, for counts: ``recv Fetch request``, ``api append``, ``tick``."""
        if self.kind == "recv" and self.message is not None:
            return f"recv {self.message.api} {'request' if self.message.is_request else 'response'}"
        return f"api {self.line.call}" if isinstance(self.line, CallLine) else self.kind


class StepEvent(Event, frozen=True, kw_only=True):
    """A step of a node; ``now`` is the node's own clock. ``message``: the message handled; of an ``end``
    line, the one being handled when the process ended.
    """

    line: StepLine
    now: int

    @property
    def node(self) -> int:
        """The node."""
        return self.line.node

    @property
    def state(self) -> dict[str, Json] | None:
        """The state as it is written; ``None`` where no process runs."""
        state: dict[str, Json] | None = self.shown.get("s")
        return state

    @property
    def effects(self) -> dict[str, list[Json]]:
        """The effects but for messages, as they are written."""
        return {name: self.shown.get(name, []) for name in ("log", "persist", "cb")}

    @property
    def shows_clock(self) -> bool:
        """Whether the line shows the node's own clock."""
        return self.line.local_time is not UNSET


@dataclass(frozen=True, slots=True)
class Recording:
    """A run: its configuration, its events in order, and every message content by message id.

    unknown: the number of lines with an unknown field, by kind and field. summary, totals: ``run.json``, as a
    value and as it is written. notes: the recorder's notes by line.
    """

    name: str
    config: ConfigLine
    events: tuple[Event, ...]
    messages: dict[int, Message]
    summary: Summary
    totals: Json
    unknown: Counter[str]
    notes: dict[int, Json]


def read(folder: Path) -> Recording:
    """Read and validate the run in ``folder``. Raises InputError unless it is a whole run."""
    place = str(folder / "run.json")
    totals = codec.parse(read_text(folder / "run.json", "the summary of a run", most=MAX_LINE_BYTES), place)
    summary: Summary = typed(totals, Summary, place)
    trace = folder / "trace.jsonl.gz"
    with without_collector():
        reading = _Reading()
        for text, where in gzip_lines(trace, "the events of a recorded run"):
            line = codec.parse(text, where)
            reading.take(line, where)
    name = folder.name if summary.run is UNSET else summary.run
    recording = reading.whole(name, str(trace), summary, totals)
    if summary.events != len(recording.events):
        lines = f"the trace has {len(recording.events)} lines"
        raise InputError(f"{place}: 'events' says {summary.events}, {lines}.")
    return recording


def recording_of(lines: Iterable[Json], name: str = "lines") -> Recording:
    """A whole run in memory, without a summary. Raises InputError as :func:`read` does."""
    reading = _Reading()
    for number, line in enumerate(lines, 1):
        reading.take(line, f"{name}, line {number}")
    return reading.whole(name, name, Summary(len(reading.events)), {})


class _Head(Struct):
    """The fields of every line."""

    seq: int
    ev: str
    t: int


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

    def take(self, shown: Json, where: str) -> None:
        """Read one line. Raises InputError."""
        head: _Head = typed(shown, _Head, where)
        self._in_order(head, where)
        self._count_unknown(head.ev, shown, where)
        line: AnyLine = typed(shown, AnyLine, where)
        if isinstance(line, ConfigLine):
            self.config = line
            self.nodes = {node.id: node for node in line.nodes}
            if len(self.nodes) != len(line.nodes):
                raise InputError(f"{where}: field 'nodes' must name each node once.")
        elif head.ev == "note":
            self.notes[head.seq] = shown
        self.events.append(
            self._step(line, shown, where) if isinstance(line, Step) else self._world(line, shown, where)
        )

    def _in_order(self, head: _Head, where: str) -> None:
        events = self.events
        if head.seq != len(events):
            expected = f"expected {len(events)}; lines are missing or moved"
            raise InputError(f"{where}: 'seq' is {head.seq}, {expected}.")
        if head.ev not in STEPS and head.ev not in WORLD:
            raise InputError(f"{where}: unknown event '{head.ev}'.")
        if (head.ev == "config") != (not events):
            raise InputError(f"{where}: the first line, and no other, must be the 'config' line.")
        if events and events[-1].kind == "final":
            raise InputError(f"{where}: nothing may follow the 'final' line.")
        if head.t < (events[-1].time if events else 0):
            raise InputError(f"{where}: 't' is {head.t}, before the line above; lines were moved.")

    def whole(self, name: str, where: str, summary: Summary, totals: Json) -> Recording:
        """The run, if it is whole. Raises InputError otherwise."""
        if self.config is None:
            raise InputError(f"{where}: the trace is empty.")
        if self.events[-1].kind != "final":
            raise InputError(f"{where}: the trace ends without its 'final' line; it was cut off.")
        return Recording(
            name,
            self.config,
            tuple(self.events),
            self.messages,
            summary,
            totals,
            self.unknown,
            self.notes,
        )

    def _count_unknown(self, kind: str, shown: Json, where: str) -> None:
        more = shown.keys() - KEYS[kind]
        if not more:
            return
        wrong = sorted(more & _ACTS)
        if wrong:
            raise InputError(f"{where}: a line '{kind}' cannot have the field '{wrong[0]}'.")
        if kind != "note":
            self.unknown.update(f"{kind}.{key}" for key in more)

    def _step(self, line: StepLine, shown: Json, where: str) -> Event:
        if line.node not in self.nodes:
            raise InputError(f"{where}: the configuration names no node {line.node}.")
        message = None
        if isinstance(line, ReceiveLine):
            message = self._message(line.seq, shown, where)
        elif isinstance(line, EndLine) and line.during is not UNSET:
            message = self._message(line.seq, shown["during"], where)
            self._count("end.during", shown["during"], MESSAGE)
        elif isinstance(line, CallLine):
            for name in CALLS.get(line.call, ()):
                if name not in shown:
                    raise InputError(f"{where}: field '{name}' is missing.")
        now = line.local_time
        if now is UNSET:
            now = self.nodes[line.node].local_times(line.time)[0]
        if "s" in shown:
            self._count(f"{line.kind}.s", shown["s"], STATE)
        for sent, entry in zip(line.sent, shown.get("out", ()), strict=True):
            self._sent(line.seq, sent, entry, where)
        return StepEvent(line=line, shown=shown, where=where, message=message, now=now)

    def _world(self, line: AnyLine, shown: Json, where: str) -> Event:
        message = None
        if isinstance(line, LeftLine):
            message = self._message(line.seq, shown, where)
        elif isinstance(line, ApiVersionsLine):
            self._is_done(line.mid, line.seq, where)
        elif isinstance(line, AdminResultLine):
            self._admin_result(line, shown["data"], where)
        return Event(line, shown, where, message)

    def _message(self, seq: int, shown: Json, where: str) -> Message:
        message: Message = typed(shown, Message, where)
        message.seq = seq
        self._is_known(message, where)
        return message

    def _admin_result(self, line: AdminResultLine, data: Json, where: str) -> None:
        """The content of an answer to the client; its version and correlation id are those of the request."""
        request = self.messages.get(line.answers)
        numbers = (-1, -1) if request is None else (request.correlation, request.version)
        answer = Message(
            mid=line.mid,
            kind="resp",
            api=line.api,
            source=line.source,
            correlation=numbers[0],
            version=numbers[1],
            data=data,
            seq=line.seq,
        )
        self._is_known(answer, where)

    def _is_known(self, message: Message, where: str) -> None:
        self._is_done(message.mid, message.seq, where)
        self.messages[message.mid] = message
        try:
            message.content  # noqa: B018  # It must be of its type.
        except ValueError as error:
            raise InputError(f"{where}: field 'data': {error}.") from None

    def _is_done(self, mid: int, seq: int, where: str) -> None:
        if mid in self._done_at:
            raise InputError(
                f"{where}: message {mid} was already accounted for on line {self._done_at[mid] + 1}."
            )
        self._done_at[mid] = seq

    def _sent(self, seq: int, sent: Sent, shown: dict[str, Json], where: str) -> None:
        if sent.mid in self._sent_at:
            line = self._sent_at[sent.mid] + 1
            raise InputError(f"{where}: message {sent.mid} was already sent on line {line}.")
        if sent.mid in self._done_at and sent.api != NOT_RAFT:
            line = self._done_at[sent.mid] + 1
            raise InputError(f"{where}: message {sent.mid} arrived before, on line {line}.")
        self._sent_at[sent.mid] = seq
        if sent.is_request != ("re" not in shown):
            wrong = "a request in 'out' cannot have" if sent.is_request else "a response in 'out' must have"
            raise InputError(f"{where}: {wrong} the field 're'.")
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
