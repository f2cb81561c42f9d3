"""The guess at the number of states that a search will find."""

from __future__ import annotations

from math import exp

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kraftcheck.engine.forecast import later_states

#: Of the scenario divergence, from the first to the last level.
REAL = [
    *(1, 3, 10, 33, 86, 199, 413, 829, 1_527, 2_677, 4_354, 6_937, 10_646, 15_674, 22_580, 32_250, 47_345),
    *(70_361, 105_666, 156_913, 223_108, 300_775, 382_009, 447_548, 475_885, 450_208, 372_623, 263_513),
    *(159_619, 82_851, 37_618, 15_181, 5_632, 1_745, 467, 86),
]


@given(st.integers(8, 60), st.floats(3, 15), st.integers(10**6, 10**9))
def test_levels_like_a_bell_curve_are_foreseen_from_their_middle_on(
    middle: int, width: float, most: int
) -> None:
    levels = [round(most * exp(-(((level - middle) / width) ** 2) / 2)) for level in range(200)]
    known = [size for size in levels[: middle + 1] if size]
    expected = sum(levels[middle + 1 :])
    assert later_states(known) == pytest.approx(expected, rel=0.01)


@given(st.lists(st.integers(1, 2**40)))
@example([10, 30, 90, 270, 810, 2_430, 7_289])
def test_there_is_a_guess_or_none_for_any_levels(levels: list[int]) -> None:
    found = later_states(levels)
    assert found is None or found >= 0


def test_there_is_none_while_levels_grow_ever_faster() -> None:
    assert later_states([2**level for level in range(20)]) is None
    assert later_states([2**level**2 for level in range(7)]) is None


def test_there_is_none_at_the_beginning() -> None:
    assert later_states([1, 8, 20, 30, 20, 8]) is None


def test_of_a_real_search_from_two_thirds_on() -> None:
    total = sum(REAL)
    for known in range(len(REAL)):
        found = sum(REAL[:known])
        if found > total * 2 / 3:
            later = later_states(REAL[:known])
            assert later is not None and 0.98 * total < found + later < 1.3 * total
