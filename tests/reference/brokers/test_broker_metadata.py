"""How metadata reaches a broker, and what it takes of it (BSTATE-3, BSTATE-8, HBK-10)."""

from __future__ import annotations

import pytest

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.effects import Tell
from kraftcheck.reference.brokers.events import (
    Failover,
    MetadataDue,
    MetadataReceived,
    RegistrationWritten,
    SessionExpired,
)
from kraftcheck.reference.brokers.messages import MetadataHeartbeatRequest, Process, VisibleBroker
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, ask, cluster


def told(outcome: object) -> list[Process]:
    return [each.to for each in outcome.effects if isinstance(each, Tell)]  # type: ignore[attr-defined]


def test_a_change_is_told_to_every_visible_broker() -> None:
    controller, *_ = cluster(KIP343, brokers=(1, 2, 3))
    outcome = step(KIP343, controller, SessionExpired(1))
    assert told(outcome) == [Process(2, 2), Process(3, 3)] and "BSTATE-8" in outcome.rules
    update = views.metadata(outcome.state)
    assert [each.broker for each in update.brokers] == [2, 3]
    assert (update.offset, update.controller, update.controller_epoch) == (-1, 1, 1)


def test_nothing_is_told_if_nothing_changed() -> None:
    controller, *_ = cluster(KIP343)
    outcome, _ = ask(KIP343, controller, MetadataHeartbeatRequest(1, 1, 2))  # type: ignore[arg-type]
    assert told(outcome) == [] and "BSTATE-8" not in outcome.rules


def test_a_broker_of_which_no_heartbeat_came_is_told_nothing_and_shown_to_nobody() -> None:
    controller, *_ = cluster(KIP343)
    outcome = step(KIP343, controller, RegistrationWritten(3, 5))
    assert told(outcome) == []
    assert step(KIP343, outcome.state, MetadataDue(Process(3, 3))).effects == ()


def test_told_once_more() -> None:
    controller, *_ = cluster(KIP343)
    outcome = step(KIP343, controller, MetadataDue(Process(1, 1)))
    assert outcome.effects == (Tell(Process(1, 1), views.metadata(controller)),)
    assert step(KIP343, controller, MetadataDue(Process(1, 7))).effects == ()
    nobody = step(KIP343, controller, Failover(None)).state
    assert step(KIP343, nobody, MetadataDue(Process(1, 1))).effects == ()


def test_without_a_known_incarnation_the_registration_says_where_a_broker_is() -> None:
    protocol = replace(KIP343, rebuilds_incarnations=False)
    controller, *_ = cluster(protocol)
    taken_over = step(protocol, controller, Failover(2))
    assert told(taken_over) == [Process(1, 1), Process(2, 2)]


def test_a_shipped_controller_tells_nobody_by_itself() -> None:
    controller, *_ = cluster(SHIPPED)
    outcome = step(SHIPPED, controller, SessionExpired(1))
    assert told(outcome) == []
    # Any process may read the log, whether it is registered or not.
    read = step(SHIPPED, outcome.state, MetadataDue(Process(7, 7)))
    assert told(read) == [Process(7, 7)] and read.rules == ()
    (effect,) = read.effects
    assert effect.update.offset == outcome.state.durable.end_offset - 1
    assert effect.update.brokers == (VisibleBroker(2, 2),)


def test_of_an_earlier_controller_nothing_is_taken() -> None:
    for protocol in (KIP343, SHIPPED):
        controller, broker, _ = cluster(protocol)
        old = views.metadata(step(protocol, controller, SessionExpired(2)).state)
        new = step(protocol, broker, MetadataReceived(replace(old, controller=2, controller_epoch=5))).state
        assert (new.controller, new.controller_epoch) == (2, 5)
        late = step(protocol, new, MetadataReceived(old))
        assert late.state == new and late.effects == ()


@pytest.mark.parametrize(
    ("leader_epoch", "partition_epoch", "taken"),
    [(1, 0, True), (0, 3, True), (0, 2, False), (0, 1, False), (1, 3, True)],
)
def test_of_a_partition_only_what_is_newer_is_taken(
    leader_epoch: int, partition_epoch: int, taken: bool
) -> None:
    _, broker, _ = cluster(KIP343, replace(LED_BY_1, partition_epoch=2), LED_BY_2)
    (known, other) = broker.partitions
    state = replace(known, leader=2, leader_epoch=leader_epoch, partition_epoch=partition_epoch)
    update = replace(views.metadata(cluster(KIP343)[0]), brokers=(), partitions=(state,))
    after = step(KIP343, broker, MetadataReceived(update)).state
    assert after.partitions == ((state, other) if taken else (known, other))
    assert after.visible == ()


def test_of_the_metadata_log_only_what_is_further_on_is_taken() -> None:
    controller, broker, _ = cluster(SHIPPED)
    first = views.metadata(step(SHIPPED, controller, SessionExpired(1)).state)
    second = views.metadata(
        step(SHIPPED, step(SHIPPED, controller, SessionExpired(1)).state, SessionExpired(2)).state
    )
    ahead = step(SHIPPED, broker, MetadataReceived(second))
    assert ahead.state.offset == second.offset and ahead.state.visible == () and ahead.rules == ("HBK-10",)
    assert step(SHIPPED, ahead.state, MetadataReceived(first)).state == ahead.state


def test_an_empty_metadata_log_that_was_read_earlier_takes_nothing_back() -> None:
    controller, broker, _ = cluster(SHIPPED)
    empty = replace(views.metadata(controller), brokers=(), partitions=(), offset=-1)
    late = step(SHIPPED, broker, MetadataReceived(empty))
    assert late.state == broker and late.rules == ("HBK-10",)
