"""What a cell finds: a job of :mod:`kraftcheck.checking.mutation.server`."""

from __future__ import annotations

import contextlib
import json
import resource
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from kraftcheck.checking.coverage.covering import Covered, Covering
from kraftcheck.checking.mutation import worker
from kraftcheck.checking.run import CheckResult, check
from kraftcheck.engine.shrink import shrink
from kraftcheck.engine.simulate import simulate
from kraftcheck.engine.system import Limits, System
from kraftcheck.pipeline.campaign.cells import Cell, from_task
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario, from_data
from kraftcheck.traces import Trace, json_form
from kraftcheck.traces import build as build_trace

Found = dict[str, Any]

#: Longer counterexamples are not kept, in characters of JSON.
MOST_TRACE = 4_000_000


def run(task: str) -> Iterator[Found]:
    """What the cell of ``task`` finds, and again when the counterexamples are there.

    The results have the columns of the data set of cells that are about the exploration.
    """
    cell, _, _ = from_task(task)
    limit_memory(cell.limits.memory)
    scenario = from_data(json.loads(cell.content), cell.scenario)
    if cell.mutant_alone:
        scenario = worker.judging(scenario, cell.judged)
    yield from (_check if cell.engine == "check" else _simulate)(cell, scenario)


def limit_memory(resident: int) -> None:
    """Make allocations fail beyond twice the limit at which an exploration gives up by itself."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/statm", encoding="ascii") as file:
        data = int(file.read().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (data + 2 * resident, resource.RLIM_INFINITY))


def _check(cell: Cell, scenario: Scenario) -> Iterator[Found]:
    limits = Limits(
        max_states=cell.limits.states, max_memory=cell.limits.memory, max_seconds=cell.limits.seconds
    )
    result = check(scenario, limits=limits, keep_going=cell.keep_going, coverage=cell.coverage)
    judged_to = _judged_to(cell, result)
    # What ends early has not come to all goals.
    violated = [each for each in worker.violated(result) if each.kind != "goal" or judged_to is None]
    verdict = worker.verdict(result)
    found = _counts(result.exploration) | {
        "verdict": verdict,
        "violated": [each._asdict() | {"trace": None} for each in violated],
        "judged_to": judged_to,
        "eventually_judged": _judged_eventually(result),
        "as_expected": _as_expected(cell, result, violated),
        "differences": list(result.differences) if cell.expects and cell.mutant_content is None else [],
        "limit": result.limit,
        "covered": _covered(result.covered) if cell.coverage else None,
    }
    yield from _with_traces(cell, found, result.traces)


def _judged_to(cell: Cell, result: CheckResult) -> int | None:
    """The last level that was explored as a whole; -1: none, ``None``: all there are."""
    found = result.exploration
    if result.initial_prefix is not None:
        return -1
    if found.limit is not None:
        return found.depth - 1
    if found.violations and not cell.keep_going:
        # The search ends after the level in which the first violation appears.
        return min(violation.depth for violation in found.violations)
    return None


def _judged_eventually(result: CheckResult) -> bool:
    """Whether the *eventually* properties that are asked for were judged, if there are any."""
    wanted = result.scenario.check.eventually
    return not wanted or (result.liveness is not None and len(result.liveness) == len(wanted))


def _as_expected(cell: Cell, result: CheckResult, violated: Sequence[worker.Violated]) -> bool | None:
    if not cell.expects or worker.verdict(result) == "undetermined":
        return None
    if cell.mutant_content is None:
        return None if result.undetermined else result.as_expected
    names = [each.property for each in violated]
    return cell.judged in names if cell.judged is not None else not names


def _simulate(cell: Cell, scenario: Scenario) -> Iterator[Found]:
    assert cell.seed is not None and cell.walks is not None and cell.depth is not None
    system = kind_of(scenario).build(scenario)
    covering = Covering(system, guards=True) if cell.coverage else None
    keep_going = cell.keep_going or len(scenario.expect.violates) > 1
    exploration = simulate(
        cast(System, covering or system),
        cell.seed,
        cell.walks,
        cell.depth,
        keep_going=keep_going,
        limits=Limits(max_memory=cell.limits.memory, max_seconds=cell.limits.seconds),
    )
    covered = None
    if covering is not None:
        exploration, covered = covering.split(exploration)
    ended = exploration.walks < cell.walks or bool(exploration.violations and not keep_going)
    shrunk = tuple(shrink(system, each).violation for each in exploration.violations)
    exploration = replace(exploration, violations=shrunk)
    unexpected = scenario.expect.unexpected(exploration)
    seen = {each.property for each in shrunk}
    as_expected = None
    if cell.expects and unexpected:
        as_expected = False
    elif cell.expects and shrunk and seen >= set(scenario.expect.violates):
        as_expected = True
    found = _counts(exploration) | {
        "verdict": "violated" if shrunk else "undetermined",
        "violated": [
            worker.Violated(each.property, "safety", each.depth)._asdict() | {"trace": None}
            for each in shrunk
        ],
        "judged_to": exploration.walks if ended else None,
        "eventually_judged": not scenario.check.eventually,
        "as_expected": as_expected,
        "differences": [f"{name} is violated" for name in unexpected] if cell.expects else [],
        "limit": None if shrunk else exploration.limit,
        "covered": None if covered is None else _covered(covered),
    }
    yield from _with_traces(cell, found, lambda: [build_trace(system, scenario, each) for each in shrunk])


def _counts(found: Any) -> Found:
    return {
        "distinct": found.distinct,
        "states": found.states or found.distinct,
        "generated": found.generated,
        "depth": found.depth,
        "explored_seconds": found.seconds,
    }


def _covered(covered: Covered | None) -> list[str] | None:
    if covered is None:
        return None
    guards = [f"guard {place} {str(answer).lower()}" for place, answer in covered.guards or ()]
    return sorted([f"{kind} {name}" for kind, name in covered.items] + guards)


def _with_traces(cell: Cell, found: Found, traces: Callable[[], Sequence[Trace]]) -> Iterator[Found]:
    yield found
    if not found["violated"]:
        return
    try:
        texts = {trace.property: json_form.dumps(trace, indent=None) for trace in traces()}
    except Exception:
        # The states of a mutant may be none that a trace can show; that it is killed stands.
        if cell.mutant_content is None:
            raise
        return
    kept = {name: text for name, text in texts.items() if len(text) <= MOST_TRACE}
    yield found | {
        "violated": [each | {"trace": kept.get(each["property"])} for each in found["violated"]],
    }
