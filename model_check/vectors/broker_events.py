"""The events of a broker process in a state: responses of every kind, metadata, requests, timeouts."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.brokers import messages, views
from kraftcheck.reference.brokers.broker import Api, Broker
from kraftcheck.reference.brokers.errors import BrokerErrorCode
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
from kraftcheck.reference.brokers.protocol import BrokerProtocol, IsrChanges
from kraftcheck.reference.frozen import replace
from kraftcheck.vectors.malformed import with_others

_ISRS = ((1,), (1, 2), (), (1, 9))


def events(protocol: BrokerProtocol, broker: Broker) -> Iterator[BrokerEvent]:
    """All events of ``broker`` in this form."""
    yield from (Tick(), HeartbeatDue(), ShutdownRequested(), ClientRequest(), ClientRequestDone())
    yield ContactLost() if protocol.is_draft else RegistrationDue()
    yield from (ControllerFound(node) for node in (1, 2))
    yield from (RequestTimedOut(api) for api in Api)
    for name in (("t", 0), ("x", 7)):
        yield from (IsrProposed((ProposedIsr(*name, isr),)) for isr in _ISRS)
    for life in (1, 2, 3):
        yield IsrProposed((ProposedIsr("t", 0, (1, 2), (messages.IsrMember(2, life),)),))
    yield IsrProposed(())
    for response in _responses(protocol, broker):
        yield ResponseReceived(1, response)
    yield ResponseReceived(2, next(_responses(protocol, broker)))
    yield from (MetadataReceived(update) for update in _updates(protocol, broker))
    if broker.legacy:
        epoch = max((each.partition_epoch for each in broker.partitions), default=0) + 1
        answer = messages.StoreIsrResponse("t", 0, True, epoch)
        yield from (StoreAnswered(each) for each in with_others(answer))


def _responses(protocol: BrokerProtocol, broker: Broker) -> Iterator[messages.Response]:
    if protocol.is_draft:
        yield from (messages.MetadataHeartbeatResponse(state=state) for state in messages.BrokerState)
        errors = (code for code in BrokerErrorCode if code is not BrokerErrorCode.NONE)
        yield from map(messages.MetadataHeartbeatResponse, errors)
    else:
        yield from with_others(messages.BrokerHeartbeatResponse(caught_up=True, fenced=False))
        yield from with_others(messages.BrokerRegistrationResponse(epoch=3))
    if protocol.isr_changes is IsrChanges.ISR_CHANGE:
        yield messages.IsrChangeResponse()
        for code in BrokerErrorCode:
            yield from (messages.IsrChangeResponse(code), messages.IsrChangeResponse(results=(code,)))
        return
    yield messages.AlterPartitionResponse()
    for known in broker.partitions:
        applied = messages.PartitionResult(
            "t", 0, BrokerErrorCode.NONE, known.leader, known.leader_epoch, known.partition_epoch + 1, (1,)
        )
        yield from with_others(messages.AlterPartitionResponse(partitions=(applied,)))


def _updates(protocol: BrokerProtocol, broker: Broker) -> Iterator[messages.MetadataUpdate]:
    """Metadata: the known one, and such that is newer or older in one field."""
    known = views.partition_of(broker, "t", 0) or messages.PartitionState("t", 0, 1, 0, 0, (1, 2))
    newer = replace(
        known, leader=2, leader_epoch=known.leader_epoch + 1, partition_epoch=known.partition_epoch + 1
    )
    lives = broker.visible or (messages.VisibleBroker(1, 1),)
    for brokers, partition in ((lives, known), (lives, newer), ((), newer)):
        yield from with_others(
            messages.MetadataUpdate(
                controller=1,
                controller_epoch=broker.controller_epoch,
                brokers=brokers,
                partitions=(partition,),
                offset=-1 if protocol.is_draft else broker.offset + 1,
            )
        )
