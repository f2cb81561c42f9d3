"""Sequences that cover the steps of the replicas of scenarios: few, and from shortest behaviours.

The engine finds a shortest behaviour for each coverage target: the system offers each outcome twice, as it
is, and as a step that violates a property whose name is the coverage target. The search for violations does
the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple, cast

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.steps import initial_states, step_along
from kraftcheck.engine.system import GlobalState, Limits, Outcome, PathStep
from kraftcheck.evidence.adapters.extract import Moment, moment, sequences
from kraftcheck.evidence.adapters.situations import situation
from kraftcheck.evidence.adapters.stimuli import DriveSequence
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.transitions import role_name
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import KRaftScenario, ProtocolChoice
from kraftcheck.systems.kraft.step import Step
from kraftcheck.systems.kraft.system import KRaftSystem

#: Names of coverage targets.
Describe = Callable[[int, Node, Step], str]


def target(component: int, node: Node, step: Step) -> str:
    """The coverage target of a step: the parts of it that traces are to cover.

    The event and its comparison with the state of the replica, the role before and after, the rules that
    decided and the kinds of effects in order; of a crash the effect it follows, and the same of the start
    after it.
    """
    execution, restarted = step.execution, step.restarted
    action = cast(Any, step.outcome.action)
    parts = [action.kind]
    if execution is not None:
        before = "none" if node.replica is None else role_name(node.replica.role)
        parts.append(before)
        if restarted is None:
            parts += execution.rules
            parts += [type(effect).__name__ for effect in execution.effects]
            parts += [situation(node.replica, event) for event in execution.events[:1] if node.replica]
            parts.append(role_name(execution.replica.role))
        else:
            parts.append(type(execution.effects[step.completed - 1]).__name__)
    if restarted is not None:
        parts += ["loses power" if step.loses_power else "crashes", *restarted.rules]
        parts.append(role_name(restarted.replica.role))
    for cut in step.cut:
        parts.append(f"{type(cut.execution.effects[cut.completed - 1]).__name__} of the start")
        parts.append("loses power" if cut.loses_power else "crashes")
    return " ".join(parts)


def _asked_once(system: KRaftSystem) -> KRaftSystem:
    """A copy of ``system`` that asks the reference each question once: for outcomes, targets and replays."""
    found = copy(system)
    for name in ("deliver_steps", "action_steps"):
        setattr(found, name, lru_cache(maxsize=None)(getattr(system, name)))
    return found


class _Replayed:
    """Behaviours of a system by their paths. The steps with which several begin are taken once."""

    def __init__(self, system: KRaftSystem) -> None:
        self._system = system
        self._begin = _Place(initial_states(system)[0])

    def taken(self, path: Iterable[PathStep]) -> list[Moment]:
        """The steps of ``path``."""
        found, place = [], self._begin
        for step in path:
            if step not in place.next:
                after = _Place(step_along(self._system, place.state, step).target)
                place.next[step] = moment(self._system, place.state, step), after
            each, place = place.next[step]
            found.append(each)
        return found


@dataclass(frozen=True, slots=True)
class _Place:
    """A state, and the steps from there that were taken, each with the place to which it leads."""

    state: GlobalState
    next: dict[PathStep, tuple[Moment, _Place]] = field(default_factory=dict)


class _Witnessing:
    """A system that also offers, for each coverage target that is not known yet, a step that violates it."""

    def __init__(self, system: KRaftSystem, describe: Describe, known: frozenset[str]) -> None:
        self._system = system
        self._describe = describe
        self._known = known
        self.targets: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    @property
    def properties(self) -> frozenset[str]:
        return frozenset(self.targets).union(self._system.properties)

    def deliver(self, component: int, local: Hashable, message: Hashable) -> Sequence[Outcome]:
        node = cast(Node, local)
        steps = self._system.deliver_steps(component, node, cast(InFlight, message))
        return self._offers(component, node, steps, self._system.deliver(component, local, message))

    def actions(self, component: int, local: Hashable) -> Sequence[Outcome]:
        node = cast(Node, local)
        steps = self._system.action_steps(component, node)
        return self._offers(component, node, steps, self._system.actions(component, local))

    def _offers(
        self, component: int, node: Node, steps: Sequence[Step], outcomes: Sequence[Outcome]
    ) -> list[Outcome]:
        """Each outcome, followed by a copy that violates its coverage target if that is new."""
        found = []
        for step, outcome in zip(steps, outcomes, strict=True):
            name = self._describe(component, node, step)
            violated: tuple[str, ...] = ()
            if name not in self._known:
                self.targets.add(name)
                violated = (name,)
            found += [outcome, replace(outcome, violations=violated)]
        return found


class Witness(NamedTuple):
    """A shortest behaviour at whose end a replica reaches a coverage target for the first time."""

    target: str
    path: tuple[PathStep, ...]


def witnesses(
    system: KRaftSystem, known: frozenset[str], max_states: int, describe: Describe = target
) -> tuple[tuple[Witness, ...], bool]:
    """A witness for each coverage target that ``system`` reaches and that is not ``known``, and whether the
    search was complete: with at most ``max_states`` states it may not be. An interrupt ends it:
    KeyboardInterrupt.
    """
    offering = _Witnessing(system, describe, known)
    found = explore(offering, keep_going=True, limits=Limits(max_states=max_states))  # type: ignore[arg-type]
    shown = (
        Witness(each.property, tuple(replace(step, choice=step.choice // 2) for step in each.path))
        for each in found.violations
        if each.property in offering.targets
    )
    return tuple(shown), found.limit is None


#: Switches of the protocol that are configuration to an implementation: it receives them at its start.
CONFIGURED = ("fetch-max-batches", "fetch-max-wait-ms", "fetch-timeout-ms")

#: The number of distinct states up to which each scenario is explored. More give few sequences that cover
#: something new, and Kafka 4.3.1 differs in none of these; fewer lose pairs (figures in docs/drive.md).
MAX_STATES = 5_000
#: The reason why a replica gives no sequence.
NO_WAY = "no sequence brings an implementation to the state in which it begins"


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
        chosen = _under(scenario, preset, switches)
        try:
            # What a step violates is no matter: an implementation takes it, and the next ones, too.
            system = build(chosen).unjudged()
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
    # A replaced disk is no event at a process, and time and the files are the driver's own.
    budgets = scenario.budgets.model_copy(update={"wipes": 0, "restores": 0, "ticks": 0, "moves": 0})
    network = scenario.network.model_copy(update={"addresses": "ignored"})
    left_out = dict.fromkeys(("misadvertised", "newer_disk", "zero_directory"), ())
    replicas = scenario.replicas.model_copy(update=left_out)
    changed = {"protocol": choice, "budgets": budgets, "network": network, "replicas": replicas}
    return scenario.model_copy(update=changed)


def _cover(
    found: Generated, scenario: KRaftScenario, system: KRaftSystem, max_states: int, random: Random
) -> None:
    """Choose behaviours, the longest first: the others are often part of it."""
    asked = _asked_once(system)
    shown, complete = witnesses(asked, frozenset(found.targets), max_states)
    replayed = _Replayed(asked)
    if not complete:
        found.incomplete.append(scenario.name)
    ordered = sorted(shown, key=lambda witness: witness.target)
    random.shuffle(ordered)
    ordered.sort(key=lambda witness: -len(witness.path))
    number = 0
    for witness in ordered:
        if witness.target not in found.targets:
            number += 1
            _add(found, scenario, system, f"{scenario.name} {number}", replayed.taken(witness.path))


def _add(
    found: Generated, scenario: KRaftScenario, system: KRaftSystem, name: str, taken: list[Moment]
) -> None:
    """Add the replicas that reach a new coverage target in a behaviour."""
    done: dict[int, set[str]] = {}
    for each in taken:
        if each.detail is not None:
            component = each.path.component
            node = cast(Node, each.before.locals[component])
            done.setdefault(component, set()).add(target(component, node, each.detail))
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
