"""The engine's figures, measured together with its yardstick, the reference explorer.

A rate says little across machines and days, so both run in the same process on the same scenario. The runs
of one round follow each other closely; a ratio is taken inside a round, and a figure is the median over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.simulate import simulate
from kraftcheck.engine.system import Exploration, Limits, System
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.watch import resident_bytes
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.symmetry import symmetric
from kraftcheck.systems.kraft.system import KRaftSystem

#: The runs of a round by name: the engine with empty tables and with those of the run before, by threads; the
#: reference explorer; walks with filled tables, by threads; and, where voters may be renamed, all states
#: ("whole") and those up to renaming.
Round = dict[str, Exploration]

RATE, STEPS = "distinct states/s", "steps/s"
_SPEEDS = {
    "engine_1": "engine, 1 thread",
    "engine_2": "engine, 2 threads",
    "filled_1": "engine, 1 thread, tables filled before",
    "filled_2": "engine, 2 threads, tables filled before",
    "reference": "reference explorer (plain Python, full states)",
}
#: Quotients of two of these speeds.
_RATIOS = (
    ("engine_1_to_reference", "engine, 1 thread : reference explorer", "engine_1", "reference"),
    ("engine_2_to_reference", "engine, 2 threads : reference explorer", "engine_2", "reference"),
    ("filled_1_to_reference", "1 thread, filled : reference explorer", "filled_1", "reference"),
    ("filled_2_to_reference", "2 threads, filled : reference explorer", "filled_2", "reference"),
    ("two_to_one_cold", "2 threads : 1 thread", "engine_2", "engine_1"),
    ("two_to_one", "2 threads : 1 thread, filled", "filled_2", "filled_1"),
)


@dataclass(frozen=True, slots=True)
class Plan:
    """Rounds, the distinct states of a run of the engine and of the reference explorer, and random walks."""

    engine_states: int = 50_000_000
    reference_states: int = 2_000
    walks: int = 200_000
    rounds: int = 3


QUICK = Plan(engine_states=10_000, reference_states=200, walks=100, rounds=1)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number: ``key`` for machines, ``label`` for readers."""

    key: str
    label: str
    value: float
    unit: str


def rate(found: Exploration) -> float:
    """Distinct states per second."""
    return found.distinct / max(found.seconds, 1e-9)


def _steps(found: Exploration) -> float:
    """Steps per second of random walks."""
    return found.generated / max(found.seconds, 1e-9)


def _cost(found: Exploration) -> float:
    """Seconds per generated state."""
    return found.seconds / max(found.generated, 1)


def figures(scenario: KRaftScenario, plan: Plan) -> list[Figure]:
    """The figures of the engine on ``scenario``. Compilation and first-touch costs are paid before."""
    system = build(scenario)
    for threads in (1, 2):
        _engine(system, threads, min(plan.engine_states, 5_000), None)
    before = resident_bytes()
    rounds = [_round(system, scenario, plan) for _ in range(plan.rounds)]
    engine, reference = rounds[0]["engine_1"], rounds[0]["reference"]
    states, each = "distinct states", "bytes/distinct state"
    found = [
        Figure(key, label, median(rate(one[key]) for one in rounds), RATE) for key, label in _SPEEDS.items()
    ]
    for key, label, over, under in _RATIOS:
        quotient = median(rate(one[over]) / rate(one[under]) for one in rounds)
        found.append(Figure(key, label, quotient, "times"))
    for threads in (1, 2):
        speed = median(_steps(one[f"walks_{threads}"]) for one in rounds)
        found.append(Figure(f"walks_{threads}", f"random walks, threads: {threads}", speed, STEPS))
    quotient = median(_steps(one["walks_2"]) / _steps(one["walks_1"]) for one in rounds)
    found.append(Figure("two_to_one_walks", "random walks, 2 threads : 1 thread", quotient, "times"))
    left_out = (engine.generated + engine.skipped) / engine.generated
    found.append(Figure("partial_order_factor", "steps there are : generated", left_out, "times"))
    if "renamed" in rounds[0]:
        factor = median(one["renamed"].states / one["renamed"].distinct for one in rounds)
        cost = median(_cost(one["renamed"]) / _cost(one["whole"]) for one in rounds)
        label = "states up to renaming of voters: all"
        found.append(Figure("symmetry_factor", label, factor, "states/state"))
        label = "time per generated state, symmetry : none"
        found.append(Figure("symmetry_cost", label, cost, "times"))
    for key, label, run in (("engine", "engine", engine), ("reference", "reference explorer", reference)):
        found.append(Figure(f"{key}_states", f"states per {label} run", run.distinct, states))
    for key, label, run in (("engine", "engine", engine), ("reference", "reference explorer", reference)):
        calls = run.calls / run.distinct
        label = f"reference calls per state, {label}"
        found.append(Figure(f"{key}_calls", label, calls, "calls/distinct state"))
    label = "visited set (fingerprints, free slots included)"
    found.append(Figure("visited_bytes", label, engine.visited_bytes / engine.distinct, each))
    growth = max(0, engine.peak_memory - before) / engine.distinct
    label = "growth of resident memory, first run (tables and frontier included)"
    return [*found, Figure("resident_bytes", label, growth, each)]


def _round(system: KRaftSystem, scenario: KRaftScenario, plan: Plan) -> Round:
    found = {}
    for threads in (1, 2):
        tables = Tables(system)
        for kind in ("engine", "filled"):
            found[f"{kind}_{threads}"] = _engine(system, threads, plan.engine_states, tables)
        found[f"walks_{threads}"] = simulate(system, walks=plan.walks, threads=threads, tables=tables)
    limits = Limits(max_states=plan.reference_states)
    found["reference"], _ = explore_naively(system, limits, keep_going=True)
    return found | _with_symmetry(scenario, plan)


def _with_symmetry(scenario: KRaftScenario, plan: Plan) -> Round:
    """All states of ``scenario``, and those up to renaming of voters, unless that is refused."""
    environment = scenario.environment.model_copy(update={"sends": "any-order"})
    chosen = scenario.model_copy(update={"environment": environment})
    whole = build(chosen)
    try:
        renamed, _ = symmetric(build(chosen), chosen)
    except InputError:
        return {}
    tables = {"whole": Tables(whole), "renamed": Tables(renamed)}
    for _ in range(2):
        runs = {
            name: _engine(each.system, 1, plan.engine_states // 4, each, whole=True)
            for name, each in tables.items()
        }
    return runs


def _engine(
    system: System, threads: int, states: int, tables: Tables | None, *, whole: bool = False
) -> Exploration:
    """One run; ``whole``: without partial-order reduction, which symmetry excludes."""
    limits = Limits(max_states=states)
    return explore(system, threads=threads, limits=limits, partial_order=not whole, tables=tables)
