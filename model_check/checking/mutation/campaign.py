"""Running mutants, each in a process of its own, and comparing the results with the expected ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from enum import Enum
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from kraftcheck.checking.coverage.executed import Place
from kraftcheck.checking.ledger import Ledger
from kraftcheck.checking.mutation import patch
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.checking.mutation.server import Job, Server
from kraftcheck.support import signals
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.forks import End, Ended
from kraftcheck.systems.scenario import Scenario, find


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
    trace: Sequence[str]


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
            "runs": [asdict(run) for run in self.runs],
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
    width: int | None = None,
    brief: bool = False,
    pages: Path | None = None,
    ledger: Ledger | None = None,
) -> Iterator[Result]:
    """Explore ``mutants`` with ``jobs`` processes at a time; results in the order of ``mutants``.

    The unmutated scenario of a mutant is explored too, once for all mutants that share it. A mutant whose
    edit no longer applies to the reference is skipped. ``timeout`` bounds each exploration in seconds; with
    ``width`` counterexamples are printed in full, for that width; with ``brief`` in a few words a step.
    ``pages``: a folder for a page of each counterexample.
    ``ledger``: has the unmutated scenarios that need not be explored again, and receives the others; the
    campaign also checks that the ledger would explore the scenario of each killed mutant again. Raises
    InputError if a scenario is not valid.
    """
    chosen = {mutant: _changed(mutant) for mutant in mutants}
    scenarios = {name: find(name) for name in dict.fromkeys(mutant.scenario for mutant in chosen)}
    how = {"timeout": timeout, "width": width, "brief": brief}
    # The first server reports that it compiles.
    servers = [Server(tell=number == 0) for number in range(max(1, jobs))]
    pool, idle = ThreadPoolExecutor(len(servers)), SimpleQueue[Server]()
    for server in servers:
        idle.put(server)

    def work(job: Job) -> Ended:
        server = idle.get()
        try:
            return server.run(job)
        finally:
            idle.put(server)

    # An interrupt does not wait for the running mutants.
    try:
        controls: dict[str, Future[Ended]] = {}
        explored: dict[Mutant, Future[Ended]] = {}
        with signals.waiting():  # An interrupt within `submit` would leave a lock of the pool held.
            for mutant, changed in chosen.items():
                if isinstance(changed, InputError):
                    continue
                name = mutant.scenario
                if name not in controls:
                    controls[name] = pool.submit(_control, work, scenarios[name], timeout, ledger)
                explored[mutant] = pool.submit(work, _exploration(mutant, changed, how, pages))
        for mutant, changed in chosen.items():
            if isinstance(changed, InputError):
                yield Result(mutant, Status.SKIPPED, str(changed))
            else:
                found = judge(mutant, controls[mutant.scenario].result(), explored[mutant].result())
                yield (
                    found if ledger is None else _reached(found, scenarios[mutant.scenario], changed, ledger)
                )
    finally:
        if ledger is not None:
            ledger.write()
        pool.shutdown(wait=False, cancel_futures=True)
        for server in servers:
            server.close()
        pool.shutdown(wait=True)


def _changed(mutant: Mutant) -> Mapping[str, str] | InputError:
    """The sources that ``mutant`` changes, or the reason why its edits do not apply."""
    try:
        return patch.mutated_sources(mutant)
    except InputError as error:
        return error


def _exploration(
    mutant: Mutant, changed: Mapping[str, str], how: Mapping[str, Any], pages: Path | None
) -> Job:
    judged = mutant.expect or (None,)
    page = pages and {"folder": str(pages), "mutant": mutant.id, "about": mutant.about.strip()}
    return Job(
        "kraftcheck.checking.mutation.worker:explore",
        {"scenario": mutant.scenario, "judged": judged, **how, "page": page},
        how["timeout"] * len(judged),
        mutant=mutant.id,
        changed=changed,
    )


def _control(
    work: Callable[[Job], Ended], scenario: Scenario, timeout: float, ledger: Ledger | None
) -> Ended:
    """The result of a scenario without a mutant, from the ledger if it has one."""
    kept = None if ledger is None or scenario.expect.verdict != "holds" else ledger.kept(scenario)
    if kept is not None:
        return Ended([{"verdict": "holds", "differences": []}])
    module = "kraftcheck.checking.mutation.worker"
    arguments = {"scenario": scenario.name, "timeout": timeout}
    first = f"{module}:prepare_controls"
    found = work(Job(f"{module}:control", arguments, timeout, first=first))
    if ledger is not None and found.end is End.DONE:
        (only,) = found.found
        if only["as_expected"]:
            ran = {Place(module, function): flags for module, function, flags in only["ran"]}
            ledger.keep(scenario, only["states"], ran.items())
    return found


def _reached(found: Result, scenario: Scenario, changed: Mapping[str, str], ledger: Ledger) -> Result:
    """``found``, or that the ledger has a result for the scenario that the mutant changes."""
    if found.status is not Status.KILLED or ledger.kept(scenario, ledger.sources.replaced(changed)) is None:
        return found
    why = f"'kraftcheck check' would not explore {scenario.name} again after this edit; please report it"
    return replace(found, status=Status.FAILED, reason=why)


def judge(mutant: Mutant, control: Ended, report: Ended) -> Result:
    """The outcome of ``mutant`` by its explorations; ``control``: its scenario explored without it."""
    trouble = _trouble_of_control(mutant, control)
    if trouble is not None:
        return Result(mutant, *trouble)
    runs = tuple(Run(**{each.name: data[each.name] for each in fields(Run)}) for data in report.found)
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


def _trouble_of_control(mutant: Mutant, control: Ended) -> tuple[Status, str] | None:
    """The reason why the unmutated scenario does not serve as a control, if it does not."""
    if control.limit is not None:
        return Status.UNDETERMINED, f"the unmutated {mutant.scenario}: {control.limit}"
    if control.error is not None:
        return Status.FAILED, f"the unmutated {mutant.scenario}: {control.error}"
    (found,) = control.found
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
