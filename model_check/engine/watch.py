"""The progress of an exploration; the time and the memory that a scenario takes over all its activities."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kraftcheck.engine.system import UNLIMITED, Limits

PROGRESS_SECONDS = 1.0
#: The limit in the result when the user ends an exploration.
INTERRUPTED = "interrupted"
#: The limit in the result where no step may exceed the network's capacity.
CAPACITY = "capacity"

_PLENTY = 1 << 62
#: By the name of its controllers, where a control group is (versions 2 and 1), and its files: the limit, what
#: is used, and in ``memory.stat`` what of that are idle pages of files.
_GROUPS = {
    "": (Path("/sys/fs/cgroup"), "memory.max", "memory.current", "inactive_file"),
    "memory": (
        Path("/sys/fs/cgroup/memory"),
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
}


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of an exploration.

    ``level``: the level being generated; ``frontier``: states of the level before; ``rate``: distinct states
    per second since the last report; ``memory``: resident bytes; ``estimate``: a guess at the final number of
    distinct states, or ``None`` before half of them are likely to be known. ``phase``: the activity after the
    exploration of a scenario; without states if that is not a search.
    """

    level: int
    distinct: int
    generated: int
    frontier: int
    rate: float
    memory: int
    seconds: float
    estimate: int | None
    phase: str = ""


def resident_bytes() -> int:
    """Resident memory of this process in bytes (0 where /proc does not show it)."""
    try:
        fields = Path("/proc/self/statm").read_text().split()
    except OSError:
        return 0
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


def available_bytes(most: int | None = None) -> tuple[int, int]:
    """(memory that this process may have, what is left of it): of the machine, of its control groups, and of
    ``most`` bytes for this process alone. Of what cannot be found out there is plenty.
    """
    found = [(_PLENTY, _PLENTY), *_of_machine(), *_of_groups()]
    if most is not None:
        found.append((most, most - resident_bytes()))
    whole, left = zip(*found, strict=True)
    return min(whole), min(left)


def _of_machine() -> Iterator[tuple[int, int]]:
    with suppress(OSError, KeyError):
        amounts = _amounts(Path("/proc/meminfo").read_text().replace(":", ""))
        yield 1024 * amounts["MemTotal"], 1024 * amounts["MemAvailable"]


def _of_groups() -> Iterator[tuple[int, int]]:
    """Of each group that the process is in. Pages of files that were not used lately are free."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in _GROUPS:
            continue
        root, most, used, idle = _GROUPS[controllers]
        for folder in (Path(path), *Path(path).parents):
            group = root / folder.relative_to("/")
            with suppress(OSError, ValueError, KeyError):
                whole, taken = (int((group / name).read_text()) for name in (most, used))
                yield whole, whole - taken + _amounts((group / "memory.stat").read_text())[idle]


def _amounts(text: str) -> dict[str, int]:
    """Of lines that begin with a name and a number."""
    return {words[0]: int(words[1]) for words in map(str.split, text.splitlines()) if len(words) > 1}


class IncompleteGraphError(Exception):
    """The reachable graph exceeds a limit: states, memory or time, as ``limit`` names it in the words of
    :class:`~kraftcheck.engine.system.Exploration`. ``levels``: the new states of each level, the last of
    which is incomplete; empty where that is not known.
    """

    def __init__(self, problem: str, limit: str, levels: tuple[int, ...] = ()) -> None:
        super().__init__(problem)
        self.limit = limit
        self.levels = levels


class Watch:
    """Counts the seconds in which it runs (:meth:`running`), and knows the rest of ``limits``.

    A call names the current activity: it raises IncompleteGraphError where time or memory are used up, and
    reports to ``progress`` about once a second.
    """

    def __init__(
        self, limits: Limits = UNLIMITED, progress: Callable[[Progress], None] | None = None
    ) -> None:
        self.limits = limits
        self._progress = progress
        self._spent, self._since = 0.0, None
        self._told = 0.0

    _since: float | None

    @property
    def seconds(self) -> float:
        """The seconds in which it ran."""
        return self._spent + (0.0 if self._since is None else time.monotonic() - self._since)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time within; once where this is nested."""
        if self._since is not None:
            yield
            return
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._spent, self._since = self.seconds, None

    def rest(self, *, max_states: int | None = None) -> Limits:
        """The limits with the seconds that are left, and ``max_states`` if that is less."""
        states = [each for each in (max_states, self.limits.max_states) if each is not None]
        most = self.limits.max_seconds
        left = None if most is None else max(0.0, most - self.seconds)
        return replace(self.limits, max_states=min(states, default=None), max_seconds=left)

    def progress(self, phase: str) -> Callable[[Progress], None] | None:
        """The callback for the progress of an exploration in ``phase``."""
        tell = self._progress
        if tell is None:
            return None
        return lambda found: tell(replace(found, seconds=self.seconds, phase=phase))

    def __call__(self, doing: str) -> None:
        memory = resident_bytes()
        if self.limits.max_seconds is not None and self.seconds > self.limits.max_seconds:
            raise IncompleteGraphError(f"more than {self.limits.max_seconds:g} seconds", "max_seconds")
        if self.limits.max_memory is not None and memory > self.limits.max_memory:
            raise IncompleteGraphError(f"more than {self.limits.max_memory:,} bytes", "max_memory")
        if self._progress is None or self.seconds - self._told < PROGRESS_SECONDS:
            return
        self._told = self.seconds
        self._progress(Progress(0, 0, 0, 0, 0.0, memory, self.seconds, None, doing))
