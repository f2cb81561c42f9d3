"""Logs as chains of batches that share their common prefixes, so that comparing two logs is cheap.

A :class:`Link` stands for a batch and everything before it: two logs are equal up to a batch exactly if
they hold the same link object there. Every batch that ever was in a log of the run is kept once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kraftcheck.evidence.history.facts import Key


class Batch(NamedTuple):
    """Records in a log: offsets [base, end), their epoch, the records as shown, and the last voter set among
    them; ``None``: they hold none.
    """

    base: int
    end: int
    epoch: int
    records: Any
    voters: tuple[Key, ...] | None = None


@dataclass(slots=True, eq=False)
class Link:
    """A batch in a log: offsets [base, end), its epoch, its records as recorded, and the log before it.

    voters: the effective voter set behind it, committed or not; ``None``: no batch so far names one.
    suspect: something in this prefix was reported, so that later batches do not report it again.
    """

    base: int
    end: int
    epoch: int
    records: Any
    before: Link | None
    voters: tuple[Key, ...] | None
    suspect: bool = False
    after: list[Link] = field(default_factory=list)

    def at(self, offset: int) -> Link:
        """The log up to ``offset``: its last batch that ends there or before."""
        link: Link = self
        while link.end > offset and link.before is not None:
            link = link.before
        return link

    def holds(self, other: Link) -> bool:
        """Whether ``other`` is a prefix of this log."""
        return self.at(other.end) is other

    def common(self, other: Link) -> Link:
        """The longest common prefix of two logs."""
        one: Link = self
        two: Link | None = other
        while two is not None:
            one = one.at(two.end)
            if one is two or one.before is None:
                break
            two = two.before
        return one


@dataclass(slots=True)
class Appended:
    """A batch after an append; ``twin``: a batch of the same last offset and epoch that stands elsewhere or
    holds other records, where there is one.
    """

    link: Link
    twin: Link | None = None


class Forest:
    """All logs of a run."""

    def __init__(self) -> None:
        self.root = Link(0, 0, 0, None, None, None)
        self._known: dict[tuple[int, int], Link] = {}

    def append(self, log: Link, batch: Batch) -> Appended:
        """``log`` with one more batch."""
        for link in log.after:
            if (link.base, link.end, link.epoch) == batch[:3] and link.records == batch.records:
                return Appended(link)
        voters = log.voters if batch.voters is None else batch.voters
        link = Link(batch.base, batch.end, batch.epoch, batch.records, log, voters, log.suspect)
        log.after.append(link)
        twin = self._known.setdefault((batch.end, batch.epoch), link)
        return Appended(link, None if twin is link else twin)

    def find(self, end: int, epoch: int) -> Link | None:
        """The log whose last batch ends at ``end`` and has ``epoch``; the first seen where there are two."""
        return self._known.get((end, epoch)) if end else self.root

    def unseen(self, end: int, epoch: int) -> Link:
        """A log that ends at ``end`` and whose content the recording does not show."""
        return Link(end, end, epoch, None, self.root, None, suspect=True)
