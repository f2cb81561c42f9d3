"""The variants of the broker layer: a form with its switches."""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol
from kraftcheck.systems.switches import Switches

#: The draft of KIP-343, and the form that Apache Kafka shipped (KIP-631).
FORMS: Mapping[str, BrokerProtocol] = {"draft": KIP343, "shipped": SHIPPED}


def _incoherent(form: BrokerProtocol, protocol: BrokerProtocol) -> str | None:
    if protocol.liveness is not form.liveness:
        return "liveness: the form decides on it; choose another form"
    if protocol.broker_timeout is not None and protocol.controller_timeout is None:
        return "broker-timeout needs controller-timeout, or clocks would not run"
    return None


#: The variants of brokers; time-outs are at least one tick (CONFIG-12, CONFIG-13).
SWITCHES = Switches(FORMS, "form", (1, 9), {"alter-partition-version": (0, 3)}, _incoherent)
