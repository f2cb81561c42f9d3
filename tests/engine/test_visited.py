"""The sharded visited set against a Python set."""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kraftcheck.engine import visited as module
from kraftcheck.engine.hashing import MASK64
from kraftcheck.engine.view import FINGERPRINT
from kraftcheck.engine.visited import ENOUGH, LARGE, SHARDS, Visited
from tests.examples import examples

SUMS = st.one_of(
    st.integers(2, MASK64),
    st.integers(1, 40),
    # The same low bits, the same place in a shard but for its top bits, and hardly different places.
    st.builds(lambda top: (top << 59) | 12345, st.integers(0, 31)),
    st.builds(lambda low: (7 << 50) | low + 2, st.integers(0, 300)),
)
TAGS = st.one_of(st.integers(0, 0xFFFF), st.integers(0, 5), st.integers(0x3FE, 0x402))


def _found(pairs: Any) -> NDArray[np.void]:
    return np.array(pairs, FINGERPRINT)


def _in_one_shard(sums: NDArray[np.uint64]) -> NDArray[np.void]:
    found = np.zeros(len(sums), FINGERPRINT)
    found["sum"], found["tag"] = sums, np.arange(len(sums)) % 1024
    return found


@pytest.mark.slow
@examples(60)
@given(st.lists(st.lists(st.tuples(SUMS, TAGS), max_size=60), max_size=5))
def test_as_a_set(batches: list[list[tuple[int, int]]]) -> None:
    visited, expected = Visited(), set[tuple[int, int]]()
    for batch in batches:
        new = visited.add_all(_found(batch))
        for pair, is_new in zip(batch, new.tolist(), strict=True):
            assert is_new == (pair not in expected)
            expected.add(pair)
    assert len(visited) == len(expected)


@pytest.mark.parametrize("count", [400_000, 1_200_000])
def test_growth_and_memory(count: int) -> None:
    rng = np.random.default_rng(0)
    visited = Visited()
    everything = np.zeros(count, FINGERPRINT)
    everything["sum"] = rng.integers(2, MASK64, count, np.uint64)
    everything["tag"] = rng.integers(0, 1 << 16, count)
    for part in np.array_split(everything, 11):
        assert visited.add_all(np.concatenate([part, part[::-1]]))[: len(part)].all()
        if len(visited) > 100_000:
            assert visited.bytes / len(visited) < 27
    assert not visited.add_all(everything).any()
    assert len(visited) == len(everything)


def test_a_large_shard_takes_nine_bytes_a_state() -> None:
    visited, rng, sizes = Visited(), np.random.default_rng(0), []
    parts = [_in_one_shard(rng.integers(2, MASK64, 100_000, np.uint64)) for _ in range(15)]
    for part in parts:
        assert visited.add_all(part).all()
        assert not visited.add_all(part[::7]).any()
        if len(visited._shards[0]) > LARGE:
            sizes.append(visited._shards[0].nbytes / len(visited))
    assert len(sizes) == 11 and max(sizes) < 10.1 and sum(sizes[1:]) / 10 < 9.1
    assert not any(visited.add_all(part).any() for part in parts)


@pytest.mark.parametrize(("expected", "grown"), [(0, 9), (64 * 1_500_000, 5), (10, 9)])
def test_a_large_shard_grows_less_often_to_a_size_that_is_expected(expected: int, grown: int) -> None:
    visited, rng, sizes = Visited(), np.random.default_rng(0), set[int]()
    visited.expect(expected)
    parts = [_in_one_shard(rng.integers(2, MASK64, 100_000, np.uint64)) for _ in range(15)]
    for part in parts:
        assert visited.add_all(part).all()
        if len(visited._shards[0]) > LARGE:
            sizes.add(len(visited._shards[0]))
    assert len(sizes) == grown
    assert visited._shards[0].nbytes / len(visited) < 10
    assert not any(visited.add_all(part).any() for part in parts)


def test_all_bits_count_in_every_size_of_a_shard() -> None:
    """Fingerprints that differ only in what slots do not hold, until the homes tell them apart."""
    tops = np.arange(1 << 15, dtype=np.uint64)
    visited = Visited()
    found = np.zeros(len(tops), FINGERPRINT)
    found["tag"] = tops >> 5
    batches = []
    for low in range(2, 14):
        found["sum"] = ((tops & 31) << 59) | (low << 42) | low
        batches.append(found.copy())
        assert visited.add_all(batches[-1]).all()
        assert not visited.add_all(np.concatenate(batches[::3])).any()
    assert len(visited._shards[0]) >= ENOUGH
    assert not visited.add_all(np.concatenate(batches)).any()
    assert len(visited) == 12 << 15


def test_homes_of_the_worst_kind() -> None:
    """Hundreds at home in one line of a small shard: they find room when it has grown often enough."""
    numbers = np.arange(12 * 40, dtype=np.uint64)
    found = np.zeros(len(numbers), FINGERPRINT)
    found["tag"] = 3
    found["sum"] = ((numbers % 12) << 60) | (5 << 42) | (numbers + 1)
    visited = Visited()
    assert visited.add_all(found).all()
    assert not visited.add_all(found).any()
    assert len(visited) == len(found)
    # As many as have no room in any size.
    found["sum"] = numbers + 1
    with pytest.raises(MemoryError, match="visited set"):
        visited.add_all(found)


def test_the_least_sums() -> None:
    visited = Visited()
    assert visited.add_all(_found([(0, 0)])).tolist() == [True]
    assert visited.add_all(_found([(0, 0), (0, 1 << 10)])).tolist() == [False, True]


def test_no_memory_left(monkeypatch: pytest.MonkeyPatch) -> None:
    visited = Visited()

    def full(*_: object, **__: object) -> None:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(mmap, "mmap", full)
    with pytest.raises(MemoryError, match="visited set"):
        visited.add_all(_in_one_shard(np.arange(1, 1000, dtype=np.uint64) << 40))


def test_shards_are_added_to_apart() -> None:
    rng = np.random.default_rng(1)
    found = np.zeros(50_000, FINGERPRINT)
    found["sum"], found["tag"] = rng.integers(2, MASK64, 50_000, np.uint64), rng.integers(0, 1 << 16, 50_000)
    sums, tags = np.empty(50_000, np.uint64), np.empty(50_000, np.uint16)
    order, starts = np.empty(50_000, np.int32), np.empty(SHARDS + 1, np.int64)
    module.partition(found["sum"].copy(), found["tag"].copy(), sums, tags, order, starts)
    assert (sums == found["sum"][order]).all() and (tags == found["tag"][order]).all()
    visited, new = Visited(), np.zeros(50_000, np.uint8)
    visited.add(1, 3, sums, tags, order, starts, new)
    assert set((found["tag"][new == 1] >> 10).tolist()) == set(range(1, SHARDS, 3))
    visited.add(0, 3, sums, tags, order, starts, new)
    visited.add(2, 3, sums, tags, order, starts, new)
    assert new.all()
