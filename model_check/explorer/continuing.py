"""The checker, from the end of a path on: a violation that can be reached from there, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import GlobalState, Limits, System, Verdict
from kraftcheck.explorer.ground import Ground, Path
from kraftcheck.traces.model import TraceError
from kraftcheck.traces.walk import Walk


@dataclass(frozen=True, slots=True)
class Reached:
    """A violated property, and the path to it from the beginning on."""

    property: str
    steps: int
    path: Path


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of the checker: ``verdict`` in words, ``states`` explored, ``seconds``, and ``violations``.

    ``limit``: the limit that ended the search, if one did. Goals and *eventually* properties are not judged.
    """

    verdict: str
    states: int
    depth: int
    seconds: float
    limit: str | None
    violations: tuple[Reached, ...]


class _From:
    """A system as another one that begins in ``state``, without goals: those reached before are not seen."""

    goals: tuple[str, ...] = ()

    def __init__(self, system: System, state: GlobalState) -> None:
        self._system, self._state = system, state

    def initial_states(self) -> Sequence[GlobalState]:
        return [self._state]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)


def check_from(ground: Ground, path: Path, limits: Limits) -> Checked:
    """Explore every state that the end of ``path`` leads to, within ``limits``.

    ``ground`` is for this call alone, which may be in a thread of its own. Raises InputError where the
    reference does not take ``path``.
    """
    walk = ground.walk(path)
    if walk.violated:
        return Checked("violated here already", 1, 0, 0.0, None, ())
    found = explore(cast(System, _From(ground.system, walk.state)), limits=limits)
    violations = []
    for each in found.violations:
        further = _followed(walk, each.path)
        violations.append(Reached(each.property, each.depth, tuple(each.option for each in further.taken)))
    verdict = "no violation within the bounds" if found.verdict is Verdict.HOLDS else found.verdict.value
    return Checked(verdict, found.distinct, found.depth, found.seconds, found.limit, tuple(violations))


def _followed(walk: Walk, steps: Sequence[Any]) -> Walk:
    further = walk.branch()
    for step in steps:
        try:
            further.follow(step)
        except TraceError as error:
            raise AssertionError(f"the checker took a step that the walk does not have: {error}") from error
    return further
