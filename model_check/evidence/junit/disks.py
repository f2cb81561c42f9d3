"""Disks as statements of a test: what a replica finds when its process starts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from kraftcheck.evidence.adapters.deployed import renamed
from kraftcheck.evidence.junit.messages import NotWritable, json_literal, literal
from kraftcheck.evidence.recordings.wire_codec import uuid
from kraftcheck.evidence.recordings.wire_records import write_batch
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.log import Batch, Value
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.voters import ReplicaKey, Voter, VoterSet
from kraftcheck.systems.kraft.text.style import usual_endpoints

#: By control record of Kafka the method that appends it to a batch, and the class that reads it from JSON.
_CONTROL = {
    "LEADER_CHANGE": ("appendLeaderChangeMessage", "LeaderChangeMessage"),
    "KRAFT_VERSION": ("appendKRaftVersionMessage", "KRaftVersionRecord"),
    "KRAFT_VOTERS": ("appendVotersMessage", "VotersRecord"),
}

#: The listener of every client, as in java/quorum.java.
_LISTENER = "CONTROLLER"


def formatted(name: str, identity: Replica, known: dict[VoterSet, str]) -> Iterator[str]:
    """What the configuration and the formatting of a new disk give the replica ``name``. ``known``: the
    variables of voter sets, to which one is added if there is none yet.

    Raises NotWritable for a voter set that the test has no words for.
    """
    voters = identity.bootstrap_voters
    if identity.bootstrap_kraft_version > 0 and len(voters):
        if voters not in known:
            known[voters] = f"voters{len(known) + 1}"
            yield f"VoterSet {known[voters]} = voterSet("
            yield from _separated([f"    {_voter(each)}" for each in voters.voters])
            yield ");"
        yield f"{name}.formatWith({known[voters]});"
    elif len(voters):
        yield f"{name}.staticVoters({', '.join(str(each) for each in voters.ids)});"


def listener(name: str, identity: Replica) -> str:
    """The statement that says where the next process of the replica ``name`` listens. Raises NotWritable."""
    if [each.name for each in identity.endpoints] != [_LISTENER]:
        raise NotWritable(f"replica {identity.id} has other listeners than {_LISTENER} alone")
    (found,) = identity.endpoints
    return f"{name}.listener = InetSocketAddress.createUnresolved({literal(found.host)}, {found.port});"


def _separated(lines: list[str]) -> list[str]:
    return [f"{line}," for line in lines[:-1]] + lines[-1:]


def _voter(voter: Voter) -> str:
    """A voter as an expression. Raises NotWritable where it is not as the others."""
    alike = voter.endpoints == usual_endpoints(voter.key.id)
    if not alike or (voter.min_kraft_version, voter.max_kraft_version) != (0, 1):
        raise NotWritable(f"voter {voter.key.id} has endpoints or versions of its own")
    return key(voter.key)


def key(replica: ReplicaKey) -> str:
    """A replica key as an expression."""
    return f'key({replica.id}, "{uuid(replica.directory)}")'


def contents(name: str, before: Disk, after: Disk) -> Iterator[str]:
    """Statements that write to the disk of the replica ``name``, which is as ``before``, what ``after`` has
    more: the quorum-state file and batches of records. Raises NotWritable.
    """
    if before.log.snapshots != after.log.snapshots or before.log.start_offset != after.log.start_offset:
        raise NotWritable("a replica starts with a snapshot that it has not written itself")
    yield from quorum_state(name, before, after)
    known = len(before.log.batches)
    if after.log.batches[:known] != before.log.batches:
        raise NotWritable("a replica starts with records that it had truncated")
    for batch in after.log.batches[known:]:
        yield from _batch(name, batch)


def quorum_state(name: str, before: Disk, after: Disk) -> Iterator[str]:
    """The statement that gives the quorum-state file its content, where it has another one."""
    found: QuorumState | None = after.quorum_state
    if found == before.quorum_state:
        return
    if found is None:
        yield f"{name}.store.clear();"
        return
    leader = "OptionalInt.empty()" if found.leader is None else f"OptionalInt.of({found.leader})"
    voted = "Optional.empty()" if found.voted is None else f"Optional.of({key(renamed(found.voted))})"
    yield f"{name}.writeQuorumState({found.epoch}, {leader}, {voted});"


def _batch(name: str, batch: Batch) -> Iterator[str]:
    if not batch.is_control:
        values = (literal(str(each.value)) for each in batch.records if isinstance(each, Value))
        yield f"{name}.writeRecords({batch.epoch}, {', '.join(values)});"
        return
    yield f"{name}.writeControlRecords({batch.epoch}, batch -> {{"
    yield from (f"    {each}" for each in _control(write_batch(batch)["records"]))
    yield "});"


def _control(records: Iterable[dict[str, object]]) -> Iterator[str]:
    for record in records:
        method, kind = _CONTROL[str(record["type"])]
        yield f"batch.{method}(0L, {kind}JsonConverter.read(json("
        yield from (f"    {line}" for line in json_literal(json.dumps(record["value"])))
        yield "), (short) 0));"
