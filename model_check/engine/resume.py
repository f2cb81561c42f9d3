"""Writing the state of a search to a checkpoint, and continuing the search from there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kraftcheck.engine.block import BLOCK
from kraftcheck.engine.checkpoint import FORMAT, Checkpoint, Explored, Saved
from kraftcheck.engine.frontier import Frontier
from kraftcheck.engine.hashing import orbits
from kraftcheck.engine.steps import initial_states
from kraftcheck.engine.system import SymmetryError
from kraftcheck.engine.view import FINGERPRINT

if TYPE_CHECKING:
    from kraftcheck.engine.explorer import Search


@dataclass(frozen=True, slots=True)
class Complete:
    """The state of a search when its last level, ``frontier``, was complete: ``saved``, but for the digest of
    the tables, which then had these ``sizes``, and checksums.
    """

    frontier: Frontier
    sizes: tuple[int, ...]
    saved: Saved


def explored(search: Search) -> dict[str, Any]:
    """The fields of :class:`Explored`, except the digest of the tables and what they are stored for."""
    return {
        "levels": tuple(search.levels),
        "width": search.tables.width,
        "totals": replace(search.blocks.totals),
        "goals": tuple(sorted(search.blocks.goals)),
        "violations": tuple(search.origins.values()),
        "calls": search.tables.calls,
        "seconds": search.elapsed(),
    }


def complete(search: Search, frontier: Frontier, made_for: str) -> Complete:
    """The state of ``search``, whose last level is complete."""
    links, fingerprints = zip(*search.links.checksums, strict=True)
    saved = Saved(
        format=FORMAT,
        made_for=made_for,
        links=links,
        fingerprints=fingerprints,
        keys=len(search.tables.resolved),
        **explored(search),
    )
    return Complete(frontier, search.tables.columns.sizes(), saved)


def save(search: Search, checkpoint: Checkpoint, found: Complete) -> None:
    """Write to ``checkpoint`` the state of ``search`` when a level was complete."""
    level = len(found.saved.levels) - 1
    if checkpoint.depth == level:
        return
    saved = replace(
        found.saved,
        tables=search.tables.columns.digest(found.sizes),
        keys_checksum=checkpoint.append_keys(search.tables.resolved, found.saved.keys),
        rows_checksum=checkpoint.write_rows(level, (rows for rows, _ in found.frontier.pieces())),
        seconds=search.elapsed(),
    )
    checkpoint.commit(saved, search.links.written())


def restore(search: Search, checkpoint: Checkpoint, saved: Saved) -> Frontier:
    """Bring ``search``, which has not begun yet, to the state of ``saved``; returns its last complete level.

    Raises CheckpointError for an inconsistent checkpoint.
    """
    keys = checkpoint.read_keys(saved)
    ask_again(search, keys, saved, partial(checkpoint.damaged, checkpoint.folder / "keys"))
    search.links.take_up(list(zip(saved.links, saved.fingerprints, strict=True)))
    for level, size in enumerate(saved.levels):
        links = search.links.links_of(level)
        for _ in checkpoint.read(links, 2 * size, np.uint32, saved.links[level], BLOCK):
            pass
        for part in _fingerprints(search, checkpoint, saved, level):
            if not search.blocks.visited.add_all(part).all():
                path = search.links.fingerprints_of(level)
                raise checkpoint.damaged(path, "holds a state that was found before")
            if search.spill.is_due(search.blocks):
                search.spill.write(search.blocks)
    frontier = search.new_frontier()
    last = len(saved.levels) - 1
    parts = _fingerprints(search, checkpoint, saved, last)
    for rows, part in zip(checkpoint.read_rows(saved, BLOCK), parts, strict=True):
        try:
            fps = search.tables.fingerprints(rows)
        except IndexError:
            fps = np.empty((1, 2), np.uint64)
        if not np.array_equal(orbits(fps), part):
            raise checkpoint.damaged(checkpoint.rows_of(last), "is not what was written")
        frontier.append(rows, fps)
    go_on(search, saved)
    return frontier


def _fingerprints(
    search: Search, checkpoint: Checkpoint, saved: Saved, level: int
) -> Iterator[NDArray[np.void]]:
    """Those of ``level``, a block at a time."""
    path = search.links.fingerprints_of(level)
    return checkpoint.read(path, saved.levels[level], FINGERPRINT, saved.fingerprints[level], BLOCK)


def ask_again(
    search: Search, keys: Iterable[int], saved: Explored, damaged: Callable[[str], Exception]
) -> None:
    """Restore the tables: ask the system the same questions in the same order. Raises the exception that
    ``damaged`` makes of a reason.
    """
    tables = search.tables
    for state in initial_states(search.system):
        tables.encode(state)
    try:
        for key in keys:
            tables.resolve(key)
    except SymmetryError:
        raise
    except (IndexError, ValueError):
        raise damaged("is not what was written") from None
    tables.settle()
    if tables.columns.digest(tables.columns.sizes()) != saved.tables or tables.width != saved.width:
        raise damaged("leads to other outcomes than before")
    tables.calls = saved.calls


def go_on(search: Search, saved: Explored) -> None:
    """Restore the counts and violations; the tables and the links must be there."""
    search.levels[:] = saved.levels
    search.distinct = sum(saved.levels)
    search.blocks.totals = replace(saved.totals)
    search.blocks.goals.update(saved.goals)
    for found in saved.violations:
        search.violate(found.property, found.level, found.number, found.more)
    search.spent = saved.seconds
