"""Running checks in order until one fails, with the reference as it is or with other sources of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from kraftcheck.checking.mutation.server import Job, Server
from kraftcheck.support.forks import Ended

_WORKER = "kraftcheck.impact.worker"
#: What a server does first for checks that are tests.
TESTS_FIRST = f"{_WORKER}:prepare_tests"
PASSED, FAILED, UNDETERMINED = "passed", "failed", "undetermined"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a check came to: ``status``: passed, failed or undetermined; ``why`` in sentences."""

    check: str
    status: str
    why: tuple[str, ...]
    seconds: float

    def as_data(self) -> dict[str, object]:
        """The same as JSON data."""
        return asdict(self)


def run(
    checks: Sequence[str], threads: int, timeout: float, changed: Mapping[str, str] | None = None
) -> Iterator[Ran]:
    """Run ``checks`` in their order up to the first that fails, each in a process of its own, with
    ``timeout`` seconds for each.

    changed: sources that replace those of the reference, by file; the files themselves stay as they are.
    """
    modules = {
        "kraftcheck." + file.removesuffix(".py").removesuffix("/__init__").replace("/", "."): source
        for file, source in (changed or {}).items()
    }
    with Server() as server:
        for check in checks:
            kind, _, name = check.partition(" ")
            arguments = {"name": name, "threads": threads, "seconds": timeout}
            first = TESTS_FIRST if kind == "test" else None
            job = Job(f"{_WORKER}:{kind}", arguments, timeout, "as edited", modules, first)
            ran = _ran(check, server.run(job))
            yield ran
            if ran.status == FAILED:
                return


def _ran(check: str, ended: Ended) -> Ran:
    seconds = round(ended.seconds, 1)
    if ended.limit is not None or ended.error is not None:
        return Ran(check, UNDETERMINED if ended.error is None else FAILED, (ended.why,), seconds)
    (came,) = ended.found
    return Ran(check, came["status"], tuple(came["why"]), seconds)
