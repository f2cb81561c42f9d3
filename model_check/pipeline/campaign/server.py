"""A process that forks one process for each cell: what all cells need is imported and compiled once.

``python -m model_check.pipeline.campaign.server`` reads tasks, a line of JSON each, and answers each with a
line. ``--reference``: the reference is among what is imported, so that no cell can become a mutant. It ends
when its input does, and with it what it has forked.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Any, TextIO

from model_check.pipeline.campaign import explore
from model_check.pipeline.campaign.cells import Cell, from_task

#: What a cell may take beyond its limit of time, in seconds: to build the system, a level, to tell a trace.
GRACE_SECONDS = 30.0
_POLL_SECONDS = 1.0


def prepare(*, reference: bool) -> None:
    """Import what cells need and have its machine code loaded."""
    from model_check.engine.explorer import explore as explore_system
    from model_check.engine.synthetic import Synthetic

    explore_system(Synthetic(nodes=2, epochs=1, entries=1, restarts=0), threads=1)
    if reference:
        import model_check.engine.simulate
        import model_check.run
        from model_check.scenario import find

        model_check.run.check(find("single-voter"), coverage=True)


def serve(requests: TextIO, replies: TextIO) -> None:
    """Answer requests until there are no more."""
    for line in requests:
        print(json.dumps(answer(line, requests.fileno())), file=replies, flush=True)


def answer(task: str, caller: int) -> dict[str, Any]:
    """What the cell of ``task`` finds, in a process of its own; nobody waits if ``caller`` is closed."""
    cell, _, _ = from_task(task)
    begin = time.monotonic()
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        _run_and_exit(cell, send)
    os.close(send)
    told, ended = _listen(receive, caller, begin + cell.limits.seconds + GRACE_SECONDS)
    os.close(receive)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    found = _told(told) or _untold(status, ended=ended)
    unit = 1 if sys.platform == "darwin" else 1024
    return found | {"seconds": time.monotonic() - begin, "peak_memory": usage.ru_maxrss * unit}


def _run_and_exit(cell: Cell, send: int) -> None:
    status = 1
    try:
        _limit_memory(cell.limits.memory)
        with os.fdopen(send, "w", encoding="utf-8") as stream:
            explore.run(cell, lambda found: print(json.dumps(found), file=stream, flush=True))
        status = 0
    finally:
        # Nothing of the server is cleaned up here: it goes on.
        os._exit(status)


def _limit_memory(resident: int) -> None:
    """Make allocations fail beyond twice the limit at which an exploration gives up by itself."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm", encoding="ascii") as file:
        data = int(file.read().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (data + 2 * resident, resource.RLIM_INFINITY))


def _listen(receive: int, caller: int, deadline: float) -> tuple[bytes, bool]:
    """All that is written to ``receive``, and whether the writer ended before ``deadline``."""
    told = bytearray()
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([receive, caller], [], [], min(left, _POLL_SECONDS))
        if receive in ready:
            content = os.read(receive, 1 << 16)
            if not content:
                return bytes(told), True
            told += content
        elif caller in ready:
            break  # Nothing is asked before the answer: the caller has ended.
    return bytes(told), False


def _told(told: bytes) -> dict[str, Any] | None:
    """The last line that is whole."""
    lines = told.decode("utf-8", "replace").split("\n")[:-1]
    found: dict[str, Any] | None = json.loads(lines[-1]) if lines else None
    return found


def _untold(status: int, *, ended: bool) -> dict[str, Any]:
    if not ended:
        return {"verdict": "undetermined", "limit": "max_seconds"}
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        # Nobody else kills it than the system that runs out of memory.
        return {"verdict": "undetermined", "limit": "max_memory"}
    how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
    return {"verdict": "failed", "error": f"the process of the cell ended with {how}"}


def main() -> int:
    """Serve standard input; what cells print goes to standard error."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    prepare(reference="--reference" in sys.argv[1:])
    with contextlib.suppress(BrokenPipeError):
        serve(sys.stdin, replies)
    return 0


if __name__ == "__main__":
    sys.exit(main())
