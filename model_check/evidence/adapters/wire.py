"""The messages of the drive protocol as JSON; ``docs/drive.md`` describes them for implementers.

Requests, responses, records and states have the form in which recordings of Kafka show them
(:mod:`kraftcheck.evidence.recordings`): the names of Kafka's message schemas, -1 for unknown values. Every
other value has the fields of its class in the reference, in camel case unless the tables below rename them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict
from msgspec.structs import fields as struct_fields

from kraftcheck.evidence.adapters.asked import Question, times_of
from kraftcheck.evidence.adapters.deadlines import SHUTDOWN_TIMEOUT_MS
from kraftcheck.evidence.adapters.draws import Draw, drawn_span, read_draw
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
from kraftcheck.reference.fatal import FatalReason, RefusalReason
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.log import Batch, Snapshot, SnapshotId, log_of
from kraftcheck.reference.messages import FetchSnapshotResponse, Message, VoteResponse
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError

#: The version of the protocol that this package speaks.
PROTOCOL = 1

#: The fields of the state that an adapter may show.
STATE = tuple(each.encode_name for each in struct_fields(State))

#: Switches of the protocol, and times, that are configuration to an implementation, and their names there.
CONFIGURED = {
    "fetch_timeout_ms": "fetchTimeoutMs",
    "request_timeout_ms": "requestTimeoutMs",
    "fetch_max_wait_ms": "fetchMaxWaitMs",
    "fetch_max_batches": "fetchMaxBatches",
    "fetch_snapshot_max_bytes": "fetchSnapshotMaxBytes",
}
_TIMES = {
    "election_timeout": "electionTimeoutMs",
    "election_backoff_max": "electionBackoffMaxMs",
    "retry_backoff": "retryBackoffMs",
    "append_linger": "lingerMs",
}

#: By class the name of a step or effect, and the fields whose names differ from those of the class.
Names = Mapping[type[Struct], tuple[str, Mapping[str, str]]]

_STEPS: Names = {
    Start: ("start", {}),
    events.RequestReceived: ("request", {"source": "from", "correlation": "requestId"}),
    events.ResponseReceived: ("response", {"source": "from", "correlation": "correlationId"}),
    events.Poll: ("poll", {}),
    events.RequestTimedOut: ("requestTimedOut", {}),
    events.BackoffExpired: ("backoffExpired", {}),
    events.FetchWaitExpired: ("fetchWaitExpired", {"source": "from", "correlation": "requestId"}),
    events.Append: ("append", {}),
    events.Resign: ("resign", {}),
    events.UpgradeKRaftVersion: ("upgradeKRaftVersion", {}),
    events.CreateSnapshot: ("createSnapshot", {"id": "snapshotId"}),
    events.Shutdown: ("shutdown", {}),
    Crash: ("crash", {}),
}
_EFFECTS: Names = {
    effects.Persist: ("persist", {}),
    effects.AppendBatch: ("append", {"batch": "batches"}),
    effects.Truncate: ("truncate", {"offset": "to"}),
    effects.Flush: ("flush", {"offset": "to"}),
    effects.StoreSnapshot: ("storeSnapshot", {}),
    effects.DeleteBefore: ("deleteBefore", {"id": "snapshotId"}),
    effects.LoadSnapshot: ("loadSnapshot", {}),
    effects.Send: ("request", {"correlation": "correlationId"}),
    effects.Reply: ("response", {"correlation": "requestId"}),
    effects.HighWatermark: ("highWatermark", {}),
    effects.Transition: ("transition", {"source": "from", "target": "to"}),
    effects.ArmTimer: ("timer", {}),
    effects.AppendAccepted: ("appendAccepted", {}),
    effects.CallFailed: ("callFailed", {}),
    effects.ForgetRequests: ("forgetRequests", {}),
    effects.Stop: ("stop", {}),
    effects.Fatal: ("fatal", {}),
}

#: The kinds of steps that an adapter may support, and the effects that it may report.
EVENTS = tuple(name for name, _ in _STEPS.values())
EFFECTS = tuple(name for name, _ in _EFFECTS.values())

_LOCAL = {
    name: (kind, {key: field for field, key in renamed.items()})
    for kind, (name, renamed) in _STEPS.items()
    if name not in ("start", "request", "response", "crash")
}
_WRITTEN: Mapping[type, Callable[[Any], Json]] = {
    Batch: lambda batch: [write_batch(batch)],
    Snapshot: write_snapshot,
    SnapshotId: write_snapshot_id,
    QuorumState: write_whole_quorum_state,
    Timer: lambda timer: timer.value,
    tuple: lambda values: [_written(value) for value in values],
}


def _fields(value: Frozen, names: Names) -> dict[str, Json]:
    """The fields of a step or effect; a message is the fields ``api`` and ``data``."""
    renamed, shown = names[type(value)][1], dict[str, Json]()
    for name in value.__struct_fields__:
        part = getattr(value, name)
        if isinstance(part, Message):
            shown |= {"api": api_of(part), "data": _message(part)}
        else:
            shown[renamed.get(name) or _camel(name)] = _written(part)
    return shown


@cache
def _camel(name: str) -> str:
    return re.sub("_(.)", lambda found: found[1].upper(), name)


def _written(value: Any) -> Json:
    write = _WRITTEN.get(type(value))
    return value if write is None else write(value)


def _message(message: Message) -> Json:
    """A message as Kafka's JSON shows it; the flag of the KIP-996 draft is one more field, and so is the
    snapshot of which a FetchSnapshot response brings a part.
    """
    data = write_message(message)
    if isinstance(message, FetchSnapshotResponse) and message.content is not None:
        data["topics"][0]["partitions"][0]["snapshot"] = write_snapshot(message.content)
    if isinstance(message, VoteResponse) and message.pre_vote is not None and data["topics"]:
        data["topics"][0]["partitions"][0]["preVote"] = message.pre_vote
    return data


# Questions.


def kind_of(event: Event | Start | Crash) -> str:
    """The name of a step, one of ``EVENTS``."""
    return _STEPS[type(event)][0]


def encode_question(question: Question, protocol: Protocol) -> Json:
    """A step as it is sent to an adapter, without its ``id``."""
    event = question.event
    if isinstance(event, Start):
        start = encode_start(question.identity, question.disk, protocol)
        if question.draw is not None:
            start["config"]["random"] = question.draw.value
        return {"type": "start", "now": question.now, **start}
    if isinstance(event, Crash):
        return {"type": "crash", "now": question.now}
    return encode_event(event, question.now)


def encode_event(event: Event, now: int) -> dict[str, Json]:
    """An event at the time ``now``, as :func:`encode_question` does it."""
    limit = {"timeoutMs": SHUTDOWN_TIMEOUT_MS} if isinstance(event, events.Shutdown) else {}
    return {"type": kind_of(event), "now": now, **_fields(event, _STEPS), **limit}


def encode_start(identity: Replica, disk: Disk, protocol: Protocol) -> dict[str, Json]:
    """The fields of a start."""
    times = times_of(protocol)
    update_period = span(times, Duration.UPDATE_VOTER_PERIOD)
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
            **{name: getattr(times, field) for field, name in _TIMES.items()},
            "updateVoterPeriodMs": None if update_period is None else update_period.low,
            **{name: getattr(protocol, field) for field, name in CONFIGURED.items()},
        },
        "variant": {name: value for name, value in variant.items() if name not in CONFIGURED},
        "disk": {
            "quorumState": _written(disk.quorum_state),
            "logStart": disk.log.start_offset,
            "snapshots": _written(disk.log.snapshots),
            "batches": [write_batch(batch) for batch in disk.log.batches],
        },
    }


# Effects.


def encode_effect(effect: Effect, before: Replica, times: Times, draw: Draw | None = None) -> dict[str, Json]:
    """An effect of a step of ``before``. The ``ms`` of a timer are a pair, at least and at most; ``None``: it
    never expires, and ``"remaining"``: it continues to run. ``draw``: the number drawn for random times.
    """
    shown: dict[str, Json] = {"effect": _EFFECTS[type(effect)][0]}
    if isinstance(effect, effects.Fatal | effects.CallFailed):
        sentence = effect.sentence if isinstance(effect, effects.Fatal) else effect.reason.sentence
        return shown | {"reason": sentence}
    if isinstance(effect, effects.ArmTimer):
        lasts = drawn_span(times, effect.duration, draw)
        spread: Json = None if lasts is None else (lasts.low, lasts.high)
        remains = effect.duration is Duration.REMAINING
        return shown | {"timer": effect.timer.value, "ms": "remaining" if remains else spread}
    shown |= _fields(effect, _EFFECTS)
    if isinstance(effect, effects.Persist) and before.kraft_version < 1:
        # Version 0 of the quorum-state file has no directory id of a vote.
        shown["quorumState"] = {**shown["quorumState"], "votedDirectoryId": uuid(None)}
    return shown


# Reading effects, for the recorder.


def decode_effect(data: Fields) -> tuple[Effect, ...]:
    """An effect that an adapter reports; batches that are appended together are several, and a ``timer`` is
    none: its duration is a number. Raises InputError.

    A process that exits and a refused call have any reason: the protocol gives it as text.
    """
    kind = data.text("effect")
    if kind not in _REPORTED:
        return ()  # What the state machine is given.
    if kind in ("fatal", "callFailed", "timer"):
        return _WITH_TEXT.get(kind, ())
    if kind == "append":
        return tuple(effects.AppendBatch(read_batch(each)) for each in data.objects("batches"))
    if kind == "persist":
        state = read_quorum_state(data.inner("quorumState").values, data.where)
        assert state is not None
        return (effects.Persist(state),)
    if kind in ("storeSnapshot", "loadSnapshot"):
        made = effects.StoreSnapshot if kind == "storeSnapshot" else effects.LoadSnapshot
        return (made(read_snapshot(data.inner("snapshot"))),)
    if kind == "deleteBefore":
        return (effects.DeleteBefore(read_snapshot_id(data)),)
    if kind == "request":
        request: Any = read_message(data.text("api"), data.inner("data"), is_request=True)
        return (effects.Send(data.number("to"), request, data.number("correlationId")),)
    if kind == "response":
        return (effects.Reply(data.number("to"), _read_response(data), data.number("requestId")),)
    made_by: Any
    made_by, fields = _REPORTED[kind]
    values = {fields.get(key) or key: value for key, value in data.values.items()}
    found: Any = codec.decode(
        {name: values.get(name) for name in made_by.__struct_fields__}, made_by, data.where
    )
    return (found,)


_REPORTED = {
    name: (kind, {key: field for field, key in renamed.items()}) for kind, (name, renamed) in _EFFECTS.items()
}
_WITH_TEXT: Mapping[str, tuple[Effect, ...]] = {
    "fatal": (effects.Fatal(FatalReason.INVALID_REQUEST),),
    "callFailed": (effects.CallFailed(RefusalReason.NOT_LEADER),),
}


# Reading questions, for the adapter of the reference.


def decode_start(data: Fields) -> tuple[Replica, Disk, Protocol, Times]:
    """Identity, disk, protocol and times of a ``start``. Raises InputError."""
    return _identity(data.inner("identity")), _disk(data.inner("disk")), *_config(data)


def decode_draw(data: Fields) -> Draw | None:
    """The draw that a ``start`` asks for; ``None`` if it asks for none. Raises InputError."""
    return read_draw(data.inner("config").values.get("random"))


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
    times = {field: config.number(name) for field, name in _TIMES.items()}
    return protocol, replace(times_of(protocol), **times)


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
    event: Any
    event, fields = _LOCAL[kind]
    values = {fields.get(key) or _snake(key): _as_declared(value) for key, value in data.values.items()}
    known = event.__struct_fields__
    found: Event = codec.decode({key: values[key] for key in known if key in values}, event, data.where)
    return found


def _as_declared(value: Json) -> Json:
    return {_snake(key): each for key, each in value.items()} if isinstance(value, dict) else value


def _snake(name: str) -> str:
    return re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", name)


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
