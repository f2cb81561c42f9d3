"""The legal transitions: one function each, and the only places that build a role.

Durable transitions write the quorum-state file before the role changes, memory transitions do not
(PERSIST-6). A transition that Kafka refuses with an exception ends the process here as well.

Source: KIP-996 (QuorumState changes); Kafka: QuorumState.transitionTo*, durableTransitionTo,
memoryTransitionTo.
"""

from __future__ import annotations

from kraftcheck.reference import log as logs
from kraftcheck.reference import parked, voter_assignments, voter_changes
from kraftcheck.reference.effects import ArmTimer, Duration, Fatal, Transition
from kraftcheck.reference.events import Timer
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.log import KRaftVersion, LeaderChange, Record, Voters
from kraftcheck.reference.protocol import HandOver, ProspectiveTimer, StateMachine, VoteMemory
from kraftcheck.reference.replica import (
    Candidate,
    Election,
    Follower,
    Leader,
    Progress,
    Prospective,
    QuorumState,
    Resigned,
    Role,
    Unattached,
)
from kraftcheck.reference.voters import Endpoint, ReplicaKey, majority
from kraftcheck.reference.work import Work

# Which rule of the catalogue allows a transition, by the names of the old and the new role.
VOTER_RULES = {
    ("Resigned", "Unattached"): "TRANS-Resigned-Unattached",
    ("Resigned", "Follower"): "TRANS-Resigned-Follower",
    ("Resigned", "Prospective"): "INIT-8",
    ("Unattached", "Unattached"): "TRANS-Unattached-Unattached",
    ("Unattached", "Prospective"): "TRANS-Unattached-Prospective",
    ("Unattached", "Follower"): "TRANS-Unattached-Follower",
    ("Prospective", "Unattached"): "TRANS-Prospective-Unattached",
    ("Prospective", "Candidate"): "TRANS-Prospective-Candidate",
    ("Prospective", "Follower"): "TRANS-Prospective-Follower",
    ("Prospective", "Prospective"): "TRANS-Prospective-Prospective",
    ("Candidate", "Unattached"): "TRANS-Candidate-Unattached",
    ("Candidate", "Prospective"): "TRANS-Candidate-Prospective",
    ("Candidate", "Leader"): "TRANS-Candidate-Leader",
    ("Candidate", "Follower"): "TRANS-Candidate-Follower",
    ("Leader", "Unattached"): "TRANS-Leader-Unattached",
    ("Leader", "Resigned"): "TRANS-Leader-Resigned",
    ("Leader", "Follower"): "TRANS-Leader-Follower",
    ("Follower", "Unattached"): "TRANS-Follower-Unattached",
    ("Follower", "Prospective"): "TRANS-Follower-Prospective",
    ("Follower", "Follower"): "TRANS-Follower-Follower",
}
OBSERVER_RULES = {
    ("Unattached", "Follower"): "TRANS-Obs-Unattached-Follower",
    ("Unattached", "Unattached"): "TRANS-Obs-Unattached-Unattached",
    ("Follower", "Unattached"): "TRANS-Obs-Follower-Unattached",
    ("Follower", "Follower"): "TRANS-Obs-Follower-Follower",
}
OLD_RULES = {
    ("Resigned", "Unattached"): "OLD-Resigned-Unattached",
    ("Resigned", "Candidate"): "OLD-Resigned-Candidate",
    ("Resigned", "Follower"): "OLD-Resigned-Follower",
    ("Unattached", "Unattached"): "OLD-Unattached-Unattached",
    ("Unattached", "Candidate"): "OLD-Unattached-Candidate",
    ("Unattached", "Follower"): "OLD-Unattached-Follower",
    ("Candidate", "Unattached"): "OLD-Candidate-Unattached",
    ("Candidate", "Candidate"): "OLD-Candidate-Candidate",
    ("Candidate", "Leader"): "OLD-Candidate-Leader",
    ("Candidate", "Follower"): "OLD-Candidate-Follower",
    ("Leader", "Unattached"): "OLD-Leader-Unattached",
    ("Leader", "Resigned"): "OLD-Leader-Resigned",
    ("Leader", "Follower"): "OLD-Leader-Follower",
    ("Leader", "Candidate"): "ZOMBIE-4",
    ("Follower", "Unattached"): "OLD-Follower-Unattached",
    ("Follower", "Candidate"): "OLD-Follower-Candidate",
    ("Follower", "Follower"): "OLD-Follower-Follower",
}


