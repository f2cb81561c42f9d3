"""The messages of the drive protocol as JSON; ``docs/drive.md`` describes them for implementers.

Requests, responses, records and states have the form in which recordings of Kafka show them
(:mod:`kraftcheck.evidence.recordings`): the names of Kafka's message schemas, -1 for unknown values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec.structs import asdict
from msgspec.structs import fields as struct_fields

from kraftcheck.evidence.adapters.asked import Question, times_of
from kraftcheck.evidence.adapters.stimuli import Crash, Start
from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.evidence.recordings.lines import State
from kraftcheck.evidence.recordings.wire import api_of, read_message, write_message
from kraftcheck.evidence.recordings.wire_codec import directory, uuid
from kraftcheck.evidence.recordings.wire_records import (
    read_batch,
    read_quorum_state,
    read_snapshot,
    read_snapshot_id,
    read_voter_set,
    write_batch,
    write_snapshot,
    write_snapshot_id,
    write_voter_set,
    write_whole_quorum_state,
)
from kraftcheck.reference import effects, events
from kraftcheck.reference.config import Times, span
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Duration, Effect
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import log_of
from kraftcheck.reference.messages import FetchSnapshotResponse, Message, VoteResponse
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError

#: The version of the protocol that this package speaks.
PROTOCOL = 1

#: The fields of the state that an adapter may show.
STATE = tuple(each.encode_name for each in struct_fields(State))

#: Switches of the protocol that are configuration to an implementation, and their names there.
CONFIGURED = {
    "fetch_timeout_ms": "fetchTimeoutMs",
    "request_timeout_ms": "requestTimeoutMs",
    "fetch_max_wait_ms": "fetchMaxWaitMs",
    "fetch_max_batches": "fetchMaxBatches",
    "fetch_snapshot_max_bytes": "fetchSnapshotMaxBytes",
}


class _Part(NamedTuple):
    """A field of an event: its attribute, and how it is written and read; by default it is a number."""

    attribute: str
    write: Callable[[Any], Json] = lambda value: value
    read: Callable[[Fields, str], Any] = Fields.number


_NUMBERS = _Part("values", list, Fields.numbers)
_EPOCH = {"epoch": _Part("epoch")}
_REQUEST = {"from": _Part("source"), "requestId": _Part("correlation")}


def _timers(data: Fields, key: str) -> tuple[Timer, ...]:
    return tuple(codec.decode(word, Timer, key) for word in data.items(key))


def _optional(data: Fields, key: str) -> int | None:
    return None if data.value(key) is None else data.number(key)


#: The events that carry no message by the name of their step, and what is written of each.
_LOCAL: Mapping[str, tuple[type, Mapping[str, _Part]]] = {
    "poll": (
        events.Poll,
        {
            "expired": _Part("expired", lambda timers: [timer.value for timer in timers], _timers),
            "discovery": _Part("discovery", read=_optional),
            "now": _Part("now"),
        },
    ),
    "requestTimedOut": (events.RequestTimedOut, {"node": _Part("node")}),
    "backoffExpired": (events.BackoffExpired, {"node": _Part("node")}),
    "fetchWaitExpired": (events.FetchWaitExpired, _REQUEST),
    "append": (events.Append, {**_EPOCH, "values": _NUMBERS}),
    "resign": (events.Resign, _EPOCH),
    "upgradeKRaftVersion": (events.UpgradeKRaftVersion, {**_EPOCH, "version": _Part("version")}),
    "createSnapshot": (
        events.CreateSnapshot,
        {
            "snapshotId": _Part("id", write_snapshot_id, lambda data, _: read_snapshot_id(data)),
            "values": _NUMBERS,
            "size": _Part("size"),
            "deletePrefix": _Part("delete_prefix", read=Fields.flag),
        },
    ),
    "shutdown": (events.Shutdown, {}),
}
_KINDS: Mapping[type, str] = {
    Start: "start",
    events.RequestReceived: "request",
    events.ResponseReceived: "response",
    **{kind: name for name, (kind, _) in _LOCAL.items()},
    Crash: "crash",
}

#: The kinds of steps that an adapter may support.
EVENTS = tuple(_KINDS.values())

_snapshot_of = {"snapshot": lambda effect: write_snapshot(effect.snapshot)}
_offset_to = {"to": attrgetter("offset")}

#: The effects by class: their names, and what is written of each that depends on nothing else.
_EFFECTS: Mapping[type, tuple[str, Mapping[str, Callable[[Any], Json]]]] = {
    effects.Persist: ("persist", {}),
    effects.AppendBatch: ("append", {"batches": lambda effect: [write_batch(effect.batch)]}),
    effects.Truncate: ("truncate", _offset_to),
    effects.Flush: ("flush", _offset_to),
    effects.StoreSnapshot: ("storeSnapshot", _snapshot_of),
    effects.DeleteBefore: ("deleteBefore", {"snapshotId": lambda effect: write_snapshot_id(effect.id)}),
    effects.LoadSnapshot: ("loadSnapshot", _snapshot_of),
    effects.Send: (
        "request",
        {
            "to": attrgetter("to"),
            "correlationId": attrgetter("correlation"),
            "api": lambda effect: api_of(effect.request),
            "data": lambda effect: write_message(effect.request),
        },
    ),
    effects.Reply: (
        "response",
        {
            "to": attrgetter("to"),
            "requestId": attrgetter("correlation"),
            "api": lambda effect: api_of(effect.response),
            "data": lambda effect: _response(effect.response),
        },
    ),
    effects.HighWatermark: ("highWatermark", {"offset": attrgetter("offset")}),
    effects.Transition: (
        "transition",
        {"from": attrgetter("source"), "to": attrgetter("target"), "epoch": attrgetter("epoch")},
    ),
    effects.ArmTimer: ("timer", {}),
    effects.AppendAccepted: ("appendAccepted", {"offset": attrgetter("offset")}),
    effects.CallFailed: ("callFailed", {"reason": attrgetter("reason")}),
    effects.ForgetRequests: ("forgetRequests", {"node": attrgetter("node")}),
    effects.Stop: ("stop", {}),
    effects.Fatal: ("fatal", {"reason": attrgetter("sentence")}),
}

#: The effects that an adapter may report.
EFFECTS = tuple(name for name, _ in _EFFECTS.values())


# Questions.


def encode_question(question: Question, identity: Replica, protocol: Protocol) -> Json:
    """A step as it is sent to an adapter, without its ``id``."""
    event = question.event
    asked: dict[str, Json] = {"type": kind_of(event), "now": question.now}
    if isinstance(event, Start):
        return {**asked, **_start(identity, question.disk, protocol)}
    if isinstance(event, events.RequestReceived):
        content = {"api": api_of(event.request), "data": write_message(event.request)}
        return {**asked, "from": event.source, "requestId": event.correlation, **content}
    if isinstance(event, events.ResponseReceived):
        content = {"api": api_of(event.response), "data": _response(event.response)}
        return {**asked, "from": event.source, "correlationId": event.correlation, **content}
    _, parts = _LOCAL.get(asked["type"], (Crash, {}))
    return asked | {
        key: part.write(getattr(event, part.attribute)) for key, part in parts.items() if key != "now"
    }


def kind_of(event: Event | Start | Crash) -> str:
    """The name of a step, one of ``EVENTS``."""
    return _KINDS[type(event)]


def _start(identity: Replica, disk: Disk, protocol: Protocol) -> dict[str, Json]:
    times = times_of(protocol)
    update_period = span(times, Duration.UPDATE_VOTER_PERIOD)
    stored = disk.quorum_state
    variant = codec.encode(protocol, Protocol)
    assert isinstance(variant, dict)
    return {
        "identity": {
            "replicaId": identity.id,
            "replicaDirectoryId": uuid(identity.key.directory),
            "clusterId": identity.cluster_id,
            "endpoints": [asdict(endpoint) for endpoint in identity.endpoints],
            "canBecomeVoter": identity.can_become_voter,
            "autoJoin": identity.auto_join,
            "voters": write_voter_set(identity.bootstrap_voters),
            "kraftVersion": identity.bootstrap_kraft_version,
            "maxKraftVersion": identity.max_kraft_version,
        },
        "config": {
            "electionTimeoutMs": times.election_timeout,
            "electionBackoffMaxMs": times.election_backoff_max,
            "retryBackoffMs": times.retry_backoff,
            "lingerMs": times.append_linger,
            "updateVoterPeriodMs": None if update_period is None else update_period.low,
            **{name: getattr(protocol, field) for field, name in CONFIGURED.items()},
        },
        "variant": {name: value for name, value in variant.items() if name not in CONFIGURED},
        "disk": {
            "quorumState": None if stored is None else write_whole_quorum_state(stored),
            "logStart": disk.log.start_offset,
            "snapshots": [write_snapshot(snapshot) for snapshot in disk.log.snapshots],
            "batches": [write_batch(batch) for batch in disk.log.batches],
        },
    }


def _response(response: Message) -> Json:
    """A response as Kafka's JSON shows it; the flag of the KIP-996 draft is one more field, and so is the
    snapshot of which a FetchSnapshot response brings a part.
    """
    data = write_message(response)
    if isinstance(response, FetchSnapshotResponse) and response.content is not None:
        data["topics"][0]["partitions"][0]["snapshot"] = write_snapshot(response.content)
    if isinstance(response, VoteResponse) and response.pre_vote is not None and data["topics"]:
        data["topics"][0]["partitions"][0]["preVote"] = response.pre_vote
    return data


# Effects.


def encode_effect(effect: Effect, before: Replica, times: Times) -> dict[str, Json]:
    """An effect of a step of ``before``. The ``ms`` of a timer are a pair, at least and at most; ``None``: it
    never expires, and ``"remaining"``: it continues to run.
    """
    name, parts = _EFFECTS[type(effect)]
    shown: dict[str, Json] = {"effect": name, **{key: write(effect) for key, write in parts.items()}}
    if isinstance(effect, effects.Persist):
        state = write_whole_quorum_state(effect.quorum_state)
        # Version 0 of the quorum-state file has no directory id of a vote.
        shown["quorumState"] = (
            state if before.kraft_version >= 1 else {**state, "votedDirectoryId": uuid(None)}
        )
    elif isinstance(effect, effects.ArmTimer):
        lasts = span(times, effect.duration)
        spread: Json = None if lasts is None else (lasts.low, lasts.high)
        shown["timer"] = effect.timer.value
        shown["ms"] = "remaining" if effect.duration is Duration.REMAINING else spread
    return shown


# Reading questions, for the adapter of the reference.


def decode_start(data: Fields) -> tuple[Replica, Disk, Protocol, Times]:
    """Identity, disk, protocol and times of a ``start``. Raises InputError."""
    return _identity(data.inner("identity")), _disk(data.inner("disk")), *_config(data)


def _identity(data: Fields) -> Replica:
    endpoints = tuple(
        Endpoint(each.text("name"), each.text("host"), each.number("port"))
        for each in data.objects("endpoints")
    )
    cluster = data.value("clusterId")
    return Replica(
        key=ReplicaKey(data.number("replicaId"), directory(data.text("replicaDirectoryId"))),
        bootstrap_voters=read_voter_set(data),
        endpoints=endpoints,
        bootstrap_kraft_version=data.number("kraftVersion"),
        can_become_voter=data.flag("canBecomeVoter"),
        auto_join=data.flag("autoJoin"),
        max_kraft_version=data.number("maxKraftVersion"),
        cluster_id=None if cluster is None else data.text("clusterId"),
        next_correlation=0,
    )


def _disk(data: Fields) -> Disk:
    batches = tuple(read_batch(entry) for entry in data.objects("batches"))
    snapshots = tuple(read_snapshot(entry) for entry in data.objects("snapshots"))
    try:
        log = log_of(batches, data.number("logStart"), snapshots)
    except ValueError as error:
        raise InputError(f"{data.where}: {error}.") from None
    return Disk(read_quorum_state(data.value("quorumState"), data.where), log, log.end_offset)


def _config(data: Fields) -> tuple[Protocol, Times]:
    config = data.inner("config")
    configured = {field: config.value(name) for field, name in CONFIGURED.items()}
    variant = {**data.inner("variant").values, **configured}
    protocol = codec.decode(variant, Protocol, f"{data.where}: variant")
    return protocol, replace(
        times_of(protocol),
        election_timeout=config.number("electionTimeoutMs"),
        election_backoff_max=config.number("electionBackoffMaxMs"),
        retry_backoff=config.number("retryBackoffMs"),
        append_linger=config.number("lingerMs"),
    )


def decode_event(data: Fields) -> Event:
    """The event of a step that is neither a start nor a crash. Raises InputError."""
    kind, now = data.text("type"), data.number("now")
    if kind == "request":
        request: Any = read_message(data.text("api"), data.inner("data"), is_request=True)
        return events.RequestReceived(data.number("from"), request, data.number("requestId"), now)
    if kind == "response":
        response = _read_response(data)
        return events.ResponseReceived(data.number("from"), response, data.number("correlationId"), now)
    if kind not in _LOCAL:
        raise InputError(f"{data.where}: there is no message of type {kind!r}.")
    event, parts = _LOCAL[kind]
    found: Event = event(**{part.attribute: part.read(data, key) for key, part in parts.items()})
    return found


def _read_response(data: Fields) -> Any:
    response: Any = read_message(data.text("api"), data.inner("data"), is_request=False)
    if not isinstance(response, VoteResponse | FetchSnapshotResponse) or response.error is not ErrorCode.NONE:
        return response
    partition = data.inner("data").only("topics").only("partitions")
    if isinstance(response, VoteResponse):
        return replace(response, pre_vote=partition.flag("preVote") if "preVote" in partition else None)
    if "snapshot" in partition:
        return replace(response, content=read_snapshot(partition.inner("snapshot")))
    return response
