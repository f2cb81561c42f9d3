"""The beginning of a scenario: runs of the reference from empty disks, which are judged like all others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from kraftcheck.engine.steps import apply_outcome
from kraftcheck.engine.steps import initial_states as initial_states_of
from kraftcheck.engine.system import PathStep
from kraftcheck.proof.refinement.course import Translator
from kraftcheck.proof.refinement.expected import NAMES
from kraftcheck.proof.refinement.firing import KNOWN
from kraftcheck.proof.refinement.formulas import Fact
from kraftcheck.proof.refinement.given import given_of, past_of
from kraftcheck.proof.refinement.judgement import OUTSIDE, reasons_of
from kraftcheck.proof.refinement.own import own_of
from kraftcheck.reference.disk import Disk
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import initial_prefix, initial_states
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.initial_prefix import InitialPrefix
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.step import Step
from kraftcheck.systems.kraft.system import KRaftSystem


@dataclass(frozen=True)
class Beginning:
    """The facts in the initial state, by the run that leads there; ``lacks`` are the parts of that run that
    the proof does not have, except listed differences, and ``outside`` the number of its steps in which these
    occur, by name.
    """

    facts: frozenset[Fact]
    lacks: tuple[str, ...]
    outside: dict[str, int]


#: A step before the initial state: the component, its state, the message that it receives, and the step.
Before = tuple[int, Node, InFlight | None, Step]


def check_beginning(scenario: KRaftScenario) -> None:
    """Raises InputError where a scenario is about features that the proof does not know."""
    stopped = set(scenario.replicas.stopped)
    if scenario.budgets.wipes or scenario.budgets.restores or scenario.budgets.snapshots or stopped:
        raise InputError(
            f"{scenario.file}: the proof knows of no snapshots, lost disks or stopped replicas; "
            "choose a scenario without them."
        )


def given_nodes(scenario: KRaftScenario, system: KRaftSystem) -> dict[int, Node]:
    """The nodes that the scenario gives, before their first step, by component."""
    found = {}
    for component, identity in enumerate(system.identities):
        text = scenario.replicas.initial.get(str(identity.id))
        if text is not None:
            found[component] = initial_states.given_node(scenario, identity, text)
    return found


def steps_before(scenario: KRaftScenario, system: KRaftSystem, given: Mapping[int, Node]) -> Iterator[Before]:
    """The steps by which ``system`` has reached its initial state, first starts before all others, from empty
    disks and the nodes that are ``given``.
    """
    leader = scenario.replicas.initial_leader
    if leader is None:
        yield from _first_starts(system, [each for each in range(system.components) if each not in given])
        for component, node in given.items():
            yield component, node, None, initial_states.first_poll(system.hosts[component], node)
        return
    replicas = scenario.replicas
    fresh = [replicas.everybody.index(each) for each in replicas.fresh]
    way = build(initial_prefix.scenario_of(scenario))
    others = [component for component in range(way.components) if component not in fresh]
    yield from _first_starts(way, others)
    run = InitialPrefix(way, others, judged=False)
    run.run(replicas.everybody.index(leader))
    yield from _along(way, run.path)
    (begins,) = initial_states_of(system)
    assert all(begins.locals[each] == run.state.locals[each] for each in others), "the run leads elsewhere"
    yield from _first_starts(system, fresh)


def _first_starts(system: KRaftSystem, components: list[int]) -> Iterator[Before]:
    """The starts on empty disks that are over in the initial state of ``system``."""
    for component in components:
        host = system.hosts[component]
        empty = Node(None, Disk(directory=host.identity.key.directory))
        if system.nodes[component] != empty:
            yield component, empty, None, next(host.restart(empty))


def _along(system: KRaftSystem, path: tuple[PathStep, ...]) -> Iterator[Before]:
    (state,) = initial_states_of(system)
    for each in path:
        node, message = cast(Node, state.locals[each.component]), cast(InFlight | None, each.message)
        if message is None:
            offered = system.action_steps(each.component, node)
        else:
            offered = system.deliver_steps(each.component, node, message)
        step = offered[each.choice]
        yield each.component, node, message, step
        done = apply_outcome(system, state, each, step.outcome, step.outcome.costs)
        assert done is not None
        state = done.target


def first_facts(voters: frozenset[int], *, changing: bool) -> frozenset[Fact]:
    """The facts about messages and history before the first step, with these ``voters``."""
    facts: set[Fact] = {("record", 0, 0, 0)}
    if changing:
        facts |= {("config", 0, 0), ("set_of", 0, 0, voters)}
    return frozenset(facts)


def beginning(scenario: KRaftScenario, translator: Translator) -> Beginning:
    """The run to the initial state, judged step by step."""
    voters = translator.actions.domain.voters
    facts, lacks = set(first_facts(voters, changing=translator.changing)), list[str]()
    outside: Counter[str] = Counter()
    given = given_nodes(scenario, translator.system)
    facts |= _past_of(given, translator)
    for component, node, message, step in steps_before(scenario, translator.system, given):
        sequence = translator.sequence(component, node, message, step)
        reasons = reasons_of(sequence)
        outside.update(NAMES.intersection(reasons))
        lacks += [f"{step.outcome.action}: {reason}" for reason in reasons if reason not in NAMES]
        for needed in sequence.needs:
            if (needed.need.fact in facts) != needed.need.holds:
                lacks.append(f"{step.outcome.action}: {needed.need.guard}")
        if sequence.forgets:
            facts = {fact for fact in facts if fact[0] != KNOWN or fact[1] != component}
        facts |= sequence.adds | sequence.knows
        facts |= {OUTSIDE} if reasons else set()
    return Beginning(frozenset(facts), tuple(lacks), dict(outside))


def _past_of(given: Mapping[int, Node], translator: Translator) -> frozenset[Fact]:
    """The past that is constructed for given nodes; the others are empty."""
    component_of, components = translator.component_of, range(translator.system.components)
    replicas = []
    for component in components:
        node = given.get(component, Node(None, Disk()))
        replicas.append(given_of(node, own_of(node, component_of), component_of))
    return past_of(replicas, translator.actions.domain.voters) if given else frozenset()
