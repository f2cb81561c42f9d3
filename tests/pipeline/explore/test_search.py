"""Exploration on Spark against the engine, and the folder of a run."""

from __future__ import annotations

import os
import shutil
import tempfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Exploration, System
from kraftcheck.pipeline.explore.command import _folder
from kraftcheck.pipeline.explore.level import Spent
from kraftcheck.pipeline.explore.search import Options, explore_on_spark
from kraftcheck.pipeline.explore.store import VISITED, Manifest, Store
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import find
from tests.engine.random_systems import random_system
from tests.engine.synthetic import Synthetic

FIELDS = (
    "verdict", "distinct", "states", "generated", "skipped", "levels", "depth", "constrained", "deadlocks",
    "reached_goals", "missing_goals", "calls", "limit",
)  # fmt: skip

#: A step violates a property, and a state that it leads to breaks an invariant.
SEVERAL = 1212
#: Two small levels, a larger one, and a step from there that violates a property.
VIOLATED = 577
#: A system whose search has some levels on Spark.
RESUMED = 98


def on_spark(spark: Any, system: System, folder: Path, **more: Any) -> tuple[Exploration, Spent]:
    spent = Spent()
    # Not as a URI, in which some characters have another form.
    options = Options(f"file://{folder}", more.pop("made_for", "this test"), 2, more.pop("hand_over", 0))
    return explore_on_spark(system, spark=spark, options=options, spent=spent, **more), spent


def require_same(found: Exploration, expected: Exploration) -> None:
    for name in FIELDS:
        assert getattr(found, name) == getattr(expected, name), name
    # Levels on Spark go by 64 bits of the fingerprints, not by 80.
    native = expected.collision_probability
    assert found.collision_probability in (native, 2**16 * native)
    by_name = {each.property: each for each in expected.violations}
    assert {each.property: each for each in found.violations} == by_name


# Random systems in thousands are explored in test_in_memory.py.


@pytest.mark.spark
@pytest.mark.parametrize(
    "seed", [SEVERAL, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (24, 40, 98, 105, 106))]
)
def test_random_systems(spark: Any, tmp_path: Path, seed: int) -> None:
    found, spent = on_spark(spark, random_system(seed), tmp_path)
    require_same(found, explore(random_system(seed)))
    assert spent.handed_over == 0


@pytest.mark.spark
def test_brokers_with_clocks(spark: Any, tmp_path: Path) -> None:
    scenario = find("brokers-timeouts-swapped")
    found, spent = on_spark(spark, kind_of(scenario).build(scenario), tmp_path, hand_over=20)
    require_same(found, explore(kind_of(scenario).build(scenario)))
    assert [each.property for each in found.violations] == ["InactiveBeforeSelfFenced"]
    assert spent.handed_over == 5


@pytest.mark.nightly
@pytest.mark.spark
def test_symmetry(spark: Any, tmp_path: Path) -> None:
    system = Synthetic(epochs=1, symmetry=True)
    found, spent = on_spark(spark, system, tmp_path)
    require_same(found, explore(system))
    assert found.states > found.distinct and spent.passes > len(found.levels)


@pytest.mark.spark
def test_what_fits_the_driver_is_explored_there(spark: Any, tmp_path: Path) -> None:
    small = Synthetic(nodes=3, epochs=1, entries=1, restarts=0, capacity=3)
    found, spent = on_spark(spark, small, tmp_path, hand_over=200_000)
    require_same(found, explore(small))
    assert spent.handed_over is None


@pytest.mark.spark
def test_large_levels_are_handed_over_and_computed_once(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark keeps the data of a level until the last of it is written."""
    kept: dict[str, list[set[int]]] = {"write_level": [], "append_visited": []}

    def noting(name: str, inner: Callable[..., None]) -> Callable[..., None]:
        def noted(self: Store, *arguments: Any) -> None:
            kept[name].append({data.id() for data in spark.sparkContext._jsc.sc().getRDDStorageInfo()})
            inner(self, *arguments)

        return noted

    for name in kept:
        monkeypatch.setattr(Store, name, noting(name, getattr(Store, name)))
    found, spent = on_spark(spark, random_system(RESUMED), tmp_path, hand_over=5)
    require_same(found, explore(random_system(RESUMED)))
    assert found.levels == (1, 3, 8, 10, 4) and (spent.handed_over, spent.states) == (2, 14)
    # The first is written by the driver.
    assert kept["append_visited"][1:] == kept["write_level"][1:]
    assert all(len(found) > 1 for found in kept["write_level"][1:]) and len(kept["write_level"]) == 3


class Killed(Exception):
    pass


@pytest.mark.spark
@pytest.mark.parametrize(
    "stage",
    [
        "write_level",
        *(pytest.param(name, marks=pytest.mark.nightly) for name in ("append_visited", "commit")),
    ],
)
def test_a_run_that_ends_in_the_middle_of_a_level_goes_on(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """Ended just before and just after each thing that a level writes."""
    inner = getattr(Store, stage)
    calls = 0

    def killed(self: Store, *arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Killed
        result = inner(self, *arguments)
        if calls == 4:
            raise Killed
        return result

    monkeypatch.setattr(Store, stage, killed)
    for _ in range(2):
        with pytest.raises(Killed):
            on_spark(spark, random_system(RESUMED), tmp_path)
    found, spent = on_spark(spark, random_system(RESUMED), tmp_path)
    require_same(found, explore(random_system(RESUMED)))
    assert spent.taken_up is not None


@pytest.mark.spark
@pytest.mark.nightly
def test_what_a_violating_step_leads_to_is_judged_by_a_run_that_goes_on(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended after the level was written, before it was judged."""
    inner = Store.commit

    def killed(self: Store, manifest: Manifest) -> None:
        inner(self, manifest)
        if manifest.violations:
            raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Store, "commit", killed)
        on_spark(spark, random_system(SEVERAL), tmp_path)
    found, spent = on_spark(spark, random_system(SEVERAL), tmp_path)
    require_same(found, explore(random_system(SEVERAL)))
    assert len(found.violations) > 1 and spent.taken_up == len(found.levels) - 1


