"""What executors do with states: expand them, tell which successors are new, build these.

Arrow tables come in and go out; what a task needs besides travels in :class:`Job`. Every function gives the
same for the same states, whatever the process that runs it knows already: newer tables only have more in
them, and those rows of a level whose steps were unknown are told apart by the driver.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model_check.engine import transition
from model_check.engine.block import NEVER, Batch
from model_check.engine.build import build
from model_check.engine.judge import UNKNOWN, judge
from model_check.pipeline.datasets import Column, table
from model_check.pipeline.explore.kernels import Candidates, are_known, split, unique
from model_check.pipeline.explore.mirror import Mirror, mirror_of
from model_check.pipeline.explore.store import LEVELS

# What tasks give, besides levels.
CANDIDATES = (
    Column("owner", "int", "the part that owns the fingerprints; DRIVER: a note for the driver"),
    Column("chunk", "bigint", "the number of the first state of the chunk that they come from"),
    Column("fingerprints", "binary", "uint64 each; or the note"),
)
KNOWN = (Column("fingerprints", "binary", "uint64 each"),)
NEW = (
    Column("owner", "int", "the part that owns the fingerprints"),
    Column("part", "int", "the part of the level that the chunk is in; DRIVER: none"),
    Column("chunk", "bigint", "the number of the first state of the chunk; -1: none"),
    Column("new", "bigint", "how many are new"),
    Column("bits", "binary", "a bit for each candidate of the chunk: whether it is new"),
    Column("fingerprints", "binary", "uint64 each; of rows without a chunk only"),
)
#: The most states of a chunk.
CHUNK = 1 << 16
#: Fingerprints of a value in the data set of those that were visited.
MOST_FINGERPRINTS = 1 << 20
#: How many rows with unknown steps a chunk asks about at a time, and among how many it chooses them.
MOST_ASKED, MOST_LOOKED_AT = 2048, 16384
#: The owner of what a chunk tells the driver.
DRIVER = -1


@dataclass(frozen=True, slots=True)
class Job:
    """What tasks of a level need.

    ``run``: which tables; ``deltas``: broadcast variables with them; ``width``: columns of a row;
    ``permutations``: fingerprints of a row; ``keys``: what the column ``part`` holds for each part;
    ``reduced``: whether orders of steps that commute are left out.
    """

    run: str
    deltas: tuple[Any, ...]
    width: int
    permutations: int
    keys: tuple[int, ...]
    reduced: bool

    @property
    def mirror(self) -> Mirror:
        """The tables, in this process."""
        return mirror_of(self.run, self.deltas)


@dataclass(slots=True)
class Note:
    """What a chunk of states, the first of which has number ``first`` in its level, tells the driver.

    ``broken``: by invariant (its number) the first state that breaks it; ``unjudged``: (number, row,
    invariant) of states without a verdict, one for each; ``asked``, ``asked_fps``: rows with unknown steps,
    and their fingerprints; ``pending``: how many there are. If there are none, ``counters``, ``goals``
    (numbers of sets) and ``violations`` (set: row, order, code) are those of all steps, and ``candidates``
    went to their owners.
    """

    first: int
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
        fps = array_of(data["fingerprints"][at], np.uint64).reshape(-1, job.permutations)
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
    note = Note(chunk.first)
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
    candidates, in order, and rows with chunk -1 and the fingerprints that the owner has not seen before.
    """
    order = np.argsort(candidates["chunk"].to_numpy(), kind="stable").tolist()
    if not order:
        return table(NEW, [])
    pieces = [array_of(candidates["fingerprints"][at], np.uint64) for at in order]
    owner = candidates["owner"][0].as_py()
    fps = np.concatenate(pieces)
    known = Candidates(fps)
    for at in range(visited.num_rows):
        known.strike_out(array_of(visited["fingerprints"][at], np.uint64))
    rows: list[tuple[Any, ...]] = []
    begin = 0
    for at, piece in zip(order, pieces, strict=True):
        new = known.new[begin : begin + len(piece)]
        begin += len(piece)
        chunk = candidates["chunk"][at].as_py()
        part = keys[part_of(chunk, size, len(keys))]
        rows.append((owner, part, chunk, int(new.sum()), np.packbits(new).tobytes(), b""))
    found = fps[known.new.astype(bool)]
    for begin in range(0, len(found), MOST_FINGERPRINTS):
        piece = found[begin : begin + MOST_FINGERPRINTS]
        rows.append((owner, DRIVER, -1, len(piece), b"", piece.tobytes()))
    return table(NEW, rows)


