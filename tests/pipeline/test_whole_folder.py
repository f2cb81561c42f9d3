"""A folder that is not written to its end is removed, and stays so."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.pipeline.datasets import Column, Dataset, write
from kraftcheck.pipeline.session import sql_settings
from kraftcheck.pipeline.spark_errors import spark_errors
from kraftcheck.pipeline.whole_folder import write_whole
from kraftcheck.support.errors import InputError
from kraftcheck.support.signals import ending

NUMBERS = Dataset("numbers", 1, "made up", (Column("id", "bigint", "a number"),))
#: With many files, each of which makes the folder anew where it is gone.
MANY = {"spark.sql.files.maxRecordsPerFile": "1"}
#: Seconds that a task writes, and after which it is interrupted.
LONG, SOON = 12.0, 2.0


def _task(fails: bool) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """A task that writes row by row, and fails on its first row if that is 0."""

    def go(batches: Iterator[Any]) -> Iterator[Any]:
        import time

        for batch in batches:
            if fails and batch.column(0)[0].as_py() == 0:
                time.sleep(SOON)
                raise ValueError("no")
            for _ in range(int(LONG * 100)):
                time.sleep(0.01)
                yield batch

    return go


def _writes(spark: Any, fails: bool = False) -> Callable[[str], None]:
    data = spark.range(0, 2, 1, 2).mapInArrow(_task(fails), "id bigint")
    return lambda folder: write(data, NUMBERS, f"{folder}/numbers")


@pytest.mark.spark
def test_what_is_whole_stays(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    data = spark.range(3)

    def work(place: str) -> int:
        assert not folder.exists()
        write(data, NUMBERS, f"{place}/numbers")
        return 7

    assert write_whole(spark, str(folder), work) == 7
    assert (folder / "numbers" / "_SUCCESS").exists()
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.spark
def test_what_is_not_worth_keeping_goes(spark: Any, tmp_path: Path) -> None:
    data = spark.range(3)
    found = write_whole(
        spark,
        str(tmp_path / "out"),
        lambda place: write(data, NUMBERS, f"{place}/numbers") or 7,
        lambda number: number > 7,
    )
    assert found == 7 and not list(tmp_path.iterdir())


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["folder", "file", "empty"])
def test_what_others_put_there_meanwhile_stays(spark: Any, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "out"

    def work(place: str) -> None:
        write(spark.range(3), NUMBERS, f"{place}/numbers")
        if kind == "file":
            folder.write_text("mine")
        else:
            folder.mkdir()
        if kind == "folder":
            (folder / "mine.txt").write_text("mine")

    with pytest.raises(InputError, match=f"^{folder}: something else has come to be there meanwhile"):
        write_whole(spark, str(folder), work)
    assert list(tmp_path.iterdir()) == [folder]
    if kind == "file":
        assert folder.read_text() == "mine"
    else:
        assert [each.name for each in folder.iterdir()] == (["mine.txt"] if kind == "folder" else [])


@pytest.mark.spark
def test_a_folder_that_cannot_be_made_is_named_as_the_user_did(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"/file/out: cannot be made") as caught:
        write_whole(spark, str(tmp_path / "file" / "out"), lambda place: None)
    assert "_out." not in str(caught.value)


@pytest.mark.spark
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_leaves_nothing(spark: Any, tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "out"
    begin = time.monotonic()
    threading.Timer(SOON, os.kill, (os.getpid(), number)).start()
    with sql_settings(spark, MANY), ending(), pytest.raises(KeyboardInterrupt):
        write_whole(spark, str(folder), _writes(spark))
    assert not list(tmp_path.iterdir()) and time.monotonic() - begin < LONG
    time.sleep(1)
    assert not list(tmp_path.iterdir())
    assert spark.range(3).count() == 3


@pytest.mark.spark
def test_a_task_that_fails_leaves_nothing_of_the_others(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with sql_settings(spark, MANY), pytest.raises(spark_errors()):
        write_whole(spark, str(folder), _writes(spark, fails=True))
    assert not list(tmp_path.iterdir())
    time.sleep(1)
    assert not list(tmp_path.iterdir())
