"""The work of executors: to expand states, find which successors are new, and build these.

Arrow tables come in and go out; what a task needs besides travels in :class:`Job`. Every function gives the
same for the same states, whatever the process that runs it knows already: newer tables only have more in
them, and the driver distinguishes those rows of a level whose steps were unknown.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine import transition
from kraftcheck.engine.block import NEVER, Batch
from kraftcheck.engine.build import build
from kraftcheck.engine.judge import UNKNOWN, judge
from kraftcheck.pipeline.datasets import table
from kraftcheck.pipeline.explore.kernels import Candidates, are_known, split, unique
from kraftcheck.pipeline.explore.mirror import Mirror, mirror_of
from kraftcheck.pipeline.explore.pieces import Cutter, part_of, pieces_of
from kraftcheck.support.sources import require_sources

# What tasks give, besides levels. ``owner``: the part that owns the fingerprints, DRIVER for a note to the
# driver; ``chunk``: the number of its first state, below 0 see there; ``part``: the part of the level that
# the chunk is in, DRIVER for none; ``bits``: for each candidate of the chunk whether it is new.
CANDIDATES = "owner int, chunk bigint, fingerprints binary"
NEW = "owner int, part int, chunk bigint, new bigint, bits binary, fingerprints binary"
#: How many rows with unknown steps a chunk asks about at a time, and among how many it chooses them.
MOST_ASKED, MOST_LOOKED_AT = 2048, 16384
#: The owner of the notes from a chunk to the driver.
DRIVER = -1
#: In the place of a chunk: what an owner had not seen before; how many candidates, and how many visited
#: fingerprints, it has read.
UNSEEN, CANDIDATES_READ, VISITED_READ = -1, -2, -3


@dataclass(frozen=True, slots=True)
class Job:
    """The input of the tasks of a level.

    ``run``: which tables; ``deltas``: broadcast variables with them; ``width``: columns of a row;
    ``sums``: columns of its fingerprints; ``keys``: what the column ``part`` holds for each part;
    ``reduced``: whether orders of steps that commute are left out; ``sources``: the driver's, a digest.
    """

    run: str
    deltas: tuple[Any, ...]
    width: int
    sums: int
    keys: tuple[int, ...]
    reduced: bool
    sources: str

    @property
    def mirror(self) -> Mirror:
        """The tables, in this process. Raises InputError where it has other sources than the driver."""
        require_sources(self.sources)
        return mirror_of(self.run, self.deltas)


@dataclass(slots=True)
class Note:
    """The report on a chunk of ``states``, the first of which has number ``first`` in its level.

    ``broken``: by invariant (its number) the first state that breaks it; ``unjudged``: (number, row,
    invariant) of states without a verdict, one for each; ``asked``, ``asked_fps``: rows with unknown steps,
    and their fingerprints; ``pending``: how many there are. If there are none, ``counters``, ``goals``
    (numbers of sets) and ``violations`` (set: row, order, code) are those of all steps, and ``candidates``
    went to their owners.
    """

    first: int
    states: int
    broken: dict[int, int] = field(default_factory=dict)
    unjudged: list[tuple[int, Any, int]] = field(default_factory=list)
    pending: int = 0
    asked: Any = None
    asked_fps: Any = None
    counters: Any = None
    goals: list[int] = field(default_factory=list)
    violations: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    candidates: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """States of a level in the order of their numbers, from ``first`` on."""

    first: int
    rows: NDArray[np.int32]
    fps: NDArray[np.uint64]


def array_of(value: Any, dtype: Any) -> NDArray[Any]:
    """The array in a binary value; a copy, as the kernels are compiled for arrays that can be written."""
    data = value.as_buffer()
    return np.frombuffer(data, dtype).copy() if data is not None else np.empty(0, dtype)


def chunks_of(data: Any, job: Job) -> list[Chunk]:
    """The chunks in an Arrow table or batch of the data set of levels, in order."""
    found = []
    for at in range(data.num_rows):
        rows = array_of(data["rows"][at], np.int32).reshape(-1, job.width)
        fps = array_of(data["fingerprints"][at], np.uint64).reshape(-1, job.sums)
        found.append(Chunk(data["first"][at].as_py(), rows, fps))
    return sorted(found, key=lambda chunk: chunk.first)


def expanded(mirror: Mirror, chunk: Chunk, reduced: bool) -> None:
    """Put the candidates of ``chunk`` into the buffers of ``mirror``."""
    worker = mirror.worker
    worker.counters[:] = 0
    worker.goals[:] = 0
    worker.firsts[:] = NEVER
    # The filter of what was emitted a short while before must not know other chunks.
    worker.recent[:] = 0
    index = np.arange(len(chunk.rows), dtype=np.int32)
    worker.generate(mirror.view, chunk.rows, chunk.fps, index, reduced, True)  # type: ignore[arg-type]


# -- expanding and judging -------------------------------------------------------------------------


def expand_chunks(
    batches: Iterator[Any], job: Job, steps: bool, verdicts: bool, wanted: frozenset[int] | None
) -> Iterator[Any]:
    """For each chunk a note, and its candidates as (owner, chunk, fingerprints), without duplicates.

    ``steps``, ``verdicts``: whether states are expanded, and judged; ``wanted``: the chunks looked at.
    """
    for batch in batches:
        chosen = [
            at for at in range(batch.num_rows) if wanted is None or batch["first"][at].as_py() in wanted
        ]
        for at in chosen:
            (chunk,) = chunks_of(batch.slice(at, 1), job)
            yield from _expand_chunk(chunk, job, steps, verdicts)


def _expand_chunk(chunk: Chunk, job: Job, steps: bool, verdicts: bool) -> Iterator[Any]:
    mirror = job.mirror
    note = Note(chunk.first, len(chunk.rows))
    if verdicts:
        _judge(mirror, chunk, note)
    owners, values = [DRIVER], [b""]
    if steps:
        expanded(mirror, chunk, job.reduced)
        note.pending = int(mirror.worker.counters[transition.PENDING])
        if note.pending:
            _ask(mirror, chunk, note, job.reduced)
        else:
            _tell(mirror, note)
            fps = mirror.worker.fps[: mirror.worker.candidates]
            fps = fps[unique(fps)]
            by_owner, _, starts = split(fps, len(job.keys))
            note.candidates = len(fps)
            for owner in np.flatnonzero(starts[1:] > starts[:-1]).tolist():
                owners.append(job.keys[owner])
                values.append(by_owner[starts[owner] : starts[owner + 1]].tobytes())
    values[0] = pickle.dumps(note)
    rows = [(owner, chunk.first, value) for owner, value in zip(owners, values, strict=True)]
    yield from table(CANDIDATES, rows).to_batches()


def _tell(mirror: Mirror, note: Note) -> None:
    worker = mirror.worker
    note.counters = worker.counters.copy()
    note.goals = np.flatnonzero(worker.goals).tolist()
    note.violations = {
        int(number): tuple(worker.firsts[number].tolist())
        for number in np.flatnonzero(worker.firsts[:, 0] != NEVER)
    }


def _ask(mirror: Mirror, chunk: Chunk, note: Note, reduced: bool) -> None:
    """Choose rows that ask for different things."""
    worker = mirror.worker
    pending = worker.pending[: min(note.pending, MOST_LOOKED_AT)].copy()
    asked: set[tuple[int, int]] = set()
    chosen = []
    history = mirror.view.components  # type: ignore[union-attr]
    for place in pending.tolist():
        worker.counters[:] = 0
        worker.generate(
            mirror.view,  # type: ignore[arg-type]
            chunk.rows, chunk.fps, np.array([place], np.int32), reduced, False,
        )  # fmt: skip
        misses = worker.misses[: worker.counters[transition.MISSES]].tolist()
        new = {(key, int(chunk.rows[place, history])) for key in misses} - asked
        if new:
            asked |= new
            chosen.append(place)
            if len(chosen) == MOST_ASKED:
                break
    note.asked, note.asked_fps = chunk.rows[chosen], chunk.fps[chosen]


def _judge(mirror: Mirror, chunk: Chunk, note: Note) -> None:
    view = mirror.view
    assert view is not None
    invariants = view.projection_hash.shape[1] - 1
    if not invariants or not len(chunk.rows):
        return
    size = len(chunk.rows)
    status, firsts = np.zeros(size, np.uint8), np.full(invariants, NEVER, np.int64)
    index = np.arange(size, dtype=np.int32)
    worker = mirror.worker
    judge(view, chunk.rows, index, worker.good, status, firsts, worker.missing)
    note.broken = {
        number: chunk.first + place for number, place in enumerate(firsts.tolist()) if place != NEVER
    }
    unknown = np.flatnonzero(status == UNKNOWN)
    for invariant in range(invariants) if len(unknown) else ():
        for place in unknown[_without_verdict(mirror, chunk.rows[unknown], invariant)].tolist():
            note.unjudged.append((chunk.first + place, chunk.rows[place].copy(), invariant))


def _without_verdict(mirror: Mirror, rows: NDArray[np.int32], invariant: int) -> NDArray[np.int64]:
    """Of rows with the same projections, for which there is no verdict yet, the first ones."""
    view = mirror.view
    assert view is not None
    total = view.history_projection_hash[rows[:, view.components], invariant].copy()
    for component in range(view.components):
        total += view.projection_hash[rows[:, component], invariant]
    keys = (total & np.uint64(0x7FFFFFFFFFFFFFFF)).astype(np.int64)
    keys[keys == 0] = 1
    firsts: NDArray[np.int64]
    found, firsts = np.unique(keys, return_index=True)
    known = np.zeros(len(found), np.uint8)
    are_known(view.verdicts, found, known)
    return np.sort(firsts[known == 0])


# -- what is new -----------------------------------------------------------------------------------


def find_new(candidates: Any, visited: Any, keys: tuple[int, ...], size: int) -> Any:
    """Which candidates that a part owns are new, as (owner, part, chunk, new, bits, fingerprints).

    One row for each chunk, which is in ``part`` of a level of ``size`` states, with the bits of its
    candidates, in order; rows with the fingerprints that the owner has not seen before; and two that tell
    how much it has read, so that the driver knows that nothing was lost on the way.
    """
    order = np.argsort(candidates["chunk"].to_numpy(), kind="stable").tolist()
    owner = (candidates["owner"] if order else visited["part"])[0].as_py()
    pieces = [array_of(candidates["fingerprints"][at], np.uint64) for at in order]
    fps = np.concatenate([np.empty(0, np.uint64), *pieces])
    known = Candidates(fps)
    read = 0
    for value in visited["fingerprints"]:
        before = array_of(value, np.uint64)
        known.strike_out(before)
        read += len(before)
    rows: list[tuple[Any, ...]] = [
        (owner, DRIVER, CANDIDATES_READ, len(fps), b"", b""),
        (owner, DRIVER, VISITED_READ, read, b"", b""),
    ]
    begin = 0
    for at, piece in zip(order, pieces, strict=True):
        new = known.new[begin : begin + len(piece)]
        begin += len(piece)
        chunk = candidates["chunk"][at].as_py()
        part = keys[part_of(chunk, size, len(keys))]
        rows.append((owner, part, chunk, int(new.sum()), np.packbits(new).tobytes(), b""))
    found = fps[known.new.astype(bool)]
    rows += [(owner, DRIVER, UNSEEN, len(piece), b"", piece.tobytes()) for piece in pieces_of(found)]
    return table(NEW, rows)


# -- the next level --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Numbers:
    """How the new states of a level are numbered: those of the chunk ``chunks[i]`` (ascending) begin with
    number ``firsts[i]``; there are ``total``.
    """

    chunks: NDArray[np.int64]
    firsts: NDArray[np.int64]
    total: int

    def first_of(self, chunk: int) -> int:
        """The number of the first new state that ``chunk`` leads to."""
        return int(self.firsts[np.searchsorted(self.chunks, chunk)])


def build_next(states: Any, new: Any, job: Job, level: int, numbers: Numbers) -> Any:
    """The states of ``level`` that those of a part lead to, as rows of the data set of levels."""
    marks: dict[int, list[tuple[int, int]]] = {}
    for at, chunk in enumerate(new["chunk"].to_pylist()):
        if new["new"][at].as_py():
            marks.setdefault(chunk, []).append((new["owner"][at].as_py(), at))
    cutter = Cutter(job.keys, level, numbers.total)
    for chunk in chunks_of(states, job):
        if chunk.first not in marks:
            continue
        owned = [(job.keys.index(key), array_of(new["bits"][at], np.uint8)) for key, at in marks[chunk.first]]
        cutter.append(numbers.first_of(chunk.first), _built(job, chunk, owned), chunk.first)
    return cutter.table()


def _built(job: Job, chunk: Chunk, owned: Sequence[tuple[int, NDArray[np.uint8]]]) -> Batch:
    """The new states that ``chunk`` leads to, whose parents are numbered from 0."""
    mirror = job.mirror
    worker = mirror.worker
    expanded(mirror, chunk, job.reduced)
    if worker.counters[transition.PENDING]:
        raise RuntimeError("the tables lack what they had when these states were expanded before")
    size = worker.candidates
    kept = unique(worker.fps[:size])
    _, order, starts = split(worker.fps[kept], len(job.keys))
    new = np.zeros(size, np.uint8)
    for owner, bits in owned:
        places = kept[order[starts[owner] : starts[owner + 1]]]
        new[places] = np.unpackbits(bits, count=len(places))
    total = int(np.count_nonzero(new))
    batch = Batch(
        np.empty((total, job.width), np.int32),
        np.empty((total, job.sums), np.uint64),
        np.empty(total, np.uint32),
        np.empty(total, np.uint32),
    )
    build(
        mirror.view, chunk.rows, worker.fps[:size], worker.tags[:size], worker.rows[:size],
        worker.codes[:size], new, batch.rows, batch.fps, batch.parents, batch.codes, 0,
        np.empty(job.width, np.int32),
    )  # fmt: skip
    return batch
