"""Conditions that a controller, a broker process or an event must meet before the reference takes a step.

The reference relies on the guarantees of its own steps: a state that breaks them occurs in no running
cluster. Fields of requests and responses are not judged, because the protocol says what a node does about a
wrong one. The state after the step is judged.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, get_args

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Api, Broker, Life
from kraftcheck.reference.brokers.controller import (
    HEARTBEAT_VERSION,
    LEGACY_VERSION,
    Controller,
    Liveness,
    MetadataLog,
    Store,
)
from kraftcheck.reference.brokers.events import BrokerEvent, ControllerEvent, IsrProposed, StoreIsrReceived
from kraftcheck.reference.brokers.messages import (
    BrokerState,
    MetadataUpdate,
    PartitionState,
    Request,
    Response,
    StoreIsrRequest,
    StoreIsrResponse,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerProtocol, ContactTime, IsrChanges
from kraftcheck.reference.frozen import Frozen
from kraftcheck.support.errors import InputError

#: The smallest number of a field, by its name; of all others it is 0.
_SMALLEST = {"offset": -1, "lives": -1}
#: Of a process these may be unknown too.
_SMALLEST_OF_BROKER = {**_SMALLEST, "epoch": -1}
_MESSAGES = (*get_args(Request), *get_args(Response), StoreIsrRequest, StoreIsrResponse)
#: Fields of a process that only one form has, and what they are in the other one.
_DRAFT_ONLY: Mapping[str, Any] = {
    "legacy": False,
    "target": BrokerState.ACTIVE,
    "state": BrokerState.INITIAL,
    "ticks": 0,
    "request_ticks": 0,
    "superseded": False,
}
_SHIPPED_ONLY: Mapping[str, Any] = {
    "life": Life.STARTING,
    "epoch": -1,
    "offset": -1,
    "cluster_id": "cluster",
    "features": (),
}


def require_consistent(
    protocol: BrokerProtocol, state: Controller | Broker, event: ControllerEvent | BrokerEvent
) -> None:
    """Raise InputError for the first condition that is not met."""
    for where, found in (("STATE", problems(protocol, state)), ("EVENT", event_problems(event))):
        for problem in found:
            raise InputError(f"{where}{problem}.")


def require_consistent_after(protocol: BrokerProtocol, state: Controller | Broker) -> None:
    """Raise InputError if a step has led to ``state``, and no running cluster can be like it."""
    for problem in problems(protocol, state):
        raise InputError(f"EVENT: leads to a state that no running cluster is in; {problem}.")


def problems(protocol: BrokerProtocol, state: Controller | Broker) -> Iterator[str]:
    """What is wrong with ``state``, each as the place of a field and a clause that says what is expected."""
    yield from _small_numbers(state)
    yield from (
        _of_controller(protocol, state) if isinstance(state, Controller) else _of_broker(protocol, state)
    )


def event_problems(event: ControllerEvent | BrokerEvent) -> Iterator[str]:
    """What is wrong with ``event``; see :func:`problems`."""
    yield from _small_numbers(event)
    update = getattr(event, "update", None)
    if isinstance(update, MetadataUpdate):
        yield from _ascending(".update.brokers", update.brokers, ("broker",))
        yield from _known_partitions(".update.partitions", update.partitions)
    if (version := getattr(event, "version", HEARTBEAT_VERSION)) not in (LEGACY_VERSION, HEARTBEAT_VERSION):
        yield f".version: expected {LEGACY_VERSION} or {HEARTBEAT_VERSION}, found {version}"
    if isinstance(event, StoreIsrReceived):
        yield from _isr(".request.isr", event.request.isr)
    if isinstance(event, IsrProposed):
        yield from _lives_fetched(event)
    if isinstance(event, IsrProposed) and (
        twice := _repeated([(each.topic, each.index) for each in event.proposals])
    ):
        yield f".proposals: expected one proposal for each partition, found {twice[0][0]}-{twice[0][1]} twice"


def _lives_fetched(event: IsrProposed) -> Iterator[str]:
    for index, proposal in enumerate(event.proposals):
        for place, member in enumerate(proposal.fetched):
            if member.epoch < 0:
                expected = "expected a broker epoch (leave out a member whose fetches say none)"
                yield f".proposals[{index}].fetched[{place}].epoch: {expected}, found {member.epoch}"


def draft_evidence(broker: Broker) -> tuple[str, ...]:
    """The fields that only a process of the draft has at these values."""
    return tuple(name for name, usual in _DRAFT_ONLY.items() if getattr(broker, name) != usual)


def shipped_evidence(broker: Broker) -> tuple[str, ...]:
    """The fields that only a process of the shipped form has at these values."""
    found = [name for name, usual in _SHIPPED_ONLY.items() if getattr(broker, name) != usual]
    return (*found, "awaiting") if Api.REGISTRATION in broker.awaiting else tuple(found)


# Numbers.


@lru_cache(maxsize=4096)
def _small_numbers(value: Frozen) -> tuple[str, ...]:
    """Numbers that are smaller than their field allows, wherever in ``value``. Tables ask about the same
    states and parts of states again and again.
    """
    smallest = _SMALLEST_OF_BROKER if isinstance(value, Broker) else _SMALLEST
    return tuple(
        problem
        for name in type(value).__struct_fields__
        for problem in _too_small(getattr(value, name), f".{name}", smallest.get(name, 0))
    )


def _too_small(part: Any, place: str, least: int) -> Iterator[str]:
    if type(part) is int and part < least:
        yield f"{place}: expected a number from {least} on, found {part}"
    elif isinstance(part, tuple):
        for index, each in enumerate(part):
            yield from _too_small(each, f"{place}[{index}]", least)
    elif isinstance(part, Frozen) and not isinstance(part, _MESSAGES):
        yield from (place + problem for problem in _small_numbers(part))


# The controller.


def _of_controller(protocol: BrokerProtocol, controller: Controller) -> Iterator[str]:
    durable = controller.durable
    if isinstance(durable, Store) != protocol.is_draft:
        kind, form = ("a store", "draft") if isinstance(durable, Store) else ("a metadata log", "shipped")
        yield f".durable: {kind} is of the {form} form; pass --protocol {form}, or the other kind of durable"
    foreign = "sessions" if isinstance(durable, Store) else "brokers"
    if getattr(controller, foreign):
        yield f".{foreign}: expected none with this kind of durable state"
    if controller.active is None and (controller.brokers or controller.sessions):
        yield ".active: expected a node, as there is something in its memory"
    yield from _ascending(".durable.registrations", durable.registrations, ("broker",))
    yield from _ascending(".durable.partitions", durable.partitions, ("topic", "index"))
    for index, partition in enumerate(durable.partitions):
        yield from _partition(f".durable.partitions[{index}]", partition)
        if not _any_legacy(durable):
            yield from _leader_in_isr(f".durable.partitions[{index}]", partition)
    if isinstance(durable, Store):
        yield from _of_store(durable)
        yield from _incarnations(controller, durable)
    else:
        yield from _of_log(durable)
        yield from _leaders(controller)
    yield from _memory(protocol, controller)


def _of_store(store: Store) -> Iterator[str]:
    for index, stored in enumerate(store.registrations):
        where = f".durable.registrations[{index}]"
        if stored.version not in (LEGACY_VERSION, HEARTBEAT_VERSION):
            expected = f"expected {LEGACY_VERSION} or {HEARTBEAT_VERSION}"
            yield f"{where}.version: {expected}, found {stored.version}"


def _incarnations(controller: Controller, store: Store) -> Iterator[str]:
    """An incarnation is the id of the transaction that registered it."""
    written = [
        (f".durable.registrations[{index}].incarnation", each.broker, each.incarnation)
        for index, each in enumerate(store.registrations)
    ]
    remembered = [
        (f".brokers[{index}].incarnation", each.broker, each.incarnation)
        for index, each in enumerate(controller.brokers)
        if each.incarnation is not None
    ]
    known = [*written, *remembered]
    for where, _, incarnation in known:
        if incarnation > store.last_transaction:
            expected = f"expected at most the store's last-transaction, {store.last_transaction}"
            yield f"{where}: {expected}, found {incarnation}"
    yield from _of_one_broker(known)


def _of_one_broker(lives: Iterable[tuple[str, int, int]]) -> Iterator[str]:
    """Each life, an incarnation or a broker epoch with its place and its broker, is of one broker alone."""
    known: dict[int, int] = {}
    for where, broker, life in lives:
        if (other := known.setdefault(life, broker)) != broker:
            yield f"{where}: expected one of its own, found {life}, that of broker {other}"


def _of_log(log: MetadataLog) -> Iterator[str]:
    epochs = [
        (f".durable.registrations[{index}].epoch", each.broker, each.epoch)
        for index, each in enumerate(log.registrations)
    ]
    for where, _, epoch in epochs:
        yield from _below_end(where, log, epoch)
    yield from _of_one_broker(epochs)


def _leaders(controller: Controller) -> Iterator[str]:
    """When a broker can no longer lead, another broker leads in the same step, or none (HBK-4, HBK-6)."""
    for index, partition in enumerate(controller.durable.partitions):
        if partition.leader is not None and not leads_at_times(controller, partition.leader):
            expected = "expected none, or a registered broker, not fenced and with no shutdown under way"
            yield f".durable.partitions[{index}].leader: {expected}, found {partition.leader}"


def leads_at_times(controller: Controller, broker: int) -> bool:
    """Whether in the form that shipped a broker leads in some reached state: if it can, or was unfenced again
    after a controlled shutdown that is forgotten (HBK-7).
    """
    known, session = views.registration(controller, broker), views.session(controller, broker)
    unfenced = known is not None and not known.fenced
    return unfenced and (session is None or session.shutdown_offset is None)


def _below_end(where: str, log: MetadataLog, offset: int) -> Iterator[str]:
    if offset >= log.end_offset:
        yield f"{where}: expected an offset below the log's end-offset, {log.end_offset}, found {offset}"


def _memory(protocol: BrokerProtocol, controller: Controller) -> Iterator[str]:
    yield from _ascending(".brokers", controller.brokers, ("broker",))
    yield from _ascending(".sessions", controller.sessions, ("broker",))
    for index, known in enumerate(controller.brokers):
        yield from _remembered(protocol, f".brokers[{index}]", known)
    for index, session in enumerate(controller.sessions):
        yield from _ticks(f".sessions[{index}].ticks", session.ticks, protocol.controller_timeout)
    if isinstance(controller.durable, MetadataLog):
        yield from _sessions(controller, controller.durable)
        yield from _unfenced(controller, controller.durable)


def _sessions(controller: Controller, log: MetadataLog) -> Iterator[str]:
    """A session is of a registered broker, and says what the log has; from when on the broker may shut down
    is known while it is in a controlled shutdown and not fenced.
    """
    registered = {each.broker: each for each in log.registrations}
    for index, session in enumerate(controller.sessions):
        where, of_broker = f".sessions[{index}]", registered.get(session.broker)
        if of_broker is None:
            yield f"{where}.broker: expected a registered broker, found {session.broker}"
        yield from _below_end(f"{where}.offset", log, session.offset)
        if session.shutdown_offset is None:
            continue
        yield from _below_end(f"{where}.shutdown_offset", log, session.shutdown_offset)
        if of_broker is not None and (of_broker.fenced or not of_broker.in_controlled_shutdown):
            expected = f"expected none, as broker {session.broker} is not leaving in a controlled shutdown"
            yield f"{where}.shutdown_offset: {expected}, found {session.shutdown_offset}"


def _unfenced(controller: Controller, log: MetadataLog) -> Iterator[str]:
    """An active controller fences a broker in the step that ends its session."""
    if controller.active is None:
        return
    heard = {each.broker for each in controller.sessions}
    for registered in log.registrations:
        if not registered.fenced and registered.broker not in heard:
            yield f".sessions: expected one of broker {registered.broker}, as its registration is not fenced"


def _remembered(protocol: BrokerProtocol, where: str, known: Liveness) -> Iterator[str]:
    if known.state is BrokerState.INITIAL:
        yield f"{where}.state: expected inactive, active or stopping, found initial"
    if known.state is BrokerState.INACTIVE and known.ticks:
        yield f"{where}.ticks: expected 0 of an inactive broker, found {known.ticks}"
    yield from _ticks(f"{where}.ticks", known.ticks, protocol.controller_timeout)


def _ticks(
    where: str, ticks: int, timeout: int | None, switch: str = "controller-timeout", extra: int = 0
) -> Iterator[str]:
    if timeout is None:
        if ticks:
            yield f"{where}: expected 0, as clocks do not run without --set {switch}=TICKS, found {ticks}"
    elif ticks >= timeout + extra:
        yield f"{where}: expected less than the time-out of {timeout}, found {ticks}"


def _partition(where: str, partition: Partition) -> Iterator[str]:
    replicas = set(partition.replicas)
    if not replicas or len(replicas) < len(partition.replicas):
        yield f"{where}.replicas: expected at least one, each once, found {_list(partition.replicas)}"
    yield from _isr(f"{where}.isr", partition.isr)
    for name in ("isr", "adding", "removing"):
        outside = [each for each in getattr(partition, name) if each not in replicas]
        if outside:
            yield f"{where}.{name}: expected replicas, {_list(partition.replicas)}, found {_list(outside)}"
    if partition.leader is not None and partition.leader not in replicas:
        expected = f"expected one of the replicas, {_list(partition.replicas)}, or none"
        yield f"{where}.leader: {expected}, found {partition.leader}"


def _any_legacy(durable: Store | MetadataLog) -> bool:
    """Whether a registered broker writes into the store without the controller: nothing checks then that an
    ISR contains its leader (COMPAT-1).
    """
    return isinstance(durable, Store) and any(
        each.version == LEGACY_VERSION for each in durable.registrations
    )


def _leader_in_isr(where: str, partition: Partition) -> Iterator[str]:
    leader = partition.leader
    if leader in partition.replicas and leader not in partition.isr:
        expected = f"expected a member of the ISR, {_list(partition.isr)}, or none"
        yield f"{where}.leader: {expected}, found {leader}"


def _isr(where: str, isr: Sequence[int]) -> Iterator[str]:
    if list(isr) != sorted(set(isr)):
        yield f"{where}: expected distinct ids in ascending order, found {_list(isr)}"


def _ascending(where: str, values: Sequence[Frozen], key: tuple[str, ...]) -> Iterator[str]:
    keys: list[tuple[Any, ...]] = [tuple(getattr(each, name) for name in key) for each in values]
    if twice := _repeated(keys):
        told = "-".join(map(str, twice[0]))
        yield f"{where}: expected one for each {' and '.join(key)}, found {told} twice"
    elif keys != sorted(keys):
        yield f"{where}: expected ascending order by {' and '.join(key)}"


def _repeated(keys: Sequence[tuple[Hashable, ...]]) -> list[tuple[Hashable, ...]]:
    return [key for number, key in enumerate(keys) if key in keys[:number]]


def _list(ids: Sequence[int]) -> str:
    return f"[{' '.join(map(str, ids))}]"


# A process.


def _of_broker(protocol: BrokerProtocol, broker: Broker) -> Iterator[str]:
    if broker.ended and broker != Broker(broker.id, broker.incarnation, ended=True):
        yield ".ended: expected id and incarnation alone of a process that has ended"
    form, other = ("draft", "shipped") if protocol.is_draft else ("shipped", "draft")
    foreign = shipped_evidence(broker) if protocol.is_draft else draft_evidence(broker)
    for name in foreign:
        if name == "superseded" and protocol.isr_changes is IsrChanges.ISR_CHANGE:
            continue  # told by the answer to IsrChange, in either form
        what = "registration to await" if name == "awaiting" else "such field"
        yield f".{name}: the {form} form has no {what}; leave it out, or pass --protocol {other}"
    order = [api for api in Api if api in broker.awaiting]
    if list(broker.awaiting) != order:
        yield f".awaiting: expected each once, as in [{' '.join(api.value for api in order)}]"
    yield from _ascending(".visible", broker.visible, ("broker",))
    yield from _lives_told(protocol, broker)
    yield from _known_partitions(".partitions", broker.partitions)
    yield from _pending(protocol, broker)
    if not broker.ended:
        yield from _in_its_state(broker) if protocol.is_draft else _in_its_life(broker)
    timeout = protocol.broker_timeout
    yield from _ticks(".ticks", broker.ticks, timeout, "broker-timeout")
    if broker.fenced and broker.ticks:
        yield f".ticks: expected 0 of a fenced process, found {broker.ticks}"
    yield from _ticks(".request_ticks", broker.request_ticks, timeout, "broker-timeout", extra=1)
    if broker.request_ticks and protocol.contact_time is not ContactTime.REQUEST:
        yield ".request_ticks: expected 0 without --set contact-time=request"
    if broker.request_ticks and Api.HEARTBEAT not in broker.awaiting:
        yield f".request_ticks: expected 0 without a heartbeat under way, found {broker.request_ticks}"


def _lives_told(protocol: BrokerProtocol, broker: Broker) -> Iterator[str]:
    """Each life is of one broker, the own one too; in the shipped form it is an offset that was read."""
    own, life = ("incarnation", broker.incarnation) if protocol.is_draft else ("epoch", broker.epoch)
    told = [
        (f".visible[{index}].life", each.broker, each.life)
        for index, each in enumerate(broker.visible)
        if each.life is not None
    ]
    yield from _of_one_broker([(f".{own}", broker.id, life), *told])
    if not protocol.is_draft:
        for where, _, known in told:
            if known > broker.offset:
                expected = f"expected at most the offset that was read, {broker.offset}"
                yield f"{where}: {expected}, found {known}"


def _in_its_state(broker: Broker) -> Iterator[str]:
    """What a process of the draft can be, given the state that it was given last. It serves only once that
    was active or stopping (FENCE-9), until it is inactive (FENCE-6).
    """
    if broker.legacy:
        yield from _of_legacy(broker)
        return
    if broker.target is BrokerState.INITIAL:
        yield ".target: expected active, stopping or inactive, found initial"
    state = broker.state.name.lower()
    if broker.state in (BrokerState.INITIAL, BrokerState.INACTIVE) and not broker.fenced:
        yield f".fenced: expected yes of a process whose state is {state}, found no"
    if broker.state is BrokerState.INITIAL and broker.accepted:
        yield f".accepted: expected 0 of a process whose state is {state}, found {broker.accepted}"


def _of_legacy(broker: Broker) -> Iterator[str]:
    """A legacy process knows of no states, and sends no heartbeats (COMPAT-1)."""
    for name in ("fenced", "superseded"):
        if getattr(broker, name):
            yield f".{name}: expected no of a legacy process, found yes"
    if broker.state is not BrokerState.INITIAL:
        yield f".state: expected initial of a legacy process, found {broker.state.name.lower()}"
    if broker.target not in (BrokerState.ACTIVE, BrokerState.INACTIVE):
        yield f".target: expected active or inactive of a legacy process, found {broker.target.name.lower()}"
    if broker.target is BrokerState.INACTIVE and not broker.accepted:
        yield ".target: expected active of a legacy process without accepted requests, found inactive"
    if broker.ticks:
        yield f".ticks: expected 0 of a legacy process, found {broker.ticks}"
    if Api.HEARTBEAT in broker.awaiting:
        yield ".awaiting: expected no heartbeat of a legacy process"


def _in_its_life(broker: Broker) -> Iterator[str]:
    """What a shipped process can be in a part of its life."""
    life, unregistered = broker.life, (Life.STARTING, Life.SHUTTING_DOWN)
    if broker.epoch < 0 and life not in unregistered:
        lives = " or ".join(each.value for each in unregistered)
        yield f".life: expected {lives} of a process without broker epoch, found {life.value}"
    if life is not Life.STARTING and broker.offset < broker.epoch:
        expected = (
            f"expected at least the broker epoch, {broker.epoch}, of a process whose life is {life.value}"
        )
        yield f".offset: {expected}, found {broker.offset}"
    if life in (Life.STARTING, Life.RECOVERY) and broker.accepted:
        yield f".accepted: expected 0 of a process whose life is {life.value}, found {broker.accepted}"


def _known_partitions(where: str, partitions: Sequence[PartitionState]) -> Iterator[str]:
    yield from _ascending(where, partitions, ("topic", "index"))
    for index, partition in enumerate(partitions):
        yield from _isr(f"{where}[{index}].isr", partition.isr)


def _pending(protocol: BrokerProtocol, broker: Broker) -> Iterator[str]:
    keys = [(each.topic, each.index) for each in broker.pending]
    if twice := _repeated(keys):
        yield f".pending: expected one change for each partition, found {twice[0][0]}-{twice[0][1]} twice"
    known = {(each.topic, each.index) for each in broker.partitions}
    by_life = protocol.isr_changes is IsrChanges.ALTER_PARTITION
    for index, change in enumerate(broker.pending):
        where = f".pending[{index}]"
        # A leader may ask for an ISR that names a member twice; that is for the controller to refuse.
        if list(change.isr) != sorted(change.isr):
            yield f"{where}.isr: expected ascending order, found {_list(change.isr)}"
        if (change.topic, change.index) not in known:
            yield f"{where}.topic: expected one of the partitions, found {change.topic}-{change.index}"
        lives = len(change.isr) if by_life else 0
        if len(change.lives) != lives:
            yield f"{where}.lives: expected {lives}, one for each member where it is AlterPartition"
    # What was asked for with AlterPartition may be settled by metadata while its answer is awaited.
    asks = any(not change.refused for change in broker.pending)
    if Api.ISR in broker.awaiting and not by_life and not asks:
        yield ".awaiting: expected a pending change that is not refused where an answer to isr is awaited"
