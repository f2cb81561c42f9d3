"""Shortest counterexamples of one property by their causes, the simplest of each.

A *cause* is the name of the violating step, of any component, together with the kinds of faults on the path.
A cause is left out if another one with the same violating step has a subset of its faults: a violation that
happens without a fault is not caused by it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.layers import Edges, Layers
from kraftcheck.engine.simplest import Found, Paths
from kraftcheck.engine.system import PathStep

#: Distinct kinds of faults; sets of them are the bits of a 64-bit number.
MOST_KINDS = 6
_SETS = 1 << MOST_KINDS

Namer = Callable[[PathStep, Hashable], str]


@dataclass(frozen=True, slots=True)
class Cause:
    """The name of the violating step (empty for an initial state), and the kinds of faults on the path."""

    step: str
    faults: tuple[str, ...]


def by_cause(
    layers: Layers, violated: str, faults: frozenset[str], name: Namer, deeper: int = 0
) -> list[tuple[Cause, Found]]:
    """The causes of ``violated`` among the shortest paths, each with its simplest path; the simplest first.

    ``faults``: see :func:`kraftcheck.engine.simplest.simplest`; ``name``: the name of a step. ``deeper``:
    also causes that appear only that many steps later, as far as ``layers`` goes.
    """
    first = layers.depth(violated)
    if first is None:
        return []
    found: list[tuple[Cause, Found]] = []
    for level in range(first, min(first + deeper + 1, len(layers.sizes))):
        targets = layers.targets(violated, level)
        if targets.any():
            known = [cause for cause, _ in found]
            new = [
                each
                for each in _of_level(layers, level, targets, violated, faults, name)
                if _is_new(each[0], known)
            ]
            found += sorted(new, key=lambda pair: (pair[1].cost, pair[0].step, pair[0].faults))
    return found


def _is_new(cause: Cause, known: list[Cause]) -> bool:
    return not any(other.step == cause.step and set(other.faults) <= set(cause.faults) for other in known)


def _of_level(
    layers: Layers, level: int, targets: NDArray[np.bool_], violated: str, faults: frozenset[str], name: Namer
) -> Iterator[tuple[Cause, Found]]:
    paths = Paths(layers, level, targets, faults)
    if level == 0:
        yield Cause("", ()), paths.simplest(violated)
        return
    kinds = _Kinds(paths)
    for called, last in _by_name(paths, name):
        for chosen in kinds.least(last):
            edges = [kinds.within(each, chosen) for each in (*paths.edges[:-1], last)]
            ends = np.zeros_like(targets)
            ends[last.targets] = True
            yield (
                Cause(called, kinds.names(chosen)),
                Paths(layers, level, ends, faults, edges).simplest(violated),
            )


def _by_name(paths: Paths, name: Namer) -> Iterator[tuple[str, Edges]]:
    """The violating steps by name."""
    last = paths.edges[-1]
    called = {code: name(*paths.step(code)) for code in np.unique(last.codes).tolist()}
    for each in sorted(set(called.values())):
        codes = [code for code, other in called.items() if other == each]
        yield each, last.keep(np.isin(last.codes, codes))


class _Kinds:
    """The kinds of faults on paths, as bits of a number; the last bit stands for all further kinds."""

    def __init__(self, paths: Paths) -> None:
        self.paths = paths
        codes = [each.codes for each in paths.edges]
        named = {name for code in np.unique(np.concatenate(codes)).tolist() for name in paths.faults(code)}
        self._names = sorted(named)
        self._reachable = self._sets_of_states()

    def names(self, chosen: int) -> tuple[str, ...]:
        """The names of the kinds in ``chosen``."""
        return tuple(name for name in self._names if 1 << self._bit(name) & chosen)

    def _bit(self, name: str) -> int:
        return min(self._names.index(name), MOST_KINDS - 1)

    def _of(self, code: int) -> int:
        found = 0
        for name in self.paths.faults(code):
            found |= 1 << self._bit(name)
        return found

    def _of_edges(self, edges: Edges) -> NDArray[np.int64]:
        return self.paths.of_codes(edges.codes, self._of)

    def within(self, edges: Edges, chosen: int) -> Edges:
        """The steps with no faults outside ``chosen``."""
        return edges.keep((self._of_edges(edges) & ~np.int64(chosen)) == 0)

    def _sets_of_states(self) -> list[NDArray[np.uint64]]:
        """By level and state the sets of kinds on paths to it: bit s stands for set s."""
        sizes = self.paths.layers.sizes
        found = [np.ones(sizes[0], np.uint64)]
        for number, edges in enumerate(self.paths.edges[:-1]):
            after = np.zeros(sizes[number + 1], np.uint64)
            np.bitwise_or.at(after, edges.targets, self._after(found[-1], edges))
            found.append(after)
        return found

    def _after(self, before: NDArray[np.uint64], edges: Edges) -> NDArray[np.uint64]:
        """The sets of kinds after ``edges`` have been taken too."""
        found = before[edges.sources]
        added = self._of_edges(edges)
        for kinds in np.unique(added).tolist():
            if kinds:
                here = added == kinds
                sets, moved = found[here], np.zeros(int(here.sum()), np.uint64)
                for each in range(_SETS):
                    moved |= (sets >> np.uint64(each) & np.uint64(1)) << np.uint64(each | kinds)
                found[here] = moved
        return found

    def least(self, last: Edges) -> list[int]:
        """The sets of kinds on paths that end with one of ``last``, without those that include another."""
        reached = int(np.bitwise_or.reduce(self._after(self._reachable[-1], last)))
        sets = [each for each in range(_SETS) if reached >> each & 1]
        return [each for each in sets if not any(other != each and other & each == other for other in sets)]
