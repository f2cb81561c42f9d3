"""The sharded visited set against a Python set."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.engine import visited as module
from kraftcheck.engine.visited import Visited

NUMBERS = st.one_of(st.integers(1, 2**64 - 1), st.integers(1, 40), st.integers(2**58 - 3, 2**58 + 3))


@pytest.mark.slow
@given(st.lists(st.lists(NUMBERS, max_size=60), max_size=5))
def test_as_a_set(batches: list[list[int]]) -> None:
    visited, expected = Visited(), set[int]()
    for batch in batches:
        new = visited.add_all(np.array(batch, np.uint64))
        for number, is_new in zip(batch, new.tolist(), strict=True):
            assert is_new == (number not in expected)
            expected.add(number)
    assert len(visited) == len(expected)


@pytest.mark.parametrize(("small", "most_bytes"), [(0, 16), (module.SMALL, 26)])
def test_growth_and_memory(small: int, most_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SMALL", small)
    rng = np.random.default_rng(0)
    visited = Visited()
    everything = rng.integers(2, 2**64 - 1, 400_000, np.uint64)
    for part in np.array_split(everything, 11):
        assert visited.add_all(np.concatenate([part, part[::-1]]))[: len(part)].all()
        if len(visited) > 100_000:
            assert visited.bytes / len(visited) < most_bytes
    assert not visited.add_all(everything).any()
    assert len(visited) == len(everything)


def test_shards_of_the_worst_kind() -> None:
    # All in one shard, with the same low bits: one long run of slots that wraps around the end.
    numbers = np.array([(i << 32) | 0xFFFFFFFF for i in range(1, 3000)], np.uint64)
    visited = Visited()
    assert visited.add_all(numbers).all()
    assert not visited.add_all(numbers).any()


def test_zero() -> None:
    visited = Visited()
    assert visited.add_all(np.zeros(1, np.uint64)).tolist() == [True]
    assert visited.add_all(np.zeros(1, np.uint64)).tolist() == [False]


def test_no_memory_left(monkeypatch: pytest.MonkeyPatch) -> None:
    visited = Visited()
    monkeypatch.setattr(module, "SMALL", 0)
    monkeypatch.setattr(module, "GROWTH", 2.0**48)
    with pytest.raises(MemoryError, match="visited set"):
        visited.add_all(np.arange(1, 1000, dtype=np.uint64))
