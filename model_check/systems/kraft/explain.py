"""The part of a violated property that does not hold, in words: the replica, the epoch, the record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from itertools import combinations
from typing import Any, cast

from kraftcheck.engine.system import GlobalState, Outcome
from kraftcheck.reference.log import Batch
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.reference.voters import majority
from kraftcheck.systems.kind import Run
from kraftcheck.systems.kraft import labels, membership
from kraftcheck.systems.kraft.explain_steps import explain_step
from kraftcheck.systems.kraft.history import History, is_same_vote, record
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import NAMES
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.kraft.text.style import print_key


def explain(
    system: KRaftSystem,
    violated: str,
    before: GlobalState,
    after: GlobalState,
    outcome: Outcome | None,
    run: Run | None,
) -> tuple[str, ...]:
    """The sentences that describe the fault in ``after``, or in the step that led there."""
    if violated in _STATES:
        return tuple(_STATES[violated](system, after))
    found: list[str] = []
    if outcome is not None:
        leading = {
            (id, node.replica.epoch)
            for id, node in _nodes(system, after)
            if node.replica is not None and isinstance(node.replica.role, Leader)
        }
        found = list(_explain_labels(violated, cast(History, before.history), outcome, leading))
        if not found and run is not None:
            component = system.wiring.component(cast(Any, outcome.action).replica)
            old, new = cast(tuple[Node, Node], (before.locals[component], after.locals[component]))
            found = list(explain_step(violated, system.places[component], old, new, run))
    step = "first step of a replica" if outcome is None else "last step"
    return tuple(dict.fromkeys(found)) or (f"The {step} violates it.",)


# The history.


def _explain_labels(
    violated: str, history: History, outcome: Outcome, leading: Collection[tuple[int, int]]
) -> Iterator[str]:
    """``leading``: the replicas that lead after the step, with their epochs."""
    for label in cast(tuple[labels.Label, ...], outcome.labels):
        recorded = record(history, label)
        if violated in recorded.violations and isinstance(label, labels.Elected):
            yield from _explain_election(violated, history, label, leading)
        elif violated in recorded.violations and type(label) in _LABELS:
            yield from _LABELS[type(label)](violated, history, label)
        history = cast(History, recorded.history)


def _explain_election(
    violated: str, history: History, label: labels.Elected, leading: Collection[tuple[int, int]]
) -> Iterator[str]:
    become = f"Replica {label.replica} becomes Leader of epoch {label.epoch}"
    if violated in NAMES.judged("on-request"):
        epoch, leader = history.leaders[-1]
        yield f"{become} although replica {leader} leads epoch {epoch}."
        return
    for epoch, leader in history.leaders:
        if epoch == label.epoch and leader == label.replica:
            yield f"{become} although it has led this epoch before."
        elif epoch == label.epoch:
            leads = "leads" if (leader, epoch) in leading else "has led before"
            yield f"{become}, which replica {leader} {leads}."


def _explain_vote(violated: str, history: History, label: labels.Voted) -> Iterator[str]:
    votes = f"Replica {label.voter} votes for replica {print_key(label.candidate)} in epoch {label.epoch}"
    if violated == "NoReturnAfterLeading":
        yield f"{votes}, which it has led itself."
        return
    for voter, epoch, candidate in history.votes:
        again = (voter, epoch) == (label.voter, label.epoch)
        if again and not is_same_vote(voter, candidate, label.candidate):
            earlier = "for itself" if candidate.id == voter else f"for replica {print_key(candidate)}"
            yield f"{votes}, in which it has voted {earlier} before."


def _explain_truncation(violated: str, history: History, label: labels.Truncated) -> Iterator[str]:
    yield f"Replica {label.replica} truncates a committed record: {_batch(label.before[label.kept])}."


def _explain_snapshot(violated: str, history: History, label: labels.Snapshotted) -> Iterator[str]:
    end = label.snapshot.id.end_offset
    yield f"The snapshot of replica {label.replica} that ends at offset {end} is not what was committed."


def _explain_success(violated: str, history: History, label: labels.Acknowledged) -> Iterator[str]:
    what = "a voter set that is in no log" if label.batch is None else _batch(label.batch)
    yield f"Leader {label.replica} reports success for {what}, which is not committed."


def _explain_refusal(violated: str, history: History, label: labels.Refused) -> Iterator[str]:
    said = f"a voter has the id {label.key.id}" if label.has_id else f"{print_key(label.key)} is no voter"
    yield f"An admin client is answered that {said}, which the newest committed voter set does not say."


def _explain_commit(violated: str, history: History, label: labels.Committed) -> Iterator[str]:
    who = f"Replica {label.replica}"
    if label.leader_epoch is not None:
        who += f", Leader of epoch {label.leader_epoch},"
    if violated == "StateMachineSafety":
        committed = membership.from_offset(history.committed, label.start)
        for mine, known in zip(label.prefix, committed, strict=False):
            if mine != known:
                yield f"{who} commits {_batch(mine)}, where {_batch(known)} was committed before."
                return
    elif violated == "CommitNeedsOwnEpoch":
        end = f"{_batch(label.prefix[-1])}, of an earlier epoch" if label.prefix else "the start of the log"
        yield f"{who} commits up to {end}."
    elif violated == "HighWatermarkMonotone":
        yield (
            f"{who} knows only offset {membership.end_of(label.prefix)} as committed; the log was committed "
            f"up to offset {membership.end_of(history.committed)} before."
        )


_LABELS: Mapping[type, Callable[[str, History, Any], Iterator[str]]] = {
    labels.Voted: _explain_vote,
    labels.Truncated: _explain_truncation,
    labels.Snapshotted: _explain_snapshot,
    labels.Acknowledged: _explain_success,
    labels.Refused: _explain_refusal,
    labels.Committed: _explain_commit,
}


def _batch(batch: Batch) -> str:
    kinds = {type(entry).__name__ for entry in batch.records}
    kind = kinds.pop() if len(kinds) == 1 else "records"
    last = batch.end_offset - 1
    where = f"offset {last}" if last == batch.base_offset else f"offsets {batch.base_offset} to {last}"
    return f"the {kind} at {where} of epoch {batch.epoch}"


# States.


def _nodes(system: KRaftSystem, state: GlobalState) -> Iterator[tuple[int, Node]]:
    return zip(system.places, cast(tuple[Node, ...], state.locals), strict=True)


def _log(node: Node) -> tuple[Batch, ...]:
    return node.disk.log.batches if node.replica is None else node.replica.log.batches


def _known_leaders(system: KRaftSystem, state: GlobalState) -> Iterator[str]:
    beliefs = [
        (replica_id, node.replica.epoch, node.replica.quorum_state.leader)
        for replica_id, node in _nodes(system, state)
        if node.replica is not None and node.replica.quorum_state.leader is not None
    ]
    for (one, epoch, leader), (other, other_epoch, another) in combinations(beliefs, 2):
        if epoch == other_epoch and leader != another:
            yield (
                f"In epoch {epoch}, replica {one} takes replica {leader} for the leader and replica {other} "
                f"takes replica {another}."
            )


def _record_identity(system: KRaftSystem, state: GlobalState) -> Iterator[str]:
    for (one, mine), (other, theirs) in combinations(_nodes(system, state), 2):
        for batch in _log(mine):
            for another in _log(theirs):
                same = (batch.base_offset, batch.epoch) == (another.base_offset, another.epoch)
                if same and batch != another:
                    yield (
                        f"At offset {batch.base_offset} of epoch {batch.epoch}, replica {one} holds "
                        f"{batch.records} and replica {other} holds {another.records}."
                    )


def _log_matching(system: KRaftSystem, state: GlobalState) -> Iterator[str]:
    for (one, mine), (other, theirs) in combinations(_nodes(system, state), 2):
        pairs = list(zip(_log(mine), _log(theirs), strict=False))
        same = [a for a, b in pairs if (a.base_offset, a.epoch) == (b.base_offset, b.epoch)]
        differing = next(((a, b) for a, b in pairs if a != b), None)
        if differing and same and same[-1].base_offset >= differing[0].base_offset:
            yield (
                f"Replicas {one} and {other} both hold {_batch(same[-1])}, and differ before it: "
                f"{_batch(differing[0])} against {_batch(differing[1])}."
            )


def _leader_completeness(system: KRaftSystem, state: GlobalState) -> Iterator[str]:
    history = cast(History, state.history)
    for replica_id, node in _nodes(system, state):
        replica: Replica | None = node.replica
        if replica is None or not isinstance(replica.role, Leader):
            continue
        if replica.epoch < history.committed_epoch:
            continue
        log = replica.log.batches
        wanted = membership.from_offset(history.committed, replica.log.start_offset)
        lacking = (each for index, each in enumerate(wanted) if log[index : index + 1] != (each,))
        for committed in (*lacking,)[:1]:
            yield (
                f"Replica {replica_id}, Leader of epoch {replica.epoch}, lacks {_batch(committed)}, "
                f"which was committed by the leader of epoch {history.committed_epoch}."
            )


def _on_majority(system: KRaftSystem, state: GlobalState, *, durable: bool = False) -> Iterator[str]:
    history = cast(History, state.history)
    committed, voters = history.committed, history.voters or system.voters
    holders = []
    for replica_id, node in _nodes(system, state):
        log, start = _log(node), node.disk.log.start_offset
        if durable:
            log = tuple(b for b in node.disk.log.batches if b.end_offset <= node.disk.flushed)
        if membership.is_among(node.key(replica_id), voters) and membership.has_all(log, start, committed):
            holders.append(replica_id)
    where = "on disk, flushed," if durable else "in the log"
    who = ", ".join(f"replica {each}" for each in holders) or "no replica"
    yield (
        f"The log is committed up to offset {membership.end_of(committed)}, but {where} only {who} of "
        f"{len(voters)} voters has it all; a majority is {majority(len(voters))}."
    )


_STATES: Mapping[str, Callable[[KRaftSystem, GlobalState], Iterator[str]]] = {
    "SingleKnownLeaderPerEpoch": _known_leaders,
    "RecordIdentity": _record_identity,
    "LogMatching": _log_matching,
    "LeaderCompleteness": _leader_completeness,
    "CommittedSurvivesVoterChanges": _leader_completeness,
    "HighWatermarkOnMajority": _on_majority,
    "AcknowledgedIsDurable": partial(_on_majority, durable=True),
    "RemovedLeaderDoesNotCount": _on_majority,
}
