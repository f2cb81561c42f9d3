"""Requests of clients, of any kind: taken or refused, and completed.

Source: KIP-343 (Broker-Side Heartbeat Timeout, Broker State).
"""

from __future__ import annotations

from kraftcheck.reference.brokers import shutdown, views
from kraftcheck.reference.brokers.effects import Accepted, Completed, Refused
from kraftcheck.reference.brokers.messages import BrokerState
from kraftcheck.reference.brokers.work import BrokerWork


def request(work: BrokerWork) -> None:
    """A client asks for something."""
    serves = views.serves(work.protocol, work.broker)
    if not work.protocol.is_draft:
        work.by("HBK-10")
    elif serves:
        work.by("BSTATE-4")
    elif work.broker.legacy:
        work.by("COMPAT-5")
    else:
        work.by("FENCE-2", *(("FENCE-9",) if work.broker.state is BrokerState.INITIAL else ()))
    if serves:
        work.update(accepted=work.broker.accepted + 1)
    work.emit(Accepted() if serves else Refused())


def done(work: BrokerWork) -> None:
    """The work for an accepted request is done. It is completed, whether the broker is fenced or not."""
    if work.broker.accepted == 0:
        return
    if work.broker.fenced and work.protocol.is_draft:
        work.by("FENCE-2")
    work.update(accepted=work.broker.accepted - 1)
    work.emit(Completed())
    shutdown.end_if_done(work)
