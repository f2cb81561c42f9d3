"""States of brokers and their controller as states of ``tla/Brokers.tla``.

What that module has no form for (legacy brokers, records of the partition, a form of the protocol that is
neither the draft nor what shipped) raises :class:`~kraftcheck.tlc.values.NoFormError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.engine.system import GlobalState
from kraftcheck.reference.brokers.broker import Broker, PendingIsr
from kraftcheck.reference.brokers.controller import (
    HEARTBEAT_VERSION,
    BrokerRegistration,
    Controller,
    Liveness,
    MetadataLog,
    Session,
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
    IsrProposal,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
    MetadataUpdate,
    PartitionProposal,
    PartitionResult,
    PartitionState,
    Process,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import IsrChanges
from kraftcheck.systems.brokers.history import History
from kraftcheck.systems.brokers.network import (
    InFlight,
    ReadMetadata,
    SessionGone,
    StoreRegistered,
    StoreRegistration,
)
from kraftcheck.systems.brokers.places import Control, Machine, Time
from kraftcheck.systems.brokers.system import BrokerSystem, control_of
from kraftcheck.tlc.forms import Codec, Form, budget, network, require_budgets
from kraftcheck.tlc.values import NONE, InTla, NoFormError, State, Value, function, set_of

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


_RECOVERS = {"a leader recovers from an unclean election": lambda value: value.recovering}
_PARTITION_RECOVERS = {"a partition recovers from an unclean election": lambda value: value.recovering}
_PARTITION = "leader leader_epoch partition_epoch isr"
_PROCESS = "broker incarnation"
_OF_PROCESS = Form(inside="process")


def _as_broker(message: Any, codec: Codec) -> Value:
    """A message in flight; that metadata is read has no fields of its own but those of its reader."""
    payload = message.payload
    read = isinstance(payload, ReadMetadata)
    found = codec.fields(message.sender if read else payload, "a {} is in flight")
    return function([("type", type(payload).__name__), *found.items()])


#: What both forms of the protocol share.
_SHARED: Mapping[type, Form] = {
    Control: Form("silent left turn moves controller* homes() leaving()"),
    Machine: Form(
        "registers reads cut starts left turn moves broker*",
        refused={
            "a machine has records": (
                lambda machine: machine.log or machine.ends or machine.sent or machine.committed
            )
        },
    ),
    Time: Form("left", {"ahead": lambda time, codec: time.ahead}),
    History: Form(
        "unanswered serving lives=newest() since=inactive_for()",
        refused={"records of the partition are committed": lambda history: history.committed},
    ),
    Partition: Form(
        _PARTITION,
        refused=_PARTITION_RECOVERS
        | {"a partition is reassigned": lambda partition: partition.adding or partition.removing},
    ),
    PartitionState: Form(_PARTITION, refused=_PARTITION_RECOVERS),
    StoreRegistration: Form("broker"),
    Process: Form(_PROCESS),
    StoreRegistered: _OF_PROCESS,
    SessionGone: _OF_PROCESS,
    InFlight: Form("source node answerable age dest=destination", {"payload": _as_broker}),
}


def _broker(names: str, **refused: Any) -> Form:
    return Form(
        "id incarnation controller controller_epoch accepted ended partition=partitions? "
        f"visible[broker].life pending? {names}",
        {"awaiting": lambda broker, codec: set_of(each.value for each in broker.awaiting)},
        refused=refused,
    )


_UPDATE = "controller controller_epoch brokers[broker].life partition=partitions?"
_CHANGE = "leader_epoch partition_epoch isr refused"


def _error_of_draft(code: BrokerErrorCode) -> str:
    """The draft has other names for two of the codes."""
    for name in ("INVALID_INCARNATION_ID", "NOT_LEADER_FOR_PARTITION"):
        if code is BrokerErrorCode[name]:
            return name
    return code.name


def _draft_error(response: Any, codec: Codec) -> Value:
    return _error_of_draft(response.error)


def _draft(ids: tuple[int, ...]) -> Mapping[type, Form]:
    """The forms of the draft, where the controller knows something of all brokers ``ids``."""

    def brokers(state: Controller, codec: Codec) -> Value:
        remembered = {each.broker: each for each in state.brokers}
        return function((id, codec.value(remembered.get(id, Liveness(id)))) for id in ids)

    def result(response: Any, codec: Codec) -> Value:
        return _error_of_draft(response.results[0]) if response.results else NONE

    return {
        **_SHARED,
        Controller: Form("active epoch", {"brokers": brokers}, inside="durable"),
        Store: Form(
            "last_transaction registrations[broker].incarnation partition=partitions?",
            refused={
                "a broker is a legacy one": lambda store: any(
                    each.version != HEARTBEAT_VERSION for each in store.registrations
                )
            },
        ),
        Liveness: Form("incarnation state ticks"),
        Broker: _broker("target state fenced ticks request_ticks superseded"),
        PendingIsr: Form(_CHANGE),
        MetadataUpdate: Form(_UPDATE),
        MetadataHeartbeatRequest: Form("broker incarnation target"),
        MetadataHeartbeatResponse: Form("state", {"error": _draft_error}),
        IsrChangeRequest: Form(_PROCESS, inside="partitions"),
        IsrProposal: Form("leader_epoch isr"),
        IsrChangeResponse: Form(made={"error": _draft_error, "result": result}),
    }


_SHIPPED: Mapping[type, Form] = {
    **_SHARED,
    Controller: Form("active epoch sessions[broker]", inside="durable"),
    MetadataLog: Form(
        "end_offset registrations[broker] partition=partitions?",
        refused={"a feature is finalized": lambda log: log.finalized},
    ),
    BrokerRegistration: Form("incarnation epoch fenced in_controlled_shutdown"),
    Session: Form("ticks offset shutdown_offset"),
    Broker: _broker(
        "life epoch offset", **{"a broker supports levels of features": lambda broker: broker.features}
    ),
    PendingIsr: Form(
        _CHANGE, {"lives": lambda change, codec: function(zip(change.isr, change.lives, strict=True))}
    ),
    MetadataUpdate: Form(f"{_UPDATE} offset"),
    BrokerRegistrationRequest: Form(_PROCESS),
    BrokerRegistrationResponse: Form("error epoch"),
    BrokerHeartbeatRequest: Form("broker epoch offset want_fence wantShutDown=want_shutdown"),
    BrokerHeartbeatResponse: Form("error caught_up fenced should_shut_down"),
    AlterPartitionRequest: Form("broker epoch", inside="partitions"),
    PartitionProposal: Form(
        "leader_epoch partition_epoch lives=isr[broker].epoch",
        {"isr": lambda proposal, codec: set_of(each.broker for each in proposal.isr)},
        refused=_RECOVERS,
    ),
    AlterPartitionResponse: Form("error result=partitions?"),
    PartitionResult: Form(f"error {_PARTITION}", refused=_RECOVERS),
}


class BrokerForms:
    """The states of one system of brokers in TLA+; equal parts of states are translated once."""

    def __init__(self, system: BrokerSystem) -> None:
        wiring = system.wiring
        if wiring.legacy or wiring.environment.data:
            raise NoFormError("the module has no legacy brokers, and no records of the partition")
        if wiring.environment.restarts:
            raise NoFormError("the module starts no process where one has ended in order")
        if wiring.is_draft is not (wiring.protocol.isr_changes is IsrChanges.ISR_CHANGE):
            raise NoFormError("the module has IsrChange in the draft, and AlterPartition in what shipped")
        require_budgets(system.budget_names, BUDGETS, "the module has")
        self._system = system
        ids = tuple(sorted({*wiring.ids, *wiring.replicas}))
        self._codec = Codec(_draft(ids) if wiring.is_draft else _SHIPPED)

    def state(self, state: GlobalState) -> State:
        """The values of the state variables. Raises NoFormError."""
        codec, wiring = self._codec, self._system.wiring
        machines = zip(wiring.places[1:], state.locals[1:], strict=False)
        clocks = [local for local in state.locals if isinstance(local, Time)]
        left = dict(zip(self._system.budget_names, state.budgets, strict=True))
        return {
            "control": codec.known(control_of(state)),
            "machine": function(
                (place, codec.known(local)) for place, local in machines if not isinstance(local, Time)
            ),
            "time": codec.known(clocks[0]) if clocks else NONE,
            "network": network(codec, state.messages),
            "history": codec.known(state.history),
            "budget": budget(left, BUDGETS, wiring.unbounded),
        }


#: Brokers and their controller in TLA+.
BROKERS = InTla(("control", "machine", "time", "network", "history", "budget"), BrokerForms)
