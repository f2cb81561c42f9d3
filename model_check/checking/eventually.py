"""*Eventually* properties of a scenario: the graph on which they are judged, and lassos by their causes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import cast

from kraftcheck.checking.answers import Answers
from kraftcheck.checking.counterexamples import name_of
from kraftcheck.engine.fairness import Lasso
from kraftcheck.engine.graph import Graph, collect_graph
from kraftcheck.engine.representatives import Represent, UnlikeError
from kraftcheck.engine.system import Exploration, System, Verdict
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.watch import CAPACITY, IncompleteGraphError, Watch
from kraftcheck.engine.witness import DUPLICATE, LOSS
from kraftcheck.support.contents import digest_of
from kraftcheck.support.errors import InputError
from kraftcheck.support.printable import shortened
from kraftcheck.systems.kind import Judged, ModelSystem
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import MOST_IN_FLIGHT, Eventually, Scenario

#: The number of states up to which an *eventually* property can be judged: some 20 GB.
MAX_GRAPH_STATES = 30_000_000
#: The number of components of a graph that are searched for causes, those with the shortest stems.
MOST_COMPONENTS = 1_000


def judge_eventually(
    scenario: Scenario, found: Exploration, threads: int, watch: Watch, answers: Answers | None = None
) -> tuple[Judged, ...]:
    """The verdicts on the properties on the whole graph of a system without safety violations.

    Raises IncompleteGraphError if the limits do not allow it, and InputError if the network is too small.
    """
    if found.verdict is Verdict.UNDETERMINED or found.violations or not scenario.check.eventually:
        return ()
    system, represent = _system_of(scenario)
    tables = None
    if answers is not None:
        # The order of labels follows from that of the answers, and the choice of a lasso from that of labels.
        what = f"graph-{digest_of((scenario.check.eventually, scenario.reduction))}"
        tables = answers.tables(cast(System, system), alone=what)
        known: tuple[Judged, ...] | None = answers.found(tables, what)
        if known is not None:
            return known
    graph = _graph(scenario, system, represent, threads, watch, "eventually properties", tables)
    judge = kind_of(scenario).liveness.judge
    judged = []
    for wanted in scenario.check.eventually:
        named = replace(graph, watch=_named(watch, wanted.property))
        judged.append(judge(system, named, wanted, represent))
    if answers is not None and tables is not None:
        answers.keep(tables, what, tuple(judged))
    return tuple(judged)


def _named(watch: Watch, judged: str) -> Callable[[str], None]:
    return lambda doing: watch(f"{judged}: {doing}")


def graph_of(
    scenario: Scenario, threads: int, watch: Watch, phase: str
) -> tuple[ModelSystem, Graph, Represent | None]:
    """The system, its whole graph, and the function from states to representatives, where epochs are
    relative. ``phase``: the purpose of the graph.

    Raises IncompleteGraphError if the limits do not allow it, and InputError where representatives do not
    behave alike or the network has no room for a step.
    """
    system, represent = _system_of(scenario)
    return system, _graph(scenario, system, represent, threads, watch, phase), represent


def _system_of(scenario: Scenario) -> tuple[ModelSystem, Represent | None]:
    model = kind_of(scenario)
    system = model.build(scenario, absorbs=True)
    return system, model.liveness.representative(system, scenario)


def _graph(
    scenario: Scenario,
    system: ModelSystem,
    represent: Represent | None,
    threads: int,
    watch: Watch,
    phase: str,
    tables: Tables | None = None,
) -> Graph:
    limits = watch.rest(max_states=MAX_GRAPH_STATES)
    try:
        return collect_graph(
            system,
            threads=threads,
            limits=replace(limits, max_depth=None, over_capacity=False),
            represent=represent,
            progress=watch.progress(phase),
            watch=watch,
            tables=tables,
        )
    except IncompleteGraphError as incomplete:
        if incomplete.limit == CAPACITY:
            raise too_small(scenario) from None
        raise
    except UnlikeError as error:
        raise InputError(
            f"{scenario.file}: reduction.epochs: states that differ by epochs alone do not behave alike: "
            f"{shortened(str(error))}; leave it out; see docs/scenarios.md."
        ) from None


def too_small(scenario: Scenario) -> InputError:
    """The error that the network has no room for a step, where all steps are needed."""
    capacity = scenario.network.capacity
    ways = [f"make it larger (at most {MOST_IN_FLIGHT})"] if capacity < MOST_IN_FLIGHT else []
    if getattr(scenario.network, "forgotten", "lost") == "stay":
        ways.append('set network.forgotten = "lost", so that requests do not pile up')
    way_out = ", or ".join(ways) or "lower other bounds, such as bounds.max-epoch"
    return InputError(
        f"{scenario.file}: network.capacity = {capacity} has no room for a step, and an eventually property "
        f"needs them all; {way_out}; see docs/scenarios.md."
    )


@dataclass(frozen=True, slots=True)
class LassoCause:
    """The steps repeated forever, by the names of the steps of the cycle, of any replica; and the kinds of
    faults on the stem. No steps: the behaviour stays in its state.
    """

    cycle: tuple[str, ...]
    faults: tuple[str, ...]


def causes_of_lassos(
    scenario: Scenario, wanted: Eventually, most: int, watch: Watch, threads: int = 1
) -> list[tuple[LassoCause, Lasso]]:
    """Up to ``most`` lassos that violate ``wanted``, one for each cause; those with shorter stems first.

    The search takes one lasso of each component of states with a fair cycle. It leaves out a cause if another
    one with the same cycle has a subset of its faults. Raises IncompleteGraphError.
    """
    system, graph, represent = graph_of(scenario, threads, watch, "causes")
    found: list[tuple[LassoCause, Lasso]] = []
    for lasso in islice(
        kind_of(scenario).liveness.lassos_of(system, graph, wanted, represent), MOST_COMPONENTS
    ):
        if lasso.withheld is not None:
            break
        cause = _cause(system, graph, lasso)
        known = (other for other, _ in found if other.cycle == cause.cycle)
        if not any(set(other.faults) <= set(cause.faults) for other in known):
            found.append((cause, lasso))
        if len(found) == most:
            break
    return found


def _cause(system: ModelSystem, graph: Graph, lasso: Lasso) -> LassoCause:
    steps = [graph.label_values[label] for label in lasso.labels]
    cycle = {name_of(*step) for step in steps[len(lasso.stem) :]}
    return LassoCause(tuple(sorted(cycle)), tuple(sorted(set(_faults(system, graph, lasso)))))


def _faults(system: ModelSystem, graph: Graph, lasso: Lasso) -> Iterator[str]:
    """The kinds of faults on the stem: losses, copies, and the spent budgets of faults."""
    for step in lasso.stem:
        if step.kind == "lose":
            yield LOSS
        if step.duplicate:
            yield DUPLICATE
    begin, end = (graph.state(lasso.states[place]).budgets for place in (0, len(lasso.stem)))
    for name, before, after in zip(system.budget_names, begin, end, strict=True):
        if after < before and name in kind_of(system).faults:
            yield name
