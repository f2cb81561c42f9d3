"""Parquet that says what it is."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace as Namespace
from typing import Any

import pytest

from kraftcheck.pipeline.datasets import Column, Dataset, exists, make_folder, read, require_files, write
from kraftcheck.pipeline.session import chosen_master, settings_of, spark_session
from kraftcheck.pipeline.spark_errors import in_a_sentence
from kraftcheck.support.errors import InputError

VOTES = Dataset(
    "votes", 2, "made up", (Column("node", "int", "a node"), Column("epoch", "bigint", "its epoch"))
)
ROWS = [(1, 5), (2, 7)]


def _write(spark: Any, path: Path, dataset: Dataset = VOTES) -> str:
    write(spark.createDataFrame(ROWS, "node int, epoch bigint"), dataset, str(path))
    return str(path)


@pytest.mark.spark
def test_what_is_written_is_read_again(spark: Any, tmp_path: Path) -> None:
    data = read(spark, VOTES, _write(spark, tmp_path / "votes"))
    assert sorted(tuple(row) for row in data.collect()) == ROWS


@pytest.mark.spark
def test_another_kind_version_or_column_is_refused(spark: Any, tmp_path: Path) -> None:
    path = _write(spark, tmp_path / "votes")
    with pytest.raises(InputError, match="holds 'votes', expected a data set 'epochs'"):
        read(spark, Dataset("epochs", 2, "", VOTES.columns), path)
    with pytest.raises(InputError, match="has version 2 of 'votes', expected 3"):
        read(spark, Dataset("votes", 3, "", VOTES.columns), path)
    wider = (*VOTES.columns, Column("leader", "int", "its leader"))
    with pytest.raises(InputError, match="column 'leader' is missing or not int"):
        read(spark, Dataset("votes", 2, "", wider), path)


@pytest.mark.spark
def test_what_is_foreign_partial_or_not_there_is_refused(spark: Any, tmp_path: Path) -> None:
    for nowhere in ("", "hdfs://nowhere.invalid:1/x"):
        with pytest.raises(InputError, match=f"^{nowhere}: cannot be looked at"):
            read(spark, VOTES, nowhere)
    with pytest.raises(InputError, match="there is nothing"):
        read(spark, VOTES, str(tmp_path / "none"))
    spark.createDataFrame(ROWS, "node int, epoch bigint").write.parquet(str(tmp_path / "foreign"))
    with pytest.raises(InputError, match="was not written by kraftcheck"):
        read(spark, VOTES, str(tmp_path / "foreign"))
    path = _write(spark, tmp_path / "votes")
    (tmp_path / "votes" / "_SUCCESS").unlink()
    with pytest.raises(InputError, match="is not complete"):
        read(spark, VOTES, path)
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "_SUCCESS").touch()
    (tmp_path / "text" / "part-0.parquet").write_text("no Parquet")
    with pytest.raises(InputError, match=r"part-0\.parquet: is damaged, or no Parquet "):
        read(spark, VOTES, str(tmp_path / "text"))


@pytest.mark.spark
def test_every_file_is_looked_at(spark: Any, tmp_path: Path) -> None:
    place = tmp_path / "votes"
    write(spark.createDataFrame(ROWS, "node int, epoch bigint").repartition(3), VOTES, str(place))
    spark.sql("select 1 a").write.parquet(str(tmp_path / "foreign"))
    (foreign,) = (tmp_path / "foreign").glob("*.parquet")
    files = sorted(place.glob("*.parquet"))
    for crc in place.glob(".*.crc"):
        crc.unlink()
    for file in files:
        content = file.read_bytes()
        file.write_bytes(foreign.read_bytes())
        with pytest.raises(InputError, match=f"^{file}: was not written by kraftcheck; expected .*; do it."):
            read(spark, VOTES, str(place), repair="do it")
        file.write_bytes(content[: len(content) // 2])
        with pytest.raises(InputError, match=f"^{file}: is damaged, or no Parquet .*; do it."):
            read(spark, VOTES, str(place), repair="do it")
        file.write_bytes(content)
    # The end is whole, and what is before it is not.
    data = read(spark, VOTES, str(place))
    content = files[-1].read_bytes()
    files[-1].write_bytes(content[:4] + bytes(byte ^ 255 for byte in content[4:60]) + content[60:])
    with (
        pytest.raises(InputError, match=f"^{files[-1]}: is damaged, or no Parquet .*; do it."),
        in_a_sentence("do it"),
    ):
        data.collect()


@pytest.mark.spark
def test_a_file_cut_short_beside_its_checksum(spark: Any, tmp_path: Path) -> None:
    place = Path(_write(spark, tmp_path / "votes"))
    (file, *_) = sorted(place.glob("*.parquet"))
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(InputError, match=f"^{file}: is damaged, or no Parquet .*; remove the folder"):
        read(spark, VOTES, str(place))


@pytest.mark.spark
def test_folders_within_a_data_set_are_not_read(spark: Any, tmp_path: Path) -> None:
    path = _write(spark, tmp_path / "votes")
    (tmp_path / "votes" / "empty").mkdir()
    _write(spark, tmp_path / "votes" / "more")
    assert sorted(tuple(row) for row in read(spark, VOTES, path).collect()) == ROWS


@pytest.mark.spark
def test_files_are_looked_at_one_by_one_where_it_does_not_go_together(spark: Any, tmp_path: Path) -> None:
    from pyspark.errors import PySparkException

    def fail(*arguments: Any) -> Any:
        raise PySparkException("no thread is left")

    data = spark.createDataFrame(ROWS, "node int, epoch bigint").repartition(2)
    write(data, VOTES, str(tmp_path / "votes"))
    apache = spark._jvm.org.apache
    usual = apache.parquet.hadoop.ParquetFileReader
    reader = Namespace(readFooters=usual.readFooters, readAllFootersInParallel=fail)
    parquet = Namespace(hadoop=Namespace(ParquetFileReader=reader, util=apache.parquet.hadoop.util))
    machine = Namespace(org=Namespace(apache=Namespace(hadoop=apache.hadoop, parquet=parquet)))
    session: Any = Namespace(_jvm=machine, _jsc=spark._jsc, sparkContext=spark.sparkContext)
    require_files(session, VOTES, [str(tmp_path / "votes")])


@pytest.mark.spark
@pytest.mark.parametrize("character", list("*?[]{}\\"))
def test_a_path_that_spark_takes_for_a_pattern_is_refused(spark: Any, tmp_path: Path, character: str) -> None:
    place = tmp_path / f"results{character}1"
    _write(spark, place)
    for use in (exists, make_folder, lambda spark, path: read(spark, VOTES, path)):
        with pytest.raises(InputError) as caught:
            use(spark, str(place))
        assert str(caught.value).startswith(
            f"{place}: Spark takes the '{character}' for a wildcard; name a path"
        )


@pytest.mark.spark
def test_a_folder_that_cannot_be_is_told_before_the_work(spark: Any, tmp_path: Path) -> None:
    make_folder(spark, str(tmp_path / "new" / "deep"))
    make_folder(spark, str(tmp_path / "new"))
    assert (tmp_path / "new" / "deep").is_dir()
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InputError, match=f"^{place}: cannot be made .*can write.$"):
            make_folder(spark, str(place))


def test_settings_are_words_of_spark() -> None:
    assert settings_of(["spark.executor.memory=2g", "spark.a=b=c"]) == {
        "spark.executor.memory": "2g",
        "spark.a": "b=c",
    }
    for wrong in ("spark.executor.memory", "memory=2g", "=", ""):
        with pytest.raises(InputError, match=r"expected spark\.KEY=VALUE"):
            settings_of([wrong])


@pytest.mark.spark
def test_a_master_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="--master: expected local"), spark_session("tests", "mesos://x"):
        pass


@pytest.mark.spark
@pytest.mark.parametrize("place", ["--conf spark.master", "the variable MASTER"])
def test_a_master_is_refused_wherever_it_was_named(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {}
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    if place == "the variable MASTER":
        monkeypatch.setenv("MASTER", "mesos://x")
    else:
        settings["spark.master"] = "mesos://x"
    with pytest.raises(InputError, match=f"^{place}: expected local"), spark_session("tests", None, settings):
        pass


def test_the_master_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("MASTER", "local[3]")
    given = {"spark.master": "local[2]"}
    assert chosen_master("local[1]", given) == "local[1]"
    assert chosen_master(None, given) == "local[2]"
    assert chosen_master(None, {}) == "local[3]"
    monkeypatch.delenv("MASTER")
    assert chosen_master(None, {}) == "local[*]"
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert chosen_master(None, {}) is None


def test_without_pyspark_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'kraftcheck\[spark\]'"), spark_session("tests"):
        pass
