"""Decision tables of brokers leave out nothing that a running cluster comes to: states of explorations."""

from __future__ import annotations

from collections import Counter
from typing import Any

from broker_samples import shipped

from model_check.brokers.asking import listening
from model_check.brokers.build import build
from model_check.consult.broker_occurrence import fitted, occurs
from model_check.consult.broker_short import describe
from model_check.engine.explorer import explore
from model_check.engine.system import Limits
from reference.brokers.broker import Broker
from reference.brokers.controller import Controller
from reference.brokers.protocol import BrokerProtocol

SMALL = (
    "brokers-cut-off-fences", "brokers-forgetful-controller", "brokers-legacy", "brokers-restart-in-shutdown",
    "brokers-two-partitions", "brokers-two-with-one-id", "finding-late-registration",
    "brokers-shipped-hands-over", "brokers-shipped-isr-races", "brokers-shipped-restart",
    "brokers-shipped-shutdown-of-leader", "brokers-shipped-two-with-one-id", "finding-shutdown-failover",
)  # fmt: skip
ENOUGH = Limits(max_states=2000)


def lives_said(state: Controller | Broker) -> list[int]:
    """For each pending change of an ISR, of how many members it says which life is meant."""
    return [len(each.lives) for each in state.pending] if isinstance(state, Broker) else []


def test_what_scenarios_reach_occurs() -> None:
    seen: set[tuple[BrokerProtocol, Controller | Broker]] = set()

    def hear(protocol: BrokerProtocol, state: Controller | Broker, _event: Any, outcome: Any) -> None:
        seen.update({(protocol, state), (protocol, outcome.state)})

    with listening(hear):
        for name in SMALL:
            explore(build(shipped(name)), keep_going=True, limits=ENOUGH)
    kinds = Counter((protocol.is_draft, type(state)) for protocol, state in seen)
    assert len(kinds) == 4 and min(kinds.values()) > 50
    assert any(state.pending for _, state in seen if isinstance(state, Broker))
    for protocol, state in seen:
        assert occurs(protocol, state), describe(state)
        assert lives_said(fitted(protocol, state)) == lives_said(state)
