"""A campaign: recordings of many seeds, side by side, each compared at once where that is wanted."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from functools import cache
from multiprocessing.util import Finalize
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, to_builtins

from kraftcheck.evidence.adapters.started import Adapters
from kraftcheck.evidence.recorder.adapter_host import require_whole
from kraftcheck.evidence.recorder.profiles import schedule
from kraftcheck.evidence.recorder.running import Compared, Recorder, compared
from kraftcheck.evidence.recorder.schedule import Schedule, dumps
from kraftcheck.evidence.recorder.writing import files_of, is_whole, write_files
from kraftcheck.evidence.recordings.typed import typed
from kraftcheck.reference.protocol import Protocol
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text, write_atomically
from kraftcheck.support.parallel import processes

#: The file of a campaign that compares: the results so far.
RESULTS, SCHEDULE = "compared.json", "schedule.json"


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

    def schedules(self) -> dict[str, Schedule]:
        """The schedules by the name of the recording."""
        made = (
            schedule(self.profiles[seed % len(self.profiles)], seed, self.seconds)
            for seed in range(self.seed, self.seed + self.count)
        )
        return {f"run-{each.profile}-{each.seed}": each for each in made}


class Made(NamedTuple):
    """A recording: its files, unless it is not kept, and its comparison, if there is one."""

    files: dict[str, bytes] | None
    result: Compared | None
    events: int


def make(recorder: Recorder, name: str, planned: Schedule, protocol: Protocol | None) -> Made:
    """Record ``planned``; with ``protocol`` compare it, and keep it only if it differs.

    Raises AdapterError.
    """
    lines = recorder.record(planned)
    result = None if protocol is None else compared(name, lines, protocol)
    if result is not None and not result.differs and result.whole:
        return Made(None, result, len(lines))
    files = files_of(name, lines, scenario=planned.profile, seed=planned.seed)
    return Made({**files, SCHEDULE: dumps(planned).encode()}, result, len(lines))


class Campaign:
    """The recordings of ``plan`` in ``folder``. results: of recordings that were compared, by name.

    Raises InputError where the folder has the results of another plan.
    """

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan, self.folder = plan, folder
        self.results: dict[str, Compared] = {}
        self._file = folder / RESULTS
        if plan.compares and self._file.is_file():
            self._take_up()

    def _take_up(self) -> None:
        data = codec.parse(read_text(self._file, "the results of a campaign"), str(self._file))
        if not isinstance(data, dict) or {name: data.get(name) for name in self._head()} != self._head():
            raise InputError(
                f"{self._file}: has the results of another adapter, protocol or length; choose another "
                "folder."
            )
        found: dict[str, Compared] = typed(data.get("runs"), dict[str, Compared], str(self._file))
        self.results = {
            name: each for name, each in found.items() if not each.differs or is_whole(self.folder / name)
        }

    def _head(self) -> Mapping[str, object]:
        plan = self.plan
        made_by = {"adapter": plan.adapter, "seconds": plan.seconds, "protocol": list(plan.protocol)}
        return {"format": "kraftcheck-compared", "version": 1, **made_by}

    def left(self) -> dict[str, Schedule]:
        """The schedules that are not recorded yet, by name."""
        planned = self.plan.schedules()
        if self.plan.compares:
            return {name: each for name, each in planned.items() if name not in self.results}
        return {name: each for name, each in planned.items() if not is_whole(self.folder / name)}

    def ours(self) -> list[Compared]:
        """The results of the plan's recordings, in order."""
        return [self.results[name] for name in self.plan.schedules() if name in self.results]

    def keep(self, name: str, made: Made) -> None:
        """Write what ``made`` has; a campaign that is interrupted has it then."""
        if made.files is not None and not is_whole(self.folder / name):
            write_files(self.folder / name, made.files)
        if made.result is not None:
            self.results[name] = made.result
            runs = {each: to_builtins(result) for each, result in self.results.items()}
            text = json.dumps({**self._head(), "runs": runs}, indent=1) + "\n"
            write_atomically(self._file, text, create_folder=True)


@cache
def _recorder(command: tuple[str, ...], timeout: float) -> Recorder:
    """The recorder of this process, whose adapters end with it."""
    adapters = Adapters(command, timeout, require_whole)
    Finalize(None, adapters.end, exitpriority=1)
    return Recorder(adapters)


def _make(
    command: tuple[str, ...], timeout: float, name: str, planned: Schedule, protocol: Protocol | None
) -> tuple[str, Made]:
    return name, make(_recorder(command, timeout), name, planned, protocol)


def side_by_side(
    command: Sequence[str],
    timeout: float,
    planned: Mapping[str, Schedule],
    protocol: Protocol | None,
    jobs: int,
) -> Iterator[tuple[str, Made]]:
    """Record ``planned`` in ``jobs`` processes, each with adapters of its own, as they come."""
    with processes(min(jobs, len(planned))) as pool:
        waiting: Sequence[Future[tuple[str, Made]]] = [
            pool.submit(_make, tuple(command), timeout, name, each, protocol)
            for name, each in planned.items()
        ]
        for future in as_completed(waiting):
            yield future.result()
