"""Which folders a run on Spark takes, on a folder in memory."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.pipeline.explore.store import Manifest
from kraftcheck.support.errors import InputError
from tests.engine.random_systems import random_system
from tests.pipeline.explore.in_memory import InMemory, Killed, Memory, Setup, explore_in_memory

RUN = b"0123456789abcdef" * 2


def _store(small: dict[str, bytes]) -> InMemory:
    return InMemory(Random(0), Memory(small=small), RUN.decode())


@cache
def _kept() -> dict[str, bytes]:
    memory = Memory()
    explore_in_memory(random_system(98), Random(0), memory, Setup())
    return memory.small


@pytest.mark.parametrize(
    "small",
    [
        {},
        {"run": RUN},
        {"run": RUN, "run.new": b""},
        {"run": RUN, "complete/begun.new": b""},
        {"run": RUN, "complete/begun": b"", "keys/00000": b"12345678"},
    ],
)
def test_what_a_run_leaves_that_is_killed_as_it_begins_is_begun_again(small: dict[str, bytes]) -> None:
    assert _store(small).load("") is None


@pytest.mark.parametrize("name", ["run", "keys", "notes.txt", "levels/00000/a", "visited/a", "complete/a"])
def test_a_foreign_folder_is_refused(name: str) -> None:
    small = {name: b"of another program"}
    with pytest.raises(InputError, match=f"has '{name.split('/')[0]}.*no complete/.*name another folder"):
        _store(small).load("")
    assert small == {name: b"of another program"}


@pytest.mark.slow
def test_a_run_without_its_descriptions_is_not_begun_again() -> None:
    kept = {name: content for name, content in _kept().items() if not name.startswith("complete/")}
    with pytest.raises(InputError, match=r"has 'keys' but no complete/.*remove this one if it was a run"):
        _store(kept).load("")


@pytest.mark.parametrize("stray", ["x00004.json", "99999.json", "copy.json"])
def test_a_description_under_another_name_is_refused(stray: str) -> None:
    kept = _kept()
    name = max(name for name in kept if name.startswith("complete/"))
    with pytest.raises(InputError, match=f"complete/{stray}: is not what was written"):
        _store(kept | {f"complete/{stray}": kept[name]}).load(Manifest.parse(kept[name]).made_for)


@given(st.integers(0, 2**20))
def test_every_changed_bit_of_the_description_is_refused(bit: int) -> None:
    kept = _kept()
    name = max(name for name in kept if name.startswith("complete/"))
    changed = bytearray(kept[name])
    changed[bit // 8 % len(changed)] ^= 1 << bit % 8
    with pytest.raises(InputError, match=f"{name}: is not what was written; the run is damaged"):
        _store(kept | {name: bytes(changed)}).load("")


@pytest.mark.parametrize("end_at", range(4))
def test_a_run_that_is_killed_early_is_taken_for_one(end_at: int) -> None:
    memory = Memory()
    with pytest.raises(Killed):
        explore_in_memory(random_system(98), Random(0), memory, Setup(end_at=end_at))
    explore_in_memory(random_system(98), Random(1), memory, Setup())
    assert "complete/begun" not in memory.small
