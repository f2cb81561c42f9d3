"""The controller and processes of brokers as the modules of ``tla/`` have them: see ``tla/README.md``."""

from __future__ import annotations

from collections.abc import Iterable

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
from kraftcheck.reference.brokers.messages import PartitionState, VisibleBroker
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.tlc.values import NONE, NoFormError, Value, function, known, record, set_of

# The controller.


def controller(state: Controller, ids: Iterable[int]) -> Value:
    """The controller; ``ids`` are all broker ids. Raises NoFormError."""
    durable = state.durable
    if isinstance(durable, MetadataLog):
        return _of_log(state, durable)
    return _of_store(state, durable, ids)


def _of_store(state: Controller, store: Store, ids: Iterable[int]) -> Value:
    if any(each.version != HEARTBEAT_VERSION for each in store.registrations):
        raise NoFormError("a broker is a legacy one")
    remembered = {each.broker: each for each in state.brokers}
    return record(
        active=known(state.active),
        epoch=state.epoch,
        registrations=function((each.broker, each.incarnation) for each in store.registrations),
        lastTransaction=store.last_transaction,
        partition=partition_of(store.partitions),
        brokers=function((id, _liveness(remembered.get(id, Liveness(id)))) for id in ids),
    )


def _liveness(broker: Liveness) -> Value:
    return record(incarnation=known(broker.incarnation), state=broker.state.name, ticks=broker.ticks)


def _of_log(state: Controller, log: MetadataLog) -> Value:
    if log.finalized:
        raise NoFormError("a feature is finalized")
    return record(
        active=known(state.active),
        epoch=state.epoch,
        registrations=function((each.broker, _registration(each)) for each in log.registrations),
        endOffset=log.end_offset,
        partition=partition_of(log.partitions),
        sessions=function((each.broker, _session(each)) for each in state.sessions),
    )


def _registration(registration: BrokerRegistration) -> Value:
    return record(
        incarnation=registration.incarnation,
        epoch=registration.epoch,
        fenced=registration.fenced,
        inControlledShutdown=registration.in_controlled_shutdown,
    )


def _session(session: Session) -> Value:
    return record(ticks=session.ticks, offset=session.offset, shutdownOffset=known(session.shutdown_offset))


def partition_of(partitions: tuple[Partition, ...] | tuple[PartitionState, ...]) -> Value:
    """The one partition, or ``None`` of the modules. Raises NoFormError."""
    if not partitions:
        return NONE
    (partition,) = partitions
    if partition.recovering:
        raise NoFormError("a partition recovers from an unclean election")
    if isinstance(partition, Partition) and (partition.adding or partition.removing):
        raise NoFormError("a partition is reassigned")
    return record(
        leader=known(partition.leader),
        leaderEpoch=partition.leader_epoch,
        partitionEpoch=partition.partition_epoch,
        isr=set_of(partition.isr),
    )


# A process.


def process(broker: Broker, *, draft: bool) -> Value:
    """A process of the draft, or of what shipped. Raises NoFormError."""
    fields: dict[str, Value] = {
        "id": broker.id,
        "incarnation": broker.incarnation,
        "controller": known(broker.controller),
        "controllerEpoch": broker.controller_epoch,
        "awaiting": set_of(each.value for each in broker.awaiting),
        "partition": partition_of(broker.partitions),
        "visible": visible(broker.visible),
        "pending": _pending(broker.pending, draft=draft),
        "accepted": broker.accepted,
        "ended": broker.ended,
    }
    return record(**fields | (_of_draft(broker) if draft else _of_shipped(broker)))


def _of_draft(broker: Broker) -> dict[str, Value]:
    return {
        "wish": broker.wish.name,
        "state": broker.state.name,
        "fenced": broker.fenced,
        "ticks": broker.ticks,
        "requestTicks": broker.request_ticks,
        "superseded": broker.superseded,
    }


def _of_shipped(broker: Broker) -> dict[str, Value]:
    if broker.features:
        raise NoFormError("a broker supports levels of features")
    return {"life": broker.life.name, "epoch": broker.epoch, "offset": broker.offset}


def visible(brokers: tuple[VisibleBroker, ...]) -> Value:
    """The brokers that metadata shows, and which life of each."""
    return function((each.broker, known(each.life)) for each in brokers)


def _pending(changes: tuple[PendingIsr, ...], *, draft: bool) -> Value:
    if not changes:
        return NONE
    (change,) = changes
    fields: dict[str, Value] = {
        "leaderEpoch": change.leader_epoch,
        "partitionEpoch": change.partition_epoch,
        "isr": set_of(change.isr),
        "refused": change.refused,
    }
    if not draft:
        fields["lives"] = function(zip(change.isr, change.lives, strict=True))
    return record(**fields)
