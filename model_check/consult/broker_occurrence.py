"""Which states of broker 1 a running cluster comes to, of those that the reference can be asked about.

Somebody may ask about the others (:mod:`model_check.consult.broker_consistency`); decision tables leave them
out. Some of them occur in one protocol and not in another one, so that a situation alone does not tell.
"""

from __future__ import annotations

from model_check.consult.broker_words import BROKER
from reference.brokers import alter_partition, pending_isrs, shutdown, views
from reference.brokers.broker import Api, Broker, Life
from reference.brokers.controller import Controller, Store
from reference.brokers.messages import BrokerState
from reference.brokers.protocol import BrokerProtocol, IsrChanges
from reference.brokers.work import BrokerWork
from reference.frozen import replace


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
    if known.incarnation is not None or known.state is BrokerState.INACTIVE:
        return True
    return known.state is BrokerState.ACTIVE and not protocol.rebuilds_incarnations


def _shipped_controller_occurs(protocol: BrokerProtocol, controller: Controller) -> bool:
    """Who cannot lead has left every ISR that has others, and AlterPartition takes it into none."""
    if views.can_lead(controller, BROKER):
        return True
    checks_members = protocol.isr_changes is IsrChanges.ALTER_PARTITION
    return not any(
        each.leader == BROKER or (checks_members and BROKER in each.isr and len(each.isr) > 1)
        for each in controller.durable.partitions
    )


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
