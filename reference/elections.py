"""Winning and losing: what happens when the tally of a Prospective or a Candidate changes.

Source: KIP-996 (Pre-Vote response handling); Kafka: KafkaRaftClient.maybeTransitionForward,
maybeHandleElectionLoss, prospectiveTransitionAfterElectionLoss, onBecomeCandidate, onBecomeLeader.
"""

from __future__ import annotations

from kraftcheck.reference import parked, transitions
from kraftcheck.reference.effects import ArmTimer, Duration, Fatal
from kraftcheck.reference.events import Timer
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import CandidateLoss, ProspectiveLeader, StateMachine, ZombieLeader
from kraftcheck.reference.replica import Candidate, Prospective
from kraftcheck.reference.work import Work


def start_election(work: Work) -> None:
    """The timer of a voter without a leader has expired: ask for pre-votes, or before KIP-996 for votes."""
    work.by("VOTE-1")
    if work.protocol.state_machine is StateMachine.PRE_KIP996:
        become_candidate(work)
    else:
        transitions.to_prospective(work)
        _go_forward(work)


def become_candidate(work: Work) -> None:
    """Run for leader of the next epoch; a majority of one wins at once."""
    transitions.to_candidate(work)
    _go_forward(work)


def skip_pre_vote(work: Work) -> None:
    """A Follower becomes candidate whose leader has resigned: a pre-vote would protect no leader."""
    if work.protocol.state_machine is StateMachine.KIP996:
        transitions.to_prospective(work)
    become_candidate(work)


def replace_own_leadership(work: Work) -> bool:
    """Whether a leader that no majority fetches from becomes candidate again, in the next epoch.

    With check-quorum a leader of several voters has resigned before this.
    """
    old = work.protocol.state_machine is StateMachine.PRE_KIP996
    alone = len(work.replica.voters) == 1 or not work.replica.is_voter
    if work.protocol.zombie_leader is not ZombieLeader.NEW_ELECTION or not old or alone:
        return False
    work.by("ZOMBIE-4")
    parked.fail_parked(work)
    become_candidate(work)
    return True


def record_grant(work: Work, voter: int) -> None:
    """``voter`` grants its (pre-)vote."""
    _record(work, voter, granted=True)
    _go_forward(work)


def record_rejection(work: Work, voter: int) -> None:
    """``voter`` refuses its (pre-)vote."""
    _record(work, voter, granted=False)
    role = work.replica.role
    assert isinstance(role, Prospective | Candidate)
    if not transitions.is_lost(role.election):
        return
    if isinstance(role, Prospective):
        work.by("PREVOTE-21")
        if work.protocol.prospective_leader is not ProspectiveLeader.ANNOUNCED:
            leave_lost_pre_vote(work)
    else:
        work.by("VOTE-21")
        if work.protocol.state_machine is StateMachine.KIP996:
            work.by("PREVOTE-28")
        if work.protocol.candidate_loss is CandidateLoss.EXPONENTIAL_BACKOFF:
            work.by("TIMER-6")
            work.emit(ArmTimer(Timer.ELECTION, Duration.ELECTION_BACKOFF))
        elif work.protocol.candidate_loss is CandidateLoss.SEPARATE_BACKOFF and not role.backs_off:
            begin_back_off(work)


def backs_off_after_timeout(work: Work, role: Candidate) -> bool:
    """Whether a Candidate whose election timer has expired waits once more before the next election."""
    if work.protocol.candidate_loss is not CandidateLoss.SEPARATE_BACKOFF or role.backs_off:
        return False
    return work.protocol.state_machine is StateMachine.PRE_KIP996


def begin_back_off(work: Work) -> None:
    """The Candidate asks for no more votes until a random time is over; those it still receives may elect it.

    Kafka has a timer of its own for that. From here on a Candidate looks at this one only.
    """
    work.by("TIMER-6")
    work.update_role(backs_off=True)
    work.emit(ArmTimer(Timer.ELECTION, Duration.SEPARATE_BACKOFF))


def leave_lost_pre_vote(work: Work) -> None:
    """A Prospective has lost or timed out: back to the leader it knows, else look for one, or ask again."""
    if work.protocol.prospective_leader is ProspectiveLeader.ANNOUNCED:
        transitions.restart_pre_vote(work)
        return
    replica = work.replica
    leader = replica.quorum_state.leader
    if leader is not None and replica.leader_endpoints:
        transitions.to_follower(work, replica.epoch, leader, replica.leader_endpoints)
    else:
        transitions.to_unattached(work, replica.epoch)


def _record(work: Work, voter: int, *, granted: bool) -> None:
    role = work.replica.role
    assert isinstance(role, Prospective | Candidate)
    election = role.election
    if voter not in election.voters:
        raise work.exit(Fatal(FatalReason.VOTE_FROM_NON_VOTER, replica=voter), "VOTE-22")
    flips = voter in (election.rejected if granted else election.granted)
    if flips and (isinstance(role, Candidate) or voter == work.replica.id):
        raise work.exit(Fatal(FatalReason.VOTE_CHANGED, replica=voter), "VOTE-22")
    work.by("VOTE-20" if granted else "VOTE-21")
    yes = set(election.granted) - {voter}
    no = set(election.rejected) - {voter}
    (yes if granted else no).add(voter)
    work.update_role(election=replace(election, granted=tuple(sorted(yes)), rejected=tuple(sorted(no))))


def _go_forward(work: Work) -> None:
    role = work.replica.role
    if isinstance(role, Prospective) and transitions.is_won(role.election):
        work.by("PREVOTE-4", "PREVOTE-5")
        if len(role.election.voters) > 1:
            work.by("PREVOTE-19")
        become_candidate(work)
    elif isinstance(role, Candidate) and transitions.is_won(role.election):
        work.by("VOTE-3" if len(role.election.voters) == 1 else "VOTE-20")
        transitions.to_leader(work)
