"""Replicas compared with each other: leaders, votes, log positions and committed voter sets.

Clocks of different nodes are never compared, so everything here holds in whatever order the files are read.
Facts are kept per epoch; of very many epochs the smallest are dropped and counted.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from kraftcheck.evidence.history.facts import Key, Place, listed

#: About 50 MB of facts in three-voter clusters.
EPOCHS_KEPT: Final = 50_000
#: Votes and grants of all epochs together.
VOTES_KEPT: Final = 500_000
SETS_KEPT: Final = 2_000
IDS_KEPT: Final = 20


class Seen(NamedTuple):
    """A value, the node that said so, and where and when."""

    value: int
    node: int
    where: Place
    time: bytes


class Problems(Protocol):
    """Where contradictions between replicas are reported."""

    kept: int
    problem_counts: Counter[str]

    def problem(
        self,
        check: str,
        node: int,
        where: Place,
        time: bytes,
        expected: str,
        found: str,
        earlier: Place | None = None,
        cites: tuple[str, ...] = (),
        disorder: Place | None = None,
    ) -> None:
        """Report a violation of ``check`` by a fact of ``node``."""

    def disorder_at(self, *lines: tuple[int, bytes]) -> Place | None:
        """Where the time of a source goes back that has one of these facts; None: nowhere."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two lines on a grant of ``voter`` that differ; no problem if its disk was replaced, before or after."""

    voter: int
    seen: Seen
    expected: str
    found: str
    earlier: Place


@dataclass(slots=True)
class Epoch:
    """The facts of one epoch."""

    leader: Seen | None = None
    known_by: set[int] = field(default_factory=set)
    """The nodes that know a leader of it."""
    start: Seen | None = None
    """The offset at which the leader's epoch starts."""
    high: Seen | None = None
    """The largest high watermark known in it."""
    votes: dict[int, Seen] = field(default_factory=dict)
    """Voter → whom it voted for, by its own log."""
    grants: dict[int, Seen] = field(default_factory=dict)
    """Voter → a candidate that counts its grant."""
    disputed: set[int] = field(default_factory=set)
    """Nodes that know another leader, reported once."""


