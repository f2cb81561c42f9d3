"""Whether a request comes from the current process of a broker, and whether a broker may be in an ISR."""

from __future__ import annotations

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.controller import Store
from kraftcheck.reference.brokers.protocol import KnownLife
from kraftcheck.reference.brokers.work import ControllerWork


def is_current(work: ControllerWork, broker: int, life: int) -> bool:
    """Whether ``life``, an incarnation id (KIP-343) or a broker epoch (KIP-631), is the one that counts."""
    if not isinstance(work.controller.durable, Store):
        known = views.registration(work.controller, broker)
        return known is not None and known.epoch == life
    if work.protocol.known_life is KnownLife.REMEMBERED:
        remembered = views.remembered(work.controller, broker).incarnation
        return remembered is None or remembered == life
    stored = views.stored(work.controller, broker)
    return stored is not None and stored.incarnation == life


def is_eligible(work: ControllerWork, broker: int, life: int) -> bool:
    """Whether a broker may be in an ISR, given the life that a leader means (-1: any)."""
    return views.can_lead(work.controller, broker) and (life == -1 or is_current(work, broker, life))
