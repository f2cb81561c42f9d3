"""The orderly end of a broker of KIP-343 (BSTATE-5, BSTATE-9)."""

from __future__ import annotations

from kraftcheck.reference.brokers import events, views
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.effects import Completed, FencedItself, Stop
from kraftcheck.reference.brokers.messages import (
    BrokerState,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
)
from kraftcheck.reference.brokers.protocol import KIP343
from tests.reference.brokers.broker_steps import cluster, controller

INACTIVE, ACTIVE, STOPPING = BrokerState.INACTIVE, BrokerState.ACTIVE, BrokerState.STOPPING


def test_from_the_request_to_the_end() -> None:
    before, broker, _ = cluster(KIP343)
    asked = broker.on(events.ShutdownRequested())
    assert asked.rules == ("BSTATE-5",) and asked.effects == ()
    assert asked.on(events.ShutdownRequested()).state == asked.state

    beating = asked.on(events.HeartbeatDue())
    assert beating.sent.target is STOPPING
    stopping = before.ask(beating.sent)
    broker = beating.hear(stopping.response)
    assert broker.state.state is STOPPING and not broker.state.fenced

    # It leads a partition still, and goes on requesting the same.
    beating = broker.on(events.HeartbeatDue())
    assert beating.sent.target is STOPPING
    broker = beating.hear(MetadataHeartbeatResponse(state=STOPPING))

    moved = stopping.on(events.LeaderMoveDue("t", 0))
    broker = broker.on(events.MetadataReceived(views.metadata(moved.state)), events.ClientRequest())
    beating = broker.on(events.HeartbeatDue())
    assert beating.sent.target is INACTIVE
    inactive = moved.ask(beating.sent)
    assert inactive.response.state is INACTIVE and "HEARTBEAT-6" in inactive.rules
    let_go = beating.hear(inactive.response)
    assert let_go.effects == (FencedItself(),) and not let_go.state.ended

    ended = let_go.on(events.ClientRequestDone())
    assert ended.effects == (Completed(), Stop()) and "BSTATE-9" in ended.rules
    assert ended.state == Broker(broker.state.id, broker.state.incarnation, ended=True)
    assert not views.serves(KIP343, ended.state)


def test_a_late_heartbeat_makes_a_stopping_broker_active_again() -> None:
    """Nothing in the draft orders two heartbeats of one incarnation."""
    stopping = controller(KIP343).ask(MetadataHeartbeatRequest(1, 1, STOPPING))
    late = stopping.ask(MetadataHeartbeatRequest(1, 1, ACTIVE))
    assert late.response.state is ACTIVE and views.can_lead(late.state, 1)
