"""The process that cells of a campaign are forked from.

``python -m kraftcheck.pipeline.campaign.server`` receives tasks, a line of JSON each.
"""

from __future__ import annotations

import contextlib
import json
import resource
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from kraftcheck.support import forks
from kraftcheck.support.failures import ended_by_the_machine
from kraftcheck.support.signals import ENDING

if TYPE_CHECKING:
    from kraftcheck.checking.mutation.warm import Image

#: What a cell may take beyond its limit of time, in seconds: to build the system, a level, to tell a trace.
GRACE_SECONDS = 30.0


def answer(image: Image, task: str, caller: int) -> dict[str, Any]:
    """What the cell of ``task`` finds, in a process of its own, which ends when ``caller`` is closed."""
    from kraftcheck.pipeline.campaign import explore
    from kraftcheck.pipeline.campaign.cells import from_task

    cell, _, _ = from_task(task)

    def work(stream: TextIO) -> None:
        _limit_memory(cell.limits.memory)
        explore.run(cell, lambda found: print(json.dumps(found), file=stream, flush=True), image)

    ended = forks.fork(work, caller, cell.limits.seconds + GRACE_SECONDS)
    # The last line that is whole is the most that is known.
    found = json.loads(ended.lines[-1]) if ended.lines else _untold(ended)
    return found | {"seconds": ended.seconds, "peak_memory": ended.peak_memory}


def _limit_memory(resident: int) -> None:
    """Make allocations fail beyond twice the limit at which an exploration gives up by itself."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm", encoding="ascii") as file:
        data = int(file.read().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (data + 2 * resident, resource.RLIM_INFINITY))


def _untold(ended: forks.Ended) -> dict[str, Any]:
    if not ended.in_time:
        return {"verdict": "undetermined", "limit": "max_seconds"}
    if ended_by_the_machine(ended.status) and -ended.status not in ENDING:
        # Nothing else ends it than a system that runs out of memory.
        return {"verdict": "undetermined", "limit": "max_memory"}
    return {"verdict": "failed", "error": f"the process of the cell ended with status {ended.status}"}


def ready() -> Callable[[str, int], dict[str, Any]]:
    """Import and compile what all forked processes need; the function that answers requests.

    The engine is imported here, where :func:`forks.serve` reports that memory is short, not with this module.
    """
    from kraftcheck.checking.mutation import warm, worker
    from kraftcheck.engine.prepared import prepare
    from kraftcheck.pipeline.campaign import explore  # noqa: F401  # before the fork

    prepare()
    return partial(answer, warm.image(worker.load))


if __name__ == "__main__":
    sys.exit(forks.serve(ready))
