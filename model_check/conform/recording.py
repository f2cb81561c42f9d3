"""Recorded runs: a folder with ``trace.jsonl.gz`` (one event a line) and ``run.json`` (a summary).

The recorder writes what each node of a cluster did, in the exact global order; the events that are steps
of a node carry the effects of the step and the node's state after it.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from model_check.conform.fields import Fields, Json
from model_check.errors import InputError

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


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """A node of the cluster as the run began."""

    id: int
    directory: str
    initial_voter: bool
    can_become_voter: bool


@dataclass(frozen=True, slots=True)
class Timeouts:
    """The configured times, in ms."""

    election: int
    fetch: int
    election_backoff_max: int
    linger: int
    request: int
    retry_backoff: int
    fetch_max_wait: int


@dataclass(frozen=True, slots=True)
class Config:
    """The first line of a trace."""

    cluster_id: str
    initial_kraft_version: int
    timeouts: Timeouts
    nodes: tuple[NodeConfig, ...]


@dataclass(frozen=True, slots=True)
class Message:
    """A message with its content. ``destination`` is ``None`` on the line of the node that handles it."""

    mid: int
    is_request: bool
    api: str
    source: int
    destination: int | None
    correlation: int
    version: int
    data: Fields
    synthetic: str | None


@dataclass(frozen=True, slots=True)
class Sent:
    """A message leaves a node; ``answers`` is the id of the request that a response answers."""

    mid: int
    destination: int
    is_request: bool
    api: str
    answers: int | None


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a trace.

    ``now`` is the node's own clock. ``message`` is the message handled; of an ``end`` line, the one being
    handled when the process ended. ``state`` is ``None`` where there is no process to show.
    """

    seq: int
    kind: str
    node: int | None
    now: int
    fields: Fields
    message: Message | None
    log: tuple[Fields, ...]
    persisted: tuple[Fields, ...]
    sent: tuple[Sent, ...]
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
    """A run: its configuration, its events in order, and every message content by message id."""

    name: str
    config: Config
    events: tuple[Event, ...]
    messages: dict[int, Message]


def read(folder: Path) -> Recording:
    """Read and validate the run in ``folder``. Raises InputError for anything that is not a whole run."""
    summary = _read_summary(folder / "run.json")
    trace = folder / "trace.jsonl.gz"
    events: list[Event] = []
    messages: dict[int, Message] = {}
    for fields in _lines(trace):
        event = _event(fields, len(events))
        if event.message is not None:
            messages[event.message.mid] = event.message
        events.append(event)
    if not events:
        raise InputError(f"{trace}: the trace is empty.")
    if events[-1].kind != "final":
        raise InputError(f"{trace}: the trace ends without its 'final' line; it was cut off.")
    if summary.number("events") != len(events):
        expected = summary.number("events")
        raise InputError(f"{summary.where}: 'events' says {expected}, the trace has {len(events)} lines.")
    if events[0].kind != "config":
        raise InputError(f"{events[0].fields.where}: the first line must be the 'config' line.")
    return Recording(summary.text("run", folder.name), _config(events[0].fields), tuple(events), messages)


def _read_summary(path: Path) -> Fields:
    try:
        return Fields.of(json.loads(path.read_text(encoding="utf-8")), str(path))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON ({error}).") from error


def _lines(path: Path) -> Iterator[Fields]:
    number = 0
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                where = f"{path}, line {number}"
                yield Fields.of(_parse(line, where), where)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the gzip file is damaged or cut off after line {number}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: the text after line {number} is not UTF-8.") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from error


def _parse(line: str, where: str) -> Json:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON ({error}).") from error


def _config(fields: Fields) -> Config:
    times = fields.inner("timeouts")
    timeouts = Timeouts(
        election=times.number("controller.quorum.election.timeout.ms"),
        fetch=times.number("controller.quorum.fetch.timeout.ms"),
        election_backoff_max=times.number("controller.quorum.election.backoff.max.ms"),
        linger=times.number("controller.quorum.append.linger.ms"),
        request=times.number("controller.quorum.request.timeout.ms"),
        retry_backoff=times.number("controller.quorum.retry.backoff.ms"),
        fetch_max_wait=times.number("fetchMaxWaitMs"),
    )
    nodes = tuple(
        NodeConfig(
            node.number("id"), node.text("dirId"), node.flag("initialVoter"), node.flag("canBecomeVoter")
        )
        for node in fields.objects("nodes")
    )
    return Config(fields.text("clusterId"), fields.number("initialKraftVersion"), timeouts, nodes)


def _event(fields: Fields, expected_seq: int) -> Event:
    seq = fields.number("seq")
    if seq != expected_seq:
        raise InputError(
            f"{fields.where}: 'seq' is {seq}, expected {expected_seq}; lines are missing or moved."
        )
    kind = fields.text("ev")
    if kind not in STEPS and kind not in WORLD:
        raise InputError(f"{fields.where}: unknown event '{kind}'.")
    time = fields.number("t")
    shows_state = kind in STEPS - {"end"}
    return Event(
        seq=seq,
        kind=kind,
        node=fields.number("n") if kind in STEPS else None,
        now=fields.number("lt", time),
        fields=fields,
        message=_message(fields, kind),
        log=tuple(fields.objects("log", [])),
        persisted=tuple(fields.objects("persist", [])),
        sent=tuple(_sent(sent) for sent in fields.objects("out", [])),
        state=fields.inner("s") if shows_state else None,
    )


def _message(fields: Fields, kind: str) -> Message | None:
    if kind == "end":
        if "during" not in fields:
            return None
        fields = fields.inner("during")
    elif kind not in ("recv", "lost", "inflight"):
        return None
    return Message(
        mid=fields.number("mid"),
        is_request=_is_request(fields),
        api=fields.text("api"),
        source=fields.number("from"),
        destination=fields.number("to") if "to" in fields else None,
        correlation=fields.number("corr"),
        version=fields.number("ver"),
        data=fields.inner("data"),
        synthetic=fields.text("synthetic") if "synthetic" in fields else None,
    )


def _sent(fields: Fields) -> Sent:
    is_request = _is_request(fields)
    return Sent(
        mid=fields.number("mid"),
        destination=fields.number("to"),
        is_request=is_request,
        api=fields.text("api"),
        answers=None if is_request else fields.number("re"),
    )


def _is_request(fields: Fields) -> bool:
    kind = fields.text("kind")
    if kind not in ("req", "resp"):
        raise InputError(f"{fields.where}: field 'kind' must be 'req' or 'resp', found '{kind}'.")
    return kind == "req"
