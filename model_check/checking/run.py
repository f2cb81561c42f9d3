"""Run scenarios and compare the results with the expected ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import cast

from kraftcheck.checking.answers import Answers, in_use
from kraftcheck.checking.counterexamples import simplest_of
from kraftcheck.checking.coverage.covering import Covered, Covering
from kraftcheck.checking.eventually import judge_eventually, too_small
from kraftcheck.engine.checkpoint import Checkpoint
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.simplest import Found
from kraftcheck.engine.system import (
    UNLIMITED,
    Exploration,
    Interrupted,
    Limits,
    SymmetryError,
    System,
    Verdict,
)
from kraftcheck.engine.watch import CAPACITY, INTERRUPTED, IncompleteGraphError, Progress, Watch
from kraftcheck.reference.config import Problem
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import shortened
from kraftcheck.systems.coverage import parse
from kraftcheck.systems.kind import BrokenInitialPrefix, Judged, ModelSystem
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces import Trace, build_dead_end, build_lasso, with_room
from kraftcheck.traces import build as build_trace


@dataclass(slots=True)
class CheckResult:
    """The result of one scenario. ``differences`` are sentences about deviations from the expected result; it
    is empty both when all is as expected and when a limit left the verdict undetermined. ``liveness`` is
    ``None`` if ``graph_limit`` prevented a verdict on the *eventually* properties. ``initial_prefix`` is the
    scenario of the run that leads to ``replicas.initial-leader`` where that violates a property already:
    ``system``, ``exploration`` and traces are then those of the run. ``interchangeable``: the replicas up to
    whose renaming states were explored. ``covered``: the coverage targets of the taken steps, where they were
    noted. ``taken_up``, ``kept``: the depth at which the search continued from a checkpoint, and the depth up
    to which a checkpoint has it after a limit ended it. ``earlier``: the seconds of the earlier runs of a
    checkpoint; ``watch``: those of this one, also of later look-ups, and the remaining ones.
    """

    scenario: Scenario
    system: ModelSystem
    exploration: Exploration
    differences: tuple[str, ...]
    liveness: tuple[Judged, ...] | None = ()
    initial_prefix: Scenario | None = None
    interchangeable: tuple[int, ...] = ()
    covered: Covered | None = None
    taken_up: int | None = None
    kept: int | None = None
    graph_limit: str | None = None
    earlier: float = 0.0
    watch: Watch = field(default_factory=Watch, compare=False, repr=False)
    _simplest: dict[str, Found] | None = field(default=None, compare=False, repr=False)

    @property
    def misconfigured(self) -> tuple[Problem, ...]:
        """The problems of the explored configuration."""
        return kind_of(self.system).misconfigured(self.system)

    @property
    def simplest(self) -> dict[str, Found]:
        """By property the simplest of the shortest counterexamples; see :func:`simplest_of`. None in the run
        that leads to ``replicas.initial-leader``, which has no alternatives.
        """
        self.look_for_simplest()
        return self._simplest or {}

    def look_for_simplest(self) -> None:
        """Find :attr:`simplest` now. On Ctrl-C there are none, and KeyboardInterrupt is raised again."""
        if self._simplest is not None:
            return
        ended = self.initial_prefix is not None or self.limit == INTERRUPTED
        violations = () if ended else self.exploration.violations
        self._simplest = {}
        with self.watch.running():
            self._simplest = simplest_of(self.system, violations, self.watch)

    def traces(self, *, seek: bool = True) -> list[Trace]:
        """The counterexamples: shortest paths of violated properties, the simplest where that is known, and
        lassos. ``seek``: look for the simplest ones, unless that has been done.
        """
        if seek:
            self.look_for_simplest()
        simplest = self._simplest or {}
        explored = self.initial_prefix or self.scenario
        chosen = [
            simplest[each.property].violation if each.property in simplest else each
            for each in self.exploration.violations
        ]
        found = [build_trace(self.system, explored, each) for each in chosen]
        found += [self.trace_of(judged) for judged in self.judged if judged.violated]
        return found

    def trace_of(self, judged: Judged) -> Trace:
        """The counterexample of an *eventually* property that does not hold."""
        lasso = judged.lasso or judged.dead_end
        assert lasso is not None
        path, initial = lasso.stem + lasso.cycle, lasso.initial
        system, scenario = with_room(self.system, self.scenario, path, initial)
        if judged.lasso is None:
            return build_dead_end(system, scenario, judged.name, lasso.stem, initial)
        return build_lasso(system, scenario, judged.name, lasso.stem, lasso.cycle, initial)

    @property
    def verdict(self) -> Verdict:
        """The verdict on safety, goals and *eventually* properties together."""
        found = self.exploration.verdict
        if found is Verdict.HOLDS and self.liveness is None:
            return Verdict.UNDETERMINED
        if found is Verdict.HOLDS and any(judged.violated for judged in self.judged):
            return Verdict.VIOLATED
        if found is Verdict.HOLDS and self.kept_open:
            return Verdict.UNDETERMINED
        return found

    @property
    def violated(self) -> tuple[str, ...]:
        """The names of the violated properties: those of states and steps, then *eventually* properties."""
        found = [violation.property for violation in self.exploration.violations]
        return (*found, *(judged.name for judged in self.judged if judged.violated))

    def summary(self) -> str:
        """The scenario, the verdict, the violated properties and the size of the exploration, in one line."""
        found, verdict = self.exploration, self.verdict.value
        why = ", ".join(self.violated or found.missing_goals if self.verdict is Verdict.VIOLATED else ())
        limit = f" ({self.limit})" if self.verdict is Verdict.UNDETERMINED else ""
        text = f"{verdict}: {why}" if why else f"{verdict}{limit}"
        return f"{self.scenario.name}: {text}; {found.distinct:,} states, depth {found.depth}"

    def __repr__(self) -> str:
        """The summary: the states of a system are too many to print."""
        return f"<CheckResult {self.summary()}>"

    @property
    def kept_open(self) -> tuple[Judged, ...]:
        """The *eventually* properties whose verdict is open because of spent budgets."""
        return tuple(judged for judged in self.judged if judged.spent)

    @property
    def seconds(self) -> float:
        """Seconds for everything: building, exploring, judging, and the requested details."""
        return self.earlier + self.watch.seconds

    @property
    def judged(self) -> tuple[Judged, ...]:
        """The *eventually* properties that could be judged."""
        return self.liveness or ()

    @property
    def limit(self) -> str | None:
        """The limit that was reached, if the verdict is undetermined."""
        if self.liveness is None:
            return self.graph_limit
        spent = (f"budgets.{name}" for judged in self.kept_open for name in judged.spent)
        return self.exploration.limit or next(spent, "").replace("_", "-") or None

    @property
    def undetermined(self) -> bool:
        """Whether a limit left any question open, including one about *eventually* properties."""
        seen = {violation.property for violation in self.exploration.violations}
        unseen = self.exploration.limit is not None and not seen.issuperset(self.scenario.expect.violates)
        kept = {judged.name for judged in self.kept_open}
        kept = kept if self.scenario.expect.verdict == "holds" else kept & set(self.scenario.expect.violates)
        open_still = not self.differences and (self.liveness is None or unseen or bool(kept))
        return open_still or self.verdict is Verdict.UNDETERMINED

    @property
    def as_expected(self) -> bool:
        return not self.undetermined and not self.differences


def check(
    scenario: Scenario,
    *,
    threads: int = 1,
    limits: Limits = Limits(),  # noqa: B008
    keep_going: bool = False,
    partial_order: bool = True,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: Checkpoint | None = None,
    coverage: bool = False,
    report_interrupt: bool = False,
    explorer: Callable[..., Exploration] = explore,
) -> CheckResult:
    """Explore ``scenario`` exhaustively and compare the result with the expected one.

    ``threads``: the number of exploring threads; counts and verdicts do not depend on it. ``limits``: states,
    bytes and seconds after which the verdict is left undetermined. ``progress`` is called periodically.
    ``keep_going``, ``partial_order``: see :func:`~kraftcheck.engine.explorer.explore`. ``checkpoint``: the
    checkpoint from which the exploration continues and to which it is saved (the graph for *eventually*
    properties is always collected anew). ``coverage``: note the coverage targets, including guards of the
    reference; they are noted without guards where the scenario has ``expect.covers``. ``report_interrupt``:
    on Ctrl-C return the result so far, with the limit "interrupted", instead of raising KeyboardInterrupt.
    ``explorer``: the function that explores the states, with the arguments and the results of
    :func:`~kraftcheck.engine.explorer.explore`. Raises InputError where the scenario contradicts itself or
    its replicas are not interchangeable although it requires that, and CheckpointError where the checkpoint
    cannot be used.

    Kept answers that are in use (:func:`kraftcheck.checking.answers.in_use`) are used and kept, but not with
    a ``checkpoint``, nor with guards. What an earlier search found is used only where nothing but the verdict
    within the bounds is asked for.
    """
    watch = Watch(limits, progress)
    with watch.running():
        _require_names_of_coverage(scenario)
        model = kind_of(scenario)
        try:
            system = model.build(scenario)
        except BrokenInitialPrefix as broken:
            return _of_initial_prefix(scenario, broken, watch)
        system, interchangeable = model.up_to_renaming(system, scenario)
        covering = Covering(system, guards=coverage) if coverage or scenario.expect.covers else None
        run = partial(
            explorer,
            system if covering is None else cast(System, covering),
            threads=threads,
            limits=replace(watch.rest(), over_capacity=not scenario.check.eventually),
            keep_going=keep_going,
            partial_order=partial_order,
            progress=watch.progress(""),
            checkpoint=checkpoint,
        )
        answers = None if coverage or checkpoint is not None else in_use()
        usual = not keep_going and partial_order and limits == UNLIMITED
        if answers is not None:
            run = partial(_answered, answers, scenario, cast(System, covering or system), run, usual)
        before = watch.seconds
        exploration, covered = _explored(scenario, run, covering, report_interrupt)
        earlier = max(0.0, exploration.seconds - (watch.seconds - before))
        judge = partial(judge_eventually, scenario, exploration, threads, watch, answers if usual else None)
        liveness, graph_limit = _judged(judge, report_interrupt)
        taken_up, kept = (checkpoint.found, checkpoint.depth) if checkpoint is not None else (None, None)
        return CheckResult(
            scenario,
            system,
            exploration,
            _differences(scenario, exploration, liveness) + _uncovered(scenario, exploration, covered),
            liveness,
            interchangeable=interchangeable,
            covered=covered,
            taken_up=taken_up,
            kept=kept,
            graph_limit=graph_limit,
            earlier=earlier if taken_up is not None else 0.0,
            watch=watch,
        )


def _explored(
    scenario: Scenario, run: Callable[[], Exploration], covering: Covering | None, report_interrupt: bool
) -> tuple[Exploration, Covered | None]:
    """The result of ``run``, and separately the notes of ``covering``."""
    try:
        exploration = run()
    except Interrupted as interrupted:
        if not report_interrupt:
            raise
        exploration = interrupted.found
    except SymmetryError as error:
        raise InputError(
            f"{scenario.file}: reduction.symmetry: the replicas are not interchangeable: "
            f"{shortened(str(error))}; see docs/scenarios.md."
        ) from None
    if exploration.limit == CAPACITY and not exploration.violations:
        raise too_small(scenario)
    return (exploration, None) if covering is None else covering.split(exploration)


def _answered(
    answers: Answers, scenario: Scenario, system: System, explore: Callable[..., Exploration], usual: bool
) -> Exploration:
    """The result of ``explore`` with the answers that are known, or, where it is the ``usual`` search, the
    known result of the same answers.
    """
    what = "covered" if scenario.expect.covers else "search"
    what += "-within-capacity" if scenario.check.eventually else ""
    tables = answers.tables(system)
    known: Exploration | None = answers.found(tables, what) if usual else None
    if known is not None:
        return replace(known, calls=tables.calls, seconds=0.0)
    found = explore(tables=tables)
    answers.keep(tables, what, found if usual and found.limit is None else None)
    return found


def _judged(
    judge: Callable[[], tuple[Judged, ...]], report_interrupt: bool
) -> tuple[tuple[Judged, ...] | None, str | None]:
    """The verdicts on the *eventually* properties, or ``None`` and the limit that prevented them."""
    try:
        return judge(), None
    except IncompleteGraphError as incomplete:
        return None, incomplete.limit
    except KeyboardInterrupt:
        if not report_interrupt:
            raise
        return None, INTERRUPTED


def _require_names_of_coverage(scenario: Scenario) -> None:
    known = kind_of(scenario).to_cover(()) if scenario.expect.covers else {}
    for wanted in scenario.expect.covers:
        if parse(wanted, known) is None:
            items = (f"{kind} {name}" for kind, names in known.items() for name in names)
            near = did_you_mean(wanted, items) or "; name an action, rule, transition, message or error"
            raise scenario.error(f"expect.covers: there is nothing called '{wanted[:80]}'{near}")


def _uncovered(scenario: Scenario, found: Exploration, covered: Covered | None) -> tuple[str, ...]:
    if covered is None or found.verdict is Verdict.UNDETERMINED:
        return ()
    return tuple(
        f"{wanted} was expected to be covered, and is not"
        for wanted in scenario.expect.covers
        if tuple(wanted.split(" ", 1)) not in covered.items
    )


def _of_initial_prefix(scenario: Scenario, broken: BrokenInitialPrefix, watch: Watch) -> CheckResult:
    """A violation in the run that leads to ``replicas.initial-leader``: the exploration ends there."""
    depth = max(violation.depth for violation in broken.violations)
    exploration = Exploration(
        verdict=Verdict.VIOLATED,
        distinct=depth + 1,
        states=depth + 1,
        generated=depth,
        depth=depth,
        levels=(1,) * (depth + 1),
        violations=broken.violations,
        reached_goals=(),
        missing_goals=scenario.check.goals,
    )
    differences = _differences(scenario, exploration, ())
    return CheckResult(scenario, broken.system, exploration, differences, (), broken.scenario, watch=watch)


def _differences(
    scenario: Scenario, found: Exploration, liveness: tuple[Judged, ...] | None
) -> tuple[str, ...]:
    expected = scenario.expect
    if found.verdict is Verdict.UNDETERMINED or (liveness is None and expected.verdict == "violated"):
        return ()
    differences = []
    # States outside a limit leave the verdict open; violations and goals already seen count.
    whole = found.limit is None
    unfair = {judged.name for judged in liveness or () if judged.violated}
    kept_open = {judged.name for judged in liveness or () if judged.spent}
    violated = sorted({violation.property for violation in found.violations} | unfair)
    if expected.verdict == "holds":
        differences += [f"{name} is violated" for name in violated]
        differences += [f"goal {goal} was never reached" for goal in found.missing_goals if whole]
        if whole and expected.states is not None and found.states != expected.states:
            differences.append(f"{found.states:,} distinct states, expected {expected.states:,}")
    else:
        missing = sorted(set(expected.violates) - set(violated) - kept_open) if whole else []
        unexpected = sorted(set(violated) - set(expected.violates)) if expected.violates else []
        differences += [f"{name} was expected to be violated, and is not" for name in missing]
        differences += [f"{name} is violated, which was not expected" for name in unexpected]
        if not violated and not kept_open:
            differences.append("no property is violated")
        steps = min((violation.depth for violation in found.violations), default=None)
        if expected.steps is not None and steps is not None and steps != expected.steps:
            differences.append(f"the shortest counterexample has {steps} steps, expected {expected.steps}")
    return tuple(differences)
