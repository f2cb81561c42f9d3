"""Made-up histories of one node, legal in a given release, and their log lines: for measurements, tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kraftcheck.evidence.logs.releases import tables_of
from tests.laboratory.logs.render import Drawn, offset_text, record, replica_state, transition_messages


@dataclass(slots=True)
class Walk:
    """A random legal history of one voter. ``choose`` takes one of several values."""

    node: int
    voters: tuple[int, ...]
    release: str
    choose: Callable[[Sequence[Any]], Any]
    leaders: dict[int, int] = field(default_factory=dict)
    """Epoch → leader, so that the node never knows two."""
    table: str = ""
    end: int = 0

    def __post_init__(self) -> None:
        self.table = tables_of(frozenset({self.release}))[0]

    def start(self) -> Drawn:
        """The first state of a node with an empty disk."""
        return self._make("Unattached", 0)

    def following(self, state: Drawn) -> Drawn:
        """A state that may follow ``state``."""
        steps: dict[str, list[Callable[[Drawn], Drawn | None]]] = {
            "Unattached": [self._vote, self._campaign, self._learn],
            "Voted": [self._campaign, self._learn],
            "Prospective": [self._vote, self._candidate, self._lose, self._learn],
            "Candidate": [self._win, self._campaign, self._learn],
            "Leader": [self._resign] * 2,
            "Follower": [self._campaign] * 2,
            "Resigned": [self._leave],
        }
        found = self.choose([self._hop, self._follow_later, *steps[state.role]])(state)
        return found if found is not None else self._make("Unattached", state.epoch + 1, high=state.high)

    def _hop(self, state: Drawn) -> Drawn:
        return self._make("Unattached", state.epoch + self.choose((1, 2)), high=state.high)

    def _follow_later(self, state: Drawn) -> Drawn | None:
        return self._follow(state, state.epoch + self.choose((1, 2)))

    def _make(
        self,
        role: str,
        epoch: int,
        leader: int | None = None,
        voted: int | None = None,
        high: int | None = None,
        granted: frozenset[int] = frozenset(),
    ) -> Drawn:
        shown = None if role in ("Leader", "Resigned") else high
        timeout = self.choose((1000, 1234, 1999, 2000))
        return Drawn(role, self.node, epoch, self.voters, leader, voted, shown, timeout, self.end, granted)

    def _others(self) -> list[int]:
        return [one for one in self.voters if one != self.node]

    def _leader_of(self, epoch: int) -> int | None:
        leader = self.leaders.setdefault(epoch, self.choose(self._others()))
        return None if leader == self.node else leader

    def _follow(self, state: Drawn, epoch: int) -> Drawn | None:
        leader = self._leader_of(epoch)
        voted = state.voted if epoch == state.epoch else None
        return None if leader is None else self._make("Follower", epoch, leader, voted, state.high)

    def _learn(self, state: Drawn) -> Drawn | None:
        return self._follow(state, state.epoch)

    def _vote(self, state: Drawn) -> Drawn | None:
        if state.voted is not None or state.leader is not None or state.epoch == 0:
            return None
        role = "Voted" if self.table == "pre996-voted" else state.role
        granted = frozenset({self.node}) if role == "Prospective" else frozenset()
        return self._make(role, state.epoch, None, self.choose(self._others()), state.high, granted)

    def _campaign(self, state: Drawn) -> Drawn:
        if self.table != "kip996":
            return self._candidate(state)
        granted = frozenset({self.node})
        return self._make("Prospective", state.epoch, state.leader, state.voted, state.high, granted)

    def _candidate(self, state: Drawn) -> Drawn:
        granted = frozenset({self.node})
        return self._make("Candidate", state.epoch + 1, None, self.node, state.high, granted)

    def _lose(self, state: Drawn) -> Drawn | None:
        if state.leader is not None:
            return self._follow(state, state.epoch)
        return self._make("Unattached", state.epoch, None, state.voted, state.high)

    def _win(self, state: Drawn) -> Drawn | None:
        if self.leaders.setdefault(state.epoch, self.node) != self.node:
            return None
        return self._make("Leader", state.epoch, self.node)

    def _resign(self, state: Drawn) -> Drawn:
        return self._make("Resigned", state.epoch, self.node)

    def _leave(self, state: Drawn) -> Drawn:
        if self.table == "kip996":
            return self._make("Unattached", state.epoch + 1)
        return self._candidate(state)


@dataclass(frozen=True, slots=True)
class Step:
    """A change and its lines. ``highs`` are the high watermarks that follow it."""

    state: Drawn
    lines: tuple[str, ...]
    highs: tuple[int, ...] = ()


def history(walk: Walk, steps: int, times: Iterator[str], moves: Sequence[int] = (0, 1, 2)) -> Iterator[Step]:
    """``steps`` changes from an empty disk, with the lines a node at INFO and DEBUG writes of them.

    The high watermark moves so often in a state as one of ``moves`` says.
    """
    old: Drawn | None = None
    high: int | None = None
    for _ in range(steps):
        new = walk.start() if old is None else walk.following(old)
        shown = None if old is None else _winning(old, new)
        lines = [
            record(next(times), walk.node, message, walk.release, "QuorumState")
            for message in transition_messages(new, shown, walk.release)
        ]
        highs: list[int] = []
        if new.role in ("Leader", "Follower"):
            for _ in range(walk.choose(moves)):
                walk.end = max(walk.end, high or 0) + walk.choose((1, 2, 7))
                high = walk.end
                lines += _high_lines(walk, new, high, next(times), first=not highs)
                highs.append(high)
        yield Step(new, tuple(lines), tuple(highs))
        old = new.with_high(highs[-1]) if highs else new


def _winning(old: Drawn, new: Drawn) -> Drawn:
    """``old`` as it stood at the change: with the grants that an election is won by."""
    won = (old.role, new.role) in (("Prospective", "Candidate"), ("Candidate", "Leader"))
    if not won:
        return old
    granted = frozenset(old.voters)
    return replace(old, granted=granted)


def _high_lines(walk: Walk, state: Drawn, high: int, time: str, *, first: bool) -> list[str]:
    if state.role == "Follower":
        level, message = "DEBUG", f"Follower high watermark updated to {high}"
        lines = []
        if first and state.high is None:
            text = f"High watermark set to Optional[{offset_text(high)}] for the first time"
            text += f" for epoch {state.epoch}"
            lines.append(record(time, walk.node, text, walk.release, "FollowerState"))
        return [*lines, record(time, walk.node, message, walk.release, "KafkaRaftClient", level)]
    voters = ", ".join(replica_state(one, high, 12) for one in state.voters)
    how = f"for the first time for epoch {state.epoch}" if first else f"from {offset_text(high - 1)}"
    text = f"High watermark set to {offset_text(high)} {how} based on indexOfHw 1 and voters [{voters}]"
    return [record(time, walk.node, text, walk.release, "LeaderState", "INFO" if first else "DEBUG")]


def clock(start: int = 0) -> Iterator[str]:
    """Times as log4j prints them, a few ms apart."""
    now = start
    while True:
        seconds, ms = divmod(now, 1000)
        minutes, second = divmod(seconds, 60)
        hours, minute = divmod(minutes, 60)
        days, hour = divmod(hours, 24)
        yield f"2026-{1 + days // 28 % 12:02}-{1 + days % 28:02} {hour:02}:{minute:02}:{second:02},{ms:03}"
        now += 7
