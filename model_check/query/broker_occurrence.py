"""Which states a running cluster reaches, among those that meet :mod:`kraftcheck.query.broker_consistency`.

Decision tables leave out the other states. Some states occur under one protocol and not under another, so
that it takes the protocol to decide.
"""

from __future__ import annotations

from kraftcheck.query.broker_consistency import leads_at_times
from kraftcheck.reference.brokers import alter_partition, pending_isrs, shutdown, views
from kraftcheck.reference.brokers.broker import Api, Broker, Life
from kraftcheck.reference.brokers.controller import LEGACY_VERSION, Controller, Store
from kraftcheck.reference.brokers.messages import BrokerState
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import BrokerProtocol, IsrChanges
from kraftcheck.reference.brokers.work import BrokerWork
from kraftcheck.reference.frozen import replace

#: The broker that decision tables are about.
BROKER = 1


def fitted(protocol: BrokerProtocol, state: Controller | Broker) -> Controller | Broker:
    """``state`` with pending changes of ISRs that mean what a leader means in ``protocol``."""
    if isinstance(state, Controller):
        return state
    work = BrokerWork(protocol, state)
    pending = (replace(each, lives=alter_partition.lives_of(work, each.isr)) for each in state.pending)
    return replace(state, pending=tuple(pending))


def occurs(protocol: BrokerProtocol, state: Controller | Broker) -> bool:
    """Whether a cluster that runs by ``protocol`` comes to ``state``."""
    if isinstance(state, Broker):
        return _process_occurs(protocol, state)
    if isinstance(state.durable, Store):
        return _draft_controller_occurs(protocol, state)
    return _shipped_controller_occurs(protocol, state)


def _draft_controller_occurs(protocol: BrokerProtocol, controller: Controller) -> bool:
    """A heartbeat reports the incarnation of the broker that it makes active or stopping. A new controller
    reads the incarnations of active brokers from the store, unless it rebuilds none.
    """
    known = views.remembered(controller, BROKER)
    if known.incarnation is None and known.state is not BrokerState.INACTIVE:
        taken = known.state is BrokerState.ACTIVE and not protocol.rebuilds_incarnations
        if not taken:
            return False
    # Without a controller no broker is known to be active.
    return controller.active is None or all(
        _draft_partition_occurs(protocol, controller, each) for each in controller.durable.partitions
    )


def _draft_partition_occurs(protocol: BrokerProtocol, controller: Controller, partition: Partition) -> bool:
    """An inactive broker leads no partition. An active broker leads every partition that has it in its ISR
    and would have no leader otherwise. An inactive broker has left every ISR that has other members;
    IsrChange may add it to one. A legacy broker may write any ISR into the store.
    """
    leader = partition.leader
    if leader is not None and views.state_of(controller, leader) is BrokerState.INACTIVE:
        return False
    if any(each.version == LEGACY_VERSION for each in _store(controller).registrations):
        return True
    if leader is None and any(views.can_lead(controller, each) for each in partition.isr):
        return False
    keeps = not protocol.inactive_leaves_isr or protocol.isr_changes is IsrChanges.ISR_CHANGE
    members = partition.isr if len(partition.isr) > 1 else ()
    return keeps or all(views.state_of(controller, each) is not BrokerState.INACTIVE for each in members)


def _store(controller: Controller) -> Store:
    assert isinstance(controller.durable, Store)
    return controller.durable


def _shipped_controller_occurs(protocol: BrokerProtocol, controller: Controller) -> bool:
    """A fenced broker leads no partition, nor does one that shuts down until it is fenced and unfenced again
    (HBK-7). A broker that can lead leads every partition that has it in its ISR and would have no leader
    otherwise. A broker that cannot lead has left every ISR that has other members, and AlterPartition adds it
    to none: a broker that shuts down leads alone.
    """
    return all(
        _shipped_partition_occurs(protocol, controller, each) for each in controller.durable.partitions
    )


def _shipped_partition_occurs(protocol: BrokerProtocol, controller: Controller, partition: Partition) -> bool:
    if partition.leader is None:
        return not any(views.can_lead(controller, each) for each in partition.isr)
    alone = set(partition.isr) <= {partition.leader}
    checks_members = protocol.isr_changes is IsrChanges.ALTER_PARTITION and not alone
    leads = leads_at_times(controller, partition.leader)
    return leads and (not checks_members or all(views.can_lead(controller, each) for each in partition.isr))


def _process_occurs(protocol: BrokerProtocol, broker: Broker) -> bool:
    """A process has settled what metadata settles, and has ended if it may; requests of clients it accepts
    only once it serves. Of a legacy one only what it has written, and awaits an answer to, is pending.
    """
    work = BrokerWork(protocol, broker)
    pending_isrs.settle(work)
    shutdown.end_if_done(work)
    if work.broker != broker:
        return False
    if broker.legacy:
        return bool(broker.pending) == (Api.ISR in broker.awaiting)
    if protocol.is_draft:
        return broker.fenced or broker.state in (BrokerState.ACTIVE, BrokerState.STOPPING)
    starts = broker.life in (Life.STARTING, Life.RECOVERY)
    return not (starts and broker.accepted) and (broker.epoch >= 0 or broker.life is Life.STARTING)
