"""Snapshots and voter sets as JSON; ``docs/drive.md`` describes them for implementers."""

from __future__ import annotations

from kraftcheck.evidence.recordings import wire as recorded
from kraftcheck.evidence.recordings.encode_log import encode_batch
from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.reference.log import Batch, Snapshot, SnapshotId, Voters
from kraftcheck.reference.voters import VoterSet


def snapshot_id(id: SnapshotId) -> dict[str, Json]:
    """What names a snapshot."""
    return {"endOffset": id.end_offset, "epoch": id.epoch}


def decode_snapshot_id(data: Fields) -> SnapshotId:
    """The id in the field ``snapshotId``. Raises InputError."""
    id = data.inner("snapshotId")
    return SnapshotId(id.number("endOffset"), id.number("epoch"))


def encode_snapshot(snapshot: Snapshot) -> dict[str, Json]:
    """A snapshot: its id, what control records before it say, the application's values, its size in bytes."""
    return {
        "snapshotId": snapshot_id(snapshot.id),
        "kraftVersion": snapshot.kraft_version,
        "voters": None if snapshot.voters is None else encode_voter_set(snapshot.voters),
        "values": list(snapshot.values),
        "size": snapshot.size,
    }


def decode_snapshot(data: Fields) -> Snapshot:
    """The snapshot that an object stands for. Raises InputError."""
    return Snapshot(
        id=decode_snapshot_id(data),
        voters=None if data.value("voters") is None else decode_voter_set(data),
        kraft_version=data.number("kraftVersion"),
        values=data.numbers("values"),
        size=data.number("size"),
    )


def encode_voter_set(voters: VoterSet) -> Json:
    """A voter set as a KRAFT_VOTERS record holds it."""
    return encode_batch(Batch(0, 0, (Voters(voters),)))["records"][0]["value"]["voters"]


def decode_voter_set(data: Fields) -> VoterSet:
    """The voter set in the field ``voters``. Raises InputError."""
    record = {"type": "KRAFT_VOTERS", "value": {"version": 0, "voters": data.items("voters")}}
    batch = {"base": 0, "last": 0, "epoch": 0, "control": True, "records": [record]}
    content = recorded.batch(Fields.of(batch, data.where)).records[0]
    assert isinstance(content, Voters)
    return content.voters
