"""What a cell finds, in a process that becomes the mutant before it explores."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kraftcheck.checking.mutation import worker
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.pipeline.campaign.cells import Cell
from kraftcheck.support.errors import DiskError, InputError
from kraftcheck.support.failures import is_out_of_memory
from kraftcheck.systems.scenario import Scenario, from_data

if TYPE_CHECKING:
    from kraftcheck.checking.coverage.covering import Covered
    from kraftcheck.checking.mutation.warm import Image
    from kraftcheck.checking.run import CheckResult
    from kraftcheck.traces import Trace

Found = dict[str, Any]
Tell = Callable[[Found], None]

#: Longer counterexamples are not kept, in characters of JSON.
MOST_TRACE = 4_000_000


def run(cell: Cell, tell: Tell, image: Image | None = None) -> None:
    """Run ``cell`` and ``tell`` what it finds, and again when the counterexamples are there.

    The results have the columns of the data set of cells that are about the exploration. ``image``: this
    process has imported the reference.
    """
    try:
        if cell.mutant_content is not None:
            worker.become(Mutant.model_validate_json(cell.mutant_content), image)
        scenario = from_data(json.loads(cell.content), cell.scenario)
        if cell.mutant_alone:
            scenario = worker.judging(scenario, cell.judged)
        (_check if cell.engine == "check" else _simulate)(cell, scenario, tell)
    except DiskError as error:
        tell({"verdict": "failed", "error": str(error)})
    except InputError as error:
        tell({"verdict": "invalid", "error": str(error)})
    except Exception as error:  # A mutant may break the reference in any way; the row says so.
        if is_out_of_memory(error):
            tell({"verdict": "undetermined", "limit": "max_memory"})
            return
        tell({"verdict": "failed", "error": f"{type(error).__name__}: {error}"[:2000]})


def _check(cell: Cell, scenario: Scenario, tell: Tell) -> None:
    from kraftcheck.checking.run import check
    from kraftcheck.engine.system import Limits

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
    tell(found)
    if found["violated"]:
        _tell_traces(cell, found, result.traces, tell)


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


def _simulate(cell: Cell, scenario: Scenario, tell: Tell) -> None:
    from typing import cast

    from kraftcheck.checking.coverage.covering import Covering
    from kraftcheck.engine.shrink import shrink
    from kraftcheck.engine.simulate import simulate
    from kraftcheck.engine.system import System
    from kraftcheck.reference.frozen import replace
    from kraftcheck.systems.kinds import kind_of
    from kraftcheck.traces import build as build_trace

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
        max_seconds=cell.limits.seconds,
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
    tell(found)
    if shrunk:
        _tell_traces(cell, found, lambda: [build_trace(system, scenario, each) for each in shrunk], tell)


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


def _tell_traces(cell: Cell, found: Found, traces: Callable[[], Sequence[Trace]], tell: Tell) -> None:
    try:
        tell(_with_traces(found, traces()))
    except Exception:
        # The states of a mutant may be none that a trace can show; that it is killed stands.
        if cell.mutant_content is None:
            raise


def _with_traces(found: Found, traces: Sequence[Trace]) -> Found:
    from kraftcheck.traces import json_form

    texts = {trace.property: json_form.dumps(trace, indent=None) for trace in traces}
    kept = {name: text for name, text in texts.items() if len(text) <= MOST_TRACE}
    return found | {
        "violated": [each | {"trace": kept.get(each["property"])} for each in found["violated"]],
    }
