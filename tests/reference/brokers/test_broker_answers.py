"""Answers that nobody awaits, which a host drops: a process takes nothing from them."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers.broker import Broker, Life, PendingIsr
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.messages import (
    AlterPartitionResponse,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    BrokerState,
    IsrChangeResponse,
    MetadataHeartbeatResponse,
    PartitionResult,
    Process,
    Response,
)
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol
from kraftcheck.reference.brokers.starting import starting
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import answer, cluster

NONE = BrokerErrorCode.NONE


def pending(protocol: BrokerProtocol) -> Broker:
    """A leader that has asked for an ISR, and given its request up."""
    _, leader, _ = cluster(protocol)
    return replace(leader, pending=(PendingIsr("t", 0, 0, 0, (1,), (-1,)),))


ALTERED = PartitionResult("t", 0, NONE, leader=1, leader_epoch=0, partition_epoch=1, isr=(1,))


@pytest.mark.parametrize(
    ("protocol", "broker", "response"),
    [
        (KIP343, cluster(KIP343)[1], MetadataHeartbeatResponse(state=BrokerState.INACTIVE)),
        (KIP343, pending(KIP343), IsrChangeResponse(results=(NONE,))),
        (SHIPPED, pending(SHIPPED), AlterPartitionResponse(partitions=(ALTERED,))),
        (SHIPPED, replace(cluster(SHIPPED)[1], life=Life.STARTING), BrokerHeartbeatResponse(caught_up=True)),
        (SHIPPED, starting(SHIPPED, Process(1, 1), controller=1), BrokerRegistrationResponse(epoch=7)),
    ],
    ids=["metadata-heartbeat", "isr-change", "alter-partition", "broker-heartbeat", "broker-registration"],
)
def test_nothing_is_taken_from_it(protocol: BrokerProtocol, broker: Broker, response: Response) -> None:
    outcome = answer(protocol, broker, response)
    assert outcome.state == broker and outcome.effects == () and outcome.rules == ()
