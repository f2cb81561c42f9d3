"""A folder of data sets that is written as a whole or not at all, whatever ends the work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from model_check.pipeline.datasets import make_folder, remove
from model_check.pipeline.spark_errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

#: Seconds in which jobs and tasks end after they were told to.
_PATIENCE: Final = 30.0
_PAUSE: Final = 0.1


def write_whole(spark: SparkSession, folder: str, work: Callable[[], T]) -> T:
    """What ``work`` returns, which writes into ``folder``, not there before; where it does not come to its
    end, nor afterwards.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            make_folder(spark, folder)
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    # A signal ends a call of Java in Python alone, after which nobody knows when Java is done with it. So the
    # calls are another thread's, to which no signal comes.
    threading.Thread(target=run, name="writes-a-folder", daemon=True).start()
    try:
        return done.result()
    except BaseException:
        _end_jobs(spark, done)
        remove(spark, folder)
        raise


def _end_jobs(spark: SparkSession, done: Future[T]) -> None:
    """Cancel jobs until ``done``, and wait for their tasks, which would make the folder anew."""
    until = time.monotonic() + _PATIENCE
    with suppress(*spark_errors()):
        while time.monotonic() < until:
            if not done.done():
                # Every time: between two jobs there is none to cancel.
                spark.sparkContext.cancelAllJobs()
            elif not _running(spark):
                return
            time.sleep(_PAUSE)


def _running(spark: SparkSession) -> bool:
    """Whether a task is running; a job that has ended does not wait for its tasks."""
    counts = spark._jsc.sc().taskScheduler().runningTasksByExecutors().valuesIterator()
    while counts.hasNext():
        if counts.next():
            return True
    return False
