"""The history of a node: its steps, and counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kraftcheck.evidence.history.facts import Key, VoteAnswer
from kraftcheck.evidence.logs.findings import Where
from kraftcheck.evidence.logs.releases import Releases
from kraftcheck.evidence.logs.states import LoggedState

#: Spans of releases kept for a node's summary; a rolling upgrade takes two.
_SPANS_KEPT: Final = 16

#: Lines of one ms that are remembered.
_HASHES_KEPT: Final = 200


class HistoryEntry(NamedTuple):
    """One step of a node's history, and its knowledge afterwards."""

    node: int
    process: int
    """Number of the process within the node's logs, from 1; 0 where the logs begin within a process."""
    what: str
    """start, transition, attempt, interrupted, high watermark, voters, version, truncation, snapshot, append,
    vote granted, vote rejected, pre-vote granted, pre-vote rejected, fatal, end; or why the next transition
    happens, in the words of ``messages.toml``.
    """
    where: Where
    time: str
    offset: int | None
    """The offset that the line is about: high watermark, end of an append, truncation or snapshot."""
    state: LoggedState | None
    high_watermark: int | None
    log_end: int | None
    voters: tuple[Key, ...] | None
    voters_offset: int | None
    version: int | None
    vote: VoteAnswer | None = None
    """The vote request that was answered."""
    left: LoggedState | None = None
    """The state that a transition left."""


@dataclass(slots=True)
class Summary:
    """Counts of one node."""

    lines: int = 0
    """Lines that matter."""
    processes: int = 0
    transitions: int = 0
    elections: int = 0
    """Times it became Candidate."""
    leaderships: int = 0
    first_epoch: int | None = None
    last_epoch: int | None = None
    first_time: bytes = b""
    last_time: bytes = b""
    releases: list[Releases] = field(default_factory=list)
    last: LoggedState | None = None
    level: str = "INFO"
    """The most detailed log level of which a line was read."""

    def add_releases(self, found: Releases) -> None:
        """A process of ``found`` ended: a release span unless it is known more closely already."""
        if any(known <= found for known in self.releases):
            return
        self.releases = [known for known in self.releases if not found < known]
        if len(self.releases) < _SPANS_KEPT:
            self.releases.append(found)

    def count(self, new: LoggedState) -> None:
        """A transition to ``new`` was completed."""
        self.transitions += 1
        self.elections += new.role == "Candidate"
        self.leaderships += new.role == "Leader"
        self.first_epoch = new.epoch if self.first_epoch is None else self.first_epoch
        self.last_epoch = new.epoch
        self.last = new


@dataclass(slots=True)
class LastLines:
    """The time of a node's last line, and its lines of that time: the first and the hashes of the others."""

    time: bytes = b""
    line: bytes = b""
    hashes: tuple[int, ...] = ()
    latest: bytes = b""
    """The latest time of all lines."""

    def add(self, time: bytes, line: bytes) -> None:
        """A line was read."""
        if time != self.time:
            self.time, self.line, self.hashes = time, line, ()
        elif len(self.hashes) < _HASHES_KEPT:
            self.hashes = (*self.hashes, hash(line))

    def __contains__(self, line: bytes) -> bool:
        return line == self.line or hash(line) in self.hashes
