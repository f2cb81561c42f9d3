"""The whole hunt: its steps in order, what is new written down, and the state kept after each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from kraftcheck.engine.prepared import prepare
from kraftcheck.hunt.causes import likeness_of
from kraftcheck.hunt.search import Sighting
from kraftcheck.hunt.step import Done, Job, take
from kraftcheck.hunt.store import Seen, State, keep_line, line_of, save
from kraftcheck.hunt.written import name_of, write, written
from kraftcheck.support.parallel import processes
from kraftcheck.systems.scenario import Scenario, shipped, shipped_files

#: The folders of scenarios that are about one thing already known.
_SPECIAL = frozenset({"findings", "fixes", "mutants", "nightly", "parity"})
_SPECIAL_TAGS = frozenset({"nightly", "large", "finding", "mutants"})

#: Gets the result of a job, as :func:`~kraftcheck.hunt.step.take` gives it; whether more are wanted.
Keep = Callable[[Job, Done | None], bool]
#: Takes jobs, and hands their results to a ``Keep`` in the order of the jobs, as long as it wants them.
Takes = Callable[[Sequence[Job], Keep], None]


def generic() -> list[Scenario]:
    """The shipped scenarios that are expected to hold, without those of findings, fixes and mutants, the
    large ones, and those for TLC.
    """
    return [each for name, each in shipped().items() if _is_generic(name, each)]


def _is_generic(name: str, scenario: Scenario) -> bool:
    folder = Path(str(shipped_files()[name])).parent.name
    special = folder in _SPECIAL or _SPECIAL_TAGS & set(scenario.tags)
    return scenario.expect.verdict == "holds" and not special


@dataclass(slots=True)
class Hunt:
    """A hunt through ``scenarios``, whose ``state`` lives in ``folder``. ``threads``: so many steps are
    taken at a time, unless ``takes`` takes them elsewhere; the results depend on neither. ``max_memory``: of
    each process; ``max_steps``: of the whole hunt.
    """

    scenarios: Sequence[Scenario]
    state: State
    folder: Path
    threads: int = 1
    max_memory: int | None = None
    max_steps: int | None = None
    takes: Takes | None = None
    tell: Callable[[str], None] = lambda text: None
    _begun: float = field(default_factory=time.monotonic)
    _earlier: float = 0.0

    def run(self, seconds: float) -> bool:
        """Hunt for so many seconds. Whether only time, or ``max_steps``, ended it, and not memory. Raises
        KeyboardInterrupt, with the state of all steps that were complete.
        """
        self._earlier, deadline = self.state.seconds, time.time() + seconds
        save(self.folder, self.state)
        prepare()  # Otherwise each process compiles.
        count = 1 if self.takes is not None else min(self.threads, len(self.scenarios))
        with nullcontext() if count < 2 else processes(count) as pool:
            takes = self.takes or partial(_take_here, pool)
            while time.time() < deadline and not self._complete():
                if not self._round(deadline, takes):
                    return time.time() >= deadline
        return True

    def _complete(self) -> bool:
        return self.max_steps is not None and self.state.steps >= self.max_steps

    def _round(self, deadline: float, takes: Takes) -> bool:
        """Take the steps of the present round that are left; whether all were complete."""
        state, complete = self.state, True
        left = self.scenarios[state.done :]
        jobs = [
            Job(each, line_of(state, each.name), state.round, state.seed, deadline, self.max_memory)
            for each in left
        ]

        def keep(job: Job, done: Done | None) -> bool:
            nonlocal complete
            complete = done is not None
            if done is not None:
                self._keep(job, done)
            return complete and not self._complete()

        takes(jobs, keep)
        if not complete:
            return False
        if state.done == len(self.scenarios):
            state.round, state.done = state.round + 1, 0
        save(self.folder, state)
        return True

    def _keep(self, job: Job, done: Done) -> None:
        state = self.state
        state.done += 1
        state.steps += done.searched
        state.states += done.states
        state.walked += done.walked
        state.seconds = self._earlier + time.monotonic() - self._begun
        keep_line(state, job.origin.name, done.line)
        for each in done.seen:
            self._note(each, job, done)
        save(self.folder, state)
        self.tell(
            f"step {state.steps:,}, round {state.round + 1}: {job.origin.name}; "
            f"{len(state.causes)} known causes, {len(state.new)} new; {state.seconds:,.0f} s"
        )

    def _note(self, sighting: Sighting, job: Job, done: Done) -> None:
        known = sighting.cause is not None
        name = str(sighting.cause) if known else name_of(likeness_of(sighting.trace))
        table = self.state.causes if known else self.state.new
        if name in table:
            table[name].times += 1
            return
        seen = Seen(
            property=sighting.trace.property or "",
            scenario=job.origin.name,
            widened=done.line.widened,
            steps=len(sighting.trace.steps),
            walked=sighting.walked,
            at_step=self.state.steps,
            seconds=round(self.state.seconds, 1),
        )
        if not known:
            found = written(sighting, name, self.threads)
            write(found, self.folder)
            seen = seen.model_copy(
                update={
                    "file": f"{name}.toml",
                    "confirmed": found.confirmed,
                    "steps": len(found.trace.steps),
                }
            )
        table[name] = seen


def _take_here(pool: ProcessPoolExecutor | None, jobs: Sequence[Job], keep: Keep) -> None:
    for job, done in zip(jobs, _results(jobs, pool), strict=False):
        if not keep(job, done):
            break


def _results(jobs: Sequence[Job], pool: ProcessPoolExecutor | None) -> Iterator[Done | None]:
    """The results of ``jobs``, in their order; ``pool``: the processes that take them, if not this one."""
    if pool is None:
        yield from map(take, jobs)
        return
    futures = [pool.submit(take, job) for job in jobs]
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()
