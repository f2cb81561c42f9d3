"""Records, voter sets and the quorum-state file in the form in which recordings show them.

Source: Kafka: the schemas of control records, QuorumStateData.json.
"""

from __future__ import annotations

from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.wire import ZERO_UUID
from kraftcheck.reference.log import Batch, KRaftVersion, LeaderChange, Record, Value, Voters
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.voters import Endpoint, Voter, VoterSet


def or_minus_one(value: int | None) -> int:
    """How the wire says "unknown"."""
    return -1 if value is None else value


def uuid(directory: str | None) -> str:
    """How the wire says "no directory"."""
    return directory or ZERO_UUID


def listeners(endpoints: tuple[Endpoint, ...]) -> Json:
    return [{"name": entry.name, "host": entry.host, "port": entry.port} for entry in endpoints]


def encode_batch(batch: Batch) -> Json:
    """A record batch as recordings show it."""
    return {
        "base": batch.base_offset,
        "last": batch.end_offset - 1,
        "epoch": batch.epoch,
        "control": batch.is_control,
        "records": [_record(record) for record in batch.records],
    }


def record_names(batch: Batch) -> Json:
    """The records of a batch as a ``start`` line lists them: values, and the types of control records."""
    return [entry["type"] if isinstance(entry, dict) else entry for entry in encode_batch(batch)["records"]]


def _record(record: Record) -> Json:
    if isinstance(record, Value):
        return record.value
    if isinstance(record, LeaderChange):
        return {
            "type": "LEADER_CHANGE",
            "value": {
                "version": 0,
                "leaderId": record.leader,
                "voters": [{"voterId": voter} for voter in record.voters],
                "grantingVoters": [{"voterId": voter} for voter in record.granting_voters],
            },
        }
    if isinstance(record, KRaftVersion):
        return {"type": "KRAFT_VERSION", "value": {"version": 0, "kRaftVersion": record.version}}
    assert isinstance(record, Voters)
    voters = [_voter(voter) for voter in record.voters.voters]
    return {"type": "KRAFT_VOTERS", "value": {"version": 0, "voters": voters}}


def _voter(voter: Voter) -> Json:
    return {
        "voterId": voter.key.id,
        "voterDirectoryId": uuid(voter.key.directory),
        "endpoints": listeners(voter.endpoints),
        "kRaftVersionFeature": {
            "minSupportedVersion": voter.min_kraft_version,
            "maxSupportedVersion": voter.max_kraft_version,
        },
    }


def encode_quorum_state(state: QuorumState, replica: Replica) -> Json:
    """The quorum-state file: version 1 with a directory id, version 0 (kraft.version 0) with the voters."""
    leader, voted = or_minus_one(state.leader), -1 if state.voted is None else state.voted.id
    if replica.kraft_version >= 1:
        return {
            "leaderId": leader,
            "leaderEpoch": state.epoch,
            "votedId": voted,
            "votedDirectoryId": uuid(None if state.voted is None else state.voted.directory),
        }
    return {
        "clusterId": "",
        "leaderId": leader,
        "leaderEpoch": state.epoch,
        "votedId": voted,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": voter} for voter in replica.voters.ids],
    }


def encode_voters(voters: VoterSet) -> Json:
    """A voter set as a state shows it."""
    return [
        [voter.key.id] if voter.key.directory is None else [voter.key.id, voter.key.directory]
        for voter in voters.voters
    ]