def visited_among(candidates: Any, visited: Any) -> Any:
    """Those fingerprints, all different, of the candidates of a part that are among its visited ones."""
    pieces = [array_of(value, np.uint64) for value in candidates["fingerprints"]]
    fps = np.concatenate([np.empty(0, np.uint64), *pieces])
    known = Candidates(fps)
    for value in visited["fingerprints"]:
        known.strike_out(array_of(value, np.uint64))
    found = fps[known.new == 0]
    return table(KNOWN, [(found.tobytes(),)] if len(found) else [])


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


def part_of(number: int, total: int, parts: int) -> int:
    """The part of a level of ``total`` states that state ``number`` is in."""
    return number * parts // total


def end_of(part: int, total: int, parts: int) -> int:
    """The number behind the last state of ``part``."""
    return -(-(part + 1) * total // parts)


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
        np.empty((total, job.permutations), np.uint64),
        np.empty(total, np.uint32),
        np.empty(total, np.uint32),
    )
    build(
        mirror.view, chunk.rows, worker.fps[:size], worker.rows[:size], worker.codes[:size], new, batch.rows,
        batch.fps, batch.parents, batch.codes, 0, np.empty(job.width, np.int32),
    )  # fmt: skip
    return batch


class Cutter:
    """Cuts states that come in the order of their numbers into rows of the data set of levels.

    A row has at most ``CHUNK`` states, all of one part.
    """

    def __init__(self, keys: Sequence[int], level: int, total: int) -> None:
        self._keys, self._level, self._total = keys, level, total
        self._first = self._size = 0
        self._pieces: list[tuple[Batch, NDArray[np.int64]]] = []
        self._done: list[tuple[Any, ...]] = []

    def append(self, first: int, batch: Batch, base: int) -> None:
        """States from number ``first`` on; their parents are numbered from ``base`` on."""
        if first != self._first + self._size:
            self._flush()
            self._first = first
        parents = batch.parents.astype(np.int64) + base
        begin = 0
        while begin < len(batch.rows):
            part = part_of(self._first, self._total, len(self._keys))
            room = min(CHUNK, end_of(part, self._total, len(self._keys)) - self._first) - self._size
            end = min(len(batch.rows), begin + room)
            piece = Batch(
                batch.rows[begin:end], batch.fps[begin:end], batch.parents[begin:end], batch.codes[begin:end]
            )
            self._pieces.append((piece, parents[begin:end]))
            self._size += end - begin
            if end - begin == room:
                self._flush()
            begin = end

    def _flush(self) -> None:
        if self._size:
            part = part_of(self._first, self._total, len(self._keys))
            batches = [batch for batch, _ in self._pieces]
            rows = np.concatenate([batch.rows for batch in batches])
            fps = np.concatenate([batch.fps for batch in batches])
            codes = np.concatenate([batch.codes for batch in batches])
            parents = np.concatenate([parents for _, parents in self._pieces])
            states = Batch(rows, fps, codes, codes).states
            arrays = (fps, parents, codes, rows)
            meta = (self._keys[part], self._level, self._first, self._size, states)
            self._done.append((*meta, *(array.tobytes() for array in arrays)))
        self._first += self._size
        self._size = 0
        self._pieces = []

    def table(self) -> Any:
        """All rows."""
        self._flush()
        return table(LEVELS.columns, self._done)
