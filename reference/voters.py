"""Replica keys, voter sets and quorum arithmetic.

Source: KIP-853 (replica keys, voter sets); Kafka: ReplicaKey, VoterSet, VoterSet.VoterNode.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraftcheck.reference.frozen import Frozen, Unbounded
from kraftcheck.reference.types import Ascending, Directory, Host, InSequence, KRaftLevel, Name, NodeId, Port

#: What stands for no directory id, in messages and in files: the zero UUID.
NO_DIRECTORY = "AAAAAAAAAAAAAAAAAAAAAA"


class ReplicaKey(Frozen, order=True):
    """A replica's identity: its id and, where known, the id of its metadata directory.

    ``directory`` is ``None`` for static voters and for senders that speak an older message version.
    """

    id: NodeId
    directory: Directory | None = None


def matches(known: ReplicaKey, key: ReplicaKey) -> bool:
    """Whether ``key`` is the replica known as ``known``, whose directory need not be known."""
    return known.id == key.id and known.directory in (None, key.directory)


class Endpoint(Frozen):
    """Where a replica listens: listener name, host, port."""

    name: Name
    host: Host
    port: Port


class Voter(Unbounded):
    """An entry of a voter set: key, endpoints and the range of kraft.version it supports."""

    key: ReplicaKey
    endpoints: InSequence[Endpoint] = ()
    min_kraft_version: KRaftLevel = 0
    max_kraft_version: KRaftLevel = 0

    def supports(self, kraft_version: int) -> bool:
        """Whether this level of kraft.version lies in the voter's range."""
        return self.min_kraft_version <= kraft_version <= self.max_kraft_version


class VoterSet(Frozen):
    """A set of voters, kept in ascending order of id, and of directory where an id occurs twice.

    Ids are distinct, but for the composite keys of KIP-853.
    """

    voters: Ascending[Voter] = ()

    @property
    def keys(self) -> tuple[ReplicaKey, ...]:
        return tuple(voter.key for voter in self.voters)

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(voter.key.id for voter in self.voters)

    def __len__(self) -> int:
        return len(self.voters)

    def find(self, replica_id: int) -> Voter | None:
        """The (first) entry with this id, or ``None``."""
        for voter in self.voters:
            if voter.key.id == replica_id:
                return voter
        return None

    def entry(self, key: ReplicaKey) -> Voter | None:
        """The entry of ``key``: the ids match, and so do the directories if the entry has one."""
        for voter in self.voters:
            if matches(voter.key, key):
                return voter
        return None

    def is_voter(self, key: ReplicaKey) -> bool:
        """Whether ``key`` names a voter."""
        return self.entry(key) is not None

    def addressee(self, replica_id: int) -> ReplicaKey | None:
        """The key that a request to the voter with this id is meant for.

        ``None``: there is no such voter, or there are two and either may answer (VSET-3).
        """
        keys = [voter.key for voter in self.voters if voter.key.id == replica_id]
        return keys[0] if len(keys) == 1 else None

    def endpoints(self, replica_id: int) -> tuple[Endpoint, ...]:
        """The endpoints of the voter with this id; empty if there is none."""
        voter = self.find(replica_id)
        return () if voter is None else voter.endpoints

    def with_entry(self, entry: Voter) -> VoterSet:
        """The set with the entry of the same key replaced."""
        return VoterSet(tuple(entry if matches(voter.key, entry.key) else voter for voter in self.voters))

    def with_voter(self, entry: Voter) -> VoterSet:
        """The set and one voter more. Raises ValueError if a voter has this key."""
        if entry.key in self.keys:
            raise ValueError("two voters have the same key")
        ordered = sorted((*self.voters, entry), key=lambda voter: (voter.key.id, voter.key.directory or ""))
        return VoterSet(tuple(ordered))

    def without(self, key: ReplicaKey) -> VoterSet:
        """The set without the voter that has exactly this key."""
        return VoterSet(tuple(voter for voter in self.voters if voter.key != key))


def voter_set(entries: Iterable[Voter]) -> VoterSet:
    """A voter set from entries in any order. Raises ValueError if two have the same id."""
    ordered = tuple(sorted(entries, key=lambda voter: voter.key.id))
    if len({voter.key.id for voter in ordered}) != len(ordered):
        raise ValueError("two voters have the same id")
    return VoterSet(ordered)


def static_voters(ids: Iterable[int]) -> VoterSet:
    """A voter set as static configuration gives it: ids and endpoints, no directory ids."""
    return voter_set(Voter(ReplicaKey(n), (Endpoint("CONTROLLER", f"node-{n}", 9093),)) for n in ids)


def assigned_voters(ids: tuple[int, ...], configured: VoterSet) -> VoterSet:
    """The voters that an assignment names by their ids (KIP-595); where they listen is known otherwise."""
    return VoterSet(tuple(configured.find(n) or static_voters((n,)).voters[0] for n in ids))


def majority(voters: int) -> int:
    """The smallest number of replicas that is more than half of ``voters``."""
    return voters // 2 + 1
