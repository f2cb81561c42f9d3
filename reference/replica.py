"""A replica as a value: identity, durable state, role, and volatile bookkeeping.

Source: Kafka: QuorumState, EpochState and its implementations, ElectionState, RequestManager.
"""

from __future__ import annotations

from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.log import Log, Record, SnapshotId
from kraftcheck.reference.messages import FetchRequest, FetchResponse
from kraftcheck.reference.types import (
    Ascending,
    ByteCount,
    ControlOffset,
    Correlation,
    EndOffset,
    Epoch,
    FirstOffset,
    InSequence,
    KRaftLevel,
    Name,
    NodeId,
    ReplicaId,
    Time,
)
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, assigned_voters


class QuorumState(Frozen):
    """What the quorum-state file holds: the epoch, its leader if known, and the vote cast in it."""

    epoch: Epoch = 0
    leader: ReplicaId | None = None
    voted: ReplicaKey | None = None


class Election(Frozen):
    """The tally of an election among the voters known when it began; own vote granted from the start."""

    voters: Ascending[ReplicaId]
    granted: Ascending[ReplicaId]
    rejected: Ascending[ReplicaId] = ()


class Unattached(Frozen):
    """Knows the epoch but no leader it could fetch from."""


class Prospective(Frozen):
    """Asks whether it would win an election (KIP-996). Keeps the endpoints of the last known leader."""

    election: Election
    leader_endpoints: InSequence[Endpoint] = ()


class Candidate(Frozen):
    """Has voted for itself in a new epoch and asks for votes.

    ``backs_off``: it waits before the next election (up to Kafka 4.0, see the switch ``candidate-loss``).
    """

    election: Election
    backs_off: bool = False


class PartialSnapshot(Frozen):
    """A snapshot of which the first ``position`` bytes have been fetched."""

    id: SnapshotId
    position: ByteCount = 0


class Follower(Frozen):
    """Fetches from the leader of its epoch; ``has_fetched`` since it began to follow it.

    ``has_updated_leader``: the leader has answered its UpdateRaftVoter. ``fetching_snapshot``: what it
    loads instead of records.
    """

    leader_endpoints: InSequence[Endpoint]
    has_fetched: bool = False
    has_updated_leader: bool = False
    fetching_snapshot: PartialSnapshot | None = None


class Progress(Frozen):
    """The log of a replica as its leader knows it. Times are clock readings in ms, ``None`` where unknown.

    ``key`` is that of the voter set for a voter, that of its fetches for an observer.
    ``leader_end_offset`` is the leader's own end offset at the replica's last fetch (KIP-836); ``caught_up``:
    it has once held all that the leader had at a fetch.
    """

    key: ReplicaKey
    end_offset: EndOffset | None = None
    acknowledged: bool = False
    last_fetch_time: Time | None = None
    leader_end_offset: EndOffset | None = None
    last_caught_up_time: Time | None = None
    caught_up: bool = False

    @property
    def id(self) -> int:
        return self.key.id


class ParkedFetch(Frozen):
    """A Fetch request that waits for records or a new high watermark.

    ``response`` is what it is answered with if the wait ends first.
    """

    source: NodeId
    correlation: Correlation | None
    request: FetchRequest
    response: FetchResponse


class AddingVoter(Frozen):
    """An AddRaftVoter request under way. ``offset`` is that of the new voter set, ``None`` while the leader
    still asks the new voter which kraft.version it supports; ``answered``: the client knows already.
    """

    source: NodeId
    correlation: Correlation | None
    voter: Voter
    ack_when_committed: bool
    offset: ControlOffset | None = None
    answered: bool = False


class RemovingVoter(Frozen):
    """A RemoveRaftVoter request under way: the voter set without that voter is at ``offset``."""

    source: NodeId
    correlation: Correlation | None
    offset: ControlOffset


class UpdatingVoter(Frozen):
    """An UpdateRaftVoter request under way, where the leader asks the voter at its new endpoint which
    kraft.version it supports (Kafka's trunk). ``voter`` is the new entry, ``offset`` that of the voter set
    with it: ``None`` until then; once there is one, the request has been answered.
    """

    source: NodeId
    correlation: Correlation | None
    voter: Voter
    offset: ControlOffset | None = None


VoterChange = AddingVoter | RemovingVoter | UpdatingVoter


class AlteringQuorum(Frozen):
    """An AlterQuorum request that waits: for its turn (``offset`` None), or until its assignment commits."""

    source: NodeId
    correlation: Correlation | None
    target: Ascending[ReplicaId] | None
    offset: ControlOffset | None = None


class Leader(Frozen):
    """Leads its epoch from ``epoch_start_offset`` on.

    ``pending`` are batches accepted but not appended yet; ``contacts`` the voters heard from since the
    check-quorum timer was last armed. ``observers`` are the replicas that fetch and are no voters;
    ``change`` is the voter change under way; ``reported`` are entries that static voters gave of themselves
    (KVER-5). ``alterations`` are AlterQuorum requests, in the order in which they came (KIP-595).
    """

    epoch_start_offset: FirstOffset
    granting_voters: Ascending[ReplicaId]
    progress: Ascending[Progress]
    pending: InSequence[InSequence[Record]] = ()
    contacts: Ascending[ReplicaId] = ()
    resign_requested: bool = False
    observers: Ascending[Progress] = ()
    change: VoterChange | None = None
    reported: Ascending[Voter] = ()
    alterations: InSequence[AlteringQuorum] = ()


