"""Kafka's wire JSON of control records and of the quorum-state file, and their form in recordings and
adapters: batches, voter sets and snapshots, with their size in bytes.

Source: Kafka: the schemas of control records, QuorumStateData.json, DefaultRecordBatch (61 bytes of header),
DefaultRecord, RecordsSnapshotWriter; the recorder's form of a batch, whose state machine writes each value in
4 bytes.
"""

from __future__ import annotations

from kraftcheck import spec
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.evidence.recordings.typed import Json, converted, typed
from kraftcheck.evidence.recordings.wire_codec import Codec, Computed, Each, Layout, Rows
from kraftcheck.evidence.recordings.wire_types import (
    ControlRecord,
    RecordBatch,
    Types,
    encoded_size,
    signed_size,
)
from kraftcheck.reference.log import (
    Batch,
    KRaftVersion,
    LeaderChange,
    Record,
    Snapshot,
    SnapshotId,
    Value,
    Voters,
)
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.voters import Endpoint, Voter, VoterSet, voter_set
from kraftcheck.support.errors import InputError

KRAFT_VERSIONS: Rows = {
    "MinSupportedVersion": "min_kraft_version",
    "MaxSupportedVersion": "max_kraft_version",
}


class UncoveredMessageError(Exception):
    """A message or record that the reference has no counterpart for yet."""


def _codec(schema: str, layout: Layout, version: int = 0) -> Codec:
    fields = [each for each in spec.load().messages[schema].fields if each.name != "data_version"]
    return Codec(layout, fields, Types(0, version, {"Version": 0}), layout.kind.__name__)


def _ids(attribute: str, key: str) -> Computed:
    """A list of voters that a record names by their ids."""
    return Computed(
        attribute,
        lambda data, _: tuple(voter.voterId for voter in getattr(data, key)),
        lambda change: [{"voterId": voter} for voter in getattr(change, attribute)],
    )


_LEADER_CHANGE = _codec(
    "LeaderChangeMessage",
    Layout(
        LeaderChange,
        {
            "LeaderId": "leader",
            "Voters[]": _ids("voters", "voters"),
            "GrantingVoters[]": _ids("granting_voters", "grantingVoters"),
        },
    ),
)
_KRAFT_VERSION = _codec("KRaftVersionRecord", Layout(KRaftVersion, {"KRaftVersion": "version"}))
_VOTER: Rows = {
    "VoterId": "key.id",
    "VoterDirectoryId": "key.directory",
    "Endpoints[]": Each("endpoints", Endpoint),
    **KRAFT_VERSIONS,
}
_VOTERS = _codec("VotersRecord", Layout(VoterSet, {"Voters[]": Each("voters", Voter, _VOTER)}))
_QUORUM_STATE = _codec(
    "quorum-state",
    Layout(
        QuorumState,
        {
            "leaderId": "leader",
            "leaderEpoch": "epoch",
            "votedId": "voted.id",
            "votedDirectoryId": "voted.directory",
        },
    ),
    version=1,
)

#: Control records as recordings call them.
_RECORDS = {
    "LEADER_CHANGE": (LeaderChange, _LEADER_CHANGE),
    "KRAFT_VERSION": (KRaftVersion, _KRAFT_VERSION),
    "KRAFT_VOTERS": (Voters, _VOTERS),
}


# Batches.


def batch_of(batch: RecordBatch) -> Batch:
    """A record batch. Raises ValueError, or UncoveredMessageError for an unknown control record."""
    base, records = batch.base, tuple(map(record_of if batch.control else _value_of, batch.records))
    if not records or batch.last != base + len(records) - 1:
        raise ValueError(f"the batch at offset {base} does not end where it says")
    return Batch(base, batch.epoch, records)


def _value_of(record: int | ControlRecord) -> Record:
    if not isinstance(record, int):
        raise ValueError(f"a record must be an integer, found the control record {record.type!r}")
    return Value(record)


def record_of(record: int | ControlRecord) -> Record:
    """A control record. Raises ValueError, or UncoveredMessageError for an unknown one."""
    if isinstance(record, int):
        raise ValueError(f"a control record must be an object, found {record}")
    if record.type not in _RECORDS:
        raise UncoveredMessageError(f"control record {record.type}")
    kind, codec = _RECORDS[record.type]
    found = codec.value_of(converted(record.value, codec.type))
    return Voters(voter_set(found.voters)) if kind is Voters else found


def write_batch(batch: Batch) -> dict[str, Json]:
    """The counterpart of :func:`read_batch`."""
    return {
        "base": batch.base_offset,
        "last": batch.end_offset - 1,
        "epoch": batch.epoch,
        "control": batch.is_control,
        "records": [_write_record(record) for record in batch.records],
    }


def _write_record(record: Record) -> Json:
    if isinstance(record, Value):
        return record.value
    name = record_name(record)
    value = record.voters if isinstance(record, Voters) else record
    return {"type": name, "value": _RECORDS[name][1].write(value)}


def record_name(record: Record) -> str:
    """The name of a control record in recordings."""
    return next(name for name, (kind, _) in _RECORDS.items() if kind is type(record))


