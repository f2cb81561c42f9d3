"""Messages of brokers and their controller as the modules of ``tla/`` have them: see ``tla/README.md``."""

from __future__ import annotations

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
    Process,
)
from kraftcheck.systems.brokers.network import (
    InFlight,
    Payload,
    ReadMetadata,
    SessionGone,
    StoreRegistered,
    StoreRegistration,
)
from kraftcheck.tlc.broker_values import partition_of, visible
from kraftcheck.tlc.values import NONE, NoFormError, Value, function, known, record, set_of

#: What the draft calls two of the codes.
_ERRORS_OF_THE_DRAFT = {
    BrokerErrorCode.INVALID_INCARNATION_ID: "INVALID_INCARNATION_ID",
    BrokerErrorCode.NOT_LEADER_FOR_PARTITION: "NOT_LEADER_FOR_PARTITION",
}


def in_flight(message: InFlight, *, draft: bool) -> Value:
    """A message in flight, in the draft or in what shipped. Raises NoFormError."""
    payload = message.payload
    fields = _fields(payload, message.sender, draft=draft)
    return record(
        source=message.source,
        dest=message.destination,
        node=known(message.node),
        answerable=message.answerable,
        age=message.age,
        payload=function([("type", type(payload).__name__), *fields.items()]),
    )


def _fields(payload: Payload, sender: Process | None, *, draft: bool) -> dict[str, Value]:
    if isinstance(payload, MetadataUpdate):
        return _update(payload, draft=draft)
    if isinstance(payload, StoreRegistration):
        return {"broker": payload.broker}
    if isinstance(payload, StoreRegistered | SessionGone):
        return _process(payload.process)
    if isinstance(payload, ReadMetadata) and sender is not None:
        return _process(sender)
    found = _of_draft(payload)
    return _of_shipped(payload) if found is None else found


def _process(process: Process) -> dict[str, Value]:
    return {"broker": process.broker, "incarnation": process.incarnation}


def _update(update: MetadataUpdate, *, draft: bool) -> dict[str, Value]:
    fields: dict[str, Value] = {
        "controller": update.controller,
        "controllerEpoch": update.controller_epoch,
        "brokers": visible(update.brokers),
        "partition": partition_of(update.partitions),
    }
    return fields if draft else fields | {"offset": update.offset}


# The draft.


def _of_draft(payload: Payload) -> dict[str, Value] | None:
    """The fields of a request or answer of the draft; ``None``: it is none."""
    if isinstance(payload, MetadataHeartbeatRequest):
        return _life(payload) | {"target": payload.target.name}
    if isinstance(payload, IsrChangeRequest):
        (proposal,) = payload.partitions
        return _life(payload) | {"leaderEpoch": proposal.leader_epoch, "isr": set_of(proposal.isr)}
    if isinstance(payload, MetadataHeartbeatResponse):
        state = NONE if payload.state is None else payload.state.name
        return {"error": _error_of_draft(payload.error), "state": state}
    if isinstance(payload, IsrChangeResponse):
        result = _error_of_draft(payload.results[0]) if payload.results else NONE
        return {"error": _error_of_draft(payload.error), "result": result}
    return None


def _life(request: MetadataHeartbeatRequest | IsrChangeRequest) -> dict[str, Value]:
    return {"broker": request.broker, "incarnation": request.incarnation}


def _error_of_draft(code: BrokerErrorCode) -> str:
    return _ERRORS_OF_THE_DRAFT.get(code, code.name)


# What shipped.


def _of_shipped(payload: Payload) -> dict[str, Value]:
    if isinstance(payload, BrokerRegistrationRequest):
        return {"broker": payload.broker, "incarnation": payload.incarnation}
    if isinstance(payload, BrokerRegistrationResponse):
        return {"error": payload.error.name, "epoch": payload.epoch}
    if isinstance(payload, BrokerHeartbeatRequest):
        return {
            "broker": payload.broker,
            "epoch": payload.epoch,
            "offset": payload.offset,
            "wantFence": payload.want_fence,
            "wantShutDown": payload.want_shutdown,
        }
    if isinstance(payload, BrokerHeartbeatResponse):
        return {
            "error": payload.error.name,
            "caughtUp": payload.caught_up,
            "fenced": payload.fenced,
            "shouldShutDown": payload.should_shut_down,
        }
    if isinstance(payload, AlterPartitionRequest):
        (proposal,) = payload.partitions
        return {"broker": payload.broker, "epoch": payload.epoch} | _proposal(proposal)
    if isinstance(payload, AlterPartitionResponse):
        result = _result(payload.partitions[0]) if payload.partitions else NONE
        return {"error": payload.error.name, "result": result}
    raise NoFormError(f"a {type(payload).__name__} is in flight")


def _proposal(proposal: PartitionProposal) -> dict[str, Value]:
    if proposal.recovering:
        raise NoFormError("a leader recovers from an unclean election")
    return {
        "leaderEpoch": proposal.leader_epoch,
        "partitionEpoch": proposal.partition_epoch,
        "isr": set_of(each.broker for each in proposal.isr),
        "lives": function((each.broker, each.epoch) for each in proposal.isr),
    }


def _result(result: PartitionResult) -> Value:
    if result.recovering:
        raise NoFormError("a leader recovers from an unclean election")
    return record(
        error=result.error.name,
        leader=known(result.leader),
        leaderEpoch=result.leader_epoch,
        partitionEpoch=result.partition_epoch,
        isr=set_of(result.isr),
    )
