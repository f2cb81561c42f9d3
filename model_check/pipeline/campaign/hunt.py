"""The steps of a hunt as tasks of a cluster. The driver merges what is seen, in the order of the steps."""

from __future__ import annotations

import base64
import pickle
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kraftcheck.checking.mutation import server
from kraftcheck.hunt.run import Keep, Takes
from kraftcheck.hunt.step import Done, Job, take
from kraftcheck.pipeline.batches import in_batches, run_tasks
from kraftcheck.pipeline.campaign.executor import server_of_worker
from kraftcheck.pipeline.campaign.explore import limit_memory
from kraftcheck.support.errors import InputError
from kraftcheck.support.forks import End
from kraftcheck.support.sources import require_sources, source_digest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MOST_STEPS = 200

#: The number of a job in its round, and its result.
_Result = tuple[int, Done | None]


class _Enough(Exception):
    """No more results are wanted."""


def takes_on(spark: SparkSession) -> Takes:
    """What takes the steps of a hunt on the executors of ``spark``."""
    return partial(_take_all, spark)


def _take_all(spark: SparkSession, jobs: Sequence[Job], keep: Keep) -> None:
    """As :data:`~kraftcheck.hunt.run.Takes` says. Raises InputError where the executors cannot take them."""
    work, early, kept = partial(_taken, source_digest()), dict[int, Done | None](), 0

    def taken(batch: Sequence[tuple[int, Job]]) -> list[_Result]:
        # The clocks of other machines may differ: what counts is the time that is left now.
        tasks = [pickle.dumps((number, job, job.deadline - time.time())) for number, job in batch]
        found = run_tasks(spark, f"hunt: {len(tasks)} steps", work, tasks)
        return [pickle.loads(each) for each in found]

    def done(results: list[_Result]) -> None:
        nonlocal kept
        early.update(results)
        while kept in early:
            kept += 1
            if not keep(jobs[kept - 1], early.pop(kept - 1)):
                raise _Enough

    with suppress(_Enough):
        in_batches(spark, [*enumerate(jobs)], taken, done, most=_MOST_STEPS)


def _taken(sources: str, task: bytes) -> bytes:
    """In a task: the number and the result of a job, which a process of its own takes. Raises InputError."""
    require_sources(sources)
    number, job, seconds = pickle.loads(task)
    job = replace(job, deadline=time.time() + seconds)
    arguments = {"task": base64.b64encode(pickle.dumps(job)).decode()}
    ended = server_of_worker().run(server.Job(f"{__name__}:step", arguments, max(0.0, seconds)))
    if ended.end in (End.TIME, End.MEMORY):
        return pickle.dumps((number, None))
    if ended.end is not End.DONE:
        raise InputError(f"a step of {job.origin.name}: {ended.why}")
    return pickle.dumps((number, pickle.loads(base64.b64decode(ended.found[0]))))


def step(task: str) -> Iterator[str]:
    """A job of :mod:`kraftcheck.checking.mutation.server`: the result of the one that ``task`` holds."""
    job: Job = pickle.loads(base64.b64decode(task))
    if job.max_memory is not None:
        limit_memory(job.max_memory)
    yield base64.b64encode(pickle.dumps(take(job))).decode()
