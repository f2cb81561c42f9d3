"""The orderly end of a broker of KIP-343 (BSTATE-5, BSTATE-9)."""

from __future__ import annotations

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.effects import Completed, FencedItself, Send, Stop
from kraftcheck.reference.brokers.events import (
    ClientRequest,
    ClientRequestDone,
    HeartbeatDue,
    LeaderMoveDue,
    MetadataReceived,
    ShutdownWished,
)
from kraftcheck.reference.brokers.messages import (
    BrokerState,
    MetadataHeartbeatRequest,
    MetadataHeartbeatResponse,
)
from kraftcheck.reference.brokers.protocol import KIP343
from kraftcheck.reference.brokers.step import step
from tests.reference.brokers.broker_steps import answer, ask, cluster

INACTIVE, ACTIVE, STOPPING = BrokerState.INACTIVE, BrokerState.ACTIVE, BrokerState.STOPPING


def sent(broker: Broker) -> tuple[Broker, MetadataHeartbeatRequest]:
    outcome = step(KIP343, broker, HeartbeatDue())
    (effect,) = outcome.effects
    assert isinstance(effect, Send) and isinstance(effect.request, MetadataHeartbeatRequest)
    return outcome.state, effect.request


def test_from_the_wish_to_the_end() -> None:
    controller, broker, _ = cluster(KIP343)
    wished = step(KIP343, broker, ShutdownWished())
    assert wished.rules == ("BSTATE-5",) and wished.effects == ()
    assert step(KIP343, wished.state, ShutdownWished()).state == wished.state

    broker, request = sent(wished.state)
    assert request.target is STOPPING
    outcome, response = ask(KIP343, controller, request)
    broker = answer(KIP343, broker, response).state
    assert broker.state is STOPPING and not broker.fenced

    # It leads a partition still, and goes on wishing the same.
    waiting, request = sent(broker)
    assert request.target is STOPPING
    broker = answer(KIP343, waiting, MetadataHeartbeatResponse(state=STOPPING)).state

    moved = step(KIP343, outcome.state, LeaderMoveDue("t", 0)).state
    broker = step(KIP343, broker, MetadataReceived(views.metadata(moved))).state
    broker = step(KIP343, broker, ClientRequest()).state
    broker, request = sent(broker)
    assert request.target is INACTIVE
    outcome, response = ask(KIP343, moved, request)
    assert response.state is INACTIVE and "HEARTBEAT-6" in outcome.rules
    let_go = answer(KIP343, broker, response)
    assert let_go.effects == (FencedItself(),) and not let_go.state.ended

    ended = step(KIP343, let_go.state, ClientRequestDone())
    assert ended.effects == (Completed(), Stop()) and "BSTATE-9" in ended.rules
    assert ended.state == Broker(broker.id, broker.incarnation, ended=True)
    assert not views.serves(KIP343, ended.state)


def test_a_late_heartbeat_makes_a_stopping_broker_active_again() -> None:
    """Nothing in the draft orders two heartbeats of one incarnation."""
    controller, *_ = cluster(KIP343)
    stopping, _ = ask(KIP343, controller, MetadataHeartbeatRequest(1, 1, STOPPING))
    late, response = ask(KIP343, stopping.state, MetadataHeartbeatRequest(1, 1, ACTIVE))
    assert response.state is ACTIVE and views.can_lead(late.state, 1)
