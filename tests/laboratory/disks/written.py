"""Writes disks of controllers as Kafka leaves them, with kio's writers of batches and messages."""

from __future__ import annotations

import base64
import datetime
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.schema.k_raft_version_record.v0.data import KRaftVersionRecord
from kio.schema.leader_change_message.v0.data import LeaderChangeMessage
from kio.schema.leader_change_message.v0.data import Voter as LeaderChangeVoter
from kio.schema.snapshot_footer_record.v0.data import SnapshotFooterRecord
from kio.schema.snapshot_header_record.v0.data import SnapshotHeaderRecord
from kio.schema.types import BrokerId
from kio.schema.voters_record.v0.data import Endpoint, KRaftVersionFeature, Voter, VotersRecord
from kio.serial import entity_writer
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64, u16

from kraftcheck.evidence.disks.disk import EPOCHS, LOG_FOLDER, META_PROPERTIES, QUORUM_STATE

CLUSTER = "CzTpK1ayRZa0IUObDHa1xQ"
_TIME = TZAwareMicros.parse(datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))


def directory(number: int) -> str:
    """The directory id of that number."""
    return base64.urlsafe_b64encode(UUID(int=number).bytes).rstrip(b"=").decode()


@dataclass(frozen=True)
class Leader:
    """A LeaderChange record; ``granting``: the voters that have voted for the leader, apart from itself."""

    id: int
    granting: tuple[int, ...] = ()


@dataclass(frozen=True)
class Version:
    """A KRaftVersion record."""

    level: int = 1


@dataclass(frozen=True)
class VoterSet:
    """A Voters record, with the directory ids of that many hundreds and the id."""

    ids: tuple[int, ...]
    directories: int = 0


class Header:
    """The header of a snapshot."""


class Footer:
    """The footer of a snapshot."""


class Data:
    """A record of metadata (NoOp)."""


Written = Leader | Version | VoterSet | Header | Footer | Data


@dataclass(frozen=True)
class Batch:
    """A batch to be written: its epoch and records."""

    epoch: int
    records: tuple[Written, ...] = (Data(),)


def batch(base: int, written: Batch) -> bytes:
    """The bytes of a batch."""
    records = tuple(
        Record(
            attributes=i8(0),
            timestamp=_TIME,
            offset=i64(base + at),
            key=_key(each),
            value=_value(each),
            headers=(),
        )
        for at, each in enumerate(written.records)
    )
    out = io.BytesIO()
    control = not isinstance(written.records[0], Data)
    write_new_batch(
        out,
        NewRecordBatch(
            producer_id=i64(-1),
            producer_epoch=i16(-1),
            partition_leader_epoch=i32(written.epoch),
            base_sequence=i32(-1),
            records=records,
            attributes=i16(0x20 if control else 0),
        ),
    )
    return out.getvalue()


_TYPES = {Leader: 2, Header: 3, Footer: 4, Version: 5, VoterSet: 6}


def _key(record: Written) -> bytes | None:
    return None if isinstance(record, Data) else b"\0\0" + _TYPES[type(record)].to_bytes(2, "big")


def _value(record: Written) -> bytes:
    match record:
        case Leader(id, granting):
            voters = tuple(LeaderChangeVoter(voter_id=i32(each)) for each in (id, *granting))
            message: object = LeaderChangeMessage(
                version=i16(0), leader_id=BrokerId(id), voters=voters, granting_voters=voters
            )
        case Version(level):
            message = KRaftVersionRecord(version=i16(0), k_raft_version=i16(level))
        case VoterSet(ids, directories):
            message = VotersRecord(version=i16(0), voters=tuple(_voter(id, directories) for id in ids))
        case Header():
            message = SnapshotHeaderRecord(version=i16(0), last_contained_log_timestamp=i64(0))
        case Footer():
            message = SnapshotFooterRecord(version=i16(0))
        case _:
            return b"\1\24\0\0"  # the frame's version, the key of NoOp, its version, no tagged fields
    out = io.BytesIO()
    entity_writer(type(message))(out, message)  # type: ignore[type-var]
    return out.getvalue()


def _voter(id: int, directories: int) -> Voter:
    return Voter(
        voter_id=BrokerId(id),
        voter_directory_id=UUID(int=100 * directories + id),
        endpoints=(Endpoint(name="CONTROLLER", host=f"host-{id}", port=u16(9093)),),
        k_raft_version_feature=KRaftVersionFeature(
            min_supported_version=i16(0), max_supported_version=i16(1)
        ),
    )


#: A snapshot of the formatted disk, and the first batch of the first leader, with three voters.
FORMATTED = (Batch(0, (Header(), Version(), VoterSet((1, 2, 3)), Footer())),)
BEGIN = Batch(1, (Leader(1), Version(), VoterSet((1, 2, 3))))
DATA = Batch(1)


@dataclass(frozen=True)
class Disk:
    """The disk of a node to be written. ``state``: epoch, leader and vote, or None for no file;
    ``segments``: batches by the base offset of their segment; ``snapshots``: batches by end offset and epoch.
    """

    id: int
    log: Sequence[Batch] = (BEGIN, DATA, DATA)
    state: tuple[int, int, int] | None = (1, 1, -1)
    start: int = 0
    snapshots: dict[tuple[int, int], Sequence[Batch]] = field(default_factory=lambda: {(0, 0): FORMATTED})
    directories: int = 0
    cluster: str = CLUSTER
    configured: tuple[int, ...] | None = None


def write_disk(folder: Path, disk: Disk) -> Path:
    """Write ``disk`` below ``folder``; its directory."""
    place = folder / f"node-{disk.id}"
    log = place / LOG_FOLDER
    log.mkdir(parents=True)
    own = directory(100 * disk.directories + disk.id)
    properties = {
        "version": "1",
        "node.id": str(disk.id),
        "cluster.id": disk.cluster,
        "directory.id": own,
    }
    text = "#\n" + "".join(f"{key}={value}\n" for key, value in properties.items())
    (place / META_PROPERTIES).write_text(text)
    if disk.state is not None:
        (log / QUORUM_STATE).write_text(_state(disk))
    (log / f"{disk.start:020}.log").write_bytes(log_bytes(disk.log, disk.start))
    for (end, epoch), batches in disk.snapshots.items():
        of_snapshot = [replace(each, epoch=epoch) for each in batches]  # as Kafka's writer has it
        (log / f"{end:020}-{epoch:010}.checkpoint").write_bytes(log_bytes(of_snapshot))
    starts = {}
    base = disk.start
    for each in disk.log:
        starts.setdefault(each.epoch, base)
        base += len(each.records)
    lines = [f"{epoch} {offset}" for epoch, offset in starts.items()]
    (log / EPOCHS).write_text("\n".join(["0", str(len(lines)), *lines, ""]) if lines else "")
    return place


def log_bytes(batches: Sequence[Batch], base: int = 0) -> bytes:
    """The bytes of consecutive batches."""
    found = b""
    for each in batches:
        found += batch(base, each)
        base += len(each.records)
    return found


def _state(disk: Disk) -> str:
    assert disk.state is not None
    epoch, leader, vote = disk.state
    common = {"leaderId": leader, "leaderEpoch": epoch, "votedId": vote}
    if disk.configured is not None:
        voters = [{"voterId": each} for each in disk.configured]
        return json.dumps(
            {"clusterId": "", **common, "appliedOffset": 0, "currentVoters": voters, "data_version": 0}
        )
    voted = directory(100 * disk.directories + vote if vote > 0 else 0)
    return json.dumps({**common, "votedDirectoryId": voted, "data_version": 1})