class Resigned(Frozen):
    """Led this epoch and resigned: it informs the voters until its election timer expires."""

    unacknowledged: Ascending[ReplicaId]
    preferred_successors: InSequence[ReplicaKey] = ()


Role = Unattached | Prospective | Candidate | Leader | Follower | Resigned


class Connection(Frozen):
    """What a replica remembers of its requests to one node: an answer awaited, or a back-off running.

    ``correlation`` is ``None`` where the transport itself pairs answers with requests.
    """

    node: ReplicaId
    awaiting: bool
    correlation: Correlation | None = None


class Replica(Frozen):
    """A replica.

    key, endpoints: its identity and where it listens; ``endpoints`` is empty for a pure observer.
    bootstrap_voters, bootstrap_kraft_version: the voter set of static configuration or of the 0-0
        checkpoint, and the kraft.version that comes with it; control records in the log override them.
    quorum_state, log: the durable state as the running process sees it.
    role, high_watermark, connections, parked, shutting_down: volatile state; ``parked`` are the fetches to
        be answered later.
    next_correlation: the next correlation id, ``None`` where the transport pairs answers and requests.
    can_become_voter: whether the process has the controller role; such a replica flushes what it fetches.
    auto_join: whether such a replica makes itself a voter (controller.quorum.auto.join.enable).
    max_kraft_version: the largest level of kraft.version that the process supports.
    assignment_offset: where the effective voter assignment is in the log, -1 without one (KIP-595); volatile.
    """

    key: ReplicaKey
    bootstrap_voters: VoterSet
    quorum_state: QuorumState = QuorumState()
    log: Log = Log()
    role: Role = Unattached()
    high_watermark: EndOffset | None = None
    connections: Ascending[Connection] = ()
    parked: InSequence[ParkedFetch] = ()
    shutting_down: bool = False
    next_correlation: Correlation | None = None
    endpoints: InSequence[Endpoint] = ()
    bootstrap_kraft_version: KRaftLevel = 0
    can_become_voter: bool = True
    auto_join: bool = False
    max_kraft_version: KRaftLevel = 0
    cluster_id: Name | None = None
    assignment_offset: ControlOffset = -1

    @property
    def id(self) -> int:
        return self.key.id

    @property
    def epoch(self) -> int:
        return self.quorum_state.epoch

    @property
    def voters(self) -> VoterSet:
        """The effective voter set: the latest in the log, committed or not, else the bootstrap one. A process
        that has forgotten those of log and checkpoint has that of static configuration, or none.

        Voter assignments (KIP-595) are effective once they are known to be committed.
        """
        if self.assignment_offset >= 0:
            return self._assigned_voters()
        if self.log.voter_sets:
            return self.log.voter_sets[-1][1]
        forgotten = self.has_checkpoint and not self.knows_checkpoint
        return VoterSet() if forgotten else self.bootstrap_voters

    def _assigned_voters(self) -> VoterSet:
        for offset, assignment in self.log.assignments:
            if offset == self.assignment_offset:
                return assigned_voters(assignment.voters, self.bootstrap_voters)
        return self.bootstrap_voters

    @property
    def voters_offset(self) -> int:
        """The offset of the effective voter set; -1 for the bootstrap one."""
        return self.log.voter_sets[-1][0] if self.log.voter_sets else -1

    @property
    def kraft_version(self) -> int:
        """The finalized kraft.version: the latest in the log, else the bootstrap one."""
        return self.log.kraft_versions[-1][1] if self.log.kraft_versions else self.bootstrap_kraft_version

    @property
    def is_voter(self) -> bool:
        """Whether the replica is a voter by its own voter set; otherwise it is an observer."""
        return self.voters.is_voter(self.key)

    @property
    def own_entry(self) -> Voter:
        """The entry that this replica wants to have in the voter set."""
        return Voter(self.key, self.endpoints, 0, self.max_kraft_version)

    @property
    def describes_itself(self) -> bool:
        """Whether its process sends UpdateRaftVoter: it supports a level above 0, or one is finalized.

        Under static voters a process that supports none is of a release before KIP-853.
        """
        return self.max_kraft_version > 0 or self.kraft_version > 0

    @property
    def has_checkpoint(self) -> bool:
        """Whether formatting has left the first voter set in a checkpoint 0-0; a joining replica has none."""
        return self.bootstrap_kraft_version >= 1

    @property
    def knows_checkpoint(self) -> bool:
        """Whether the voter set of the checkpoint 0-0 is the one before those of the log."""
        return self.has_checkpoint and not self.log.voters_forgotten

    @property
    def knows_voter_set(self) -> bool:
        """Whether the effective voter set comes from where kraft.version has it: the log or the checkpoint at
        level 1, the configuration at level 0.
        """
        return self.kraft_version < 1 or bool(self.log.voter_sets) or self.knows_checkpoint

    @property
    def leader_endpoints(self) -> tuple[Endpoint, ...]:
        """Where the known leader listens; empty if there is none or its endpoints are not known."""
        if isinstance(self.role, Follower | Prospective):
            return self.role.leader_endpoints
        if isinstance(self.role, Leader | Resigned):
            return self.endpoints
        return ()
