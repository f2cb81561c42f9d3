"""Start-up from durable state. The first rule that matches decides the role.

Source: Kafka: QuorumState.initialize, KafkaRaftClient.initialize.
"""

from __future__ import annotations

from kraftcheck.reference import elections, transitions, voter_assignments
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import ArmTimer, Duration, Fatal, Flush, Transition
from kraftcheck.reference.events import Timer
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Log
from kraftcheck.reference.protocol import (
    CandidateRestart,
    OnlyVoterRestart,
    Protocol,
    StateMachine,
    VoteMemory,
)
from kraftcheck.reference.replica import (
    Candidate,
    Election,
    Follower,
    QuorumState,
    Replica,
    Resigned,
    Role,
    Unattached,
)
from kraftcheck.reference.voters import NO_DIRECTORY, matches
from kraftcheck.reference.work import Work


def configured(identity: Replica) -> Replica:
    """What configuration alone says of a process: ``identity`` without what it has learned or done."""
    return replace(
        identity,
        quorum_state=QuorumState(),
        log=Log(),
        role=Unattached(),
        high_watermark=None,
        connections=(),
        parked=(),
        shutting_down=False,
        assignment_offset=-1,
    )


def begin(protocol: Protocol, identity: Replica, disk: Disk) -> Work:
    """A process before it has decided its role: configuration from ``identity``, the rest from ``disk``."""
    stored = disk.quorum_state or QuorumState()
    return Work(protocol, replace(configured(identity), quorum_state=stored, log=disk.log))


def require_known(work: Work, disk: Disk) -> None:
    """Exit where the software cannot read the disk, or its id is none. Nothing is written before."""
    if work.replica.key.directory == NO_DIRECTORY:
        raise work.exit(Fatal(FatalReason.NO_DIRECTORY_ID), "ID-9")
    if disk.newer:
        raise work.exit(Fatal(FatalReason.UNKNOWN_FILE_VERSION), "PERSIST-12")


def initialize(work: Work) -> None:
    """Decide the first role and write it down; an only voter elects itself at once."""
    work.by("INIT-10", "PERSIST-1")
    if work.protocol.flush_at_start and work.replica.can_become_voter:
        work.by("DEF-5")
        work.emit(Flush(work.replica.log.end_offset))
    voter_assignments.learn(work)
    role, quorum_state = _initial_role(work, work.replica.quorum_state)
    work.persist(quorum_state)
    work.update(role=role, quorum_state=quorum_state)
    work.emit(Transition("Start", transitions.role_name(role), quorum_state.epoch))
    _arm_first_timer(work)
    _elect_only_voter(work)


def _initial_role(work: Work, stored: QuorumState) -> tuple[Role, QuorumState]:
    replica = work.replica
    if stored == QuorumState():
        work.by("INIT-1")
    if _forgets_directory(replica, stored):
        work.by("PERSIST-9")
    if stored.epoch < replica.log.last_epoch:
        work.by("INIT-2", "EPOCH-1")
        return Unattached(), QuorumState(replica.log.last_epoch)
    if stored.leader == replica.id:
        work.by("INIT-3", "RESIGN-9", "INIT-7")
        others = tuple(voter for voter in replica.voters.ids if voter != replica.id)
        return Resigned(others), QuorumState(stored.epoch, replica.id)
    if _resumes_candidacy(work, stored):
        work.by("INIT-4", "PERSIST-3")
        if not replica.is_voter:
            raise work.exit(Fatal(FatalReason.CANDIDATE_NOT_VOTER), "STATE-3")
        return Candidate(Election(replica.voters.ids, (replica.id,))), QuorumState(
            stored.epoch, None, replica.key
        )
    if stored.voted is not None and work.protocol.vote_memory is VoteMemory.UNTIL_LEADER:
        work.by("INIT-5")
        return Unattached(), QuorumState(stored.epoch, None, stored.voted)
    if stored.leader is not None:
        endpoints = replica.voters.endpoints(stored.leader)
        work.by("INIT-6", "INIT-5")
        if stored.voted is not None and work.protocol.state_machine is StateMachine.KIP996:
            work.by("PERSIST-10")
        return (Follower(endpoints) if endpoints else Unattached()), stored
    work.by("INIT-5")
    return Unattached(), stored


def _forgets_directory(replica: Replica, stored: QuorumState) -> bool:
    """Whether the file says for whom the vote was, but not on which disk that replica had voted for it."""
    knows_directories = replica.key.directory is not None and replica.kraft_version < 1
    return knows_directories and stored.voted is not None and stored.voted.directory is None


def _resumes_candidacy(work: Work, stored: QuorumState) -> bool:
    """Whether the stored vote is the replica's own; Kafka looks no further (KIP-996 keeps votes)."""
    voted = stored.voted
    if voted is None or not matches(voted, work.replica.key):
        return False
    if voter_assignments.may_not_be_voter(work):
        return False
    if work.protocol.candidate_restart is CandidateRestart.WITHOUT_LEADER:
        return stored.leader is None
    return True


def _arm_first_timer(work: Work) -> None:
    if isinstance(work.replica.role, Follower):
        work.emit(ArmTimer(Timer.FETCH, Duration.FETCH_TIMEOUT))
        if work.replica.describes_itself:
            work.emit(ArmTimer(Timer.UPDATE_VOTER, Duration.UPDATE_VOTER_PERIOD))
    else:
        # A leader that was removed leaves Resigned as any other (Kafka: QuorumState.initialize).
        waits = work.replica.is_voter or isinstance(work.replica.role, Resigned)
        work.emit(ArmTimer(Timer.ELECTION, Duration.ELECTION_TIMEOUT if waits else Duration.FOREVER))


def _elect_only_voter(work: Work) -> None:
    replica = work.replica
    if replica.voters.ids != (replica.id,) or not replica.is_voter:
        return
    work.by("INIT-8")
    if isinstance(replica.role, Candidate):
        work.by("VOTE-3")
        transitions.to_leader(work)
        if work.protocol.only_voter_restart is OnlyVoterRestart.EXITS:
            raise work.exit(Fatal(FatalReason.CANNOT_BECOME, source="Leader", target="Candidate"))
    else:
        elections.start_election(work)
