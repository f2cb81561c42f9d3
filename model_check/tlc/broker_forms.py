"""States of brokers and their controller as states of ``tla/Brokers.tla``: see ``tla/README.md``.

What that module has no form for (legacy brokers, records of the partition, a form of the protocol that is
neither the draft nor what shipped) raises :class:`~kraftcheck.tlc.values.NoFormError`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import cast

from kraftcheck.engine.system import GlobalState
from kraftcheck.reference.brokers.broker import Broker, PendingIsr
from kraftcheck.reference.brokers.controller import (
    HEARTBEAT_VERSION,
    BrokerRegistration,
    Controller,
    Liveness,
    Store,
)
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    IsrChangeRequest,
    IsrChangeResponse,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
    MetadataUpdate,
    PartitionProposal,
    PartitionResult,
    PartitionState,
    VisibleBroker,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import IsrChanges
from kraftcheck.systems.brokers.history import History
from kraftcheck.systems.brokers.network import (
    InFlight,
    Payload,
    ReadMetadata,
    SessionGone,
    StoreRegistered,
    StoreRegistration,
)
from kraftcheck.systems.brokers.places import Control, Machine, Time
from kraftcheck.systems.brokers.system import BrokerSystem, control_of
from kraftcheck.tlc.values import NONE, NoFormError, State, Value, field, fields, function, record, set_of

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


class BrokerForms:
    """The states of one system of brokers in TLA+; equal parts of states are translated once."""

    def __init__(self, system: BrokerSystem) -> None:
        wiring = system.wiring
        if wiring.legacy or wiring.data:
            raise NoFormError("the module has no legacy brokers, and no records of the partition")
        if wiring.restarts:
            raise NoFormError("the module starts no process where one has ended in order")
        if wiring.is_draft is not (wiring.protocol.isr_changes is IsrChanges.ISR_CHANGE):
            raise NoFormError("the module has IsrChange in the draft, and AlterPartition in what shipped")
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
                leaving=function(control.leaving),
                **fields(control, "silent left turn moves"),
            )
        return self._known[control]

    def _machine(self, machine: Machine) -> Value:
        if machine not in self._known:
            if machine.log or machine.ends or machine.sent or machine.committed:
                raise NoFormError("a machine has records")
            draft, running = self._system.wiring.is_draft, machine.broker
            self._known[machine] = record(
                broker=NONE if running is None else _process(running, draft=draft),
                **fields(machine, "registers reads cut starts left turn moves"),
            )
        return self._known[machine]

    def _network(self, messages: tuple[InFlight, ...]) -> Value:
        counted = Counter(messages)
        for message in counted:
            if message not in self._known:
                self._known[message] = _in_flight(message, draft=self._system.wiring.is_draft)
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
        lives=function(history.newest),
        since=function(history.inactive_for),
        **fields(history, "unanswered serving"),
    )


# The controller.


def _controller(state: Controller, ids: Iterable[int]) -> Value:
    """The controller; ``ids`` are all broker ids. Raises NoFormError."""
    log = state.durable
    if isinstance(log, Store):
        return _of_store(state, log, ids)
    if log.finalized:
        raise NoFormError("a feature is finalized")
    registrations = ((each.broker, _registration(each)) for each in log.registrations)
    return record(
        **fields(state, "active epoch"),
        registrations=function(registrations),
        endOffset=log.end_offset,
        partition=_partition(log.partitions),
        sessions=function(
            (each.broker, record(**fields(each, "ticks offset shutdown_offset"))) for each in state.sessions
        ),
    )


def _registration(registration: BrokerRegistration) -> Value:
    return record(**fields(registration, "incarnation epoch fenced in_controlled_shutdown"))


def _of_store(state: Controller, store: Store, ids: Iterable[int]) -> Value:
    if any(each.version != HEARTBEAT_VERSION for each in store.registrations):
        raise NoFormError("a broker is a legacy one")
    remembered = {each.broker: each for each in state.brokers}
    return record(
        **fields(state, "active epoch"),
        registrations=function((each.broker, each.incarnation) for each in store.registrations),
        lastTransaction=store.last_transaction,
        partition=_partition(store.partitions),
        brokers=function((id, _liveness(remembered.get(id, Liveness(id)))) for id in ids),
    )


def _liveness(broker: Liveness) -> Value:
    return record(**fields(broker, "incarnation state ticks"))


def _partition(partitions: tuple[Partition, ...] | tuple[PartitionState, ...]) -> Value:
    """The one partition, or ``None`` of the modules. Raises NoFormError."""
    if not partitions:
        return NONE
    (partition,) = partitions
    if partition.recovering:
        raise NoFormError("a partition recovers from an unclean election")
    if isinstance(partition, Partition) and (partition.adding or partition.removing):
        raise NoFormError("a partition is reassigned")
    return record(**fields(partition, "leader leader_epoch partition_epoch isr"))


# A process.


def _process(broker: Broker, *, draft: bool) -> Value:
    """A process of the draft, or of what shipped. Raises NoFormError."""
    if not draft and broker.features:
        raise NoFormError("a broker supports levels of features")
    of_form = "wish state fenced ticks request_ticks superseded" if draft else "life epoch offset"
    return record(
        **fields(broker, f"id incarnation controller controller_epoch accepted ended {of_form}"),
        awaiting=set_of(each.value for each in broker.awaiting),
        partition=_partition(broker.partitions),
        visible=_visible(broker.visible),
        pending=_pending(broker.pending, draft=draft),
    )


def _visible(brokers: tuple[VisibleBroker, ...]) -> Value:
    """The brokers that metadata shows, and which incarnation of each."""
    return function((each.broker, field(each.life)) for each in brokers)


def _pending(changes: tuple[PendingIsr, ...], *, draft: bool) -> Value:
    if not changes:
        return NONE
    (change,) = changes
    found = fields(change, "leader_epoch partition_epoch isr refused")
    if not draft:
        found["lives"] = function(zip(change.isr, change.lives, strict=True))
    return record(**found)


# Messages.

#: What the draft calls two of the codes.
_ERRORS_OF_THE_DRAFT = {
    BrokerErrorCode.INVALID_INCARNATION_ID: "INVALID_INCARNATION_ID",
    BrokerErrorCode.NOT_LEADER_FOR_PARTITION: "NOT_LEADER_FOR_PARTITION",
}
#: The messages whose fields have simple values.
_FIELDS: Mapping[type[Payload], str] = {
    StoreRegistration: "broker",
    MetadataHeartbeatRequest: "broker incarnation target",
    BrokerRegistrationRequest: "broker incarnation",
    BrokerRegistrationResponse: "error epoch",
    BrokerHeartbeatResponse: "error caught_up fenced should_shut_down",
}


def _in_flight(message: InFlight, *, draft: bool) -> Value:
    """A message in flight, in the draft or in what shipped. Raises NoFormError."""
    payload = message.payload
    if isinstance(payload, ReadMetadata) and message.sender is not None:
        found = fields(message.sender, "broker incarnation")
    else:
        found = _payload(payload, draft=draft)
    return record(
        **fields(message, "source node answerable age"),
        dest=message.destination,
        payload=function([("type", type(payload).__name__), *found.items()]),
    )


def _payload(payload: Payload, *, draft: bool) -> dict[str, Value]:
    names = _FIELDS.get(type(payload))
    if names is not None:
        return fields(payload, names)
    if isinstance(payload, MetadataUpdate):
        found = fields(payload, "controller controller_epoch" + ("" if draft else " offset"))
        return found | {"brokers": _visible(payload.brokers), "partition": _partition(payload.partitions)}
    if isinstance(payload, StoreRegistered | SessionGone):
        return fields(payload.process, "broker incarnation")
    if isinstance(payload, IsrChangeRequest):
        (change,) = payload.partitions
        return fields(payload, "broker incarnation") | fields(change, "leader_epoch isr")
    if isinstance(payload, MetadataHeartbeatResponse):
        return {"error": _error_of_draft(payload.error), "state": field(payload.state)}
    if isinstance(payload, IsrChangeResponse):
        result = _error_of_draft(payload.results[0]) if payload.results else NONE
        return {"error": _error_of_draft(payload.error), "result": result}
    if isinstance(payload, BrokerHeartbeatRequest):
        return fields(payload, "broker epoch offset want_fence") | {"wantShutDown": payload.want_shutdown}
    if isinstance(payload, AlterPartitionRequest):
        (proposal,) = payload.partitions
        return fields(payload, "broker epoch") | _proposal(proposal)
    if isinstance(payload, AlterPartitionResponse):
        partitions = payload.partitions
        return {"error": payload.error.name, "result": _result(partitions[0]) if partitions else NONE}
    raise NoFormError(f"a {type(payload).__name__} is in flight")


def _error_of_draft(code: BrokerErrorCode) -> str:
    return _ERRORS_OF_THE_DRAFT.get(code, code.name)


def _proposal(proposal: PartitionProposal) -> dict[str, Value]:
    if proposal.recovering:
        raise NoFormError("a leader recovers from an unclean election")
    return fields(proposal, "leader_epoch partition_epoch") | {
        "isr": set_of(each.broker for each in proposal.isr),
        "lives": function((each.broker, each.epoch) for each in proposal.isr),
    }


def _result(result: PartitionResult) -> Value:
    if result.recovering:
        raise NoFormError("a leader recovers from an unclean election")
    return record(**fields(result, "error leader leader_epoch partition_epoch isr"))
