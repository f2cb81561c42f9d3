"""One scenario, or one mutant, by the checker and by TLC, and how the two answers differ."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.graph import Graph, collect_graph
from kraftcheck.engine.system import Limits, Verdict
from kraftcheck.support import forks
from kraftcheck.support.errors import InputError, ProcessKilledError
from kraftcheck.support.failures import ended_by_the_machine
from kraftcheck.systems.kinds import model_of
from kraftcheck.systems.model import ModelSystem
from kraftcheck.systems.scenario import Scenario
from kraftcheck.tlc import states as sets
from kraftcheck.tlc.install import Tools
from kraftcheck.tlc.kinds import kind_of
from kraftcheck.tlc.modules import Configuration, Modules, TlaMutant
from kraftcheck.tlc.output import Said
from kraftcheck.tlc.process import DUMP, Job, Ran, run, workplace
from kraftcheck.tlc.states import StatesCompared
from kraftcheck.tlc.values import NoFormError

GRACE_SECONDS = 60.0

#: So many states TLC is done with before its JVM has optimized any code.
SMALL_STATES = 20_000

#: What a status line shows.
Report = Callable[[str], None]


class Status(Enum):
    """What a comparison came to."""

    SAME = "same"
    DIFFERS = "DIFFERS"
    UNDETERMINED = "UNDETERMINED"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one side says: ``violated`` by the number of ``steps`` of a shortest counterexample; else how many
    ``distinct`` states there are, ``generated`` from each other, to which ``depth``. ``limit``: why it says
    nothing.
    """

    distinct: int
    generated: int
    depth: int | None
    violated: tuple[str, ...]
    steps: int | None
    seconds: float
    limit: str | None = None

    @property
    def verdict(self) -> str:
        if self.violated:
            return "violated"
        return "undetermined" if self.limit is not None else "holds"


