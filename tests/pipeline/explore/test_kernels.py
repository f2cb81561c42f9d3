"""The work of executors by themselves: duplicates, visited states, cutting, and tables like the driver's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.engine.block import Batch
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.native_map import find
from kraftcheck.engine.system import Limits
from kraftcheck.engine.tables import Tables
from kraftcheck.pipeline.explore.kernels import Candidates, split, unique
from kraftcheck.pipeline.explore.mirror import Appended, Mirror
from kraftcheck.pipeline.explore.pieces import CHUNK, Cutter, end_of, part_of
from tests.engine.synthetic import Synthetic

pytestmark = pytest.mark.spark

# Few values, some of which share the slot that they begin at, or are "empty".
FINGERPRINTS = st.lists(
    st.one_of(
        st.integers(0, 8), st.sampled_from([(n << 40) + 3 for n in range(6)]), st.integers(0, 2**64 - 1)
    ),
    max_size=40,
)
MANY = settings(max_examples=100)


def _array(values: list[int]) -> np.ndarray:
    return np.array(values, np.uint64)


def _same(value: int) -> int:
    return value or 1


@MANY
@given(FINGERPRINTS)
def test_the_first_of_each_is_kept(values: list[int]) -> None:
    first = {_same(value): at for at, value in reversed(list(enumerate(values)))}
    assert unique(_array(values)).tolist() == sorted(first.values())


@MANY
@given(FINGERPRINTS, st.lists(FINGERPRINTS, max_size=3))
def test_candidates_are_new_if_they_are_first_and_not_visited(
    values: list[int], visited: list[list[int]]
) -> None:
    candidates = Candidates(_array(values))
    for piece in visited:
        candidates.strike_out(_array(piece))
    known = {_same(value) for piece in visited for value in piece}
    expected = []
    for value in values:
        expected.append(int(_same(value) not in known))
        known.add(_same(value))
    assert candidates.new.tolist() == expected


@MANY
@given(FINGERPRINTS, st.integers(1, 7))
def test_each_fingerprint_has_one_owner(values: list[int], parts: int) -> None:
    fps, order, starts = split(_array(values), parts)
    assert fps.tolist() == [values[at] for at in order]
    owned = [order[starts[part] : starts[part + 1]].tolist() for part in range(parts)]
    assert sorted(at for each in owned for at in each) == list(range(len(values)))
    assert all(each == sorted(each) for each in owned)
    assert all((values[at] >> 32) * parts >> 32 == part for part, each in enumerate(owned) for at in each)


@MANY
@given(st.integers(1, 400_000), st.integers(1, 9))
def test_parts_of_a_level_are_balanced(total: int, parts: int) -> None:
    ends = [end_of(part, total, parts) for part in range(parts)]
    sizes = np.diff([0, *ends])
    assert ends[-1] == total and sizes.max() - sizes.min() <= 1
    for part, end in enumerate(ends):
        if sizes[part]:
            assert part_of(end - 1, total, parts) == part


@settings(max_examples=15)
@given(st.lists(st.integers(0, 90_000), min_size=1, max_size=6), st.integers(1, 5))
def test_what_is_cut_is_whole_and_in_order(sizes: list[int], parts: int) -> None:
    total = sum(sizes)
    if not total:
        return
    keys = [10 * part for part in range(parts)]
    cutter, first = Cutter(keys, 3, total), 0
    for base, size in enumerate(sizes):
        numbers = np.arange(first, first + size)
        cutter.append(
            first,
            Batch(
                numbers.astype(np.int32)[:, None],
                numbers.astype(np.uint64)[:, None],
                np.zeros(size, np.uint32),
                numbers.astype(np.uint32),
            ),
            base,
        )
        first += size
    seen = 0
    for row in cutter.table().to_pylist():
        assert row["first"] == seen and 0 < row["states"] <= CHUNK and row["level"] == 3
        last = seen + row["states"] - 1
        assert row["part"] == keys[part_of(seen, total, parts)] == keys[part_of(last, total, parts)]
        assert np.frombuffer(row["rows"], np.int32).tolist() == list(range(seen, last + 1))
        bases = np.repeat(np.arange(len(sizes)), sizes)[seen : last + 1]
        assert np.array_equal(np.frombuffer(row["parents"], np.int64), bases)
        seen = last + 1
    assert seen == total


def test_tables_in_an_executor_are_those_of_the_driver() -> None:
    system = Synthetic(epochs=2)
    tables, mirror = Tables(system), Mirror()
    appended = Appended(tables)
    for most in (1, 500, 5000):
        explore(system, tables=tables, limits=Limits(max_states=most))
        assert appended.any
        mirror.apply(appended.take())
        assert not appended.any
        view = mirror.view
        assert view is not None
        for name, column in vars(tables.columns).items():
            assert np.array_equal(getattr(view, name)[: column.count], column.used), name
        for ours, theirs in zip(view.answers, tables.memo.answers, strict=True):
            assert np.array_equal(ours, theirs)
        assert all(find(view.verdicts, key) == tables.verdicts.get(key) for key in tables.judged)
        assert np.array_equal(view.budget_hash, tables.view().budget_hash)
    assert len(tables.resolved) > 100 and mirror.version == 3
