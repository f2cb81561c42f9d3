"""Pasts of states that a scenario gives (``replicas.initial``), of which no run is known.

Any past that they may have had satisfied the invariant, so the check constructs one. It judges all conjuncts
in this state as in all others: if one fails, the reference does not refine the proved system.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kraftcheck.proof.refinement.formulas import Fact
from kraftcheck.proof.refinement.own import START, Own, Record
from kraftcheck.reference.replica import Candidate, Leader
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import KRaftScenario


def with_votes(scenario: KRaftScenario) -> KRaftScenario:
    """``scenario``, in which every replica given with a leader and without a vote has voted for this leader.

    A vote stays in the file as long as its epoch, so that a leader would have no majority otherwise. That
    vote has no other effect: a replica that knows the leader of its epoch votes for no other.
    """
    replicas = scenario.replicas
    texts = {replica: _with_vote(text) for replica, text in replicas.initial.items()}
    changed = replicas.model_copy(update={"initial": texts})
    return scenario.model_copy(update={"replicas": changed})


def _with_vote(text: str) -> str:
    words = dict(word.split("=", 1) for word in text.split() if "=" in word)
    leader = words.get("leader")
    return text if leader is None or "voted" in words else f"{text} voted={leader}"


@dataclass(frozen=True)
class Given:
    """A given replica: ``own``, and its knowledge of others (components): ``votes``, the voters of this
    Candidate, and ``ends``, the ends of their logs as this Leader knows them.
    """

    own: Own
    votes: frozenset[int] = frozenset()
    ends: tuple[tuple[int, int], ...] = ()


def given_of(node: Node, own: Own, component_of: dict[int, int]) -> Given:
    """The knowledge of ``node``, whose abstraction is ``own``."""
    role = None if node.replica is None else node.replica.role
    if isinstance(role, Candidate):
        return Given(own, frozenset(component_of[each] for each in role.election.granted))
    if isinstance(role, Leader):
        ends = ((component_of[each.id], each.end_offset or 0) for each in role.progress)
        return Given(own, ends=tuple(ends))
    return Given(own)


def past_of(replicas: Sequence[Given], voters: frozenset[int]) -> frozenset[Fact]:
    """Facts by which ``replicas`` may have reached their states."""
    owns = [each.own for each in replicas]
    epochs = {each.epoch for each in owns} | {epoch for each in owns for _, epoch in each.holds}
    facts: set[Fact] = set()
    for epoch in sorted(epochs - {0}):
        facts.add(("opened", epoch))
        leader = _leader(epoch, owns, voters)
        if leader is not None:
            facts |= set(_reign(epoch, leader, owns, voters))
    for number, each in enumerate(replicas):
        facts |= set(_of_replica(number, each, owns))
    return frozenset(facts)


def _leader(epoch: int, owns: Sequence[Own], voters: frozenset[int]) -> int | None:
    """The leader of ``epoch``: one that a file names, or a possible one if there are records of the epoch."""
    named = [leader for own in owns if own.epoch == epoch for leader in own.leader]
    if named:
        return named[0]
    if not any(held == epoch for own in owns for _, held in own.holds):
        return None
    left = [voter for voter in sorted(voters) if owns[voter].epoch > epoch]
    return max(left, key=lambda voter: len(_log(epoch, [owns[voter]])), default=None)


def _log(epoch: int, owns: Sequence[Own]) -> frozenset[Record]:
    """The longest log up to the records of ``epoch``."""
    logs = [frozenset(record for record in own.holds if record[1] <= epoch) for own in owns]
    return max(logs, key=lambda log: (max(held for _, held in log), len(log)))


def _reign(epoch: int, leader: int, owns: Sequence[Own], voters: frozenset[int]) -> Iterator[Fact]:
    """``leader`` was elected by a majority, and has or had the longest log of its epoch."""
    able = [voter for voter in sorted(voters) if _may_have_voted(voter, leader, epoch, owns)]
    able.sort(key=lambda voter: (voter != leader, owns[voter].epoch > epoch))
    for voter in able[: len(voters) // 2 + 1]:
        yield "votes", voter, epoch, leader
    yield "led", epoch, leader
    yield "claimed", epoch, leader
    with_records = [own for own in owns if any(held == epoch for _, held in own.holds)]
    for record in _log(epoch, with_records or [owns[leader]]):
        yield "record", epoch, *record


def _may_have_voted(voter: int, leader: int, epoch: int, owns: Sequence[Own]) -> bool:
    own = owns[voter]
    return own.epoch > epoch or (own.epoch == epoch and (voter == leader or leader in own.voted))


def _of_replica(number: int, given: Given, owns: Sequence[Own]) -> Iterator[Fact]:
    own = given.own
    for candidate in own.voted:
        yield "votes", number, own.epoch, candidate
        yield "votes", candidate, own.epoch, candidate
    for voter in given.votes:
        yield "votes", voter, own.epoch, number
    if own.covered:
        yield from _commitment(number, own.covered, owns)
    for voter, end in given.ends:
        counted = [record for record in own.holds if record[0] <= end]
        yield from (("counted", own.epoch, voter, *record) for record in counted)
        yield from _told(voter, own.epoch, counted)


def _commitment(number: int, covered: int, owns: Sequence[Own]) -> Iterator[Fact]:
    """A replica that knows ``covered`` to be committed has learned it from the leader of that record. All
    replicas that hold the record have acknowledged it to that leader.
    """
    epoch = next(epoch for offset, epoch in owns[number].holds if offset == covered)
    yield "committed", epoch, covered
    yield from (("known", number, epoch, covered, offset) for offset in range(covered + 1))
    for voter, own in enumerate(owns):
        if (covered, epoch) in own.holds:
            yield from _told(voter, epoch, [record for record in own.holds if record[0] <= covered])


def _told(voter: int, epoch: int, records: Iterable[Record]) -> Iterator[Fact]:
    """``voter`` has acknowledged the records of ``epoch`` to its leader."""
    for record in records:
        if record[1] == epoch and record != START:
            yield "assured", voter, epoch, record[0]