def role_name(role: Role) -> str:
    """The role's name as logs, metrics and the transition tables spell it."""
    return type(role).__name__


def _require(work: Work, allowed: bool, fatal: Fatal, *rules: str) -> None:
    if not allowed:
        raise work.exit(fatal, *rules)


def _name_rule(work: Work, source: str, target: str) -> None:
    tables = [VOTER_RULES]
    if work.protocol.state_machine is StateMachine.PRE_KIP996:
        tables = [OLD_RULES]
    elif not work.replica.is_voter:
        tables = [OBSERVER_RULES, VOTER_RULES]
    for table in tables:
        if (source, target) in table:
            work.by(table[source, target])
            return
    raise work.exit(Fatal(FatalReason.ILLEGAL_TRANSITION, source=source, target=target), "TRANS-Forbid-1")


def _change(work: Work, role: Role, quorum_state: QuorumState, *, durable: bool) -> None:
    source = role_name(work.replica.role)
    _name_rule(work, source, role_name(role))
    if _drops_pre_votes(work, role):
        work.by("PREVOTE-20")
    if durable:
        work.by("PERSIST-2")
        work.persist(quorum_state)
    left = work.replica.role
    if isinstance(left, Leader):
        voter_changes.abandon(work, left)
    work.update(role=role, quorum_state=quorum_state)
    if isinstance(left, Leader):
        voter_assignments.abandon(work, left)
    elif isinstance(left, Follower) and left.fetching_snapshot is not None:
        work.by("SNAP-11")
    work.emit(Transition(source, role_name(role), quorum_state.epoch))


def _drops_pre_votes(work: Work, role: Role) -> bool:
    """Whether pre-votes are outstanding that the change to ``role`` forgets."""
    replica = work.replica
    leaves = isinstance(replica.role, Prospective) and not isinstance(role, Prospective)
    return leaves and any(connection.awaiting for connection in replica.connections)


def to_unattached(work: Work, epoch: int) -> None:
    """Unattached in ``epoch``: a larger one, or the current one for a Prospective that has lost.

    In a larger epoch the vote and the leader of the old one are gone; in the same epoch both are kept.
    """
    current = work.replica.quorum_state
    role = work.replica.role
    same_epoch = epoch == current.epoch
    legal = epoch > current.epoch or (same_epoch and isinstance(role, Prospective))
    _require(work, legal, Fatal(FatalReason.UNATTACHED_IN_EPOCH, epoch=epoch), "TRANS-Forbid-4")
    if same_epoch:
        _keep_vote(work)
    else:
        work.by("EPOCH-1", "EPOCH-2", "EPOCH-6")
    duration = _unattached_timer(work, role)
    _change(work, Unattached(), current if same_epoch else QuorumState(epoch), durable=True)
    work.emit(ArmTimer(Timer.ELECTION, duration))
    work.forget_requests()


def _unattached_timer(work: Work, role: Role) -> Duration:
    work.by("TIMER-4")
    if not work.replica.is_voter:
        work.by("DEF-1")
        return Duration.FOREVER
    if isinstance(role, Unattached | Candidate):
        return Duration.REMAINING
    if isinstance(role, Resigned) and work.protocol.state_machine is StateMachine.KIP996:
        return Duration.REMAINING
    if isinstance(role, Prospective) and not is_lost(role.election):
        if work.protocol.prospective_timer is ProspectiveTimer.REMAINING:
            return Duration.REMAINING
        work.by("PREVOTE-22")
    return Duration.ELECTION_TIMEOUT


def unattached_with_vote(work: Work, candidate: ReplicaKey) -> None:
    """Unattached in the same epoch, having voted for ``candidate``; outstanding requests go on."""
    current = work.replica.quorum_state
    _require(work, candidate.id != work.replica.id, Fatal(FatalReason.VOTE_FOR_ITSELF), "TRANS-Forbid-5")
    work.by("VOTE-15", "PERSIST-4")
    _change(work, Unattached(), QuorumState(current.epoch, current.leader, candidate), durable=True)
    work.by("TIMER-3")
    work.emit(ArmTimer(Timer.ELECTION, Duration.ELECTION_TIMEOUT))


