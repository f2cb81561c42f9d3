"""Events in the short form: ``vote-request from=2 epoch=6 last=4@2 pre-vote``, ``poll expired=election``.

What an event leaves out comes from the replica it happens to: ``epoch`` is the replica's own, the records
of a Fetch response continue its log, and a Fetch response from its leader names that leader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kraftcheck.reference import log as logs
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import (
    Append,
    BackoffExpired,
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
from kraftcheck.reference.log import Batch, EpochEnd, LeaderChange
from kraftcheck.reference.messages import (
    METADATA_PARTITION,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    Request,
    Response,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.systems.kraft.text import describe_quorum as short_describe
from kraftcheck.systems.kraft.text import log as short_log
from kraftcheck.systems.kraft.text import quorum as short_quorum
from kraftcheck.systems.kraft.text import snapshot as short_snapshot
from kraftcheck.systems.kraft.text import voter_change as short_voter_change
from kraftcheck.systems.kraft.text.replica import endpoint_of
from kraftcheck.systems.kraft.text.words import INT32, INT64, Grammar, Words, items, number, split

EXAMPLE = "vote-request from=2 epoch=6 last=4@2"

ERRORS: Mapping[str, ErrorCode] = {code.name: code for code in ErrorCode}
TIMERS: Mapping[str, Timer] = {timer.value: timer for timer in Timer}

_ARRIVAL = {"from": "2", "epoch": "6", "correlation": "7", "now": "1000"}
_REQUEST = _ARRIVAL | {"source": "2", "cluster": "name", "partition": METADATA_PARTITION}
_ENDPOINTS = {"endpoints": "CONTROLLER://node-1:9093"}
_RESPONSE = _ARRIVAL | _ENDPOINTS | {"leader": "1", "error": "FENCED_LEADER_EPOCH", "top-error": "NONE"}

GRAMMAR: Mapping[str, Grammar] = {
    "vote-request": Grammar(_REQUEST | {"last": "4@2", "to": "1"}, ("pre-vote",)),
    "vote-response": Grammar(_RESPONSE | {"pre-vote": "yes"}, ("granted",)),
    "begin-quorum-epoch-request": Grammar(_REQUEST | _ENDPOINTS | {"to": "1"}),
    "begin-quorum-epoch-response": Grammar(_RESPONSE),
    "end-quorum-epoch-request": Grammar(_REQUEST | _ENDPOINTS | {"successors": "3,1"}),
    "end-quorum-epoch-response": Grammar(_RESPONSE),
    "fetch-request": Grammar(_REQUEST | {"offset": "3", "last-epoch": "5", "hw": "2", "max-wait": "500"}),
    "fetch-response": Grammar(
        _RESPONSE | {"hw": "4", "records": "5:2@6", "diverging": "3@4", "log-start": "0", "snapshot": "21@1"}
    ),
    "fetch-snapshot-request": Grammar(_REQUEST | short_snapshot.REQUEST_KEYS),
    "fetch-snapshot-response": Grammar(_RESPONSE | short_snapshot.RESPONSE_KEYS),
    "describe-quorum-request": short_describe.REQUEST,
    "create-snapshot": short_snapshot.CREATE,
    "poll": Grammar({"expired": "election", "discovery": "2", "now": "1000"}),
    "timeout": Grammar({"node": "2"}),
    "backoff-expired": Grammar({"node": "2"}),
    "fetch-wait-expired": Grammar({"from": "2", "correlation": "7"}),
    "append": Grammar({"epoch": "5", "values": "7,8"}),
    "resign": Grammar({"epoch": "5"}),
    "upgrade-kraft-version": Grammar({"epoch": "5", "version": "1"}),
    "shutdown": Grammar({}),
    **short_voter_change.GRAMMAR,
    **short_quorum.GRAMMAR,
}

#: Numbers in messages are as wide as the wire allows: refusing the wrong ones is up to the reference.
_ANY = {"low": -INT64 - 1, "high": INT64}


def parse_event(text: str, replica: Replica, what: str = "event") -> Event:
    """The event that ``text`` describes, as it happens to ``replica``. Raises InputError."""
    head, rest = split(what, text, GRAMMAR, EXAMPLE)
    if head == "append" and rest and "=" not in rest[0]:
        rest[0] = f"values={rest[0]}"
    words = Words(what, head, rest, GRAMMAR[head])
    if head.endswith("-request"):
        return _request(words, head, replica)
    if head.endswith("-response"):
        return _response(words, head, replica)
    return _local_event(words, head, replica)


def _local_event(words: Words, head: str, replica: Replica) -> Event:
    if head == "poll":
        expired = words.read(
            "expired", lambda text: items(text, TIMERS.get), (), f"some of {', '.join(TIMERS)}"
        )
        return Poll(expired, words.optional_number("discovery", None, **_ANY), _now(words))
    if head in ("timeout", "backoff-expired"):
        node = words.number("node", _required(words, head, "node"), **_ANY)
        return RequestTimedOut(node) if head == "timeout" else BackoffExpired(node)
    if head == "fetch-wait-expired":
        source = words.number("from", _required(words, head, "from"), **_ANY)
        return FetchWaitExpired(source, _correlation(words))
    if head == "append":
        _required(words, head, "values")
        values = words.read("values", _values, (), "whole numbers separated by commas")
        return Append(_epoch(words, replica), values)
    if head == "create-snapshot":
        return short_snapshot.create_snapshot(words)
    if head == "upgrade-kraft-version":
        return UpgradeKRaftVersion(_epoch(words, replica), words.number("version", 1, 0, 2**15 - 1))
    return Resign(_epoch(words, replica)) if head == "resign" else Shutdown()


def _values(text: str) -> tuple[int, ...] | None:
    return items(text, lambda part: number(part, -INT64 - 1, INT64))


def _required(words: Words, head: str, key: str) -> int:
    """Refuse a text that lacks ``key``; the number returned is a default that is never used."""
    if not words.has(key):
        words.refuse(head, f"{key!r} to be given", f"{head} {key}={GRAMMAR[head].keys[key]}")
    return 0


def _epoch(words: Words, replica: Replica) -> int:
    return words.number("epoch", replica.epoch, **_ANY)


def _now(words: Words) -> int | None:
    return words.optional_number("now", None, **_ANY)


def _correlation(words: Words) -> int | None:
    return words.optional_number("correlation", None, **_ANY)


# Requests.


def _request(words: Words, head: str, replica: Replica) -> RequestReceived:
    _required(words, head, "from")
    sender = words.key("from", None)
    if sender is None:
        words.refuse("from=" + words.text("from", ""), "the sender's id", "from=2")
    request = _REQUESTS[head](words, replica, sender)
    source = words.number("source", sender.id, **_ANY)
    return RequestReceived(source, request, _correlation(words), _now(words))


def _partition(words: Words) -> str:
    return words.text("partition", METADATA_PARTITION)


def _vote_request(words: Words, replica: Replica, sender: ReplicaKey) -> Request:
    last = words.position("last", EpochEnd(0, 0))
    assert last is not None
    return VoteRequest(
        epoch=_epoch(words, replica),
        candidate=sender,
        voter=words.key("to", None),
        last_epoch=last.epoch,
        end_offset=last.offset,
        pre_vote=words.has("pre-vote"),
        cluster_id=words.optional_text("cluster"),
        partition=_partition(words),
    )


def _begin_quorum_epoch_request(words: Words, replica: Replica, sender: ReplicaKey) -> Request:
    return BeginQuorumEpochRequest(
        epoch=_epoch(words, replica),
        leader=sender.id,
        voter=words.key("to", None),
        leader_endpoints=words.endpoints("endpoints", endpoint_of(sender.id)),
        cluster_id=words.optional_text("cluster"),
        partition=_partition(words),
    )


def _end_quorum_epoch_request(words: Words, replica: Replica, sender: ReplicaKey) -> Request:
    return EndQuorumEpochRequest(
        epoch=_epoch(words, replica),
        leader=sender.id,
        preferred_successors=words.replica_keys("successors", ()),
        leader_endpoints=words.endpoints("endpoints", ()),
        cluster_id=words.optional_text("cluster"),
        partition=_partition(words),
    )


def _fetch_request(words: Words, replica: Replica, sender: ReplicaKey) -> Request:
    return FetchRequest(
        epoch=_epoch(words, replica),
        replica=sender,
        offset=words.number("offset", 0, **_ANY),
        last_epoch=words.number("last-epoch", 0, **_ANY),
        high_watermark=words.optional_number("hw", None, **_ANY),
        max_wait_ms=words.number("max-wait", 500, **_ANY),
        cluster_id=words.optional_text("cluster"),
        partition=_partition(words),
    )


def _fetch_snapshot_request(words: Words, replica: Replica, sender: ReplicaKey) -> Request:
    cluster = words.optional_text("cluster")
    return short_snapshot.request(words, _epoch(words, replica), sender, cluster, _partition(words))


def _describe_quorum_request(words: Words, replica: Replica, sender: ReplicaKey) -> Request:
    return short_describe.request(words)


_REQUESTS: Mapping[str, Callable[[Words, Replica, ReplicaKey], Request]] = {
    "vote-request": _vote_request,
    "begin-quorum-epoch-request": _begin_quorum_epoch_request,
    "end-quorum-epoch-request": _end_quorum_epoch_request,
    "fetch-request": _fetch_request,
    "fetch-snapshot-request": _fetch_snapshot_request,
    "describe-quorum-request": _describe_quorum_request,
    **short_voter_change.REQUESTS,
    **short_quorum.REQUESTS,
}


# Responses.


def _response(words: Words, head: str, replica: Replica) -> ResponseReceived:
    source = words.number("from", _required(words, head, "from"), **_ANY)
    if head in short_voter_change.RESPONSES:
        response: Response = short_voter_change.RESPONSES[head](words, replica)
    elif head in short_quorum.RESPONSES:
        response = short_quorum.RESPONSES[head](words, replica)
    else:
        response = _RESPONSES[head](words, replica, source)
    return ResponseReceived(source, response, _correlation(words), _now(words))


def _error(words: Words, key: str) -> ErrorCode:
    return words.member(key, ERRORS, ErrorCode.NONE)


def _leader(words: Words, default: int | None = None) -> int | None:
    return words.optional_number("leader", default, -INT64 - 1, INT64)


def _endpoints(words: Words, leader: int | None) -> tuple[Endpoint, ...]:
    known = leader is not None and 0 <= leader <= INT32
    return words.endpoints("endpoints", endpoint_of(leader) if known and leader is not None else ())


def _vote_response(words: Words, replica: Replica, source: int) -> Response:
    leader = _leader(words)
    return VoteResponse(
        epoch=_epoch(words, replica),
        leader=leader,
        granted=words.has("granted"),
        leader_endpoints=_endpoints(words, leader),
        partition_error=_error(words, "error"),
        error=_error(words, "top-error"),
        pre_vote=words.member("pre-vote", {"yes": True, "no": False}, None),
    )


def _begin_quorum_epoch_response(words: Words, replica: Replica, source: int) -> Response:
    leader = _leader(words)
    return BeginQuorumEpochResponse(
        _epoch(words, replica),
        leader,
        _endpoints(words, leader),
        _error(words, "error"),
        _error(words, "top-error"),
    )


def _end_quorum_epoch_response(words: Words, replica: Replica, source: int) -> Response:
    leader = _leader(words)
    return EndQuorumEpochResponse(
        _epoch(words, replica),
        leader,
        _endpoints(words, leader),
        _error(words, "error"),
        _error(words, "top-error"),
    )


def default_leader(replica: Replica, source: int) -> int | None:
    """The leader that a Fetch response names if nothing is said: its sender, if the replica follows it."""
    return source if replica.quorum_state.leader == source else None


def _fetch_response(words: Words, replica: Replica, source: int) -> Response:
    leader = _leader(words, default_leader(replica, source))
    epoch = _epoch(words, replica)
    expected = "counts of records with their epochs, after a first offset and a colon if need be"
    batches = words.read("records", lambda text: _records(replica, leader, epoch, text), (), expected)
    return FetchResponse(
        epoch=epoch,
        leader=leader,
        high_watermark=words.optional_number("hw", None, **_ANY),
        batches=batches,
        diverging=words.position("diverging", None),
        leader_endpoints=_endpoints(words, leader),
        partition_error=_error(words, "error"),
        error=_error(words, "top-error"),
        log_start_offset=words.number("log-start", 0, **_ANY),
        snapshot=short_snapshot.snapshot_id(words, "snapshot"),
    )


def _fetch_snapshot_response(words: Words, replica: Replica, source: int) -> Response:
    leader = _leader(words, default_leader(replica, source))
    response = short_snapshot.response(words, _epoch(words, replica), leader, _endpoints(words, leader))
    return replace(response, partition_error=_error(words, "error"), error=_error(words, "top-error"))


def _records(replica: Replica, leader: int | None, epoch: int, text: str) -> tuple[Batch, ...] | None:
    """Batches such as a leader would send to ``replica``: they continue its log, or start elsewhere."""
    match = re.fullmatch(r"(?:([0-9]{1,19}):)?(.+)", text)
    if match is None:
        return None
    own = replica.log
    base = own.end_offset if match[1] is None else int(match[1])
    if base > INT64 - short_log.MAX_RECORDS:
        return None
    before = logs.truncate(own, base)
    voters = replica.voters.ids
    first = voters[0] if voters else replica.id

    def opening(of_epoch: int) -> LeaderChange:
        led_by = leader if of_epoch == epoch and leader is not None else first
        return LeaderChange(led_by, voters, voters)

    return short_log.batches_after(before, base, match[2], opening)


_RESPONSES: Mapping[str, Callable[[Words, Replica, int], Response]] = {
    "vote-response": _vote_response,
    "begin-quorum-epoch-response": _begin_quorum_epoch_response,
    "end-quorum-epoch-response": _end_quorum_epoch_response,
    "fetch-response": _fetch_response,
    "fetch-snapshot-response": _fetch_snapshot_response,
}
