"""One step of a hunt: the violations of a scenario by their causes, within some states and walks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from kraftcheck.checking.run import CheckResult, check
from kraftcheck.engine.explorer import LimitReached, explore
from kraftcheck.engine.shrink import shrink
from kraftcheck.engine.simulate import simulate
from kraftcheck.engine.system import UNLIMITED, Exploration, Limits, Outcome, System
from kraftcheck.engine.watch import INTERRUPTED
from kraftcheck.hunt.causes import Cause, cause_of
from kraftcheck.hunt.past import gone_past
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces import Trace, build

#: So many violations of one scenario are gone past.
MOST_CAUSES = 8
#: The limits that end a hunt, and not a step of it.
_OF_THE_RUN = ("max_seconds", "max_memory", INTERRUPTED)


@dataclass(frozen=True, slots=True)
class Effort:
    """How far a step goes: so many states are explored, with as many questions to the reference, and where
    there are more, so many walks taken.
    """

    states: int
    walks: int
    depth: int


@dataclass(frozen=True, slots=True)
class Sighting:
    """A violation: its trace, the finding that it looks like, and whether a random walk found it."""

    trace: Trace
    cause: Cause | None
    walked: bool


@dataclass(frozen=True, slots=True)
class Looked:
    """The result of a step. ``past``: the scenario that goes past all that was seen, ``None`` if nothing is
    left to judge; the search ends with what is new. ``whole``: whether the last search explored all states.
    """

    seen: tuple[Sighting, ...]
    past: Scenario | None
    states: int
    walked: int
    whole: bool

    @property
    def new(self) -> bool:
        """Whether a violation has no known cause."""
        return any(each.cause is None for each in self.seen)


class OutOfLimits(Exception):
    """The time or the memory of the hunt is used up within a step, which does not count."""


def look(
    scenario: Scenario,
    origin: Scenario,
    effort: Effort,
    seed: int,
    *,
    explores: bool,
    threads: int = 1,
    limits: Limits = UNLIMITED,
) -> Looked:
    """Search ``scenario``, a widening of ``origin``, until nothing more turns up. ``explores``: all states
    are explored first, as far as ``effort`` allows. Raises OutOfLimits and KeyboardInterrupt.
    """
    seen: list[Sighting] = []
    left: Scenario | None = scenario
    states, walked, whole = 0, 0, False
    while left is not None and len(seen) < MOST_CAUSES:
        searched = _Search(left, origin, effort, seed, threads, limits)
        found = next(searched.sightings(explores=explores), None)
        states, walked, whole = states + searched.states, walked + searched.walked, searched.whole
        if found is None:
            break
        seen.append(found)
        known = None if found.cause is None else found.cause.known
        left = gone_past(left, found.trace.property or "", known)
        if found.cause is None:
            break  # What comes after it may be its consequence.
    return Looked(tuple(seen), left, states, walked, whole)


class _Asked:
    """``system``, which answers so many questions: what a state costs differs by a hundred times, and the
    time that an answer takes must not decide how far a step goes.
    """

    def __init__(self, system: System, most: int) -> None:
        self._system, self._left = system, most

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def deliver(self, component: int, local: Any, message: Any) -> Sequence[Outcome]:
        """As of the system. Raises LimitReached."""
        self._ask()
        return self._system.deliver(component, local, message)

    def actions(self, component: int, local: Any) -> Sequence[Outcome]:
        """As of the system. Raises LimitReached."""
        self._ask()
        return self._system.actions(component, local)

    def _ask(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise LimitReached("max_states")


@dataclass(slots=True)
class _Search:
    scenario: Scenario
    origin: Scenario
    effort: Effort
    seed: int
    threads: int
    limits: Limits
    states: int = 0
    walked: int = 0
    whole: bool = False

    def sightings(self, *, explores: bool) -> Iterator[Sighting]:
        """The violations by exploring, and by walks where that does not see all states."""
        most = self.effort.states if explores else 1
        result = check(
            self.scenario,
            threads=self.threads,
            limits=replace(self.limits, max_states=most),
            explorer=self._explored,
        )
        _require_within(result.limit)
        self.states, self.whole = result.exploration.distinct, result.exploration.limit is None
        for trace in result.traces(seek=False):
            yield Sighting(trace, cause_of(trace, self.origin), False)
        if not self.whole:
            yield from self._walks(result)

    def _explored(self, system: System, **arguments: Any) -> Exploration:
        asked = cast(System, _Asked(system, self.effort.states))
        return explore(asked, **arguments)

    def _walks(self, result: CheckResult) -> Iterator[Sighting]:
        system = cast(System, result.system)
        found = simulate(
            system,
            self.seed,
            self.effort.walks,
            self.effort.depth,
            threads=self.threads,
            limits=self.limits,
        )
        _require_within(found.limit)
        self.walked = found.generated
        for violation in found.violations:
            shorter = shrink(system, violation).violation
            trace = build(result.system, self.scenario, shorter)
            yield Sighting(trace, cause_of(trace, self.origin), True)


def _require_within(limit: str | None) -> None:
    if limit in _OF_THE_RUN:
        raise OutOfLimits(limit)
