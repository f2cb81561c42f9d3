"""The progress line of all pipelines."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kraftcheck.support import streams

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession

#: How often the line is written anew.
_SECONDS = 1.0


@contextmanager
def progress(spark: SparkSession, what: str, *, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """On a terminal a line on standard error says how far the work is; elsewhere, or ``quiet``, nothing.

    Yields the function that changes what it says, ``what`` at first; Spark's running tasks follow that.
    """
    ended, tracker = threading.Event(), spark.sparkContext.statusTracker()
    with streams.progress(quiet=quiet or not sys.stderr.isatty()) as show:

        def watch() -> None:
            while not ended.wait(_SECONDS):
                with suppress(Exception):  # Spark may be ending; the command reports what went wrong.
                    show(line(what, tracker))

        def tell(text: str) -> None:
            nonlocal what
            what = text
            show(text)

        tell(f"{what} …")
        watcher = threading.Thread(target=watch, name="progress-of-spark", daemon=True)
        watcher.start()
        try:
            yield tell
        finally:
            ended.set()
            watcher.join()


def line(what: str, tracker: StatusTracker) -> str:
    """``what``, and how many tasks of the running stages have ended."""
    stages = [stage for each in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(each))]
    if not stages:
        return what
    done, tasks = sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
    return f"{what} ({done:,} of {tasks:,} tasks of stage {max(stage.stageId for stage in stages)})"
