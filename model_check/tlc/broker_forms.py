"""States of brokers and their controller as states of ``tla/Brokers.tla``: see ``tla/README.md``.

What that module has no form for (legacy brokers, records of the partition, the shipped form) raises
:class:`~model_check.tlc.values.NoFormError`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import cast

from model_check.brokers.history import History
from model_check.brokers.network import InFlight, SessionGone, StoreRegistered, StoreRegistration
from model_check.brokers.places import Control, Machine, Time
from model_check.brokers.system import BrokerSystem, control_of
from model_check.engine.system import GlobalState
from model_check.tlc.values import NONE, NoFormError, State, Value, function, known, record, set_of
from reference.brokers.broker import Broker, PendingIsr
from reference.brokers.controller import HEARTBEAT_VERSION, Controller, Liveness, Store
from reference.brokers.errors import BrokerErrorCode
from reference.brokers.messages import (
    IsrChangeRequest,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
    MetadataUpdate,
    PartitionState,
    VisibleBroker,
)
from reference.brokers.partition import Partition

#: The budgets of the module and what the checker calls them. One that a scenario does not have is 0.
BUDGETS = {
    "timeouts": "timeouts",
    "contactLosses": "contact_losses",
    "requestTimeouts": "request_timeouts",
    "failovers": "failovers",
    "crashes": "crashes",
    "cuts": "cuts",
    "isrChanges": "isr_changes",
    "shutdowns": "shutdowns",
    "requests": "requests",
    "duplicates": "duplicates",
}
#: What the draft calls two of the codes.
_ERRORS = {
    BrokerErrorCode.INVALID_INCARNATION_ID: "INVALID_INCARNATION_ID",
    BrokerErrorCode.NOT_LEADER_FOR_PARTITION: "NOT_LEADER_FOR_PARTITION",
}


class BrokerForms:
    """The states of one system of brokers in TLA+; equal parts of states are translated once."""

    def __init__(self, system: BrokerSystem) -> None:
        wiring = system.wiring
        if not wiring.is_draft or wiring.legacy or wiring.data:
            raise NoFormError("the module has the form of KIP-343 alone, without legacy brokers and records")
        unknown = set(system.budget_names) - set(BUDGETS.values())
        if unknown:
            raise NoFormError(f"the module has no budget for {', '.join(sorted(unknown))}")
        self._system = system
        self._ids = tuple(sorted({*wiring.ids, *wiring.replicas}))
        self._known: dict[Control | Machine | InFlight, Value] = {}

    def state(self, state: GlobalState) -> State:
        """The values of the state variables. Raises NoFormError."""
        machines = zip(self._system.wiring.places[1:], state.locals[1:], strict=False)
        clocks = [local for local in state.locals if isinstance(local, Time)]
        return {
            "control": self._control(control_of(state)),
            "machine": function((place, self._machine(cast(Machine, local))) for place, local in machines),
            "time": record(ahead=clocks[0].ahead, left=clocks[0].left) if clocks else NONE,
            "network": self._network(cast(tuple[InFlight, ...], state.messages)),
            "history": _history(cast(History, state.history)),
            "budget": self._budget(state.budgets),
        }

    def _control(self, control: Control) -> Value:
        if control not in self._known:
            self._known[control] = record(
                controller=_controller(control.controller, self._ids),
                homes=function(control.homes),
                left=control.left,
                turn=control.turn,
                moves=control.moves,
            )
        return self._known[control]

    def _machine(self, machine: Machine) -> Value:
        if machine not in self._known:
            if machine.reads or machine.log or machine.ends or machine.sent or machine.committed:
                raise NoFormError("a machine has records, or reads the metadata log")
            self._known[machine] = record(
                broker=NONE if machine.broker is None else _broker(machine.broker),
                registers=machine.registers,
                cut=machine.cut,
                starts=machine.starts,
                left=machine.left,
                turn=machine.turn,
                moves=machine.moves,
            )
        return self._known[machine]

    def _network(self, messages: tuple[InFlight, ...]) -> Value:
        counted = Counter(messages)
        for message in counted:
            if message not in self._known:
                self._known[message] = _in_flight(message)
        return function((self._known[message], count) for message, count in counted.items())

    def _budget(self, left: tuple[int, ...]) -> Value:
        given = dict(zip(self._system.budget_names, left, strict=True))
        unbounded = self._system.wiring.unbounded
        return function(
            (name, NONE if ours in unbounded else given.get(ours, 0)) for name, ours in BUDGETS.items()
        )


def _history(history: History) -> Value:
    if history.committed:
        raise NoFormError("records of the partition are committed")
    return record(
        lives=function(history.lives),
        unanswered=set_of(history.unanswered),
        inactive=set_of(history.inactive),
        serving=set_of(history.serving),
        since=function(history.since),
    )


# The controller.


def _controller(controller: Controller, ids: Iterable[int]) -> Value:
    store = controller.durable
    if not isinstance(store, Store) or any(each.version != HEARTBEAT_VERSION for each in store.registrations):
        raise NoFormError("a broker is a legacy one, or there is a metadata log")
    remembered = {each.broker: each for each in controller.brokers}
    return record(
        active=known(controller.active),
        epoch=controller.epoch,
        registrations=function((each.broker, each.incarnation) for each in store.registrations),
        lastTransaction=store.last_transaction,
        partition=_partition(store.partitions),
        brokers=function((id, _liveness(remembered.get(id, Liveness(id)))) for id in ids),
    )


def _liveness(broker: Liveness) -> Value:
    return record(incarnation=known(broker.incarnation), state=broker.state.name, ticks=broker.ticks)


def _partition(partitions: tuple[Partition, ...] | tuple[PartitionState, ...]) -> Value:
    if not partitions:
        return NONE
    (partition,) = partitions
    if partition.recovering:
        raise NoFormError("a partition recovers from an unclean election")
    return record(
        leader=known(partition.leader),
        leaderEpoch=partition.leader_epoch,
        partitionEpoch=partition.partition_epoch,
        isr=set_of(partition.isr),
    )


# A process.


def _broker(broker: Broker) -> Value:
    return record(
        id=broker.id,
        incarnation=broker.incarnation,
        controller=known(broker.controller),
        controllerEpoch=broker.controller_epoch,
        awaiting=set_of(each.value for each in broker.awaiting),
        partition=_partition(broker.partitions),
        visible=_visible(broker.visible),
        pending=_pending(broker.pending),
        accepted=broker.accepted,
        ended=broker.ended,
        wish=broker.wish.name,
        state=broker.state.name,
        fenced=broker.fenced,
        ticks=broker.ticks,
        requestTicks=broker.request_ticks,
        superseded=broker.superseded,
    )


def _visible(brokers: tuple[VisibleBroker, ...]) -> Value:
    return function((each.broker, known(each.life)) for each in brokers)


def _pending(changes: tuple[PendingIsr, ...]) -> Value:
    if not changes:
        return NONE
    (change,) = changes
    return record(
        leaderEpoch=change.leader_epoch,
        partitionEpoch=change.partition_epoch,
        isr=set_of(change.isr),
        refused=change.refused,
    )


# Messages.


def _in_flight(message: InFlight) -> Value:
    return record(
        source=message.source,
        dest=message.destination,
        node=known(message.node),
        answerable=message.answerable,
        age=message.age,
        payload=function([("type", type(message.payload).__name__), *_payload(message).items()]),
    )


def _payload(message: InFlight) -> dict[str, Value]:
    payload = message.payload
    if isinstance(payload, MetadataHeartbeatRequest):
        return _life(payload) | {"target": payload.target.name}
    if isinstance(payload, IsrChangeRequest):
        (proposal,) = payload.partitions
        return _life(payload) | {"leaderEpoch": proposal.leader_epoch, "isr": set_of(proposal.isr)}
    if isinstance(payload, MetadataHeartbeatResponse):
        state = NONE if payload.state is None else payload.state.name
        return {"error": _error(payload.error), "state": state}
    if isinstance(payload, IsrChangeResponse):
        return {
            "error": _error(payload.error),
            "result": _error(payload.results[0]) if payload.results else NONE,
        }
    if isinstance(payload, MetadataUpdate):
        return {
            "controller": payload.controller,
            "controllerEpoch": payload.controller_epoch,
            "brokers": _visible(payload.brokers),
            "partition": _partition(payload.partitions),
        }
    if isinstance(payload, StoreRegistration):
        return {"broker": payload.broker}
    if isinstance(payload, StoreRegistered | SessionGone):
        return {"broker": payload.process.broker, "incarnation": payload.process.incarnation}
    raise NoFormError(f"a {type(payload).__name__} is in flight")


def _life(request: MetadataHeartbeatRequest | IsrChangeRequest) -> dict[str, Value]:
    return {"broker": request.broker, "incarnation": request.incarnation}


def _error(code: BrokerErrorCode) -> str:
    return _ERRORS.get(code, code.name)
