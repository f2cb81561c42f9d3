"""Exploration on Spark, forced from level 0, against the engine."""

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

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kraftcheck.cli.main import main
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.synthetic import Synthetic
from kraftcheck.engine.system import Exploration, System
from kraftcheck.pipeline.explore.command import _folder
from kraftcheck.pipeline.explore.level import Spent
from kraftcheck.pipeline.explore.search import Options, explore_on_spark
from kraftcheck.pipeline.files import Files
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import find
from tests.engine.random_systems import random_system

FIELDS = (
    "verdict", "distinct", "states", "generated", "skipped", "levels", "depth", "constrained", "deadlocks",
    "reached_goals", "missing_goals", "calls", "limit", "collision_probability",
)  # fmt: skip


#: A step violates a property, and a state that it leads to breaks an invariant.
SEVERAL = 1212
#: Two small levels, a larger one, and a step from there that violates a property.
VIOLATED = 577


def on_spark(spark: Any, system: System, folder: Path, **more: Any) -> tuple[Exploration, Spent]:
    spent = Spent()
    options = Options(folder.as_uri(), "this test", parts=2, hand_over=more.pop("hand_over", 0))
    return explore_on_spark(system, spark=spark, options=options, spent=spent, **more), spent


def require_same(found: Exploration, expected: Exploration) -> None:
    for name in FIELDS:
        assert getattr(found, name) == getattr(expected, name), name
    by_name = {each.property: each for each in expected.violations}
    assert {each.property: each for each in found.violations} == by_name


@pytest.mark.spark
@pytest.mark.parametrize(
    "seed", [24, SEVERAL, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (40, 98, 105, 106))]
)
def test_random_systems(spark: Any, tmp_path: Path, seed: int) -> None:
    found, spent = on_spark(spark, random_system(seed), tmp_path)
    require_same(found, explore(random_system(seed)))
    assert spent.handed_over == 0 and not spent.looked_ahead


@pytest.mark.spark
def test_brokers_with_clocks(spark: Any, tmp_path: Path) -> None:
    scenario = find("brokers-timeouts-swapped")
    found, spent = on_spark(spark, kind_of(scenario).build(scenario), tmp_path)
    require_same(found, explore(kind_of(scenario).build(scenario)))
    assert [each.property for each in found.violations] == ["InactiveBeforeSelfFenced"]
    assert spent.handed_over == 0


@pytest.mark.spark
def test_small_levels_after_large_ones_are_explored_in_the_driver(spark: Any, tmp_path: Path) -> None:
    found, spent = on_spark(spark, random_system(98), tmp_path, hand_over=5)
    require_same(found, explore(random_system(98)))
    assert found.levels == (1, 3, 8, 10, 4)
    assert spent.handed_over == 2 and spent.states == 14 and spent.looked_ahead == 1


@pytest.mark.nightly
@pytest.mark.spark
def test_symmetry(spark: Any, tmp_path: Path) -> None:
    system = Synthetic(epochs=1, symmetry=True)
    found, spent = on_spark(spark, system, tmp_path)
    require_same(found, explore(system))
    assert found.states > found.distinct and spent.passes > len(found.levels)


#: A system whose search has some levels on Spark.
RESUMED = 98


class Killed(Exception):
    pass


