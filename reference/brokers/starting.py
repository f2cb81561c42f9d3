"""Values to begin with: a process that has just started, a new cluster, a cluster that runs."""

from __future__ import annotations

from collections.abc import Iterable

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Broker, Life
from kraftcheck.reference.brokers.controller import (
    LEGACY_VERSION,
    BrokerRegistration,
    Controller,
    FinalizedFeature,
    Liveness,
    MetadataLog,
    Session,
    Store,
    StoredRegistration,
)
from kraftcheck.reference.brokers.messages import BrokerState, FeatureRange, Process
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.frozen import replace


def first_controller(
    protocol: BrokerProtocol,
    partitions: Iterable[Partition] = (),
    *,
    node: int = 1,
    cluster_id: str = "cluster",
    finalized: tuple[FinalizedFeature, ...] = (),
) -> Controller:
    """The controller, node ``node``, of a cluster that was just initialized: it knows no broker."""
    kept = tuple(sorted(partitions, key=lambda each: (each.topic, each.index)))
    if protocol.is_draft:
        return Controller(node, Store(partitions=kept), epoch=1)
    return Controller(node, MetadataLog((), kept, len(kept), cluster_id, finalized), epoch=1)


def starting(
    protocol: BrokerProtocol,
    process: Process,
    *,
    controller: int | None = None,
    legacy: bool = False,
    cluster_id: str = "cluster",
    features: tuple[FeatureRange, ...] = (),
) -> Broker:
    """A process that has just started. That of KIP-343 has its registration in the store, which gave it its
    incarnation id, and is fenced until it reaches the controller (FENCE-9), unless it is a legacy one.
    """
    draft = protocol.is_draft
    return Broker(
        process.broker,
        process.incarnation,
        controller=controller,
        legacy=draft and legacy,
        fenced=draft and not legacy,
        cluster_id=cluster_id,
        features=features,
    )


def running_cluster(
    protocol: BrokerProtocol,
    brokers: Iterable[int],
    partitions: Iterable[Partition] = (),
    *,
    legacy: Iterable[int] = (),
    node: int = 1,
) -> tuple[Controller, tuple[Broker, ...]]:
    """A controller and its brokers, all of them active or unfenced and with all metadata."""
    ids, old = tuple(sorted(brokers)), frozenset(legacy)
    controller = first_controller(protocol, partitions, node=node)
    if isinstance(controller.durable, Store):
        controller = _with_active(controller, ids, old)
    else:
        controller = _with_unfenced(controller, ids)
    metadata = views.metadata(controller)
    running = []
    for at, broker in enumerate(ids, start=1):
        process = starting(protocol, Process(broker, at), controller=node, legacy=broker in old)
        process = replace(
            process,
            controller_epoch=metadata.controller_epoch,
            visible=metadata.brokers,
            partitions=metadata.partitions,
            offset=metadata.offset,
        )
        if not protocol.is_draft:
            known = views.registration(controller, broker)
            assert known is not None
            process = replace(process, life=Life.RUNNING, epoch=known.epoch)
        elif broker not in old:
            process = replace(process, state=BrokerState.ACTIVE, fenced=False)
        running.append(process)
    return controller, tuple(running)


def _with_active(controller: Controller, ids: tuple[int, ...], legacy: frozenset[int]) -> Controller:
    registrations = tuple(
        StoredRegistration(broker, at, LEGACY_VERSION) if broker in legacy else StoredRegistration(broker, at)
        for at, broker in enumerate(ids, start=1)
    )
    known = tuple(
        Liveness(each.broker, each.incarnation, BrokerState.ACTIVE)
        for each in registrations
        if each.broker not in legacy
    )
    assert isinstance(controller.durable, Store)
    store = replace(controller.durable, registrations=registrations, last_transaction=len(ids))
    return replace(controller, durable=store, brokers=known)


def _with_unfenced(controller: Controller, ids: tuple[int, ...]) -> Controller:
    """Each broker was registered and then unfenced: two records."""
    assert isinstance(controller.durable, MetadataLog)
    begin = controller.durable.end_offset
    end = begin + 2 * len(ids)
    registrations = tuple(
        BrokerRegistration(broker, at, begin + at - 1, fenced=False) for at, broker in enumerate(ids, start=1)
    )
    log = replace(controller.durable, registrations=registrations, end_offset=end)
    sessions = tuple(Session(broker, offset=end - 1) for broker in ids)
    return replace(controller, durable=log, sessions=sessions)