# Folders.


@pytest.fixture(scope="module")
def kept(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run that is violated, so taking it up reads all kinds of files; without other checksums.

    Its name has quotes, spaces and what stands for other characters in a URI.
    """
    folder = tmp_path_factory.mktemp("kept") / "it's a 100%20 run"
    found, _ = on_spark(spark, random_system(VIOLATED), folder, hand_over=2)
    require_same(found, explore(random_system(VIOLATED)))
    assert found.violations and (folder / "links").is_dir()
    return folder


@pytest.fixture
def run(kept: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    ignored = shutil.ignore_patterns("*.crc")
    return Path(shutil.copytree(kept, tmp_path / "it's a 100%20 run", ignore=ignored))


@pytest.mark.spark
@pytest.mark.parametrize("all_files", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_no_changed_bit_is_taken_up(spark: Any, run: Path, all_files: bool) -> None:
    before = {path for path in run.rglob("*") if path.is_file() and path.stat().st_size}
    # The name of the run is written anew, and the mark of the folder's kind; of descriptions the last counts.
    used = before - {run / "run"} - set(sorted((run / "complete").iterdir())[:-1])
    kinds = {(path.parent.parent.name, path.parent.name, path.suffix): path for path in sorted(used)}
    assert {path.relative_to(run).parts[0] for path in used} == {
        "levels", "links", "visited", "keys", "complete",
    }  # fmt: skip
    random = Random(0)
    for path in sorted(used) if all_files else sorted(kinds.values())[::3]:
        content = bytearray(path.read_bytes())
        bit = random.randrange(8 * len(content))
        content[bit // 8] ^= 1 << bit % 8
        _refused(spark, run, path, bytes(content), "is .*")


@pytest.mark.spark
def test_other_files_than_before_are_refused(spark: Any, run: Path) -> None:
    last = run / "levels" / f"{max(int(each.name) for each in (run / 'levels').iterdir()):05d}"
    part, visited = min(last.glob("*.parquet")), min((run / "visited").glob("*.parquet"))
    keys = max((run / "keys").glob("0*[0-9]"))
    for path in (part, visited):
        _refused(spark, run, path, path.read_bytes()[:99], "has 99 bytes instead of .*")
        _refused(spark, run, path, None, "is missing")
    _refused(spark, run, keys, keys.read_bytes() + b"12345678", "is not what was written")
    _refused(spark, run, last / "part-00000-more.parquet", part.read_bytes(), "was not there .*")
    _refused(spark, run, run / "visited" / "mine.parquet", visited.read_bytes(), "was not written by .*")
    with pytest.raises(InputError, match="a run of another scenario"):
        on_spark(spark, random_system(VIOLATED), run, made_for="something else")
    # What a killed run leaves of a level that it did not complete is removed.
    left = run / "visited" / "part-00000-left.parquet"
    shutil.copy(visited, left)
    found, spent = on_spark(spark, random_system(VIOLATED), run, hand_over=2)
    require_same(found, explore(random_system(VIOLATED)))
    assert not left.exists() and spent.taken_up == len(found.levels) - 1


def _refused(spark: Any, run: Path, path: Path, content: bytes | None, said: str) -> None:
    """The run is refused with this ``content`` of the file ``path``; ``None``: without it."""
    before = path.read_bytes() if path.exists() else None
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=f"^(file:(//)?)?{path}: {said}; the run is damaged: remove"):
        on_spark(spark, random_system(VIOLATED), run, hand_over=2)
    for file in (path, *run.rglob(".*.crc")):
        file.unlink(missing_ok=True)
    if before is not None:
        path.write_bytes(before)


@pytest.mark.spark
def test_a_folder_may_be_relative_and_have_any_name(spark: Any, tmp_path: Path) -> None:
    """Where the process is, and not in the warehouse of Spark's catalog."""
    here = os.path.relpath(tmp_path, Path.cwd()) + "/it's a run"
    store = Store(spark.newSession(), here, "relative")
    store.claim()
    store.choose_parts(2)
    store.new_visited()
    store.append_visited(store.spark.createDataFrame([(store.parts[0], 0, b"12345678")], VISITED.ddl))
    assert store.visited(0).count() == 1
    store.close()
    assert list((tmp_path / "it's a run" / "visited").glob("*.parquet"))


def test_a_folder_without_a_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "explore", "single-voter", "--dir", ""]) == 2
    assert "--dir: expected a folder" in capsys.readouterr().err


def test_what_spark_does_not_do_is_refused() -> None:
    nothing: Any = None
    with pytest.raises(ValueError, match="first violation"):
        explore_on_spark(random_system(1), spark=nothing, options=Options("", ""), keep_going=True)


def test_the_temporary_folder_is_the_one_that_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its name has a character that has another form in a URI."""
    place = tmp_path / "a place"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    spark: Any = SimpleNamespace(sparkContext=SimpleNamespace(master="local[2]"))
    scenario: Any = None
    with _folder(scenario, Namespace(dir=None), spark) as folder:
        assert folder.startswith("file:///") and Path(folder.removeprefix("file://")).is_dir()
