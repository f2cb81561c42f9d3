"""What is wrong with the time-outs of a protocol. A step does not look: a wrong order can be tried."""

from __future__ import annotations

from kraftcheck.reference.brokers.protocol import BrokerProtocol
from kraftcheck.reference.config import Problem


def problems(protocol: BrokerProtocol) -> tuple[Problem, ...]:
    """Why these time-outs do not do what the document wants of them; empty if they do or are not counted."""
    found = []
    of_controller, of_broker = protocol.controller_timeout, protocol.broker_timeout
    draft = protocol.is_draft
    controller_key = "controller.heartbeat.timeout.ms" if draft else "broker.session.timeout.ms"
    if of_controller is not None and of_controller < 1:
        found.append(Problem(controller_key, f"{of_controller} is less than one tick", "CONFIG-12"))
    if draft and of_broker is not None and of_broker < 1:
        found.append(
            Problem("broker.heartbeat.timeout.ms", f"{of_broker} is less than one tick", "CONFIG-13")
        )
    if draft and of_controller is not None and of_broker is not None and of_broker <= of_controller:
        reason = f"{of_broker} ticks do not exceed the {of_controller} of {controller_key}"
        found.append(Problem("broker.heartbeat.timeout.ms", reason, "FENCE-4"))
    return tuple(found)
