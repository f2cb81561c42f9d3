"""Steps of the controller: events for the reference, the messages that its effects send, and checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from kraftcheck.engine.system import Outcome, Signal
from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import Controller, MetadataLog, Store
from kraftcheck.reference.brokers.effects import (
    ControllerEffect,
    Registered,
    Reply,
    SendMetadata,
    StoreReply,
)
from kraftcheck.reference.brokers.events import (
    ControllerEvent,
    Failover,
    LeaderMoveDue,
    MetadataDue,
    RegistrationRemoved,
    RegistrationWritten,
    RequestReceived,
    SessionExpired,
    StoreIsrReceived,
    Tick,
)
from kraftcheck.reference.brokers.messages import (
    BrokerHeartbeatRequest,
    MetadataHeartbeatRequest,
    MetadataUpdate,
    StoreIsrRequest,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers import control_checks, shutdown_checks, time
from kraftcheck.systems.brokers.controller_step import ControllerStep
from kraftcheck.systems.brokers.history import Declared, HeartbeatAccepted, Label
from kraftcheck.systems.brokers.network import (
    CONTROLLER,
    TURN_TAKEN,
    InFlight,
    MetadataReplaced,
    ReadMetadata,
    SessionGone,
    Silenced,
    StoreRegistered,
    StoreRegistration,
)
from kraftcheck.systems.brokers.places import Control
from kraftcheck.systems.brokers.step import Action, Running, Step, session_ends
from kraftcheck.systems.brokers.wiring import Wiring


def deliver(wiring: Wiring, control: Control, message: InFlight) -> Iterator[Step]:
    """The step in which the controller receives a message; there is none while a tick is under way."""
    if control.left:
        return
    action = Action(type(message.payload).__name__, CONTROLLER, f"from {message.source}")
    event = _event(control, message)
    if event is None:
        yield Step(Outcome(action, control))
        return
    yield _run(wiring, control, (event,), action, message=message)


def _event(control: Control, message: InFlight) -> ControllerEvent | None:
    payload = message.payload
    if isinstance(payload, StoreRegistration):
        return RegistrationWritten(payload.broker, payload.version)
    if isinstance(payload, SessionGone):
        stored = views.stored(control.controller, payload.process.broker)
        mine = stored is not None and stored.incarnation == payload.process.incarnation
        return RegistrationRemoved(payload.process.broker) if mine else None
    assert message.sender is not None
    if isinstance(payload, StoreIsrRequest):
        return StoreIsrReceived(message.sender, payload)
    if isinstance(payload, ReadMetadata):
        return MetadataDue(message.sender)
    assert message.node is not None
    return RequestReceived(message.node, message.sender, payload)  # type: ignore[arg-type]


def actions(wiring: Wiring, control: Control) -> Iterator[Step]:
    """The steps of the controller without a message: time-outs, failovers and moves of leaders."""
    if control.left:
        if time.has_turn(control):
            yield _take_turn(wiring, control)
        return
    expiry = wiring.price("timeouts")
    if not wiring.is_timed and expiry is not None:
        for broker in sorted(set(wiring.ids)):
            if wiring.silent_only and not _is_silent(control, broker):
                continue
            if wiring.environment.protects_last_isr_member and _is_last_member(control, broker):
                continue
            expired = (SessionExpired(broker),)
            yield from _run(wiring, control, expired, session_ends(broker), expiry).unless_idle(control)
    failover = wiring.price("failovers")
    if failover is not None:
        for node in wiring.nodes:
            if node != control.controller.active:
                action = Action("failover", CONTROLLER, f"to node {node}")
                yield _run(wiring, control, (Failover(node),), action, failover)
    for each in wiring.partitions if wiring.is_draft else ():
        event = LeaderMoveDue(each.topic, each.index)
        action = Action("leader moves", CONTROLLER, wiring.named(each))
        yield from _run(wiring, control, (event,), action).unless_idle(control)


def with_silence(control: Control, signal: Silenced) -> Control:
    """``control`` after it stops hearing from a process, or hears it again."""
    others = {each for each in control.silent if each != signal.incarnation}
    silent = others | ({signal.incarnation} if signal.silent else set())
    return replace(control, silent=tuple(sorted(silent)))


def _is_silent(control: Control, broker: int) -> bool:
    """Whether the controller no longer hears from the process that its timer of a broker id waits for."""
    incarnation = awaited(control, broker)
    return incarnation is None or incarnation in control.silent


def awaited(control: Control, broker: int) -> int | None:
    """The incarnation whose heartbeats the controller's timer of a broker id waits for, if it waits."""
    controller = control.controller
    if isinstance(controller.durable, Store):
        return views.remembered(controller, broker).incarnation
    known = views.registration(controller, broker)
    return None if known is None else known.incarnation


