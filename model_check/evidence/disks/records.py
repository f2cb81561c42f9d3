"""The records of a batch: control records with their content, records of metadata by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from kraftcheck.evidence.disks.fields import Fields, UnreadableRecordError


@dataclass(frozen=True, slots=True)
class VoterKey:
    """A voter. ``directory``: the id of its disk as Kafka prints it; None before kraft.version 1."""

    id: int
    directory: str | None

    def __str__(self) -> str:
        return str(self.id) if self.directory is None else f"{self.id}@{self.directory}"


@dataclass(frozen=True, slots=True)
class Voter:
    """An entry of a voter set, with what it advertises: ``endpoints`` as ``NAME://HOST:PORT``, and the range
    of kraft.version that it supports.
    """

    key: VoterKey
    endpoints: tuple[str, ...]
    supports: tuple[int, int]


@dataclass(frozen=True, slots=True)
class LeaderChange:
    """A leader begins its epoch (``LeaderChangeMessage``). ``granting``: the voters that elected it."""

    leader: int
    voters: tuple[int, ...]
    granting: tuple[int, ...]

    def __str__(self) -> str:
        return f"LeaderChange leader={self.leader} voters={list(self.voters)} granting={list(self.granting)}"


@dataclass(frozen=True, slots=True)
class KRaftVersion:
    """The level of kraft.version (``KRaftVersionRecord``)."""

    level: int

    def __str__(self) -> str:
        return f"KRaftVersion {self.level}"


@dataclass(frozen=True, slots=True)
class Voters:
    """A voter set (``VotersRecord``)."""

    voters: tuple[Voter, ...]

    @property
    def keys(self) -> tuple[VoterKey, ...]:
        """The voters without what they advertise."""
        return tuple(each.key for each in self.voters)

    def __str__(self) -> str:
        return f"Voters [{', '.join(map(str, self.keys))}]"


@dataclass(frozen=True, slots=True)
class SnapshotHeader:
    """The first record of a snapshot. ``last_contained``: the time of its last log record, ms since 1970."""

    last_contained: int

    def __str__(self) -> str:
        return "SnapshotHeader"


@dataclass(frozen=True, slots=True)
class SnapshotFooter:
    """The last record of a snapshot."""

    def __str__(self) -> str:
        return "SnapshotFooter"


@dataclass(frozen=True, slots=True)
class UnknownControl:
    """A control record of a type that this release of Kafka does not know."""

    type: int

    def __str__(self) -> str:
        return f"control record of type {self.type}"


ControlRecord: TypeAlias = (
    LeaderChange | KRaftVersion | Voters | SnapshotHeader | SnapshotFooter | UnknownControl
)

#: The records of metadata by their keys (``org.apache.kafka.common.metadata.MetadataRecordType``).
_METADATA: Final = {
    0: "REGISTER_BROKER_RECORD",
    1: "UNREGISTER_BROKER_RECORD",
    2: "TOPIC_RECORD",
    3: "PARTITION_RECORD",
    4: "CONFIG_RECORD",
    5: "PARTITION_CHANGE_RECORD",
    6: "ACCESS_CONTROL_RECORD",
    7: "FENCE_BROKER_RECORD",
    8: "UNFENCE_BROKER_RECORD",
    9: "REMOVE_TOPIC_RECORD",
    10: "DELEGATION_TOKEN_RECORD",
    11: "USER_SCRAM_CREDENTIAL_RECORD",
    12: "FEATURE_LEVEL_RECORD",
    14: "CLIENT_QUOTA_RECORD",
    15: "PRODUCER_IDS_RECORD",
    17: "BROKER_REGISTRATION_CHANGE_RECORD",
    18: "ACCESS_CONTROL_ENTRY_RECORD",
    19: "REMOVE_ACCESS_CONTROL_ENTRY_RECORD",
    20: "NO_OP_RECORD",
    21: "ZK_MIGRATION_STATE_RECORD",
    22: "REMOVE_USER_SCRAM_CREDENTIAL_RECORD",
    23: "BEGIN_TRANSACTION_RECORD",
    24: "END_TRANSACTION_RECORD",
    25: "ABORT_TRANSACTION_RECORD",
    26: "REMOVE_DELEGATION_TOKEN_RECORD",
    27: "REGISTER_CONTROLLER_RECORD",
    28: "CLEAR_ELR_RECORD",
    29: "UNREGISTER_CONTROLLER_RECORD",
}


def control_records(body: bytes, count: int) -> tuple[ControlRecord, ...]:
    """The ``count`` control records in the body of a batch. Raises UnreadableRecordError."""
    return tuple(_control(key, value) for key, value in _records(body, count))


def kinds(body: bytes, count: int) -> tuple[str, ...]:
    """The names of the ``count`` records of metadata in the body of a batch. Raises UnreadableRecordError."""
    return tuple(_metadata(Fields(value)) for _, value in _records(body, count))


def _records(body: bytes, count: int) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of the records; nothing may be left
    (``org.apache.kafka.common.record.DefaultRecord``).
    """
    whole = Fields(body)
    for _ in range(count):
        record = Fields(whole.data())
        record.integer(1)  # attributes: none are defined
        record.signed(), record.signed()  # its time and its offset, from those of the batch
        key, value = record.data(), record.data()
        for _ in range(record.signed()):
            record.data(), record.data()
        _require_end(record, "record")
        yield key, value
    _require_end(whole, "batch")


def _require_end(fields: Fields, what: str) -> None:
    if fields.left:
        raise UnreadableRecordError(f"with {fields.left:,} bytes too many in a {what}")


def _leader_change(fields: Fields, version: int) -> LeaderChange:
    def voter(fields: Fields) -> int:
        found = fields.integer(4)
        if version > 0:
            fields.directory()
        fields.tags()
        return found

    return LeaderChange(fields.integer(4), fields.array(voter), fields.array(voter))


def _voters(fields: Fields, _: int) -> Voters:
    return Voters(fields.array(_voter))


def _voter(fields: Fields) -> Voter:
    key = VoterKey(fields.integer(4), fields.directory())
    endpoints = fields.array(_endpoint)
    supports = fields.integer(2), fields.integer(2)
    fields.tags()
    fields.tags()
    return Voter(key, endpoints, supports)


def _endpoint(fields: Fields) -> str:
    found = f"{fields.text()}://{fields.text()}:{fields.integer(2, signed=False)}"
    fields.tags()
    return found


#: The control records of KRaft by their types (``org.apache.kafka.common.record.ControlRecordType``).
_CONTROL: Final[dict[int, Callable[[Fields, int], ControlRecord]]] = {
    2: _leader_change,
    3: lambda fields, _: SnapshotHeader(fields.integer(8)),
    4: lambda fields, _: SnapshotFooter(),
    5: lambda fields, _: KRaftVersion(fields.integer(2)),
    6: _voters,
}


def _control(key: bytes, value: bytes) -> ControlRecord:
    fields = Fields(key)
    fields.integer(2)  # the version of the key
    type_ = fields.integer(2)
    if type_ not in _CONTROL:
        return UnknownControl(type_)
    fields = Fields(value)
    found = _CONTROL[type_](fields, fields.integer(2))
    fields.tags()
    _require_end(fields, f"control record of type {type_}")
    return found


def _metadata(fields: Fields) -> str:
    """The name of a record of metadata: its value begins with the version of the frame, its key, its version
    (``org.apache.kafka.server.common.serialization.AbstractApiMessageSerde``).
    """
    fields.unsigned()
    number = fields.unsigned()
    return _METADATA.get(number, f"record of type {number}")
