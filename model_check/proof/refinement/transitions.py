"""Judging all transitions of an exploration: each pair of a local state and an event once.

The image of a step in the proof depends on its replica and the event alone; its guards ask for single facts
of everything else. So the steps are translated once, to rows of bits, and each transition only looks up
whether it has the required facts: by one path to each state, and by all paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.system import PathStep
from kraftcheck.proof.refinement import kernels
from kraftcheck.proof.refinement.actions import KNOWN, Needed, Sequence
from kraftcheck.proof.refinement.expected import NAMES, difference
from kraftcheck.proof.refinement.exploration import Explored
from kraftcheck.proof.refinement.formulas import Fact
from kraftcheck.proof.refinement.translation import Translator
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.step import Step

Bits = NDArray[np.uint64]
WORD = 64


class Facts:
    """The facts that occur, each with a bit."""

    def __init__(self) -> None:
        self.numbers: dict[Fact, int] = {}

    def number(self, fact: Fact) -> int:
        """The bit of ``fact``."""
        return self.numbers.setdefault(fact, len(self.numbers))

    @property
    def words(self) -> int:
        """The number of words in a row of bits."""
        return len(self.numbers) // WORD + 1

    def row(self, facts: Iterable[Fact]) -> Bits:
        """The bits of ``facts``."""
        found = np.zeros(self.words, np.uint64)
        for fact in facts:
            number = self.number(fact)
            found[number // WORD] |= np.uint64(1 << number % WORD)
        return found


@dataclass(frozen=True)
class Judged:
    """The steps of an exploration in the proof.

    ``sequences``: by number of the outcome, where a transition uses it. ``adds``, ``takes``, ``wanted``,
    ``unwanted``: uint64[outcomes, words]; ``broken``: uint8[outcomes], a guard fails or no action explains
    the effect; ``acts``: whether any action is taken. ``pairs``: the number of local states with an event.
    """

    facts: Facts
    sequences: dict[int, Sequence]
    adds: Bits
    takes: Bits
    wanted: Bits
    unwanted: Bits
    broken: NDArray[np.uint8]
    acts: NDArray[np.bool_]
    pairs: int


#: The fact that an earlier step was outside the proof, as a listed difference.
OUTSIDE: Fact = ("outside",)


def judge_steps(
    explored: Explored,
    translator: Translator,
    start: Iterable[Fact] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Judged:
    """Translate every outcome that a transition of ``explored`` uses; ``start`` holds initially."""
    sequences, pairs = _sequences(explored, translator, progress)
    facts = Facts()
    known: dict[int, set[Fact]] = {}
    for fact in start:
        facts.number(fact)
        if fact[0] == KNOWN:
            known.setdefault(fact[1], set()).add(fact)
    for sequence in sequences.values():
        for needed in sequence.needs:
            facts.number(needed.need.fact)
        for fact in sequence.adds | sequence.knows:
            facts.number(fact)
        for fact in sequence.knows:
            known.setdefault(fact[1], set()).add(fact)
    facts.number(OUTSIDE)
    return _rows(len(explored.tables.owners), explored, sequences, facts, known, pairs)


def _sequences(
    explored: Explored, translator: Translator, progress: Callable[[int, int], None] | None
) -> tuple[dict[int, Sequence], int]:
    tables, used = explored.tables, np.unique(explored.steps)
    used = used[used >= 0]
    befores = explored.befores()
    found: dict[int, Sequence] = {}
    offered: list[Step] = []
    pair, pairs = (-1, -1), 0
    for done, number in enumerate(used.tolist()):
        component, message, choice = tables.owners[number]
        node = cast(Node, tables.locals[befores[number]][1])
        if pair != (int(befores[number]), message):
            pair = int(befores[number]), message
            pairs += 1
            event = None if message < 0 else tables.messages[message]
            offered = translator.steps_of(
                PathStep("act" if event is None else "deliver", component, event, 0), node
            )
            if progress is not None and pairs % 200 == 0:
                progress(done, len(used))
        event = cast(InFlight | None, None if message < 0 else tables.messages[message])
        found[number] = translator.sequence(component, node, event, offered[choice])
    return found, pairs


def _rows(
    count: int,
    explored: Explored,
    sequences: dict[int, Sequence],
    facts: Facts,
    known: dict[int, set[Fact]],
    pairs: int,
) -> Judged:
    adds, takes, wanted, unwanted = (np.zeros((count, facts.words), np.uint64) for _ in range(4))
    broken, acts = np.zeros(count, np.uint8), np.zeros(count, bool)
    for number, sequence in sequences.items():
        reasons = reasons_of(sequence)
        outside = [OUTSIDE] if reasons else []
        adds[number] = facts.row([*sequence.adds, *sequence.knows, *outside])
        wanted[number] = facts.row(each.need.fact for each in sequence.needs if each.need.holds)
        unwanted[number] = facts.row(each.need.fact for each in sequence.needs if not each.need.holds)
        if sequence.forgets:
            takes[number] = facts.row(known.get(explored.tables.owners[number][0], ()))
        broken[number] = bool(reasons)
        acts[number] = bool(sequence.taken)
    return Judged(facts, sequences, adds, takes, wanted, unwanted, broken, acts, pairs)


def reasons_of(sequence: Sequence) -> list[str]:
    """The reason why ``sequence`` is outside the proof with any past; listed differences by their name."""
    found = [
        difference(taken, guard) or f"{taken.action}: {guard}"
        for taken in sequence.taken
        for guard in taken.failed
    ]
    return list(dict.fromkeys([*found, *sequence.problems]))


#: The number of transitions outside the proof that are kept.
_SHOWN = 20


@dataclass(frozen=True)
class Lack:
    """Transition number ``edge`` is not one of the proof's system: ``reasons`` that lie in the step itself,
    and ``missing`` facts, required or excluded.
    """

    edge: int
    reasons: tuple[str, ...]
    missing: tuple[Needed, ...]


@dataclass(frozen=True)
class Passed:
    """``outside``: transitions that are listed differences, by name; ``lacking``: the number of others that
    the proof does not have, ``lacks`` the first of them.
    """

    outside: dict[str, int]
    lacking: int
    lacks: tuple[Lack, ...]


def pasts_of(explored: Explored, judged: Judged, start: frozenset[Fact]) -> Bits:
    """The facts of each state, by the shortest path found to it: uint64[states, words]."""
    pasts = np.zeros((explored.states, judged.facts.words), np.uint64)
    pasts[0] = judged.facts.row(start)
    kernels.forward(explored.parents, explored.tree_steps, judged.adds, judged.takes, pasts, 1)
    return pasts


def holds(pasts: Bits, judged: Judged, fact: Fact) -> NDArray[np.bool_]:
    """The rows of ``pasts`` in which ``fact`` holds."""
    place = judged.facts.number(fact)
    found: NDArray[np.bool_] = pasts[:, place // WORD] >> np.uint64(place % WORD) & np.uint64(1) != 0
    return found


def pass_over(explored: Explored, judged: Judged, has: Bits, may: Bits) -> Passed:
    """Judge all transitions. ``has`` and ``may``: the facts that each state has, and those that it may
    have.
    """
    steps = explored.steps
    marks = np.zeros(len(steps), np.uint8)
    kernels.judge(explored.sources, steps, has, may, judged.wanted, judged.unwanted, judged.broken, marks)
    marked = np.flatnonzero(marks)
    outside: Counter[str] = Counter()
    lacking, lacks = 0, list[Lack]()
    reasons = {number: reasons_of(judged.sequences[number]) for number in np.unique(steps[marked]).tolist()}
    for edge in marked.tolist():
        found = reasons[int(steps[edge])]
        listed = set(found) <= NAMES
        if found and listed:
            outside.update(found)
        misses = marks[edge] & (kernels.MISSES | kernels.HAS_UNWANTED)
        if listed and not misses:
            continue
        lacking += 1
        if len(lacks) < _SHOWN:
            lacks.append(_lack(explored, judged, has, may, edge, found))
    return Passed(dict(outside), lacking, tuple(lacks))


def _lack(explored: Explored, judged: Judged, has: Bits, may: Bits, edge: int, reasons: list[str]) -> Lack:
    source = slice(explored.sources[edge], explored.sources[edge] + 1)
    missing = []
    for needed in judged.sequences[int(explored.steps[edge])].needs:
        rows = has if needed.need.holds else may
        if bool(holds(rows[source], judged, needed.need.fact)[0]) != needed.need.holds:
            missing.append(needed)
    return Lack(edge, tuple(reasons), tuple(missing))


def on_all_paths(explored: Explored, judged: Judged, start: frozenset[Fact]) -> tuple[Bits, Bits]:
    """The facts of a state on every path to it, and on some path: uint64[states, words] each."""
    words = judged.facts.words
    always = np.full((explored.states, words), np.uint64(0xFFFFFFFFFFFFFFFF), np.uint64)
    ever = np.zeros((explored.states, words), np.uint64)
    always[0] = ever[0] = judged.facts.row(start)
    steps = explored.steps
    while kernels.always_and_ever(
        explored.sources, explored.targets, steps, judged.adds, judged.takes, always, ever
    ):
        pass
    return always, ever
