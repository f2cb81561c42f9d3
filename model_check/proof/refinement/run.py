"""The refinement check of one scenario: its transitions and its states, judged by the proof."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from kraftcheck.proof.refinement import conjuncts
from kraftcheck.proof.refinement.actions import Actions
from kraftcheck.proof.refinement.expected import allowed
from kraftcheck.proof.refinement.exploration import Explored, explore_whole
from kraftcheck.proof.refinement.formulas import Domain
from kraftcheck.proof.refinement.initial_state import Beginning, beginning, check_beginning, with_votes
from kraftcheck.proof.refinement.transitions import (
    OUTSIDE,
    Bits,
    Judged,
    Passed,
    holds,
    judge_steps,
    on_all_paths,
    pass_over,
    pasts_of,
)
from kraftcheck.proof.refinement.translation import Translator
from kraftcheck.proof.system import CHANGING_VOTERS, FIXED_VOTERS
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.system import KRaftSystem

#: Records that one step may append and epochs that it may enter before a crash reverts them.
_MORE_OFFSETS, _MORE_EPOCHS = 4, 2
#: Measured: 250 bytes each, with two transitions and a hundred facts.
MOST_STATES = 12_000_000
#: Receives the current activity.
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Refinement:
    """The result for a scenario.

    ``transitions``: distinct ones, losses of messages (``losses``) apart; ``acting``: the number of steps
    that are actions of the proof's system, and not steps in which its state stays the same; ``pairs``: local
    states with an event that were judged. ``passed``: the transitions with a shortest path to each state;
    ``on_all_ways``: with every path to it. ``disturbed``: local states in which the step of another replica
    changes their abstraction, which no action does. ``actions``: the number of steps for each action.
    ``broken``: conjuncts that do not hold somewhere; ``evaluated``: structures in which they were evaluated,
    all together. ``behind``: states after a step that is a listed difference.
    """

    scenario: str
    system: str
    states: int
    transitions: int
    losses: int
    acting: int
    pairs: int
    facts: int
    beginning: Beginning
    passed: Passed
    on_all_ways: Passed
    disturbed: int
    actions: dict[str, int]
    broken: tuple[conjuncts.Broken, ...]
    evaluated: int
    behind: int
    seconds: float

    @property
    def unexpected(self) -> frozenset[str]:
        """Listed differences that occur in other scenarios than the expected ones."""
        return frozenset(self.outside) - allowed(self.scenario)

    @property
    def outside(self) -> dict[str, int]:
        """Steps that are listed differences, by name: transitions, and steps before the initial state."""
        return dict(Counter(self.passed.outside) + Counter(self.beginning.outside))

    @property
    def holds(self) -> bool:
        """Whether only listed differences, and their consequences, are outside the proof."""
        lacking = self.beginning.lacks or self.passed.lacking or self.on_all_ways.lacking
        lacking = lacking or self.disturbed
        return not lacking and not self.unexpected and not any(each.states for each in self.broken)


@dataclass(frozen=True)
class Work:
    """A scenario with its exploration and translation. ``pasts``: uint64[states, words], facts by a shortest
    path.
    """

    scenario: KRaftScenario
    system: KRaftSystem
    explored: Explored
    translator: Translator
    judged: Judged
    pasts: Bits
    refinement: Refinement


def check_refinement(
    scenario: KRaftScenario,
    *,
    threads: int = 1,
    progress: Progress | None = None,
    max_states: int = MOST_STATES,
) -> Work:
    """Judge ``scenario``. Raises InputError where it has features that the proof does not know (snapshots,
    lost disks), and where it has more than ``max_states`` states, as all are kept in memory.
    """
    started = time.monotonic()
    say = progress or (lambda _: None)
    check_beginning(scenario)
    # The run that leads to the initial state is judged here, and not by the properties.
    unjudged = scenario.check.model_copy(update={"initial_prefix": False})
    scenario = with_votes(scenario.model_copy(update={"check": unjudged}))
    system = build(scenario).unjudged()
    explored = explore_whole(
        system, threads=threads, max_states=max_states,
        progress=lambda found: say(f"{found.distinct:,} states"),
    )  # fmt: skip
    translator = _translator(system, explored)
    start = beginning(scenario, translator)
    judged = judge_steps(
        explored, translator, start.facts, lambda done, total: say(f"{done:,} of {total:,} steps judged")
    )
    say("transitions, with every path to each state")
    on_all_ways = pass_over(explored, judged, *on_all_paths(explored, judged, start.facts))
    say("transitions, with a shortest path to each state")
    pasts = pasts_of(explored, judged, start.facts)
    passed = pass_over(explored, judged, pasts, pasts)
    behind = holds(pasts, judged, OUTSIDE)
    verdicts = _conjuncts(explored, translator, judged, pasts, behind, say)
    steps = explored.steps
    transitions, losses = explored.distinct_transitions()
    found = Refinement(
        scenario=scenario.name,
        system=translator.actions.system.name,
        states=explored.states,
        transitions=transitions,
        losses=losses,
        acting=int(judged.acts[steps[steps >= 0]].sum()),
        pairs=judged.pairs,
        facts=len(judged.facts.numbers) - 1,
        beginning=start,
        passed=passed,
        on_all_ways=on_all_ways,
        disturbed=_disturbed(explored, translator),
        actions=_actions(judged, steps),
        broken=verdicts.broken,
        evaluated=verdicts.evaluated,
        behind=int(behind.sum()),
        seconds=time.monotonic() - started,
    )
    return Work(scenario, system, explored, translator, judged, pasts, found)


def _actions(judged: Judged, steps: NDArray[np.int32]) -> dict[str, int]:
    """The number of transitions in which each action is taken."""
    found: Counter[str] = Counter()
    for number, count in zip(*np.unique(steps, return_counts=True), strict=True):
        if number >= 0:
            for name in {taken.action for taken in judged.sequences[int(number)].taken}:
                found[name] += int(count)
    return dict(found)


def _disturbed(explored: Explored, translator: Translator) -> int:
    """The number of local states in which the step of another replica changes their abstraction."""
    nodes = [cast(Node, local) for _, local in explored.tables.locals]
    pairs = explored.changed_by_others()
    return len({before for before, after in pairs if not translator.same(nodes[before], nodes[after])})


def _conjuncts(
    explored: Explored,
    translator: Translator,
    judged: Judged,
    pasts: Bits,
    behind: NDArray[np.bool_],
    say: Progress,
) -> conjuncts.Verdicts:
    actions = translator.actions
    structures = conjuncts.Structures(
        explored, actions.system, judged.facts, pasts, translator.component_of, actions.domain.voters
    )
    return conjuncts.judge(structures, behind, lambda name, count: say(f"{name} in {count:,} structures"))


def _translator(system: KRaftSystem, explored: Explored) -> Translator:
    """The proved system of the scenario: the one with voter changes where voters change."""
    nodes = [cast(Node, local) for _, local in explored.tables.locals]
    epochs = max(0 if each.disk.quorum_state is None else each.disk.quorum_state.epoch for each in nodes)
    offsets = max(each.disk.log.end_offset for each in nodes)
    component_of = {identity.id: number for number, identity in enumerate(system.identities)}
    voters = frozenset(component_of[key.id] for key in system.voters)
    domain = Domain(system.components, epochs + 1 + _MORE_EPOCHS, offsets + 1 + _MORE_OFFSETS, voters)
    first = {key.id for key in system.voters}
    changing = any(set(each.ids) != first for node in nodes for _, each in node.disk.log.voter_sets)
    return Translator(system, Actions(CHANGING_VOTERS if changing else FIXED_VOTERS, domain), changing)
