"""The messages of the drive protocol as JSON; ``docs/drive.md`` describes them for implementers.

Requests, responses, records and states have the form in which recordings of Kafka show them
(:mod:`kraftcheck.evidence.recordings`): the names of Kafka's message schemas, -1 for unknown values.
"""

from __future__ import annotations

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
from kraftcheck.reference.config import Times, span
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import (
    AppendAccepted,
    AppendBatch,
    ArmTimer,
    CallFailed,
    DeleteBefore,
    Duration,
    Effect,
    Fatal,
    Flush,
    ForgetRequests,
    HighWatermark,
    LoadSnapshot,
    Persist,
    Reply,
    Send,
    Stop,
    StoreSnapshot,
    Transition,
    Truncate,
)
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import (
    Append,
    BackoffExpired,
    CreateSnapshot,
    Event,
    FetchWaitExpired,
    Poll,
    RequestReceived,
    RequestTimedOut,
    Resign,
    ResponseReceived,
    Shutdown,
    Timer,
    UpgradeKRaftVersion,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import log_of
from kraftcheck.reference.messages import (
    FetchSnapshotResponse,
    Message,
    Request,
    Response,
    VoteResponse,
)
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError

#: The version of the protocol that this package speaks.
PROTOCOL = 1

#: The kinds of steps that an adapter may support.
EVENTS = (
    "start", "request", "response", "poll", "requestTimedOut", "backoffExpired", "fetchWaitExpired",
    "append", "resign", "upgradeKRaftVersion", "createSnapshot", "shutdown", "crash",
)  # fmt: skip

#: The effects that an adapter may report.
EFFECTS = (
    "persist", "append", "truncate", "flush", "storeSnapshot", "deleteBefore", "loadSnapshot", "request",
    "response", "highWatermark", "transition", "timer", "appendAccepted", "callFailed", "forgetRequests",
    "stop", "fatal",
)  # fmt: skip

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


# Questions.


def encode_question(question: Question, identity: Replica, protocol: Protocol) -> Json:
    """A step as it is sent to an adapter, without its ``id``."""
    event = question.event
    head: dict[str, Json] = {"type": kind_of(event), "now": question.now}
    if isinstance(event, Start):
        return {**head, **_start(identity, question.disk, protocol)}
    return {**head, **_event(event)}


def kind_of(event: Event | Start | Crash) -> str:
    """The name of a step, one of ``EVENTS``."""
    names: dict[type, str] = {
        Start: "start", Crash: "crash", RequestReceived: "request", ResponseReceived: "response",
        Poll: "poll", RequestTimedOut: "requestTimedOut", BackoffExpired: "backoffExpired",
        FetchWaitExpired: "fetchWaitExpired", Append: "append", Resign: "resign",
        UpgradeKRaftVersion: "upgradeKRaftVersion", CreateSnapshot: "createSnapshot", Shutdown: "shutdown",
    }  # fmt: skip
    return names[type(event)]


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
            "endpoints": [vars_of(endpoint) for endpoint in identity.endpoints],
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


def vars_of(endpoint: Endpoint) -> Json:
    """An endpoint: name, host, port."""
    return {"name": endpoint.name, "host": endpoint.host, "port": endpoint.port}


def _written(state: QuorumState, replica: Replica) -> Json:
    """The contents of the quorum-state file; its version 0 has no directory id of a vote."""
    whole = write_whole_quorum_state(state)
    return whole if replica.kraft_version >= 1 else {**whole, "votedDirectoryId": uuid(None)}


def _event(event: Event | Crash) -> dict[str, Json]:
    if isinstance(event, RequestReceived):
        named = {"from": event.source, "requestId": event.correlation}
        return {**named, "api": api_of(event.request), "data": write_message(event.request)}
    if isinstance(event, ResponseReceived):
        named = {"from": event.source, "correlationId": event.correlation}
        return {**named, "api": api_of(event.response), "data": _response(event.response)}
    if isinstance(event, Poll):
        return {"expired": [timer.value for timer in event.expired], "discovery": event.discovery}
    if isinstance(event, RequestTimedOut | BackoffExpired):
        return {"node": event.node}
    if isinstance(event, FetchWaitExpired):
        return {"from": event.source, "requestId": event.correlation}
    if isinstance(event, Append):
        return {"epoch": event.epoch, "values": list(event.values)}
    if isinstance(event, UpgradeKRaftVersion):
        return {"epoch": event.epoch, "version": event.version}
    if isinstance(event, CreateSnapshot):
        content = {"values": list(event.values), "size": event.size, "deletePrefix": event.delete_prefix}
        return {"snapshotId": write_snapshot_id(event.id), **content}
    return {"epoch": event.epoch} if isinstance(event, Resign) else {}


def _response(response: Response) -> Json:
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
    if isinstance(effect, Persist):
        return {"effect": "persist", "quorumState": _written(effect.quorum_state, before)}
    if isinstance(effect, AppendBatch):
        return {"effect": "append", "batches": [write_batch(effect.batch)]}
    if isinstance(effect, Send):
        data = write_message(effect.request)
        named = {"to": effect.to, "correlationId": effect.correlation}
        return {"effect": "request", **named, "api": api_of(effect.request), "data": data}
    if isinstance(effect, Reply):
        data = _response(effect.response)
        named = {"to": effect.to, "requestId": effect.correlation}
        return {"effect": "response", **named, "api": api_of(effect.response), "data": data}
    if isinstance(effect, ArmTimer):
        lasts = span(times, effect.duration)
        spread: Json = None if lasts is None else (lasts.low, lasts.high)
        if effect.duration is Duration.REMAINING:
            spread = "remaining"
        return {"effect": "timer", "timer": effect.timer.value, "ms": spread}
    return _encode_plain(effect)


def _encode_plain(effect: Effect) -> dict[str, Json]:
    if isinstance(effect, Truncate | Flush):
        return {"effect": "truncate" if isinstance(effect, Truncate) else "flush", "to": effect.offset}
    if isinstance(effect, StoreSnapshot | LoadSnapshot):
        name = "storeSnapshot" if isinstance(effect, StoreSnapshot) else "loadSnapshot"
        return {"effect": name, "snapshot": write_snapshot(effect.snapshot)}
    if isinstance(effect, DeleteBefore):
        return {"effect": "deleteBefore", "snapshotId": write_snapshot_id(effect.id)}
    if isinstance(effect, HighWatermark):
        return {"effect": "highWatermark", "offset": effect.offset}
    if isinstance(effect, Transition):
        named = {"from": effect.source, "to": effect.target}
        return {"effect": "transition", **named, "epoch": effect.epoch}
    if isinstance(effect, AppendAccepted):
        return {"effect": "appendAccepted", "offset": effect.offset}
    if isinstance(effect, CallFailed):
        return {"effect": "callFailed", "reason": effect.reason}
    if isinstance(effect, ForgetRequests):
        return {"effect": "forgetRequests", "node": effect.node}
    if isinstance(effect, Fatal):
        return {"effect": "fatal", "reason": effect.sentence}
    assert isinstance(effect, Stop)
    return {"effect": "stop"}


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
        request = _message(data, is_request=True)
        assert isinstance(request, Request)
        return RequestReceived(data.number("from"), request, data.number("requestId"), now)
    if kind == "response":
        response = _message(data, is_request=False)
        assert isinstance(response, Response)
        if isinstance(response, VoteResponse) and response.error is ErrorCode.NONE:
            partition = data.inner("data").only("topics").only("partitions")
            flag = partition.flag("preVote") if "preVote" in partition else None
            response = replace(response, pre_vote=flag)
        elif isinstance(response, FetchSnapshotResponse) and response.error is ErrorCode.NONE:
            partition = data.inner("data").only("topics").only("partitions")
            if "snapshot" in partition:
                response = replace(response, content=read_snapshot(partition.inner("snapshot")))
        return ResponseReceived(data.number("from"), response, data.number("correlationId"), now)
    if kind == "poll":
        discovery = None if data.value("discovery") is None else data.number("discovery")
        return Poll(tuple(map(_timer, data.items("expired"))), discovery, now)
    if kind == "append":
        return Append(data.number("epoch"), data.numbers("values"))
    if kind == "createSnapshot":
        size, delete = data.number("size"), data.flag("deletePrefix")
        return CreateSnapshot(read_snapshot_id(data), data.numbers("values"), size, delete)
    if kind == "fetchWaitExpired":
        return FetchWaitExpired(data.number("from"), data.number("requestId"))
    simple: dict[str, Event] = {"shutdown": Shutdown()}
    if kind in ("requestTimedOut", "backoffExpired"):
        node = data.number("node")
        simple = {"requestTimedOut": RequestTimedOut(node), "backoffExpired": BackoffExpired(node)}
    elif kind == "resign":
        simple = {"resign": Resign(data.number("epoch"))}
    elif kind == "upgradeKRaftVersion":
        simple = {kind: UpgradeKRaftVersion(data.number("epoch"), data.number("version"))}
    if kind not in simple:
        raise InputError(f"{data.where}: there is no message of type {kind!r}.")
    return simple[kind]


def _timer(word: Json) -> Timer:
    return codec.decode(word, Timer, "expired")


def _message(data: Fields, *, is_request: bool) -> Message:
    return read_message(data.text("api"), data.inner("data"), is_request=is_request)
