"""Recorded runs: a folder with ``trace.jsonl.gz`` (one event a line) and ``run.json`` (a summary).

The recorder writes what each node of a cluster did, in the exact global order; the events that are steps
of a node carry the effects of the step and the node's state after it.
"""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kraftcheck.evidence.recordings.configuration import Config, NodeConfig, config_of
from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.support import codec
from kraftcheck.support.collector import without_collector
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import opened, read_text

#: Events that are steps of a node; every other kind is about the world around the nodes.
STEPS = frozenset({"start", "tick", "recv", "api", "expire", "end"})
WORLD = frozenset(
    {
        "config",
        "lost",
        "net",
        "pause",
        "wipe",
        "osFlush",
        "apiVersions",
        "adminResult",
        "note",
        "inflight",
        "final",
    }
)

_LINE = frozenset({"seq", "t", "ev"})
_STEP = _LINE | {"n", "lt", "s", "log", "persist", "out", "cb"}
_MESSAGE = frozenset({"mid", "kind", "api", "from", "corr", "ver", "data"})

#: Of a message in ``out``, the fields that there may be.
_SENT = frozenset({"mid", "to", "kind", "api", "re"})

#: Fields that say what a node did or handled: on a line that can have none of it they are wrong, not unknown.
_ACTS = frozenset({"mid", "during", "s", "log", "persist", "out", "cb"})

#: The fields that a line of each kind may have; others are counted as unknown.
KEYS: dict[str, frozenset[str]] = {
    "config": _LINE
    | {"scenario", "seed", "logLevel", "kafka", "clusterId", "baseEpochMs", "initialKraftVersion"}
    | {"timeouts", "network", "nodes"},
    "start": _STEP
    | {"inc", "dirId", "canBecomeVoter", "autoJoin", "lostUnflushed", "persisted", "logBatches"},
    "tick": _STEP,
    "recv": _STEP | _MESSAGE | {"synthetic"},
    "api": _STEP | {"call", "epoch", "values", "offset", "timeoutMs", "threw", "version", "clean", "created"},
    "expire": _STEP,
    "end": _STEP | {"inc", "reason", "during", "exception", "powerLoss", "leo", "flushed"},
    "lost": _LINE | _MESSAGE | {"why", "to"},
    "inflight": _LINE | _MESSAGE | {"to"},
    "net": _LINE | {"what", "blocked"},
    "pause": _LINE | {"n", "ms"},
    "wipe": _LINE | {"n", "dirId"},
    "osFlush": _LINE | {"n", "to"},
    "apiVersions": _LINE | {"n", "mid", "from"},
    "adminResult": _LINE | {"from", "mid", "re", "api", "data"},
    "final": _LINE | {"leaders", "committedDataRecords", "counts"},
}

#: The fields that a node's state may have; others are counted as unknown.
STATE = frozenset(
    {
        *("state", "epoch", "leader", "voted", "leo", "lastEpoch", "hw", "logStart", "snapshot"),
        *("voters", "votersOffset", "kraftVersion", "isVoter", "deadlines", "election"),
        *("epochStart", "progress", "unacked", "pendingAdd", "pendingRemove", "resignRequested"),
        *("preferredSuccessors", "fetchingSnapshot", "shuttingDown"),
    }
)

#: The longest line and the largest content that are read; beyond ``_CHECKED_BYTES`` a run is not compressed
#: more than ``MAX_RATIO`` times. Recorded runs have less than a hundredth of both, and a ratio of 30.
MAX_LINE_BYTES, MAX_TRACE_BYTES = 2**20, 2**28
MAX_RATIO, _CHECKED_BYTES = 200, 16 * 2**20

#: Requests of this API are answered by the node's server, not by its raft module; the recorder lists the
#: answer among the effects of the node's next step.
NOT_RAFT = "ApiVersions"


