"""What properties need to know beyond the current state, and the properties judged on it.

The history is kept as small as it can be: in a correct protocol most of it is a function of the current
state, so that it adds few states.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from model_check.engine.system import Recorded
from model_check.kraft import names
from reference.log import Batch, Value


@dataclass(frozen=True, slots=True)
class Elected:
    """``replica`` became Leader of ``epoch``."""

    replica: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Voted:
    """``voter`` let somebody know that it votes for ``candidate`` in ``epoch``."""

    voter: int
    epoch: int
    candidate: int


@dataclass(frozen=True, slots=True)
class Committed:
    """``replica`` knows that ``prefix`` is committed; ``leader_epoch`` if it decided so as the leader."""

    replica: int
    prefix: tuple[Batch, ...]
    leader_epoch: int | None


@dataclass(frozen=True, slots=True)
class Truncated:
    """``replica`` cut its log ``before`` down to its first ``kept`` batches."""

    replica: int
    before: tuple[Batch, ...]
    kept: int


Label = Elected | Voted | Committed | Truncated


@dataclass(frozen=True, slots=True)
class History:
    """leaders: who led which epoch; votes: the last epoch each replica voted in, and for whom;
    committed: the longest prefix known to be committed; committed_epoch: the latest epoch whose leader
    decided so.
    """

    leaders: tuple[tuple[int, int], ...] = ()
    votes: tuple[tuple[int, int, int], ...] = ()
    committed: tuple[Batch, ...] = ()
    committed_epoch: int = 0


def record(history: History, label: Label) -> Recorded:
    """``history`` after ``label``, and what the label violates or reaches."""
    if isinstance(label, Elected):
        return _record_elected(history, label)
    if isinstance(label, Voted):
        return _record_voted(history, label)
    if isinstance(label, Committed):
        return _record_committed(history, label)
    held = label.before[: len(history.committed)]
    agree = next((n for n, batch in enumerate(held) if batch != history.committed[n]), len(held))
    violated = label.kept < agree
    return Recorded(
        history,
        (names.TRUNCATION_KEEPS_COMMITTED,) if violated else (),
        (names.GOAL_TRUNCATED,),
    )


def _record_elected(history: History, label: Elected) -> Recorded:
    violations: list[str] = []
    for epoch, leader in history.leaders:
        if epoch == label.epoch:
            same = leader == label.replica
            violations.append(names.EX_LEADER_NEVER_LEADS_AGAIN if same else names.SINGLE_LEADER)
    if history.leaders:
        violations += [names.STABLE_LEADERSHIP, names.REMOVED_VOTER_DISTURBS_NOBODY]
    leaders = tuple(sorted({*history.leaders, (label.epoch, label.replica)}))
    return Recorded(replace(history, leaders=leaders), tuple(violations), (names.GOAL_LEADER_ELECTED,))


def _record_voted(history: History, label: Voted) -> Recorded:
    violations: list[str] = []
    for voter, epoch, candidate in history.votes:
        if voter == label.voter and epoch == label.epoch and candidate != label.candidate:
            own = candidate == voter
            violations.append(names.SELF_VOTE_SURVIVES if own else names.VOTED_ONCE)
            violations.append(names.VOTED_ONCE)
    if (label.epoch, label.voter) in history.leaders and label.candidate != label.voter:
        violations.append(names.EX_LEADER_NEVER_LEADS_AGAIN)
    others = tuple(vote for vote in history.votes if vote[0] != label.voter or vote[1] > label.epoch)
    newest = any(vote[0] == label.voter for vote in others)
    votes = others if newest else tuple(sorted((*others, (label.voter, label.epoch, label.candidate))))
    return Recorded(replace(history, votes=votes), tuple(dict.fromkeys(violations)))


def _record_committed(history: History, label: Committed) -> Recorded:
    violations: list[str] = []
    common = min(len(history.committed), len(label.prefix))
    if history.committed[:common] != label.prefix[:common]:
        violations.append(names.STATE_MACHINE_SAFETY)
    committed_epoch = history.committed_epoch
    if label.leader_epoch is not None:
        if not label.prefix or label.prefix[-1].epoch != label.leader_epoch:
            violations.append(names.COMMITS_OWN_EPOCH)
        if label.leader_epoch > committed_epoch and len(label.prefix) < len(history.committed):
            violations.append(names.HIGH_WATERMARK_MONOTONE)
        committed_epoch = max(committed_epoch, label.leader_epoch)
    longer = label.prefix if len(label.prefix) > len(history.committed) else history.committed
    values = any(isinstance(entry, Value) for batch in label.prefix for entry in batch.records)
    return Recorded(
        replace(history, committed=longer, committed_epoch=committed_epoch),
        tuple(violations),
        (names.GOAL_COMMITTED, names.GOAL_VALUE_COMMITTED) if values else (names.GOAL_COMMITTED,),
    )
