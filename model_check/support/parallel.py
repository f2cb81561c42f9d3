"""Work in several processes at a time, which end with the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

import kraftcheck
from kraftcheck.support import signals
from kraftcheck.support.files import CALLERS_FOLDER, TemporaryFolder


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """``count`` processes that take what is submitted; an exception in the context ends their work.

    They import modules anew, so that what is submitted is found by its name. Ctrl-C is left to this process.
    A future raises ``BrokenProcessPool`` where one was killed, for example because memory ran out.
    """
    context = multiprocessing.get_context("forkserver")
    with (
        TemporaryFolder() as folder,
        ProcessPoolExecutor(
            count, mp_context=context, initializer=_begin, initargs=(folder, kraftcheck.BEGAN)
        ) as pool,
    ):
        try:
            yield pool
        except BaseException:
            for process in multiprocessing.active_children():
                process.kill()
            raise


def leave_nothing() -> None:
    """Remove the folder that ``multiprocessing`` made for this process; only for one that ends at once, and
    without what it has registered for its end.
    """
    folder = getattr(multiprocessing.current_process(), "_config", {}).get("tempdir")
    if folder is not None:
        shutil.rmtree(folder, ignore_errors=True)


def _begin(folder: str, began: float) -> None:
    signals.ignore()
    # What has changed since the caller began may differ between what the two of them read.
    kraftcheck.BEGAN = began
    os.environ[CALLERS_FOLDER] = folder
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process as soon as the one that started it has ended, whatever it is doing."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
