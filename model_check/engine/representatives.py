"""States that represent others in a graph: an exploration replaces the states that it finds.

The system decides which state represents which others, by a function on global states. The function must
return a state that behaves alike: each step of the one is a step of the other, to states with the same
representative. A representative must represent itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.block import Batch
from kraftcheck.engine.hashing import orbits
from kraftcheck.engine.steps import Step, initial_states, steps
from kraftcheck.engine.system import GlobalState, PathStep, System
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.visited import Visited

Represent = Callable[[GlobalState], GlobalState]


class UnlikeError(ValueError):
    """A state and its representative do not behave alike; the argument names the difference."""


class Representatives:
    """Replaces the new states of an exploration by their representatives.

    ``rows`` and ``fps`` are those of the states that were replaced, in order, ``by`` the fingerprints of
    their representatives.
    """

    def __init__(self, tables: Tables, represent: Represent) -> None:
        self._tables, self._represent = tables, represent
        self.rows: list[NDArray[np.int32]] = []
        self.fps: list[NDArray[np.uint64]] = []
        self.by: list[NDArray[np.uint64]] = []

    def __call__(self, batch: Batch, visited: Visited) -> Batch:
        """``batch`` with representatives, except those that ``visited`` has; the others are added to it."""
        found = [self._tables.decode(row) for row in batch.rows]
        others = [(number, self._represent(state)) for number, state in enumerate(found)]
        replaced = [(number, state) for number, state in others if state != found[number]]
        if not replaced:
            return batch
        places = np.array([number for number, _ in replaced])
        rows, fps = batch.rows.copy(), batch.fps.copy()
        self.rows.append(batch.rows[places])
        self.fps.append(batch.fps[places, 0])
        rows[places] = np.stack([self._tables.encode(state) for _, state in replaced])
        fps[places] = self._tables.fingerprints(rows[places])
        self.by.append(fps[places, 0])
        kept = np.ones(len(rows), bool)
        kept[places] = visited.add_all(orbits(fps[places]))
        return Batch(rows[kept], fps[kept], batch.parents[kept], batch.codes[kept])


def real_path(
    system: System,
    represent: Represent,
    initial: int,
    states: Sequence[GlobalState],
    path: Sequence[PathStep],
) -> tuple[PathStep, ...]:
    """The steps that ``system`` takes from its initial state number ``initial`` along states whose
    representatives are ``states``, by the steps ``path`` of the representatives. Raises ValueError where it
    takes none: then ``represent`` is wrong.
    """
    real = initial_states(system)[initial]
    taken: list[PathStep] = []
    for wanted, step, target in zip(states, path, states[1:], strict=False):
        names = {_name(each) for each in steps(system, wanted) if each.path == step}
        found = (
            each
            for each in steps(system, real)
            if each.cut is None and _name(each) in names and represent(each.target) == target
        )
        following = next(found, None)
        if following is None:
            raise ValueError(f"step {len(taken) + 1}: no real state does what its representative does")
        taken.append(following.path)
        real = following.target
    return tuple(taken)


def _name(step: Step) -> Hashable:
    """The parts that are the same in the steps of states that behave alike."""
    action = None if step.outcome is None else step.outcome.action
    return step.path.kind, step.path.component, action, step.path.duplicate
