"""Writing the state of a search to a checkpoint, and continuing the search from there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kraftcheck.engine.block import BLOCK, Totals
from kraftcheck.engine.checkpoint import FORMAT, Checkpoint, Found, Saved, Sums
from kraftcheck.engine.frontier import Frontier
from kraftcheck.engine.steps import initial_states
from kraftcheck.engine.system import SymmetryError
from kraftcheck.engine.tables import orbits

if TYPE_CHECKING:
    from kraftcheck.engine.explorer import Search


@dataclass(frozen=True, slots=True)
class Complete:
    """The state of a search when its last level, ``frontier``, was complete.

    Of arrays that only grow the lengths are recorded: ``keys`` of the tables, their ``sizes``.
    """

    frontier: Frontier
    levels: list[int]
    checksums: list[tuple[int, int]]
    keys: int
    sizes: tuple[int, ...]
    calls: int
    totals: Totals
    goals: list[str]
    origins: dict[str, tuple[int, int, list[int]]]


def complete(search: Search, frontier: Frontier) -> Complete:
    """The state of ``search``, whose last level is complete."""
    return Complete(
        frontier=frontier,
        levels=list(search.levels),
        checksums=search.links.checksums,
        keys=len(search.tables.resolved),
        sizes=search.tables.sizes(),
        calls=search.tables.calls,
        totals=replace(search.blocks.totals),
        goals=sorted(search.blocks.goals),
        origins=dict(search.origins),
    )


def save(search: Search, checkpoint: Checkpoint, found: Complete) -> None:
    """Write to ``checkpoint`` the state of ``search`` when a level was complete."""
    level = len(found.levels) - 1
    if checkpoint.depth == level:
        return
    keys, keys_checksum = checkpoint.append_keys(search.tables.resolved, found.keys)
    rows_checksum = checkpoint.write_rows(level, (rows for rows, _ in found.frontier.pieces()))
    written = search.links.written()
    links, fingerprints = zip(*found.checksums, strict=True)
    saved = Saved(
        format=FORMAT,
        made_for=checkpoint.made_for,
        tables=search.tables.digest(found.sizes),
        levels=found.levels,
        links=list(links),
        fingerprints=list(fingerprints),
        keys=keys,
        keys_checksum=keys_checksum,
        rows_checksum=rows_checksum,
        width=search.tables.width,
        totals=Sums(**asdict(found.totals)),
        goals=found.goals,
        violations=found_of(found.origins),
        calls=found.calls,
        seconds=search.elapsed(),
    )
    checkpoint.commit(saved, written)


def restore(search: Search, checkpoint: Checkpoint, saved: Saved) -> Frontier:
    """Bring ``search``, which has not begun yet, to the state of ``saved``; returns its last complete level.

    Raises CheckpointError for an inconsistent checkpoint.
    """
    keys = checkpoint.read_keys(saved)
    ask_again(
        search, keys, saved.tables, saved.width, saved.calls,
        lambda what: checkpoint.damaged(checkpoint.folder / "keys", what),
    )  # fmt: skip
    search.links.take_up(list(zip(saved.links, saved.fingerprints, strict=True)))
    last = np.empty(0, np.uint64)
    for level, size in enumerate(saved.levels):
        checkpoint.read(search.links.links_of(level), 2 * size, np.uint32, saved.links[level])
        path = search.links.fingerprints_of(level)
        last = checkpoint.read(path, size, np.uint64, saved.fingerprints[level])
        for begin in range(0, size, BLOCK):
            if not search.visited.add_all(last[begin : begin + BLOCK]).all():
                raise checkpoint.damaged(path, "holds a state that was found before")
    rows = checkpoint.read_rows(saved)
    frontier = search.new_frontier()
    for begin in range(0, len(rows), BLOCK):
        part = rows[begin : begin + BLOCK]
        try:
            fps = search.tables.fingerprints(part)
        except IndexError:
            fps = np.empty((1, 1), np.uint64)
        if not np.array_equal(orbits(fps), last[begin : begin + BLOCK]):
            raise checkpoint.damaged(
                checkpoint.rows_of(len(saved.levels) - 1), "holds states of another search"
            )
        frontier.append(part, fps)
    take_up(search, saved.levels, saved.totals, saved.goals, saved.violations, saved.seconds)
    return frontier


def found_of(origins: dict[str, tuple[int, int, list[int]]]) -> list[Found]:
    """The violations of a search, as they are saved."""
    return [
        Found(property=name, level=level, number=number, more=more)
        for name, (level, number, more) in origins.items()
    ]


def take_up(
    search: Search,
    levels: list[int],
    totals: Sums,
    goals: list[str],
    violations: Sequence[Found],
    seconds: float,
) -> None:
    """Bring the counts and violations of ``search`` to those of one that was saved after ``seconds``."""
    search.levels = list(levels)
    search.distinct = sum(levels)
    search.blocks.totals = Totals(**totals.model_dump())
    search.blocks.goals.update(goals)
    for found in violations:
        search.violate(found.property, found.level, found.number, found.more)
    search.spent = seconds


def ask_again(
    search: Search,
    keys: Iterable[int],
    digest: str,
    width: int,
    calls: int,
    damaged: Callable[[str], Exception],
) -> None:
    """Restore the tables: ask the system the same questions ``keys`` in the same order.

    ``digest``, ``width`` and ``calls`` are those of the tables that were saved. Raises what ``damaged`` makes
    of a reason if the questions or the answers differ.
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
    if tables.digest(tables.sizes()) != digest or tables.width != width:
        raise damaged("leads to other outcomes than before")
    tables.calls = calls
