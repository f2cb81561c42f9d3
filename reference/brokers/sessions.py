"""Sessions of registered brokers, and fencing by the controller (KIP-631).

Source: KIP-631 (The Broker State Machine); Kafka: BrokerHeartbeatTracker, BrokerHeartbeatManager,
ReplicationControlManager.handleBrokerFenced, handleBrokerUnfenced, maybeFenceOneStaleBroker.
"""

from __future__ import annotations

from kraftcheck.reference.brokers import leadership, views
from kraftcheck.reference.brokers.controller import Session
from kraftcheck.reference.brokers.effects import BrokerFenced
from kraftcheck.reference.brokers.work import ControllerWork
from kraftcheck.reference.frozen import replace


def tick(work: ControllerWork) -> None:
    """A unit of the controller's time is over; sessions that end with it end in this step, one by one."""
    timeout = work.protocol.controller_timeout
    if work.controller.active is None or timeout is None:
        return
    for session in work.controller.sessions:
        if session.ticks + 1 < timeout:
            work.keep_session(session.broker, replace(session, ticks=session.ticks + 1))
        else:
            _expire(work, session.broker)


def session_expired(work: ControllerWork, broker: int) -> None:
    """The session of a broker is over, in a protocol that does not count its time."""
    untimed = work.protocol.controller_timeout is None
    if work.controller.active is not None and untimed and views.session(work.controller, broker) is not None:
        _expire(work, broker)


def _expire(work: ControllerWork, broker: int) -> None:
    work.by("HBK-6", "CONFIG-12")
    work.keep_session(broker, None)
    fence(work, broker)


def fence(work: ControllerWork, broker: int) -> None:
    """Fence a broker: records that take its partitions away, then one about itself."""
    known = views.registration(work.controller, broker)
    if known is None or known.fenced:
        return
    leadership.leave(work, broker)
    work.write_registration(replace(known, fenced=True))
    work.emit(BrokerFenced(broker, True))


def unfence(work: ControllerWork, broker: int) -> None:
    """Unfence a broker, which may then lead partitions without a leader."""
    known = views.registration(work.controller, broker)
    assert known is not None
    work.write_registration(replace(known, fenced=False))
    work.emit(BrokerFenced(broker, False))
    work.by("HBK-7")
    if not (known.in_controlled_shutdown and work.protocol.leaving_broker_leads_nothing):
        leadership.come(work, broker)


def take_over(work: ControllerWork) -> None:
    """A new controller gives every broker that is not fenced a whole session; what it said is forgotten."""
    work.by("HBK-11")
    for known in work.log.registrations:
        if not known.fenced:
            waits = known.in_controlled_shutdown and work.protocol.new_controller_waits_for_readers
            to_read = work.log.end_offset - 1 if waits else None
            work.keep_session(known.broker, Session(known.broker, shutdown_offset=to_read))
