"""Which states a running cluster comes to, of those that the reference can be asked about.

Somebody may ask about the others (:mod:`kraftcheck.query.broker_consistency`); decision tables leave them
out. Some of them occur in one protocol and not in another one, so that a situation alone does not tell.
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
from kraftcheck.systems.brokers.text import BROKER


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
    """A heartbeat says the incarnation of whom it makes active or stopping. A new controller reads those of
    whom it takes for active in the store, unless it rebuilds none.
    """
    known = views.remembered(controller, BROKER)
    if known.incarnation is None and known.state is not BrokerState.INACTIVE:
        taken = known.state is BrokerState.ACTIVE and not protocol.rebuilds_incarnations
        if not taken:
            return False
    # While nobody is the controller nothing tells who is active.
    return controller.active is None or all(
        _draft_partition_occurs(protocol, controller, each) for each in controller.durable.partitions
    )


def _draft_partition_occurs(protocol: BrokerProtocol, controller: Controller, partition: Partition) -> bool:
    """Who is inactive leads nothing, and who is active leads what nobody leads and has it in its ISR. Who is
    inactive has left every ISR that has others; IsrChange may take it into one. A legacy broker writes into
    the store what it likes.
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
    """Who is fenced leads nothing, nor does who shuts down, until it is fenced and unfenced again (HBK-7).
    Who can lead leads what nobody leads and has it in its ISR. Who cannot has left every ISR that has others,
    and AlterPartition takes it into none: who shuts down leads alone.
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
