"""A check that the states in ``replicas.initial`` can be those of one cluster.

States that no run of a cluster leads to violate properties by themselves: the protocol would be blamed for
the scenario. Replicas without a state begin on an empty disk, in epoch 0. States that a lost disk or an old
copy of a quorum-state file explains are accepted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Log
from kraftcheck.reference.protocol import Protocol, VoteMemory
from kraftcheck.reference.replica import Candidate, Follower, Leader, Replica, Resigned, Unattached
from kraftcheck.reference.transitions import role_name
from kraftcheck.reference.voters import majority
from kraftcheck.systems.kraft.identities import protocol_of
from kraftcheck.systems.kraft.possible import problems
from kraftcheck.systems.kraft.scenario import KRaftScenario


def check(scenario: KRaftScenario, given: Mapping[int, Replica]) -> None:
    """Raises InputError if they cannot. ``given``: the replicas with a
    state.
    """
    for one, replica in given.items():
        for problem in _problems(scenario, given, replica):
            raise scenario.error(f"replicas.initial.{one}: {problem}")
    for (one, mine), (other, theirs) in combinations(given.items(), 2):
        for problem in _of_two(mine, theirs):
            raise scenario.error(f"replicas.initial.{one} and {other}: {problem}")


def _problems(scenario: KRaftScenario, given: Mapping[int, Replica], replica: Replica) -> Iterator[str]:
    yield from _own(replica)
    if "vote-memory" not in scenario.protocol.at.get(str(replica.id), {}):
        # Otherwise another release wrote its file.
        yield from _of_protocol(protocol_of(scenario, replica.id, scenario.file), replica)
    yield from _named(scenario, given, replica)
    yield from _elections(scenario, given, replica)
    yield from _commits(scenario, given, replica)


def _own(replica: Replica) -> Iterator[str]:
    """The contradictions within a single replica."""
    if isinstance(replica.role, Candidate | Follower | Leader | Resigned) and replica.epoch == 0:
        yield f"a {role_name(replica.role)} is in epoch 1 or a later one; give epoch"
    state = replica.quorum_state
    if isinstance(replica.role, Unattached):  # Its file may be an old copy.
        state = replace(state, epoch=max(state.epoch, replica.log.last_epoch))
    yield from problems(replace(replica, quorum_state=state))


def _of_protocol(protocol: Protocol, replica: Replica) -> Iterator[str]:
    """The contradictions with what the protocol of ``replica`` writes to its file."""
    state = replica.quorum_state
    both = state.leader is not None and state.voted is not None
    if both and protocol.vote_memory is VoteMemory.UNTIL_LEADER:
        reason = "no vote is kept together with a leader there (vote-memory = until-leader)"
        yield f"{reason}; leave out leader or voted"


def _named(scenario: KRaftScenario, given: Mapping[int, Replica], replica: Replica) -> Iterator[str]:
    """The contradictions with the replicas that ``replica`` knows of."""
    state, role = replica.quorum_state, replica.role
    named = [("leader", state.leader), ("voted", None if state.voted is None else state.voted.id)]
    for word, other in named:
        if other in scenario.replicas.everybody and _epoch(given, other) < state.epoch:
            yield (
                f"{word}={other} says that replica {other} has been in epoch {state.epoch}, but it begins in "
                f"epoch {_epoch(given, other)}; give replicas.initial.{other} such an epoch"
            )
    named += [("awaiting or backoff", each.node) for each in replica.connections]
    if isinstance(role, Leader):
        named += [("contacts", each) for each in role.contacts]
    for word, other in named:
        if other is not None and other not in scenario.replicas.everybody:
            known = ", ".join(map(str, scenario.replicas.everybody))
            yield f"{word}={other} names none of the replicas {known}"


def _elections(scenario: KRaftScenario, given: Mapping[int, Replica], replica: Replica) -> Iterator[str]:
    """The contradictions with the elections that ``replica`` knows of."""
    if not scenario.all_timers & {"election", "fetch"}:
        return  # Without them no voter becomes candidate in an epoch that has had its election.
    voters, role = scenario.replicas.voters, replica.role
    enough = majority(len(voters))
    epochs = {batch.epoch for batch in replica.log.batches if batch.epoch <= replica.epoch}
    for epoch in sorted({*epochs, replica.epoch} if isinstance(role, Leader) else epochs):
        reached = [voter for voter in voters if _epoch(given, voter) >= epoch]
        if len(reached) < enough:
            yield (
                f"the leader of epoch {epoch} was elected by {enough} of the voters {_list(voters)}, but "
                f"{_list(reached)} alone begin in epoch {epoch} or later; give replicas.initial of others"
            )
    votes = [voter for voter in voters if _may_have_voted(given, voter, replica)]
    if isinstance(role, Leader) and len(votes) < enough:
        yield (
            f"the leader of epoch {replica.epoch} has the votes of {enough} of the voters {_list(voters)}, "
            f"but {_list(votes)} alone can have voted for it; give others leader={replica.id} or "
            f"voted={replica.id}"
        )
    if isinstance(role, Candidate) and (never := set(role.election.granted) - set(votes)):
        yield f"granted: {_list(sorted(never))} cannot have voted for it; give voted={replica.id} there"


def _may_have_voted(given: Mapping[int, Replica], voter: int, elected: Replica) -> bool:
    """Whether ``voter`` may have voted for a replica in its epoch: in a later one the vote is forgotten."""
    if voter not in given or given[voter].epoch != elected.epoch:
        return _epoch(given, voter) > elected.epoch
    state = given[voter].quorum_state
    return state.leader == elected.id if state.voted is None else state.voted.id == elected.id


def _commits(scenario: KRaftScenario, given: Mapping[int, Replica], replica: Replica) -> Iterator[str]:
    """Whether a majority has the records that ``replica`` takes for committed."""
    voters = scenario.replicas.voters
    enough = majority(len(voters))
    ends = [replica.high_watermark or 0]
    if isinstance(replica.role, Leader):
        progress = {each.key.id: each.end_offset or 0 for each in replica.role.progress}
        progress[replica.id] = replica.log.end_offset
        ends.append(sorted((progress.get(voter, 0) for voter in voters), reverse=True)[enough - 1])
    have = [
        voter for voter in voters if voter in given and _common(replica.log, given[voter].log) >= max(ends)
    ]
    if max(ends) and len(have) < enough:
        yield (
            f"by its high watermark or progress {enough} of the voters {_list(voters)} have its log up to "
            f"offset {max(ends)}, but {_list(have)} alone begin with it; give others such a log"
        )


def _of_two(mine: Replica, theirs: Replica) -> Iterator[str]:
    """The contradictions between two replicas of one cluster."""
    leaders = {mine.quorum_state.leader, theirs.quorum_state.leader} - {None}
    if mine.epoch == theirs.epoch and len(leaders) > 1:
        yield f"they know two leaders of epoch {mine.epoch}; an epoch has one"
    common = _common(mine.log, theirs.log)
    rows, others = _rows(mine.log), _rows(theirs.log)
    if set(rows[common:]) & set(others[common:]):
        yield "their logs differ before an offset at which both have a record of the same epoch"
    for leader, other in ((mine, theirs), (theirs, mine)):
        own = _end_of(leader.log, leader.epoch)
        if isinstance(leader.role, Leader) and _end_of(other.log, leader.epoch) > own:
            yield (
                f"replica {other.id} has records of epoch {leader.epoch} up to offset "
                f"{_end_of(other.log, leader.epoch)}, and their leader {leader.id} only up to {own}"
            )


def _rows(log: Log) -> list[tuple[int, int]]:
    """Offset and epoch of each record."""
    return [
        (offset, batch.epoch)
        for batch in log.batches
        for offset in range(batch.base_offset, batch.end_offset)
    ]


def _common(one: Log, other: Log) -> int:
    """The offset up to which two logs are the same."""
    pairs = zip(_rows(one), _rows(other), strict=False)
    return next(
        (index for index, (mine, theirs) in enumerate(pairs) if mine != theirs),
        min(one.end_offset, other.end_offset),
    )


def _end_of(log: Log, epoch: int) -> int:
    """The end offset of ``epoch`` in ``log``; 0 if it has no records of that epoch."""
    return max((batch.end_offset for batch in log.batches if batch.epoch == epoch), default=0)


def _epoch(given: Mapping[int, Replica], replica: int) -> int:
    return given[replica].epoch if replica in given else 0


def _list(replicas: Sequence[int]) -> str:
    return ", ".join(map(str, replicas)) or "none"
