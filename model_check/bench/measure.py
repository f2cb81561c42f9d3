"""The measurements: what is run, how often, and how the figures are taken from it.

A rate says little across machines and days, so the engine is measured together with its yardstick, the
reference explorer, in the same process on the same scenario. The runs of one round follow each other
closely; a ratio is taken inside a round, and the figure reported is the median over the rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from kraftcheck.engine.explorer import explore, resident_bytes
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.system import Exploration, Limits, System
from kraftcheck.engine.tables import Tables
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.symmetry import symmetric
from kraftcheck.systems.kraft.system import KRaftSystem

THREADS = (1, 2)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured: rounds, and the distinct states of a run of the engine and of the reference
    explorer.
    """

    engine_states: int = 50_000_000
    reference_states: int = 2_000
    rounds: int = 3


QUICK = Plan(engine_states=10_000, reference_states=200, rounds=1)


@dataclass(frozen=True, slots=True)
class Round:
    """One round: the engine with empty tables and with the tables of the run before, by threads; the
    reference explorer; and, where voters may be renamed, all states and those up to renaming (one thread).
    """

    cold: dict[int, Exploration]
    filled: dict[int, Exploration]
    reference: Exploration
    symmetry: tuple[Exploration, Exploration] | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One number: ``key`` for machines, ``label`` for readers."""

    key: str
    label: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """Everything that was measured on ``scenario``."""

    scenario: str
    plan: Plan
    rounds: tuple[Round, ...]
    growth: int
    """Growth of the process's resident memory during the first engine run, in bytes."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The figures, in the order in which they are reported."""
        return (*self._rates(), *self._ratios(), *self._reductions(), *self._counts(), *self._bytes())

    def _over_rounds(self, value: Callable[[Round], float]) -> float:
        return median(value(one) for one in self.rounds)

    def _rates(self) -> list[Figure]:
        rates: list[tuple[str, str, Callable[[Round], float]]] = [
            ("engine_1", "engine, 1 thread", lambda r: rate(r.cold[1])),
            ("engine_2", "engine, 2 threads", lambda r: rate(r.cold[2])),
            ("filled_1", "engine, 1 thread, tables filled before", lambda r: rate(r.filled[1])),
            ("filled_2", "engine, 2 threads, tables filled before", lambda r: rate(r.filled[2])),
            ("reference", "reference explorer (plain Python, full states)", lambda r: rate(r.reference)),
        ]
        return [Figure(key, label, self._over_rounds(of), "distinct states/s") for key, label, of in rates]

    def _ratios(self) -> list[Figure]:
        def to_reference(found: Callable[[Round], Exploration]) -> Callable[[Round], float]:
            return lambda r: rate(found(r)) / rate(r.reference)

        ratios: list[tuple[str, str, Callable[[Round], float]]] = [
            (f"{key}_to_reference", f"{label} : reference explorer", to_reference(found))
            for key, label, found in (
                ("engine_1", "engine, 1 thread", lambda r: r.cold[1]),
                ("engine_2", "engine, 2 threads", lambda r: r.cold[2]),
                ("filled_1", "1 thread, filled", lambda r: r.filled[1]),
                ("filled_2", "2 threads, filled", lambda r: r.filled[2]),
            )
        ]
        ratios += [
            ("two_to_one_cold", "2 threads : 1 thread", lambda r: rate(r.cold[2]) / rate(r.cold[1])),
            ("two_to_one", "2 threads : 1 thread, filled", lambda r: rate(r.filled[2]) / rate(r.filled[1])),
        ]
        return [Figure(key, label, self._over_rounds(of), "times") for key, label, of in ratios]

    def _reductions(self) -> list[Figure]:
        """How many steps were left out that commute; how many states one stands for up to renaming, and what
        generating one costs more for that.
        """
        engine = self.rounds[0].cold[1]
        steps = (engine.generated + engine.skipped) / engine.generated
        left_out = Figure("partial_order_factor", "steps there are : generated", steps, "times")
        pairs = [one.symmetry for one in self.rounds if one.symmetry is not None]
        if not pairs:
            return [left_out]
        factor = median(reduced.states / reduced.distinct for _, reduced in pairs)
        cost = median(cost_of(reduced) / cost_of(whole) for whole, reduced in pairs)
        return [
            left_out,
            Figure("symmetry_factor", "states up to renaming of voters: all", factor, "states/state"),
            Figure("symmetry_cost", "time per generated state, symmetry : none", cost, "times"),
        ]

    def _counts(self) -> list[Figure]:
        engine, reference = self.rounds[0].cold[1], self.rounds[0].reference
        return [
            Figure("engine_states", "states per engine run", engine.distinct, "distinct states"),
            Figure(
                "reference_states",
                "states per reference explorer run",
                reference.distinct,
                "distinct states",
            ),
            Figure(
                "engine_calls",
                "reference calls per state, engine",
                engine.calls / engine.distinct,
                "calls/distinct state",
            ),
            Figure(
                "reference_calls",
                "reference calls per state, reference explorer",
                reference.calls / reference.distinct,
                "calls/distinct state",
            ),
        ]

    def _bytes(self) -> list[Figure]:
        engine = self.rounds[0].cold[1]
        return [
            Figure(
                "visited_bytes",
                "visited set (fingerprints, free slots included)",
                engine.visited_bytes / engine.distinct,
                "bytes/distinct state",
            ),
            Figure(
                "resident_bytes",
                "growth of resident memory, first run (tables and frontier included)",
                self.growth / engine.distinct,
                "bytes/distinct state",
            ),
        ]


