"""Fingerprints: what the kernels add up is what the states have, and tags tell apart what sums do not."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.engine import hashing, tables
from kraftcheck.engine.block import Batch
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.hashing import MASK64, orbits
from kraftcheck.engine.native_map import MULTIPLIER
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.system import System
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.view import FINGERPRINT
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import find
from tests.engine import random_symmetric, random_systems
from tests.engine.random_systems import RandomSystem
from tests.examples import examples


def assert_added_up(system: System, threads: int = 1) -> None:
    """The fingerprints of new states are those of their rows."""
    kept = Tables(system)

    def compare(batch: Batch) -> None:
        assert np.array_equal(batch.fps, kept.fingerprints(batch.rows))

    explore(system, threads=threads, on_states=compare, tables=kept)


@pytest.mark.slow
@examples(40)
@given(st.one_of(random_systems.systems(), random_symmetric.systems()), st.integers(1, 2))
def test_steps_add_up_to_what_states_have(system: System, threads: int) -> None:
    assert_added_up(system, threads)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["brokers-data-without-isr", "cordoned-leader", "three-voters-crash-symmetry"]
)
def test_so_they_do_in_scenarios(name: str) -> None:
    scenario = find(name)
    assert_added_up(kind_of(scenario).build(scenario))


@pytest.mark.slow
@examples(40)
@given(random_systems.systems())
def test_tags_tell_apart_what_sums_do_not(system: RandomSystem) -> None:
    """With hashes of 11 bits many states have the same sum."""

    def weak(salt: object, text: str) -> int:
        found = hashing.text_hash(salt, text) & 0x7FF
        while known.setdefault(found, (salt, text)) != (salt, text):
            found = (found + 1) & 0xFFFF
        return found

    known: dict[int, tuple[object, str]] = {}
    with mock.patch.object(tables, "text_hash", weak):
        assert explore(system, partial_order=False).distinct == explore_naively(system)[0].distinct


def test_the_tag_of_an_orbit_is_that_of_its_least_sum() -> None:
    fps = np.array([[5, 3, 9, 50, 30, 90], [1, 2, 1, 10, 20, 10]], np.uint64)
    found = orbits(fps)
    assert found.dtype == FINGERPRINT
    assert found["sum"].tolist() == [3 * int(MULTIPLIER) & MASK64, int(MULTIPLIER)]
    assert found["tag"].tolist() == [30, 10]
