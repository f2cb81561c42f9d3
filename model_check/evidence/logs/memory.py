"""What a node must not contradict later, restarts included: its epoch, its vote and leader in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from kraftcheck.evidence.logs.checks import Where
from kraftcheck.evidence.logs.states import NOT_SHOWN, Key, LoggedState

#: Roles in which a replica that has led the epoch must not be found again in it.
_TAKING_PART: Final = frozenset({"Unattached", "Voted", "Candidate", "Follower"})


class Contradiction(NamedTuple):
    """Which check fails, what was expected and found, the earlier line, and rules beside the check's own."""

    check: str
    expected: str
    found: str
    earlier: Where | None
    cites: tuple[str, ...] = ()


@dataclass(slots=True)
class Memory:
    """The largest epoch of a node so far, and what is known of that epoch."""

    node: int
    epoch: int = -1
    epoch_where: Where | None = None
    voted: Key | None = None
    voted_where: Where | None = None
    vote_may_go: bool = False
    """The vote need not be kept: the node led the epoch, or the release does not store it with a leader."""
    leader: int | None = None
    leader_where: Where | None = None
    led: Where | None = None
    left: bool = False
    """The node has led the epoch and left that state."""

    def forget(self) -> None:
        """The disk is new: nothing binds the node any more."""
        self._begin(-1, None)

    def _begin(self, epoch: int, where: Where | None) -> None:
        self.epoch, self.epoch_where = epoch, where
        self.voted = self.voted_where = self.leader = self.leader_where = self.led = None
        self.vote_may_go = self.left = False

    def doubt(self) -> None:
        """Lines may be missing: the node may have led the epoch meanwhile."""
        self.vote_may_go = True

    def restarted(self) -> None:
        """The process is another one."""
        self.left = self.led is not None

    def observe(self, state: LoggedState, where: Where, report: Callable[[Contradiction], None]) -> None:
        """Hold ``state`` against what is known, report what contradicts it, and go on from ``state``."""
        if state.epoch < self.epoch:
            expected = f"epoch {self.epoch} or larger"
            report(Contradiction("epoch-monotone", expected, f"epoch {state.epoch}", self.epoch_where))
        if state.epoch != self.epoch:
            self._begin(state.epoch, where)
        self._observe_led(state, where, report)
        self._observe_vote(state, where, report)
        self._observe_leader(state, where, report)

    def _observe_led(self, state: LoggedState, where: Where, report: Callable[[Contradiction], None]) -> None:
        if state.role == "Leader":
            if self.left:
                expected = f"no second leadership of epoch {state.epoch}"
                report(Contradiction("no-return", expected, "Leader again", self.led))
                self.left = False
            self.led = self.led or where
        elif state.role == "Resigned":
            self.led, self.left = self.led or where, True
        elif self.led is not None:
            if state.role in _TAKING_PART:
                expected = f"Resigned or a larger epoch, after leading epoch {state.epoch}"
                report(Contradiction("no-return", expected, str(state), self.led))
                self.led = None
            self.left = self.led is not None

    def _observe_vote(
        self, state: LoggedState, where: Where, report: Callable[[Contradiction], None]
    ) -> None:
        if state.role in ("Leader", "Resigned") or (state.role == "Follower" and state.voted is NOT_SHOWN):
            self.vote_may_go = True
        voted = state.voted
        if voted is NOT_SHOWN:
            return
        if voted is None:
            if self.voted is not None and not self.vote_may_go:
                expected = f"the vote for {self.voted} in epoch {self.epoch}"
                report(Contradiction("vote-kept", expected, "no vote", self.voted_where))
                self.voted = None
            return
        if self.voted is not None and not self.voted.matches(voted):
            expected = f"the vote for {self.voted} in epoch {self.epoch}"
            report(Contradiction("one-vote", expected, f"a vote for {voted}", self.voted_where))
        if self.voted is None or not self.voted.matches(voted):
            self.voted, self.voted_where = voted, where

    def _observe_leader(
        self, state: LoggedState, where: Where, report: Callable[[Contradiction], None]
    ) -> None:
        if state.leader is NOT_SHOWN or state.leader is None:
            return
        if state.role == "Follower" and state.leader == self.node:
            report(Contradiction("own-leader", "another leader", f"node {self.node} follows itself", None))
        if self.leader is not None and self.leader != state.leader:
            expected = f"leader {self.leader} of epoch {self.epoch}"
            report(Contradiction("one-leader", expected, f"leader {state.leader}", self.leader_where))
        if self.leader != state.leader:
            self.leader, self.leader_where = state.leader, where
