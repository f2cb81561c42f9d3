"""Steps of broker processes: events for the reference, the messages that its effects send, faults."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import cast

from kraftcheck.engine.system import Outcome, Signal
from kraftcheck.reference.brokers import pending_isrs, views
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import HEARTBEAT_VERSION, LEGACY_VERSION
from kraftcheck.reference.brokers.effects import (
    BrokerEffect,
    FencedItself,
    ForgetRequest,
    Send,
    Stop,
    Unfenced,
    WriteStore,
)
from kraftcheck.reference.brokers.events import (
    BrokerEvent,
    ClientRequest,
    ClientRequestDone,
    ContactLost,
    ControllerFound,
    HeartbeatDue,
    IsrProposed,
    MetadataReceived,
    ProposedIsr,
    RegistrationDue,
    RequestTimedOut,
    ResponseReceived,
    ShutdownRequested,
    StoreAnswered,
    Tick,
)
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    BrokerHeartbeatResponse,
    IsrChangeRequest,
    MetadataHeartbeatResponse,
    MetadataUpdate,
    Process,
    StoreIsrResponse,
)
from kraftcheck.reference.brokers.starting import starting
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers import process_checks, replication, time
from kraftcheck.systems.brokers.history import Crashed, Ended, HeartbeatAnswered, Label, Served, Started
from kraftcheck.systems.brokers.network import (
    CONTROLLER,
    PROCESS_ENDED,
    TURN_TAKEN,
    InFlight,
    ReadMetadata,
    Replicate,
    Replicated,
    RequestForgotten,
    SessionGone,
    Silenced,
    StoreRegistered,
    StoreRegistration,
)
from kraftcheck.systems.brokers.places import Machine
from kraftcheck.systems.brokers.step import Action, Running, Step, finds_controller
from kraftcheck.systems.brokers.wiring import Name, Wiring

#: How many incarnation ids of the shipped form a machine has: one for each process that may start on it.
_PROCESSES = 16


def deliver(wiring: Wiring, component: int, machine: Machine, message: InFlight) -> Iterator[Step]:
    """The steps of a process that receives a message; there are none while a tick is under way."""
    if machine.left:
        return
    action = Action(type(message.payload).__name__, wiring.places[component], f"from {message.source}")
    payload = message.payload
    if isinstance(payload, StoreRegistered):
        yield _start_registered(wiring, component, machine, payload, action)
    elif machine.broker is None or machine.broker.ended or (machine.cut and message.source == CONTROLLER):
        yield Step(Outcome(action, machine))
    elif isinstance(payload, Replicate):
        yield replication.follow(wiring, component, machine, message.source, payload, action)
    elif isinstance(payload, Replicated):
        yield replication.acknowledge(wiring, component, machine, payload, action)
    elif isinstance(payload, MetadataUpdate):
        read = replace(machine, reads=False)
        yield run(wiring, component, read, (MetadataReceived(payload),), action)
    elif isinstance(payload, StoreIsrResponse):
        yield run(wiring, component, machine, (StoreAnswered(payload),), action)
    else:
        assert message.node is not None
        event = ResponseReceived(message.node, payload)  # type: ignore[arg-type]
        yield run(wiring, component, machine, (event,), action)


def actions(wiring: Wiring, component: int, machine: Machine) -> Iterator[Step]:
    """The steps of a machine without a message: timers, requests of the environment, starts and faults."""
    if machine.left:
        if time.has_turn(machine):
            yield _take_turn(wiring, component, machine)
        return
    if machine.broker is None or machine.broker.ended:
        if machine.broker is None or wiring.environment.restarts:
            yield from _start(wiring, component, machine)
        return
    yield from _due(wiring, component, machine, machine.broker)
    yield from _requested(wiring, component, machine, machine.broker)
    yield from replication.actions(wiring, component, machine)
    yield from _faults(wiring, component, machine, machine.broker)


# Starts.


def _vacant(machine: Machine) -> Machine:
    """``machine`` without a process: its disk, its link and the number of processes so far."""
    return Machine(machine.id, cut=machine.cut, starts=machine.starts, log=machine.log)


def _start(wiring: Wiring, component: int, machine: Machine) -> Iterator[Step]:
    place = wiring.places[component]
    if machine.registers or machine.cut:
        return
    action = Action("start", place)
    begun = replace(_vacant(machine), starts=machine.starts + 1)
    if wiring.is_draft:
        for detail, version, costs in _versions(wiring, machine):
            sent = InFlight(place, CONTROLLER, StoreRegistration(machine.id, version))
            start = replace(action, detail=detail)
            yield Step(Outcome(start, replace(begun, registers=True), sends=(sent,), costs=costs))
        return
    process = Process(machine.id, component * _PROCESSES + begun.starts)
    broker = starting(wiring.protocol, process, controller=wiring.nodes[0])
    labels = (Started(process.incarnation),)
    yield Step(Outcome(action, replace(begun, broker=broker), labels=labels), starts=True)


def _versions(wiring: Wiring, machine: Machine) -> Iterator[tuple[str, int, tuple[int, ...]]]:
    """The versions that a starting process may run: that of its broker at first, or by a roll the other."""
    known = {False: HEARTBEAT_VERSION, True: LEGACY_VERSION}
    legacy = machine.id in wiring.legacy
    yield "", known[legacy], ()
    rolled = wiring.price("rolls")
    if rolled is not None:
        yield "rolled back" if not legacy else "rolled", known[not legacy], rolled


def _start_registered(
    wiring: Wiring, component: int, machine: Machine, payload: StoreRegistered, action: Action
) -> Step:
    """A starting process receives its incarnation id and runs."""
    if not machine.registers:
        return Step(Outcome(action, machine))
    legacy = payload.version == LEGACY_VERSION
    broker = starting(wiring.protocol, payload.process, controller=wiring.nodes[0], legacy=legacy)
    incarnation = broker.incarnation
    labels = (Started(incarnation), *((Served(incarnation, True),) if legacy else ()))
    return Step(Outcome(action, replace(machine, registers=False, broker=broker), labels=labels), starts=True)


# Timers, and requests of the environment.


def _due(wiring: Wiring, component: int, machine: Machine, broker: Broker) -> Iterator[Step]:
    place = wiring.places[component]

    def offer(event: BrokerEvent, action: Action, costs: tuple[int, ...] = ()) -> Iterator[Step]:
        yield from run(wiring, component, machine, (event,), action, costs).unless_idle(machine)

    yield from offer(HeartbeatDue(), Action("heartbeat", place))
    if not wiring.is_draft:
        yield from offer(RegistrationDue(), Action("register", place))
        if not (machine.reads or machine.cut):
            sent = InFlight(place, CONTROLLER, ReadMetadata(), sender=Process(broker.id, broker.incarnation))
            yield Step(Outcome(Action("read metadata", place), replace(machine, reads=True), sends=(sent,)))
    elif not wiring.is_timed:
        price = wiring.price("contact_losses")
        if price is not None and (machine.cut or not wiring.silent_only):
            yield from offer(ContactLost(), Action("contact lost", place), price)
    if broker.controller is None:
        for node in wiring.nodes:
            yield from offer(ControllerFound(node), finds_controller(place, node))
    price = wiring.price("request_timeouts")
    if price is not None:
        for api in broker.awaiting:
            yield from offer(RequestTimedOut(api), Action("request timed out", place, api.value), price)
    yield from offer(ClientRequestDone(), Action("client's request is done", place))
    yield from offer(IsrProposed(()), Action("proposes ISRs again", place))


def _requested(wiring: Wiring, component: int, machine: Machine, broker: Broker) -> Iterator[Step]:
    place = wiring.places[component]
    price = wiring.price("shutdowns")
    if price is not None:
        yield run(wiring, component, machine, (ShutdownRequested(),), Action("shutdown", place), price)
    price = wiring.price("requests")
    if price is not None:
        yield run(wiring, component, machine, (ClientRequest(),), Action("client's request", place), price)
    price = wiring.price("isr_changes")
    if price is None:
        return
    for choices in product(*(_proposals(wiring, machine, broker, each) for each in wiring.partitions)):
        proposed = tuple(each for each in choices if each is not None)
        if not proposed:
            continue
        action = Action("proposes an ISR", place, _proposals_text(wiring, proposed))
        found = run(wiring, component, machine, (IsrProposed(proposed),), action, price)
        if found.outcome.sends or machine.cut:
            yield found


def _proposals(
    wiring: Wiring, machine: Machine, broker: Broker, partition: Name
) -> tuple[ProposedIsr | None, ...]:
    """The ISRs that a process may propose for a partition; ``None``: it proposes none."""
    known = views.partition_of(broker, partition.topic, partition.index)
    if known is None or known.leader != broker.id:
        return (None,)
    if pending_isrs.is_pending(broker, partition.topic, partition.index):
        return (None,)
    proposed = (
        ProposedIsr(partition.topic, partition.index, isr, replication.fetched(machine, isr))
        for isr in wiring.proposed_isrs
        if isr != known.isr and replication.may_propose(wiring, machine, isr)
    )
    return (None, *proposed)


def _proposals_text(wiring: Wiring, proposals: tuple[ProposedIsr, ...]) -> str:
    return "; ".join(
        f"{wiring.named(Name(each.topic, each.index))} {','.join(map(str, each.isr)) or 'none'}".strip()
        for each in proposals
    )


# Faults.


def _faults(wiring: Wiring, component: int, machine: Machine, broker: Broker) -> Iterator[Step]:
    place = wiring.places[component]
    price = wiring.price("crashes")
    if price is not None:
        yield Step(
            Outcome(
                Action("crash", place),
                _vacant(machine),
                sends=tuple(_session_gone(wiring, place, broker)),
                labels=(Ended(broker.incarnation), *((Crashed(),) if wiring.environment.data else ())),
                costs=price,
                signals=_end_signals(wiring, component, broker),
            )
        )
    price = wiring.price("cuts")
    if machine.cut:
        healed = replace(machine, cut=False, reads=False)
        events = tuple(RequestTimedOut(api) for api in broker.awaiting)
        heard = _silence(wiring, component, broker, False)
        yield run(wiring, component, healed, events, Action("link heals", place), signals=heard)
    elif price is not None:
        silent = _silence(wiring, component, broker, True)
        cut = replace(machine, cut=True)
        yield Step(Outcome(Action("link is cut", place), cut, costs=price, signals=silent))


def _silence(wiring: Wiring, component: int, broker: Broker, silent: bool) -> tuple[Signal, ...]:
    """The signal that the controller no longer hears a process, or hears it again, if time-outs need it."""
    signal = Signal(component, content=Silenced(broker.incarnation, silent))
    return (signal,) if wiring.silent_only else ()


def _end_signals(wiring: Wiring, component: int, broker: Broker) -> tuple[Signal, ...]:
    """The signals of the end of a process."""
    return Signal(component, content=PROCESS_ENDED), *_silence(wiring, component, broker, True)


def _session_gone(wiring: Wiring, place: str, broker: Broker) -> Iterator[InFlight]:
    if wiring.is_draft and wiring.environment.sessions:
        yield InFlight(place, CONTROLLER, SessionGone(Process(broker.id, broker.incarnation)))


# Steps of the reference.


def _take_turn(wiring: Wiring, component: int, machine: Machine) -> Step:
    """The clock of the machine moves: once, or with drift not at all or twice."""
    detail = "" if machine.moves == 1 else f"{machine.moves} times"
    taken = cast(Machine, time.after_turn(machine))
    ticks = (Tick(),) * machine.moves if machine.broker is not None else ()
    signals = (Signal(component, content=TURN_TAKEN),)
    return run(
        wiring, component, taken, ticks, Action("tick", wiring.places[component], detail), signals=signals
    )


def run(
    wiring: Wiring,
    component: int,
    machine: Machine,
    events: tuple[BrokerEvent, ...],
    action: Action,
    costs: tuple[int, ...] = (),
    *,
    signals: tuple[Signal, ...] = (),
) -> Step:
    """The step in which the reference handles ``events``: its effects go to the network and the history."""
    place, before = wiring.places[component], machine.broker
    running = Running(wiring, cast(Broker, before))
    for event in events if before is not None else ():
        asked = running.state
        outcome = running.on(event)
        running.violations |= dict.fromkeys(process_checks.violations(wiring, asked, event, outcome))
    effects, broker = running.effects, running.state
    after = replication.with_metadata(wiring, replace(machine, broker=broker))
    sends = list(_sends(place, after, effects))
    forgotten = [
        Signal(component, content=RequestForgotten(each.api))
        for each in effects
        if isinstance(each, ForgetRequest)
    ]
    if before is not None and any(isinstance(effect, Stop) for effect in effects):
        sends += _session_gone(wiring, place, before)
        forgotten += _end_signals(wiring, component, before)
    labels = [*_labels(wiring, before, broker, events), *replication.labels(wiring, machine, after)]
    running.goals |= dict.fromkeys((*_goals(before, effects), *_goals_of_labels(labels)))
    return running.step(
        action,
        after,
        sends=tuple(sends),
        labels=tuple(labels),
        costs=costs,
        signals=(*forgotten, *signals),
    )


def _sends(place: str, machine: Machine, effects: list[BrokerEffect]) -> Iterator[InFlight]:
    """The messages that effects send; none if the link is cut."""
    assert machine.broker is not None or not effects
    for effect in effects:
        if not isinstance(effect, Send | WriteStore) or machine.cut or machine.broker is None:
            continue
        sender = Process(machine.broker.id, machine.broker.incarnation)
        node = effect.to if isinstance(effect, Send) else None
        yield InFlight(place, CONTROLLER, effect.request, node=node, sender=sender)


def _labels(
    wiring: Wiring, before: Broker | None, after: Broker | None, events: tuple[BrokerEvent, ...]
) -> Iterator[Label]:
    if before is None or after is None:
        return
    for event in events:
        answer = event.response if isinstance(event, ResponseReceived) else None
        if isinstance(answer, MetadataHeartbeatResponse | BrokerHeartbeatResponse):
            yield HeartbeatAnswered(before.incarnation)
    served, serves = (views.serves(wiring.protocol, each) for each in (before, after))
    if served != serves:
        without_controller = any(isinstance(event, Tick | ContactLost) for event in events)
        yield Served(before.incarnation, serves, without_controller)
    if after.ended and not before.ended:
        yield Ended(before.incarnation)


def _goals(before: Broker | None, effects: list[BrokerEffect]) -> Iterator[str]:
    for effect in effects:
        request = effect.request if isinstance(effect, Send) else None
        if isinstance(request, IsrChangeRequest | AlterPartitionRequest) and before and before.pending:
            yield "GoalIsrAskedForAgain"
        if isinstance(effect, FencedItself):
            yield "GoalBrokerFencedItself"
        elif isinstance(effect, Unfenced):
            yield "GoalBrokerUnfenced"
        elif isinstance(effect, Stop):
            yield "GoalBrokerStopped"


def _goals_of_labels(labels: list[Label]) -> Iterator[str]:
    if any(isinstance(label, Served) and label.serves for label in labels):
        yield "GoalBrokerServes"
