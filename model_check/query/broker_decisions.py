"""The decisions of the controller and of broker processes, as decision tables show them: the reference is
asked about every situation of a table (:mod:`kraftcheck.query.decision_table`).

The words do not depend on the numbers of a situation. "It" is broker 1, which the tables are about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from kraftcheck.query.broker_consistency import problems
from kraftcheck.query.broker_occurrence import BROKER, fitted, occurs
from kraftcheck.query.broker_step import ask
from kraftcheck.query.decision_table import Decision
from kraftcheck.reference.brokers import messages, views
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller, MetadataLog, Session, Store
from kraftcheck.reference.brokers.effects import (
    Accepted,
    BrokerDeclared,
    BrokerEffect,
    Completed,
    ControllerEffect,
    FencedItself,
    ForgetRequest,
    Refused,
    Reply,
    Send,
    SendMetadata,
    Stop,
    StoreReply,
    Unfenced,
    WriteStore,
)
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.brokers.step import BrokerOutcome, ControllerOutcome
from kraftcheck.systems.brokers.short_form import error_name

#: The word for a state that a step does not change.
UNCHANGED = "as before"
#: The controller and what happens to it, or a process and what happens to it.
Situation: TypeAlias = tuple[Controller | Broker, ControllerEvent | BrokerEvent]


def possible(protocol: BrokerProtocol, situation: Situation) -> Situation | None:
    """A situation as it is under ``protocol``; ``None`` if it cannot occur there."""
    state, event = situation
    state = fitted(protocol, state)
    return None if any(problems(protocol, state)) or not occurs(protocol, state) else (state, event)


def decision(protocol: BrokerProtocol, situation: Situation) -> Decision | None:
    """What is decided in a situation; ``None`` if it cannot occur under ``protocol``."""
    found = possible(protocol, situation)
    return None if found is None else describe(protocol, found[0], ask(protocol, *found))


def describe(
    protocol: BrokerProtocol, before: Controller | Broker, outcome: ControllerOutcome | BrokerOutcome
) -> Decision:
    """What an outcome decided. The controller's is its answer, the broker as it holds it afterwards, and what
    it writes; a process writes nothing durably.
    """
    if isinstance(outcome, ControllerOutcome):
        assert isinstance(before, Controller)
        return _of_controller(before, outcome)
    assert isinstance(before, Broker)
    return _of_process(protocol, before, outcome)


def _of_controller(before: Controller, outcome: ControllerOutcome) -> Decision:
    results = {
        "answer": _answer(before, outcome.effects),
        "broker afterwards": _broker_afterwards(before, outcome.state),
        "written": _written(before.durable, outcome.state.durable),
        "other effects": _other_effects(outcome.effects),
    }
    answer, broker, writes, effects = results.values()
    told = "no answer" if answer == "none" else answer
    writes = "writes nothing" if writes == "nothing" else f"written: {writes}"
    rest = "" if effects == "none" else f"; {effects}"
    return Decision(tuple(results.items()), f"{told}; broker {broker}; {writes}{rest}", outcome.rules)


def _of_process(protocol: BrokerProtocol, before: Broker, outcome: BrokerOutcome) -> Decision:
    results = {
        "does": _does(outcome.effects),
        "process afterwards": _process_afterwards(protocol, before, outcome.state),
        "in memory": _in_memory(before, outcome.state),
    }
    does, process, memory = results.values()
    done = "does nothing" if does == "nothing" else does
    rest = "" if memory == UNCHANGED else f"; {memory}"
    return Decision(tuple(results.items()), f"{done}; process {process}{rest}", outcome.rules)


# The controller.


def _answer(before: Controller, effects: Iterable[ControllerEffect]) -> str:
    """The response of the controller; ``none`` without one."""
    for effect in effects:
        if isinstance(effect, StoreReply):
            return "written" if effect.response.written else "not written"
        if isinstance(effect, Reply):
            return _response(before, effect.response)
    return "none"


def _response(before: Controller, response: messages.Response) -> str:
    draft = isinstance(before.durable, Store)
    error = error_name(response.error, draft=draft)
    if isinstance(response, messages.IsrChangeResponse | messages.AlterPartitionResponse):
        if response.error is not BrokerErrorCode.NONE:
            return f"{error} (top level)"
        if isinstance(response, messages.IsrChangeResponse):
            codes = response.results
        else:
            codes = tuple(each.error for each in response.partitions)
        return ", ".join(error_name(code, draft=draft) for code in codes)
    if response.error is not BrokerErrorCode.NONE:
        return error
    if isinstance(response, messages.MetadataHeartbeatResponse):
        return "none" if response.state is None else response.state.name
    if isinstance(response, messages.BrokerRegistrationResponse):
        known = views.registration(before, BROKER)
        return "its broker epoch" if known and known.epoch == response.epoch else "a new broker epoch"
    return _heartbeat_response(response)


def _heartbeat_response(response: messages.BrokerHeartbeatResponse) -> str:
    parts = ["caught up" if response.caught_up else "not caught up"]
    parts.append("fenced" if response.fenced else "not fenced")
    return ", ".join(parts + (["shall shut down"] if response.should_shut_down else []))


def _broker_afterwards(before: Controller, after: Controller) -> str:
    """The state of the broker as the controller holds it after a step, if it differs from before."""
    if _held(before) == _held(after):
        return UNCHANGED
    if isinstance(after.durable, Store):
        return _held_in_draft(before, after)
    known = views.registration(after, BROKER)
    if known is None:
        state = "unregistered"
    else:
        state = "fenced" if known.fenced else "unfenced"
        state += ", in controlled shutdown" if known.in_controlled_shutdown else ""
    return f"{state}, {_session(views.session(before, BROKER), views.session(after, BROKER))}"


def _held(controller: Controller) -> tuple[object, ...]:
    """Everything that the controller knows of the broker."""
    if isinstance(controller.durable, Store):
        return views.is_legacy(controller, BROKER), views.remembered(controller, BROKER)
    return views.registration(controller, BROKER), views.session(controller, BROKER)


def _held_in_draft(before: Controller, after: Controller) -> str:
    parts = ["legacy" if views.is_legacy(after, BROKER) else views.state_of(after, BROKER).name]
    was, now = views.remembered(before, BROKER), views.remembered(after, BROKER)
    if now.incarnation != was.incarnation:
        forgotten = now.incarnation is None
        parts.append("incarnation forgotten" if forgotten else "this incarnation remembered")
    return ", ".join(parts + _time(was.ticks, now.ticks))


def _time(was: int, now: int) -> list[str]:
    """How a counter of ticks changed."""
    if was == now:
        return []
    return ["timer back at 0" if now == 0 else "timer runs on"]


def _session(was: Session | None, now: Session | None) -> str:
    if now is None:
        return "no session" if was is None else "session ended"
    begins = ["session"] if was is not None else ["new session"]
    before = Session(BROKER) if was is None else was
    parts = begins + _time(before.ticks, now.ticks)
    if now.shutdown_offset is not None:
        parts.append("may shut down once all have read")
    return ", ".join(parts)


def _written(before: Store | MetadataLog, after: Store | MetadataLog) -> str:
    """How the durable state changed."""
    parts = []
    if isinstance(before, Store) and isinstance(after, Store):
        was = next((each for each in before.registrations if each.broker == BROKER), None)
        now = next((each for each in after.registrations if each.broker == BROKER), None)
        if now != was:
            parts.append("registration" if now else "no registration")
    elif isinstance(before, MetadataLog) and isinstance(after, MetadataLog):
        parts += _records(before, after)
    known = {(each.topic, each.index): each for each in before.partitions}
    for partition in after.partitions:
        was_there = known[partition.topic, partition.index]
        if partition != was_there:
            parts += list(_partition(was_there, partition)) or ["next partition epoch"]
    return ", ".join(dict.fromkeys(parts)) or "nothing"


def _records(before: MetadataLog, after: MetadataLog) -> Iterator[str]:
    was = next((each for each in before.registrations if each.broker == BROKER), None)
    now = next((each for each in after.registrations if each.broker == BROKER), None)
    if now is None or now == was:
        return
    if was is None or now.epoch != was.epoch:
        yield "registration"
        return
    if now.fenced != was.fenced:
        yield "fenced" if now.fenced else "unfenced"
    if now.in_controlled_shutdown and not was.in_controlled_shutdown:
        yield "in controlled shutdown"


def _partition(was: Partition, now: Partition) -> Iterator[str]:
    if now.leader != was.leader:
        yield ("no leader" if now.leader is None else "it leads" if now.leader == BROKER else "another leads")
    if now.leader_epoch != was.leader_epoch:
        yield "next leader epoch"
    left, joined = set(was.isr) - set(now.isr), set(now.isr) - set(was.isr)
    if left and joined:
        yield "ISR changes"
    elif left:
        yield "it leaves the ISR" if left == {BROKER} else "ISR shrinks"
    elif joined:
        yield "ISR grows"
    if now.replicas != was.replicas or now.adding != was.adding:
        yield "reassignment ends"
    if was.recovering and not now.recovering:
        yield "recovery ends"


def _other_effects(effects: Iterable[ControllerEffect]) -> str:
    """The effects of the controller other than responses and writes."""
    parts = []
    for effect in effects:
        if isinstance(effect, BrokerDeclared) and effect.broker == BROKER:
            parts.append(f"declares it {effect.state.name}")
        elif isinstance(effect, SendMetadata):
            parts.append("sends metadata")
    return ", ".join(dict.fromkeys(parts)) or "none"


# A process.


def _does(effects: Iterable[BrokerEffect]) -> str:
    """The effects of a process."""
    words = {
        FencedItself: "fences itself",
        Unfenced: "unfences itself",
        Accepted: "accepts",
        Refused: "refuses",
        Completed: "completes",
        Stop: "ends",
        WriteStore: "writes the store",
        ForgetRequest: "will drop the answer",
    }
    parts = [_sent(effect.request) if isinstance(effect, Send) else words[type(effect)] for effect in effects]
    return ", ".join(dict.fromkeys(parts)) or "nothing"


def _sent(request: messages.Request) -> str:
    text = f"sends {type(request).__name__.removesuffix('Request')}"
    if isinstance(request, messages.MetadataHeartbeatRequest):
        text += f" for {request.target.name}"
    if isinstance(request, messages.BrokerHeartbeatRequest):
        text += " to stay fenced" if request.want_fence else ""
        text += " to shut down" if request.want_shutdown else ""
    return text


def _process_afterwards(protocol: BrokerProtocol, before: Broker, broker: Broker) -> str:
    """The state of a process after a step and whether it serves, if that differs from before."""
    words = _process(protocol, broker)
    return UNCHANGED if _process(protocol, before) == words else words


def _process(protocol: BrokerProtocol, broker: Broker) -> str:
    if broker.ended:
        return "ended"
    serves = "serves" if views.serves(protocol, broker) else "does not serve"
    if not protocol.is_draft:
        registered = "" if broker.epoch >= 0 else ", not registered"
        return f"{broker.life.value}{registered}, {serves}"
    state = "legacy" if broker.legacy else broker.state.name
    return f"{state}, {'fenced' if broker.fenced else serves}"


def _in_memory(was: Broker, now: Broker) -> str:
    """How the rest of the volatile state of a process changed."""
    if now.ended:
        return UNCHANGED
    changed = (said for name, said in _CHANGES.items() if getattr(now, name) != getattr(was, name))
    return ", ".join(said(was, now) for said in changed) or UNCHANGED


def _pending(was: Broker, now: Broker) -> str:
    if len(now.pending) > len(was.pending):
        return "ISR change pending"
    settled = len(now.pending) < len(was.pending)
    return "ISR change settled" if settled else "ISR change waits for metadata"


#: By field what it means that it has changed.
_CHANGES: Mapping[str, Callable[[Broker, Broker], str]] = {
    "awaiting": lambda was, now: f"awaits {'an' if set(now.awaiting) > set(was.awaiting) else 'no'} answer",
    "controller": lambda was, now: f"knows {'no' if now.controller is None else 'the'} controller",
    "controller_epoch": lambda was, now: "newer controller epoch",
    "epoch": lambda was, now: "takes the broker epoch",
    "target": lambda was, now: f"requests {now.target.name}",
    "superseded": lambda was, now: "superseded",
    "pending": _pending,
    "partitions": lambda was, now: "takes the partition",
    "visible": lambda was, now: "takes the visible brokers",
    "offset": lambda was, now: "has read further",
    "ticks": lambda was, now: _time(was.ticks, now.ticks)[0],
    "request_ticks": lambda was, now: f"time of the request {'runs on' if now.request_ticks else 'over'}",
}
