"""Exploration as on Spark, in this process: what Spark is asked for is done with lists of rows.

Like Spark it computes data anew whenever it pleases, in any order, in processes of any age: with tables that
are newer than those a task asks for, or with none yet. That makes thousands of runs of it cheap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
import pytest

from kraftcheck.engine.explorer import Search, explore
from kraftcheck.engine.system import UNLIMITED, Exploration, Limits, System
from kraftcheck.pipeline.datasets import Dataset, pairs_of, table
from kraftcheck.pipeline.explore import pieces, tasks
from kraftcheck.pipeline.explore.level import Spent
from kraftcheck.pipeline.explore.mirror import Mirror
from kraftcheck.pipeline.explore.search import Distributed, Options
from kraftcheck.pipeline.explore.store import Store

Rows = list[tuple[Any, ...]]


class Killed(Exception):
    """A run has ended in the middle."""


class Row(tuple[Any, ...]):
    """Values by number and by name."""

    names: tuple[str, ...]

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self.names.index(key) if isinstance(key, str) else key)


@dataclass(frozen=True)
class Condition:
    """Of a row: whether one of its values is among some, or not."""

    column: str
    values: frozenset[Any] = frozenset()
    wanted: bool = True

    def isin(self, values: Sequence[Any]) -> Condition:
        return Condition(self.column, frozenset(values))

    def __invert__(self) -> Condition:
        return Condition(self.column, self.values, not self.wanted)


def _expression(text: str) -> str:
    """An expression of SQL in Python."""
    text = re.sub(r"(?<![<>])=", "==", text).replace("<>", "!=")
    return text.replace(" AND ", " and ").replace(" OR ", " or ")


class Data:
    """Rows that are computed when they are asked for. ``columns``: their names and types."""

    def __init__(self, random: Random, columns: str, compute: Callable[[], Rows]) -> None:
        self.random, self.columns, self._compute = random, columns, compute
        self.names = [name for name, _ in pairs_of(columns)]
        self._kept: Rows | None = None
        self._persisted = False

    @property
    def rows(self) -> Rows:
        """The rows, in any order; what was kept may have been lost."""
        if self._kept is not None and self.random.random() < 0.7:
            return self._kept
        rows = list(self._compute())
        self.random.shuffle(rows)
        if self._persisted:
            self._kept = rows
        return rows

    def of(self, columns: str, compute: Callable[[], Rows]) -> Data:
        return Data(self.random, columns, compute)

    def dicts(self) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
        return ((row, dict(zip(self.names, row, strict=True))) for row in self.rows)

    def persist(self) -> Data:
        self._persisted = True
        return self

    def unpersist(self) -> None:
        self._persisted, self._kept = False, None

    def __getitem__(self, name: str) -> Condition:
        return Condition(name)

    def where(self, condition: str | Condition) -> Data:
        if isinstance(condition, Condition):
            column, values, wanted = condition.column, condition.values, condition.wanted
            return self.of(
                self.columns,
                lambda: [row for row, named in self.dicts() if (named[column] in values) == wanted],
            )
        code = compile(_expression(condition), condition, "eval")
        return self.of(self.columns, lambda: [row for row, named in self.dicts() if eval(code, {}, named)])

    def select(self, *names: str) -> Data:
        return self.selectExpr(*names)

    def selectExpr(self, *texts: str) -> Data:
        if texts == ("sum(with_renamed)",):
            return self.of("sum bigint", lambda: [(sum(named["with_renamed"] for _, named in self.dicts()),)])
        kinds, columns, codes = dict(pairs_of(self.columns)), [], []
        for text in texts:
            source, _, name = text.partition(" AS ")
            columns.append(f"{name or source} {kinds.get(source, 'int')}")
            codes.append(compile(source, text, "eval"))
        return self.of(
            ", ".join(columns),
            lambda: [tuple(eval(code, {}, named) for code in codes) for _, named in self.dicts()],
        )

    def union(self, other: Data) -> Data:
        return self.of(self.columns, lambda: [*self.rows, *other.rows])

    def mapInArrow(self, function: Callable[..., Any], schema: str) -> Data:
        def compute() -> Rows:
            found = []
            for row in self.rows:
                for batch in function(iter(table(self.columns, [row]).to_batches())):
                    found += _rows_of(batch)
            return found

        return self.of(schema, compute)

    def groupBy(self, key: str) -> Grouped:
        return Grouped(self, key)

    def collect(self) -> list[Row]:
        kind = type("Named", (Row,), {"names": tuple(self.names)})
        return [kind(row) for row in self.rows]


@dataclass
class Grouped:
    data: Data
    key: str

    def groups(self) -> dict[Any, Rows]:
        found: dict[Any, Rows] = {}
        for row, named in self.data.dicts():
            found.setdefault(named[self.key], []).append(row)
        return found

    def sum(self, name: str) -> Data:
        at = self.data.names.index(name)
        return self.data.of(
            f"{self.key} bigint, sum bigint",
            lambda: [(key, sum(row[at] for row in rows)) for key, rows in self.groups().items()],
        )

    def cogroup(self, other: Grouped) -> Cogrouped:
        return Cogrouped(self, other)


@dataclass
class Cogrouped:
    left: Grouped
    right: Grouped

    def applyInArrow(self, function: Callable[..., Any], schema: str) -> Data:
        def compute() -> Rows:
            left, right = self.left.groups(), self.right.groups()
            found = []
            for key in sorted({*left, *right}):
                one = table(self.left.data.columns, left.get(key, []))
                two = table(self.right.data.columns, right.get(key, []))
                found += _rows_of(function(one, two))
            return found

        return self.left.data.of(schema.replace("`", ""), compute)


def _rows_of(found: Any) -> Rows:
    return [tuple(row.values()) for row in found.to_pylist()]


@dataclass
class Memory:
    """The files of a folder: small ones, and rows of data sets."""

    folder: str = "memory"
    small: dict[str, bytes] = field(default_factory=dict)
    rows: dict[str, Rows] = field(default_factory=dict)

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def names(self, folder: str) -> list[str]:
        begin = f"{folder}/" if folder else ""
        below = [name.removeprefix(begin) for name in self.small if name.startswith(begin)]
        return sorted({name.split("/")[0] for name in below})

    def read(self, name: str) -> bytes:
        return self.small[name]

    def write(self, name: str, content: bytes) -> None:
        self.small[name] = content

    def remove(self, name: str) -> None:
        self.rows.pop(name, None)
        self.small.pop(name, None)


class Context:
    """In the place of a SparkContext and a SparkSession."""

    def __init__(self, random: Random) -> None:
        self.sparkContext = self.conf = self
        self._random = random

    def setJobGroup(self, *_: Any, **__: Any) -> None:
        pass

    def set(self, *_: Any) -> None:
        pass

    def broadcast(self, value: Any) -> Any:
        return _Broadcast(value)

    def createDataFrame(self, rows: Any) -> Data:
        kinds = {"int32": "int", "int64": "bigint", "large_binary": "binary"}
        columns = ", ".join(f"{each.name} {kinds[str(each.type)]}" for each in rows.schema)
        found = _rows_of(rows)
        return Data(self._random, columns, lambda: found)


@dataclass
class _Broadcast:
    value: Any

    def unpersist(self) -> None:
        pass


class InMemory(Store):
    """A folder of a run in memory. ``end_at``: the run is killed when so many things were written."""

    def __init__(self, random: Random, memory: Memory, run: str, end_at: int | None = None) -> None:
        self.random, self.memory, self.end_at = random, memory, end_at
        self.spark: Any = Context(random)
        self.files: Any = memory
        self._run = run
        self._tables: list[str] = []
        self._links = {}
        self.parts = ()
        self.handed_over = 0
        self.visited_sums = {}
        self._whole = set()
        self._places: dict[str, tuple[Dataset, str]] = {}

    def _wrote(self) -> None:
        if self.end_at is not None:
            self.end_at -= 1
            if self.end_at < 0:
                raise Killed

    def choose_parts(self, count: int) -> None:
        self.parts = tuple(self.random.sample(range(100), count))

    def close(self) -> None:
        pass

    def _create(self, what: str, dataset: Dataset, folder: str) -> None:
        self._wrote()
        self._places[self._name(what)] = dataset, folder
        self.memory.rows.setdefault(folder, [])

    def _append(self, data: Any, what: str, dataset: Dataset) -> None:
        rows = data.select(*dataset.names).rows
        _, folder = self._places[self._name(what)]
        if self.end_at == 0:
            # Some of it is there.
            self.memory.rows[folder] += [row for row in rows if self.random.random() < 0.5]
        self._wrote()
        self.memory.rows[folder] += rows

    def _require_level(self, level: int) -> None:
        pass

    def _require_visited(self) -> None:
        pass

    def add_sums(self, level: int) -> None:
        pass

    def _named(self, what: str) -> Any:
        dataset, folder = self._places[self._name(what)]
        rows = list(self.memory.rows[folder])
        return Data(self.random, dataset.columns, lambda: rows)

    def level(self, level: int) -> Any:
        return self._named(f"level_{level}")

    def visited(self, level: int) -> Any:
        return self._named("visited").where(f"level <= {level}")

    def write_links(self, data: Any, end: int) -> None:
        self._wrote()
        self.memory.rows["links"] = data.rows
        self.handed_over = end

    def _read_links(self) -> dict[int, Any]:
        found: dict[int, list[Any]] = {}
        for level, _, links in sorted(self.memory.rows["links"]):
            found.setdefault(level, []).append(np.frombuffer(links, np.uint32).reshape(-1, 2))
        return {level: np.concatenate(pieces) for level, pieces in found.items()}

    def commit(self, manifest: Any) -> None:
        self._wrote()
        super().commit(manifest)
        self._wrote()


class Processes:
    """The processes of executors: each has the tables of some moment, and buffers of some size."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._mirrors: dict[tuple[str, int], Mirror] = {}

    def mirror_of(self, run: str, deltas: Sequence[Any]) -> Mirror:
        key = run, self._random.randrange(3)
        mirror = self._mirrors.get(key)
        if mirror is None or self._random.random() < 0.1:
            mirror = self._mirrors[key] = Mirror()
            worker = mirror.worker
            size = self._random.choice([2, 16, len(worker.fps)])
            worker.fps, worker.rows, worker.codes = worker.fps[:size], worker.rows[:size], worker.codes[:size]
            worker.recent, worker.good = worker.recent[:64].copy(), worker.good[:64].copy()
            worker.misses = worker.misses[: self._random.choice([1, 5, len(worker.misses)])]
        while mirror.version < len(deltas):
            mirror.apply(deltas[mirror.version].value)
        return mirror


