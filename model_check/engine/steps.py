"""One step of a system: the meaning of "successor" in every part of the engine.

This is the definition; the tests compare the compiled kernel with it. A step is one of

* *deliver*: one of the distinct messages in flight is handed to its destination, with one of the outcomes;
* *act*: the environment makes a component do something;
* *lose*: the network drops one message, where :class:`~kraftcheck.engine.system.Loss` allows it.

An outcome is applied in this order: its costs are spent (without the budget there is no step); the component
takes its new local state; the delivered message leaves the network; the signals are applied, in order, to all
messages in flight and to all components but the one that signals; the sends enter the network; messages that
have expired leave it. Then the constraints decide, ``within`` before ``capacity``: a successor outside is
*pruned* (``cut``), and a pruned step is only counted, it reaches no goal and violates nothing. Then the
labels are recorded in order. A step that violates a property leads nowhere: its target is not a state of the
bounded model.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from kraftcheck.engine.system import GlobalState, Local, Loss, Message, Outcome, PathStep, System

N = TypeVar("N", bound=Hashable)
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Step:
    """An enabled step and its target.

    ``outcome`` is ``None`` for a loss; ``cut`` is ``None``, ``"within"`` or ``"capacity"``; ``violations``
    and ``goals`` are those of the transition (not of invariants on the target), without duplicates.
    """

    path: PathStep
    outcome: Outcome | None
    target: GlobalState
    violations: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    cut: str | None = None


class ReplayError(ValueError):
    """A path contains a step that the system does not offer there."""


def ordered(messages: Sequence[Message]) -> tuple[Message, ...]:
    """``messages`` in the canonical order of :class:`GlobalState` (by ``repr``)."""
    return tuple(sorted(messages, key=repr))


def without_expired(system: System, locals_: Sequence[Local], messages: Sequence[Message]) -> list[Message]:
    """``messages`` without those whose delivery no longer changes anything: see :meth:`System.expiry`."""
    left = []
    for message in messages:
        expiry = system.expiry(message)
        component = system.destination(message)
        if expiry is None or system.clock(component, locals_[component]) < expiry:
            left.append(message)
    return left


def spend(budgets: tuple[int, ...], costs: Sequence[int]) -> tuple[int, ...] | None:
    """``budgets`` after ``costs``, or ``None`` when one of them does not suffice."""
    left = list(budgets)
    for index in costs:
        left[index] -= 1
    return None if min(left, default=0) < 0 else tuple(left)


def apply_outcome(
    system: System, state: GlobalState, path: PathStep, outcome: Outcome, costs: tuple[int, ...]
) -> Step | None:
    """The step ``outcome`` makes from ``state``, or ``None`` when the budgets do not allow it."""
    budgets = spend(state.budgets, costs)
    if budgets is None:
        return None
    locals_ = list(state.locals)
    locals_[path.component] = outcome.local
    messages = list(state.messages)
    if path.kind == "deliver" and outcome.consumes and not path.duplicate:
        messages.remove(path.message)
    for signal in outcome.signals:
        mapped = [system.signal_message(signal, message) for message in messages]
        messages = [message for message in mapped if message is not None]
        for component in range(system.components):
            if component != signal.component:
                locals_[component] = system.signal_local(signal, component, locals_[component])
    messages.extend(outcome.sends)
    messages = without_expired(system, locals_, messages)
    target = GlobalState(tuple(locals_), ordered(messages), state.history, budgets)
    if not all(system.within(component, local) for component, local in enumerate(locals_)):
        return Step(path, outcome, target, cut="within")
    if len(messages) > system.network.capacity:
        return Step(path, outcome, target, cut="capacity")
    history = state.history
    violations, goals = list(outcome.violations), list(outcome.goals)
    for label in outcome.labels:
        recorded = system.record(history, label)
        history = recorded.history
        violations += recorded.violations
        goals += recorded.goals
    target = GlobalState(target.locals, target.messages, history, budgets)
    return Step(path, outcome, target, tuple(dict.fromkeys(violations)), tuple(dict.fromkeys(goals)))


_CACHED = (
    "destination", "deliver", "actions", "within", "signal_message", "signal_local", "record", "clock",
    "expiry",
)  # fmt: skip


class Cached:
    """A system that asks ``system`` each question only once.

    ``calls``: deliveries and actions asked.
    """

    def __init__(self, system: System) -> None:
        self._system = system
        self.calls = 0
        for name in _CACHED:
            setattr(self, name, self._caching(name, getattr(system, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def _caching(self, name: str, ask: Callable[..., Any]) -> Callable[..., Any]:
        known: dict[tuple[Hashable, ...], Any] = {}
        counted = name in ("deliver", "actions")

        def answer(*question: Hashable) -> Any:
            try:
                return known[question]
            except KeyError:
                self.calls += counted
                known[question] = result = ask(*question)
                return result

        return answer


def _outcome_steps(
    system: System, state: GlobalState, component: int, message: Message | None, outcomes: Sequence[Outcome]
) -> Iterator[Step]:
    network = system.network
    kind = "act" if message is None else "deliver"
    for choice, outcome in enumerate(outcomes):
        path = PathStep(kind, component, message, choice)
        step = apply_outcome(system, state, path, outcome, outcome.costs)
        if step is not None:
            yield step
        if message is not None and outcome.consumes and outcome.repeatable and network.duplicates:
            path = PathStep(kind, component, message, choice, duplicate=True)
            price = () if network.duplicate_budget < 0 else (network.duplicate_budget,)
            step = apply_outcome(system, state, path, outcome, outcome.costs + price)
            if step is not None:
                yield step


def _without(messages: tuple[Message, ...], message: Message) -> tuple[Message, ...]:
    index = messages.index(message)
    return messages[:index] + messages[index + 1 :]


def events(system: System, state: GlobalState) -> Iterator[tuple[int, Message | None, Sequence[Outcome]]]:
    """The deliveries and actions in ``state``: component, message (``None``: an action), outcomes."""
    for message in dict.fromkeys(state.messages):
        component = system.destination(message)
        yield component, message, system.deliver(component, state.locals[component], message)
    for component in range(system.components):
        yield component, None, system.actions(component, state.locals[component])


def steps(system: System, state: GlobalState) -> Iterator[Step]:
    """All enabled steps from ``state``: deliveries, then actions, then losses."""
    for component, message, outcomes in events(system, state):
        yield from _outcome_steps(system, state, component, message, outcomes)
    yield from _losses(system, state)


def _losses(system: System, state: GlobalState) -> Iterator[Step]:
    loss = system.network.loss
    full = len(state.messages) >= system.network.capacity
    if loss is Loss.ALWAYS or (loss is Loss.WHEN_FULL and full):
        for message in dict.fromkeys(state.messages):
            path = PathStep("lose", system.destination(message), message, 0)
            left = _without(state.messages, message)
            yield Step(path, None, GlobalState(state.locals, left, state.history, state.budgets))


def step_along(system: System, state: GlobalState, path: PathStep) -> Step:
    """The step ``path`` from ``state``, without a question to the system about any other event. Raises
    :class:`ReplayError` when the system does not offer it there, or only outside the bounds.
    """
    component, message = path.component, path.message
    offered: Iterator[Step] = iter(())
    if path.kind == "act":
        outcomes = system.actions(component, state.locals[component])
        offered = _outcome_steps(system, state, component, None, outcomes)
    elif path.kind == "lose":
        offered = _losses(system, state)
    elif message in state.messages:
        outcomes = system.deliver(component, state.locals[component], message)
        offered = _outcome_steps(system, state, component, message, outcomes)
    for step in offered:
        if step.path == path and step.cut is None:
            return step
    raise ReplayError(f"the system does not offer {path}")


def broken_invariants(system: System, state: GlobalState) -> tuple[str, ...]:
    """The names of the invariants that do not hold in ``state``."""
    broken = []
    for invariant in system.invariants:
        projections = tuple(invariant.project(c, local) for c, local in enumerate(state.locals))
        if not invariant.holds(projections, invariant.project_history(state.history)):
            broken.append(invariant.name)
    return tuple(broken)


def initial_states(system: System) -> list[GlobalState]:
    """The system's initial states, in its order, in canonical form.

    Raises ``ValueError`` when one of them has the wrong shape or lies outside the state constraints.
    """
    states = []
    for number, state in enumerate(system.initial_states()):
        if len(state.locals) != system.components or len(state.budgets) != len(system.budgets):
            raise ValueError(f"initial state {number}: wrong number of components or budgets")
        if any(not 0 <= budget <= 255 for budget in state.budgets):
            raise ValueError(f"initial state {number}: a budget is not within 0 to 255")
        if len(state.messages) > system.network.capacity:
            raise ValueError(f"initial state {number}: more messages than the network's capacity")
        if not all(system.within(c, local) for c, local in enumerate(state.locals)):
            raise ValueError(f"initial state {number}: a local state is outside the state constraint")
        messages = ordered(without_expired(system, state.locals, state.messages))
        states.append(GlobalState(state.locals, messages, state.history, state.budgets))
    return states


def replay(
    system: System, path: Sequence[PathStep], initial: int = 0
) -> list[tuple[PathStep, Outcome | None, GlobalState]]:
    """Re-execute ``path`` on ``system``, from initial state number ``initial``.

    Returns one entry per step with the state it leads to. Raises :class:`ReplayError` when the system does
    not offer a step there, or a step before the last one violates a property (the model ends there).
    """
    state = initial_states(system)[initial]
    trace: list[tuple[PathStep, Outcome | None, GlobalState]] = []
    for number, wanted in enumerate(path):
        try:
            step = step_along(system, state, wanted)
        except ReplayError as error:
            raise ReplayError(f"step {number}: {error}") from None
        if number < len(path) - 1 and (step.violations or broken_invariants(system, step.target)):
            raise ReplayError(f"step {number}: violates a property before the end of the path")
        state = step.target
        trace.append((wanted, step.outcome, state))
    return trace


def back(came_from: Mapping[N, tuple[N, S] | None], node: N) -> tuple[N, list[S]]:
    """The first node of a search, which came from none, and the steps from there to ``node``."""
    found: list[S] = []
    while (entry := came_from[node]) is not None:
        node, step = entry
        found.append(step)
    return node, found[::-1]
