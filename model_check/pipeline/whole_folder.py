"""A folder of data sets that is written as a whole or not at all, whatever ends the work."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeVar

from kraftcheck.pipeline.datasets import exists, make_folder, remove
from kraftcheck.pipeline.files import located
from kraftcheck.pipeline.spark_errors import spark_errors
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

#: Seconds in which jobs and tasks end after they were told to.
_PATIENCE: Final = 30.0
_PAUSE: Final = 0.1


def write_whole(
    spark: SparkSession, folder: str, work: Callable[[str], T], keep: Callable[[T], bool] = lambda _: True
) -> T:
    """What ``work`` returns, which writes into the folder that it is given. That one becomes ``folder``, not
    there before, once it is whole and ``keep`` says so of the result; else nothing of it stays.

    Raises InputError if ``folder`` is there by then: what others put there meanwhile is theirs.
    """
    done: Future[T] = Future()
    own = _beside(spark, folder)

    def run() -> None:
        try:
            _make(spark, own, folder)
            result = work(own)
            if keep(result):
                _rename(spark, own, folder)
            else:
                remove(spark, own)
            done.set_result(result)
        except BaseException as error:
            done.set_exception(error)

    try:
        # A signal ends a call of Java in Python alone, after which nobody knows when Java is done with it. So
        # the calls are another thread's, to which no signal comes.
        threading.Thread(target=run, name="writes-a-folder", daemon=True).start()
        return done.result()
    except BaseException:
        try:
            _end_jobs(spark, done)
        finally:  # even if there is another signal
            remove(spark, own)
        raise


def _beside(spark: SparkSession, folder: str) -> str:
    """A folder of this run alone, beside ``folder``; Spark takes no such name for data."""
    place, system = located(spark, folder)
    place = system.makeQualified(place)
    return f"{place.getParent().toString()}/_{place.getName()}.{uuid.uuid4().hex[:12]}"


def _make(spark: SparkSession, own: str, folder: str) -> None:
    try:
        make_folder(spark, own)
    except InputError as error:
        raise InputError(str(error).replace(own, folder)) from None


def _rename(spark: SparkSession, own: str, folder: str) -> None:
    taken = InputError(f"{folder}: something else has come to be there meanwhile; choose another folder.")
    # Hadoop would move it into a folder that is there.
    if exists(spark, folder):
        raise taken
    (source, system), (target, _) = located(spark, own), located(spark, folder)
    if not system.rename(source, target):
        raise taken


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