@dataclass(slots=True)
class Cluster:
    """Facts of all nodes, compared as they arrive; `finish` makes the comparisons that need all of them."""

    findings: Problems
    epochs: dict[int, Epoch] = field(default_factory=dict)
    forgotten: int = 0
    ids: dict[bytes, None] = field(default_factory=dict)
    """The cluster ids that lines show, the first one first; more than a few are not kept."""
    _floor: Seen | None = None
    _votes: int = 0
    _wiped: set[int] = field(default_factory=set)
    _sets: dict[int, tuple[frozenset[Key], Seen]] = field(default_factory=dict)
    disagreements: list[Disagreement] = field(default_factory=list)
    """Reported at the end: only then it is known whose disk was replaced, whatever file is read first."""
    _more: Counter[int] = field(default_factory=Counter)
    """Voter → disagreements beyond those kept."""

    def _epoch(self, number: int) -> Epoch:
        known = self.epochs.get(number)
        if known is None:
            if len(self.epochs) >= EPOCHS_KEPT or self._votes >= VOTES_KEPT:
                self._forget(max(1, len(self.epochs) // 10))
            known = self.epochs[number] = Epoch()
        return known

    def _forget(self, count: int) -> None:
        for number in sorted(self.epochs)[:count]:
            dropped = self.epochs.pop(number)
            self._votes -= len(dropped.votes) + len(dropped.grants)
            high = dropped.high
            if high is not None and (self._floor is None or high.value > self._floor.value):
                self._floor = high
            self.forgotten += 1

    def same(self, cluster: bytes) -> bool:
        """Whether ``cluster`` is the id of this cluster; the first one shown is."""
        if len(self.ids) < IDS_KEPT:
            self.ids.setdefault(cluster)
        return next(iter(self.ids)) == cluster

    def wiped(self, node: int) -> None:
        """The node started with an empty disk: its votes before and after may differ (S-28)."""
        self._wiped.add(node)

    def leader(self, epoch: int, seen: Seen) -> None:
        """``seen.node`` knows ``seen.value`` as the leader of ``epoch``."""
        entry = self._epoch(epoch)
        entry.known_by.add(seen.node)
        if entry.leader is None:
            entry.leader = seen
        elif (
            entry.leader.value != seen.value
            and entry.leader.node != seen.node
            and seen.node not in entry.disputed
        ):
            entry.disputed.add(seen.node)
            self.findings.problem(
                "SingleKnownLeaderPerEpoch",
                seen.node,
                seen.where,
                seen.time,
                f"leader {entry.leader.value} of epoch {epoch}, as node {entry.leader.node} knows it",
                f"leader {seen.value}",
                entry.leader.where,
            )

    def vote(self, epoch: int, seen: Seen) -> None:
        """``seen.node`` voted for ``seen.value`` in ``epoch``, by its own log."""
        entry = self._epoch(epoch)
        if seen.node not in entry.votes:
            entry.votes[seen.node] = seen
            self._votes += 1
        self._agree(epoch, entry, seen.node)

    def grant(self, epoch: int, voter: int, seen: Seen) -> None:
        """Candidate ``seen.value`` counts a grant of ``voter`` in ``epoch``."""
        entry = self._epoch(epoch)
        known = entry.grants.get(voter)
        if known is None:
            if self._votes >= 2 * VOTES_KEPT:
                return
            known = entry.grants[voter] = seen
            self._votes += 1
        if known.value != seen.value:
            expected = f"no grant of node {voter} in epoch {epoch}, which candidate {known.value} has"
            found = f"candidate {seen.value} has it too"
            self._disagree(Disagreement(voter, seen, expected, found, known.where))
        self._agree(epoch, entry, voter)

    def _agree(self, epoch: int, entry: Epoch, voter: int) -> None:
        vote, grant = entry.votes.get(voter), entry.grants.get(voter)
        if vote is None or grant is None or vote.value == grant.value:
            return
        expected = f"a grant of node {voter} for {vote.value} in epoch {epoch}, as its own log has it"
        found = f"candidate {grant.value} counts its grant"
        self._disagree(Disagreement(voter, grant, expected, found, vote.where))
        del entry.grants[voter]
        self._votes -= 1

    def _disagree(self, one: Disagreement) -> None:
        if len(self.disagreements) < self.findings.kept:
            self.disagreements.append(one)
        else:
            self._more[one.voter] += 1

    def starts(self, epoch: int, seen: Seen) -> None:
        """The log of the leader of ``epoch`` ended at ``seen.value`` when it was elected."""
        entry = self._epoch(epoch)
        if entry.start is None:
            entry.start = seen

    def high_watermark(self, epoch: int, seen: Seen) -> None:
        """A node in ``epoch`` knows the high watermark ``seen.value``."""
        entry = self._epoch(epoch)
        known = entry.high
        # Of nodes that know the same, the smallest id: files may be read in any order, or side by side.
        if known is None or (seen.value, -seen.node) > (known.value, -known.node):
            entry.high = seen

    def committed_set(self, offset: int, voters: frozenset[Key], seen: Seen) -> None:
        """The voter set at ``offset`` is committed, by ``seen.node``."""
        known = self._sets.get(offset)
        if known is None:
            if len(self._sets) < SETS_KEPT:
                self._sets[offset] = (voters, seen)
        elif known[0] != voters:
            self.findings.problem(
                "CommittedSurvivesVoterChanges",
                seen.node,
                seen.where,
                seen.time,
                f"at offset {offset} the voters {listed(known[0])}, as on node {known[1].node}",
                f"the voters {listed(voters)}",
                known[1].where,
                disorder=self.findings.disorder_at((seen.node, seen.time), (known[1].node, known[1].time)),
            )

    def finish(self) -> None:
        """Report votes that disagree, and compare each leader's log with the records committed before."""
        for one in self.disagreements:
            if one.voter not in self._wiped:
                seen, facts = one.seen, (one.expected, one.found, one.earlier)
                self.findings.problem("votes-agree", seen.node, seen.where, seen.time, *facts)
        for voter, count in self._more.items():
            if voter not in self._wiped:
                self.findings.problem_counts["votes-agree"] += count
        self.disagreements.clear()
        self._more.clear()
        high = self._floor
        for number in sorted(self.epochs):
            entry = self.epochs[number]
            if entry.start is not None and high is not None:
                check_complete(number, entry.start, high, self.findings)
            if entry.high is not None and (high is None or entry.high.value > high.value):
                high = entry.high


def check_complete(epoch: int, start: Seen, high: Seen, findings: Problems) -> None:
    """Judge that the leader of ``epoch`` starts at or after the ``high`` watermark of smaller epochs."""
    if start.value < high.value:
        findings.problem(
            "LeaderCompleteness",
            start.node,
            start.where,
            start.time,
            f"a log that ends at {high.value} or later, committed before on node {high.node}",
            f"epoch {epoch} starts at {start.value}",
            high.where,
            disorder=findings.disorder_at((start.node, start.time), (high.node, high.time)),
        )