def _is_last_member(control: Control, broker: int) -> bool:
    """Whether ``broker`` is the only member of an ISR, which it then never leaves."""
    return any(each.isr == (broker,) for each in control.controller.durable.partitions)


def _take_turn(wiring: Wiring, control: Control) -> Step:
    """The clock of the controller moves: once, or with drift not at all or twice."""
    action = Action("tick", CONTROLLER, "" if control.moves == 1 else f"{control.moves} times")
    taken = cast(Control, time.after_turn(control))
    signals = (Signal(0, content=TURN_TAKEN),)
    return _run(wiring, taken, (Tick(),) * control.moves, action, signals=signals)


def _run(
    wiring: Wiring,
    control: Control,
    events: tuple[ControllerEvent, ...],
    action: Action,
    costs: tuple[int, ...] = (),
    *,
    message: InFlight | None = None,
    signals: tuple[Signal, ...] = (),
) -> Step:
    running, leaving = Running(wiring, control.controller), control.leaving
    for event in events:
        asked = running.state
        outcome = running.on(event)
        step = ControllerStep(wiring.protocol, asked, event, outcome, leaving, wiring.hand_over_survives)
        running.violations |= dict.fromkeys(control_checks.violations(step))
        running.goals |= dict.fromkeys(control_checks.goals(step))
        leaving = shutdown_checks.leaving_after(step)
    controller, effects = running.state, running.effects
    homes = dict(control.homes)
    for effect in effects:
        if isinstance(effect, Registered) and message is not None:
            homes[effect.process.incarnation] = message.source
    after = replace(control, controller=controller, homes=tuple(sorted(homes.items())), leaving=leaving)
    labels = (*_accepted_heartbeats(events, effects), *_declarations(control.controller, controller))
    sends = tuple(_sends(effects, homes, message))
    if wiring.environment.metadata == "newest":
        receivers = [sent.destination for sent in sends if isinstance(sent.payload, MetadataUpdate)]
        signals += tuple(Signal(0, wiring.places.index(each), MetadataReplaced()) for each in receivers)
    return running.step(action, after, sends=sends, labels=labels, costs=costs, signals=signals)


def _sends(
    effects: list[ControllerEffect], homes: dict[int, str], message: InFlight | None
) -> Iterator[InFlight]:
    for effect in effects:
        if isinstance(effect, Reply) and message is not None and message.answerable:
            yield InFlight(CONTROLLER, message.source, effect.response, node=effect.node)
        elif isinstance(effect, StoreReply) and message is not None and message.answerable:
            yield InFlight(CONTROLLER, message.source, effect.response)
        elif isinstance(effect, Registered) and message is not None:
            yield InFlight(CONTROLLER, message.source, StoreRegistered(effect.process, effect.version))
        elif isinstance(effect, SendMetadata):
            home = homes.get(effect.to.incarnation)
            if message is not None and message.sender == effect.to:
                home = message.source
            if home is not None:
                yield InFlight(CONTROLLER, home, effect.update)


def _accepted_heartbeats(
    events: tuple[ControllerEvent, ...], effects: list[ControllerEffect]
) -> Iterator[Label]:
    for event in events:
        accepted = any(isinstance(each, Reply) and not each.response.error for each in effects)
        if not accepted or not isinstance(event, RequestReceived):
            continue
        request = event.request
        if isinstance(request, MetadataHeartbeatRequest):
            yield HeartbeatAccepted(request.broker, request.incarnation, event.source.incarnation)
        elif isinstance(request, BrokerHeartbeatRequest):
            yield HeartbeatAccepted(request.broker, request.epoch, event.source.incarnation)


def _declarations(before: Controller, after: Controller) -> Iterator[Label]:
    old, new = (active_processes(each) for each in (before, after))
    yield from (Declared(process, True) for process in sorted(old - new))
    yield from (Declared(process, False) for process in sorted(new - old))


def active_processes(controller: Controller) -> set[int]:
    """The incarnation ids of the processes that the controller holds to be active (unfenced)."""
    durable = controller.durable
    if isinstance(durable, MetadataLog):
        return {each.incarnation for each in durable.registrations if not each.fenced}
    return {each.life for each in views.visible_brokers(controller) if each.life is not None}