@contextmanager
def small_pieces(random: Random) -> Iterator[None]:
    """Chunks of a few states, and processes of any age."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "CHUNK", random.randint(1, 9))
        patch.setattr(pieces, "MOST_FINGERPRINTS", random.randint(1, 5))
        patch.setattr(tasks, "MOST_ASKED", random.randint(1, 3))
        patch.setattr(tasks, "MOST_LOOKED_AT", random.randint(1, 4))
        patch.setattr(tasks, "mirror_of", Processes(random).mirror_of)
        yield


@dataclass
class Setup:
    """How one run goes: see :class:`Options`, and :class:`InMemory`."""

    parts: int = 2
    hand_over: int = 0
    end_at: int | None = None


def explore_in_memory(
    system: System, random: Random, memory: Memory, setup: Setup, limits: Limits = UNLIMITED
) -> tuple[Exploration, Spent]:
    """Explore ``system`` as on Spark; goes on with what is in ``memory``. Raises Killed."""
    name, spent = f"{random.getrandbits(128):032x}", Spent()
    store = InMemory(random, memory, name, setup.end_at)
    options = Options("", "", setup.parts, setup.hand_over)

    def run(search: Search) -> str | None:
        return Distributed(search, store, options, setup.parts, name, spent).run()

    with small_pieces(random):
        return explore(system, limits=limits, run=run, keep_fingerprints=True), spent
