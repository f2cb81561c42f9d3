"""The facts that bind a replica, restarts included: its epoch, and its vote and leader in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kraftcheck.evidence.history.facts import NOT_SHOWN, Hidden, Key, Place, Report, State, Violation

#: Roles in which a replica that has led the epoch must not be found again in it.
_TAKING_PART: Final = frozenset({"Unattached", "Voted", "Candidate", "Follower"})


@dataclass(slots=True)
class Memory:
    """The largest epoch of a replica so far, and its vote, leader and leadership in it."""

    node: int
    vote_until_leader: bool = False
    """The release keeps a vote only until it learns the leader of that epoch."""
    epoch: int = -1
    epoch_where: Place | None = None
    voted: Key | None = None
    voted_where: Place | None = None
    vote_may_go: bool = False
    """The vote need not be kept: the node led the epoch, or the release does not store it with a leader."""
    leader: int | None = None
    leader_where: Place | None = None
    led: Place | None = None
    left: bool = False
    """The node has led the epoch and left that state."""

    def forget(self) -> None:
        """The disk is new: nothing binds the node any more."""
        self._begin(-1, None)

    def _begin(self, epoch: int, where: Place | None) -> None:
        self.epoch, self.epoch_where = epoch, where
        self.voted = self.voted_where = self.leader = self.leader_where = self.led = None
        self.vote_may_go = self.left = False

    def doubt(self) -> None:
        """Lines may be missing: the node may have led the epoch meanwhile."""
        self.vote_may_go = True

    def restarted(self) -> None:
        """The process is another one."""
        self.left = self.led is not None

    # --- facts --------------------------------------------------------------------------------------------

    def observe(self, state: State, where: Place, report: Report) -> None:
        """Compare ``state`` with the known facts, report contradictions, and go on from ``state``."""
        self._reach(state.epoch, where, report)
        self._observe_led(state, where, report)
        if state.role in ("Leader", "Resigned") or (state.role == "Follower" and state.voted is NOT_SHOWN):
            self.vote_may_go = True
        self._learn(state.leader)
        self._observe_vote(state.voted, where, report)
        if state.role == "Follower" and state.leader == self.node:
            found = f"node {self.node} follows itself"
            report(Violation("ResignedLeavesItsEpoch", "another leader", found))
        self._observe_leader(state.leader, where, report)

    def stored(self, epoch: int, leader: int | None, voted: Key | None, where: Place, report: Report) -> None:
        """The quorum-state file holds this."""
        self._reach(epoch, where, report)
        self.vote_may_go = self.vote_may_go or leader == self.node
        self._learn(leader)
        self._observe_vote(voted, where, report)
        self._observe_leader(leader, where, report)

    def voted_for(self, candidate: Key, epoch: int, where: Place, report: Report) -> None:
        """The replica let others know that it votes for ``candidate`` in ``epoch``."""
        if epoch < self.epoch:
            return
        if epoch > self.epoch:
            self._begin(epoch, where)
        if self.voted is not None and not self.voted.matches(candidate):
            self._report_second_vote(candidate, report)
        elif self.led is not None and candidate.id != self.node:
            expected = f"no vote in epoch {epoch}, which it has led"
            found = f"a vote for {candidate}"
            others = (candidate.id,)
            report(Violation("NoReturnAfterLeading", expected, found, self.led, others=others))
        elif self.voted is None:
            self.voted, self.voted_where = candidate, where

    def _learn(self, leader: int | Hidden | None) -> None:
        """A replica that knows the leader votes for nobody, so it may forget its vote (Kafka 3.9:
        FollowerState.election, UnattachedState.canGrantVote).
        """
        self.vote_may_go = self.vote_may_go or (self.vote_until_leader and isinstance(leader, int))

    # --- checks -------------------------------------------------------------------------------------------

    def _reach(self, epoch: int, where: Place, report: Report) -> None:
        if epoch < self.epoch:
            expected = f"epoch {self.epoch} or larger"
            report(Violation("EpochMonotone", expected, f"epoch {epoch}", self.epoch_where))
        if epoch != self.epoch:
            self._begin(epoch, where)

    def _observe_led(self, state: State, where: Place, report: Report) -> None:
        if state.role == "Leader":
            if self.left:
                expected = f"no second leadership of epoch {state.epoch}"
                also = ("NoReturnAfterLeading",)
                report(Violation("no-return", expected, "Leader again", self.led, also=also))
                self.left = False
            self.led = self.led or where
        elif state.role == "Resigned":
            self.led, self.left = self.led or where, True
        elif self.led is not None:
            if state.role in _TAKING_PART:
                expected = f"Resigned or a larger epoch, after leading epoch {state.epoch}"
                report(Violation("no-return", expected, str(state), self.led))
                self.led = None
            self.left = self.led is not None

    def _observe_vote(self, voted: Key | Hidden | None, where: Place, report: Report) -> None:
        if voted is NOT_SHOWN:
            return
        if voted is None:
            if self.voted is not None and not self.vote_may_go:
                expected = f"the vote for {self.voted} in epoch {self.epoch}"
                report(Violation("VoteKeptWithinEpoch", expected, "no vote", self.voted_where))
                self.voted = None
            return
        if self.voted is not None and not self.voted.matches(voted):
            self._report_second_vote(voted, report, "VoteKeptWithinEpoch")
        if self.voted is None or not self.voted.matches(voted):
            self.voted, self.voted_where = voted, where

    def _report_second_vote(self, voted: Key, report: Report, *also: str) -> None:
        assert self.voted is not None
        own = ("SelfVoteSurvivesRestart",) if self.voted.id == self.node else ()
        expected = f"the vote for {self.voted} in epoch {self.epoch}"
        found = f"a vote for {voted}"
        others = () if voted.id == self.node else (voted.id,)
        violation = Violation(
            "VotedOncePerEpoch", expected, found, self.voted_where, (), (*own, *also), others
        )
        report(violation)

    def _observe_leader(self, leader: int | Hidden | None, where: Place, report: Report) -> None:
        if not isinstance(leader, int):
            return
        if self.leader is not None and self.leader != leader:
            expected = f"leader {self.leader} of epoch {self.epoch}"
            report(Violation("SingleKnownLeaderPerEpoch", expected, f"leader {leader}", self.leader_where))
        if self.leader != leader:
            self.leader, self.leader_where = leader, where
