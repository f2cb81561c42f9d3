"""The answers of the checker and of TLC about one scenario or mutant, and their differences."""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.graph import collect_graph
from kraftcheck.engine.system import Limits, Verdict
from kraftcheck.reference.frozen import replace
from kraftcheck.support.errors import InputError, ProcessKilledError
from kraftcheck.systems.kind import ModelSystem
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario
from kraftcheck.tlc import states as sets
from kraftcheck.tlc.install import Tools
from kraftcheck.tlc.modules import Configuration, Modules
from kraftcheck.tlc.output import Said
from kraftcheck.tlc.process import DUMP, Job, Ran, Running, run, workplace
from kraftcheck.tlc.recorded import Recorded, RecordedAnswers
from kraftcheck.tlc.states import Keyed, StatesCompared
from kraftcheck.tlc.values import NoFormError

#: So many states TLC is done with before its JVM has optimized any code.
SMALL_STATES = 20_000

#: What a status line shows.
Report = Callable[[str], None]


class Status(Enum):
    """The result of a comparison."""

    SAME = "same"
    DIFFERS = "DIFFERS"
    UNDETERMINED = "UNDETERMINED"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one side: the ``violated`` properties, and the number of ``steps`` of a shortest
    counterexample; the numbers of distinct and generated states, and the ``depth``. ``limit``: why there is
    no answer. ``exact``: whether depth and steps are the least ones and ``violated`` is what they violate; of
    several workers of TLC they are not.
    """

    distinct_states: int
    generated_states: int
    depth: int | None
    violated: tuple[str, ...]
    steps: int | None
    seconds: float
    limit: str | None = None
    exact: bool = True

    @property
    def verdict(self) -> str:
        if self.violated:
            return "violated"
        return "undetermined" if self.limit is not None else "holds"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Options of both sides: threads of the checker, workers of TLC, a time limit for each, and up to how
    many states the states are compared one by one.
    """

    threads: int = 1
    workers: int = 1
    max_seconds: float | None = None
    compare_states: int = 0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Both answers; ``differences`` as sentences; ``notes``: what is not compared, and why. ``recorded``:
    TLC gave its answer in an earlier run.
    """

    name: str
    checker: Answer
    tlc: Answer
    differences: tuple[str, ...]
    notes: tuple[str, ...] = ()
    states: StatesCompared | None = None
    recorded: bool = False

    @property
    def status(self) -> Status:
        if self.differences:
            return Status.DIFFERS
        if self.checker.limit is not None or self.tlc.limit is not None:
            return Status.UNDETERMINED
        return Status.SAME


@dataclass(frozen=True, slots=True)
class Question:
    """The question to TLC, by the name of the scenario or mutant, and the answer of the checker.

    dump: whether TLC writes its states. compared: makes the comparison of TLC's answer and its states, which
    are a dump or a recorded digest of them; it may raise InputError.
    """

    name: str
    configuration: Configuration
    ours: Answer
    dump: bool
    compared: Callable[[Answer, Path | str], Comparison]


#: Lets the checker explore, and returns the question to TLC.
Asking = Callable[[Report], Question]


def compare_all(
    askings: Iterable[Asking],
    modules: Modules,
    tools: Callable[[], Tools],
    wanted: Wanted,
    jobs: int = 1,
    report: Report = lambda text: None,
    recorded: RecordedAnswers | None = None,
) -> Generator[Comparison, None, None]:
    """The comparisons in the order of ``askings``, with up to ``jobs`` runs of TLC at a time.

    Where ``recorded`` has the answer and the checker's is the same, TLC does not run; if it is another one,
    TLC runs to say how they differ, where ``tools`` are there. While it runs, the checker explores what comes
    next. Close the iterator to end what runs. Raises InputError where ``tools`` are missing or TLC cannot
    read a configuration.
    """
    running = Running()
    waiting: deque[Callable[[], Comparison]] = deque()
    with workplace() as place, ThreadPoolExecutor(jobs) as pool:

        def begin(question: Question, folder: Path) -> Callable[[], Comparison]:
            known = _by_record(question, recorded) if recorded is not None else None
            if known is not None and known.status is Status.SAME:
                return lambda: known
            try:
                found = tools()
            except InputError:
                if known is None:
                    raise
                return lambda: known
            folder.mkdir()
            answer = pool.submit(
                tlc_answer, modules, question, found, wanted, folder, report=report, running=running
            )
            return partial(_comparison, question, folder, answer)

        try:
            for number, asking in enumerate(askings):
                try:
                    waiting.append(begin(asking(report), place / str(number)))
                except InputError:
                    while waiting:
                        yield waiting.popleft()()
                    raise
                if len(waiting) > jobs:
                    yield waiting.popleft()()
            while waiting:
                yield waiting.popleft()()
        finally:
            running.end()


def _by_record(question: Question, recorded: RecordedAnswers) -> Comparison | None:
    """The comparison with the recorded answer, if there is one to this question."""
    found = recorded.of(question.name, question.configuration)
    if found is None or (question.dump and found.states is None):
        return None
    theirs = Answer(
        found.distinct_states, found.generated_states, found.depth, found.violated, found.steps, 0.0
    )
    return replace(question.compared(theirs, found.states or ""), recorded=True)


def recorded_answer(found: Comparison, configuration: Configuration, recorded: RecordedAnswers) -> Recorded:
    """What is recorded of TLC's answer in a comparison that found the same."""
    tlc, states = found.tlc, found.states
    return Recorded(
        question=recorded.question(configuration),
        distinct_states=tlc.distinct_states,
        generated_states=tlc.generated_states,
        depth=tlc.depth,
        violated=tlc.violated,
        steps=tlc.steps,
        states=None if states is None else states.digest,
    )


