"""The log of a process, as far as a source shows it: high watermark, end, voter sets, versions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from kraftcheck.evidence.history.facts import (
    Appended,
    HighWatermark,
    Key,
    Place,
    Report,
    State,
    Violation,
    listed,
)

#: Voter sets and versions kept by offset; the oldest are dropped. Only one can be uncommitted (VSET-7).
_ENTRIES_KEPT: Final = 16


@dataclass(frozen=True, slots=True)
class Entry:
    """A voter set read at ``offset``."""

    offset: int
    voters: frozenset[Key]
    where: Place


@dataclass(slots=True)
class Progress:
    """The log of one process, as far as its lines show it. Offsets are those of the metadata log."""

    high: int | None = None
    high_where: Place | None = None
    own_high: bool = False
    """The node leads, and its high watermark is known in this leadership."""
    end: int | None = None
    end_epoch: int | None = None
    end_where: Place | None = None
    """Known only where appends are logged (TRACE)."""
    fetched: Place | None = None
    """A line that proves a successful fetch since the present state began."""
    sets: list[Entry] = field(default_factory=list)
    static: frozenset[Key] | None = None
    """The voters at the start, effective while no set has been read."""
    versions: list[tuple[int, int, Place]] = field(default_factory=list)
    published: int = 0
    """Sets before this place in ``sets`` are known to be committed, or no longer certain."""
    high_epoch: int | None = None
    """The epoch in which ``high`` was known; None if it is not certain."""
    doubt_high: bool = False
    doubt_sets: bool = False
    """Lines may be missing, so that the next value need not follow from the last."""

    def doubt(self) -> None:
        """Lines may be missing, and a restart or a truncation among them."""
        self.end = self.end_epoch = self.fetched = self.high_epoch = None
        self.own_high = self.doubt_high = self.doubt_sets = True
        self.published = len(self.sets)

    @property
    def voters(self) -> frozenset[Key] | None:
        """The effective voter set; None if no line shows one."""
        return self.sets[-1].voters if self.sets else self.static

    # --- high watermark -----------------------------------------------------------------------------------

    def raise_high(self, offset: int, epoch: int | None, where: Place, report: Report) -> None:
        """The high watermark is ``offset``, known in ``epoch``."""
        if self.high is not None and offset < self.high and not self.doubt_high:
            expected = f"a high watermark of {self.high} or larger"
            report(Violation("HighWatermarkMonotone", expected, str(offset), self.high_where))
        if self.end is not None and offset > self.end:
            expected = f"a high watermark within the log, which ends at {self.end}"
            report(Violation("StateMachineSafety", expected, str(offset), self.end_where))
            self.end = self.end_epoch = None
        self.high, self.high_where, self.high_epoch = offset, where, epoch
        self.doubt_high = False

    def high_watermark(self, fact: HighWatermark, state: State | None, where: Place, report: Report) -> None:
        """A line on the high watermark, of the node in ``state``."""
        if fact.previous is not None and fact.offset < fact.previous:
            expected = f"a high watermark of {fact.previous} or larger"
            report(Violation("HighWatermarkMonotone", expected, str(fact.offset), where))
        if fact.ends is not None:
            _check_majority(fact.offset, fact.ends, report)
        self.raise_high(fact.offset, fact.epoch if state is None else state.epoch, where, report)
        if state is None:
            return
        if state.role == "Leader":
            start = state.epoch_start
            if not self.own_high and start is not None and fact.offset <= start:
                expected = f"a first high watermark above {start}, where epoch {state.epoch} starts"
                report(Violation("CommitNeedsOwnEpoch", expected, str(fact.offset)))
            self.own_high = True
        elif state.role == "Follower":
            self.fetched = where

    # --- the log's end ------------------------------------------------------------------------------------

    def append(self, fact: Appended, state: State | None, where: Place, report: Report) -> None:
        """Records were appended."""
        if fact.base is not None:
            self._check_leader_append(fact, fact.base, state, report)
        else:
            self.fetched = where
        if self.end is not None and fact.offset <= self.end:
            expected = f"an end after {self.end}"
            report(Violation("log-end", expected, str(fact.offset), self.end_where))
        if self.end_epoch is not None and fact.epoch < self.end_epoch:
            expected = f"a last record of epoch {self.end_epoch} or larger"
            report(Violation("LogEpochsMonotone", expected, f"epoch {fact.epoch}", self.end_where))
        if state is not None and fact.epoch > state.epoch:
            expected = f"records of epoch {state.epoch} or smaller"
            report(Violation("LogEpochsMonotone", expected, f"epoch {fact.epoch}"))
        self.end, self.end_epoch, self.end_where = fact.offset, fact.epoch, where

    def _check_leader_append(self, fact: Appended, base: int, state: State | None, report: Report) -> None:
        if state is not None and (state.role != "Leader" or state.epoch != fact.epoch):
            expected = f"appends by the leader of epoch {fact.epoch} only"
            report(Violation("log-end", expected, str(state)))
        if self.end is not None and base != self.end:
            expected = f"an append at {self.end}, the end of the log"
            report(Violation("log-end", expected, f"at {base}", self.end_where))

    def lead(self, state: State, where: Place, report: Report) -> None:
        """The node became Leader."""
        start = state.epoch_start
        self.own_high = False
        if start is None:
            return
        if self.end is not None and self.end != start:
            expected = f"an epoch that starts at {self.end}, the end of the log"
            report(Violation("log-end", expected, str(start), self.end_where))

    def truncate(self, offset: int, where: Place, report: Report) -> None:
        """The log now ends at ``offset``; voter sets at or after it are void (VSET-5)."""
        if self.high is not None and offset < self.high and not self.doubt_high:
            expected = f"no truncation below the high watermark {self.high}"
            report(
                Violation(
                    "NoTruncationBelowHighWatermark",
                    expected,
                    f"truncated to {offset}",
                    self.high_where,
                )
            )
        if self.end is not None:
            self.end, self.end_epoch, self.end_where = offset, None, where
        self.fetched = where
        self._drop_sets(offset)
        self.versions = [entry for entry in self.versions if entry[0] < offset]

    def _drop_sets(self, offset: int) -> None:
        self.sets = [entry for entry in self.sets if entry.offset < offset]
        self.published = min(self.published, len(self.sets))

    def load_snapshot(
        self, offset: int, epoch: int, state: State | None, where: Place, report: Report
    ) -> None:
        """The log was replaced by a snapshot that ends at ``offset``."""
        if self.end is not None:
            self.end, self.end_epoch, self.end_where = offset, epoch, where
        self.raise_high(offset, None if state is None else state.epoch, where, report)
        self.fetched = where

    def forget_sets(self) -> None:
        """A snapshot is read: it replaces the known voter sets (VSET-6)."""
        self.sets, self.versions, self.published, self.doubt_sets = [], [], 0, False

    # --- voter sets and versions --------------------------------------------------------------------------

    def read_voters(
        self, offset: int, voters: frozenset[Key], state: State | None, where: Place, report: Report
    ) -> None:
        """A voter set was read from the log at ``offset``."""
        if self.doubt_sets:
            self._drop_sets(offset)
        elif self.sets:
            last = self.sets[-1]
            if offset <= last.offset:
                expected = f"a voter set after offset {last.offset}"
                report(Violation("voter-set-order", expected, f"at {offset}", last.where))
                self._drop_sets(offset)
            else:
                check_step(last.voters, voters, last.where, report)
            self._check_own_epoch(offset, state, last, report)
        self.doubt_sets = False
        self.sets.append(Entry(offset, voters, where))
        if len(self.sets) > _ENTRIES_KEPT:
            del self.sets[0]
            self.published = max(0, self.published - 1)

    def _check_own_epoch(self, offset: int, state: State | None, last: Entry, report: Report) -> None:
        """The first batch of an epoch may hold a set (the leader's own entry); later ones need a commit."""
        if state is None or state.role != "Leader" or state.epoch_start is None:
            return
        if offset > state.epoch_start + 2 and not self.own_high and all(key.directory for key in last.voters):
            expected = f"a commit in epoch {state.epoch} before the voters change"
            report(
                Violation(
                    "VoterChangeNeedsOwnEpochCommit", expected, f"voters changed at {offset}", last.where
                )
            )

    def newly_committed(self) -> list[Entry]:
        """Voter sets below the high watermark that were not returned before."""
        found = []
        while self.published < len(self.sets) and self.high is not None:
            entry = self.sets[self.published]
            if entry.offset >= self.high:
                break
            found.append(entry)
            self.published += 1
        return found

    def read_version(self, offset: int, version: int, where: Place, report: Report) -> None:
        """kraft.version was read from the log at ``offset``."""
        if self.versions and version < self.versions[-1][1] and not self.doubt_sets:
            expected = f"kraft.version {self.versions[-1][1]} or larger"
            report(Violation("KRaftVersionMonotone", expected, str(version), self.versions[-1][2]))
        self.versions.append((offset, version, where))
        del self.versions[:-_ENTRIES_KEPT]


def check_step(old: frozenset[Key], new: frozenset[Key], earlier: Place | None, report: Report) -> None:
    """Judge that neighbouring voter sets of a log differ by one voter."""
    if not one_step(old, new):
        expected = f"the voters {listed(old)}, at most one removed and one added"
        report(Violation("OneVoterChangeAtATime", expected, listed(new), earlier))


def one_step(old: frozenset[Key], new: frozenset[Key]) -> bool:
    """Whether at most one voter was added and at most one removed (VSET-7).

    A voter without directory id is the one with the same id that has one: kraft.version 0 knows no
    directories.
    """
    bare = {key.id for key in old if key.directory is None}
    old = frozenset(Key(key.id, None) if key.id in bare else key for key in old)
    new = frozenset(Key(key.id, None) if key.id in bare else key for key in new)
    return len(old - new) <= 1 and len(new - old) <= 1


def _check_majority(offset: int, ends: tuple[int | None, ...], report: Report) -> None:
    reached = sum(1 for end in ends if end is not None and end >= offset)
    needed = len(ends) // 2 + 1
    if reached < needed:
        expected = f"{needed} of {len(ends)} voters with a log that ends at {offset} or later"
        report(Violation("HighWatermarkOnMajority", expected, f"{reached} of them"))
