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

from model_check.pipeline.datasets import Column, Dataset, write
from model_check.pipeline.session import sql_settings
from model_check.pipeline.spark_errors import spark_errors
from model_check.pipeline.whole_folder import write_whole

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


def _writes(spark: Any, folder: Path, fails: bool = False) -> Callable[[], None]:
    data = spark.range(0, 2, 1, 2).mapInArrow(_task(fails), "id bigint")
    return lambda: write(data, NUMBERS, f"{folder}/numbers")


@pytest.mark.spark
def test_what_is_whole_stays(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    data = spark.range(3)
    assert write_whole(spark, str(folder), lambda: write(data, NUMBERS, f"{folder}/numbers") or 7) == 7
    assert (folder / "numbers" / "_SUCCESS").exists()


@pytest.mark.spark
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_leaves_nothing(spark: Any, tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "out"
    begin = time.monotonic()
    threading.Timer(SOON, os.kill, (os.getpid(), number)).start()
    with sql_settings(spark, MANY), pytest.raises(KeyboardInterrupt):
        write_whole(spark, str(folder), _writes(spark, folder))
    assert not folder.exists() and time.monotonic() - begin < LONG
    time.sleep(1)
    assert not folder.exists()
    assert spark.range(3).count() == 3


@pytest.mark.spark
def test_a_task_that_fails_leaves_nothing_of_the_others(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with sql_settings(spark, MANY), pytest.raises(spark_errors()):
        write_whole(spark, str(folder), _writes(spark, folder, fails=True))
    assert not folder.exists()
    time.sleep(1)
    assert not folder.exists()
