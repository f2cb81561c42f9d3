"""Facts about replicas, as far as a source shows them, and violations of properties."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Literal, NamedTuple, Protocol


class NotShown(Enum):
    """The value of a field that the source does not show."""

    NOT_SHOWN = "not shown"


NOT_SHOWN: Final = NotShown.NOT_SHOWN
Hidden = Literal[NotShown.NOT_SHOWN]

#: Where a fact stands: a line of a log file, an event of a recording.
Place = Any


class Key(NamedTuple):
    """The name of a replica: its id and, where known, the directory id of its metadata log."""

    id: int
    directory: str | None

    def matches(self, other: Key) -> bool:
        """Whether both may name the same replica: equal ids, and equal directory ids where both are known."""
        if self.id != other.id:
            return False
        return self.directory is None or other.directory is None or self.directory == other.directory

    def __str__(self) -> str:
        return str(self.id) if self.directory is None else f"{self.id} ({self.directory})"


class State(Protocol):
    """A state of a replica, or the content of its quorum-state file, as far as a source shows it."""

    @property
    def role(self) -> str:
        """As in the specification: Unattached, Voted, Prospective, Candidate, Leader, Follower, Resigned."""

    @property
    def epoch(self) -> int:
        """The epoch."""

    @property
    def leader(self) -> int | Hidden | None:
        """The leader of the epoch that the replica knows; None: none."""

    @property
    def voted(self) -> Key | Hidden | None:
        """Its vote in the epoch; None: none."""

    @property
    def epoch_start(self) -> int | None:
        """Where the epoch of a leader starts in its log; None where that is not shown."""


class HighWatermark(NamedTuple):
    """A high watermark becomes known or moves to ``offset``."""

    offset: int
    epoch: int | None = None
    first: bool = False
    """The source says that it is the first one of the epoch."""
    previous: int | None = None
    ends: tuple[int | None, ...] | None = None
    """The end offsets of all voters that a leader computed it from, None for an unknown one."""


class VoteAnswer(NamedTuple):
    """The answer to a vote request of ``candidate``, whose log ends at ``last_offset`` in ``last_epoch``."""

    candidate: Key
    epoch: int
    last_epoch: int
    last_offset: int
    pre_vote: bool
    granted: bool
    cluster: bytes = b""
    """The id of the cluster; empty where it is not shown."""
    voter: str | None = None
    """The directory id that the request is for, where it names one."""


class Appended(NamedTuple):
    """Records were appended: the log ends at ``offset`` now, and its last record is of ``epoch``."""

    offset: int
    epoch: int
    base: int | None = None
    """Offset of the first record appended, where a leader appended; None: a follower did."""


class Violation(NamedTuple):
    """A contradiction to the check ``check``, which may violate further properties."""

    check: str
    """The name of a property of the specification, or of a check of rules. See `checks`."""
    expected: str
    found: str
    earlier: Place | None = None
    """The fact that this one contradicts."""
    cites: tuple[str, ...] = ()
    """Rules in addition to those of the check."""
    also: tuple[str, ...] = ()
    """Further properties that the same contradiction violates."""
    others: tuple[int, ...] = ()
    """Further replicas involved."""


Report = Callable[[Violation], None]


def listed(keys: Any) -> str:
    """``1, 2, 3``, with directory ids; ``none`` for an empty set."""
    return (
        ", ".join(str(key) for key in sorted(keys, key=lambda key: (key.id, key.directory or ""))) or "none"
    )
