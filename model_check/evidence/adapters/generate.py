"""Sequences that cover the steps of the replicas of scenarios: few, and from shortest behaviours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import cast

from kraftcheck.evidence.adapters.extract import sequences
from kraftcheck.evidence.adapters.stimuli import DriveSequence
from kraftcheck.evidence.adapters.witness import target, witnesses
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import KRaftScenario, ProtocolChoice
from kraftcheck.systems.kraft.step import Step as KRaftStep
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.traces.build import details, walk
from kraftcheck.traces.walk import Taken

#: Switches of the protocol that are configuration to an implementation: it receives them at its start.
CONFIGURED = ("fetch-max-batches", "fetch-max-wait-ms", "fetch-timeout-ms")

#: The number of distinct states up to which each scenario is explored.
MAX_STATES = 100_000
#: The reasons why a scenario or a replica gives no sequence.
LED = "it begins with a leader that is in office already (initial-leader)"
NO_WAY = "nothing leads an implementation into the state in which it begins"


@dataclass(slots=True)
class Generated:
    """The generated sequences.

    sequences: in the order in which they are to be driven. targets: the coverage targets that they reach.
    incomplete: scenarios that were not explored whole. left_out: the reason why a scenario or replica gives
    nothing.
    """

    sequences: list[DriveSequence] = field(default_factory=list)
    targets: set[str] = field(default_factory=set)
    incomplete: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def generate(
    scenarios: Iterable[KRaftScenario],
    preset: str,
    switches: Mapping[str, str | bool | int],
    seed: int,
    *,
    max_states: int = MAX_STATES,
    progress: Callable[[str], None] | None = None,
) -> Generated:
    """Sequences that reach every coverage target of the replicas of ``scenarios`` under the protocol
    ``preset`` with ``switches`` changed. A scenario's own choice of protocol is ignored, except its way of
    fetching.

    ``seed`` decides in which order equally long behaviours are tried. Raises InputError for a scenario that
    contradicts itself.
    """
    found = Generated()
    random = Random(seed)
    for scenario in scenarios:
        if progress is not None:
            progress(scenario.name)
        if scenario.replicas.initial_leader is not None:
            found.left_out[scenario.name] = LED
            continue
        chosen = _under(scenario, preset, switches)
        try:
            system = build(chosen)
        except InputError as error:
            if chosen.protocol == scenario.protocol:
                raise
            found.left_out[scenario.name] = f"does not go with this protocol: {str(error).rstrip('.')}"
            continue
        _cover(found, chosen, system, max_states, random)
    return found


def _under(scenario: KRaftScenario, preset: str, switches: Mapping[str, str | bool | int]) -> KRaftScenario:
    kept = {name: value for name, value in scenario.protocol.set.items() if name in CONFIGURED}
    choice = ProtocolChoice.model_validate({"preset": preset, "set": {**kept, **switches}})
    # A replaced disk is no event at a process, and time is the driver's own.
    budgets = scenario.budgets.model_copy(update={"wipes": 0, "restores": 0, "ticks": 0})
    return scenario.model_copy(update={"protocol": choice, "budgets": budgets})


def _cover(
    found: Generated, scenario: KRaftScenario, system: KRaftSystem, max_states: int, random: Random
) -> None:
    """Choose behaviours, the longest first: the others are often part of it."""
    shown, complete = witnesses(system, frozenset(found.targets), max_states)
    if not complete:
        found.incomplete.append(scenario.name)
    ordered = sorted(shown, key=lambda witness: witness.target)
    random.shuffle(ordered)
    ordered.sort(key=lambda witness: -len(witness.path))
    number = 0
    for witness in ordered:
        if witness.target not in found.targets:
            number += 1
            _add(found, scenario, system, f"{scenario.name} {number}", walk(system, witness.path).taken)


def _add(
    found: Generated, scenario: KRaftScenario, system: KRaftSystem, name: str, taken: list[Taken]
) -> None:
    """Add the replicas that reach a new coverage target in a behaviour."""
    done: dict[int, set[str]] = {}
    for each in taken:
        component = each.step.path.component
        detail = details(system, each.before, each.step.path)
        if detail is not None:
            node = cast(Node, each.before.locals[component])
            done.setdefault(component, set()).add(target(component, node, cast(KRaftStep, detail)))
    driven = {
        system.wiring.component(each.identity.id): each for each in sequences(system, scenario, name, taken)
    }
    for component, targets in done.items():
        if targets <= found.targets:
            continue
        if component in driven:
            found.sequences.append(driven[component])
            found.targets |= targets
        else:
            found.left_out[f"{name}, replica {system.identities[component].id}"] = NO_WAY
