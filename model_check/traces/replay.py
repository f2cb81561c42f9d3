"""Whether the present reference takes the steps of a trace as they are recorded: all that a file stores."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from kraftcheck.engine.system import GlobalState
from kraftcheck.support.codec import Json
from kraftcheck.support.json_differences import differing
from kraftcheck.support.printable import printable, shortened
from kraftcheck.systems.kinds import kind_of
from kraftcheck.traces import json_form
from kraftcheck.traces.build import finding_of_dead_end, finding_of_lasso, step_of, trace_of
from kraftcheck.traces.model import Finding, Trace, TraceError
from kraftcheck.traces.walk import Walk

#: Which option a step is among those that are possible may change although the step is the same: such a
#: difference is reported where there is no other.
_NUMBERS = ("option", "choice")


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where the present reference differs. ``step`` 0 is the initial state; ``field`` is the
    place in the step, or in the file, and both values are short texts that a terminal can show.
    """

    step: int
    field: str
    recorded: str
    now: str

    @property
    def of_numbers(self) -> bool:
        """Whether the steps are the same, and only their numbers among the possible steps are not."""
        return self.field in _NUMBERS

    def __str__(self) -> str:
        where = "the initial state" if self.step == 0 else f"step {self.step}"
        recorded, now = self.recorded.rstrip("."), self.now.rstrip(".")
        return f"{where}, {self.field}: recorded {recorded}, now {now}"


def replay(trace: Trace) -> Difference | None:
    """The first difference between ``trace`` and what the present reference does, or ``None``.

    A step is found again by what it is called and by its message. Then everything that a trace file stores is
    compared, except the scenario, which is the question. Raises InputError where the scenario is not accepted
    any more.
    """
    files = kind_of(trace.scenario).files
    system = kind_of(trace.scenario).build(trace.scenario, "the trace's scenario")
    try:
        walk = Walk(system, trace.initial)
    except TraceError as error:
        return _difference(0, "initial", trace.initial, str(error))
    for found in _compared(0, _beginning(trace), _beginning(trace_of(walk, trace.scenario))):
        return found
    states, renumbered = [walk.state], None
    for step in trace.steps:
        try:
            walk.take(walk.find(step.action, step.message, step.choice, step.duplicate))
        except TraceError as error:
            return _difference(step.number, "action", step.action, str(error))
        states.append(walk.state)
        old = json_form.encode_step(step, files)
        new = json_form.encode_step(step_of(system, walk.taken[-1], step.number), files)
        for found in _compared(step.number, old, new):
            if not found.of_numbers:
                return found
            renumbered = renumbered or found
    try:
        finding = _finding(trace, walk, states)
    except TraceError as error:
        return _difference(len(trace.steps), "loop", trace.loop, str(error))
    old, new = json_form.encode_finding(trace.finding), json_form.encode_finding(finding)
    return next(_compared(len(trace.steps), old, new), renumbered)


def _beginning(trace: Trace) -> Json:
    data = json_form.encode(trace)
    return {key: data[key] for key in ("nodes", "in_flight", "budgets")}


def _finding(trace: Trace, walk: Walk, states: list[GlobalState]) -> Finding | None:
    """The finding of the behaviour now. Raises TraceError for a cycle that does not close."""
    recorded = trace.property
    if recorded is not None and not walk.violated:
        if trace.loop is not None:
            count = len(trace.steps) - trace.loop
            begin = states[trace.loop]
            return finding_of_lasso(walk.system, trace.scenario, recorded, begin, walk.state, count)
        if trace.dead_end:
            return finding_of_dead_end(recorded)
    return trace_of(walk, trace.scenario, recorded if recorded in walk.violated else None).finding


def _compared(step: int, recorded: Json, now: Json) -> Iterator[Difference]:
    for each in differing(recorded, now):
        yield _difference(step, *each)


def _difference(step: int, field: str, recorded: Json, now: Json) -> Difference:
    texts = (each if isinstance(each, str) else json.dumps(each) for each in (field, recorded, now))
    return Difference(step, *(shortened(printable(text), 200) for text in texts))
