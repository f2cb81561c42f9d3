"""The path of Python workers on this machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.pipeline.daemon import without_archives


def test_archives_leave_the_path_where_packages_are_installed(tmp_path: Path) -> None:
    for name in ("pyspark", "py4j"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    path = ["", "/spark/pyspark.zip", "/spark/jars/spark-core.jar", str(tmp_path)]
    assert without_archives(path) == ["", str(tmp_path)]


@pytest.mark.parametrize("name", ["pyspark", "py4j"])
def test_archives_stay_where_a_package_is_only_in_them(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    path = ["/spark/pyspark.zip", "/spark/py4j-src.zip", str(tmp_path)]
    assert without_archives(path) == path


@pytest.mark.spark
def test_workers_of_a_local_session_have_none(spark: Any) -> None:
    def paths(_: Any) -> list[str]:
        return [entry for entry in sys.path if entry.endswith((".jar", ".zip"))]

    assert spark.sparkContext.parallelize([0], 1).flatMap(paths).collect() == []