@dataclass(frozen=True, slots=True)
class Wanted:
    """How far the two go: threads of the checker, workers of TLC, a time limit for each, and up to how many
    states these are compared one by one.
    """

    threads: int = 1
    workers: int = 1
    max_seconds: float | None = None
    compare_states: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both answers; ``differences`` in words; ``notes``: what cannot be compared, and why."""

    name: str
    ours: Answer
    theirs: Answer
    differences: tuple[str, ...]
    notes: tuple[str, ...] = ()
    states: StatesCompared | None = None

    @property
    def status(self) -> Status:
        if self.differences:
            return Status.DIFFERS
        if self.ours.limit is not None or self.theirs.limit is not None:
            return Status.UNDETERMINED
        return Status.SAME


def compare(
    scenario: Scenario, modules: Modules, tools: Tools, wanted: Wanted, report: Report | None = None
) -> Comparison:
    """``scenario`` by both. Raises InputError where it has no TLA+ configuration, or TLC cannot read that."""
    configuration = modules.configuration(scenario.name)
    if report is not None:
        report("the checker explores")
    ours = our_answer(scenario, wanted)
    small = not ours.violated and ours.limit is None and ours.distinct <= wanted.compare_states
    compared, notes = None, list(_unjudged(scenario, configuration))
    generated = None
    with workplace() as folder:
        theirs = tlc_answer(modules, configuration, tools, wanted, folder, ours, dump=small, report=report)
        if small and theirs.verdict == "holds":
            if report is not None:
                report("compares the states")
            graph = collect_graph(_built(scenario), max_states=ours.distinct)
            generated = sets.generated_as_tlc_counts(graph)
            compared, trouble = _compared(scenario, graph, folder / DUMP)
            notes += [trouble] if trouble else []
    found = differences(ours, theirs, one_worker=wanted.workers == 1)
    if generated is not None and generated != theirs.generated:
        found += (f"{generated:,} generated states as TLC counts them, in TLC {theirs.generated:,}",)
    if compared is not None and not compared.same:
        found += (f"{compared.only_ours:,} states only here, {compared.only_theirs:,} only in TLC",)
    return Comparison(scenario.name, ours, theirs, found, tuple(notes), compared)


def _built(scenario: Scenario) -> ModelSystem:
    return model_of(scenario).build(scenario)


def our_answer(scenario: Scenario, wanted: Wanted) -> Answer:
    """What the checker says of ``scenario``; goals are not asked about, TLC has none."""
    limits = Limits(max_seconds=wanted.max_seconds)
    found = explore(_built(scenario), threads=wanted.threads, limits=limits)
    depth = min((each.depth for each in found.violations), default=None)
    undetermined = found.verdict is Verdict.UNDETERMINED
    return Answer(
        distinct=found.distinct,
        generated=found.generated,
        depth=found.depth,
        violated=tuple(each.property for each in found.violations),
        steps=depth,
        seconds=found.seconds,
        limit=f"the checker reached {found.limit}" if undetermined else None,
    )


def tlc_answer(
    modules: Modules,
    configuration: Configuration,
    tools: Tools,
    wanted: Wanted,
    folder: Path,
    ours: Answer,
    *,
    dump: bool = False,
    report: Report | None = None,
) -> Answer:
    """What TLC says of ``configuration``, where the checker says ``ours``. Raises InputError where it cannot
    read the modules.
    """
    small = ours.limit is None and ours.distinct <= SMALL_STATES
    job = Job(modules.sources(), configuration.root, configuration.text, wanted.workers, dump, small)

    def progress(said: Said) -> None:
        if report is not None:
            report(f"TLC: {said.progress}")

    done = run(tools, job, folder, max_seconds=wanted.max_seconds, progress=progress)
    return answer_of(done, configuration.name)


def answer_of(done: Ran, name: str) -> Answer:
    """A run of TLC as an answer: depth and steps count from 0, as the checker's do.

    Raises InputError; where TLC was not let begin, MemoryError; where it was killed, ProcessKilledError.
    """
    said = done.said
    if done.killed:
        raise ProcessKilledError
    if done.no_memory:
        raise MemoryError
    if done.trouble is not None and not said.version:
        raise InputError(f"TLC cannot be run: {done.trouble}; name another tla2tools.jar or another Java.")
    if done.trouble is not None and not said.distinct:
        raise InputError(f"{name}: TLC does not take the modules: {done.trouble}")
    limit = "TLC reached max_seconds" if done.timed_out else done.trouble
    return Answer(
        distinct=said.distinct,
        generated=said.generated,
        depth=None if said.depth is None else said.depth - 1,
        violated=() if said.violated is None else (said.violated,),
        steps=said.behaviour - 1 if said.violated is not None and said.behaviour else None,
        seconds=done.own_seconds,
        limit=None if said.violated is not None else limit,
    )


def differences(ours: Answer, theirs: Answer, *, one_worker: bool = True) -> tuple[str, ...]:
    """How the two answers differ, in words. With several workers TLC does not say an exact depth."""
    if ours.limit is not None or theirs.limit is not None:
        return ()
    if ours.verdict != theirs.verdict:
        return (f"the checker: {_told(ours)}; TLC: {_told(theirs)}",)
    if ours.violated:
        found = []
        if one_worker and ours.steps != theirs.steps:
            found.append(f"the shortest counterexample has {ours.steps} steps, TLC's {theirs.steps}")
        elif one_worker and not set(theirs.violated) <= set(ours.violated):
            found.append(f"{', '.join(ours.violated)} violated, in TLC {', '.join(theirs.violated)}")
        return tuple(found)
    pairs = [("distinct states", ours.distinct, theirs.distinct)]
    if one_worker:
        pairs.append(("as depth", ours.depth or 0, -1 if theirs.depth is None else theirs.depth))
    return tuple(f"{mine:,} {what}, in TLC {other:,}" for what, mine, other in pairs if mine != other)


def _told(answer: Answer) -> str:
    if answer.violated:
        return f"violated: {', '.join(answer.violated)} in {answer.steps} steps"
    return f"{answer.verdict}, {answer.distinct:,} states"


def _unjudged(scenario: Scenario, configuration: Configuration) -> tuple[str, ...]:
    """Properties that one side alone judges."""
    ours, theirs = set(_built(scenario).properties), set(configuration.invariants)
    sides = (("the checker", ours - theirs), ("TLC", theirs - ours))
    return tuple(f"judged by {side} alone: {', '.join(sorted(names))}" for side, names in sides if names)


def _compared(scenario: Scenario, graph: Graph, dump: Path) -> tuple[StatesCompared | None, str]:
    try:
        ours = sets.our_states(_built(scenario), graph)
    except NoFormError as error:
        return None, f"states not compared: {error}"
    return sets.compare(ours, sets.their_states(dump, frozenset(kind_of(scenario).variables))), ""


def compare_mutant(
    mutant: TlaMutant, modules: Modules, tools: Tools, wanted: Wanted, report: Report | None = None
) -> Comparison:
    """``mutant`` by both, which must refute it by equally many steps. Raises InputError."""
    configuration = modules.mutated(mutant)
    if report is not None:
        report("the checker explores")
    ours = _mutant_answer(mutant, wanted)
    with workplace() as folder:
        theirs = tlc_answer(modules, configuration, tools, wanted, folder, ours, report=report)
    found = differences(ours, theirs, one_worker=wanted.workers == 1)
    if not found and "holds" in (ours.verdict, theirs.verdict):
        found = ("neither refutes it",) if ours.verdict == theirs.verdict else ()
    return Comparison(mutant.id, ours, theirs, found)


def _mutant_answer(mutant: TlaMutant, wanted: Wanted) -> Answer:
    """A mutant is made before the reference is imported, so it runs in a process of its own."""
    seconds = wanted.max_seconds or 3600.0
    words = (mutant.id, mutant.scenario, str(seconds))
    try:
        done = forks.run("kraftcheck.tlc.mutant_worker", *words, seconds=seconds + GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        return Answer(0, 0, None, (), None, seconds, "the checker reached max_seconds")
    if ended_by_the_machine(done.returncode):
        return Answer(0, 0, None, (), None, seconds, "the checker ran out of memory or disk, or was ended")
    data: dict[str, Any] = json.loads(done.stdout or '{"error": "it said nothing"}')
    if "error" in data:
        raise InputError(f"mutant '{mutant.id}': {data['error']}")
    return Answer(**data | {"violated": tuple(data["violated"])})
