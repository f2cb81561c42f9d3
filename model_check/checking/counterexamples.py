"""The counterexamples to show: the simplest among the shortest, where the search for them is cheap."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kraftcheck.engine.causes import Cause, by_cause
from kraftcheck.engine.layers import Layers, collect_layers
from kraftcheck.engine.simplest import Found, simplest
from kraftcheck.engine.system import PathStep, System, Violation
from kraftcheck.engine.watch import Watch
from kraftcheck.engine.witness import Priced
from kraftcheck.systems.kinds import kind_of

#: The number of states up to which the levels before a violation are explored again.
MOST_STATES = 2_000_000
#: The number of steps by which the counterexample of another cause may be longer than the shortest.
DEEPER = 3


def simplest_of(
    system: System, violations: Sequence[Violation], watch: Watch | None = None
) -> dict[str, Found]:
    """By property the simplest of the shortest paths to its violation: fewest faults, then fewest acting
    replicas, then fewest changes of the acting replica.

    Without those for which more than ``MOST_STATES`` states would have to be explored again, or more than
    ``watch`` leaves: for these the first counterexample found is shown.
    """
    found: dict[str, Found] = {}
    if not violations:
        return found
    layers = _layers(system, max(each.depth for each in violations), watch, "simplest counterexample")
    if layers is None:
        return found
    for each in violations:
        best = simplest(layers, each.property, kind_of(system).faults)
        if best is not None and best.violation.depth == each.depth:
            found[each.property] = best
    return found


def causes_of(
    system: System, violation: Violation, watch: Watch | None = None
) -> list[tuple[Cause, Found]] | None:
    """The causes of a violation among its shortest counterexamples and those that are up to ``DEEPER`` steps
    longer, each with its simplest one, the shortest and simplest first; ``None`` if more than ``max_states``
    states would have to be explored again.
    """
    for deeper in (DEEPER, 0):
        layers = _layers(system, violation.depth + deeper, watch, "causes")
        if layers is not None:
            return by_cause(layers, violation.property, kind_of(system).faults, name_of, deeper)
    return None


def _layers(system: System, depth: int, watch: Watch | None, phase: str) -> Layers | None:
    watch = Watch() if watch is None else watch
    return collect_layers(system, depth, watch.rest(max_states=MOST_STATES), watch.progress(phase))


def name_of(step: PathStep, action: Hashable) -> str:
    """The name of a step of any replica: its kind and, of a timer, its name; and whether a crash cuts it
    short.
    """
    if isinstance(action, Priced):
        action = action.action
    kind, crashes = getattr(action, "kind", None), getattr(action, "crashes", ())
    if kind is None:
        return f"loss of {type(getattr(step.message, 'payload', step.message)).__name__}"
    name = f"{kind} {getattr(action, 'about', '')}" if kind == "timer" else str(kind)
    if not crashes or kind == "crash":
        return name
    return f"{name} ({'loses power' if any(each.loses_power for each in crashes) else 'crashes'})"
