"""The process from which the workers of a mutation campaign are forked.

``python -m kraftcheck.checking.mutation.server`` receives ``{"arguments": [...], "seconds": S}``: those of a
worker, and its time limit. It answers with ``found``, the output of the worker, ``in_time``, whether it ended
by itself, and its ``status`` (negative: the signal that ended it). ``--tell``: report when it compiles.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from kraftcheck.support import forks, streams

if TYPE_CHECKING:
    from kraftcheck.checking.mutation.warm import Image


def answer(image: Image, request: str, caller: int) -> dict[str, Any]:
    """The result of a worker, in a process of its own, which ends when ``caller`` is closed."""
    from kraftcheck.checking.mutation import worker

    asked = json.loads(request)
    ended = forks.fork(
        lambda stream: sys.exit(worker.main(asked["arguments"], stream, image)), caller, asked["seconds"]
    )
    return {
        "found": [json.loads(line) for line in ended.lines],
        "in_time": ended.in_time,
        "status": ended.status,
    }


def ready() -> Callable[[str, int], dict[str, Any]]:
    """Import and compile everything that all forked processes need; the function that answers requests.

    They are imported here, where :func:`forks.serve` reports that memory is short, not with this module.
    """
    from kraftcheck import spec
    from kraftcheck.checking.mutation import catalogue, warm, worker
    from kraftcheck.engine.prepared import prepare
    from kraftcheck.systems import scenario

    prepare()
    # No mutant changes what these have read.
    spec.load(), catalogue.shipped(), scenario.shipped_files()
    return partial(answer, warm.image(worker.load))


if __name__ == "__main__":
    with streams.messages_shown() if "--tell" in sys.argv[1:] else nullcontext():
        sys.exit(forks.serve(ready))
