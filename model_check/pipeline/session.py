"""The Spark session of a pipeline, on whatever cluster it is pointed at."""

from __future__ import annotations

import argparse
import importlib.util
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from kraftcheck.pipeline import daemon
from kraftcheck.pipeline.errors import in_a_sentence, spark_errors, start_sentence
from kraftcheck.support import signals
from kraftcheck.support.errors import InputError
from kraftcheck.support.java import find_java

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17
DEFAULT_MASTER = "local[*]"
_MASTER = re.compile(r"local(\[.+\]|-cluster\[.+\])?|yarn|(spark|k8s)://.+", re.ASCII)
_LEVEL = "spark.log.level"
#: What Spark logs by default.
_QUIET = Path(__file__).with_name("log4j2.properties")
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
    docs/pipeline.md). Raises InputError where PySpark or Java is missing, Spark does not start, and for an
    error of Spark or of its tasks that comes out of the context.
    """
    if importlib.util.find_spec("pyspark") is None:
        raise InputError("PySpark is not installed; install it with: pip install 'kraftcheck[spark]'.")
    java = find_java("Spark", OLDEST_JAVA)
    if not java.startswith(os.environ.get("JAVA_HOME", "")):
        del os.environ["JAVA_HOME"]  # Spark's scripts would use it.
    master = chosen_master(master, settings or {})
    from pyspark import SparkContext

    logging.getLogger().addFilter(_not_of_gateway)
    before = SparkContext._active_spark_context
    session = None
    usual = signal.getsignal(signal.SIGINT)
    with in_a_sentence(), tempfile.TemporaryFile(prefix="kraftcheck-") as printed:
        try:
            try:
                session = _started(f"kraftcheck {name}", _all_settings(master, settings or {}), printed)
            except spark_errors() as error:
                cluster = None if (master or "local").startswith("local") else master
                printed.seek(0)
                lines = printed.read().decode("utf-8", "replace").splitlines()
                raise InputError(start_sentence(error, lines, cluster)) from None
            yield session
        finally:
            if before is None and (started := session or SparkContext._active_spark_context) is not None:
                _stop(started)
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, usual or signal.SIG_DFL)  # PySpark has its own handler.


def _not_of_gateway(record: logging.LogRecord) -> bool:
    """Whether a record is not the traceback that Py4J logs of an answer that did not come: at Ctrl-C, or
    where Spark's process ends, both of which become one sentence.
    """
    return "while sending command" not in str(record.msg)


def chosen_master(master: str | None, given: Mapping[str, str]) -> str | None:
    """The master URL that counts; ``None``: that of spark-submit, which runs this. Raises InputError."""
    named = {"--master": master, "--conf spark.master": given.get("spark.master")}
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        named["the variable MASTER"] = os.environ.get("MASTER") or DEFAULT_MASTER
    for place, url in named.items():
        if url is not None and not _MASTER.fullmatch(url):
            raise InputError(
                f"{place}: expected local[N], local-cluster[N,CORES,MB], spark://HOST:PORT, yarn or "
                f"k8s://URL, not '{url[:80]}'."
            )
        if url is not None:
            return url
    return None


def _all_settings(master: str | None, given: Mapping[str, str]) -> dict[str, str]:
    """``given``, with what it leaves open."""
    if "spark.pyspark.python" in given:
        # Spark itself heeds it only where spark-submit reads it.
        os.environ["PYSPARK_PYTHON"] = given["spark.pyspark.python"]
    elif master is not None and master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    local = {}
    if (master or "").startswith("local"):
        local = {"spark.driver.memory": _memory(), "spark.python.daemon.module": daemon.__name__}
    return {**local, **_SETTINGS, **given} | ({} if master is None else {"spark.master": master})


def _started(name: str, settings: Mapping[str, str], printed: IO[bytes]) -> SparkSession:
    """The session; a new Java process writes to ``printed``, with a level of its log to standard error."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    loud = _LEVEL in settings or "log4j" in settings.get("spark.driver.extraJavaOptions", "")
    conf = SparkConf().setAppName(name).setAll(list(settings.items()))
    if SparkContext._gateway is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        if not loud:
            # Of the environment, so that other options of Java stay effective and take precedence.
            os.environ.setdefault("LOG4J_CONFIGURATION_FILE", f"file:{_QUIET}")
        gateway = _launched(conf, sys.__stderr__ if loud else printed)
        SparkContext._ensure_initialized(gateway=gateway, conf=conf)
    builder = SparkSession.builder.appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    if not session.sparkContext.getConf().contains(_LEVEL):
        session.sparkContext.setLogLevel("OFF" if not loud else "ERROR")
    return session


def _launched(conf: SparkConf, output: Any) -> Any:
    """The gateway to a new Java process that writes to ``output``."""
    from pyspark import java_gateway

    launched: list[subprocess.Popen[bytes]] = []

    def popen(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        with signals.waiting():
            # A group of its own: after a signal to ours it ends in good order, when this process ends.
            launched.append(subprocess.Popen(*words, **options, process_group=0))
        return launched[-1]

    usual, java_gateway.Popen = java_gateway.Popen, popen
    try:
        return java_gateway.launch_gateway(conf, {"stdout": output, "stderr": output})
    except BaseException:
        # It would stay: PySpark has forgotten it, and removed the folder in which it reports that it runs.
        for process in launched:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        raise
    finally:
        java_gateway.Popen = usual


def _stop(started: SparkSession | SparkContext) -> None:
    """End Spark, and remove what executors of a local-cluster leave behind in Spark's own folder."""
    from pyspark.find_spark_home import _find_spark_home

    context = getattr(started, "sparkContext", started)
    with suppress(Exception):  # It may have ended before.
        application, master = context.applicationId, context.master
        started.stop()
        if master.startswith("local-cluster"):
            work = Path(_find_spark_home()) / "work"
            shutil.rmtree(work / application, ignore_errors=True)
            work.rmdir()


def _memory() -> str:
    """The heap of a driver that does the executors' work too: a quarter of what the machine has.

    Spark's own default, 1 GiB, is for drivers that only divide the work.
    """
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return os.environ.get("SPARK_DRIVER_MEMORY") or f"{max(1024, total >> 22)}m"
