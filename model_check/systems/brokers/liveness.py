"""*Eventually* properties of brokers: goals on global states, and which steps are fair.

They are checked on the whole reachable graph, which must be finite without a bound. Steps that may happen any
number of times have no budget; such scenarios leave out steps that would make the space infinite (leaders of
a partition that change for ever).

The environment promises nothing: a cut link may stay cut, and an ended process need not start again. Faults
have budgets, so that every behaviour uses them up. From then on links and processes stay as they are, and the
goals are about that. Promised are the delivery of messages that are sent again and again, and the steps that
processes and the controller take by themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast, get_args

from kraftcheck.engine.fairness import Fairness, Lasso, Strength, UnpaidStep
from kraftcheck.engine.liveness import lassos
from kraftcheck.engine.system import GlobalState, PathStep
from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Broker, Life
from kraftcheck.reference.brokers.messages import BrokerState
from kraftcheck.systems.brokers.build import UNBOUNDED
from kraftcheck.systems.brokers.control import awaited
from kraftcheck.systems.brokers.network import CONTROLLER, InFlight, Payload
from kraftcheck.systems.brokers.places import Machine
from kraftcheck.systems.brokers.scenario import Eventually
from kraftcheck.systems.brokers.step import Action, finds_controller, session_ends
from kraftcheck.systems.brokers.system import BrokerSystem, control_of, machines
from kraftcheck.systems.brokers.wiring import Wiring
from kraftcheck.systems.kind import Judged, kept_open

if TYPE_CHECKING:
    from kraftcheck.engine.graph import Graph
    from kraftcheck.engine.representatives import Represent

#: Actions that a process or the controller repeats by itself, or takes once a time-out ends.
_TIMERS = (
    "heartbeat", "register", "read metadata", "contact lost", "tick", "leader moves",
    "client's request is done", "proposes ISRs again",
)  # fmt: skip


def _runs(machine: Machine) -> bool:
    return machine.broker is not None and not machine.broker.ended


def _linked(state: GlobalState) -> list[tuple[int, Broker]]:
    """The processes that run and reach the controller, with their broker ids."""
    return [
        (machine.id, machine.broker)
        for machine in machines(state)
        if machine.broker is not None and _runs(machine) and not machine.cut
    ]


def _liveness_known(wiring: Wiring, broker: int, state: GlobalState) -> bool:
    """A broker is active if a process of it runs and reaches the controller, else inactive; a legacy broker
    may be active in any case.
    """
    controller = control_of(state).controller
    visible = any(each.broker == broker for each in views.visible_brokers(controller))
    linked = [process for own, process in _linked(state) if own == broker]
    if not linked:
        return not visible or (wiring.is_draft and views.is_legacy(controller, broker))
    return visible or all(_leaves(wiring, process) for process in linked)


def _leaves(wiring: Wiring, process: Broker) -> bool:
    """Whether a process ends as soon as it has completed the requests that it accepted."""
    if wiring.is_draft:
        return process.target is BrokerState.INACTIVE
    return process.life is Life.SHUTTING_DOWN


def _connected_serve(wiring: Wiring, broker: int, state: GlobalState) -> bool:
    """If processes of a broker run, reach the controller and do not leave, one of them serves."""
    found = [process for own, process in _linked(state) if own == broker and not _leaves(wiring, process)]
    return not found or any(views.serves(wiring.protocol, process) for process in found)


def _cut_off_are_fenced(wiring: Wiring, broker: int, state: GlobalState) -> bool:
    cut = (each.broker for each in machines(state) if each.id == broker and _runs(each) and each.cut)
    return all(process is not None and (process.fenced or process.legacy) for process in cut)


def _connected_are_unfenced(wiring: Wiring, broker: int, state: GlobalState) -> bool:
    return not any(process.fenced for own, process in _linked(state) if own == broker)


#: Goals for each broker, independent of other brokers.
GOALS: dict[str, Callable[[Wiring, int, GlobalState], bool]] = {
    "liveness-known": _liveness_known,
    "cut-off-are-fenced": _cut_off_are_fenced,
    "connected-are-unfenced": _connected_are_unfenced,
    "connected-serve": _connected_serve,
}


def judge(system: BrokerSystem, graph: Graph, wanted: Eventually, represent: Represent | None) -> Judged:
    """Look for a fair behaviour that never reaches the goal."""
    withheld = None
    for lasso in lassos_of(system, graph, wanted, represent):
        if lasso.withheld is None:
            return Judged(wanted.property, lasso, states=graph.size, closed=True)
        withheld = withheld or lasso.withheld
    if withheld is not None:
        return kept_open(system, wanted.property, withheld)
    return Judged(wanted.property, states=graph.size, closed=True)


def lassos_of(
    system: BrokerSystem, graph: Graph, wanted: Eventually, represent: Represent | None
) -> Iterator[Lasso]:
    """Fair behaviours that never reach the goal, by broker."""
    goal, fairness = GOALS[wanted.goal], _classes(system, wanted)
    budgets = _budgets(system, wanted)
    for broker in sorted(set(system.wiring.ids)):
        reached = graph.mask(partial(goal, system.wiring, broker))
        when = None if wanted.form == "eventually" else ~reached
        yield from lassos(graph, reached, fairness, when=when, budgets=budgets, owed=_owed)


def _classes(system: BrokerSystem, wanted: Eventually) -> list[Fairness]:
    found: list[Fairness] = []
    if wanted.fairness.deliveries != "none":
        strength = Strength(wanted.fairness.deliveries)
        for place in system.wiring.places:
            for other in system.wiring.places:
                if place != other and CONTROLLER in (place, other):
                    found += [_deliveries(place, other, kind, strength) for kind in get_args(Payload)]
    if wanted.fairness.timers != "none":
        strength = Strength(wanted.fairness.timers)
        timers = [Action(kind, place) for place in system.places for kind in _TIMERS]
        timers += [session_ends(broker) for broker in sorted(set(system.wiring.ids))]
        # A process chooses the node that it asks at random: each one again and again.
        timers += [finds_controller(place, node) for place in system.places for node in system.wiring.nodes]
        found += [_timer(each, strength) for each in timers]
    return found


def _budgets(system: BrokerSystem, wanted: Eventually) -> tuple[int, ...]:
    """The numbers of the budgets that fair steps use: those of time-outs that are counted."""
    if wanted.fairness.timers == "none":
        return ()
    return tuple(number for number, name in enumerate(system.budget_names) if name in UNBOUNDED)


def _owed(state: GlobalState, step: UnpaidStep) -> bool:
    """Whether a time-out must end: at the controller that of a process which has ended or is cut off, at a
    process its own if it is cut off. Budgets bound the other time-outs, which end too early.
    """
    action = cast(Action, step.action)
    if action.place == CONTROLLER:
        assert action.subject is not None
        heard = awaited(control_of(state), action.subject)
        return heard is None or heard not in {process.incarnation for _, process in _linked(state)}
    return cast(Machine, state.locals[step.step.component]).cut


def _deliveries(source: str, destination: str, kind: type, strength: Strength) -> Fairness:
    def matches(step: PathStep, action: Hashable) -> bool:
        message = cast(InFlight, step.message)
        return (
            step.kind == "deliver"
            and (message.source, message.destination) == (source, destination)
            and isinstance(message.payload, kind)
        )

    return Fairness(f"{kind.__name__} {source}→{destination} arrives", strength, matches)


def _timer(timer: Action, strength: Strength) -> Fairness:
    def matches(step: PathStep, action: Hashable) -> bool:
        named = isinstance(action, Action) and (action.kind, action.place, action.subject)
        return named == (timer.kind, timer.place, timer.subject)

    return Fairness(str(timer), strength, matches)
