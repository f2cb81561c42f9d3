"""The Spark session of a pipeline, on whatever cluster it is pointed at."""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from model_check.errors import InputError
from model_check.java import find_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
DEFAULT_MASTER = "local[*]"
_MASTER = re.compile(r"local(\[.+\]|-cluster\[.+\])?|yarn|(spark|k8s)://.+", re.ASCII)
#: What every pipeline needs, whatever else the cluster's configuration says.
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # Values that hold many states are large: their offsets do not fit 32 bits.
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.ui.showConsoleProgress": "false",
}


def add_session_options(parser: argparse.ArgumentParser) -> None:
    """Define ``--master`` and ``--conf``."""
    parser.add_argument(
        "--master",
        metavar="URL",
        help=f"the cluster, as for spark-submit (default: what spark-submit says, or {DEFAULT_MASTER})",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark; may be repeated",
    )


def settings_of(texts: list[str]) -> dict[str, str]:
    """The settings in ``texts``, KEY=VALUE each. Raises InputError."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not re.fullmatch(r"spark\.[A-Za-z0-9_.\-]+", key):
            raise InputError(f"--conf: expected spark.KEY=VALUE, not '{text[:80]}'.")
        found[key] = value
    return found


@contextmanager
def spark_session(
    name: str, master: str | None = None, settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """The session of the application ``name``; it ends with the context, unless it was there before.

    ``master``: a master URL as spark-submit takes it; ``None``: what spark-submit says, or else ``local[*]``.
    ``settings`` take precedence over those of the cluster. Executors on this machine run the Python that
    runs this; those of a cluster take it from ``spark.pyspark.python`` or ``spark.archives`` (see
    docs/pipeline.md). Raises InputError where PySpark or Java is missing or the master cannot be used.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise InputError("PySpark is not installed; install it with: pip install 'kraftcheck[spark]'.")
    find_java("Spark", OLDEST_JAVA)
    if master is not None and not _MASTER.fullmatch(master):
        raise InputError(
            f"--master: expected local[N], local-cluster[N,CORES,MB], spark://HOST:PORT, yarn or "
            f"k8s://URL, not '{master[:80]}'."
        )
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    before = SparkContext._active_spark_context
    session = None
    try:
        session = _started(SparkSession.builder.appName(f"kraftcheck {name}"), master, settings or {})
        yield session
    except PySparkException as error:
        if session is None:
            raise InputError(f"Spark does not start: {first_line(error)}.") from None
        raise
    finally:
        if session is not None and before is None:
            session.stop()


def _started(builder: SparkSession.Builder, master: str | None, settings: Mapping[str, str]) -> SparkSession:
    from py4j.protocol import Py4JJavaError

    if master is None and "spark.master" not in settings and "PYSPARK_GATEWAY_PORT" not in os.environ:
        master = os.environ.get("MASTER") or DEFAULT_MASTER
    if "spark.pyspark.python" in settings:
        # Spark itself heeds it only where spark-submit reads it.
        os.environ["PYSPARK_PYTHON"] = settings["spark.pyspark.python"]
    elif master is not None and master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master is not None:
        builder = builder.master(master)
    quiet = f"-Dlog4j2.configurationFile=file:{Path(__file__).with_name('log4j2.properties')}"
    for key, value in {"spark.driver.extraJavaOptions": quiet, **_SETTINGS, **settings}.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except Py4JJavaError as error:
        raise InputError(f"Spark does not start: {first_line(error)}.") from None
    session.sparkContext.setLogLevel("ERROR")
    return session


def first_line(error: BaseException) -> str:
    """What ``error`` of Spark or of its virtual machine says, in a line, without the stack."""
    from py4j.protocol import Py4JJavaError

    text = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")[:300]