def _comparison(question: Question, folder: Path, answer: Future[Answer]) -> Comparison:
    found = question.compared(answer.result(), folder / DUMP)
    shutil.rmtree(folder, ignore_errors=True)
    return found


def ask(scenario: Scenario, modules: Modules, wanted: Wanted, report: Report) -> Question:
    """The question whether TLC says the same of ``scenario``. Raises InputError where it has no TLA+
    configuration.
    """
    configuration = modules.configuration(scenario.name)
    report(f"{scenario.name}: the checker explores")
    ours = our_answer(scenario, wanted)
    small = not ours.violated and ours.limit is None and ours.distinct_states <= wanted.compare_states

    def compared(theirs: Answer, dump: Path | str) -> Comparison:
        found = list(differences(ours, theirs))
        states, notes = None, list(_unjudged(scenario, configuration))
        if small and theirs.verdict == "holds":
            report(f"{scenario.name}: compares the states")
            graph = collect_graph(_built(scenario), limits=Limits(ours.distinct_states))
            generated = sets.generated_as_tlc_counts(graph)
            if generated != theirs.generated_states:
                said = f"in TLC {theirs.generated_states:,}"
                found.append(f"{generated:,} generated states as TLC counts them, {said}")
            try:
                own = sets.our_states(_built(scenario), graph)
            except NoFormError as error:
                notes.append(f"states not compared: {error}")
            else:
                states = _states_compared(scenario, own, dump)
                found += _different_states(states)
        return Comparison(scenario.name, ours, theirs, tuple(found), tuple(notes), states)

    return Question(scenario.name, configuration, ours, small, compared)


def _built(scenario: Scenario) -> ModelSystem:
    return kind_of(scenario).build(scenario)


def our_answer(scenario: Scenario, wanted: Wanted) -> Answer:
    """The checker's answer about ``scenario``, without goals: TLC has none."""
    limits = Limits(max_seconds=wanted.max_seconds)
    found = explore(_built(scenario), threads=wanted.threads, limits=limits)
    depth = min((each.depth for each in found.violations), default=None)
    undetermined = found.verdict is Verdict.UNDETERMINED
    return Answer(
        distinct_states=found.distinct,
        generated_states=found.generated,
        depth=found.depth,
        violated=tuple(each.property for each in found.violations),
        steps=depth,
        seconds=found.seconds,
        limit=f"the checker reached {found.limit}" if undetermined else None,
    )


