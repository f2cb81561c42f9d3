"""Snapshots in the short form: ``fetch-snapshot-request from=2 snapshot=21@1 position=0``.

A snapshot is named by its end offset and its epoch. What is inside one has no short form.
"""

from __future__ import annotations

from kraftcheck.reference.events import CreateSnapshot
from kraftcheck.reference.log import EpochEnd, SnapshotId
from kraftcheck.reference.messages import FetchSnapshotRequest, FetchSnapshotResponse
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.systems.kraft.text.words import INT64, Grammar, Words, items, number, print_key, print_numbers

MAX_BYTES = 1048576

REQUEST_KEYS = {"snapshot": "21@1", "position": "0", "max-bytes": str(MAX_BYTES)}
RESPONSE_KEYS = {"snapshot": "21@1", "position": "0", "length": "455", "size": "455"}
CREATE = Grammar({"at": "21@1", "values": "7,8", "size": "455"}, ("delete-prefix",))

_ANY = {"low": -INT64 - 1, "high": INT64}


def snapshot_id(words: Words, key: str) -> SnapshotId | None:
    """A snapshot by its end offset and epoch, or ``None`` if the text names none."""
    position = words.position(key, None)
    return None if position is None else SnapshotId(position.offset, position.epoch)


def print_id(id: SnapshotId) -> str:
    return f"{id.end_offset}@{id.epoch}"


def create_snapshot(words: Words) -> CreateSnapshot:
    """The event that a text describes; without a position it is the empty state."""
    at = words.position("at", EpochEnd(0, 0))
    assert at is not None
    values = words.read("values", _values, (), "whole numbers separated by commas")
    size = words.number("size", 1, 1, INT64)
    return CreateSnapshot(SnapshotId(at.offset, at.epoch), values, size, words.has("delete-prefix"))


def _values(text: str) -> tuple[int, ...] | None:
    return items(text, lambda part: number(part, -INT64 - 1, INT64))


def describe_create(event: CreateSnapshot) -> list[str]:
    """The words of the event, its head first."""
    words = ["create-snapshot", f"at={print_id(event.id)}", f"size={event.size}"]
    words += [f"values={print_numbers(event.values)}"] if event.values else []
    return words + (["delete-prefix"] if event.delete_prefix else [])


def request(
    words: Words, epoch: int, sender: ReplicaKey, cluster: str | None, partition: str
) -> FetchSnapshotRequest:
    """The request that a text describes, with what all requests have in common."""
    return FetchSnapshotRequest(
        epoch,
        sender,
        snapshot_id(words, "snapshot") or SnapshotId(0, 0),
        words.number("position", 0, **_ANY),
        words.number("max-bytes", MAX_BYTES, **_ANY),
        cluster,
        partition,
    )


def describe_request(message: FetchSnapshotRequest) -> list[str]:
    """The words of a request after its head."""
    words = [f"from={print_key(message.replica)}", f"epoch={message.epoch}"]
    words += [f"snapshot={print_id(message.snapshot)}", f"position={message.position}"]
    return words + ([] if message.max_bytes == MAX_BYTES else [f"max-bytes={message.max_bytes}"])


def response(
    words: Words, epoch: int, leader: int | None, endpoints: tuple[Endpoint, ...]
) -> FetchSnapshotResponse:
    """The response that a text describes, without the content of the snapshot and without errors."""
    return FetchSnapshotResponse(
        epoch,
        leader,
        snapshot_id(words, "snapshot"),
        words.number("size", 0, **_ANY),
        words.number("position", 0, **_ANY),
        words.number("length", 0, **_ANY),
        leader_endpoints=endpoints,
    )


def describe_response(message: FetchSnapshotResponse) -> list[str]:
    """What a response says of the snapshot."""
    words = [] if message.snapshot is None else [f"snapshot={print_id(message.snapshot)}"]
    known = {"position": message.position, "length": message.length, "size": message.size}
    return words + [f"{name}={value}" for name, value in known.items() if value]
