"""The size in bytes of a record batch in a Fetch response.

Source: Kafka: DefaultRecordBatch (61 bytes of header), DefaultRecord, the schemas of the control records
LeaderChangeMessage (version 0), KRaftVersionRecord, VotersRecord, SnapshotHeaderRecord and
SnapshotFooterRecord, RecordsSnapshotWriter; the recorder's state machine writes
each value in 4 bytes.
"""

from __future__ import annotations

from kraftcheck.reference.log import Batch, KRaftVersion, LeaderChange, Record, Value, Voters
from kraftcheck.reference.voters import Voter, VoterSet

HEADER = 61

#: Attributes, time since the first record (always 0), and the number of headers (none): a byte each.
FIXED = 3

#: A control record's key: its version and its type.
CONTROL_KEY = 4

#: The end of a structure without optional fields.
TAGS = 1

VALUE, INT64, INT32, INT16, UUID = 4, 8, 4, 2, 16

#: The values of the records that begin and end a snapshot: a version; the header also has a time.
SNAPSHOT_HEADER, SNAPSHOT_FOOTER = INT16 + INT64 + TAGS, INT16 + TAGS


def size_of(batch: Batch) -> int:
    """The size of ``batch`` in bytes, uncompressed."""
    return HEADER + sum(_record(index, record) for index, record in enumerate(batch.records))


def snapshot_size(voters: VoterSet | None, kraft_version: int, values: tuple[int, ...]) -> int:
    """The size of a snapshot: a batch with its header and the control records, the values, its footer."""
    control: list[KRaftVersion | Voters] = []
    if voters is not None:
        control = [KRaftVersion(kraft_version), Voters(voters)]
    header = HEADER + _sized(0, CONTROL_KEY, SNAPSHOT_HEADER)
    header += sum(_record(index, record) for index, record in enumerate(control, 1))
    content = size_of(Batch(0, 0, tuple(map(Value, values)))) if values else 0
    return header + content + HEADER + _sized(0, CONTROL_KEY, SNAPSHOT_FOOTER)


def _record(index: int, record: Record) -> int:
    if isinstance(record, Value):
        return _sized(index, None, VALUE)
    return _sized(index, CONTROL_KEY, _control(record))


def _sized(index: int, key: int | None, value: int) -> int:
    """A record whose key (``None``: it has none) and value have these sizes in bytes."""
    key_length = _signed(-1 if key is None else key)
    body = FIXED + _signed(index) + key_length + (key or 0) + _signed(value) + value
    return _signed(body) + body


def _control(record: Record) -> int:
    if isinstance(record, LeaderChange):
        nodes = (record.voters, record.granting_voters)
        return INT16 + INT32 + sum(_count(len(ids)) + len(ids) * (INT32 + TAGS) for ids in nodes) + TAGS
    if isinstance(record, KRaftVersion):
        return INT16 + INT16 + TAGS
    assert isinstance(record, Voters), "no recording has voter assignments"
    voters = record.voters.voters
    return INT16 + _count(len(voters)) + sum(_voter(voter) for voter in voters) + TAGS


def _voter(voter: Voter) -> int:
    endpoints = sum(
        _text(endpoint.name) + _text(endpoint.host) + INT16 + TAGS for endpoint in voter.endpoints
    )
    versions = INT16 + INT16 + TAGS
    return INT32 + UUID + _count(len(voter.endpoints)) + endpoints + versions + TAGS


def _text(text: str) -> int:
    return _count(len(text.encode())) + len(text.encode())


def _count(length: int) -> int:
    """A length in a compact field, where it is written plus one."""
    return _unsigned(length + 1)


def _signed(value: int) -> int:
    return _unsigned(value << 1 if value >= 0 else (-value << 1) - 1)


def _unsigned(value: int) -> int:
    return max(1, (value.bit_length() + 6) // 7)
