"""Exploration as on Spark against the engine: random systems, whatever is computed anew, and where."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Limits, System
from kraftcheck.pipeline.explore.store import Manifest
from kraftcheck.pipeline.explore.tasks import Job
from kraftcheck.support.errors import InputError
from tests.engine.random_symmetric import random_symmetric
from tests.engine.random_systems import random_system
from tests.examples import examples
from tests.pipeline.explore import in_memory
from tests.pipeline.explore.in_memory import Grouped, InMemory, Killed, Memory, Setup, explore_in_memory
from tests.pipeline.explore.test_search import require_same

pytestmark = pytest.mark.spark


def system_of(seed: int, symmetric: bool) -> System:
    return random_symmetric(seed) if symmetric else random_system(seed)


@examples(40)
@given(
    seed=st.integers(0, 5000),
    random=st.integers(0, 10**9),
    parts=st.integers(1, 5),
    depth=st.integers(0, 6),
    hand_over=st.sampled_from([0, 2, 5]),
)
def test_the_limit_of_depth_in_small_pieces(
    seed: int, random: int, parts: int, depth: int, hand_over: int
) -> None:
    limits = Limits(max_depth=depth)
    found, _ = explore_in_memory(
        random_system(seed), Random(random), Memory(), Setup(parts, hand_over), limits
    )
    require_same(found, explore(random_system(seed), limits=limits))


@examples(40)
@given(
    seed=st.integers(0, 5000),
    symmetric=st.booleans(),
    random=st.integers(0, 10**9),
    ends=st.lists(st.integers(0, 25), max_size=4),
)
def test_random_systems_in_runs_that_may_be_killed(
    seed: int, symmetric: bool, random: int, ends: list[int]
) -> None:
    expected = explore(system_of(seed, symmetric), limits=Limits(max_states=3000))
    if expected.limit is not None:
        return
    source, memory = Random(random), Memory()
    for end_at in [*ends, None]:
        setup = Setup(source.randint(1, 5), source.choice([0, 0, 1, 3, 8, 20]), end_at)
        try:
            found, _ = explore_in_memory(system_of(seed, symmetric), source, memory, setup)
        except Killed:
            continue
        require_same(found, expected)


#: A system whose search has some levels, and one with a step that violates a property.
SOME_LEVELS, VIOLATED = 98, 577


def test_an_earlier_run_destroys_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both began with an empty folder; the earlier one is slower."""
    random, memory = Random(1), Memory()
    inner = InMemory.new_visited
    ended = []

    def begin_another(self: InMemory) -> None:
        monkeypatch.setattr(InMemory, "new_visited", inner)
        with pytest.raises(Killed):
            explore_in_memory(random_system(SOME_LEVELS), random, memory, Setup(end_at=22))
        ended.append(len([name for name in memory.small if name.startswith("complete/")]))
        inner(self)

    monkeypatch.setattr(InMemory, "new_visited", begin_another)
    with pytest.raises(InputError, match="another run uses it now"):
        explore_in_memory(random_system(SOME_LEVELS), random, memory, Setup())
    found, spent = explore_in_memory(random_system(SOME_LEVELS), random, memory, Setup())
    require_same(found, explore(random_system(SOME_LEVELS)))
    assert ended == [spent.taken_up + 1] and ended[0] > 2


@examples(40)
@given(
    seed=st.integers(0, 5000),
    random=st.integers(0, 10**9),
    hand_over=st.sampled_from([0, 0, 1, 3]),
    at=st.integers(1, 5),
    folder=st.sampled_from(["levels", "visited", "links"]),
    twice=st.booleans(),
)
def test_lost_or_doubled_rows_are_noticed(
    seed: int, random: int, hand_over: int, at: int, folder: str, twice: bool
) -> None:
    """A run with a damaged folder is refused, or what was damaged made no difference."""
    source = Random(random)

    class Damaged(InMemory):
        def commit(self, manifest: Manifest) -> None:
            super().commit(manifest)
            places = [name for name in self.memory.rows if name.startswith(folder) and self.memory.rows[name]]
            if len(manifest.levels) == at and places:
                rows = self.memory.rows[source.choice(places)]
                row = source.randrange(len(rows))
                rows[row : row + 1] = [rows[row]] * 2 if twice else []

    with pytest.MonkeyPatch.context() as patch, suppress(InputError):
        patch.setattr(in_memory, "InMemory", Damaged)
        found, _ = explore_in_memory(random_system(seed), source, Memory(), Setup(2, hand_over))
        require_same(found, explore(random_system(seed)))


def test_lost_candidates_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = Grouped.groups

    def with_a_loss(self: Grouped) -> dict[Any, Any]:
        found = inner(self)
        if self.key == "owner" and found:
            owner = min(found)
            found[owner].pop()
            found = {key: rows for key, rows in found.items() if rows}
        return found

    monkeypatch.setattr(Grouped, "groups", with_a_loss)
    with pytest.raises(RuntimeError, match=r"candidates, \d+ were read"):
        explore_in_memory(random_system(SOME_LEVELS), Random(1), Memory(), Setup())


@pytest.mark.parametrize("folder", ["levels/00000", "links"])
def test_a_trace_through_what_is_damaged(folder: str) -> None:
    hand_over = 0 if folder.startswith("levels") else 2
    memory, random = Memory(), Random(3)
    system = random_system(VIOLATED)
    found, _ = explore_in_memory(system, random, memory, Setup(hand_over=hand_over))
    assert found.violations and memory.rows[folder]
    memory.rows[folder].clear()
    with pytest.raises(InputError, match=f"{folder}: has not all states"):
        explore_in_memory(system, random, memory, Setup(hand_over=hand_over))


def test_executors_with_other_sources_are_refused() -> None:
    job = Job("run", (), 1, 1, (0,), False, "another digest")
    with pytest.raises(InputError, match="another version of kraftcheck"):
        _ = job.mirror
