"""Data sets: complete or not there, and unchanged or refused."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.pipeline.datasets import SUMS, Dataset, read, require_sums, sums_of, write, write_whole
from kraftcheck.pipeline.errors import spark_errors
from kraftcheck.pipeline.files import Files, exists
from kraftcheck.support.errors import InputError
from kraftcheck.support.signals import ending

pytestmark = pytest.mark.spark

VOTES = Dataset("votes", 2, "node int, epoch bigint")
NUMBERS = Dataset("numbers", 1, "id bigint")
ROWS = [(1, 5), (2, 7)]
#: With 1 there are many files, each of which makes the folder anew where it is gone.
RECORDS = "spark.sql.files.maxRecordsPerFile"
#: Seconds that a task writes, and after which it is interrupted.
LONG, SOON = 8.0, 1.0


def _written(spark: Any, path: Path, parts: int = 1) -> Path:
    write(spark.createDataFrame(ROWS, VOTES.ddl).repartition(parts), VOTES, str(path))
    return path


def _rows(spark: Any, path: Path) -> list[tuple[int, int]]:
    return sorted(tuple(row) for row in read(spark, VOTES, str(path), repair="do it").collect())


def test_what_is_not_the_data_set_is_refused(spark: Any, tmp_path: Path) -> None:
    path = _written(spark, tmp_path / "votes")
    assert _rows(spark, path) == ROWS
    for other, said in (
        (replace(VOTES, name="epochs"), "holds 'votes', expected a data set 'epochs' of kraftcheck"),
        (replace(VOTES, version=3), "has version 2 of 'votes', expected 3; make it again"),
    ):
        with pytest.raises(InputError, match=f"^{path / SUMS}: {said}"):
            read(spark, other, str(path))
    for nowhere in ("", "nosuch://a/b"):
        with pytest.raises(InputError, match=f"^{nowhere}: cannot be used .* the cluster can use.$"):
            read(spark, VOTES, nowhere)
    with pytest.raises(InputError, match="none: there is nothing; give a data set 'votes'"):
        read(spark, VOTES, str(tmp_path / "none"))
    spark.range(3).write.parquet(str(tmp_path / "foreign"))
    with pytest.raises(InputError, match=rf"foreign: is no complete .* \({SUMS} is missing\); remove the"):
        read(spark, VOTES, str(tmp_path / "foreign"))


def test_every_change_of_a_file_is_refused_by_its_name(spark: Any, tmp_path: Path) -> None:
    path = _written(spark, tmp_path / "votes", parts=2)
    first, second, *_ = sorted(path.glob("*.parquet"))
    changes: list[tuple[Path, Callable[[Path, bytes], object], str]] = [
        (first, lambda file, content: file.unlink(), "is missing"),
        (second, lambda file, content: file.write_bytes(content[:99]), "has 99 bytes instead of the"),
        (path / SUMS, lambda file, content: file.write_bytes(content[:99]), "is not what was written"),
        (path / SUMS, lambda file, content: _flip(file, content, 1000), "is not what was written"),
        *(
            (first, lambda file, content, bit=bit: _flip(file, content, bit), "is damaged")
            for bit in (40, 999)
        ),
    ]
    for file, change, said in changes:
        content = file.read_bytes()
        _without_crc(path)
        change(file, content)
        with pytest.raises(InputError, match=f"^{file}: {said}.*; do it.$"):
            _rows(spark, path)
        file.write_bytes(content)
    _without_crc(path)
    more = path / "part-00009-more.parquet"
    more.write_bytes(b"more")
    with pytest.raises(InputError, match=f"^{more}: was not there when the data set was complete; do it.$"):
        _rows(spark, path)
    sums = {file.rpartition("/")[2]: each for file, each in sums_of(spark, [str(path)]).items()}
    del sums[more.name]
    assert require_sums(spark, {str(path): sums}, "do it", more=True) == [more.name]
    more.unlink()
    (path / "a folder").mkdir()
    assert _rows(spark, path) == ROWS


def _flip(file: Path, content: bytes, bit: int) -> None:
    file.write_bytes(bytes(byte ^ (1 << bit % 8) * (at == bit // 8) for at, byte in enumerate(content)))


def _without_crc(path: Path) -> None:
    """As on file systems that have no checksums of their own."""
    for file in path.glob(".*.crc"):
        file.unlink()


@pytest.mark.parametrize("character", list("*?[]{}\\"))
def test_a_path_that_spark_takes_for_a_pattern_is_refused(spark: Any, tmp_path: Path, character: str) -> None:
    place = f"{tmp_path}/results{character}1"
    for use in (
        lambda: exists(spark, place),
        lambda: read(spark, VOTES, place),
        lambda: Files(spark, place, "choose"),
        lambda: write_whole(spark, place, lambda folder: None),
    ):
        with pytest.raises(InputError) as caught:
            use()
        assert str(caught.value).startswith(
            f"{place}: Spark takes the '{character}' for a wildcard; name a path"
        )


# Folders that are written as a whole.


def _writes(spark: Any, fails: bool = False) -> Callable[[str], None]:
    """Tasks that write row by row; one fails soon, if ``fails``."""

    def go(batches: Iterator[Any]) -> Iterator[Any]:
        import time

        for batch in batches:
            if fails and batch.column(0)[0].as_py() == 0:
                time.sleep(SOON)
                raise ValueError("no")
            for _ in range(int(LONG * 100)):
                time.sleep(0.01)
                yield batch

    data = spark.range(0, 2, 1, 2).mapInArrow(go, "id bigint")
    return lambda folder: write(data, NUMBERS, f"{folder}/numbers")


def test_a_folder_is_there_when_it_is_whole_and_wanted(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "out"

    def work(place: str) -> int:
        assert not folder.exists()
        write(spark.range(3), NUMBERS, f"{place}/numbers")
        return 7

    assert write_whole(spark, str(folder), work, lambda number: number > 7) == 7
    assert not list(tmp_path.iterdir())
    assert write_whole(spark, str(folder), work) == 7
    assert list(tmp_path.iterdir()) == [folder] and read(spark, NUMBERS, f"{folder}/numbers").count() == 3


@pytest.mark.parametrize("before", [True, False])
def test_what_others_put_there_stays(spark: Any, tmp_path: Path, before: bool) -> None:
    folder, other = tmp_path / "out", tmp_path / "out" / "mine.txt"

    def work(place: str) -> None:
        folder.mkdir(exist_ok=True)
        other.write_text("mine")

    if before:
        work("")
    with pytest.raises(InputError, match=f"^{folder}: is there already; name a new folder.$"):
        write_whole(spark, str(folder), work)
    assert list(tmp_path.iterdir()) == [folder] and other.read_text() == "mine"
    with pytest.raises(InputError, match=f"cannot be .*name another folder than {other}/out"):
        write_whole(spark, f"{other}/out", lambda place: None)


@pytest.mark.parametrize("number", [signal.SIGINT, None])
def test_a_signal_or_a_task_that_fails_leaves_nothing(
    spark: Any, tmp_path: Path, number: signal.Signals | None
) -> None:
    begin = time.monotonic()
    if number is not None:
        threading.Timer(SOON, os.kill, (os.getpid(), number)).start()
    expected = spark_errors() if number is None else KeyboardInterrupt
    spark.conf.set(RECORDS, "1")
    with ending(), pytest.raises(expected):
        write_whole(spark, str(tmp_path / "out"), _writes(spark, fails=number is None))
    spark.conf.unset(RECORDS)
    assert not list(tmp_path.iterdir()) and time.monotonic() - begin < LONG
    time.sleep(0.5)
    assert not list(tmp_path.iterdir()) and spark.range(3).count() == 3