@pytest.mark.spark
@pytest.mark.parametrize(
    "stage",
    [
        "write_level",
        pytest.param("append_visited", marks=pytest.mark.slow),
        pytest.param("commit", marks=pytest.mark.slow),
    ],
)
def test_a_run_that_ends_in_the_middle_of_a_level_goes_on(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    """Ended just before and just after each thing that a level writes."""
    from kraftcheck.pipeline.explore.store import Store

    expected = explore(random_system(RESUMED))
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
    ended = 0
    while True:
        try:
            found, spent = on_spark(spark, random_system(RESUMED), tmp_path)
            break
        except Killed:
            ended += 1
    require_same(found, expected)
    assert ended == 2 and spent.taken_up is not None


@pytest.mark.spark
def test_what_a_violating_step_leads_to_is_judged_by_a_run_that_goes_on(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended after the level was written, before it was judged."""
    from kraftcheck.pipeline.explore.store import Manifest, Store

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


@pytest.mark.slow
@pytest.mark.spark
def test_a_folder_that_cannot_be_used_is_refused(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("something else")
    with pytest.raises(InputError, match=r"has 'notes.txt' but no complete"):
        on_spark(spark, random_system(1), tmp_path)
    folder = tmp_path / "run"
    found, _ = on_spark(spark, random_system(RESUMED), folder)
    # Once more: there is little left to do.
    again, spent = on_spark(spark, random_system(RESUMED), folder)
    require_same(again, found)
    assert spent.taken_up == len(found.levels) - 1
    other = Options(folder.as_uri(), "something else", 2, 0)
    with pytest.raises(InputError, match="a run of another scenario"):
        explore_on_spark(random_system(RESUMED), spark=spark, options=other)
    last = max((folder / "complete").glob("*.json"))
    text = last.read_text()
    for checksum in folder.rglob(".*.crc"):
        checksum.unlink()
    last.write_text(text.replace('"generated":', '"generated":1'))
    with pytest.raises(InputError, match="is not what was written; the run is damaged"):
        on_spark(spark, random_system(RESUMED), folder)
    last.write_text(text[:100])
    with pytest.raises(InputError, match="is not what was written; the run is damaged"):
        on_spark(spark, random_system(RESUMED), folder)
    last.write_text(text)
    rows = max(path for path in (folder / "levels").glob("*/*.parquet"))
    content = rows.read_bytes()
    rows.unlink()
    with pytest.raises(InputError, match=f"{rows}: is missing; the run is damaged"):
        on_spark(spark, random_system(RESUMED), folder)
    rows.write_bytes(content)
    for file in (rows, min((folder / "visited").glob("*.parquet"))):
        content = file.read_bytes()
        file.write_bytes(content[:99])
        with pytest.raises(InputError, match=f"{file}: has 99 bytes instead of .*; the run is damaged: "):
            on_spark(spark, random_system(RESUMED), folder)
        pq.write_table(pa.table({"a": [1]}), file)
        with pytest.raises(InputError, match=f"{file}: has .* bytes instead of .*; the run is damaged"):
            on_spark(spark, random_system(RESUMED), folder)
        file.write_bytes(content)
    keys = max((folder / "keys").glob("0*"))
    keys.write_bytes(keys.read_bytes() + b"12345678")
    with pytest.raises(InputError, match=r"keys.*is not what was written; the run is damaged"):
        on_spark(spark, random_system(RESUMED), folder)


@pytest.mark.spark
def test_a_folder_may_be_relative_and_have_any_name(spark: Any, tmp_path: Path) -> None:
    """Where the process is, and not in the warehouse of Spark's catalog."""
    from kraftcheck.pipeline.explore.store import VISITED, Store

    here = os.path.relpath(tmp_path, Path.cwd()) + "/it's a run"
    store = Store(spark.newSession(), here, "relative")
    store.claim()
    store.choose_parts(2)
    store.new_visited()
    store.append_visited(store.spark.createDataFrame([(store.parts[0], 0, b"12345678")], VISITED.ddl))
    assert store.visited(0).count() == 1
    store.close()
    assert list((tmp_path / "it's a run" / "visited").glob("*.parquet"))
    again = Store(spark.newSession(), here, "again")
    again.claim()
    again.parts = store.parts
    again.new_visited()
    assert again.visited(0).count() == 0
    again.close()


@pytest.mark.spark
def test_a_level_that_lacks_states_is_said_to_be_damaged(spark: Any, tmp_path: Path) -> None:
    """A level in the middle is read only when a counterexample is told."""
    folder = tmp_path / "run"
    found, _ = on_spark(spark, random_system(SEVERAL), folder)
    assert found.violations and len(found.levels) > 2
    for part in (folder / "levels" / "00001").glob("*.parquet"):
        part.unlink()
    with pytest.raises(InputError, match=r"levels/00001/part-.*: is missing; the run is damaged"):
        on_spark(spark, random_system(SEVERAL), folder)


def _flip(path: Path, bit: int) -> None:
    content = bytearray(path.read_bytes())
    content[bit // 8 % len(content)] ^= 1 << bit % 8
    path.write_bytes(content)


@pytest.mark.spark
@pytest.mark.parametrize("all_files", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_no_changed_bit_is_taken_up(spark: Any, tmp_path: Path, all_files: bool) -> None:
    """Where no file system has checksums. The run is violated, so taking it up reads all kinds of files."""
    folder = tmp_path / "run"
    found, _ = on_spark(spark, random_system(VIOLATED), folder, hand_over=2)
    assert found.violations
    for checksum in folder.rglob(".*.crc"):
        checksum.unlink()
    before = {path for path in folder.rglob("*") if path.is_file() and path.stat().st_size}
    # The name of the run is written anew; of descriptions the last one counts.
    used = before - {folder / "run"} - set(sorted((folder / "complete").iterdir())[:-1])
    kinds = {(path.parent.parent.name, path.parent.name, path.suffix): path for path in sorted(used)}
    assert {path.relative_to(folder).parts[0] for path in used} == {
        "levels", "links", "visited", "keys", "complete",
    }  # fmt: skip
    random = Random(0)
    for path in sorted(used) if all_files else sorted(kinds.values())[::3]:
        content = path.read_bytes()
        _flip(path, random.randrange(8 * len(content)))
        with pytest.raises(InputError, match=f"^(file:(//)?)?{path}: is .*; the run is damaged: remove"):
            on_spark(spark, random_system(VIOLATED), folder, hand_over=2)
        path.write_bytes(content)
        for checksum in folder.rglob(".*.crc"):
            checksum.unlink()
    extra = folder / "levels" / "00002" / "part-00000-more.parquet"
    shutil.copy(min((folder / "levels" / "00002").glob("*.parquet")), extra)
    with pytest.raises(InputError, match=f"{extra}: was not there .*; the run is damaged"):
        on_spark(spark, random_system(VIOLATED), folder, hand_over=2)
    extra.unlink()
    # What a killed run leaves of a level that it did not complete.
    left = folder / "visited" / "part-00000-left.parquet"
    shutil.copy(min((folder / "visited").glob("*.parquet")), left)
    require_same(on_spark(spark, random_system(VIOLATED), folder, hand_over=2)[0], found)
    assert not left.exists()


@pytest.mark.slow
@pytest.mark.spark
def test_an_earlier_run_in_the_same_folder_ends(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kraftcheck.pipeline.explore.store import Store

    inner = Store.write_level
    begun = False

    def begin_another(self: Store, *arguments: Any) -> None:
        nonlocal begun
        inner(self, *arguments)
        if not begun:
            begun = True
            on_spark(spark, random_system(RESUMED), tmp_path)

    monkeypatch.setattr(Store, "write_level", begin_another)
    with pytest.raises(InputError, match="another run uses it now"):
        on_spark(spark, random_system(RESUMED), tmp_path)


@pytest.mark.spark
def test_what_fits_the_driver_is_explored_there(spark: Any, tmp_path: Path) -> None:
    small = Synthetic(nodes=3, epochs=1, entries=1, restarts=0, capacity=3)
    found, spent = on_spark(spark, small, tmp_path, hand_over=200_000)
    require_same(found, explore(small))
    assert spent.handed_over is None


def test_a_folder_without_a_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pipeline", "explore", "single-voter", "--dir", ""]) == 2
    assert "--dir: expected a folder" in capsys.readouterr().err


def test_what_spark_does_not_do_is_refused() -> None:
    with pytest.raises(ValueError, match="first violation"):
        explore_on_spark(
            random_system(1),
            spark=None,
            options=Options("", ""),
            keep_going=True,  # type: ignore[arg-type]
        )


@pytest.mark.slow
@pytest.mark.spark
def test_a_folder_of_any_name(spark: Any, tmp_path: Path) -> None:
    """With quotes, spaces and what stands for others in a URI; a trace reads all kinds of data there."""
    folder = tmp_path / "it's a 100%20 run"
    options = Options(f"file://{folder}", "this test", parts=2, hand_over=2)
    found = explore_on_spark(random_system(VIOLATED), spark=spark, options=options)
    require_same(found, explore(random_system(VIOLATED)))
    assert found.violations and list((folder / "links").iterdir())
    require_same(explore_on_spark(random_system(VIOLATED), spark=spark, options=options), found)


@pytest.mark.spark
@pytest.mark.parametrize("character", list("*?[]{}\\"))
def test_a_folder_whose_name_is_a_pattern_is_refused(spark: Any, character: str) -> None:
    with pytest.raises(InputError, match=r"takes the .* for a wildcard; name a path"):
        Files(spark, f"file:///run{character}1")


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


@pytest.mark.slow
@pytest.mark.spark
def test_what_a_level_takes_is_computed_once(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Spark keeps for a level is there until the last thing is written."""
    from kraftcheck.pipeline.explore.store import Store

    kept: dict[str, list[set[int]]] = {"write_level": [], "append_visited": []}

    def noting(name: str, inner: Callable[..., None]) -> Callable[..., None]:
        def noted(self: Store, *arguments: Any) -> None:
            kept[name].append({data.id() for data in spark.sparkContext._jsc.sc().getRDDStorageInfo()})
            inner(self, *arguments)

        return noted

    for name in kept:
        monkeypatch.setattr(Store, name, noting(name, getattr(Store, name)))
    on_spark(spark, random_system(RESUMED), tmp_path)
    # Level 0 is written by the driver.
    assert len(kept["write_level"]) == len(kept["append_visited"]) > 3
    assert kept["append_visited"][1:] == kept["write_level"][1:]
    assert all(len(found) > 1 for found in kept["write_level"][1:])
