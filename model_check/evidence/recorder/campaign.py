"""A campaign: its plan, and the recordings of many seeds in a folder, with what their comparison gave."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from kraftcheck.evidence.recorder.adapter_host import RefusedError
from kraftcheck.evidence.recorder.profiles import schedule
from kraftcheck.evidence.recorder.results import RESULTS, Results
from kraftcheck.evidence.recorder.running import Compared, Recorder, compared
from kraftcheck.evidence.recorder.schedule import Schedule, dumps
from kraftcheck.evidence.recorder.writing import files_of, is_whole, write_files
from kraftcheck.reference.protocol import Protocol
from kraftcheck.support.files import write_atomically

#: The schedule of a recording, and the minimal one for the kind of its difference.
SCHEDULE, MINIMAL = "schedule.json", "minimal.json"


class Plan(Struct, frozen=True):
    """The recordings of a campaign: of the seeds from ``seed`` on, each with a profile, which take turns.

    adapter: the name of the implementation. compares: whether each recording is compared, and kept only if it
    differs. protocol: the options of the reference.
    """

    adapter: str
    profiles: tuple[str, ...]
    seed: int
    count: int
    seconds: int
    compares: bool
    protocol: tuple[str, ...]

    def _profile(self, seed: int) -> str:
        return self.profiles[seed % len(self.profiles)]

    def names(self) -> list[str]:
        """The names of the recordings, in order."""
        seeds = range(self.seed, self.seed + self.count)
        return [f"run-{self._profile(seed)}-{seed}" for seed in seeds]

    def schedule(self, name: str) -> Schedule:
        """The schedule of the recording ``name``."""
        seed = int(name.rpartition("-")[2])
        return schedule(self._profile(seed), seed, self.seconds)


class Made(Struct, frozen=True):
    """A recording: its files, unless it is not kept, its comparison, if it has one, and its number of lines.

    refused: why the implementation has no such cluster, so that there is no recording; else ``""``.
    """

    files: dict[str, bytes] | None = None
    result: Compared | None = None
    events: int = 0
    refused: str = ""


def make(recorder: Recorder, name: str, planned: Schedule, protocol: Protocol | None) -> Made:
    """Record ``planned``; with ``protocol`` compare it, and keep it only if it differs.

    Raises AdapterError.
    """
    try:
        lines = recorder.record(planned)
    except RefusedError as error:
        return Made(refused=error.reason)
    result = None if protocol is None else compared(name, lines, protocol)
    if result is not None and not result.differs and result.whole:
        return Made(None, result, len(lines))
    files = files_of(name, lines, scenario=planned.profile, seed=planned.seed)
    return Made({**files, SCHEDULE: dumps(planned).encode()}, result, len(lines))


class Campaign:
    """The recordings of ``plan`` in ``folder``.

    Raises InputError where the folder has the results of another plan.
    """

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        made_by = {"adapter": plan.adapter, "seconds": plan.seconds, "protocol": list(plan.protocol)}
        self._results = Results(folder / RESULTS, made_by) if plan.compares else None

    def _is_complete(self, name: str) -> bool:
        if self._results is None:
            return is_whole(self.folder / name)
        result = self._results.by_run.get(name)
        # One that differed and is gone is recorded again.
        return result is not None and (not result.differs or is_whole(self.folder / name))

    def left(self) -> list[str]:
        """The recordings that are not complete, in order."""
        return [name for name in self.plan.names() if not self._is_complete(name)]

    def results(self) -> list[Compared]:
        """The results of the plan's complete recordings, in order."""
        if self._results is None:
            return []
        return [self._results.by_run[name] for name in self.plan.names() if self._is_complete(name)]

    def keep(self, name: str, made: Made) -> None:
        """Write what ``made`` has; a campaign that is interrupted has it then."""
        if made.files is not None and not is_whole(self.folder / name):
            write_files(self.folder / name, made.files)
        if made.result is not None and self._results is not None:
            self._results.add(made.result)

    def minimal(self, run: str) -> Path:
        """The file of the minimal schedule for the first difference of the recording ``run``."""
        return self.folder / run / MINIMAL

    def keep_minimal(self, run: str, smallest: Schedule) -> None:
        """Write a minimal schedule."""
        write_atomically(self.minimal(run), dumps(smallest))