def rate(found: Exploration) -> float:
    """Distinct states per second."""
    return found.distinct / max(found.seconds, 1e-9)


def cost_of(found: Exploration) -> float:
    """Seconds per generated state."""
    return found.seconds / max(found.generated, 1)


def measure(scenario: KRaftScenario, plan: Plan) -> Measurement:
    """Measure the engine on ``scenario``. Compilation and first-touch costs are paid before."""
    system = build(scenario)
    for threads in THREADS:
        _engine(system, threads, min(plan.engine_states, 5_000), None)
    before = resident_bytes()
    rounds = []
    growth = 0
    for number in range(plan.rounds):
        one = _round(system, scenario, plan)
        rounds.append(one)
        if number == 0:
            growth = max(0, one.cold[1].peak_memory - before)
    return Measurement(scenario.name, plan, tuple(rounds), growth)


def _round(system: KRaftSystem, scenario: KRaftScenario, plan: Plan) -> Round:
    cold, filled = {}, {}
    for threads in THREADS:
        tables = Tables(system)
        cold[threads] = _engine(system, threads, plan.engine_states, tables)
        filled[threads] = _engine(system, threads, plan.engine_states, tables)
    reference, _ = explore_naively(system, Limits(max_states=plan.reference_states), keep_going=True)
    return Round(cold, filled, reference, _with_symmetry(scenario, plan))


def _with_symmetry(scenario: KRaftScenario, plan: Plan) -> tuple[Exploration, Exploration] | None:
    """All states of ``scenario``, and those up to renaming of voters; ``None`` where that is refused."""
    environment = scenario.environment.model_copy(update={"sends": "any-order"})
    chosen = scenario.model_copy(update={"environment": environment})
    whole, reduced = build(chosen), build(chosen)
    try:
        symmetric(reduced, chosen)
    except InputError:
        return None
    tables = [Tables(system) for system in (whole, reduced)]
    for _ in range(2):
        runs = [_engine(each.system, 1, plan.engine_states // 4, each, whole=True) for each in tables]
    return runs[0], runs[1]


def _engine(
    system: System, threads: int, states: int, tables: Tables | None, *, whole: bool = False
) -> Exploration:
    """One run; ``whole``: without partial-order reduction, which symmetry excludes."""
    limits = Limits(max_states=states)
    return explore(system, threads=threads, limits=limits, partial_order=not whole, tables=tables)