def prospective_with_vote(work: Work, candidate: ReplicaKey) -> None:
    """Prospective in the same epoch, having voted for ``candidate``; the pre-vote starts over."""
    current = work.replica.quorum_state
    role = work.replica.role
    assert isinstance(role, Prospective)
    _require(work, candidate.id != work.replica.id, Fatal(FatalReason.VOTE_FOR_ITSELF), "TRANS-Forbid-5")
    work.by("VOTE-15", "PERSIST-4", "PERSIST-7", "PREVOTE-25")
    restarted = Prospective(_own_election(work), role.leader_endpoints)
    _change(work, restarted, QuorumState(current.epoch, current.leader, candidate), durable=True)
    work.by("TIMER-3")
    work.emit(ArmTimer(Timer.ELECTION, Duration.ELECTION_TIMEOUT))


def _keep_vote(work: Work) -> None:
    work.by("EPOCH-7")
    if work.protocol.state_machine is StateMachine.KIP996:
        work.by("PREVOTE-26")


def to_follower(work: Work, epoch: int, leader: int, endpoints: tuple[Endpoint, ...]) -> None:
    """Follower of ``leader`` in ``epoch``; the vote is kept within the same epoch."""
    current = work.replica.quorum_state
    role = work.replica.role
    _require(work, bool(endpoints), Fatal(FatalReason.LEADER_WITHOUT_ENDPOINTS, replica=leader), "STATE-6")
    _require(work, leader != work.replica.id, Fatal(FatalReason.FOLLOWS_ITSELF), "TRANS-Forbid-2", "STATE-6")
    _require(work, epoch >= current.epoch, Fatal(FatalReason.FOLLOWS_SMALLER_EPOCH, epoch=epoch), "EPOCH-1")
    voted = None
    if epoch == current.epoch:
        _require(work, not isinstance(role, Leader), Fatal(FatalReason.LEADER_FOLLOWS), "TRANS-Forbid-3")
        known = role.leader_endpoints if isinstance(role, Follower) else ()
        new = len(known) < len(endpoints)
        if work.protocol.take_other_endpoints:
            new = known != endpoints
        _require(work, new, Fatal(FatalReason.ALREADY_FOLLOWS), "TRANS-Follower-Follower")
        if work.protocol.vote_memory is VoteMemory.KEPT:
            _keep_vote(work)
            voted = current.voted
    else:
        work.by("EPOCH-1", "EPOCH-2", "EPOCH-6")
    work.by("PERSIST-5", "STATE-7")
    _change(work, Follower(endpoints), QuorumState(epoch, leader, voted), durable=True)
    parked.fail_parked(work)
    work.emit(ArmTimer(Timer.FETCH, Duration.FETCH_TIMEOUT))
    if work.replica.describes_itself:
        work.emit(ArmTimer(Timer.UPDATE_VOTER, Duration.UPDATE_VOTER_PERIOD))
    work.forget_requests()


def to_prospective(work: Work) -> None:
    """Prospective in the same epoch: leader, vote and high watermark are kept, nothing is written."""
    replica = work.replica
    _require(work, replica.is_voter, Fatal(FatalReason.OBSERVER_STARTS_ELECTION), "PREVOTE-6", "STATE-3")
    refused = isinstance(replica.role, Leader | Prospective)
    fatal = Fatal(FatalReason.CANNOT_BECOME, source=role_name(replica.role), target="Prospective")
    _require(work, not refused, fatal, "TRANS-Forbid-1")
    endpoints = replica.role.leader_endpoints if isinstance(replica.role, Follower) else ()
    work.by("PERSIST-6", "PREVOTE-26")
    _change(work, Prospective(_own_election(work), endpoints), replica.quorum_state, durable=False)
    work.emit(ArmTimer(Timer.ELECTION, Duration.ELECTION_TIMEOUT))
    work.forget_requests()


def restart_pre_vote(work: Work) -> None:
    """Prospective still: once the timer expires it asks everybody again."""
    work.update_role(election=_own_election(work))
    work.emit(ArmTimer(Timer.ELECTION, Duration.ELECTION_TIMEOUT))
    work.forget_requests()


def to_candidate(work: Work) -> None:
    """Candidate in the next epoch, having voted for itself."""
    replica = work.replica
    _require(work, replica.is_voter, Fatal(FatalReason.OBSERVER_BECOMES_CANDIDATE), "STATE-3")
    if work.protocol.state_machine is StateMachine.KIP996:
        entered = isinstance(replica.role, Prospective)
        fatal = Fatal(FatalReason.CANNOT_BECOME, source=role_name(replica.role), target="Candidate")
        _require(work, entered, fatal, "STATE-5", "TRANS-Forbid-1")
    work.by("VOTE-2", "PERSIST-3", "EPOCH-2")
    voted = QuorumState(replica.epoch + 1, None, replica.key)
    _change(work, Candidate(_own_election(work)), voted, durable=True)
    work.emit(ArmTimer(Timer.ELECTION, Duration.ELECTION_TIMEOUT))
    work.forget_requests()


