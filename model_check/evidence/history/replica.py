"""A replica as a recording of a whole cluster shows it: its whole state after every step, and its log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kraftcheck.evidence.history.chain import Link
from kraftcheck.evidence.history.facts import Key, Place
from kraftcheck.evidence.history.memory import Memory
from kraftcheck.evidence.history.progress import Progress


class WholeState(NamedTuple):
    """The state of a replica after a step; ``None``: the replica does not know the value."""

    role: str
    epoch: int
    leader: int | None
    voted: Key | None
    end: int
    """The log end offset."""
    last_epoch: int
    high_watermark: int | None
    log_start: int
    snapshot: tuple[int, int] | None
    """End offset and epoch of the latest snapshot."""
    voters: tuple[Key, ...]
    kraft_version: int
    is_voter: bool
    progress: dict[str, list[int]]
    """Of a leader: end offset, time of the last fetch, time of being caught up, by replica id."""
    timers: dict[str, Any]
    shown: dict[str, Any]
    """The state as recorded."""
    epoch_start: int | None = None
    """Not needed: the records themselves show it."""

    def __str__(self) -> str:
        return f"{self.role}, epoch {self.epoch}"


class Stored(NamedTuple):
    """The content of a quorum-state file."""

    epoch: int
    leader: int | None
    voted: Key | None


@dataclass(slots=True)
class Replica:
    """A replica and its history so far. A wiped disk makes another one of the same id."""

    key: Key
    log: Link
    vote_until_leader: bool = False
    """Whether it keeps a vote only until it learns the leader of that epoch."""
    flushed: int = 0
    """The offset below which the log was written to disk."""
    file: Stored | None = None
    file_shown: Any = None
    """The quorum-state file as recorded."""
    state: WholeState | None = None
    """After its last step; ``None`` while no process runs."""
    known_high_watermark: int = 0
    """The largest one that the process has had."""
    memory: Memory = field(init=False)
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self.memory = Memory(self.id, self.vote_until_leader)

    @property
    def id(self) -> int:
        return self.key.id

    def starts(self) -> None:
        """A process starts."""
        self.state, self.known_high_watermark = None, 0
        self.progress = Progress()
        self.memory.restarted()

    def moves_to(self, log: Link, where: Place) -> None:
        """The log is this one now."""
        self.log = log
        self.progress.end, self.progress.end_epoch, self.progress.end_where = log.end, log.epoch, where


def is_majority(voters: tuple[Key, ...], holders: list[Key]) -> bool:
    """Whether ``holders`` are more than half of ``voters``."""
    return 2 * sum(any(voter.matches(holder) for holder in holders) for voter in voters) > len(voters)
