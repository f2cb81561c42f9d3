"""Fair cycles: the states that lie on one, and a short one through a given state.

The search refines strongly connected components, as in Emerson and Lei, "Modalities for model checking",
POPL 1985 (Streett acceptance): a component that no cycle can make weakly fair is dropped, states that
enable a strong class without a step in their component are removed, until nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine import sparse
from kraftcheck.engine.edges import Edges, Mask, Numbers
from kraftcheck.engine.fairness import Strength
from kraftcheck.engine.steps import back

Ends = NDArray[Any]

#: The number of pairs of a state and an account that are tried for a shortest cycle.
MOST_PAIRS = 200_000


@dataclass(frozen=True, slots=True)
class Demand:
    """The debt of a cycle to a class of steps: the edges with one of ``labels`` (a mask), or, if there is no
    such mask, the edges of the mask ``steps``. ``enabled``: the states that have one.

    Weak: one of the edges, or a state without any. Strong: one of the edges, if a state has any. ``None``:
    one of the edges in any case (unconditional fairness: Baier and Katoen, "Principles of Model Checking",
    section 3.5).
    """

    labels: Mask | None
    steps: Mask | None
    enabled: Mask
    strength: Strength | None

    def among(self, edges: Edges, numbers: Numbers) -> Mask:
        """Which of the edges ``numbers`` belong to the class."""
        found: Mask = (
            self.labels[edges.labels[numbers]] if self.labels is not None else cast(Mask, self.steps)[numbers]
        )
        return found


class ByLabel:
    """The edges in order of their labels, of which there are ``count``."""

    def __init__(self, edges: Edges, count: int) -> None:
        self._size = edges.size
        order = np.argsort(edges.labels).astype(np.int32)
        self._sources = edges.sources[order]
        self._starts = np.searchsorted(edges.labels[order], np.arange(count + 1)).tolist()

    def demand(self, labels: Mask, strength: Strength) -> Demand:
        """The demand of the class of steps with ``labels``."""
        enabled = np.zeros(self._size, bool)
        for label in np.flatnonzero(labels).tolist():
            enabled[self._sources[self._starts[label] : self._starts[label + 1]]] = True
        return Demand(labels, None, enabled, strength)


def demand_of_steps(edges: Edges, steps: Mask) -> Demand:
    """The demand that one of ``steps`` (a mask of ``edges``) is taken in any case."""
    return Demand(None, steps, np.zeros(edges.size, bool), None)


@dataclass(frozen=True, slots=True)
class Fair:
    """``alive``: the states on fair cycles; the ``component`` of each state, and the edges ``inside`` one."""

    alive: Mask
    component: Numbers
    inside: Mask


def strong_components(size: int, sources: Ends, targets: Ends) -> Numbers:
    """The number of the strongly connected component of each of ``size`` states; 0 is the first one.

    scipy walks the arrays themselves (Pearce, "An improved algorithm for finding the strongly connected
    components of a directed graph", 2005).
    """
    scipy = sparse.loaded()
    matrix = scipy.csr_array((np.ones(len(sources), np.int8), (sources, targets)), shape=(size, size))
    _, component = scipy.csgraph.connected_components(matrix, directed=True, connection="strong")
    numbers: Numbers = component.astype(np.int64)
    return numbers


def fair_states(edges: Edges, demands: Sequence[Demand], alive: Mask) -> Fair:
    """The states of ``alive`` that lie on a cycle that meets ``demands``, an empty one included."""
    alive = alive.copy()
    while True:
        edges.watch("looks for fair cycles")
        between = np.flatnonzero(alive[edges.sources] & alive[edges.targets])
        sources, targets = edges.sources[between], edges.targets[between]
        component = strong_components(edges.size, sources, targets)
        inner = between[component[sources] == component[targets]]
        dead = _lacking(edges, demands, alive, component, inner) & alive
        if not dead.any():
            inside = np.zeros(len(edges.sources), bool)
            inside[inner] = True
            return Fair(alive, component, inside)
        alive &= ~dead


def _lacking(
    edges: Edges, demands: Sequence[Demand], alive: Mask, component: Numbers, inner: Numbers
) -> Mask:
    """The states that a fair cycle cannot go through, given the current components."""
    count = int(component.max(initial=-1)) + 1
    dead: Mask = np.zeros(edges.size, bool)
    names = int(edges.labels.max(initial=0)) + 1
    pairs = np.unique(component[edges.sources[inner]] * names + edges.labels[inner])
    for each in demands:
        taken = np.zeros(count, bool)
        if each.labels is not None:
            taken[pairs[each.labels[pairs % names]] // names] = True
        else:
            taken[component[edges.sources[inner[each.among(edges, inner)]]]] = True
        if each.strength is Strength.STRONG:
            dead |= each.enabled & ~taken[component]
            continue
        rests = np.zeros(count, bool)
        if each.strength is Strength.WEAK:
            rests[component[alive & ~each.enabled]] = True
        dead |= ~taken[component] & ~rests[component]
    return dead


def short_cycle(edges: Edges, demands: Sequence[Demand], start: int, fair: Fair) -> list[int]:
    """The edges of a cycle from ``start``, which is on one, that pays ``demands``.

    A shortest one, if ``MOST_PAIRS`` pairs suffice to find it; empty if the behaviour stays there.
    """
    here = fair.alive & (fair.component == fair.component[start])
    inside = fair.inside & here[edges.sources]
    if not inside.any():
        return []
    # The component can owe no other class.
    owed = [each for each in demands if each.strength is None or (each.enabled & here).any()]
    found = _shortest(edges, owed, start, inside)
    return found if found is not None else _greedy(edges, owed, start, here, inside)


class _Account:
    """One bit for each demand: those that a path has paid, and those that it has come to owe (strong
    classes). Found for the states and steps that a search comes to: there are many more.
    """

    def __init__(self, edges: Edges, demands: Sequence[Demand]) -> None:
        self._labels, self._demands = edges.labels, demands
        self._by_label: dict[int, int] = {}
        self._by_step: list[tuple[int, Mask]] = []
        self._at: dict[int, tuple[int, int]] = {}
        self._any_case = sum(
            1 << bit for bit, each in enumerate(demands) if each.strength is not Strength.STRONG
        )
        for bit, each in enumerate(demands):
            if each.labels is None:
                self._by_step.append((1 << bit, cast(Mask, each.steps)))
                continue
            for label in np.flatnonzero(each.labels).tolist():
                self._by_label[label] = self._by_label.get(label, 0) | 1 << bit

    def at(self, state: int, paid: int, owes: int) -> tuple[int, int]:
        """The account (paid, owes) once the path has come through ``state``."""
        if state not in self._at:
            self._at[state] = self._here(state)
        rests, more = self._at[state]
        return paid | rests, owes | more

    def _here(self, state: int) -> tuple[int, int]:
        """The demands that are paid by resting in ``state``, and those that it makes a path owe."""
        rests = owes = 0
        for bit, each in enumerate(self._demands):
            if each.strength is Strength.WEAK and not each.enabled[state]:
                rests |= 1 << bit
            if each.strength is Strength.STRONG and each.enabled[state]:
                owes |= 1 << bit
        return rests, owes

    def by(self, edge: int) -> int:
        """The demands that the step ``edge`` pays."""
        found = self._by_label.get(int(self._labels[edge]), 0)
        for bit, steps in self._by_step:
            if steps[edge]:
                found |= bit
        return found

    def left(self, paid: int, owes: int) -> int:
        """The bits of the demands that are still unpaid."""
        return (owes | self._any_case) & ~paid


def _moves(edges: Edges, state: int, inside: Mask) -> Iterator[tuple[int, int]]:
    for edge in range(int(edges.starts[state]), int(edges.starts[state + 1])):
        if inside[edge]:
            yield edge, int(edges.targets[edge])


def _shortest(edges: Edges, demands: Sequence[Demand], start: int, inside: Mask) -> list[int] | None:
    """Breadth first through pairs of a state and an account; ``None`` if there are too many of them."""
    account = _Account(edges, demands)
    first = (start, *account.at(start, 0, 0))
    came: dict[tuple[int, int, int], tuple[tuple[int, int, int], int] | None] = {first: None}
    level = [first]
    while level:
        edges.watch("looks for a short cycle")
        following = []
        for pair in level:
            state, paid, owes = pair
            for edge, target in _moves(edges, state, inside):
                after = (target, *account.at(target, paid | account.by(edge), owes))
                if target == start and not account.left(after[1], after[2]):
                    return [*back(came, pair)[1], edge]
                if after not in came:
                    came[after] = (pair, edge)
                    following.append(after)
        if len(came) > MOST_PAIRS:
            return None
        level = following
    return None


def _greedy(edges: Edges, demands: Sequence[Demand], start: int, here: Mask, inside: Mask) -> list[int]:
    """To the nearest step or state that pays a demand, until all demands are paid, and back to ``start``."""
    account = _Account(edges, demands)
    everything = (1 << len(demands)) - 1
    path: list[int] = []
    at, (paid, _) = start, account.at(start, 0, 0)
    while paid != everything or not path:
        distance, came = edges.search([np.array([at])], here)
        owed = [each for bit, each in enumerate(demands) if not paid >> bit & 1]
        steps = np.flatnonzero(inside)
        if owed:
            steps = steps[np.any([each.among(edges, steps) for each in owed], axis=0)]
        rests = [~each.enabled for each in owed if each.strength is Strength.WEAK]
        resting = np.flatnonzero(here & np.any(rests, axis=0)) if rests else np.empty(0, np.int64)
        goals = np.concatenate([resting, edges.sources[steps]])
        nearest = int(np.argmin(distance[goals]))
        further = edges.back(int(goals[nearest]), came)
        if nearest >= len(resting):
            further.append(int(steps[nearest - len(resting)]))
        for edge in further:
            at = int(edges.targets[edge])
            paid, _ = account.at(at, paid | account.by(edge), 0)
        path += further
    _, came = edges.search([np.array([at])], here)
    return path + edges.back(start, came)
