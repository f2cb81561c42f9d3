"""What a step of a replica means: which votes are needed and there, what a restart finds, who asks for what.

A reader of a trace sees from these sentences why a replica wins or cannot win, without knowing the rules.
They follow from the states before and after the step, its message and the effects alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kraftcheck.reference.effects import ArmTimer, Persist, Reply, Send, Transition
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Timer
from kraftcheck.reference.log import is_up_to_date
from kraftcheck.reference.messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.replica import (
    Candidate,
    Election,
    Leader,
    Prospective,
    QuorumState,
    Replica,
    Resigned,
)
from kraftcheck.reference.transitions import role_name
from kraftcheck.reference.voters import majority
from kraftcheck.systems.kind import Run
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.remarks_log import Case, ids, log_remarks, surviving_log
from kraftcheck.systems.kraft.text.style import print_key


def summary(node: Node) -> str:
    """A node in a line: ``Follower (observer), epoch 2; voters 2, 3``."""
    replica = node.replica
    if replica is None:
        return "does not run"
    leads = isinstance(replica.role, Leader | Resigned)
    standing = "" if replica.is_voter else " (not a voter)" if leads else " (observer)"
    return f"{role_name(replica.role)}{standing}, epoch {replica.epoch}; voters {ids(replica.voters.ids)}"


def remarks(before: Node, after: Node, message: InFlight | None, runs: Sequence[Run]) -> Iterator[str]:
    """What is worth knowing of a step: from ``before`` to ``after``, by a ``message`` that arrives, if one
    does, and ``runs``.
    """
    case = Case(before, after, message, runs)
    starts, old, new = case.starts, case.old, case.new
    if starts:
        yield _starts(case)
    yield from _announcements(case)
    if old is not None and isinstance(case.payload, VoteRequest):
        yield from _answers(case, old, case.payload)
    yield from _several_roles(case)
    if new is not None:
        yield from _election(None if starts else old, new, message)
    if old is not None and not starts:
        yield from _elected_and_gone(case, old) if new is None else _keeps_vote(old, new)
    yield from log_remarks(case)
    if new is not None:
        yield from _check_quorum(old, new, message, runs)


def _starts(case: Case) -> str:
    before, after, new = case.before, case.after, case.new
    disk = before.disk
    if after.disk.directory != disk.directory:
        if before.replaced is None or before.replaced.directory != after.disk.directory:
            return "The process starts on a new disk, which has no epoch, no vote and no log."
        disk = before.replaced
    state = _state_found(case, disk.quorum_state)
    if state is None:
        return f"The process starts; its disk has no epoch, no vote and {surviving_log(case)}."
    process = new or before.replica
    own = state.voted is not None and process is not None and state.voted.id == process.id
    vote = "no vote" if state.voted is None else f"a vote for {'itself' if own else print_key(state.voted)}"
    leader = "no leader" if state.leader is None else f"leader {state.leader}"
    told = (
        f"The process starts with what its disk has: epoch {state.epoch}, {vote}, {leader}, and "
        f"{surviving_log(case)}."
    )
    if own and new is not None and new.epoch == state.epoch and isinstance(new.role, Candidate | Leader):
        told += f" The stored vote for itself makes it Candidate of epoch {state.epoch} again."
    return told


def _state_found(case: Case, state: QuorumState | None) -> QuorumState | None:
    """The quorum state that a start finds, which the step may have written before it crashed."""
    for run in case.runs:
        if run.start:
            break
        for effect in run.effects[: run.completed]:
            if isinstance(effect, Persist):
                state = effect.quorum_state
    return state


def _announcements(case: Case) -> Iterator[str]:
    """A leader announces itself, and is acknowledged."""
    requests = [
        effect
        for effect in case.done
        if isinstance(effect, Send) and isinstance(effect.request, BeginQuorumEpochRequest)
    ]
    if requests and case.old is not None and isinstance(case.old.role, Leader):
        told = ids(sorted({effect.to for effect in requests}))
        yield f"It announces again to {told} that it leads epoch {case.old.epoch} (BeginQuorumEpoch)."
    request, message = case.payload, case.message
    if isinstance(request, BeginQuorumEpochRequest) and any(_acknowledges(each) for each in case.replies):
        yield f"It acknowledges replica {request.leader} as leader of epoch {request.epoch}."
    if message is None or case.old is None or not isinstance(request, BeginQuorumEpochResponse):
        return
    if isinstance(case.old.role, Leader) and message.source not in case.old.voters.ids:
        yield (
            f"The acknowledgement is from replica {message.source}, which is no longer among the voters "
            f"{ids(case.old.voters.ids)} of the leader."
        )


def _acknowledges(reply: Reply) -> bool:
    response = reply.response
    return isinstance(response, BeginQuorumEpochResponse) and response.error is ErrorCode.NONE is (
        response.partition_error
    )


def _several_roles(case: Case) -> Iterator[str]:
    """The roles between the first and the last one, which no state shows."""
    taken = [each for each in case.done if isinstance(each, Transition) and each.source != each.target]
    if len(taken) > 1:
        roles = " → ".join((taken[0].source, *(each.target for each in taken)))
        yield f"Within this step: {roles} of epoch {taken[-1].epoch}."


def _elected_and_gone(case: Case, old: Replica) -> Iterator[str]:
    """The election of a replica whose process exits in the same step."""
    if any(isinstance(each, Transition) and each.target == "Leader" for each in case.done):
        election = _tallied(old.role, case.message) or Election(old.voters.ids, (old.id,))
        yield f"It is elected. {_tally('votes', election, old.id)}"


def _keeps_vote(old: Replica, new: Replica) -> Iterator[str]:
    lost = isinstance(old.role, Candidate) and not isinstance(new.role, Candidate | Leader)
    voted = new.quorum_state.voted
    if lost and old.epoch == new.epoch and voted is not None and voted.id == new.id:
        yield f"Its disk keeps its vote for itself in epoch {new.epoch}."


def _election(old: Replica | None, new: Replica, message: InFlight | None) -> Iterator[str]:
    """``old``: the replica before, unless the process has started since."""
    role, was = new.role, None if old is None else old.role
    tallied = _tallied(was, message)
    if isinstance(role, Leader):
        if old is None or not isinstance(was, Leader) or old.epoch != new.epoch:
            election = tallied or Election(new.voters.ids, (new.id,))
            yield f"It is elected. {_tally('votes', election, new.id)}"
    elif isinstance(role, Prospective | Candidate):
        if isinstance(was, Prospective) and isinstance(role, Candidate) and tallied is not None:
            yield _tally("pre-votes", tallied, new.id)
        same = old is not None and type(was) is type(role) and old.epoch == new.epoch
        if not same or tallied is not None:
            yield _tally(_asked(role), role.election, new.id)
    elif tallied is not None:
        yield _tally(_asked(was), tallied, new.id)


def _asked(role: object) -> str:
    return "pre-votes" if isinstance(role, Prospective) else "votes"


def _tallied(was: object, message: InFlight | None) -> Election | None:
    """The election of the role before, with the vote that arrives; ``None`` if none does."""
    if message is None or not isinstance(was, Prospective | Candidate):
        return None
    if not isinstance(message.payload, VoteResponse):
        return None
    election, voter, grants = was.election, message.source, message.payload.granted
    granted = {*election.granted, *((voter,) if grants else ())}
    rejected = {*election.rejected, *(() if grants else (voter,))}
    return Election(election.voters, tuple(sorted(granted)), tuple(sorted(rejected)))


def _tally(what: str, election: Election, own: int) -> str:
    needed, has = majority(len(election.voters)), len(election.granted)
    rejected = f"; rejected by {ids(election.rejected)}" if election.rejected else ""
    return (
        f"It needs {needed} {what if needed > 1 else what[:-1]} of its voters {ids(election.voters)} and "
        f"has {has}: granted by {ids(election.granted, own)}{rejected}."
    )


def _check_quorum(
    old: Replica | None, new: Replica, message: InFlight | None, runs: Sequence[Run]
) -> Iterator[str]:
    """Of two or three voters each fetch of a voter restarts the timer, which is not worth knowing."""
    if message is None or old is None or not isinstance(old.role, Leader) or len(old.voters) < 4:
        return
    if not isinstance(new.role, Leader) or old.epoch != new.epoch:
        return
    done = [effect for run in runs for effect in run.effects[: run.completed]]
    if any(isinstance(each, ArmTimer) and each.timer is Timer.CHECK_QUORUM for each in done):
        told = f"this message is from {message.source}"
        waited = {each.source for each in old.parked} - {message.source}
        if answered := sorted(waited - {each.source for each in new.parked}):
            told += f"; a fetch of {ids(answered)} that has waited in purgatory is handled again now"
        yield (
            "It restarts its check-quorum timer. Since the last restart it had counted contacts of "
            f"{ids(old.role.contacts)}; {told}."
        )
    elif gained := sorted({*new.role.contacts} - {*old.role.contacts}):
        yield (
            f"It counts a contact of {ids(gained)}; since its check-quorum timer last restarted it has "
            f"counted {ids(new.role.contacts)}."
        )


def _answers(case: Case, old: Replica, request: VoteRequest) -> Iterator[str]:
    """Whether the vote is granted. A log that is behind keeps a candidate from being elected, whatever else
    does.
    """
    what = "pre-vote" if request.pre_vote else "vote"
    if request.epoch >= old.epoch and not is_up_to_date(request.last_epoch, request.end_offset, old.log):
        yield (
            f"It does not grant the {what}: its log ends at offset {old.log.end_offset} of epoch "
            f"{old.log.last_epoch}, that of replica {request.candidate.id} already at offset "
            f"{request.end_offset} of epoch {request.last_epoch}."
        )
        return
    for reply in case.replies:
        if isinstance(reply.response, VoteResponse):
            does = "grants" if reply.response.granted else "does not grant"
            yield f"It {does} replica {request.candidate.id} the {what} for epoch {request.epoch}."
