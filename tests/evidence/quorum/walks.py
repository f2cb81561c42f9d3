"""Random behaviours of shipped scenarios, and quorums of adapters in this process."""

from __future__ import annotations

import random
from collections.abc import Callable

from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.adapters.session import Session
from kraftcheck.evidence.quorum.beginning import Sessions
from kraftcheck.systems.kraft.step import Action
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.traces.walk import Walk
from tests.evidence.adapters.in_process import InProcess


def quorum_of(
    adapter: Callable[[], ReferenceAdapter] = ReferenceAdapter, *, but: int | None = None
) -> Sessions:
    """Sessions with adapters of the reference; ``adapter`` is that of all replicas, or of number ``but``."""
    known: dict[int, Session] = {}

    def session(number: int) -> Session:
        if number not in known:
            kind = adapter if but in (None, number) else ReferenceAdapter
            known[number] = Session(InProcess(kind()))
        return known[number]

    return session


def random_walk(system: KRaftSystem, seed: str, length: int) -> Walk:
    """A behaviour of at most ``length`` steps, in which rare kinds of steps are as frequent as others."""
    chance = random.Random(seed)
    walk = Walk(system)
    while len(walk.taken) < length and not walk.violated:
        kinds: dict[str, list[int]] = {}
        for option, step in enumerate(walk.options()):
            if step.cut is None:
                kind = step.outcome.action.kind if is_action(step.outcome) else step.path.kind
                faults = "" if step.outcome is None else str(step.outcome.costs)
                kinds.setdefault(kind + faults, []).append(option)
        if not kinds:
            break
        walk.take(chance.choice(kinds[chance.choice(sorted(kinds))]))
    return walk


def is_action(outcome: object) -> bool:
    return isinstance(getattr(outcome, "action", None), Action)
