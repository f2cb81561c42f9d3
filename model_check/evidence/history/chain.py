"""Logs as chains of batches that share their common prefixes, so that comparing two logs is cheap.

A :class:`Link` stands for a batch and everything before it: two logs are equal up to a batch exactly if
they hold the same link object there. Every batch that ever was in a log of the run is kept once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.evidence.recordings.properties.view import NO_DIRECTORY, Key
from kraftcheck.support.errors import InputError


@dataclass(slots=True, eq=False)
class Link:
    """A batch in a log: offsets [base, end), its epoch, its records as recorded, and the log before it.

    voters: the voter set in force behind it, committed or not; ``None``: no batch so far names one.
    suspect: something in this prefix was reported, so that what builds on it is not reported again.
    """

    base: int
    end: int
    epoch: int
    records: Json
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

    def append(self, log: Link, batch: Fields) -> Appended:
        """``log`` with one more batch, shown as base, last, epoch and records."""
        values = batch.values
        end, epoch, records = batch.number("last") + 1, batch.number("epoch"), values.get("records")
        base = batch.number("base")
        for link in log.after:
            if link.end == end and link.epoch == epoch and link.base == base and link.records == records:
                return Appended(link)
        voters = voters_in(batch)
        link = Link(base, end, epoch, records, log, log.voters if voters is None else voters, log.suspect)
        log.after.append(link)
        twin = self._known.setdefault((end, epoch), link)
        return Appended(link, None if twin is link else twin)

    def find(self, end: int, epoch: int) -> Link | None:
        """The log whose last batch ends at ``end`` and has ``epoch``; the first seen where there are two."""
        return self._known.get((end, epoch)) if end else self.root

    def unseen(self, end: int, epoch: int) -> Link:
        """A log that ends at ``end`` and whose content the recording does not show."""
        return Link(end, end, epoch, None, self.root, None, suspect=True)


def voters_in(batch: Fields) -> tuple[Key, ...] | None:
    """The last voter set that a batch names; ``None``: none."""
    if not batch.flag("control", False):
        return None
    found: tuple[Key, ...] | None = None
    for record in batch.objects("records"):
        if record.values.get("type") == "KRAFT_VOTERS":
            found = tuple(
                (voter.number("voterId"), _directory(voter.text("voterDirectoryId", NO_DIRECTORY)))
                for voter in record.inner("value").objects("voters")
            )
    return found


def _directory(text: str) -> str:
    return "" if text == NO_DIRECTORY else text


def batch_shown(entry: Json, where: str) -> tuple[int, int]:
    """End and epoch of an entry of ``logBatches``. Raises InputError."""
    if not isinstance(entry, list) or [type(value) for value in entry[:3]] != [int, int, int]:
        raise InputError(f"{where}: field 'logBatches' must hold base, last, epoch and more.")
    return entry[1] + 1, entry[2]
