"""Why a violation that a hunt sees is not new, and what makes two new ones alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kraftcheck.checking.findings import Known, known_findings, recognised
from kraftcheck.systems.kind import Kind
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.known_exits import KNOWN
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces import Trace
from kraftcheck.traces.build import walk_again
from kraftcheck.traces.model import TraceError, TraceStep

#: The property that an exit violates.
NO_FATAL = "NoFatal"


@dataclass(frozen=True, slots=True)
class Cause:
    """A known cause: the id of the ``finding`` that a violation looks like, and the ``preset`` where it
    is not one of the finding's; no finding: a property that its scenario leaves out.
    """

    finding: str | None = None
    preset: str | None = None

    def __str__(self) -> str:
        if self.finding is None:
            return "left-out"
        return self.finding if self.preset is None else f"{self.finding} under {self.preset}"

    @property
    def known(self) -> Known | None:
        """The finding."""
        return next((each for each in known_findings() if each.id == self.finding), None)


@dataclass(frozen=True, slots=True)
class Likeness:
    """Violations that are alike are one: the property, what the step that violates it is called, the rules
    that decided in it, and the kinds of faults on the path; of an *eventually* property the steps that
    repeat.
    """

    property: str
    step: str
    rules: tuple[str, ...]
    faults: tuple[str, ...]


def cause_of(trace: Trace, origin: Scenario) -> Cause | None:
    """The known cause of ``trace``; ``None``: it is new.

    The exits of a scenario that ignores them (``check.ignore-fatal``) are asked too: an exit is that of a
    finding if it is no violation any more where it is ignored. ``origin`` is the scenario as it was chosen.
    """
    known = recognised(trace)
    if known is not None:
        return Cause(known.id)
    if trace.property == NO_FATAL and isinstance(trace.scenario, KRaftScenario):
        exits = (each.finding for each in KNOWN if _is_ignored(trace, trace.scenario, each.finding))
        found = next(exits, None)
        if found is not None:
            return Cause(found)
    other = recognised(trace, of_any_variant=True)
    if other is not None:
        return Cause(other.id, _variant(trace.scenario))
    return Cause() if trace.property in origin.check.without else None


def likeness_of(trace: Trace) -> Likeness:
    """What ``trace`` has in common with others that show the same."""
    kind = kind_of(trace.scenario)
    repeated = trace.steps[trace.loop :] if trace.loop is not None else trace.steps[-1:]
    names = sorted({_name(step) for step in repeated})
    rules = sorted({rule for step in repeated for rule in step.rules})
    return Likeness(trace.property or "", ", ".join(names), tuple(rules), _faults(trace, kind))


def _variant(scenario: Any) -> str:
    protocol = scenario.protocol
    return str(protocol.preset if hasattr(protocol, "preset") else protocol.form)


def _is_ignored(trace: Trace, scenario: KRaftScenario, finding: str) -> bool:
    names = tuple(dict.fromkeys((*scenario.check.ignore_fatal, finding)))
    check = scenario.check.model_copy(update={"ignore_fatal": names})
    other = scenario.model_copy(update={"check": check})
    try:
        walked = walk_again(kind_of(other).build(other), trace)
    except TraceError:
        return False
    return trace.property not in walked.violated


def _name(step: TraceStep) -> str:
    """The kind of a step, of any replica."""
    if step.message is not None:
        return f"{step.kind} {type(step.message.payload).__name__}"
    return step.action.partition(" at ")[0].partition(" (")[0]


def _faults(trace: Trace, kind: Kind) -> tuple[str, ...]:
    """The budgets of faults that the path spends, and whether power is lost."""
    begin, spent = dict(trace.budgets), set[str]()
    for step in trace.steps:
        spent |= {name for name, left in step.budgets if left < begin[name] and name in kind.faults}
        spent |= {"power"} if "loses power" in step.action else set()
    return tuple(sorted(spent))
