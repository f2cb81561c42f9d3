"""One Spark session for all tests of pipelines that need one."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

from kraftcheck.pipeline.session import spark_session

#: What imports pyarrow is collected where it is installed: by `make spark`.
collect_ignore_glob = [] if importlib.util.find_spec("pyarrow") else ["explore/*"]

#: Small, without what only people look at, and for queries that are run once.
SETTINGS = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session on two threads of this process."""
    pytest.importorskip("pyspark", reason="needs PySpark: pip install 'kraftcheck[spark]'")
    warehouse = {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    with spark_session("tests", "local[2]", SETTINGS | warehouse) as session:
        yield session
