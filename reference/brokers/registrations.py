"""Registrations in the store, which needs no controller (KIP-343).

Source: KIP-343 (Broker Incarnation ID, Compatibility).
"""

from __future__ import annotations

from kraftcheck.reference.brokers import liveness, views
from kraftcheck.reference.brokers.controller import LEGACY_VERSION, StoredRegistration
from kraftcheck.reference.brokers.effects import Registered
from kraftcheck.reference.brokers.messages import BrokerState, Process
from kraftcheck.reference.brokers.work import ControllerWork
from kraftcheck.reference.frozen import replace


def write(work: ControllerWork, broker: int, version: int) -> None:
    """A process registers: its incarnation id is the transaction id of its registration."""
    work.by("COMPAT-4", "INC-1", "INC-2", *(() if version == LEGACY_VERSION else ("COMPAT-2",)))
    before = views.state_of(work.controller, broker)
    incarnation = work.store.last_transaction + 1
    work.update(durable=replace(work.store, last_transaction=incarnation))
    work.store_registration(broker, StoredRegistration(broker, incarnation, version))
    work.emit(Registered(Process(broker, incarnation), version))
    if work.controller.active is None:
        return
    if version == LEGACY_VERSION:
        work.by("COMPAT-3")
        liveness.remember(work, views.remembered(work.controller, broker))
    liveness.follow(work, broker, before)


def remove(work: ControllerWork, broker: int) -> None:
    """The registration of a broker is gone from the store, and with it the broker."""
    if views.stored(work.controller, broker) is None:
        return
    before = views.state_of(work.controller, broker)
    work.store_registration(broker, None)
    if work.controller.active is None:
        return
    work.by("BSTATE-10")
    known = views.remembered(work.controller, broker)
    liveness.remember(work, replace(known, state=BrokerState.INACTIVE))
    liveness.follow(work, broker, before)