def to_leader(work: Work) -> None:
    """Leader of the Candidate's epoch; the records that open the epoch wait to be appended."""
    replica = work.replica
    role = replica.role
    if not isinstance(role, Candidate) or not is_won(role.election):
        raise work.exit(
            Fatal(FatalReason.CANNOT_BECOME, source=role_name(role), target="Leader"), "TRANS-Forbid-1"
        )
    _require(work, replica.is_voter, Fatal(FatalReason.OBSERVER_BECOMES_LEADER), "STATE-3")
    work.by("VOTE-25", "HWM-7", "PERSIST-2")
    leader = Leader(
        epoch_start_offset=replica.log.end_offset,
        granting_voters=role.election.granted,
        progress=tuple(
            Progress(voter.key, acknowledged=voter.key.id == replica.id) for voter in replica.voters.voters
        ),
        pending=(_epoch_opening_records(work, role.election.granted),),
    )
    _change(work, leader, QuorumState(replica.epoch, replica.id), durable=True)
    work.update(high_watermark=None, log=logs.start_epoch(replica.log, replica.epoch))
    work.emit(ArmTimer(Timer.CHECK_QUORUM, Duration.CHECK_QUORUM_TIMEOUT))
    work.emit(ArmTimer(Timer.BEGIN_QUORUM_EPOCH, Duration.NONE))
    _require(work, replica.knows_voter_set, Fatal(FatalReason.LEADER_WITHOUT_VOTER_SET), "VSET-16")
    work.forget_requests()


def _epoch_opening_records(work: Work, granting_voters: tuple[int, ...]) -> tuple[Record, ...]:
    replica = work.replica
    work.by("LOG-2", "LOG-3")
    opening: tuple[Record, ...] = (LeaderChange(replica.id, replica.voters.ids, granting_voters),)
    if replica.kraft_version >= 1 and replica.knows_voter_set:
        own = replica.own_entry
        if replica.voters_offset < 0 or replica.voters.entry(replica.key) != own:
            work.by("LOG-4")
            opening += (KRaftVersion(replica.kraft_version), Voters(replica.voters.with_entry(own)))
    return opening


def to_resigned(work: Work) -> None:
    """Resigned in the leader's epoch, with the other voters as successors, best log first."""
    replica = work.replica
    role = replica.role
    if not isinstance(role, Leader):
        raise work.exit(Fatal(FatalReason.NOT_LEADER_RESIGNS, source=role_name(role)), "TRANS-Forbid-1")
    others = [entry for entry in role.progress if entry.id != replica.id]
    others.sort(key=lambda entry: -1 if entry.end_offset is None else entry.end_offset, reverse=True)
    keys = {voter.key.id: voter.key for voter in replica.voters.voters}
    work.by("RESIGN-1", "RESIGN-2", "PERSIST-6")
    successors = tuple(keys[entry.id] for entry in others if entry.id in keys)
    voters = tuple(voter for voter in replica.voters.ids if voter != replica.id)
    if work.protocol.hand_over is HandOver.SINGLE_SUCCESSOR:
        work.by("END-4")
        successors = successors[:1]
        voters = tuple(key.id for key in successors)
    resigned = Resigned(unacknowledged=voters, preferred_successors=successors)
    parked.fail_parked(work)
    _change(work, resigned, replica.quorum_state, durable=False)
    work.update(high_watermark=None)
    work.emit(ArmTimer(Timer.ELECTION, Duration.ELECTION_TIMEOUT))
    work.forget_requests()


# The tally of an election: EpochElection in Kafka.


def _own_election(work: Work) -> Election:
    work.by("VOTE-24", "DEF-2")
    return Election(work.replica.voters.ids, (work.replica.id,))


def is_won(election: Election) -> bool:
    """Whether a majority has granted."""
    return len(election.granted) >= majority(len(election.voters))


def is_lost(election: Election) -> bool:
    """Whether the voters that have granted or not answered yet are no majority."""
    return len(election.voters) - len(election.rejected) < majority(len(election.voters))
