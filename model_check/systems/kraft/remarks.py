"""What a step of a replica means for elections: how many votes are needed and there, and from which voters.

A reader of a trace sees from these sentences why a replica wins or cannot win, without knowing the rules.
They follow from the states before and after the step alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kraftcheck.reference.effects import ArmTimer
from kraftcheck.reference.events import Timer
from kraftcheck.reference.log import is_up_to_date
from kraftcheck.reference.messages import VoteRequest, VoteResponse
from kraftcheck.reference.replica import Candidate, Election, Leader, Prospective, Replica
from kraftcheck.reference.transitions import role_name
from kraftcheck.reference.voters import majority
from kraftcheck.systems.kind import Run
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.text.style import print_key


def summary(node: Node) -> str:
    """A node in a line: ``Follower, epoch 2; voters 2, 3 (not itself)``."""
    replica = node.replica
    if replica is None:
        return "does not run"
    return f"{role_name(replica.role)}, epoch {replica.epoch}; {_voters(replica)}"


def remarks(before: Node, after: Node, message: InFlight | None, runs: Sequence[Run]) -> Iterator[str]:
    """What is worth knowing of a step: from ``before`` to ``after``, by a ``message`` that arrives, if one
    does, and ``runs``.
    """
    starts, old, new = any(run.start for run in runs), before.replica, after.replica
    if starts:
        yield _starts(before, after)
    if new is None:
        return
    if old is not None and old.voters.keys != new.voters.keys:
        yield from _changes_voters(old, new)
    yield from _election(None if starts else old, new, message)
    yield from _check_quorum(old, new, message, runs)
    payload = None if message is None else message.payload
    if old is not None and isinstance(payload, VoteRequest):
        yield from _refuses(old, payload)


def _starts(before: Node, after: Node) -> str:
    new, disk = after.replica, before.disk
    if after.disk.directory != disk.directory:
        if before.replaced is None or before.replaced.directory != after.disk.directory:
            return "The process starts on a new disk, which has no epoch, no vote and no log."
        disk = before.replaced
    state = disk.quorum_state
    if state is None:
        return "The process starts; its disk has no epoch and no vote."
    process = new or before.replica
    own = state.voted is not None and process is not None and state.voted.id == process.id
    vote = "no vote" if state.voted is None else "a vote for " + ("itself" if own else print_key(state.voted))
    leader = "no leader" if state.leader is None else f"leader {state.leader}"
    told = f"The process starts with what its disk has: epoch {state.epoch}, {vote}, {leader}."
    if own and new is not None and new.epoch == state.epoch and isinstance(new.role, Candidate | Leader):
        told += f" The stored vote for itself makes it Candidate of epoch {state.epoch} again."
    return told


def _changes_voters(old: Replica, new: Replica) -> Iterator[str]:
    of_log = new.assignment_offset < 0 and new.voters_offset >= 0
    why = ": it uses the newest voter set of its log, committed or not" if of_log else ""
    if not new.voters.keys:
        yield f"It has no voter set now, before {_ids(old.voters.ids)}."
        return
    yield f"Its voters are now {_ids(new.voters.ids)}, before {_ids(old.voters.ids)}{why}."
    if old.is_voter and not new.is_voter:
        yield "It is no voter by this set, and does not become candidate as long as that is so."


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
    rejected = f"; rejected by {_ids(election.rejected)}" if election.rejected else ""
    return (
        f"It needs {needed} {what if needed > 1 else what[:-1]} of its voters {_ids(election.voters)} and "
        f"has {has}: granted by {_ids(election.granted, own)}{rejected}."
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
        yield (
            "It restarts its check-quorum timer. Since the last restart it had counted contacts of "
            f"{_ids(old.role.contacts)}; this message is from {message.source}."
        )
        waited = {each.source for each in old.parked} - {message.source}
        if answered := sorted(waited - {each.source for each in new.parked}):
            yield f"It handles a fetch again that has waited in purgatory: of {_ids(answered)}."


def _refuses(old: Replica, request: VoteRequest) -> Iterator[str]:
    """A log that is behind keeps a candidate from being elected, whatever else does."""
    if request.epoch >= old.epoch and not is_up_to_date(request.last_epoch, request.end_offset, old.log):
        yield (
            f"It does not grant the vote: its log ends at {old.log.end_offset}@{old.log.last_epoch}, that of "
            f"replica {request.candidate.id} already at {request.end_offset}@{request.last_epoch}."
        )


def _voters(replica: Replica) -> str:
    itself = "" if replica.is_voter else " (not itself)"
    return f"voters {_ids(replica.voters.ids)}{itself}"


def _ids(ids: Sequence[int], own: int | None = None) -> str:
    return ", ".join("itself" if each == own else str(each) for each in ids) or "none"
