"""Levels that the driver explores by itself after others were explored elsewhere; without Spark."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from kraftcheck.engine.block import Blocks
from kraftcheck.engine.explorer import Search, explore
from kraftcheck.engine.frontier import Frontier
from kraftcheck.engine.synthetic import Synthetic
from kraftcheck.engine.system import UNLIMITED, Exploration, Limits, System
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.visited import Visited
from kraftcheck.pipeline.explore import search as module
from kraftcheck.pipeline.explore.in_driver import Trail, fingerprints_table, found_here
from kraftcheck.pipeline.explore.level import Spent
from kraftcheck.pipeline.explore.search import Distributed, Options
from kraftcheck.pipeline.explore.tasks import visited_among
from kraftcheck.support.collector import without_collector
from tests.engine.random_systems import random_system
from tests.pipeline.explore.test_search import require_same


class Memory:
    """In the place of the folder of a run."""

    spark = None
    parts = (0, 1)

    def __init__(self) -> None:
        self.links: dict[int, NDArray[np.uint32]] = {}
        self.fps = np.empty(0, np.uint64)

    def load(self, made_for: str) -> None:
        pass

    def claim(self) -> None:
        pass

    def link_of(self, level: int, number: int, size: int) -> tuple[int, int]:
        assert len(self.links[level]) == size
        parent, code = self.links[level][number].tolist()
        return parent, code


class InRuns(Distributed):
    """Explores every level in the driver, in runs that end after ``most`` levels at the latest."""

    most: int | None = None

    def _hand_over(self, frontier: Frontier) -> None:
        memory: Any = self.store
        self.trail.flush()
        end = len(self.search.levels)
        for level in range(self.trail.since, end):
            memory.links[level] = np.fromfile(self.trail.links_of(level), np.uint32).reshape(-1, 2)
        memory.fps = np.concatenate([memory.fps, found_here(self.trail, end)])
        self.search.visited = self.search.blocks.visited = Visited()
        self.trail.go_on_from(end)

    def _visited_among(self, fps: NDArray[np.uint64]) -> NDArray[np.uint64]:
        memory: Any = self.store
        assert len(np.unique(fps)) == len(fps)
        return np.intersect1d(fps, memory.fps)

    def _look_ahead(self, frontier: Frontier) -> int:
        depth = super()._look_ahead(frontier)
        return depth if self.most is None else min(depth, self.most)


def in_runs(
    system: System, ahead: int, here: int, limits: Limits = UNLIMITED, most: int | None = None
) -> tuple[Exploration, Spent]:
    memory: Any = Memory()
    tables, visited, spent, levels = Tables(system), Visited(), Spent(), []
    blocks = Blocks(tables, visited, 1, reduced=tables.symmetry.trivial)
    trail = Trail(memory, levels)
    with trail, without_collector(), pytest.MonkeyPatch.context() as patch:
        # Levels of any size are explored here, and handed over as soon as the run has `here` states.
        patch.setattr(module, "AHEAD", ahead / 1_000_000)
        patch.setattr(module, "HERE", here / 1_000_000)
        search = Search(system, tables, visited, blocks, trail, limits, False, None, levels=levels)
        options = Options("", "", 2, hand_over=1_000_000)
        runs = InRuns(search, memory, trail, options, 2, "run", False, spent)
        runs.most = most
        try:
            limit = runs._explore()
        except module.LimitReached as reached:
            limit = str(reached)
        return search.result(limit), spent


@settings(deadline=None)
@given(
    seed=st.integers(0, 5000),
    ahead=st.integers(0, 40),
    here=st.integers(0, 12),
    most=st.none() | st.integers(1, 3),
)
def test_random_systems_in_runs(seed: int, ahead: int, here: int, most: int | None) -> None:
    found, _ = in_runs(random_system(seed), ahead, here, most=most)
    require_same(found, explore(random_system(seed)))


@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("ahead", [0, 100, 5000])
def test_what_was_visited_before_a_run_is_not_found_again(symmetry: bool, ahead: int) -> None:
    def system() -> System:
        return Synthetic(nodes=3, epochs=2, entries=1, restarts=1, capacity=3, symmetry=symmetry)

    found, spent = in_runs(system(), ahead, here=50)
    require_same(found, explore(system()))
    assert spent.looked_ahead > 2


@pytest.mark.parametrize("depth", [0, 1, 3, 7])
def test_the_limit_of_depth(depth: int) -> None:
    def system() -> System:
        return Synthetic(nodes=3, epochs=2, entries=1, restarts=1, capacity=3)

    limits = Limits(max_depth=depth)
    found, _ = in_runs(system(), 10, 5, limits)
    require_same(found, explore(system(), limits=limits))


@settings(deadline=None)
@given(st.lists(st.integers(0, 50), unique=True), st.lists(st.integers(0, 50)))
def test_which_fingerprints_were_visited(asked: list[int], visited: list[int]) -> None:
    spread = np.uint64(0x9E3779B97F4A7C15)
    fps = np.array(asked, np.uint64) * spread + np.uint64(2)
    known = np.array(visited, np.uint64) * spread + np.uint64(2)
    table = fingerprints_table(known, 0, (0,))
    found = visited_among(fingerprints_table(fps, 0, (0,)), table)
    assert found.schema == pa.schema([("fingerprints", pa.large_binary()), ("visited", pa.int64())])
    assert found["visited"].to_pylist() == [len(visited)]
    joined = np.frombuffer(b"".join(found["fingerprints"].to_pylist()), np.uint64)
    assert set(joined.tolist()) == set(fps.tolist()) & set(known.tolist())
