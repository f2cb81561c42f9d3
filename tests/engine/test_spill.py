"""Searches whose visited set goes to disk, against the same ones with all of it in memory."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.engine import block, explorer, frontier, resume, spill, watch
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.graph import collect_graph
from kraftcheck.engine.overlap import common, contained
from kraftcheck.engine.spill import Part, Spill
from kraftcheck.engine.system import UNLIMITED, Interrupted, Limits, Outcome, Plain
from kraftcheck.engine.view import FINGERPRINT
from kraftcheck.engine.visited import ENOUGH, MARGIN, SHARDS, Visited
from kraftcheck.support.errors import DiskError
from tests.engine import random_symmetric
from tests.engine.random_systems import RandomSystem, random_system, systems
from tests.engine.replayed import facts
from tests.engine.synthetic import Synthetic
from tests.engine.test_against_oracle import reachable
from tests.engine.test_checkpoint import cut_short
from tests.engine.test_symmetry import Generous
from tests.examples import examples

SMALL = Synthetic(nodes=3, epochs=2, entries=1, restarts=1, capacity=3)


@contextmanager
def spilling(seed: int, chance: float = 1.0, rows: int = 4) -> Iterator[None]:
    """Blocks have so many rows, and after each the set is full with this chance, six times at most."""
    rng = Random(seed)

    def is_due(self: Spill, blocks: object) -> bool:
        return len(self.parts) < 6 and rng.random() < chance

    with (
        mock.patch.object(Spill, "is_due", is_due),
        blocks_of(rows),
    ):
        yield


@contextmanager
def blocks_of(rows: int) -> Iterator[None]:
    with (
        mock.patch.object(block, "BLOCK", rows),
        mock.patch.object(frontier, "BLOCK", rows),
        mock.patch.object(resume, "BLOCK", rows),
        mock.patch.object(block, "SMALL", 1),
    ):
        yield


@pytest.mark.slow
@examples(60)
@given(systems(), st.booleans(), st.booleans(), st.integers(0, 2**32), st.sampled_from([0.1, 0.4, 1.0]))
def test_nothing_shows_that_the_set_is_on_disk(
    system: RandomSystem, keep_going: bool, partial_order: bool, seed: int, chance: float
) -> None:
    """States and their order, counts, violations with their paths and order."""
    with blocks_of(4):
        expected, states = reachable(system, 1, keep_going, partial_order)
    for threads in (1, 2):
        with spilling(seed, chance):
            found, others = reachable(system, threads, keep_going, partial_order)
        assert facts(found) == facts(expected)
        assert others == states


@pytest.mark.slow
@examples(30)
@given(random_symmetric.systems(), st.integers(0, 2**32))
def test_up_to_renaming(system: random_symmetric.RandomSymmetric, seed: int) -> None:
    limits = Limits(max_states=2_000)
    with blocks_of(8):
        expected = explore(system, limits=limits)
    for threads in (1, 2):
        with spilling(seed, 0.4, rows=8):
            found = explore(system, limits=limits, threads=threads)
        if expected.limit is None:
            assert facts(found) == facts(expected)
        assert (found.limit, found.levels) == (expected.limit, expected.levels)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("held", [1 << 30, 10_000])
def test_a_larger_one(threads: int, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = facts(explore(SMALL))
    monkeypatch.setattr(explorer, "IN_MEMORY", held)
    with spilling(0, 0.2, rows=500):
        found = explore(SMALL, threads=threads)
    assert facts(found) == expected and found.spilled_bytes


@pytest.mark.slow
def test_the_same_counterexample() -> None:
    system = Generous(epochs=1, entries=0, restarts=0)
    expected = explore(system)
    assert expected.violations
    with spilling(1, 0.5, rows=20):
        found = explore(system, threads=2)
    assert found.spilled_bytes and facts(found) == facts(expected)


@pytest.mark.slow
@examples(40)
@given(systems(), st.booleans(), st.lists(st.integers(1, 200), max_size=3), st.integers(0, 2**32))
def test_taken_up_again(
    tmp_path_factory: pytest.TempPathFactory,
    system: RandomSystem,
    keep_going: bool,
    states: list[int],
    seed: int,
) -> None:
    folder = tmp_path_factory.mktemp("checkpoint")
    with blocks_of(4):
        expected = explore(system, keep_going=keep_going)
    with mock.patch.object(os, "fsync", lambda descriptor: None), spilling(seed, 0.5):
        for most in sorted(states):
            cut_short(system, folder, Limits(max_states=most), keep_going, 1 + seed % 2)
        found = cut_short(system, folder, UNLIMITED, keep_going, 1 + seed % 2)
    assert facts(found) == facts(expected)
    assert [path.name for path in folder.iterdir()] == ["lock"]


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 500, 20_000])
def test_the_limit_of_states_is_met_where_it_is_met_in_memory(most: int) -> None:
    limits = Limits(max_states=most)
    with blocks_of(500):
        expected = explore(SMALL, limits=limits)
    with spilling(2, 0.2, rows=500):
        found = explore(SMALL, limits=limits)
    assert (found.limit, found.distinct, found.levels) == ("max_states", expected.distinct, expected.levels)


@pytest.mark.parametrize(
    ("most", "left", "grows", "roomy"),
    [(None, 16, 0, False), (16, 4, 0, True), (16, 3, 0, False), (16, 6, 3, False), (16, 7, 3, True),
     (2, 1.1, 0, True), (2, 0.9, 0, False)],
)  # fmt: skip
def test_a_level_keeps_in_memory_what_nothing_else_will_need(
    most: float | None, left: float, grows: float, roomy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In GiB; without a limit a level has its share alone."""
    rooms = []

    class Noted(frontier.Frontier):
        def append(self, rows: Any, fps: Any) -> None:
            rooms.append(self._is_roomy())
            super().append(rows, fps)

    # The process itself may be larger than these sizes.
    limits = Limits(max_memory=None if most is None else 1 << 50, max_depth=2)
    whole = 0 if most is None else most * (1 << 30)
    monkeypatch.setattr(explorer, "available_bytes", lambda limit: (int(whole), left * (1 << 30)))
    monkeypatch.setattr(Visited, "expected_bytes", int(grows * (1 << 30)))
    monkeypatch.setattr(explorer, "Frontier", Noted)
    explore(SMALL, limits=limits)
    assert len(rooms) == 3 and set(rooms) == {roomy}


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_levels_in_memory_and_on_disk_have_the_same_states(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = facts(explore(SMALL))
    rng = Random(0)
    monkeypatch.setattr(explorer, "IN_MEMORY", 10_000)
    monkeypatch.setattr(explorer.Search, "_is_roomy", lambda self: rng.random() < 0.5)
    with blocks_of(500):
        assert facts(explore(SMALL, threads=threads)) == expected


@pytest.mark.parametrize("threads", [1, 2])
def test_a_violating_step_counts_when_ctrl_c_comes_while_its_block_is_absorbed(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = random_system(6)
    expected = explore(system).violations[0]
    assert expected.property == "record-bad"
    calls, inner = 0, block.Blocks.absorb

    def interrupt(self: block.Blocks, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 1:
            raise KeyboardInterrupt
        return inner(self, *arguments)

    monkeypatch.setattr(block.Blocks, "absorb", interrupt)
    with blocks_of(4), pytest.raises(Interrupted) as raised:
        explore(system, threads=threads)
    assert [each.property for each in raised.value.found.violations] == ["record-bad"]


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, in which nothing may be left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("which", [1, 3])
def test_a_full_disk_is_told(temporary: Path, monkeypatch: pytest.MonkeyPatch, which: int) -> None:
    calls, inner = 0, Part.__init__

    def full(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == which:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        inner(*arguments)

    monkeypatch.setattr(Part, "__init__", full)
    with pytest.raises(DiskError, match="cannot be written \\(No space left on device\\)"), spilling(0):
        explore(SMALL)


def test_a_part_that_was_cut_off_is_no_answer(temporary: Path) -> None:
    visited = Visited()
    part = Part(temporary, visited)
    part._file.truncate(part.bytes - 1)
    with pytest.raises(OSError, match="ends before its end"):
        part.read(SHARDS - 1, np.empty((part.sizes[-1] // 64, 8), np.uint64))
    part.close()


def test_ctrl_c_leaves_no_files(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(progress: explorer.Progress) -> None:
        if progress.level > 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(explorer, "PROGRESS_SECONDS", 0.0)
    with spilling(0), pytest.raises(Interrupted) as raised:
        explore(SMALL, progress=interrupt, threads=2)
    assert raised.value.found.spilled_bytes > 0


@pytest.mark.parametrize("seed", [6, 24, 40, 57, 63])
def test_a_violating_step_counts_though_its_level_is_not_complete(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The states of its block are still held when Ctrl-C comes."""
    system = random_system(seed)
    expected = explore(system).violations[0]
    assert expected.property in ("outcome-bad", "record-bad") and expected.depth > 1

    def interrupt(progress: explorer.Progress) -> None:
        if progress.level == expected.depth:
            raise KeyboardInterrupt

    monkeypatch.setattr(explorer, "PROGRESS_SECONDS", 0.0)
    first = mock.patch.object(Spill, "is_due", lambda self, blocks: not self.parts)
    with first, pytest.raises(Interrupted) as raised:
        explore(system, progress=interrupt)
    found = raised.value.found
    assert found.spilled_bytes and found.depth == expected.depth - 1
    assert expected in found.violations


class Both(Plain):
    """Two states after the first one: a step of one leads to a bad state, and one of the other is bad."""

    properties = ("state", "step")

    class Bad:
        name = "state"

        def project(self, component: int, local: Any) -> Any:
            return local

        def project_history(self, history: Any) -> Any:
            return None

        def holds(self, projections: tuple[Any, ...], history: Any) -> bool:
            return projections != (3,)

    invariants = (Bad(),)

    def actions(self, component: int, local: Any) -> list[Outcome]:
        steps = {0: [(1, ()), (2, ())], 1: [(3, ())], 2: [(4, ("step",))]}
        return [Outcome(f"to {to}", to, violations=bad) for to, bad in steps.get(local, [])]


def test_violations_of_states_and_of_steps_keep_their_order() -> None:
    with blocks_of(1), mock.patch.object(Spill, "is_due", lambda self, blocks: not self.parts):
        found = explore(Both())
    assert found.spilled_bytes
    assert [violation.property for violation in found.violations] == ["state", "step"]
    with blocks_of(1):
        assert facts(explore(Both())) == facts(found)


def test_graphs_and_small_sets_stay_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "available_bytes", lambda most: (1, 0))
    assert explore(SMALL, limits=Limits(max_states=500)).spilled_bytes == 0
    monkeypatch.setattr(spill, "LEAST", 0)
    assert explore(SMALL, limits=Limits(max_states=500)).spilled_bytes > 0
    monkeypatch.setattr(spill, "Part", None)
    collect_graph(Synthetic(nodes=2, epochs=1, entries=1, restarts=0, capacity=2))


@pytest.mark.parametrize(
    ("whole", "left", "due"), [(2.1, 1.0, False), (1.9, 1.0, True), (15.9, 0.9, True), (16.1, 0.9, False)]
)
def test_when_the_set_is_full(
    whole: float, left: float, due: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """``whole`` in sizes of the set, ``left`` in sixteenths of the whole."""
    blocks = mock.Mock(visited=Visited())
    size = blocks.visited.bytes
    monkeypatch.setattr(spill, "LEAST", size)
    monkeypatch.setattr(spill, "OF_BLOCKS", 0)
    monkeypatch.setattr(spill, "available_bytes", lambda most: (whole * size, left * whole * size / 16))
    assert Spill(tmp_path, 0, None, possible=True).is_due(blocks) == due
    assert not Spill(tmp_path, 0, None, possible=False).is_due(blocks)


def _random(count: int, seed: int) -> np.ndarray[Any, Any]:
    rng, found = np.random.default_rng(seed), np.empty(count, FINGERPRINT)
    found["sum"] = rng.integers(0, 2**64, count, np.uint64)
    found["tag"] = rng.integers(0, 2**16, count, np.uint16)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(1_000, 300_000), (300_000, 1_000), (300_000, 300_000)])
@pytest.mark.parametrize("large", [False, True])
def test_what_two_sets_have_in_common(
    sizes: tuple[int, int], large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Next to what is the same, fingerprints that differ in one bit."""
    both = _random(900, 0)
    both["sum"][:2] = [0, 2**59]
    near = both.copy()
    near["tag"][:450] ^= np.uint16(1) << np.arange(450, dtype=np.uint16) % 16
    near["sum"][450:] ^= np.uint64(1) << np.arange(450, dtype=np.uint64) % 64
    sets = []
    for number, (size, others) in enumerate(zip(sizes, (both, np.concatenate([both, near])), strict=True)):
        visited = Visited()
        if large:
            visited._shards = tuple(np.zeros((ENOUGH + 7 * i + MARGIN, 8), np.uint64) for i in range(SHARDS))
        visited.add_all(np.concatenate([others, _random(size, number + 1)]))
        sets.append(visited)
    part = Part(tmp_path, sets[0])
    buffer = np.empty((max(part.sizes) // 64, 8), np.uint64)
    found = np.concatenate([common(sets[1], shard, [part.read(shard, buffer)]) for shard in range(SHARDS)])
    part.close()

    def canonical(fingerprints: np.ndarray[Any, Any]) -> set[tuple[int, int]]:
        low = 2**59 - 1
        return {(each - (each & low) + max(each & low, 1), tag) for each, tag in fingerprints.tolist()}

    assert len(found) == len(canonical(found)) and canonical(found) == canonical(both)
    known = Visited()
    known.add_all(found)
    assert contained(known, both).all() and not contained(known, _random(1_000, 9)).any()
    assert contained(sets[1], near).all() and not contained(sets[0], near).any()


def test_the_memory_of_a_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = tmp_path / "a" / "b"
    group.mkdir(parents=True)
    (group / "limit").write_text("max\n")
    for name, text in (("limit", "2000\n"), ("used", "1500\n"), ("memory.stat", "anon 7\nidle 400\n")):
        (tmp_path / "a" / name).write_text(text)
    monkeypatch.setattr(watch, "_GROUPS", {"memory": (tmp_path, "limit", "used", "idle")})
    texts = {
        "/proc/self/cgroup": "3:cpu:/a/b\n2:memory:/a/b\n",
        "/proc/meminfo": "MemTotal: 9 kB\nMemAvailable: 4 kB\n",
    }
    inner = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda self: texts.get(str(self)) or inner(self))
    assert watch.available_bytes() == (2000, 900)
    monkeypatch.setattr(watch, "resident_bytes", lambda: 300)
    assert watch.available_bytes(1000) == (1000, 700)
    monkeypatch.setattr(watch, "_GROUPS", {})
    assert watch.available_bytes() == (9 * 1024, 4 * 1024)


def test_where_nothing_says_how_much_memory_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: Path) -> str:
        raise OSError

    monkeypatch.setattr(Path, "read_text", none)
    assert min(watch.available_bytes()) > 2**60
    assert watch.available_bytes(1000) == (1000, 1000)
