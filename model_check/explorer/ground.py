"""A scenario's system, walked along paths. Each part of a path is walked once and kept."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from kraftcheck.support.errors import InputError
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces.build import trace_of
from kraftcheck.traces.model import Trace, TraceError
from kraftcheck.traces.walk import Walk

#: The options taken, from the beginning on.
Path = tuple[int, ...]

#: The most steps of a path.
MOST_STEPS = 1_000
#: The most walks that are kept.
_KEPT = 500


@dataclass(slots=True)
class _Point:
    """The walk along a path, and its trace once that is wanted."""

    walk: Walk
    trace: Trace | None = None


class Ground:
    """The system of ``scenario`` and its walks from the initial state number ``initial``.

    It is for one thread at a time. Raises InputError where the scenario contradicts itself.
    """

    def __init__(self, scenario: Scenario, initial: int = 0) -> None:
        self.scenario = scenario
        self.kind = kind_of(scenario)
        self.system = self.kind.build(scenario)
        self.initial = initial
        self._points: OrderedDict[Path, _Point] = OrderedDict()

    def walk(self, path: Path) -> Walk:
        """The walk along ``path``; only this class takes further steps on it. Raises InputError where the
        reference does not offer a step, or the path is too long.
        """
        return self._point(path).walk

    def trace(self, path: Path) -> Trace:
        """The trace of ``path``. Raises InputError as :meth:`walk`."""
        point = self._point(path)
        if point.trace is None:
            known = self._points.get(path[:-1]) if path else None
            steps = () if known is None or known.trace is None else known.trace.steps
            point.trace = trace_of(point.walk, self.scenario, known=steps)
        return point.trace

    def _point(self, path: Path) -> _Point:
        if len(path) > MOST_STEPS:
            raise InputError(f"the path has {len(path):,} steps; give one of at most {MOST_STEPS:,}.")
        begun = next(at for at in range(len(path), -1, -1) if at == 0 or path[:at] in self._points)
        if begun == 0:
            self._keep((), self._points.get(()) or _Point(Walk(self.system, self.initial)))
        for at in range(begun, len(path)):
            walk = self._points[path[:at]].walk.branch()
            try:
                walk.take(path[at])
            except TraceError as error:
                raise InputError(f"the path ends after {at} of its {len(path)} steps: {error}.") from None
            self._keep(path[: at + 1], _Point(walk))
        self._points.move_to_end(path)
        return self._points[path]

    def _keep(self, path: Path, point: _Point) -> None:
        self._points[path] = point
        if len(self._points) > _KEPT:
            self._points.popitem(last=False)