def tlc_answer(
    modules: Modules,
    question: Question,
    tools: Tools,
    wanted: Wanted,
    folder: Path,
    *,
    report: Report,
    running: Running,
) -> Answer:
    """TLC's answer to ``question``. Raises InputError where it cannot read the modules."""
    ours, configuration = question.ours, question.configuration
    small = ours.limit is None and ours.distinct_states <= SMALL_STATES
    job = Job(modules.sources(), configuration.root, configuration.text, wanted.workers, question.dump, small)

    def progress(said: Said) -> None:
        report(f"{configuration.name}: TLC: {said.progress}")

    done = run(tools, job, folder, max_seconds=wanted.max_seconds, progress=progress, running=running)
    return replace(answer_of(done, configuration.name), exact=wanted.workers == 1)


def answer_of(done: Ran, name: str) -> Answer:
    """A run of TLC as an answer: depth and steps count from 0, as the checker's do.

    Raises InputError; MemoryError if TLC could not begin; ProcessKilledError if it was killed.
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
        distinct_states=said.distinct,
        generated_states=said.generated,
        depth=None if said.depth is None else said.depth - 1,
        violated=() if said.violated is None else (said.violated,),
        steps=said.behaviour - 1 if said.violated is not None and said.behaviour else None,
        seconds=done.own_seconds,
        limit=None if said.violated is not None else limit,
    )


def differences(ours: Answer, theirs: Answer) -> tuple[str, ...]:
    """The differences of two answers, as sentences."""
    if ours.limit is not None or theirs.limit is not None:
        return ()
    if ours.verdict != theirs.verdict:
        return (f"the checker: {_told(ours)}; TLC: {_told(theirs)}",)
    if ours.violated:
        found = []
        if theirs.exact and ours.steps != theirs.steps:
            found.append(f"the shortest counterexample has {ours.steps} steps, TLC's {theirs.steps}")
        elif theirs.exact and not set(theirs.violated) <= set(ours.violated):
            found.append(f"{', '.join(ours.violated)} violated, in TLC {', '.join(theirs.violated)}")
        return tuple(found)
    pairs = [("distinct states", ours.distinct_states, theirs.distinct_states)]
    if theirs.exact:
        pairs.append(("as depth", ours.depth or 0, -1 if theirs.depth is None else theirs.depth))
    return tuple(f"{mine:,} {what}, in TLC {other:,}" for what, mine, other in pairs if mine != other)


def _told(answer: Answer) -> str:
    if answer.violated:
        return f"violated: {', '.join(answer.violated)} in {answer.steps} steps"
    return f"{answer.verdict}, {answer.distinct_states:,} states"


def _unjudged(scenario: Scenario, configuration: Configuration) -> tuple[str, ...]:
    """Properties that one side alone judges."""
    ours, theirs = set(_built(scenario).properties), set(configuration.invariants)
    sides = (("the checker", ours - theirs), ("TLC", theirs - ours))
    return tuple(f"judged by {side} alone: {', '.join(sorted(names))}" for side, names in sides if names)


def _states_compared(scenario: Scenario, ours: Keyed, dump: Path | str) -> StatesCompared | None:
    """The states on both sides; ``None`` where a recorded digest says only that they are not the same."""
    if isinstance(dump, Path):
        return sets.compare(ours, sets.their_states(dump, frozenset(sets.in_tla(scenario).variables)))
    return sets.all_common(ours) if sets.digest_of(ours) == dump else None


def _different_states(states: StatesCompared | None) -> tuple[str, ...]:
    if states is None:
        return ("the states are not those that TLC found",)
    if states.same:
        return ()
    return (f"{states.only_checker:,} states only here, {states.only_tlc:,} only in TLC",)
