"""Whether each transition has the facts that its guards require: by one path to each state, and by all
paths.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kraftcheck.proof.refinement import kernels
from kraftcheck.proof.refinement.expected import NAMES
from kraftcheck.proof.refinement.explored import Explored
from kraftcheck.proof.refinement.formulas import Fact
from kraftcheck.proof.refinement.judgement import WORD, Bits, Judged, reasons_of
from kraftcheck.proof.refinement.walk import Needed

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


def all_ways(explored: Explored, judged: Judged, start: frozenset[Fact]) -> tuple[Bits, Bits]:
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
