"""The effects of a step as recordings list them, and the comparison of what was sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from model_check.conform.encode import APIS, encode, encode_batch
from model_check.conform.fields import Fields, Json
from model_check.conform.recording import Event, Message, Sent
from model_check.conform.state import differences
from model_check.conform.wire import UncoveredMessageError
from reference.effects import AppendBatch, Effect, Flush, Reply, Send, Truncate
from reference.replica import Connection

KNOWN = frozenset(APIS.values())

#: Requests of this API are answered by the node's server, not by its raft module.
NOT_RAFT = "ApiVersions"

Found = list[tuple[str, Json, Json]]


def log_operations(effects: Sequence[Effect]) -> list[dict[str, Any]]:
    """What happened to the log; batches appended in one go are one operation."""
    operations: list[dict[str, Any]] = []
    for effect in effects:
        if isinstance(effect, AppendBatch):
            batch = effect.batch
            _add_append(operations, batch.base_offset, batch.end_offset, batch.epoch, [encode_batch(batch)])
        elif isinstance(effect, Flush):
            operations.append({"op": "flush", "to": effect.offset})
        elif isinstance(effect, Truncate):
            operations.append({"op": "truncate", "to": effect.offset})
    return operations


def recorded_operations(log: Sequence[Fields]) -> list[dict[str, Any]]:
    """The recorded operations in the same form. A follower's append shows no batches: the message does."""
    operations: list[dict[str, Any]] = []
    for entry in log:
        operation = entry.text("op")
        if operation == "append" and entry.text("by") == "leader":
            for batch in entry.objects("batches"):
                end = batch.number("last") + 1
                _add_append(operations, batch.number("base"), end, batch.number("epoch"), [batch.values])
        elif operation == "append":
            _add_append(
                operations, entry.number("base"), entry.number("end"), entry.number("lastEpoch"), None
            )
        elif operation in ("flush", "truncate"):
            operations.append({"op": operation, "to": entry.number("to")})
        else:
            raise UncoveredMessageError(f"log operation {operation}")
    return operations


def _add_append(
    operations: list[dict[str, Any]], base: int, end: int, epoch: int, batches: list[Json] | None
) -> None:
    last: dict[str, Any] = operations[-1] if operations else {"op": "none"}
    if last["op"] == "append" and last["end"] == base:
        last["end"], last["lastEpoch"] = end, epoch
        if batches is not None:
            last["batches"] = [*last.get("batches", []), *batches]
        return
    operation: dict[str, Any] = {"op": "append", "base": base, "end": end, "lastEpoch": epoch}
    operations.append(operation if batches is None else {**operation, "batches": batches})


def compare_log(expected: list[dict[str, Any]], found: list[dict[str, Any]]) -> Found:
    """Where two lists of log operations differ; contents are compared where both show them."""
    shortened = [
        {key: value for key, value in wanted.items() if key != "batches" or key in got}
        for wanted, got in zip(expected, found, strict=False)
    ]
    return list(differences(shortened + expected[len(found) :], found, "log"))


def compare_sent(
    effects: Sequence[Effect],
    event: Event,
    messages: Mapping[int, Message],
    servers: Mapping[int, int],
) -> tuple[Found, dict[int, int]]:
    """Compare what was sent, and say which correlation id production gave to each connection.

    Production sends to several nodes in the order of a hash set, which no rule fixes: requests are paired
    by destination, answers by the request that they answer.
    """
    found: Found = []
    recorded = {_key(sent): sent for sent in event.sent if sent.api != NOT_RAFT or sent.is_request}
    for sent in event.sent:
        if sent.api not in KNOWN and (sent.is_request or sent.api != NOT_RAFT):
            raise UncoveredMessageError(f"sends {sent.api}")
    expected: dict[tuple[Any, ...], Send | Reply] = {}
    for effect in effects:
        if isinstance(effect, Send):
            to = servers.get(effect.to, effect.to)
            expected[True, to, APIS[type(effect.request)]] = effect
        elif isinstance(effect, Reply):
            expected[False, effect.to, APIS[type(effect.response)], effect.correlation] = effect
    for key in [key for key in expected if key not in recorded]:
        effect = expected[key]
        content = effect.request if isinstance(effect, Send) else effect.response
        found.append((_path(key), encode(content), None))
    for key in [key for key in recorded if key not in expected]:
        message = messages.get(recorded[key].mid)
        found.append((_path(key), None, None if message is None else message.data.values))
    shared = [key for key in expected if key in recorded]
    correlations: dict[int, int] = {}
    for key in shared:
        found.extend(_compare_content(key, expected[key], messages.get(recorded[key].mid)))
        effect, message = expected[key], messages.get(recorded[key].mid)
        if isinstance(effect, Send) and message is not None:
            correlations[effect.to] = message.correlation
    sends = [effect for key in shared if isinstance(effect := expected[key], Send)]
    numbers = sorted(e.correlation for e in sends if e.correlation is not None and e.to in correlations)
    found.extend(differences(numbers, sorted(correlations.values()), "out.corr"))
    return found, correlations


def _compare_content(key: tuple[Any, ...], effect: Send | Reply, message: Message | None) -> Found:
    if message is None:
        return []
    if isinstance(effect, Send):
        return list(differences(encode(effect.request), message.data.values, _path(key)))
    return list(differences(encode(effect.response), message.data.values, _path(key)))


def _key(sent: Sent) -> tuple[Any, ...]:
    if sent.is_request:
        return (True, sent.destination, sent.api)
    return (False, sent.destination, sent.api, sent.answers)


def _path(key: tuple[Any, ...]) -> str:
    kind = "request" if key[0] else "response"
    return f"out.{key[2]} {kind} to {key[1]}"


def reconnect(connection: Connection, correlations: Mapping[int, int]) -> Connection:
    """``connection`` with the correlation id that production gave to the request sent on it."""
    if not connection.awaiting or connection.node not in correlations:
        return connection
    return Connection(connection.node, True, correlations[connection.node])
