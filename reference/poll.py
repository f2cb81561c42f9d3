"""One round of the poll loop: expired timers first, then what the role has to send or append.

Source: Kafka: KafkaRaftClient.poll, pollCurrentState, pollUnattached, pollProspective, pollCandidate,
pollLeader, pollFollower, pollResigned, maybeCompleteShutdown, maybeSendFetchToBestNode.
"""

from __future__ import annotations

from kraftcheck.reference import (
    add_voter,
    begin_quorum_epoch,
    elections,
    end_quorum_epoch,
    fetch,
    find_quorum,
    leadership,
    remove_voter,
    snapshots,
    transitions,
    update_voter,
    vote,
    voter_assignments,
    voter_changes,
)
from kraftcheck.reference.effects import ArmTimer, Duration, Fatal, Stop
from kraftcheck.reference.events import Poll, Timer
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.messages import Request
from kraftcheck.reference.protocol import BeginQuorumEpochResend, StateMachine, VoterChanges
from kraftcheck.reference.replica import Candidate, Follower, Leader, Prospective, Resigned, Unattached
from kraftcheck.reference.work import Work


def poll(work: Work, event: Poll) -> None:
    """Run the poll routine of the current role once."""
    if work.replica.shutting_down and _shutdown_is_complete(work):
        work.by("TIMER-9")
        work.emit(Stop())
        return
    role = work.replica.role
    if isinstance(role, Unattached):
        _poll_unattached(work, event)
    elif isinstance(role, Prospective | Candidate):
        _poll_nominee(work, role, event)
    elif isinstance(role, Leader):
        _poll_leader(work, event)
    elif isinstance(role, Follower):
        _poll_follower(work, event)
    else:
        _poll_resigned(work, role, event)


def _shutdown_is_complete(work: Work) -> bool:
    replica = work.replica
    leader = replica.quorum_state.leader
    only_voter = replica.voters.ids == (replica.id,)
    has_remote_leader = leader is not None and leader != replica.id
    return not replica.is_voter or only_voter or has_remote_leader


def _poll_unattached(work: Work, event: Poll) -> None:
    if work.replica.is_voter:
        if work.replica.shutting_down:
            work.by("TIMER-8")
            return
        if Timer.ELECTION in event.expired:
            if work.protocol.state_machine is StateMachine.KIP996:
                work.by("PREVOTE-2")
            elections.start_election(work)
            return
        work.by("STATE-4")
    _fetch_for_discovery(work, event)


def _poll_nominee(work: Work, role: Prospective | Candidate, event: Poll) -> None:
    if Timer.ELECTION in event.expired and not work.replica.shutting_down:
        if isinstance(role, Prospective):
            work.by("PREVOTE-22")
            elections.leave_lost_pre_vote(work)
        elif work.protocol.state_machine is StateMachine.PRE_KIP996:
            elections.start_election(work)
        else:
            work.by("PREVOTE-3", "PREVOTE-27")
            elections.start_election(work)
        return
    if transitions.is_lost(role.election):
        work.by("VOTE-23")
        return
    pre_vote = isinstance(role, Prospective)
    answered = role.election.granted + role.election.rejected
    for voter in role.election.voters:
        if voter not in answered and work.connection(voter) is None:
            work.by("PREVOTE-5" if pre_vote else "VOTE-2")
            work.send(voter, vote.request_to(work, voter, pre_vote=pre_vote))


def _poll_leader(work: Work, event: Poll) -> None:
    role = work.replica.role
    assert isinstance(role, Leader)
    quorum_lost = Timer.CHECK_QUORUM in event.expired and leadership.check_quorum_expired(work)
    if work.replica.shutting_down or role.resign_requested or quorum_lost:
        work.by("RESIGN-1")
        transitions.to_resigned(work)
        return
    if Timer.VOTER_CHANGE in event.expired and role.change is not None:
        voter_changes.expire(work)
    if Timer.CHECK_QUORUM in event.expired:
        if elections.replace_own_leadership(work):
            return
        find_quorum.look_for_successor(work)
    voter_assignments.proceed(work)
    role = work.replica.role
    assert isinstance(role, Leader)
    count = leadership.drainable(role, has_lingered=Timer.LINGER in event.expired)
    if count:
        leadership.append_pending(work, count)
    if Timer.BEGIN_QUORUM_EPOCH in event.expired:
        _announce(work, event)


def _announce(work: Work, event: Poll) -> None:
    role = work.replica.role
    assert isinstance(role, Leader)
    work.by("BEGIN-1", "BEGIN-2")
    last_fetch = {entry.id: entry.last_fetch_time for entry in role.progress}
    for voter in work.replica.voters.ids:
        if voter == work.replica.id or work.connection(voter) is not None:
            continue
        if _needs_announcement(work, event.now, last_fetch.get(voter)):
            work.send(voter, begin_quorum_epoch.request_to(work, voter))
    work.emit(ArmTimer(Timer.BEGIN_QUORUM_EPOCH, Duration.BEGIN_QUORUM_EPOCH_INTERVAL))


