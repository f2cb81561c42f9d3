"""Traces are built by replaying the reference, so they cannot show a step that it would not take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from kraftcheck.engine.system import GlobalState, Outcome, PathStep, Violation
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.kind import Flying, ModelSystem, Step
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces.model import Finding, Trace, TraceError, TraceStep
from kraftcheck.traces.walk import Taken, Walk, name_of
from kraftcheck.traces.words import compare_history, compare_nodes

#: Options (a permalink), the steps of a path, or a violation found by the engine.
Path = Violation | Sequence[int | PathStep]


def build(system: ModelSystem, scenario: Scenario, path: Path) -> Trace:
    """The trace of ``path``, replayed on ``system``, which must be the system of ``scenario``.

    Raises TraceError where the system does not offer a step, and for a violation that the replay does not
    confirm.
    """
    if not isinstance(path, Violation):
        return trace_of(walk(system, path), scenario)
    walked = walk(system, path.path, path.initial)
    if path.property not in walked.violated:
        ends = ", ".join(walked.violated) or "no violation"
        raise TraceError(f"the path ends in {ends}, not in a violation of {path.property}")
    return trace_of(walked, scenario, path.property)


def build_lasso(
    system: ModelSystem,
    scenario: Scenario,
    violated: str,
    stem: Sequence[PathStep],
    cycle: Sequence[PathStep],
    initial: int = 0,
) -> Trace:
    """The trace of a behaviour that repeats ``cycle`` for ever after ``stem``, which violates an *eventually*
    property; with an empty cycle it stays where it is. Where epochs are relative, they may have grown when
    the cycle closes. Raises TraceError where the system does not offer a step or the cycle does not close.
    """
    walked = walk(system, stem, initial)
    closing = walked.state
    for step in cycle:
        walked.follow(step)
    if walked.violated:
        raise TraceError(f"the cycle violates {walked.violated[0]}")
    finding = finding_of_lasso(system, scenario, violated, closing, walked.state, len(cycle))
    return replace(trace_of(walked, scenario), finding=finding, loop=len(stem))


def finding_of_lasso(
    system: ModelSystem, scenario: Scenario, violated: str, begin: GlobalState, end: GlobalState, steps: int
) -> Finding:
    """The finding of a cycle of so many steps from ``begin`` to ``end``. Raises TraceError if it is none."""
    if not kind_of(system).liveness.closes(system, scenario, begin, end):
        raise TraceError("the cycle does not lead back to the state in which it begins")
    if not steps:
        repeats = "The behaviour may stay in this state for ever"
    elif steps == 1:
        repeats = "The last step may repeat for ever"
    else:
        repeats = f"The last {steps} steps may repeat for ever"
    if begin != end:
        repeats += ", with later epochs each time,"
    reason = f"{repeats} although timers and deliveries are as fair as stated: {violated} never comes true."
    return Finding(violated, (reason,))


def with_room(
    system: ModelSystem, scenario: Scenario, path: Sequence[PathStep], initial: int = 0
) -> tuple[ModelSystem, Scenario]:
    """``system`` and ``scenario`` with the bounds that ``path`` needs, as it was found without them.

    Raises InputError if no scenario may have those bounds.
    """
    return kind_of(system).liveness.with_room(system, scenario, path, initial)


def build_dead_end(
    system: ModelSystem, scenario: Scenario, violated: str, stem: Sequence[PathStep], initial: int = 0
) -> Trace:
    """The trace to a state from which what an *eventually* property asks for is out of reach within the
    bounds, although they leave room for an election. Raises TraceError where the system does not offer a
    step.
    """
    return replace(trace_of(walk(system, stem, initial), scenario), finding=finding_of_dead_end(violated))


def finding_of_dead_end(violated: str) -> Finding:
    """The finding of a state from which the goal of ``violated`` is out of reach."""
    reason = (
        "From this state no timers and deliveries lead to what must happen within the bounds, which leave "
        "room for another election."
    )
    return Finding(violated, (reason,))


def walk(system: ModelSystem, path: Sequence[int | PathStep], initial: int = 0) -> Walk:
    """The walk along ``path``. Raises TraceError."""
    walked = Walk(system, initial)
    for step in path:
        if isinstance(step, int):
            walked.take(step)
        else:
            walked.follow(step)
    return walked


def walk_again(system: ModelSystem, trace: Trace) -> Walk:
    """The walk that takes the steps of ``trace``, by their names and messages, on ``system``. Raises
    TraceError.
    """
    walked = Walk(system, trace.initial)
    for step in trace.steps:
        walked.take(walked.find(step.action, step.message, step.choice, step.duplicate))
    return walked


def behaviour(
    scenario: Scenario, word: str | None, path: Sequence[int], violated: str, loop: int | None = None
) -> Trace:
    """The trace of the options ``path`` that violates ``violated``, see :func:`violating`; where ``scenario``
    judges up to the number of past elections, with the epochs that the path needs. ``word`` names the
    scenario in messages. Raises TraceError where no bounds let it violate that.
    """
    kind, refused = kind_of(scenario), None
    for each in kind.liveness.rooms(scenario, len(path)):
        try:
            return violating(walk(kind.build(each, word), path), each, violated, loop)
        except TraceError as error:
            refused = refused or error
    assert refused is not None
    raise refused


def violating(walked: Walk, scenario: Scenario, violated: str, loop: int | None = None) -> Trace:
    """The trace of a walk that violates ``violated``; of an *eventually* property by the cycle after ``loop``
    steps, or in a dead end. Raises TraceError where it does not.
    """
    if violated not in {each.property for each in scenario.check.eventually}:
        if violated not in walked.violated:
            raise TraceError(f"{scenario.name}: the path does not violate {violated}")
        return trace_of(walked, scenario, violated)
    steps = [taken.step.path for taken in walked.taken]
    if loop is None:
        return build_dead_end(walked.system, scenario, violated, steps)
    return build_lasso(walked.system, scenario, violated, steps[:loop], steps[loop:])


def trace_of(
    walked: Walk, scenario: Scenario, violated: str | None = None, known: tuple[TraceStep, ...] = ()
) -> Trace:
    """The trace of a walk; ``violated`` says which property it is about if it violates several. ``known``:
    the first steps of the trace, where they have been made before.
    """
    system = walked.system
    start = walked.taken[0].before if walked.taken else walked.state
    new = walked.taken[len(known) :]
    steps = (*known, *(step_of(system, taken, number) for number, taken in enumerate(new, len(known) + 1)))
    finding = None
    if walked.violated:
        name = violated or walked.violated[0]
        last = walked.taken[-1] if walked.taken else None
        before = start if last is None else last.before
        outcome = None if last is None else last.step.outcome
        run = steps[-1].runs[-1] if steps and steps[-1].runs else None
        finding = Finding(name, kind_of(system).explain(system, name, before, walked.state, outcome, run))
    nodes = tuple(zip(system.places, start.locals, strict=True))
    budgets = tuple(zip(system.budget_names, start.budgets, strict=True))
    return Trace(scenario, walked.initial, nodes, _messages(start.messages), budgets, steps, finding)


def _messages(messages: Sequence[object]) -> tuple[Flying, ...]:
    return cast(tuple[Flying, ...], tuple(messages))


def step_of(system: ModelSystem, taken: Taken, number: int) -> TraceStep:
    """The form in a trace of a step taken, the one with this number."""
    path, before, after = taken.step.path, taken.before, taken.step.target
    detail = details(system, before, path)
    model = kind_of(system)
    runs = () if detail is None else model.runs(detail, before.locals[path.component])
    replica = system.places[path.component]
    outcome = taken.step.outcome
    message = cast(Flying | None, path.message)
    if outcome is None:
        assert message is not None
        lost: tuple[Flying, ...] = (message,)
        forgotten: tuple[Flying, ...] = ()
    else:
        lost = model.undelivered(system, replica, runs)
        forgotten = _forgotten(system, before, after, path, outcome)
    pairs = list(zip(system.places, before.locals, after.locals, strict=True))
    return TraceStep(
        number=number,
        replica=replica,
        kind=path.kind,
        action=name_of(taken.step),
        option=taken.option,
        choice=path.choice,
        duplicate=path.duplicate,
        message=message,
        runs=runs,
        changes=tuple(change for pair in pairs for change in compare_nodes(*pair)),
        nodes=tuple((each, new) for each, old, new in pairs if old != new),
        sent=() if outcome is None else _messages(outcome.sends),
        lost=lost,
        forgotten=forgotten,
        in_flight=_messages(after.messages),
        history=compare_history(before.history, after.history),
        budgets=tuple(zip(system.budget_names, after.budgets, strict=True)),
        violations=taken.violations,
    )


def details(system: ModelSystem, state: GlobalState, path: PathStep) -> Step | None:
    """The work of the reference in the step ``path`` from ``state``; ``None`` for a loss."""
    if path.kind == "lose":
        return None
    local = state.locals[path.component]
    if path.kind == "deliver":
        return system.deliver_steps(path.component, local, path.message)[path.choice]
    return system.action_steps(path.component, local)[path.choice]


def _forgotten(
    system: ModelSystem, before: GlobalState, after: GlobalState, path: PathStep, outcome: Outcome
) -> tuple[Flying, ...]:
    """The messages that left the network undelivered: answers to forgotten requests, and void requests."""
    flying = list(before.messages)
    if path.kind == "deliver" and outcome.consumes and not path.duplicate:
        flying.remove(path.message)
    gone: list[object] = []
    for signal in outcome.signals:
        mapped = [(message, system.signal_message(signal, message)) for message in flying]
        gone += [message for message, left in mapped if left is None]
        flying = [left for _, left in mapped if left is not None]
    expired = Counter([*flying, *outcome.sends]) - Counter(after.messages)
    return _messages([*gone, *expired.elements()])