def record_names(batch: Batch) -> list[Json]:
    """The records of a batch as a ``start`` line lists them: values, and the names of control records."""
    return [entry.value if isinstance(entry, Value) else record_name(entry) for entry in batch.records]


# Voter sets, snapshots and batches of adapters.


def read_batch(fields: Fields) -> Batch:
    """A record batch. Raises InputError, or UncoveredMessageError for an unknown control record."""
    try:
        return batch_of(typed(fields.values, RecordBatch, fields.where))
    except ValueError as error:
        raise InputError(f"{fields.where}: {error}.") from None


def read_voter_set(data: Fields) -> VoterSet:
    """The voter set in the field ``voters``, as a KRAFT_VOTERS record has it. Raises InputError."""
    data.items("voters")
    try:
        return voter_set(_VOTERS.read(data.values, data.where).voters)
    except ValueError as error:
        raise InputError(f"{data.where}: {error}.") from None


def write_voter_set(voters: VoterSet) -> list[Json]:
    """The counterpart of :func:`read_voter_set`."""
    listed: list[Json] = _VOTERS.write(voters)["voters"]
    return listed


def write_key(id: int, directory_id: str | None) -> list[Json]:
    """A replica as a state shows it: its id, and its directory id where it is known."""
    return [id] if directory_id is None else [id, directory_id]


def read_snapshot_id(data: Fields) -> SnapshotId:
    """The id in the field ``snapshotId``. Raises InputError."""
    id = data.inner("snapshotId")
    return SnapshotId(id.number("endOffset"), id.number("epoch"))


def write_snapshot_id(id: SnapshotId) -> dict[str, Json]:
    """The counterpart of :func:`read_snapshot_id`, without the name of the field."""
    return {"endOffset": id.end_offset, "epoch": id.epoch}


def read_snapshot(data: Fields) -> Snapshot:
    """A snapshot. Raises InputError."""
    return Snapshot(
        id=read_snapshot_id(data),
        voters=None if data.value("voters") is None else read_voter_set(data),
        kraft_version=data.number("kraftVersion"),
        values=data.numbers("values"),
        size=data.number("size"),
    )


def write_snapshot(snapshot: Snapshot) -> dict[str, Json]:
    """A snapshot: id, content of its control records, values, size in bytes."""
    return {
        "snapshotId": write_snapshot_id(snapshot.id),
        "kraftVersion": snapshot.kraft_version,
        "voters": None if snapshot.voters is None else write_voter_set(snapshot.voters),
        "values": list(snapshot.values),
        "size": snapshot.size,
    }


# The quorum-state file.


def read_quorum_state(file: Json, where: str) -> QuorumState | None:
    """The quorum-state file, if there is one; version 0 has no directory of the vote. Raises InputError."""
    state: QuorumState | None = None if file is None else _QUORUM_STATE.read(file, where)
    return state


def write_quorum_state(state: QuorumState, replica: Replica) -> dict[str, Json]:
    """The file: version 1, under kraft.version 0 version 0 with the voters but without the directory id."""
    file = _QUORUM_STATE.write(state)
    if replica.kraft_version >= 1:
        return file
    del file["votedDirectoryId"]
    voters = [{"voterId": voter} for voter in replica.voters.ids]
    return {"clusterId": "", **file, "appliedOffset": 0, "currentVoters": voters}


def write_whole_quorum_state(state: QuorumState) -> dict[str, Json]:
    """The file of version 1, for any version of KRaft."""
    return _QUORUM_STATE.write(state)


# The size in bytes of batches and snapshots.

_HEADER = 61
#: Attributes, time since the first record (always 0), and the number of headers (none): a byte each.
_FIXED = 3
#: A control record's key (its version and its type), and a value.
_KEY, _VALUE = 4, 4


def size_of(batch: Batch) -> int:
    """The size of ``batch``, uncompressed."""
    return _HEADER + sum(_record_size(index, record) for index, record in enumerate(batch.records))


def snapshot_size(voters: VoterSet | None, kraft_version: int, values: tuple[int, ...]) -> int:
    """The size of a snapshot: a batch with its header and the control records, the values, its footer."""
    control: list[Record] = [] if voters is None else [KRaftVersion(kraft_version), Voters(voters)]
    ends = [
        _HEADER + _sized(0, _KEY, encoded_size(spec.load().messages[name].fields, {}))
        for name in ("SnapshotHeaderRecord", "SnapshotFooterRecord")
    ]
    content = size_of(Batch(0, 0, tuple(map(Value, values)))) if values else 0
    return sum(ends) + sum(_record_size(index, record) for index, record in enumerate(control, 1)) + content


def _record_size(index: int, record: Record) -> int:
    if isinstance(record, Value):
        return _sized(index, None, _VALUE)
    codec = _RECORDS[record_name(record)][1]
    return _sized(index, _KEY, encoded_size(codec.fields, _write_record(record)["value"]))


def _sized(index: int, key: int | None, value: int) -> int:
    """A record whose key (``None``: it has none) and value have these sizes."""
    key_length = signed_size(-1 if key is None else key)
    body = _FIXED + signed_size(index) + key_length + (key or 0) + signed_size(value) + value
    return signed_size(body) + body
