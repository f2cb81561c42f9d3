"""The smallest bounds within which a scenario still violates a property."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kraftcheck.checking.run import CheckResult, check
from kraftcheck.engine.steps import initial_states, replay
from kraftcheck.engine.system import Violation
from kraftcheck.engine.watch import Watch
from kraftcheck.support.errors import DiskError, InputError
from kraftcheck.systems.kind import Judged
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario

#: The number of states up to which a scenario with smaller bounds is explored.
MOST_STATES = 1_000_000

#: A bound: table and key of the scenario.
Key = tuple[str, str]
CAPACITY: Key = ("network", "capacity")
EPOCH: Key = ("bounds", "max_epoch")
TIMERS: Key = ("environment", "timers")


@dataclass(frozen=True, slots=True)
class Lowered:
    """A bound of the scenario, and the smallest one, given the smallest values of the other bounds.

    ``open``: the limits do not suffice to decide whether a smaller one violates the property.
    """

    name: str
    before: int | tuple[str, ...]
    smallest: int | tuple[str, ...]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Smallest:
    """All bounds, and the scenario with the smallest ones."""

    bounds: tuple[Lowered, ...]
    scenario: Scenario


#: Whether a property is violated in a scenario; ``None`` if more had to be explored than the limits allow.
Violates = Callable[[Scenario], bool | None]


def _violates(shows: Callable[[CheckResult], bool], watch: Watch, threads: int) -> Violates:
    def violates(candidate: Scenario) -> bool | None:
        for keep_going in (False, True):
            found = check(
                candidate,
                threads=threads,
                limits=watch.rest(max_states=MOST_STATES),
                keep_going=keep_going,
                progress=watch.progress("smallest bounds"),
            )
            if shows(found):
                return True
            if not found.exploration.violations:
                # With other violations first, the search has stopped too early to decide.
                break
        return None if found.limit is not None else False

    return violates


class _Lowering:
    def __init__(self, scenario: Scenario, violates: Violates) -> None:
        self.scenario = scenario
        self.open: set[Key] = set()
        self._violates = violates

    def violates(self, candidate: Scenario) -> bool | None:
        """Whether the property is violated there; it is not if the scenario contradicts itself."""
        try:
            return self._violates(candidate)
        except DiskError:
            raise
        except InputError:
            # Some keys require others: this one cannot be lowered.
            return False

    def try_all(self, key: Key) -> bool:
        """Lower one bound as far as possible; whether it was lowered."""
        went = False
        self.open.discard(key)
        while True:
            for smaller in _smaller(_value(self.scenario, key), 0 if key[0] == "budgets" else 1):
                candidate = _with(self.scenario, key, smaller)
                answer = self.violates(candidate)
                if answer:
                    self.scenario, went = candidate, True
                    break
                if answer is None:
                    self.open.add(key)
            else:
                return went


def _smaller(value: Any, least: int) -> Iterator[Any]:
    if isinstance(value, tuple):
        yield from (tuple(each for each in value if each != left) for left in value)
    elif value > least:
        yield value - 1


def _value(scenario: Scenario, key: Key) -> Any:
    return getattr(getattr(scenario, key[0]), key[1])


def _with(scenario: Scenario, key: Key, value: Any) -> Scenario:
    table = getattr(scenario, key[0]).model_copy(update={key[1]: value})
    return scenario.model_copy(update={key[0]: table})


def _keys(scenario: Scenario) -> list[Key]:
    """The bounds that are not minimal: budgets first, those of faults and input alike."""
    budgets = [
        ("budgets", name)
        for name in type(scenario.budgets).model_fields
        if _value(scenario, ("budgets", name))
    ]
    return [*budgets, *kind_of(scenario).bounds(scenario), CAPACITY]


def lowered_bounds(scenario: Scenario) -> Iterator[tuple[str, str, str, Scenario]]:
    """Each bound without the budgets, less by one: its name, its value, the lower one, and the scenario with
    it. A list of timers is lowered by each of them.
    """
    for key in (*kind_of(scenario).bounds(scenario), CAPACITY):
        before = _value(scenario, key)
        for smaller in _smaller(before, 1):
            yield _name(key), _written(before), _written(smaller), _with(scenario, key, smaller)


def _name(key: Key) -> str:
    return f"{key[0]}.{key[1]}".replace("_", "-")


def _written(value: Any) -> str:
    return (",".join(map(str, value)) or "none") if isinstance(value, tuple) else str(value)


def used(scenario: Scenario, violation: Violation) -> Scenario:
    """``scenario`` with the bounds that the counterexample itself needs: budgets that it spends, those of
    its kind of system, its messages in flight.
    """
    model = kind_of(scenario)
    system = model.build(scenario)
    states = [initial_states(system)[violation.initial]]
    states += [state for _, _, state in replay(system, violation.path, violation.initial)]
    spent = [before - after for before, after in zip(states[0].budgets, states[-1].budgets, strict=True)]
    for name, units in zip(system.budget_names, spent, strict=True):
        scenario = _with(scenario, ("budgets", name), units)
    scenario = model.used(scenario, states)
    return _with(scenario, CAPACITY, max(1, *(len(state.messages) for state in states)))


def smallest_bounds(
    scenario: Scenario, violation: Violation, watch: Watch | None = None, threads: int = 1
) -> Smallest:
    """Lower each bound of ``scenario`` by itself, repeatedly, as long as ``violation.property`` is still
    violated: in the result no single bound can be smaller.

    The bounds that the counterexample does not use are lowered first, together. Raises KeyboardInterrupt.
    """
    alone = scenario.check.model_copy(update={"eventually": ()})
    scenario = scenario.model_copy(update={"reduction": type(scenario.reduction)(), "check": alone})

    def shows(found: CheckResult) -> bool:
        return violation.property in found.violated

    lowering = _Lowering(scenario, _violates(shows, watch or Watch(), threads))
    begin = used(scenario, violation)
    if begin == scenario or lowering.violates(begin):
        lowering.scenario = begin
    return _lowered(scenario, lowering, _keys(scenario))


def smallest_bounds_of_eventually(
    scenario: Scenario, violated: Judged, watch: Watch | None = None, threads: int = 1
) -> Smallest:
    """The same for an *eventually* property: each bound is lowered from its value in the scenario.

    A network or a bound on epochs that is too small to judge the property is no smaller bound. The timers
    stay: if none expires, a behaviour that stays in its state is fair.
    """

    def shows(found: CheckResult) -> bool:
        """Whether it is violated, and by a cycle if the original counterexample has one."""
        alike = [each for each in found.judged if each.name == violated.name and each.violated]
        return any((each.lasso is None) == (violated.lasso is None) for each in alike)

    lowering = _Lowering(scenario, _violates(shows, watch or Watch(), threads))
    return _lowered(scenario, lowering, [key for key in _keys(scenario) if key != TIMERS])


def _lowered(scenario: Scenario, lowering: _Lowering, keys: list[Key]) -> Smallest:
    while any(lowering.try_all(key) for key in keys):
        pass
    bounds = tuple(
        Lowered(
            _name(key),
            _value(scenario, key),
            _value(lowering.scenario, key),
            key in lowering.open,
        )
        for key in keys
    )
    return Smallest(bounds, lowering.scenario)