def _needs_announcement(work: Work, now: int | None, last_fetch_time: int | None) -> bool:
    """Without a clock every other voter counts as silent."""
    if work.protocol.begin_quorum_epoch_resend is BeginQuorumEpochResend.ALL_VOTERS:
        return True
    if now is None or last_fetch_time is None:
        return True
    return now - last_fetch_time >= work.protocol.fetch_timeout_ms // 2


def _poll_follower(work: Work, event: Poll) -> None:
    replica = work.replica
    if replica.is_voter:
        if replica.shutting_down:
            work.by("TIMER-8")
            return
        if Timer.FETCH in event.expired:
            work.by("TIMER-5")
            if work.protocol.state_machine is StateMachine.KIP996:
                work.by("PREVOTE-1")
            elections.start_election(work)
            return
    elif Timer.FETCH in event.expired:
        work.by("TIMER-5", "DEF-1")
    leader = replica.quorum_state.leader
    assert leader is not None
    if not voter_changes.has_default_listener(replica.leader_endpoints):
        raise work.exit(Fatal(FatalReason.LEADER_WITHOUT_ENDPOINTS, replica=leader), "BEGIN-10")
    if Timer.UPDATE_VOTER in event.expired and _settles_membership(work, leader):
        return
    if any(connection.awaiting for connection in replica.connections):
        return
    role = replica.role
    assert isinstance(role, Follower)
    if role.fetching_snapshot is not None and work.connection(leader) is None:
        work.send(leader, snapshots.request_of(work, role.fetching_snapshot))
        return
    work.by("FETCH-33", "FETCH-21")
    if work.connection(leader) is None:
        work.send(leader, fetch.request_of(work))
    else:
        work.by("FETCH-32")
        _fetch_for_discovery(work, event)


def _settles_membership(work: Work, leader: int) -> bool:
    """Whether this round is about the own entry in the voter set, instead of a fetch.

    The timer starts anew once the request is on its way, or when a voter finds that none is needed.
    """
    request = _membership_request(work)
    if request is None:
        if work.replica.is_voter:
            work.emit(ArmTimer(Timer.UPDATE_VOTER, Duration.UPDATE_VOTER_PERIOD))
        return False
    if work.connection(leader) is None:
        work.send(leader, request)
        work.emit(ArmTimer(Timer.UPDATE_VOTER, Duration.UPDATE_VOTER_PERIOD))
    return True


def _membership_request(work: Work) -> Request | None:
    """The request by which this replica reports its entry to its leader, if it has to."""
    replica = work.replica
    if replica.is_voter:
        return update_voter.request_of(work) if update_voter.is_needed(replica) else None
    if replica.kraft_version < 1 or not (replica.can_become_voter and replica.auto_join):
        return None
    if add_voter.is_taken(work, replica.key):
        return remove_voter.request_of(work)
    return add_voter.request_of(work)


def _fetch_for_discovery(work: Work, event: Poll) -> None:
    """Ask any node that may know the leader, if no answer is awaited from anybody."""
    if event.discovery is None or any(connection.awaiting for connection in work.replica.connections):
        return
    if work.connection(event.discovery) is None:
        work.by("FETCH-33")
        work.send(event.discovery, _discovery_request(work))


def _discovery_request(work: Work) -> Request:
    if find_quorum.is_known(work.protocol):
        return find_quorum.request_of(work)
    return fetch.request_of(work)


def _poll_resigned(work: Work, role: Resigned, event: Poll) -> None:
    for voter in work.replica.voters.ids:
        if voter in role.unacknowledged:
            voter_changes.require_endpoint(work, voter)
    for voter in role.unacknowledged:
        if work.connection(voter) is None:
            work.by("END-1", "END-2", "END-4", "RESIGN-3")
            work.send(voter, end_quorum_epoch.request_to(work, role))
    if Timer.ELECTION in event.expired and not work.replica.shutting_down:
        _leave_resigned(work)


def _leave_resigned(work: Work) -> None:
    """The next epoch: before KIP-996 a voter campaigns in it at once."""
    replica = work.replica
    earlier = work.protocol.state_machine is StateMachine.PRE_KIP996
    work.by(*(("RESIGN-5",) if earlier else ("RESIGN-4", "PREVOTE-29")))
    if earlier and replica.is_voter:
        elections.become_candidate(work)
        return
    if not replica.is_voter and work.protocol.voter_changes is VoterChanges.KIP853:
        work.by("REMOVE-10")
    transitions.to_unattached(work, replica.epoch + 1)
