"""How metadata reaches a broker, and what it takes of it (BSTATE-3, BSTATE-8, HBK-10)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import events, views
from kraftcheck.reference.brokers.effects import SendMetadata
from kraftcheck.reference.brokers.messages import MetadataHeartbeatRequest, Process, VisibleBroker
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, After, cluster, controller, leader


def receivers(after: After) -> list[Process]:
    return [each.to for each in after.of(SendMetadata)]


def test_every_visible_broker_receives_a_change() -> None:
    after = controller(KIP343, brokers=(1, 2, 3)).on(events.SessionExpired(1))
    assert receivers(after) == [Process(2, 2), Process(3, 3)] and "BSTATE-8" in after.rules
    update = views.metadata(after.state)
    assert [each.broker for each in update.brokers] == [2, 3]
    assert (update.offset, update.controller, update.controller_epoch) == (-1, 1, 1)


def test_without_a_change_no_metadata_is_sent() -> None:
    after = controller(KIP343).ask(MetadataHeartbeatRequest(1, 1, 2))  # type: ignore[arg-type]
    assert receivers(after) == [] and "BSTATE-8" not in after.rules


def test_a_broker_without_a_heartbeat_receives_nothing_and_is_not_shown() -> None:
    after = controller(KIP343).on(events.RegistrationWritten(3, 5))
    assert receivers(after) == []
    assert after.on(events.MetadataDue(Process(3, 3))).effects == ()


def test_metadata_is_sent_once_more() -> None:
    before = controller(KIP343)
    due = events.MetadataDue(Process(1, 1))
    assert before.on(due).effects == (SendMetadata(Process(1, 1), views.metadata(before.state)),)
    assert before.on(events.MetadataDue(Process(1, 7))).effects == ()
    assert before.on(events.Failover(None), due).effects == ()


def test_without_a_known_incarnation_the_registration_says_where_a_broker_is() -> None:
    taken_over = controller(replace(KIP343, rebuilds_incarnations=False)).on(events.Failover(2))
    assert receivers(taken_over) == [Process(1, 1), Process(2, 2)]


def test_a_shipped_controller_sends_no_metadata_by_itself() -> None:
    after = controller(SHIPPED).on(events.SessionExpired(1))
    assert receivers(after) == []
    # Any process may read the log, whether it is registered or not.
    read = after.on(events.MetadataDue(Process(7, 7)))
    assert receivers(read) == [Process(7, 7)] and read.rules == ()
    (effect,) = read.effects
    assert effect.update.offset == after.state.durable.end_offset - 1
    assert effect.update.brokers == (VisibleBroker(2, 2),)


@pytest.mark.parametrize("protocol", [KIP343, SHIPPED])
def test_of_an_earlier_controller_nothing_is_taken(protocol: BrokerProtocol) -> None:
    before, broker, _ = cluster(protocol)
    old = views.metadata(before.on(events.SessionExpired(2)).state)
    new = broker.on(events.MetadataReceived(replace(old, controller=2, controller_epoch=5)))
    assert (new.state.controller, new.state.controller_epoch) == (2, 5)
    late = new.on(events.MetadataReceived(old))
    assert late.state == new.state and late.effects == ()


@pytest.mark.parametrize(
    ("leader_epoch", "partition_epoch", "taken"),
    [(1, 0, True), (0, 3, True), (0, 2, False), (0, 1, False), (1, 3, True)],
)
def test_of_a_partition_only_what_is_newer_is_taken(
    leader_epoch: int, partition_epoch: int, taken: bool
) -> None:
    broker = leader(KIP343, replace(LED_BY_1, partition_epoch=2), LED_BY_2)
    known, other = broker.state.partitions
    state = replace(known, leader=2, leader_epoch=leader_epoch, partition_epoch=partition_epoch)
    update = replace(views.metadata(controller(KIP343).state), brokers=(), partitions=(state,))
    after = broker.on(events.MetadataReceived(update)).state
    assert after.partitions == ((state, other) if taken else (known, other))
    assert after.visible == ()


def test_of_the_metadata_log_only_what_is_further_on_is_taken() -> None:
    before, broker, _ = cluster(SHIPPED)
    first = views.metadata(before.on(events.SessionExpired(1)).state)
    second = views.metadata(before.on(events.SessionExpired(1), events.SessionExpired(2)).state)
    ahead = broker.on(events.MetadataReceived(second))
    assert ahead.state.offset == second.offset and ahead.state.visible == () and ahead.rules == ("HBK-10",)
    assert ahead.on(events.MetadataReceived(first)).state == ahead.state
    empty = replace(views.metadata(before.state), brokers=(), partitions=(), offset=-1)
    late = broker.on(events.MetadataReceived(empty))
    assert late.state == broker.state and late.rules == ("HBK-10",)
