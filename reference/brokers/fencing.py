"""A broker of KIP-343 that fences itself, and its timer.

Source: KIP-343 (Broker-Side Heartbeat Timeout).
"""

from __future__ import annotations

from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.effects import FencedItself, Unfenced
from kraftcheck.reference.brokers.protocol import Contact, ContactTime
from kraftcheck.reference.brokers.work import BrokerWork


def tick(work: BrokerWork) -> None:
    """A unit of the broker's time is over."""
    timeout = work.protocol.broker_timeout
    if timeout is None or not _has_timer(work):
        return
    work.by("FENCE-7")
    if work.protocol.contact_time is ContactTime.REQUEST and Api.HEARTBEAT in work.broker.awaiting:
        work.update(request_ticks=min(work.broker.request_ticks + 1, timeout))
    if work.broker.fenced:
        return
    work.update(ticks=work.broker.ticks + 1)
    if work.broker.ticks >= timeout:
        _lonely(work)


def contact_lost(work: BrokerWork) -> None:
    """The time-out is over, in a protocol that does not count it."""
    if _has_timer(work) and work.protocol.broker_timeout is None and not work.broker.fenced:
        _lonely(work)


def _has_timer(work: BrokerWork) -> bool:
    if not work.protocol.is_draft:
        work.by("HBK-10")
        return False
    if work.broker.legacy:
        work.by("COMPAT-1", "CONFIG-15")
        return False
    return True


def _lonely(work: BrokerWork) -> None:
    work.by("FENCE-1", "CONFIG-13")
    fence(work)


def fence(work: BrokerWork) -> None:
    """From here on nothing new is accepted; no timer runs."""
    work.update(ticks=0)
    if not work.broker.fenced:
        work.by("FENCE-2")
        work.update(fenced=True)
        work.emit(FencedItself())


def reached_controller(work: BrokerWork) -> None:
    """A heartbeat was successful: the timer starts over, and a fenced broker is unfenced."""
    ticks = _ticks_since_contact(work)
    timeout = work.protocol.broker_timeout
    if timeout is not None and ticks >= timeout:
        return
    work.update(ticks=ticks)
    if work.broker.fenced:
        work.by("FENCE-3")
        work.update(fenced=False)
        work.emit(Unfenced())


def answered_with_error(work: BrokerWork) -> None:
    """An answer that is an error shows that a node was reached, which counts for something or not."""
    ticks = _ticks_since_contact(work)
    if work.protocol.contact is Contact.ANY_ANSWER and not work.broker.fenced:
        work.by("HEARTBEAT-10")
        work.update(ticks=min(work.broker.ticks, ticks))


def _ticks_since_contact(work: BrokerWork) -> int:
    work.by("FENCE-8")
    ticks = work.broker.request_ticks
    work.update(request_ticks=0)
    return ticks


def restart_request(work: BrokerWork) -> None:
    """The heartbeat under way is answered or abandoned: the time since it was sent says nothing any more."""
    work.update(request_ticks=0)
