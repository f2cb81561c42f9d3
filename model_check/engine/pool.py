"""Threads for the kernels: jobs, and background work for idle threads.

A phase of a block ends when the last thread is done; until then the other threads would be idle. They take
pieces of background work, which is finite: the candidates of later blocks.
"""

from __future__ import annotations

import heapq
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

#: Seconds after which a thread that holds the GIL gives it to one that asks for it. A finished kernel asks
#: for its next piece; with Python's default it would wait longer than a piece takes.
SWITCH_SECONDS = 0.0001

Job = Callable[[], Any]
#: Yields jobs that may run at the same time, once those yielded before have ended; returns a result.
Stages = Generator[Sequence[Job], None, Any]
#: Does a piece of work at each step.
Background = Iterator[None]


class Pool:
    """``threads`` threads. One thread requests work, and stages do."""

    def __init__(self, threads: int) -> None:
        self._changed = threading.Condition()
        self._jobs: deque[tuple[Future[Any], Job]] = deque()
        self._background: list[tuple[int, Future[None], Background]] = []
        self._begun = 0
        self._busy = 0
        self._paused = False
        self._closed = False
        self._switch = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End the threads; work that has not begun is dropped."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        sys.setswitchinterval(self._switch)

    def start(self, jobs: Sequence[Job]) -> list[Future[Any]]:
        """Run ``jobs``."""
        pairs = [(Future[Any](), job) for job in jobs]
        with self._changed:
            self._jobs.extend(pairs)
            self._changed.notify_all()
        return [future for future, _ in pairs]

    def start_stages(self, stages: Stages) -> Future[Any]:
        """Run the jobs of one stage after the other; the return value of ``stages``.

        The future raises the exception of a job that raises one, and the later stages are dropped.
        """
        done: Future[Any] = Future()
        self._next_stage(stages, done)
        return done

    def begin(self, work: Background) -> Future[None]:
        """Do ``work`` when there are no jobs, after earlier background work."""
        done: Future[None] = Future()
        with self._changed:
            self._begun += 1
            heapq.heappush(self._background, (self._begun, done, work))
            self._changed.notify()
        return done

    @contextmanager
    def paused(self) -> Iterator[None]:
        """No job and no piece of background work runs in this context."""
        with self._changed:
            self._paused = True
            self._changed.wait_for(lambda: not self._busy)
        try:
            yield
        finally:
            with self._changed:
                self._paused = False
                self._changed.notify_all()

    def _next_stage(self, stages: Stages, done: Future[Any]) -> None:
        try:
            jobs = next(stages)
        except StopIteration as end:
            done.set_result(end.value)
            return
        except BaseException as error:
            done.set_exception(error)
            return
        left = len(jobs)

        def ended(future: Future[Any]) -> None:
            nonlocal left
            with self._changed:
                left -= 1
                last = left == 0
            error = future.exception()
            if error is not None and not done.done():
                done.set_exception(error)
            if last and not done.done():
                self._next_stage(stages, done)

        for future in self.start(jobs):
            future.add_done_callback(ended)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._has_work)
                if self._closed:
                    return
                self._busy += 1
                job = self._jobs.popleft() if self._jobs else None
                piece = heapq.heappop(self._background) if job is None else None
            if job is not None:
                _carry_out(*job)
            elif piece is not None and self._advance(piece[1], piece[2]):
                with self._changed:
                    heapq.heappush(self._background, piece)
            with self._changed:
                self._busy -= 1
                self._changed.notify_all()

    def _has_work(self) -> bool:
        return self._closed or (not self._paused and bool(self._jobs or self._background))

    def _advance(self, done: Future[None], work: Background) -> bool:
        try:
            next(work)
            return True
        except StopIteration:
            done.set_result(None)
        except BaseException as error:
            done.set_exception(error)
        return False


def _carry_out(job: Future[Any], task: Job) -> None:
    try:
        result = task()
    except BaseException as error:
        job.set_exception(error)
    else:
        job.set_result(result)
