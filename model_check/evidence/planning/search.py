"""The search for the shortest plan: breadth first over the operations, none of which is unsafe."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from kraftcheck.evidence.planning.judging import Judge, Judged
from kraftcheck.evidence.planning.situation import Member, Operation, Situation, operations
from kraftcheck.systems.scenario import Scenario

#: Longer plans are not looked for.
MOST_STEPS: Final = 12
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Refused:
    """An operation that is not done after ``after`` steps of the plan, and why; ``scenario`` shows it."""

    after: int
    operation: Operation
    why: str
    scenario: Scenario | None


@dataclass(frozen=True, slots=True)
class Step:
    """An operation of a plan, and the situations before and after it.

    ``fragile``: the voters whose loss then leaves no leader; ``complete``: whether all states of the step
    were explored; ``risks``: what an election during the step can do, without a crash and with one.
    """

    operation: Operation
    before: Situation
    after: Situation
    fragile: tuple[int, ...]
    complete: bool
    risks: tuple[Judged, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """``steps``: None where there is no plan. ``tolerates``: whether the loss of any one voter had to be
    survived after every step; ``refused``: the operations that the plan does without.
    """

    steps: tuple[Step, ...] | None
    tolerates: bool
    has_leader: bool
    refused: tuple[Refused, ...]


def plan(start: Situation, goal: frozenset[int], judge: Judge, tell: Tell) -> Plan:
    """The shortest plan from ``start`` to the voters of ``goal``. Of plans of one length it is one with the
    fewest steps that were not explored whole, and those that start and add come before those that remove.

    If the quorum survives the loss of any one voter in the beginning and in the end, it does so after every
    step.
    """
    tell("what the quorum survives")
    members = frozenset(map(Member, goal))
    ends = [start, Situation(members, members)]
    alive = judge.survives(start)
    tolerates = alive and "crash" in judge.faults and not any(map(judge.fragile, ends))
    paths: dict[Situation, tuple[Step, ...]] = {start: ()}
    refused: dict[Situation, list[Refused]] = {}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        path = paths[here]
        if here.reaches(goal):
            passed = [start, *(step.after for step in path)]
            tell("what an election during a step can do")
            steps = tuple(replace(step, risks=judge.risks(step.before, step.operation)) for step in path)
            return Plan(
                steps, tolerates, alive, tuple(each for one in passed for each in refused.get(one, ()))
            )
        if len(path) == MOST_STEPS:
            continue
        for operation, after in operations(here, goal):
            earlier = paths.get(after)
            if earlier is not None and not (len(earlier) == len(path) + 1 and _open(earlier) > _open(path)):
                continue
            tell(f"{len(path) + 1}. {operation}")
            step = _judged(judge, here, operation, after, tolerates=tolerates)
            if isinstance(step, Step):
                if earlier is None:
                    waiting.append(after)
                elif _open(earlier) <= _open((*path, step)):
                    continue
                paths[after] = (*path, step)
            else:
                found = Refused(len(path), operation, step[0], step[1])
                refused.setdefault(here, []).append(found)
    return Plan(None, tolerates, alive, tuple(each for found in refused.values() for each in found))


def _open(path: tuple[Step, ...]) -> int:
    """How many steps were not explored whole."""
    return sum(not step.complete for step in path)


def _judged(
    judge: Judge, before: Situation, operation: Operation, after: Situation, *, tolerates: bool
) -> Step | tuple[str, Scenario | None]:
    """The step, or why it is refused and the scenario that shows it."""
    changes = operation.verb in ("add", "remove", "restart")
    if changes and not judge.survives(before):
        return "no leader can be elected, and without one voters do not change", None
    judged = judge.step(before, operation)
    if judged.refusal:
        return judged.refusal, judged.scenario
    if changes and not judge.survives(after):
        return "no leader can be elected afterwards", None
    fragile = tuple(judge.fragile(after))
    if tolerates and fragile:
        lost = " or ".join(map(str, fragile))
        return f"if {lost} is lost afterwards, no leader can be elected", None
    return Step(operation, before, after, fragile, judged.complete)