class Message(NamedTuple):
    """A message with its content. ``destination`` is ``None`` on the line of the node that handles it;
    ``seq`` is the line that shows the content; ``why`` says why it was lost, if it was.
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


class Sent(NamedTuple):
    """A message leaves a node; ``answers`` is the id of the request that a response answers."""

    mid: int
    destination: int
    is_request: bool
    api: str
    answers: int | None


class Event(NamedTuple):
    """One line of a trace.

    ``time`` is the global time, ``now`` the node's own clock. ``message`` is the message handled; of an
    ``end`` line, the one being handled when the process ended. ``state`` is ``None`` where there is no
    process to show.
    """

    seq: int
    kind: str
    node: int | None
    time: int
    now: int
    fields: Fields
    message: Message | None
    log: tuple[Fields, ...]
    persisted: tuple[Fields, ...]
    sent: tuple[Sent, ...]
    callbacks: tuple[Fields, ...]
    state: Fields | None

    @property
    def label(self) -> str:
        """What kind of event it is, for counts: ``recv Fetch request``, ``api append``, ``tick``."""
        if self.kind == "recv" and self.message is not None:
            return f"recv {self.message.api} {'request' if self.message.is_request else 'response'}"
        if self.kind == "api":
            return f"api {self.fields.text('call')}"
        return self.kind


@dataclass(frozen=True, slots=True)
class Recording:
    """A run: its configuration, its events in order, and every message content by message id.

    unknown: how many lines have a field that is not known, by kind and field. summary: ``run.json``.
    """

    name: str
    config: Config
    events: tuple[Event, ...]
    messages: dict[int, Message]
    summary: Fields
    unknown: Counter[str] = field(default_factory=Counter)


def read(folder: Path) -> Recording:
    """Read and validate the run in ``folder``. Raises InputError for anything that is not a whole run."""
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
    """The lines read so far; each is held against those before it."""

    def __init__(self) -> None:
        self.config: Config | None = None
        self.nodes: dict[int, NodeConfig] = {}
        self.events: list[Event] = []
        self.messages: dict[int, Message] = {}
        self.unknown: Counter[str] = Counter()
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
        if kind == "config":
            self.config = config_of(fields)
            self.nodes = {node.id: node for node in self.config.nodes}
        self._count_unknown(kind, fields)
        event = self._step(seq, kind, time, fields) if kind in STEPS else self._world(seq, kind, time, fields)
        self.events.append(event)

    def whole(self, name: str, where: str, summary: Fields) -> Recording:
        """The run, if it is whole. Raises InputError otherwise."""
        if self.config is None:
            raise InputError(f"{where}: the trace is empty.")
        if self.events[-1].kind != "final":
            raise InputError(f"{where}: the trace ends without its 'final' line; it was cut off.")
        return Recording(name, self.config, tuple(self.events), self.messages, summary, self.unknown)

    def _count_unknown(self, kind: str, fields: Fields) -> None:
        known = KEYS.get(kind, _LINE)
        more = fields.values.keys() - known
        if not more:
            return
        wrong = sorted(more & _ACTS)
        if wrong:
            raise InputError(f"{fields.where}: a line '{kind}' cannot have the field '{wrong[0]}'.")
        if kind != "note":
            self.unknown.update(f"{kind}.{key}" for key in more)

    def _step(self, seq: int, kind: str, time: int, fields: Fields) -> Event:
        node = self._node(fields)
        values = fields.values
        message = None
        if kind == "recv":
            message = self._message(seq, fields)
        elif kind == "end" and "during" in values:
            during = fields.inner("during")
            message = self._message(seq, during)
            self.unknown.update(
                f"end.during.{key}" for key in during.values.keys() - _MESSAGE - {"synthetic"}
            )
        now = time
        if "lt" in values:
            now = fields.number("lt")
        elif self.nodes[node].is_skewed:
            now = self.nodes[node].local_times(time)[0]
        state = None if kind == "end" else fields.inner("s")
        if state is not None and not state.values.keys() <= STATE:
            self.unknown.update(f"{kind}.s.{key}" for key in state.values.keys() - STATE)
        return Event(
            seq,
            kind,
            node,
            time,
            now,
            fields,
            message,
            tuple(fields.objects("log")) if "log" in values else (),
            tuple(fields.objects("persist")) if "persist" in values else (),
            tuple([self._sent(seq, sent) for sent in fields.objects("out")]) if "out" in values else (),
            tuple(fields.objects("cb")) if "cb" in values else (),
            state,
        )

    def _world(self, seq: int, kind: str, time: int, fields: Fields) -> Event:
        message = self._message(seq, fields) if kind in ("lost", "inflight") else None
        if kind == "apiVersions":
            self._is_done(fields.number("mid"), seq, fields)
        elif kind == "adminResult":
            self._admin_result(seq, fields)
        return Event(seq, kind, None, time, time, fields, message, (), (), (), (), None)

    def _node(self, fields: Fields) -> int:
        node = fields.number("n")
        if node not in self.nodes:
            raise InputError(f"{fields.where}: the configuration names no node {node}.")
        return node

    def _message(self, seq: int, fields: Fields) -> Message:
        mid = fields.number("mid")
        self._is_done(mid, seq, fields)
        values = fields.values
        message = Message(
            mid,
            _is_request(fields),
            fields.text("api"),
            fields.number("from"),
            fields.number("to") if "to" in values else None,
            fields.number("corr"),
            fields.number("ver"),
            fields.inner("data"),
            fields.text("synthetic") if "synthetic" in values else None,
            seq,
            fields.text("why") if "why" in values else None,
        )
        self.messages[mid] = message
        return message

    def _admin_result(self, seq: int, fields: Fields) -> None:
        """The content of an answer to the client; its version and correlation id are those of the request."""
        mid, api, source = fields.number("mid"), fields.text("api"), fields.number("from")
        self._is_done(mid, seq, fields)
        data, request = fields.inner("data"), self.messages.get(fields.number("re"))
        correlation, version = (-1, -1) if request is None else (request.correlation, request.version)
        self.messages[mid] = Message(mid, False, api, source, -1, correlation, version, data, None, seq)

    def _is_done(self, mid: int, seq: int, fields: Fields) -> None:
        if mid in self._done_at:
            raise InputError(
                f"{fields.where}: message {mid} was already accounted for on line {self._done_at[mid] + 1}."
            )
        self._done_at[mid] = seq

    def _sent(self, seq: int, fields: Fields) -> Sent:
        mid, is_request = fields.number("mid"), _is_request(fields)
        if mid in self._sent_at:
            line = self._sent_at[mid] + 1
            raise InputError(f"{fields.where}: message {mid} was already sent on line {line}.")
        sent = Sent(
            mid,
            fields.number("to"),
            is_request,
            fields.text("api"),
            None if is_request else fields.number("re"),
        )
        if mid in self._done_at and sent.api != NOT_RAFT:
            line = self._done_at[mid] + 1
            raise InputError(f"{fields.where}: message {mid} arrived before, on line {line}.")
        self._sent_at[mid] = seq
        if is_request and "re" in fields:
            raise InputError(f"{fields.where}: a request in 'out' cannot have the field 're'.")
        if not fields.values.keys() <= _SENT:
            self.unknown.update(f"out.{key}" for key in fields.values.keys() - _SENT)
        return sent


def _is_request(fields: Fields) -> bool:
    kind = fields.text("kind")
    if kind not in ("req", "resp"):
        raise InputError(f"{fields.where}: field 'kind' must be 'req' or 'resp', found '{kind}'.")
    return kind == "req"
