"""FindQuorum: any replica reports the leader and the voters that it knows (KIP-595, dropped later).

Source: KIP-595 (FindQuorum; replication progress timeout for zombie leader).
"""

from __future__ import annotations

from kraftcheck.reference import epochs
from kraftcheck.reference.effects import ArmTimer, Duration
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Timer
from kraftcheck.reference.messages import FindQuorumRequest, FindQuorumResponse
from kraftcheck.reference.protocol import Discovery, Protocol, ZombieLeader
from kraftcheck.reference.replica import Unattached
from kraftcheck.reference.work import Work


def is_known(protocol: Protocol) -> bool:
    """Whether replicas know FindQuorum."""
    return protocol.discovery is Discovery.FIND_QUORUM


def handle_request(work: Work) -> FindQuorumResponse:
    """Reply with what this replica knows, in any role and to any sender."""
    # validate
    replica = work.replica
    if not is_known(work.protocol):
        return FindQuorumResponse(replica.epoch, error=ErrorCode.UNSUPPORTED_VERSION)
    # decide
    work.by("FINDQ-2")
    assignments = replica.log.assignments
    in_force = [known for offset, known in assignments if offset <= replica.assignment_offset]
    # effects
    return FindQuorumResponse(
        epoch=replica.epoch,
        leader=replica.quorum_state.leader,
        voters=replica.voters,
        target=in_force[-1].target if in_force else None,
        leader_endpoints=replica.leader_endpoints,
    )


# The side of the replica that asks.


def request_of(work: Work) -> FindQuorumRequest:
    """What a replica that knows no leader, or cannot reach it, asks."""
    work.by("FINDQ-1" if work.replica.quorum_state.leader is None else "FINDQ-4")
    return FindQuorumRequest(work.replica.key, work.replica.endpoints)


def handle_response(work: Work, source: int, response: FindQuorumResponse) -> None:
    """Follow the leader that is named; without one, ask another replica after a back-off."""
    adopted = _adopt_voters(work, response)
    _find_leader(work, source, response)
    if adopted and work.replica.is_voter and isinstance(work.replica.role, Unattached):
        work.emit(ArmTimer(Timer.ELECTION, Duration.ELECTION_TIMEOUT))


def _find_leader(work: Work, source: int, response: FindQuorumResponse) -> None:
    # epoch
    if epochs.handled(work, source, response, "FINDQ-5"):
        return
    # decide
    work.by("FINDQ-5")
    if work.replica.quorum_state.leader is None:
        # effects
        work.back_off(source)


def _adopt_voters(work: Work, response: FindQuorumResponse) -> bool:
    """A replica without voters takes those of the answer, and is a voter if it is among them."""
    replica = work.replica
    failed = response.error is not ErrorCode.NONE or response.partition_error is not ErrorCode.NONE
    if failed or len(replica.voters) or not len(response.voters):
        return False
    work.by("FINDQ-6")
    work.update(bootstrap_voters=response.voters)
    return True


# A leader that no majority fetches from.


def look_for_successor(work: Work) -> None:
    """Ask every other voter whether there is a newer leader, and go on leading until one says so.

    With check-quorum a leader of several voters has resigned before this.
    """
    replica = work.replica
    if work.protocol.zombie_leader is not ZombieLeader.FIND_QUORUM or len(replica.voters) == 1:
        return
    work.by("ZOMBIE-2")
    for voter in replica.voters.ids:
        if voter != replica.id and work.connection(voter) is None:
            work.send(voter, FindQuorumRequest(replica.key, replica.endpoints))
    work.emit(ArmTimer(Timer.CHECK_QUORUM, Duration.CHECK_QUORUM_TIMEOUT))
