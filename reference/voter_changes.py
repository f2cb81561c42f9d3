"""What all voter changes share: one at a time, what they wait for, and how they end.

Source: KIP-853 (Quorum changes); Kafka: LeaderState.isOperationPending, maybeExpirePendingOperation,
resetAddVoterHandlerState, AddVoterHandler.highWatermarkUpdated, RemoveVoterHandler.highWatermarkUpdated; in
trunk ChangeVoterHandlerState, UpdateVoterHandler.highWatermarkUpdated.
"""

from __future__ import annotations

from kraftcheck.reference.effects import ArmTimer, Duration, Fatal
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Timer
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.log import Record, Voters
from kraftcheck.reference.messages import (
    AddRaftVoterResponse,
    RemoveRaftVoterResponse,
    UpdateRaftVoterResponse,
)
from kraftcheck.reference.replica import (
    AddingVoter,
    Leader,
    RemovingVoter,
    Replica,
    UpdatingVoter,
    VoterChange,
)
from kraftcheck.reference.voters import Endpoint, ReplicaKey, VoterSet
from kraftcheck.reference.work import Work

#: The listener on which voters reach each other; a voter's endpoints must contain it.
DEFAULT_LISTENER = "CONTROLLER"
#: The rule by which a change ends.
_END_RULES = {AddingVoter: "ADD-12", RemovingVoter: "REMOVE-6", UpdatingVoter: "UPDATE-11"}


def is_complete(key: ReplicaKey) -> bool:
    """Whether ``key`` can name a voter of a changing set: id and directory are given."""
    return key.id >= 0 and key.directory is not None


def has_default_listener(endpoints: tuple[Endpoint, ...]) -> bool:
    """Whether the other voters could reach a voter that listens there."""
    return any(endpoint.name == DEFAULT_LISTENER for endpoint in endpoints)


def require_endpoint(work: Work, voter: int) -> None:
    """Raise the process's exit unless the voter set says where ``voter`` can be reached."""
    if not has_default_listener(work.replica.voters.endpoints(voter)):
        raise work.exit(Fatal(FatalReason.VOTER_WITHOUT_ENDPOINT, replica=voter), "BEGIN-10")


def waiting_error(work: Work, *rules: str) -> ErrorCode:
    """Why no change can begin now: another one is under way, or nothing of this epoch has committed."""
    role = work.replica.role
    assert isinstance(role, Leader)
    if role.change is not None:
        work.by("VSET-8", *rules)
        return ErrorCode.REQUEST_TIMED_OUT
    if work.replica.high_watermark is None:
        work.by("VSET-9", *rules)
        return ErrorCode.REQUEST_TIMED_OUT
    return ErrorCode.NONE


def voter_set_error(work: Work, *rules: str) -> ErrorCode:
    """Why the effective voter set cannot be the base of a change: it is static, or not committed yet."""
    replica = work.replica
    if replica.kraft_version < 1:
        work.by("KVER-1", *rules)
        return ErrorCode.UNSUPPORTED_VERSION
    assert replica.high_watermark is not None
    if replica.voters_offset >= replica.high_watermark:
        work.by("VSET-8", *rules)
        return ErrorCode.REQUEST_TIMED_OUT
    return ErrorCode.NONE


def append_voter_set(work: Work, voters: VoterSet) -> int:
    """Queue a VotersRecord with the complete new set; the offset it will have."""
    work.by("VSET-1", "VSET-2", "VSET-7")
    return append_control(work, (Voters(voters),))


def append_control(work: Work, records: tuple[Record, ...]) -> int:
    """Queue a batch of control records, which never shares a batch with data; the offset of the last one."""
    role = work.replica.role
    assert isinstance(role, Leader)
    pending = (*role.pending, records)
    work.update_role(pending=pending)
    return work.replica.log.end_offset + sum(len(batch) for batch in pending) - 1


def begin(work: Work, change: VoterChange) -> None:
    """``change`` is under way; it has one request timeout to complete."""
    work.update_role(change=change)
    work.emit(ArmTimer(Timer.VOTER_CHANGE, Duration.REQUEST_TIMEOUT))


def settle(work: Work) -> None:
    """The high watermark has moved: a change whose voter set is below it is complete."""
    role = work.replica.role
    assert isinstance(role, Leader)
    change, committed = role.change, work.replica.high_watermark
    if work.protocol.removed_leader_resigns and _is_removed(work.replica):
        work.by("REMOVE-9")
        work.update_role(resign_requested=True)
    if change is None or change.offset is None or committed is None or committed <= change.offset:
        return
    work.by(_END_RULES[type(change)])
    end(work, ErrorCode.NONE)
    if isinstance(change, RemovingVoter) and not work.replica.is_voter:
        work.by("REMOVE-9")
        work.update_role(resign_requested=True)


def _is_removed(replica: Replica) -> bool:
    """Whether a voter set without the leader is committed."""
    assert replica.high_watermark is not None
    return not replica.is_voter and replica.voters_offset < replica.high_watermark


def expire(work: Work) -> None:
    """The change took too long. What it has appended stays in the log and may still commit."""
    role = work.replica.role
    assert isinstance(role, Leader)
    if role.change is not None:
        work.by(_END_RULES[type(role.change)])
    end(work, ErrorCode.REQUEST_TIMED_OUT)


def end(work: Work, error: ErrorCode) -> None:
    """Nothing is under way any more, and the client that waits receives ``error``."""
    role = work.replica.role
    assert isinstance(role, Leader)
    if role.change is not None:
        work.update_role(change=None)
        reply(work, role.change, error)


def reply(work: Work, change: VoterChange, error: ErrorCode) -> None:
    """Answer the request that asked for ``change``, unless that has been done."""
    if isinstance(change, AddingVoter) and not change.answered:
        work.reply(change.source, change.correlation, AddRaftVoterResponse(error))
    elif isinstance(change, RemovingVoter):
        work.reply(change.source, change.correlation, RemoveRaftVoterResponse(error))
    elif isinstance(change, UpdatingVoter) and change.offset is None:
        work.reply(change.source, change.correlation, update_response(work, error))


def update_response(work: Work, error: ErrorCode) -> UpdateRaftVoterResponse:
    """The answer to UpdateRaftVoter, which names the leader."""
    replica = work.replica
    work.by("UPDATE-7")
    return UpdateRaftVoterResponse(
        replica.epoch, replica.quorum_state.leader, replica.leader_endpoints, partition_error=error
    )


def abandon(work: Work, role: Leader) -> None:
    """Leadership is about to end, and with it what the leader was about to change."""
    if role.change is not None:
        work.by(_END_RULES[type(role.change)])
        reply(work, role.change, ErrorCode.NOT_LEADER_OR_FOLLOWER)
