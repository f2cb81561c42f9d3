"""The decisions of the controller and of broker processes, as decision tables show them: the reference is
asked about every situation of a table (:mod:`kraftcheck.query.decision_table`).

The words do not depend on the numbers of a situation. "It" is broker 1, which the tables are about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from kraftcheck.query.broker_consistency import problems
from kraftcheck.query.broker_occurrence import BROKER, fitted, occurs
from kraftcheck.query.broker_step import ask
from kraftcheck.query.decision_table import Decision
from kraftcheck.reference.brokers import views
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
from kraftcheck.reference.brokers.messages import (
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
    Request,
    Response,
)
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


def _response(before: Controller, response: Response) -> str:
    draft = isinstance(before.durable, Store)
    error = error_name(response.error, draft=draft)
    if isinstance(response, IsrChangeResponse | AlterPartitionResponse):
        if response.error is not BrokerErrorCode.NONE:
            return f"{error} (top level)"
        if isinstance(response, IsrChangeResponse):
            codes = response.results
        else:
            codes = tuple(each.error for each in response.partitions)
        return ", ".join(error_name(code, draft=draft) for code in codes)
    if response.error is not BrokerErrorCode.NONE:
        return error
    if isinstance(response, MetadataHeartbeatResponse):
        return "none" if response.state is None else response.state.name
    if isinstance(response, BrokerRegistrationResponse):
        known = views.registration(before, BROKER)
        return "its broker epoch" if known and known.epoch == response.epoch else "a new broker epoch"
    return _heartbeat_response(response)


def _heartbeat_response(response: BrokerHeartbeatResponse) -> str:
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


def _sent(request: Request) -> str:
    text = f"sends {type(request).__name__.removesuffix('Request')}"
    if isinstance(request, MetadataHeartbeatRequest):
        text += f" for {request.target.name}"
    if isinstance(request, BrokerHeartbeatRequest):
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
    parts = []
    if now.awaiting != was.awaiting:
        parts.append("awaits an answer" if set(now.awaiting) > set(was.awaiting) else "awaits no answer")
    if now.controller != was.controller:
        parts.append("knows no controller" if now.controller is None else "knows the controller")
    if now.controller_epoch != was.controller_epoch:
        parts.append("newer controller epoch")
    if now.epoch != was.epoch:
        parts.append("takes the broker epoch")
    if now.target is not was.target:
        parts.append(f"requests {now.target.name}")
    if now.superseded and not was.superseded:
        parts.append("superseded")
    parts += _changes(was, now)
    parts += _metadata(was, now)
    return ", ".join([*parts, *_time(was.ticks, now.ticks), *_request_time(was, now)]) or UNCHANGED


def _changes(was: Broker, now: Broker) -> Iterator[str]:
    if len(now.pending) > len(was.pending):
        yield "ISR change pending"
    elif len(now.pending) < len(was.pending):
        yield "ISR change settled"
    elif now.pending != was.pending:
        yield "ISR change waits for metadata"


def _metadata(was: Broker, now: Broker) -> Iterator[str]:
    if now.partitions != was.partitions:
        yield "takes the partition"
    if now.visible != was.visible:
        yield "takes the visible brokers"
    if now.offset != was.offset:
        yield "has read further"


def _request_time(was: Broker, now: Broker) -> list[str]:
    if was.request_ticks == now.request_ticks:
        return []
    return ["time of the request over" if now.request_ticks == 0 else "time of the request runs on"]
