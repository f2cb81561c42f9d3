"""The replica of the scripts and the events at it: replica 1, in or from epoch 5.

``STATIC`` voters are configured by id; voters of a quorum that changes also have directory ids, ``KEYS``.
"""

from __future__ import annotations

from dataclasses import dataclass

from kraftcheck.evidence.adapters.stimuli import DriveSequence, Start, Stimulus
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Poll, RequestReceived, ResponseReceived, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import (
    BeginQuorumEpochRequest,
    FetchRequest,
    FetchResponse,
    Response,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, static_voters, voter_set

EPOCH = 5
KEYS = {node: ReplicaKey(node, f"directory-of-node-00{node}A") for node in range(1, 6)}

Stimuli = tuple[Stimulus, ...]

#: The events after a script: its effect shows in the next steps of the replica.
AFTERWARDS: Stimuli = (Poll(), Poll((Timer.ELECTION, Timer.FETCH)), Poll())


def endpoints(node: int, *more: str) -> tuple[Endpoint, ...]:
    """The endpoints of a node, including listeners other than the usual one."""
    return tuple(Endpoint(name, f"node-{node}", 9093 + n) for n, name in enumerate(("CONTROLLER", *more)))


def voter(node: int, *, kraft_version: int = 1) -> Voter:
    """The entry of a node in a voter set."""
    return Voter(KEYS[node], endpoints(node), 0, kraft_version)


def voters(*nodes: int) -> VoterSet:
    """A voter set with directory ids."""
    return voter_set(voter(node) for node in nodes)


STATIC = Replica(ReplicaKey(1), static_voters((1, 2, 3)), endpoints=endpoints(1))


def changing(*nodes: int, node: int = 1) -> Replica:
    """A replica of a quorum under kraft.version 1, whose voter set is in the bootstrap checkpoint."""
    return Replica(
        KEYS[node],
        voters(*nodes),
        endpoints=endpoints(node),
        bootstrap_kraft_version=1,
        max_kraft_version=1,
        cluster_id="this-cluster",
    )


@dataclass(frozen=True, slots=True)
class Scripts:
    """Makes the sequences of one area, all under one protocol."""

    area: str
    protocol: Protocol

    def sequence(self, name: str, identity: Replica, disk: Disk, *stimuli: Stimulus) -> DriveSequence:
        """A sequence that begins with a start."""
        whole = (Start(), *stimuli, *AFTERWARDS)
        return DriveSequence(f"script {self.area}: {name}", self.protocol, identity, disk, whole)


# Disks.


def in_epoch(epoch: int = EPOCH) -> Disk:
    """Of a replica that has seen ``epoch`` and has no records."""
    return Disk(QuorumState(epoch))


def candidate(identity: Replica, epoch: int = EPOCH) -> Disk:
    """Of a replica that has voted for itself."""
    return Disk(QuorumState(epoch, None, identity.key))


# Messages.


def answer(node: int, response: Response) -> ResponseReceived:
    """``node`` answers the request that awaits its answer."""
    return ResponseReceived(node, response)


def granted(node: int, epoch: int = EPOCH) -> ResponseReceived:
    """``node`` grants a vote or pre-vote."""
    return answer(node, VoteResponse(epoch, granted=True))


def rejected(node: int, epoch: int = EPOCH, leader: int | None = None) -> ResponseReceived:
    """``node`` refuses a vote or pre-vote."""
    return answer(node, VoteResponse(epoch, leader))


def vote_request(node: int, epoch: int, *, pre_vote: bool = False, end: int = 0) -> RequestReceived:
    """``node``, whose log ends at ``end``, asks for a vote or pre-vote."""
    last = 0 if end == 0 else epoch - 1
    return RequestReceived(node, VoteRequest(epoch, ReplicaKey(node), None, last, end, pre_vote))


def leads(node: int, epoch: int, *more: str) -> RequestReceived:
    """``node`` announces that it leads ``epoch``."""
    request = BeginQuorumEpochRequest(epoch, node, None, endpoints(node, *more))
    return RequestReceived(node, request)


def nothing_new(node: int, epoch: int = EPOCH) -> ResponseReceived:
    """The leader answers a Fetch and has no records."""
    return answer(node, FetchResponse(epoch, node))


def fetch(key: ReplicaKey, end: int, epoch: int = EPOCH, *, waits: bool = False) -> RequestReceived:
    """A replica whose log ends at ``end`` with a record of ``epoch`` fetches from the leader of it; one that
    ``waits`` knows that all of its records are committed.
    """
    last = epoch if end else 0
    known, wait_ms = (end, 500) if waits else (None, 0)
    return RequestReceived(key.id, FetchRequest(epoch, key, end, last, known, wait_ms))


# Paths into a role; each begins after the start.


def elected(*granting: int, epoch: int = EPOCH) -> Stimuli:
    """From the disk of a candidate to a leader that has opened its epoch."""
    return (Poll(), *(granted(node, epoch) for node in granting), Poll())


def deposed_and_elected(epoch: int, *granting: int) -> Stimuli:
    """A leader of ``epoch`` receives the next one, and becomes the leader of the one after that."""
    run: Stimuli = (Poll((Timer.ELECTION,)), Poll(), *(granted(node, epoch + 1) for node in granting), Poll())
    won: Stimuli = (*(granted(node, epoch + 2) for node in granting), Poll())
    return (vote_request(3, epoch + 1), *run, *won)


def with_cluster(identity: Replica) -> Replica:
    """The same in a cluster that has an id."""
    return replace(identity, cluster_id="this-cluster")
