"""The order of a hunt: rounds over all scenarios, in each a step of every scenario.

The first round searches the scenarios as they are. Then come lines of widenings: each step of a line adds
one, which the seed draws, to the scenario of the step before; a line begins anew with what the first round
left. Everything here follows from the seed and the results of earlier steps, and not from time.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from kraftcheck.hunt.search import Effort
from kraftcheck.hunt.widening import widened, widenings
from kraftcheck.systems.scenario import Scenario

#: The steps of a line.
LINE = 4
#: The effort of the first round and the first line; each later line has twice as many states and walks.
FIRST = Effort(30_000, 200, 60)
#: The largest effort of a step.
MOST = Effort(2_000_000, 20_000, 200)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a round: the number of its line, 0 for the first round, and of its step there."""

    line: int
    step: int

    @property
    def begins(self) -> bool:
        """Whether the step begins with what the first round left."""
        return self.step == 0


def place_of(round: int) -> Place:
    """The place of a round, counted from 0."""
    if round == 0:
        return Place(0, 0)
    line, step = divmod(round - 1, LINE)
    return Place(line + 1, step)


def effort_of(round: int) -> Effort:
    """How far a step of the round goes."""
    line = max(0, place_of(round).line - 1)
    return Effort(
        min(FIRST.states << line, MOST.states),
        min(FIRST.walks << line, MOST.walks),
        min(FIRST.depth + 20 * line, MOST.depth),
    )


def walk_seed(seed: int, name: str, round: int) -> int:
    """The seed of the walks of a step."""
    return _drawing(seed, name, round).getrandbits(48)


def next_wider(scenario: Scenario, seed: int, round: int) -> tuple[str, Scenario] | None:
    """The widening that the seed draws for a step, and ``scenario`` with it; ``None`` where none fits."""
    choices = list(widenings(scenario))
    _drawing(seed, scenario.name, round).shuffle(choices)
    for each in choices:
        wider = widened(scenario, each)
        if wider is not None:
            return each.name, wider
    return None


def _drawing(seed: int, name: str, round: int) -> random.Random:
    return random.Random(f"{seed}/{name}/{round}")
