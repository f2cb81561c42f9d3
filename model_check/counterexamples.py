"""Which counterexamples are shown: the simplest among the shortest, where looking for them costs little."""

from __future__ import annotations

from collections.abc import Sequence

from model_check.engine.layers import collect_layers
from model_check.engine.simplest import Found, simplest
from model_check.engine.system import System, Violation
from model_check.kraft.faults import FAULTS

#: Up to how many states the levels before a violation are explored again.
MOST_STATES = 2_000_000


def simplest_of(
    system: System, violations: Sequence[Violation], max_states: int = MOST_STATES
) -> dict[str, Found]:
    """By property the simplest of the shortest ways to its violation: fewest faults, then fewest replicas
    that act, then fewest changes of the replica that acts.

    Without those for which more than ``max_states`` states would have to be explored again: of them the
    first one found is as good as any.
    """
    found: dict[str, Found] = {}
    if not violations:
        return found
    layers = collect_layers(system, max(each.depth for each in violations), max_states)
    if layers is None:
        return found
    for each in violations:
        best = simplest(layers, each.property, FAULTS)
        if best is not None and best.violation.depth == each.depth:
            found[each.property] = best
    return found
