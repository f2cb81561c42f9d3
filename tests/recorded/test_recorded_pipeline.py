"""The recorded runs on Spark: what ``kraftcheck conform`` says of them, run by run."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.pipeline.session import OLDEST_JAVA
from kraftcheck.support.errors import InputError
from kraftcheck.support.java import find_java
from tests.recorded.recorded_runs import VARIABLE, recorded_runs, runs_folder


def _require_spark() -> None:
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("recorded runs on Spark NOT RUN: PySpark is not installed (kraftcheck[spark])")
    try:
        find_java("Spark", OLDEST_JAVA)
    except InputError as error:
        pytest.skip(f"recorded runs on Spark NOT RUN: {error}")


def _told(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = main([*arguments, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert isinstance(told, dict)
    return status, told


@pytest.mark.spark
def test_every_run_comes_to_the_same_on_spark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not recorded_runs():
        pytest.skip(f"recorded runs NOT RUN: none in {runs_folder()}; set {VARIABLE} to their folder")
    _require_spark()
    folder = str(runs_folder().resolve())
    status, said = _told(capsys, "conform", folder)
    options = ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=4"]
    again, told = _told(
        capsys, "pipeline", "runs", folder, "-o", str(tmp_path / "out"), "--master", "local[2]", *options
    )
    assert again == status
    by_run = [{run["run"]: run for run in each.pop("runs")} for each in (said, told)]
    assert len(by_run[0]) == len(recorded_runs())
    assert by_run[1].keys() == by_run[0].keys()
    for name, run in by_run[0].items():
        assert by_run[1][name] == run, name
    assert told == said
