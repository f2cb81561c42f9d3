"""Which functions ran: against a profiler, for every function, and without traces left behind."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from kraftcheck import reference
from kraftcheck.checking.coverage import executed, index
from kraftcheck.checking.coverage.executed import name_of, recording
from kraftcheck.checking.coverage.functions import functions_of, sources_in
from kraftcheck.checking.mutation import catalogue
from kraftcheck.checking.run import check
from kraftcheck.reference.log import Batch, Log, Voters
from kraftcheck.reference.voters import VoterSet, majority, static_voters
from kraftcheck.support.errors import InputError
from kraftcheck.support.places import modules, root
from kraftcheck.systems.kraft import membership
from kraftcheck.systems.scenario import find, shipped

FOLDER = str(Path(str(reference.__file__)).parent)


def profiled(name: str) -> set[str]:
    """The same by the interpreter's own profiler."""
    seen: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(FOLDER):
            seen.add(name_of(frame.f_globals["__name__"], frame.f_code.co_qualname))

    scenario = find(name)
    # What is cached from a check before would not run again.
    with recording():
        pass
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        check(scenario)
    finally:
        sys.setprofile(before)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scenario-a-granting-by-log", "finding-restart-as-candidate"])
def test_what_ran_is_what_a_profiler_sees(name: str) -> None:
    scenario = find(name)
    with recording() as ran:
        check(scenario)
    assert len(ran.names) > 50
    assert ran.names == profiled(name)


@pytest.mark.slow
def test_what_a_system_keeps_of_the_reference_runs_again() -> None:
    voters = static_voters((1, 2))
    log = Log((Batch(0, 1, (Voters(voters),)),))
    for _ in range(2):
        with recording() as ran:
            assert membership.newest(membership.Origin(VoterSet(), 0), log) == voters
        assert "log.Batch.end_offset" in ran.names


@pytest.mark.slow
def test_every_function_of_the_reference_can_be_recorded() -> None:
    for found in pkgutil.walk_packages(reference.__path__, "kraftcheck.reference."):
        importlib.import_module(found.name)
    probed = {
        name_of(each.__globals__["__name__"], each.__code__.co_qualname) for each in executed.functions()
    }
    inside = {each.name for each in functions_of(sources_in(root())).values() if not each.is_module}
    assert inside <= probed and len(inside) > 400


@pytest.mark.slow
def test_all_modules_are_recorded() -> None:
    """Also those that are imported later, if at all."""
    names = {name for name in modules() if name.startswith("kraftcheck.reference")}
    with recording() as ran:
        assert names == set(ran._places)


@pytest.mark.slow
def test_functions_are_found_in_a_forked_process() -> None:
    """In which all that was there is frozen: no search for garbage passes over it."""
    found = executed.functions()
    executed._found.cache_clear()
    gc.freeze()
    try:
        assert {id(each) for each in executed.functions()} == {id(each) for each in found}
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


@pytest.mark.slow
def test_recordings_nest_and_put_everything_back() -> None:
    code = majority.__code__
    with recording() as outer:
        majority(3)
        with recording() as inner:
            assert majority(5) == 3
        majority(1)
        with recording() as idle:
            pass
    assert outer.names == inner.names == {"voters.majority"} and not idle.names
    assert majority.__code__ is code
    with pytest.raises(ZeroDivisionError), recording():
        raise ZeroDivisionError
    assert majority.__code__ is code


@pytest.mark.slow
def test_a_digest_changes_with_its_function_alone() -> None:
    sources = sources_in(root())
    text = sources["reference/voters.py"]
    edited = {**sources, "reference/voters.py": text.replace("return voters // 2 + 1", "return voters // 2")}
    before, after = functions_of(sources), functions_of(edited)
    assert {name for name in after if after[name].digest != before[name].digest} == {"voters.majority"}
    outside = {**sources, "reference/voters.py": text + "\nMORE = 1\n"}
    after = functions_of(outside)
    assert {name for name in after if after[name].digest != before[name].digest} == {"voters"}


# The recording that is shipped.


def test_every_scenario_and_every_mutant_is_recorded() -> None:
    checks = index.recorded(index.CHECKS).checks
    wanted = {each.name for each in shipped().values() if {"ci", "mutants"} & {*each.tags}}
    wanted |= {each.scenario for each in catalogue.shipped().values()}
    named = {name.partition(" ")[2] for name in checks if name.startswith(f"{index.SCENARIO} ")}
    assert wanted <= named, "run: make executed"
    assert named <= shipped().keys(), "run: make executed"
    files = {path.relative_to(root() / "tests" / "vectors").as_posix() for path in vectors()}
    assert {f"{index.VECTORS} {file}" for file in files} <= checks.keys(), "run: make executed"
    assert all(each.functions for each in checks.values())


def vectors() -> list[Path]:
    folder = root() / "tests" / "vectors"
    single = [folder / f"{name}.json" for name in ("functions", "messages", "sequences")]
    return [*single, *(folder / "steps").rglob("*.json")]


def test_the_recording_is_current_enough() -> None:
    """Few functions have changed since. One that changed is still found by what ran it before."""
    functions = functions_of(sources_in(root()))
    for name in (index.CHECKS, index.TESTS):
        assert len(index.recorded(name).stale(functions)) < len(functions) / 10, "run: make executed pages"


def test_a_recording_is_read_as_it_was_written(tmp_path: Path) -> None:
    ran = index.Executed(frozenset({"vote.a", "log.b"}), frozenset({"VOTE-1"}), 1.5)
    none = index.Executed(frozenset(), frozenset(), 0.0)
    kept = index.Index({"scenario x": ran, "scenario y": none}, {"vote.a": "1", "log.b": "2", "log.c": "3"})
    index.write(tmp_path / "index.json", kept, "a test")
    assert index.read((tmp_path / "index.json").read_bytes(), "index.json") == kept


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"checks": {"x": [0, "g", "0"]}}', b"\xff"])
def test_a_damaged_recording_is_one_sentence(content: bytes) -> None:
    with pytest.raises(InputError, match=r"index\.json: .*restore the file") as caught:
        index.read(content, "index.json")
    assert "\n" not in str(caught.value)
