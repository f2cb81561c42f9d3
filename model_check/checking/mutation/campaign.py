"""Running mutants, each in a process of its own, and comparing the results with the expected ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any

from kraftcheck.checking.coverage.executed import Place
from kraftcheck.checking.ledger import Ledger
from kraftcheck.checking.mutation import patch
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.failures import ended_by_the_machine
from kraftcheck.support.forks import Server
from kraftcheck.systems.scenario import Scenario, find

#: Seconds of a worker in addition to its exploration's time limit: imports, compilation, one level of the
#: search.
GRACE_SECONDS = 60.0


class Status(Enum):
    """The outcome of a mutant."""

    KILLED = "killed"
    EQUIVALENT = "equivalent"
    SURVIVED = "survived"
    UNDETERMINED = "undetermined"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Run:
    """One exploration of a mutant's scenario.

    judged: the property judged alone, ``None`` for all that the scenario judges; property: the one violated,
    if any, or the goal never reached; steps: the length of the shortest counterexample, trace: its steps.
    """

    judged: str | None
    verdict: str
    property: str | None
    steps: int | None
    states: int
    seconds: float
    limit: str | None
    trace: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a mutant, the reason, and the explorations that show it."""

    mutant: Mutant
    status: Status
    reason: str
    runs: tuple[Run, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """The result as JSON data."""
        return {
            "mutant": self.mutant.id,
            "rules": list(self.mutant.rules),
            "scenario": self.mutant.scenario,
            "status": self.status.value,
            "reason": self.reason,
            "expected": list(self.mutant.expect),
            "runs": [
                {
                    "judged": run.judged,
                    "verdict": run.verdict,
                    "property": run.property,
                    "steps": run.steps,
                    "states": run.states,
                    "seconds": run.seconds,
                    "limit": run.limit,
                    "trace": list(run.trace),
                }
                for run in self.runs
            ],
        }


def exit_status(results: Iterable[Result]) -> int:
    """1 where one is not killed as expected, otherwise 3 where one is undetermined or skipped, else 0."""
    found = {result.status for result in results}
    if found & {Status.SURVIVED, Status.FAILED}:
        return EXIT_DIFFERS
    return EXIT_UNDETERMINED if found & {Status.UNDETERMINED, Status.SKIPPED} else EXIT_EXPECTED


def run(
    mutants: Iterable[Mutant],
    *,
    jobs: int = 1,
    timeout: float = 120.0,
    catalogue: Path | None = None,
    width: int | None = None,
    brief: bool = False,
    ledger: Ledger | None = None,
) -> Iterator[Result]:
    """Explore ``mutants`` with ``jobs`` processes at a time; results in the order of ``mutants``.

    The unmutated scenario of a mutant is explored too, once for all mutants that share it. A mutant whose
    edit no longer applies to the reference is skipped. ``timeout`` bounds each exploration in seconds;
    ``catalogue`` is the file the mutants come from, if not the shipped one; with ``width`` counterexamples
    are printed in full, for that width; with ``brief`` in a few words a step. ``ledger``: has the unmutated
    scenarios that need not be explored again, and receives the others; the campaign also checks that the
    ledger would explore the scenario of each killed mutant again. Raises InputError if a scenario is not
    valid.
    """
    chosen = list(mutants)
    skipped = {mutant.id: reason for mutant in chosen if (reason := _why_it_does_not_apply(mutant))}
    scenarios = {name: find(name) for name in dict.fromkeys(mutant.scenario for mutant in chosen)}
    source = [] if catalogue is None else ["--catalogue", str(catalogue)]
    source += [] if width is None else ["--width", str(width)]
    source += ["--brief"] if brief else []
    pool, workers = ThreadPoolExecutor(max(1, jobs)), Workers()
    # An interrupt does not wait for the running mutants.
    try:
        controls: dict[str, Future[Explored]] = {}
        explored: dict[str, Future[Explored]] = {}
        for mutant in chosen:
            if mutant.id in skipped:
                continue
            if mutant.scenario not in controls:
                controls[mutant.scenario] = pool.submit(
                    _control, workers, scenarios[mutant.scenario], timeout, ledger
                )
            number = max(1, len(mutant.expect))
            explored[mutant.id] = pool.submit(workers.work, [mutant.id, *source], timeout, number)
        for mutant in chosen:
            if mutant.id in skipped:
                yield Result(mutant, Status.SKIPPED, skipped[mutant.id])
            else:
                found = judge(mutant, controls[mutant.scenario].result(), explored[mutant.id].result())
                yield found if ledger is None else _reached(found, scenarios[mutant.scenario], ledger)
    finally:
        if ledger is not None:
            ledger.write()
        pool.shutdown(wait=False, cancel_futures=True)
        workers.close()
        pool.shutdown(wait=True)


def _control(workers: Workers, scenario: Scenario, timeout: float, ledger: Ledger | None) -> Explored:
    """The result of a scenario without a mutant, from the ledger if it has one."""
    kept = None if ledger is None or scenario.expect.verdict != "holds" else ledger.kept(scenario)
    if kept is not None:
        return Explored(({"verdict": "holds", "differences": []},))
    found = workers.work(["--control", scenario.name], timeout, 1)
    if ledger is not None and found.error is None and found.limit is None:
        (only,) = found.explorations
        if only["as_expected"]:
            ran = {Place(module, function): flags for module, function, flags in only["ran"]}
            ledger.keep(scenario, only["states"], ran)
    return found


def _reached(found: Result, scenario: Scenario, ledger: Ledger) -> Result:
    """``found``, or that the ledger has a result for the scenario that the mutant changes."""
    if found.status is not Status.KILLED:
        return found
    if ledger.kept(scenario, ledger.sources.replaced(patch.mutated_sources(found.mutant))) is None:
        return found
    why = f"'kraftcheck check' would not explore {scenario.name} again after this edit; please report it"
    return replace(found, status=Status.FAILED, reason=why)


def _why_it_does_not_apply(mutant: Mutant) -> str | None:
    try:
        patch.mutated_sources(mutant)
    except InputError as error:
        return str(error)
    return None


@dataclass(frozen=True, slots=True)
class Explored:
    """The explorations of a mutant, or of the unmutated reference, or the reason why there are none.

    For each the output of a worker: ``judged``, ``verdict``, ``property``, ``steps``, ``states``,
    ``seconds``, ``limit`` and, of a mutant, ``trace``, of the reference, ``differences``. ``limit``: time or
    memory, which prevented a result.
    """

    explorations: tuple[dict[str, Any], ...] = ()
    error: str | None = None
    limit: str | None = None


class Workers:
    """Servers of workers: one for each concurrent thread. The first one reports that it compiles."""

    def __init__(self) -> None:
        self._idle: SimpleQueue[Server] = SimpleQueue()
        self._all: list[Server] = []
        self._lock, self._closed = Lock(), False

    def work(self, arguments: list[str], timeout: float, explorations: int) -> Explored:
        """The result of the worker with ``arguments``, within ``timeout`` seconds for each exploration."""
        request = {
            "arguments": [*arguments, "--timeout", str(timeout)],
            "seconds": timeout * explorations + GRACE_SECONDS,
        }
        try:
            server = self._idle.get_nowait()
        except Empty:
            with self._lock:
                if self._closed:
                    return Explored(limit="interrupted")
                server = Server("kraftcheck.checking.mutation.server", *([] if self._all else ["--tell"]))
                self._all.append(server)
        answer = server.ask(json.dumps(request))
        if answer is None:
            with self._lock:
                self._all.remove(server)
            server.close()
            return Explored(limit="the process of the workers ended; was memory short?")
        self._idle.put(server)
        return _explored(answer)

    def close(self) -> None:
        """End all servers, including busy ones."""
        with self._lock:
            self._closed = True
        for server in self._all:
            server.close()


def _explored(answer: dict[str, Any]) -> Explored:
    limits = [data["limit"] for data in answer["found"] if "judged" not in data and "limit" in data]
    found = [data for data in answer["found"] if "judged" in data]
    errors = [data["error"] for data in answer["found"] if "error" in data]
    if not answer["in_time"]:
        return Explored(limit="no result in time")
    if limits or ended_by_the_machine(answer["status"]):
        return Explored(limit=limits[0] if limits else "the worker was ended; was memory short?")
    if not errors and answer["status"]:
        errors = [f"the worker ended with status {answer['status']}"]
    return Explored(tuple(found), errors[-1] if errors else None)


def judge(mutant: Mutant, control: Explored, report: Explored) -> Result:
    """The outcome of ``mutant``; ``control`` is its scenario explored without it."""
    trouble = _trouble_of_control(mutant, control)
    if trouble is not None:
        return Result(mutant, *trouble)
    runs = tuple(
        Run(
            judged=data["judged"],
            verdict=data["verdict"],
            property=data["property"],
            steps=data["steps"],
            states=data["states"],
            seconds=data["seconds"],
            limit=data["limit"],
            trace=tuple(data["trace"]),
        )
        for data in report.explorations
    )
    if report.limit is not None:
        return Result(mutant, Status.UNDETERMINED, report.limit, runs)
    if report.error is not None:
        return Result(mutant, Status.FAILED, report.error, runs)
    if mutant.equivalent is not None:
        return _judge_equivalent(mutant, runs)
    survived = [run.judged for run in runs if run.verdict != "undetermined" and run.property != run.judged]
    if survived:
        return Result(mutant, Status.SURVIVED, f"{' and '.join(map(str, survived))} not violated", runs)
    open_ = [run for run in runs if run.verdict == "undetermined"]
    if open_:
        return Result(mutant, Status.UNDETERMINED, f"{open_[0].judged}: {open_[0].limit} reached", runs)
    return Result(mutant, Status.KILLED, "", runs)


def _trouble_of_control(mutant: Mutant, control: Explored) -> tuple[Status, str] | None:
    """The reason why the unmutated scenario does not serve as a control, if it does not."""
    if control.limit is not None:
        return Status.UNDETERMINED, f"the unmutated {mutant.scenario}: {control.limit}"
    if control.error is not None:
        return Status.FAILED, f"the unmutated {mutant.scenario}: {control.error}"
    (found,) = control.explorations
    if found["verdict"] == "undetermined":
        return Status.UNDETERMINED, f"the unmutated {mutant.scenario}: {found['limit']} reached"
    if found["verdict"] != "holds" or found["differences"]:
        why = "; ".join(found["differences"]) or f"{found['property']} is violated"
        return Status.FAILED, f"the unmutated {mutant.scenario} must hold: {why}"
    return None


def _judge_equivalent(mutant: Mutant, runs: tuple[Run, ...]) -> Result:
    (only,) = runs
    if only.verdict == "violated":
        return Result(mutant, Status.FAILED, f"said to be equivalent, yet violates {only.property}", runs)
    if only.verdict == "undetermined":
        return Result(mutant, Status.UNDETERMINED, f"{only.limit} reached", runs)
    assert mutant.equivalent is not None
    return Result(mutant, Status.EQUIVALENT, mutant.equivalent, runs)
