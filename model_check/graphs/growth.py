"""The causes of a state space: its states by level, and those that there are only because of a budget or an
action.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np

from kraftcheck.checking.answers import tables_of
from kraftcheck.checking.smallest_bounds import lowered_bounds
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.graph import LOST
from kraftcheck.engine.system import Limits, System
from kraftcheck.engine.witness import LOSS, Priced, Witnessing
from kraftcheck.graphs.paths import Paths
from kraftcheck.graphs.queries import Search, initial
from kraftcheck.graphs.states import States
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Cause:
    """Something without which there are fewer states: ``without`` it so many.

    ``name``: ``budgets.crashes``, ``bounds.max-epoch``, or an action, ``timer election``; ``value`` and
    ``less``: the scenario's and the one that it is compared with, of an action empty. ``without`` is ``None``
    if there are more than the limit allows to count.
    """

    name: str
    value: str
    less: str
    without: int | None


@dataclass(frozen=True, slots=True)
class Growth:
    """``levels``: new states by the number of steps to them; ``budgets`` and ``actions``, those that make the
    most states first; ``bounds``: the same of the bounds that were lowered, each in an exploration.
    ``complete``: whether these are all states, and not those of the first levels alone.
    """

    states: int
    levels: tuple[int, ...]
    budgets: tuple[Cause, ...]
    actions: tuple[Cause, ...]
    bounds: tuple[Cause, ...] = ()
    complete: bool = True

    def as_data(self) -> dict[str, Any]:
        """The same for machines."""
        return asdict(self)


def growth_of(states: States, paths: Paths | None = None) -> Growth:
    """What makes the states of a graph, without its bounds, which take an exploration each."""
    depths = (paths or Paths(states)).depths
    levels = tuple(np.bincount(depths, minlength=1).tolist())
    whole = states.graph.exploration is None or states.graph.exploration.limit is None
    return Growth(states.graph.size, levels, _budgets(states), _actions(states), complete=whole)


def _budgets(states: States) -> tuple[Cause, ...]:
    """The budgets that are spent in some state.

    Units are only ever spent, so that the states without the last unit are those that have one left.
    """
    system, graph, found = states.system, states.graph, []
    assert graph.left is not None
    for index, (name, units) in enumerate(zip(system.budget_names, system.budgets, strict=True)):
        if units:
            without = int(np.count_nonzero(graph.left(index)))
            key = f"budgets.{name.replace('_', '-')}"
            found.append(Cause(key, str(units), str(units - 1), without))
    return most_first(found)


def _actions(states: States) -> tuple[Cause, ...]:
    """The kinds of actions, with the states that are reached without any step of the kind."""
    graph = states.graph
    search = Search(graph.size, graph.sources, graph.targets)
    kinds: dict[str, list[int]] = defaultdict(list)
    for number, (_, action) in enumerate(graph.label_values):
        kinds[_kind(action)].append(number)
    found = []
    for name, labels in kinds.items():
        reached, _ = search.reached(initial(states), edges=~np.isin(graph.labels, labels))
        found.append(Cause(name, "", "", int(np.count_nonzero(reached))))
    return most_first(found)


def _kind(action: Any) -> str:
    """The name of a kind of action: that of its coverage target, without replicas and details."""
    if action == LOST:
        return LOSS
    inner: Any = action.action if isinstance(action, Priced) else action
    return f"timer {inner.about}" if inner.kind == "timer" else str(inner.kind)


def bounds_of(chosen: Scenario, limits: Limits) -> Iterator[Cause]:
    """The states with each bound of ``chosen`` less by one, each counted by an exploration within
    ``limits``: with ``max_depth``, those of the levels up to it. A bound that cannot be less is left out.
    """
    for name, value, less, candidate in lowered_bounds(chosen):
        try:
            system = kind_of(candidate).build(candidate)
        except InputError:
            continue
        with tables_of(cast(System, Witnessing(system))) as tables:
            found = explore(tables.system, limits=limits, keep_going=True, tables=tables)
        counted = found.limit in (None, "max_depth")
        yield Cause(name, value, less, found.distinct if counted else None)


def most_first(found: Iterable[Cause]) -> tuple[Cause, ...]:
    """``found``, with what makes the most states first; what could not be counted comes last."""
    return tuple(sorted(found, key=lambda each: (each.without is None, each.without or 0, each.name)))


def in_words(growth: Growth, scenario: str) -> Iterator[str]:
    """The growth as lines of text."""
    yield f"{scenario}: {growth.states:,} states" + ("" if growth.complete else " so far; there are more")
    if not growth.complete:
        last = len(growth.levels) - 1
        yield f"All counts are of the states up to level {last}, those that fit into --max-states."
    yield ""
    yield "New states by level (steps from the beginning)"
    most = max(growth.levels)
    for level, count in enumerate(growth.levels):
        yield f"  {level:3}  {count:>10,}  {'█' * round(40 * count / most)}".rstrip()
    yield from _table("What to cut first: states with a budget or bound less", growth, growth.budgets)
    yield from _table("", growth, growth.bounds)
    yield from _table("States that no path without this action reaches", growth, growth.actions)


def _table(heading: str, growth: Growth, causes: tuple[Cause, ...]) -> Iterator[str]:
    if not causes:
        return
    if heading:
        yield ""
        yield heading
    for each in causes:
        name = f"{each.name} {each.value} → {each.less}" if each.value else each.name
        if each.without is None:
            yield f"  {name:<48} more than can be counted within --max-states"
            continue
        needed = growth.states - each.without
        if each.value:
            yield f"  {name:<48} {each.without:>10,}  {_difference(-needed, growth.states)}"
        elif needed:
            yield f"  {name:<48} {needed:>10,}  {_share(needed, growth.states)}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %".replace("-0 %", "0 %")


def _difference(part: int, whole: int) -> str:
    """The same with its sign: some bounds, such as that on messages in flight, make more states when less."""
    return _share(part, whole) if part <= 0 else f"+{_share(part, whole)}"
