"""How many bytes a record batch takes in a Fetch response.

Source: Kafka: DefaultRecordBatch (61 bytes of header), DefaultRecord, the schemas of the control records
LeaderChangeMessage (version 0), KRaftVersionRecord and VotersRecord; the recorder's state machine writes
each value in 4 bytes.
"""

from __future__ import annotations

from reference.log import Batch, KRaftVersion, LeaderChange, Record, Value, Voters
from reference.voters import Voter

HEADER = 61

#: Attributes, time since the first record (always 0), and the number of headers (none): a byte each.
FIXED = 3

#: A control record's key: its version and its type.
CONTROL_KEY = 4

#: The end of a structure without optional fields.
TAGS = 1

VALUE, INT32, INT16, UUID = 4, 4, 2, 16


def size_of(batch: Batch) -> int:
    """The size of ``batch`` in bytes, uncompressed."""
    return HEADER + sum(_record(index, record) for index, record in enumerate(batch.records))


def _record(index: int, record: Record) -> int:
    if isinstance(record, Value):
        key, value = 0, VALUE
        key_length = _signed(-1)
    else:
        key, value = CONTROL_KEY, _control(record)
        key_length = _signed(key)
    body = FIXED + _signed(index) + key_length + key + _signed(value) + value
    return _signed(body) + body


def _control(record: LeaderChange | KRaftVersion | Voters) -> int:
    if isinstance(record, LeaderChange):
        nodes = (record.voters, record.granting_voters)
        return INT16 + INT32 + sum(_count(len(ids)) + len(ids) * (INT32 + TAGS) for ids in nodes) + TAGS
    if isinstance(record, KRaftVersion):
        return INT16 + INT16 + TAGS
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
