"""The effects of a step as recordings list them, and the comparison of the sent messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kraftcheck.evidence.recordings.exceptions import (
    CONTENT_UNKNOWN,
    GRANTING_VOTERS,
    NO_ERROR,
    OLDER_VERSION,
    SEND_ORDER,
    VOTER_ORDER,
)
from kraftcheck.evidence.recordings.lines import Message, Sent
from kraftcheck.evidence.recordings.network import UNSUPPORTED, is_older
from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.recording import NOT_RAFT, StepEvent
from kraftcheck.evidence.recordings.state import differences, same
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.evidence.recordings.wire import (
    CLIENT_RELEASE,
    ERROR_TEXT,
    LATER_CLIENT_FIELDS,
    NO_ERROR_TEXT,
    VERSIONS,
    api_of,
    at_version,
    write_message,
)
from kraftcheck.evidence.recordings.wire_records import (
    UncoveredMessageError,
    size_of,
    write_batch,
    write_quorum_state,
)
from kraftcheck.reference.effects import (
    AppendBatch,
    DeleteBefore,
    Effect,
    Flush,
    LoadSnapshot,
    Persist,
    Reply,
    Send,
    Truncate,
)
from kraftcheck.reference.log import Batch, LeaderChange, Voters
from kraftcheck.reference.messages import FetchRequest, FetchResponse, Request, Response
from kraftcheck.reference.protocol import KAFKA_4_2, BeginQuorumEpochResend, Protocol
from kraftcheck.reference.replica import Connection, Replica


class Sending(NamedTuple):
    """The comparison of the sent messages: the differences, the correlation id that Kafka gave to each
    connection, the exceptions that were used, and the correlation ids of requests that no line shows.
    """

    found: list[Found]
    correlations: dict[int, int]
    exceptions: list[str]
    unsure: list[int]


class ReleaseForm(NamedTuple):
    """What the messages of a release have that the reference leaves open. fetch_max_bytes: the limit that a
    Fetch names. names_no_error: an answer without an error has the text "NONE".
    """

    fetch_max_bytes: int
    names_no_error: bool


NOTHING_SENT = Sending([], {}, [], [])


def form_of(protocol: Protocol) -> ReleaseForm:
    """The form of the release with this preset."""
    # A release has one limit for Fetch and FetchSnapshot: 8 MiB up to 4.2, later 1 MiB (KAFKA-19541). 4.2
    # gave up the text (RaftUtil.addVoterResponse) together with the announcements to all voters. The
    # documents announce to all voters, too, and have the later limit.
    up_to_4_2 = protocol.fetch_snapshot_max_bytes == KAFKA_4_2.fetch_snapshot_max_bytes
    before_4_2 = up_to_4_2 and protocol.begin_quorum_epoch_resend is BeginQuorumEpochResend.ALL_VOTERS
    return ReleaseForm(protocol.fetch_snapshot_max_bytes, before_4_2)


def effects_shown(
    effects: Sequence[Effect], before: Replica, calls: list[Json], *, leads: bool
) -> dict[str, list[Json]]:
    """The lists ``log``, ``persist`` and ``cb`` of a step's line. before: the replica before the step, in
    whose version the quorum-state file is. calls: the callbacks. leads: it appends as a leader.
    """
    persisted = [effect.quorum_state for effect in effects if isinstance(effect, Persist)]
    files = [write_quorum_state(state, before) for state in persisted]
    return {"log": log_operations(effects, leads=leads), "persist": files, "cb": calls}


def log_operations(effects: Sequence[Effect], *, leads: bool) -> list[dict[str, Any]]:
    """The changes of the log as recorded; batches appended in one go are one operation. ``leads``: as a
    leader; the message shows the batches of a follower's append.
    """
    operations: list[dict[str, Any]] = []
    end = None
    for effect in effects:
        if isinstance(effect, AppendBatch):
            batch = effect.batch
            if not operations or operations[-1]["op"] != "append" or batch.base_offset != end:
                shown = (
                    {"by": "leader", "batches": []}
                    if leads
                    else {"by": "follower", "base": batch.base_offset}
                )
                operations.append({"op": "append", **shown})
            if leads:
                operations[-1]["batches"].append(write_batch(batch))
            else:
                operations[-1] |= {"end": batch.end_offset, "lastEpoch": batch.epoch}
            end = batch.end_offset
        elif isinstance(effect, Flush):
            operations.append({"op": "flush", "to": effect.offset})
        elif isinstance(effect, Truncate):
            operations.append({"op": "truncate", "to": effect.offset})
        elif isinstance(effect, DeleteBefore):
            id = effect.id
            operations.append({"op": "deleteBefore", "offset": id.end_offset, "epoch": id.epoch})
        elif isinstance(effect, LoadSnapshot):
            # The log flushes itself where it starts at a new offset.
            id = effect.snapshot.id
            operations.append({"op": "flush", "to": id.end_offset})
            operations.append({"op": "truncateToSnapshot", "offset": id.end_offset, "epoch": id.epoch})
    return operations


def effect_differences(
    expected: Mapping[str, list[Json]], found: Mapping[str, list[Json]]
) -> Iterator[Found]:
    """The differences of two results of :func:`effects_shown`; those of an append also by its place."""
    for name in ("cb", "persist"):
        yield from differences(expected[name], found[name], name)
    left, right = (list(map(_placed, each["log"])) for each in (expected, found))
    yield from differences(left, right, "log")


def _placed(operation: Json) -> Json:
    batches = operation.get("batches")
    if not batches:
        return operation
    first, last = batches[0], batches[-1]
    place = {"base": first["base"], "end": last["last"] + 1, "lastEpoch": last["epoch"]}
    return {"op": operation["op"], **place, **operation}


def unordered(effects: Sequence[Effect]) -> list[str]:
    """The exceptions for the order of voters in control records that a leader appends."""
    return _unordered([effect.batch for effect in effects if isinstance(effect, AppendBatch)])


def _unordered(batches: Sequence[Batch]) -> list[str]:
    records = [record for batch in batches if batch.is_control for record in batch.records]
    named = ((LeaderChange, GRANTING_VOTERS), (Voters, VOTER_ORDER))
    return [name for kind, name in named if any(isinstance(record, kind) for record in records)]


def compare_sent(
    effects: Sequence[Effect],
    event: StepEvent,
    messages: Mapping[int, Message],
    servers: Mapping[int, int],
    form: ReleaseForm,
) -> Sending:
    """Compare the sent messages, and return the correlation id that Kafka gave to each connection.

    Kafka sends to several nodes in the order of a hash set, which no rule fixes: requests are paired by
    destination, answers by the request that they answer. The order of answers is fixed, and compared. Raises
    UncoveredMessageError for requests and answers of an API that the reference does not know yet.
    """
    expected: dict[tuple[Any, ...], Send | Reply] = {}
    for effect in effects:
        if isinstance(effect, Send):
            to = servers.get(effect.to, effect.to)
            expected[True, to, api_of(effect.request)] = effect
        elif isinstance(effect, Reply):
            expected[False, effect.to, api_of(effect.response), effect.correlation] = effect
    if not expected and not event.line.sent:
        return NOTHING_SENT
    result = Sending([], {}, [], [])
    recorded = _recorded(event)
    for key in [key for key in expected if key not in recorded]:
        effect = expected[key]
        content = effect.request if isinstance(effect, Send) else effect.response
        result.found.append(Found(_path(key), write_message(content), None))
    numbers: list[int] = []
    unseen: list[Send] = []
    for key, sent in recorded.items():
        message = messages.get(sent.mid)
        shown = None if message is None else message.seq
        if key not in expected:
            found = "sent" if message is None else message.data
            result.found.append(Found(_path(key), None, found, shown))
            continue
        effect = expected[key]
        if isinstance(effect, Send) and effect.correlation is not None:
            numbers.append(effect.correlation)
        if message is None:
            result.exceptions.append(CONTENT_UNKNOWN)
            if isinstance(effect, Send):
                unseen.append(effect)
            continue
        _compare_content(key, effect, form, message, result)
        if isinstance(effect, Send) and effect.correlation is not None:
            result.correlations[effect.to] = message.correlation
    if numbers:
        _pair_numbers(result, numbers, unseen, event, messages)
    result.found.extend(_order_of_answers(expected, recorded))
    return result


def _order_of_answers(
    expected: Mapping[tuple[Any, ...], Any], recorded: Mapping[tuple[Any, ...], Any]
) -> Iterator[Found]:
    """Answers, unlike requests, leave in a fixed order: fetches in purgatory by their offset, then by age."""
    ours, theirs = ([key for key in keys if not key[0]] for keys in (expected, recorded))
    if ours != theirs and set(ours) == set(theirs):
        reference, production = (
            [f"{key[2]} to {key[1]} (re {key[3]})" for key in keys] for keys in (ours, theirs)
        )
        yield Found("out.order", reference, production)


def _pair_numbers(
    result: Sending,
    numbers: list[int],
    unseen: list[Send],
    event: StepEvent,
    messages: Mapping[int, Message],
) -> None:
    """The requests of a step have the expected correlation ids ``numbers``, in some order.

    A request without a line for its content (``unseen``) has one of the remaining ids; its answer decides
    which.
    """
    if len(numbers) > 1:
        result.exceptions.append(SEND_ORDER)
    given = sorted(result.correlations.values())
    left = [number for number in numbers if number not in given]
    if len(left) != len(unseen) or len(set(given)) != len(given):
        # Any of them may be the wrong one, so each line that shows one is named.
        lines = [
            messages[sent.mid].seq for sent in event.line.sent if sent.is_request and sent.mid in messages
        ]
        result.found.extend(Found("out.corr", sorted(numbers), given, line) for line in lines)
        return
    result.correlations.update((effect.to, number) for effect, number in zip(unseen, left, strict=True))
    result.unsure.extend(left)


def _recorded(event: StepEvent) -> dict[tuple[Any, ...], Sent]:
    recorded: dict[tuple[Any, ...], Sent] = {}
    for sent in event.line.sent:
        if sent.api == NOT_RAFT and not sent.is_request:
            continue
        if sent.api not in VERSIONS:
            raise UncoveredMessageError(f"sends {sent.api}")
        if sent.is_request:
            recorded[True, sent.destination, sent.api] = sent
        else:
            recorded[False, sent.destination, sent.api, sent.answers] = sent
    return recorded


def _content(effect: Send | Reply, fetch_max_bytes: int) -> Json:
    """What ``effect`` sends. The reference's Fetch has no limit, but the release's has."""
    content = effect.request if isinstance(effect, Send) else effect.response
    shown = content_shown(content)
    return {**shown, "maxBytes": fetch_max_bytes} if isinstance(content, FetchRequest) else shown


def _compare_content(
    key: tuple[Any, ...], effect: Send | Reply, form: ReleaseForm, message: Message, result: Sending
) -> None:
    expected = _content(effect, form.fetch_max_bytes)
    if is_older(message):
        expected = _older(expected, message)
        result.exceptions.append(OLDER_VERSION)
    batches = getattr(effect.response, "batches", ()) if isinstance(effect, Reply) else ()
    result.exceptions.extend(_unordered(batches))
    _adopt(expected, message.data)
    no_text = form.names_no_error and expected.get(ERROR_TEXT, "") is None
    if no_text and message.data.get(ERROR_TEXT) == NO_ERROR_TEXT:
        expected[ERROR_TEXT] = NO_ERROR_TEXT
        result.exceptions.append(NO_ERROR)
    if not same(expected, message.data):
        result.found.extend(differences(expected, message.data, _path(key), message.seq))


def _adopt(expected: Json, found: Json) -> None:
    """Where both sides describe an error, the text is Kafka's, and so is the name of a client's release."""
    for name in (ERROR_TEXT, CLIENT_RELEASE):
        if isinstance(expected.get(name), str) and isinstance(found.get(name), str):
            expected[name] = found[name]
    if CLIENT_RELEASE in expected:
        expected |= {
            name: value
            for name, value in LATER_CLIENT_FIELDS.items()
            if name in found and found[name] == value
        }


def _older(newest: Json, message: Message) -> Json:
    """``newest`` as the version of ``message`` shows it, unless no peer ever got it in that version."""
    if message.why == UNSUPPORTED and same(newest, message.data):
        return newest
    return at_version(newest, message.api, message.version, is_request=message.is_request)


def content_shown(content: Request | Response) -> Json:
    """A message as recordings show it, with the size of its records."""
    data = write_message(content)
    if isinstance(content, FetchResponse):
        return with_size(data, content.batches)
    return data


def with_size(data: Json, batches: tuple[Batch, ...]) -> Json:
    """``data``, a Fetch response, changed to show the size of its records in bytes."""
    for topic in data["responses"]:
        (partition,) = topic["partitions"]
        records = partition.pop("batches", None)
        partition["recordsSizeInBytes"] = sum(size_of(batch) for batch in batches)
        if records is not None:
            partition["batches"] = records
    return data


def discovery_choice(event: StepEvent, servers: Mapping[int, int]) -> int | None:
    """The bootstrap server that Kafka drew, as far as the recording shows a draw."""
    for sent in event.line.sent:
        if sent.is_request and sent.api == "Fetch":
            for server, node in servers.items():
                if node == sent.destination:
                    return server
    return None


def _path(key: tuple[Any, ...]) -> str:
    kind = "request" if key[0] else "response"
    return f"out.{key[2]} {kind} to {key[1]}"


def reconnect(connection: Connection, correlations: Mapping[int, int]) -> Connection:
    """``connection`` with the correlation id that Kafka gave to the request sent on it."""
    if not connection.awaiting or connection.node not in correlations:
        return connection
    return Connection(connection.node, True, correlations[connection.node])
