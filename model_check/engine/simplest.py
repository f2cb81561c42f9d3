"""Among the shortest paths to a violation the simplest: fewest faults, then actors, then context switches.

A *fault* is a message lost or copied, or a unit of a budget that the caller calls one. The *actors* are the
components that take a step. A *context switch* is a step by another component than the one before; a loss has
no actor. The choice is exact: faults add up, so that the steps on paths with fewest faults are those that fit
least sums from both sides; and of all paths through these that end in one state with the same actors and the
same last actor only one with fewest switches can be part of a simplest one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.layers import Edges, Layers
from kraftcheck.engine.system import PathStep, Violation
from kraftcheck.engine.witness import faults_of

#: The largest number of partial paths of one level that are compared; above it one for each state is kept.
MOST_PARTIAL = 4_000_000
_NO_ACTOR = 63
_FAR = np.int64(1) << 40


@dataclass(frozen=True, slots=True)
class Found:
    """A path to a violation, the faults on it by name, and its simplicity.

    ``exact``: no path of the same length is simpler.
    """

    violation: Violation
    faults: tuple[str, ...]
    actors: int
    switches: int
    exact: bool = True

    @property
    def cost(self) -> tuple[int, int, int]:
        """The quantities to minimise, the most important first."""
        return len(self.faults), self.actors, self.switches


@dataclass(frozen=True, slots=True)
class _Partial:
    """The paths to the states of a level worth extending: column for column."""

    states: NDArray[np.int32]
    actors: NDArray[np.int64]
    last: NDArray[np.int64]
    switches: NDArray[np.int64]
    origins: NDArray[np.int64]
    codes: NDArray[np.uint32]

    def take(self, chosen: NDArray[np.int64]) -> _Partial:
        return _Partial(
            self.states[chosen], self.actors[chosen], self.last[chosen], self.switches[chosen],
            self.origins[chosen], self.codes[chosen],
        )  # fmt: skip


class Paths:
    """The shortest paths to states of one level: chosen by their faults, actors and context switches."""

    def __init__(
        self,
        layers: Layers,
        level: int,
        targets: NDArray[np.bool_],
        faults: frozenset[str],
        edges: list[Edges] | None = None,
    ) -> None:
        """``edges``: by level those that the paths may take, which must lead to some of ``targets``."""
        self.layers, self.level, self.targets = layers, level, targets
        self.fault_budgets = faults
        if edges is None:
            edges = _leading_to(layers.sizes, layers.edges[:level], targets)
        self.edges = edges
        self._steps: dict[int, tuple[PathStep, Hashable]] = {}

    def step(self, code: int) -> tuple[PathStep, Hashable]:
        """The step that ``code`` stands for and its action."""
        if code not in self._steps:
            self._steps[code] = self.layers.step(code)
        return self._steps[code]

    def faults(self, code: int) -> list[str]:
        """The names of the faults in the step that ``code`` stands for."""
        return faults_of(*self.step(code), self.layers.system.budget_names, self.fault_budgets)

    def of_codes(self, codes: NDArray[np.uint32], ask: Callable[[int], int]) -> NDArray[np.int64]:
        """``ask(code)`` for each of ``codes``; each code is evaluated once."""
        distinct, places = np.unique(codes, return_inverse=True)
        return np.array([ask(code) for code in distinct.tolist()], np.int64)[places]

    def actor(self, code: int) -> int:
        step, _ = self.step(code)
        return _NO_ACTOR if step.kind == "lose" else step.component

    def simplest(self, violated: str) -> Found:
        """The simplest of all these paths."""
        edges, targets = _with_least(self)
        partial = [self._begin()]
        exact = True
        for level_edges in edges:
            following, all_of_them = self._extend(partial[-1], level_edges)
            partial.append(following)
            exact = exact and all_of_them
        final = partial[-1]
        ends = np.flatnonzero(targets[final.states])
        counts = _count_bits(final.actors[ends])
        best = int(ends[np.lexsort((final.switches[ends], counts))[0]])
        actors, switches = int(_count_bits(final.actors[[best]])[0]), int(final.switches[best])
        codes: list[int] = []
        for level in range(self.level, 0, -1):
            codes.append(int(partial[level].codes[best]))
            best = int(partial[level].origins[best])
        codes.reverse()
        path = tuple(self.step(code)[0] for code in codes)
        initial = self.layers.initial[int(partial[0].states[best])]
        named = tuple(name for code in codes for name in self.faults(code))
        return Found(Violation(violated, self.level, path, initial), named, actors, switches, exact)

    def _begin(self) -> _Partial:
        states = np.arange(self.layers.sizes[0], dtype=np.int32)
        zero = np.zeros(len(states), np.int64)
        return _Partial(states, zero, zero + _NO_ACTOR, zero, zero - 1, zero.astype(np.uint32))

    def _extend(self, partial: _Partial, edges: Edges) -> tuple[_Partial, bool]:
        """All paths one step longer that are worth it, and whether those are all."""
        begins = np.searchsorted(partial.states, edges.sources, "left")
        counts = np.searchsorted(partial.states, edges.sources, "right") - begins
        which = np.repeat(np.arange(len(edges.sources)), counts)
        within = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        origins = begins[which] + within
        actor = self.of_codes(edges.codes, self.actor)[which]
        acts = actor != _NO_ACTOR
        before = partial.last[origins]
        longer = _Partial(
            states=edges.targets[which],
            actors=partial.actors[origins] | np.where(acts, np.int64(1) << actor, 0),
            last=np.where(acts, actor, before),
            switches=partial.switches[origins] + (acts & (before != _NO_ACTOR) & (before != actor)),
            origins=origins,
            codes=edges.codes[which],
        )
        kept = longer.take(_firsts(longer.switches, longer.last, longer.actors, longer.states))
        if len(kept.states) <= MOST_PARTIAL:
            return kept, True
        few = _count_bits(kept.actors)
        return kept.take(_firsts(kept.switches, few, kept.states, unique=1)), False


def _firsts(*columns: NDArray[np.generic], unique: int | None = None) -> NDArray[np.int64]:
    """Rows in the order of ``columns`` (the last one first), one for each value of all but the first.

    ``unique``: one for each value of as many columns from the end.
    """
    order = np.lexsort(columns)
    keys = columns[1:] if unique is None else columns[-unique:]
    new = np.ones(len(order), np.bool_)
    if len(order):
        same = [column[order[1:]] == column[order[:-1]] for column in keys]
        new[1:] = ~np.logical_and.reduce(same)
    return order[new]


def _count_bits(values: NDArray[np.int64]) -> NDArray[np.int64]:
    left, found = values.copy(), np.zeros(len(values), np.int64)
    while left.any():
        found += left & 1
        left >>= 1
    return found


def _leading_to(
    sizes: list[int],
    edges: list[Edges],
    targets: NDArray[np.bool_],
    fits: list[NDArray[np.bool_]] | None = None,
) -> list[Edges]:
    """The ``edges`` on paths to ``targets``, states of the last level; ``fits``: only these, by level."""
    found: list[Edges] = []
    alive = targets
    for number in reversed(range(len(edges))):
        wanted = alive[edges[number].targets]
        found.append(edges[number].keep(wanted if fits is None else wanted & fits[number]))
        alive = np.zeros(sizes[number], np.bool_)
        alive[found[-1].sources] = True
    return found[::-1]


def _with_least(paths: Paths) -> tuple[list[Edges], NDArray[np.bool_]]:
    """The steps on the paths with the fewest faults, and the ends of these paths."""
    sizes = paths.layers.sizes
    sums = np.zeros(sizes[0], np.int64)
    fits = []
    for size, edges in zip(sizes[1:], paths.edges, strict=False):
        prices = paths.of_codes(edges.codes, lambda code: len(paths.faults(code)))
        costs = sums[edges.sources] + prices
        sums = np.full(size, _FAR)
        np.minimum.at(sums, edges.targets, costs)
        fits.append(costs == sums[edges.targets])
    ends = paths.targets & (sums == sums[paths.targets].min())
    return _leading_to(sizes, paths.edges, ends, fits), ends


def simplest(layers: Layers, violated: str, faults: frozenset[str]) -> Found | None:
    """The simplest of the shortest paths to a violation of ``violated``; ``None`` if ``layers`` has none.

    ``faults``: the names of the budgets whose units are faults.
    """
    level = layers.depth(violated)
    if level is None:
        return None
    return Paths(layers, level, layers.targets(violated, level), faults).simplest(violated)
