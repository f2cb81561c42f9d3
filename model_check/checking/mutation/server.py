"""Jobs on mutants, each in a process of its own, forked from one that has imported the reference.

``python -m kraftcheck.checking.mutation.server`` is that process. It answers each line of standard input, a
:class:`Job`, with an :class:`~kraftcheck.support.forks.Ended`, and ends with its input. ``--tell``: it
reports that it compiles the engine.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from pkgutil import resolve_name
from typing import Any

import msgspec

from kraftcheck.checking.mutation import patch, warm
from kraftcheck.support import forks, signals, streams
from kraftcheck.support.exit_codes import EXIT_UNDETERMINED
from kraftcheck.support.failures import of_the_machine
from kraftcheck.support.forks import End, Ended

_MODULE = "kraftcheck.checking.mutation.server"
#: Seconds of a job in addition to its own limit: imports, one level of a search, a trace.
GRACE_SECONDS = 60.0
_END_SECONDS = 5.0
#: How often a job is begun whose server ends.
_ATTEMPTS = 2


class Job(msgspec.Struct, frozen=True):
    """A call of ``function``, as ``module:name``, which yields what it finds as JSON data.

    ``arguments``: its named arguments; ``seconds``: the time limit of what it explores. ``changed``: by
    module of the reference the source that takes its place; ``mutant``: the name of that. ``first``: a
    function that the server calls itself, once, before others, for what all such jobs share and no change
    concerns. Where that uses nothing of the reference, no job imports it again.
    """

    function: str
    arguments: dict[str, Any]
    seconds: float
    mutant: str = ""
    changed: Mapping[str, str] = {}
    first: str | None = None


class Server:
    """A server, seen from the process that asks it. It begins with its first job.

    ``tell``: it reports that it compiles.
    """

    def __init__(self, *, tell: bool = False) -> None:
        self._arguments = ["--tell"] if tell else []
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, job: Job) -> Ended:
        """What came of ``job``. A server that ends meanwhile is replaced by another one."""
        job = msgspec.structs.replace(job, seconds=job.seconds + GRACE_SECONDS)
        for _ in range(_ATTEMPTS):
            if self._closed:
                return Ended([], End.MACHINE, "interrupted")
            if self._process is None:
                self._process = self._begun()
            with suppress(OSError, ValueError):  # It has ended, or was closed.
                assert self._process.stdin is not None and self._process.stdout is not None
                self._process.stdin.write(msgspec.json.encode(job) + b"\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
                if line.endswith(b"\n"):
                    return msgspec.json.decode(line, type=Ended)
            self._end()
        return Ended([], End.MEMORY, f"its server ended, {_ATTEMPTS} times; was memory short?")

    def _begun(self) -> subprocess.Popen[bytes]:
        command, environment = forks.interpreter(_MODULE, *self._arguments)
        # Threads of libraries would not survive a fork.
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def close(self) -> None:
        """End the server, and its job, whose answer another thread may await. There is no other one."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        """End the process, whatever it does: a library may be in a loop that heeds no signal but SIGKILL."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.close()
        for end in (process.terminate, process.kill):
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_SECONDS)
                return
            end()
        process.wait()


# -- in the server ------------------------------------------------------------------------------


def main() -> int:
    """Answer jobs until there are no more; 0, or 3 where the machine ends that.

    What they print goes to standard error.
    """
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        with suppress(KeyboardInterrupt, BrokenPipeError), signals.ending():
            image, done = _ready(), set[str]()
            for line in sys.stdin.buffer:
                job = msgspec.json.decode(line, type=Job)
                for each in dict.fromkeys((job.first or job.function, job.function)):
                    if each in done:
                        continue
                    done.add(each)
                    _share(image, each, call=each == job.first)
                ended = forks.fork(partial(_work, image, job), sys.stdin.fileno(), job.seconds)
                replies.write(msgspec.json.encode(ended) + b"\n")
                replies.flush()
    except Exception as error:
        sentence = of_the_machine(error)
        if sentence is None:
            raise
        streams.say(f"kraftcheck: {sentence}")
        return EXIT_UNDETERMINED
    return 0


def _ready() -> warm.Image:
    """Compile the engine, and load and read what no change of the reference concerns.

    They are imported here, where :func:`main` reports that memory is short, not with this module.
    """
    from kraftcheck import spec
    from kraftcheck.engine import sparse
    from kraftcheck.engine.prepared import prepare
    from kraftcheck.systems import scenario

    prepare()
    sparse.loaded()
    spec.load(), scenario.shipped_files()
    return warm.Image()


def _share(image: warm.Image, function: str, *, call: bool) -> None:
    """Import the module of ``function``, and perhaps call it, for all forked processes."""
    image.packages.add(function.partition(":")[0].partition(".")[0])
    try:
        image.load(partial(resolve_name, function))
        if call:
            resolve_name(function)()
            image.keep()
    except Exception as error:
        if of_the_machine(error) is not None:
            raise
        # The reference is broken: each job imports it again, and its answer has the reason.


def _work(image: warm.Image, job: Job) -> Iterable[Any]:
    become(job.mutant, job.changed, image)
    found: Iterable[Any] = resolve_name(job.function)(**job.arguments)
    return found


def become(mutant: str, changed: Mapping[str, str], image: warm.Image) -> None:
    """Make this process use the ``changed`` sources of the reference, at once or when they are imported.

    ``image``: the process as it was forked.
    """
    if not changed:
        return
    sys.meta_path.insert(0, patch.ChangedSources(mutant, changed))
    loaded = {name: source for name, source in changed.items() if name in sys.modules}
    if not all(
        image.become(name, patch.source_of(name, mutant), source, patch.file_of(name, mutant))
        for name, source in loaded.items()
    ):
        image.forget()


if __name__ == "__main__":
    with streams.messages_shown() if "--tell" in sys.argv[1:] else nullcontext():
        sys.exit(main())
