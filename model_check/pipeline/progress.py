"""How far Spark is, in a line on a terminal; its own pages tell more."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kraftcheck.support.terminal import Console

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession

_SECONDS = 1.0


@contextmanager
def told(spark: SparkSession, what: str) -> Iterator[None]:
    """On a terminal a line on standard error says meanwhile how far Spark is; elsewhere nothing.

    ``what``: what is done ("logs").
    """
    if not sys.stderr.isatty():
        yield
        return
    ended = threading.Event()
    tracker = spark.sparkContext.statusTracker()
    with Console(stderr=True, markup=False).status(f"{what} …") as status:

        def watch() -> None:
            while not ended.wait(_SECONDS):
                with suppress(Exception):  # Spark may be ending; what went wrong is told elsewhere.
                    status.update(line(what, tracker))

        watcher = threading.Thread(target=watch, name="progress-of-spark", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()


def line(what: str, tracker: StatusTracker) -> str:
    """``what`` and the tasks of the stages that are running."""
    stages = [stage for each in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(each))]
    if not stages:
        return f"{what} …"
    done, tasks = sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
    return f"{what}: {done:,} of {tasks:,} tasks of stage {max(stage.stageId for stage in stages)}"
