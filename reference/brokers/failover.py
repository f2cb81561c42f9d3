"""Another node becomes the controller: what was in memory is lost.

Source: KIP-343 (Controller Logic); Kafka: KafkaController.onControllerFailover,
ClusterControlManager.activate.
"""

from __future__ import annotations

from kraftcheck.reference.brokers import liveness, sessions
from kraftcheck.reference.brokers.controller import Store
from kraftcheck.reference.brokers.work import ControllerWork


def become_active(work: ControllerWork, node: int | None) -> None:
    """``node`` is the controller from here on, or no node is."""
    work.update(active=node, brokers=(), sessions=())
    if node is None:
        return
    work.update(epoch=work.controller.epoch + 1)
    if isinstance(work.controller.durable, Store):
        liveness.take_over(work)
    else:
        sessions.take_over(work)
