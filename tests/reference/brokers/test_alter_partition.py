"""AlterPartition at the controller and at the leader that asks (AISR)."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.brokers import views
from kraftcheck.reference.brokers.broker import Api, Broker
from kraftcheck.reference.brokers.effects import Send
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import (
    ControllerFound,
    IsrWish,
    IsrWished,
    MetadataReceived,
    RequestTimedOut,
    SessionExpired,
)
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    IsrMember,
    MetadataUpdate,
    PartitionProposal,
    PartitionResult,
    VisibleBroker,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol, IsrChanges
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, answer, ask, cluster, proposal

E = BrokerErrorCode
CURRENT = replace(LED_BY_1, leader_epoch=5, partition_epoch=7)
WISH = IsrWished((IsrWish("t", 0, (1,)),))


def request(
    *proposals: PartitionProposal, broker: int = 1, epoch: int = 2, version: int = 3
) -> AlterPartitionRequest:
    return AlterPartitionRequest(broker, epoch, proposals, version)


def read(broker: Broker, *, offset: int, **named: Any) -> MetadataReceived:
    """The metadata log up to ``offset``, which says this of the first partition, and else nothing new."""
    first, *others = broker.partitions
    partitions = (replace(first, **named), *others)
    return MetadataReceived(MetadataUpdate(1, broker.controller_epoch, broker.visible, partitions, offset))


def current(*isr: int, **named: Any) -> PartitionProposal:
    return proposal(*isr, **{"leader_epoch": 5, "partition_epoch": 7, **named})


@pytest.mark.parametrize(
    ("node", "epoch", "error"),
    [(2, 9, E.NOT_CONTROLLER), (1, 9, E.STALE_BROKER_EPOCH), (1, 1, E.STALE_BROKER_EPOCH)],
)
def test_refused_as_a_whole(node: int, epoch: int, error: BrokerErrorCode) -> None:
    controller, *_ = cluster(SHIPPED, CURRENT, LED_BY_2)
    outcome, response = ask(SHIPPED, controller, request(current(1), epoch=epoch), node)
    assert response == AlterPartitionResponse(error)
    assert outcome.rules == ("AISR-1",) and outcome.state == controller


@pytest.mark.parametrize(
    ("wanted", "version", "error", "rule"),
    [
        (replace(current(1), topic="x"), 3, E.UNKNOWN_TOPIC_ID, "AISR-2"),
        (replace(current(1), topic="x"), 1, E.UNKNOWN_TOPIC_OR_PARTITION, "AISR-2"),
        (current(1, index=9), 3, E.UNKNOWN_TOPIC_OR_PARTITION, "AISR-2"),
        (current(1, leader_epoch=6, partition_epoch=1), 3, E.NOT_CONTROLLER, "AISR-2"),
        (current(1, leader_epoch=4, partition_epoch=8), 3, E.NOT_CONTROLLER, "AISR-2"),
        (current(1, leader_epoch=4, partition_epoch=1), 3, E.FENCED_LEADER_EPOCH, "AISR-2"),
        (proposal(1, index=1, leader_epoch=0, partition_epoch=0), 3, E.INVALID_REQUEST, "AISR-2"),
        (current(partition_epoch=6), 3, E.INVALID_UPDATE_VERSION, "AISR-2"),
        (current(), 3, E.INVALID_REQUEST, "AISR-3"),
        (current(2), 3, E.INVALID_REQUEST, "AISR-3"),
        (current(1, 1), 3, E.INVALID_REQUEST, "AISR-3"),
        (current(1, 4), 3, E.INVALID_REQUEST, "AISR-3"),
        (current(1, recovering=True), 3, E.INVALID_REQUEST, "AISR-3"),
        (current(1, 2, epochs={2: 9}), 3, E.INELIGIBLE_REPLICA, "AISR-4"),
        (current(1, 2, epochs={2: 9}), 2, E.NONE, "AISR-5"),
        (current(1, 2, epochs={1: 2, 2: 3}), 3, E.NONE, "AISR-5"),
        (current(1), 3, E.NONE, "AISR-5"),
    ],
)
def test_checks_of_a_partition_in_order(
    wanted: PartitionProposal, version: int, error: BrokerErrorCode, rule: str
) -> None:
    controller, *_ = cluster(SHIPPED, CURRENT, LED_BY_2)
    outcome, response = ask(SHIPPED, controller, request(wanted, version=version))
    (result,) = response.partitions
    assert (result.topic, result.index, result.error) == (wanted.topic, wanted.index, error)
    assert outcome.rules[-1] == rule
    assert (outcome.state != controller) == (wanted == current(1))


def test_an_applied_change_is_a_record_and_a_new_partition_epoch() -> None:
    controller, *_ = cluster(SHIPPED, CURRENT, LED_BY_2)
    outcome, response = ask(SHIPPED, controller, request(current(1), proposal(1, index=1)))
    assert response.partitions[0] == PartitionResult("t", 0, E.NONE, 1, 5, 8, (1,))
    assert response.partitions[1] == PartitionResult("t", 1, E.INVALID_REQUEST)
    assert outcome.state.durable.end_offset == controller.durable.end_offset + 1
    _, again = ask(SHIPPED, outcome.state, request(current(1, 2)))
    assert again.partitions[0].error is E.INVALID_UPDATE_VERSION


def test_a_fenced_replica_joins_no_isr() -> None:
    shrunk = replace(LED_BY_1, isr=(1,))
    controller, *_ = cluster(SHIPPED, shrunk)
    fenced = step(SHIPPED, controller, SessionExpired(2)).state
    _, response = ask(SHIPPED, fenced, request(proposal(1, 2), epoch=1))
    assert response.partitions[0].error is E.INELIGIBLE_REPLICA


@pytest.mark.parametrize(("version", "error"), [(3, E.INELIGIBLE_REPLICA), (2, E.NONE)])
def test_a_replica_that_restarted_meanwhile(version: int, error: BrokerErrorCode) -> None:
    """KIP-903: the leader means the former life of broker 2, whose successor may have lost its disk."""
    protocol = replace(SHIPPED, alter_partition_version=version)
    shrunk = replace(LED_BY_1, isr=(1,))
    controller, leader, _ = cluster(protocol, shrunk)
    gone = step(protocol, controller, SessionExpired(2)).state
    registered, answered = ask(protocol, gone, BrokerRegistrationRequest(2, "cluster", 9))
    back, _ = ask(protocol, registered.state, BrokerHeartbeatRequest(2, answered.epoch, 99))
    wish = step(protocol, leader, IsrWished((IsrWish("t", 0, (1, 2)),)))
    (sent,) = (each.request for each in wish.effects if isinstance(each, Send))
    _, response = ask(protocol, back.state, sent)
    assert response.partitions[0].error is error


@pytest.mark.parametrize(
    ("recovering", "isr", "error"),
    [(True, (1,), E.NONE), (True, (1, 2), E.INVALID_REQUEST), (False, (1,), E.NONE), (False, (1, 2), E.NONE)],
)
def test_a_recovering_leader_is_alone(recovering: bool, isr: tuple[int, ...], error: BrokerErrorCode) -> None:
    controller, *_ = cluster(SHIPPED, replace(LED_BY_1, isr=(1,), recovering=True))
    _, response = ask(SHIPPED, controller, request(proposal(*isr, recovering=recovering), epoch=1))
    assert response.partitions[0].error is error


@pytest.mark.parametrize(("version", "error"), [(3, E.NEW_LEADER_ELECTED), (1, E.FENCED_LEADER_EPOCH)])
def test_a_reassignment_that_the_change_completes(version: int, error: BrokerErrorCode) -> None:
    moving = Partition("t", 0, (1, 2), (1,), leader=1, adding=(2,), removing=(1,))
    controller, *_ = cluster(SHIPPED, moving)
    outcome, response = ask(SHIPPED, controller, request(proposal(1, 2), epoch=1, version=version))
    assert response.partitions[0].error is error
    (partition,) = outcome.state.durable.partitions
    assert partition == Partition("t", 0, (2,), (2,), leader=2, leader_epoch=1, partition_epoch=1)


@pytest.mark.parametrize(("removing", "epoch"), [((3,), 1), ((), 0)])
def test_a_replica_that_leaves_the_list_is_told_apart_by_a_leader_epoch(
    removing: tuple[int, ...], epoch: int
) -> None:
    before = tuple(sorted({1, 2, *removing}))
    moving = Partition("t", 0, before, (1,), leader=1, adding=(2,), removing=removing)
    controller, *_ = cluster(SHIPPED, moving, brokers=before)
    outcome, response = ask(SHIPPED, controller, request(proposal(1, 2), epoch=1))
    (partition,) = outcome.state.durable.partitions
    assert partition == Partition("t", 0, (1, 2), (1, 2), leader=1, leader_epoch=epoch, partition_epoch=1)
    assert (response.partitions[0].error, response.partitions[0].leader_epoch) == (E.NONE, epoch)


def test_a_reassignment_goes_on_until_all_have_joined() -> None:
    moving = Partition("t", 0, (1, 2, 3), (1,), leader=1, adding=(2, 3))
    controller, *_ = cluster(SHIPPED, moving, brokers=(1, 2, 3))
    outcome, response = ask(SHIPPED, controller, request(proposal(1, 2), epoch=1))
    assert response.partitions[0].error is E.NONE
    (partition,) = outcome.state.durable.partitions
    assert partition.adding == (2, 3) and partition.isr == (1, 2)


# The leader.


def test_the_leader_uses_the_isr_of_the_answer() -> None:
    _, broker, _ = cluster(SHIPPED)
    asked = step(SHIPPED, broker, IsrWished((IsrWish("t", 0, (1,)),)))
    assert asked.effects == (Send(1, request(proposal(1, epochs={1: 1}), epoch=1)),)
    done = answer(
        SHIPPED,
        asked.state,
        AlterPartitionResponse(partitions=(PartitionResult("t", 0, E.NONE, 1, 0, 1, (1,)),)),
    )
    assert done.state.partitions[0].isr == (1,) and done.state.partitions[0].partition_epoch == 1
    assert done.rules == ("AISR-5",) and done.state.awaiting == ()
    for result in (
        PartitionResult("t", 0, E.INELIGIBLE_REPLICA),
        PartitionResult("t", 0, E.OPERATION_NOT_ATTEMPTED),
        PartitionResult("t", 0, E.NONE, 1, 0, 0, (1,)),  # not newer than what is known
    ):
        kept = answer(SHIPPED, asked.state, AlterPartitionResponse(partitions=(result,)))
        assert kept.state == broker
    of_another = AlterPartitionResponse(partitions=(PartitionResult("x", 0, E.NONE, 1, 0, 1, (1,)),))
    assert answer(SHIPPED, asked.state, of_another).state == replace(asked.state, awaiting=())


@pytest.mark.parametrize(
    "error",
    [
        E.FENCED_LEADER_EPOCH,
        E.INVALID_REQUEST,
        E.INVALID_UPDATE_VERSION,
        E.NEW_LEADER_ELECTED,
        E.UNKNOWN_TOPIC_ID,
        E.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_errors_after_which_metadata_says_what_is_in_force(error: BrokerErrorCode) -> None:
    _, broker, _ = cluster(SHIPPED)
    asked = step(SHIPPED, broker, WISH).state
    refused = answer(SHIPPED, asked, AlterPartitionResponse(partitions=(PartitionResult("t", 0, error),)))
    assert refused.rules == ("AISR-6",)
    assert refused.state.pending == (replace(asked.pending[0], refused=True),)
    assert step(SHIPPED, refused.state, WISH).effects == ()
    unchanged = step(SHIPPED, refused.state, read(broker, offset=broker.offset + 1)).state
    assert unchanged.pending == refused.state.pending
    settled = step(SHIPPED, refused.state, read(broker, offset=broker.offset + 1, partition_epoch=1))
    assert settled.state.pending == () and settled.rules == ("HBK-10", "AISR-6")


@pytest.mark.parametrize(("leader_epoch", "partition_epoch"), [(6, 8), (4, 8), (5, 6)])
def test_an_answer_that_is_not_of_what_the_leader_knows_leaves_the_change_pending(
    leader_epoch: int, partition_epoch: int
) -> None:
    """A newer leader epoch has a change that ends a reassignment: what it led to, metadata will say."""
    _, broker, _ = cluster(SHIPPED, CURRENT)
    asked = step(SHIPPED, broker, WISH).state
    result = PartitionResult("t", 0, E.NONE, 1, leader_epoch, partition_epoch, (1,))
    told = answer(SHIPPED, asked, AlterPartitionResponse(partitions=(result,)))
    assert told.rules == ("AISR-6",) and told.state.partitions == broker.partitions
    assert told.state.pending == (replace(asked.pending[0], refused=True),)
    read_so = read(broker, offset=broker.offset + 1, leader_epoch=6, partition_epoch=8)
    assert step(SHIPPED, told.state, read_so).state.pending == ()


def test_a_change_whose_answer_is_lost_is_asked_for_again_and_applied_once() -> None:
    controller, broker, _ = cluster(SHIPPED)
    first = step(SHIPPED, broker, WISH)
    (sent,) = (each.request for each in first.effects if isinstance(each, Send))
    applied, _ = ask(SHIPPED, controller, sent)
    given_up = step(SHIPPED, first.state, RequestTimedOut(Api.ISR)).state
    assert given_up.pending == first.state.pending
    again = step(SHIPPED, given_up, IsrWished(()))
    assert again.effects == first.effects and again.rules == ("AISR-6",)
    twice, response = ask(SHIPPED, applied.state, sent)
    assert twice.state == applied.state and response.partitions[0].error is E.INVALID_UPDATE_VERSION
    waiting = answer(SHIPPED, again.state, response).state
    assert [each.refused for each in waiting.pending] == [True]
    told = step(SHIPPED, waiting, MetadataReceived(views.metadata(applied.state))).state
    assert told.pending == () and told.partitions[0].isr == (1,)


def test_metadata_ends_a_pending_change_while_its_answer_is_awaited() -> None:
    _, broker, _ = cluster(SHIPPED)
    asked = step(SHIPPED, broker, WISH).state
    told = step(SHIPPED, asked, read(broker, offset=broker.offset + 1, partition_epoch=1)).state
    assert told.pending == () and told.awaiting == (Api.ISR,)
    late = AlterPartitionResponse(partitions=(PartitionResult("t", 0, E.NONE, 1, 0, 2, (1,)),))
    assert answer(SHIPPED, told, late).state == replace(told, awaiting=())


def test_a_partition_that_is_gone_has_no_pending_change() -> None:
    _, broker, _ = cluster(SHIPPED)
    asked = step(SHIPPED, broker, WISH).state
    gone = MetadataUpdate(1, broker.controller_epoch, broker.visible, (), broker.offset + 1)
    assert step(SHIPPED, asked, MetadataReceived(gone)).state.pending == ()


def test_what_is_asked_again_means_the_same_lives_of_its_members() -> None:
    """A member that has started anew meanwhile need not have what its former life had (KIP-903)."""
    _, broker, _ = cluster(SHIPPED, replace(LED_BY_1, isr=(1,)))
    asked = step(SHIPPED, broker, IsrWished((IsrWish("t", 0, (1, 2)),)))
    given_up = step(SHIPPED, asked.state, RequestTimedOut(Api.ISR)).state
    restarted = replace(given_up, visible=(VisibleBroker(1, 1), VisibleBroker(2, 99)))
    assert step(SHIPPED, restarted, IsrWished(())).effects == asked.effects


@pytest.mark.parametrize(("version", "lives"), [(3, {2}), (2, {1, 2, 3})])
def test_who_joins_is_the_life_that_fetched(version: int, lives: set[int]) -> None:
    """KIP-903: the broker epoch of metadata may be that of a process which has not fetched anything yet."""
    protocol = replace(SHIPPED, alter_partition_version=version)
    _, broker, _ = cluster(protocol, replace(LED_BY_1, isr=(1,)))
    asked = {
        life: step(protocol, broker, IsrWished((IsrWish("t", 0, (1, 2), (IsrMember(2, life),)),)))
        for life in (1, 2, 3)
    }
    assert {life for life, outcome in asked.items() if outcome.state.pending} == lives
    assert {life for life, outcome in asked.items() if outcome.effects} == lives
    assert {outcome.rules for outcome in asked.values()} == {("AISR-7",) if version == 3 else ()}
    unseen = replace(broker, visible=(VisibleBroker(1, 1),))
    wish = IsrWished((IsrWish("t", 0, (1, 2), (IsrMember(2, 2),)),))
    assert bool(step(protocol, unseen, wish).effects) == (version == 2)


def test_which_life_of_a_member_fetched_keeps_no_member_from_staying() -> None:
    _, broker, _ = cluster(SHIPPED, Partition("t", 0, (1, 2, 3), (1, 2), leader=1), brokers=(1, 2, 3))
    wish = IsrWished((IsrWish("t", 0, (1, 2, 3), (IsrMember(2, 9), IsrMember(3, 3))),))
    assert len(step(SHIPPED, broker, wish).effects) == 1


def test_metadata_that_is_behind_an_answer_takes_nothing_back() -> None:
    _, broker, _ = cluster(SHIPPED)
    asked = step(SHIPPED, broker, WISH).state
    applied = AlterPartitionResponse(partitions=(PartitionResult("t", 0, E.NONE, 1, 0, 1, (1,)),))
    done = answer(SHIPPED, asked, applied).state
    behind = step(SHIPPED, done, read(broker, offset=broker.offset + 1)).state
    assert behind.partitions == done.partitions and behind.offset == broker.offset + 1


def test_nobody_asks_before_it_is_registered() -> None:
    _, broker, _ = cluster(SHIPPED)
    assert step(SHIPPED, replace(broker, epoch=-1), IsrWished((IsrWish("t", 0, (1,)),))).effects == ()


@pytest.mark.parametrize("top_level", [True, False])
def test_a_node_that_is_behind_is_left(top_level: bool) -> None:
    _, broker, _ = cluster(SHIPPED)
    asked = step(SHIPPED, broker, IsrWished((IsrWish("t", 0, (1,)),))).state
    response = AlterPartitionResponse(E.NOT_CONTROLLER)
    if not top_level:
        response = AlterPartitionResponse(partitions=(PartitionResult("t", 0, E.NOT_CONTROLLER),))
    told = answer(SHIPPED, asked, response).state
    assert told.controller is None and told.partitions == broker.partitions and told.pending == asked.pending
    found = step(SHIPPED, told, ControllerFound(2)).state
    assert isinstance(step(SHIPPED, found, IsrWished(())).effects[0], Send)


# One form's liveness with the other's changes of ISRs.


def test_the_draft_with_partition_epochs() -> None:
    """With AlterPartition a late request of the same leader epoch is refused, an inactive member too."""
    protocol = replace(KIP343, isr_changes=IsrChanges.ALTER_PARTITION)
    controller, broker, _ = cluster(protocol)
    asked = step(protocol, broker, IsrWished((IsrWish("t", 0, (1,)),)))
    (sent,) = (each.request for each in asked.effects if isinstance(each, Send))
    assert sent.epoch == broker.incarnation
    done, response = ask(protocol, controller, sent)
    assert response.partitions[0].error is E.NONE
    _, late = ask(protocol, done.state, sent)
    assert late.partitions[0].error is E.INVALID_UPDATE_VERSION
    silent = step(protocol, done.state, SessionExpired(2)).state
    _, refused = ask(protocol, silent, request(proposal(1, 2, partition_epoch=1), epoch=1))
    assert refused.partitions[0].error is E.INELIGIBLE_REPLICA


def test_sessions_with_isr_changes_of_the_draft() -> None:
    """Without the checks of KIP-841 a leader takes a fenced replica into the ISR."""
    protocol: BrokerProtocol = replace(SHIPPED, isr_changes=IsrChanges.ISR_CHANGE)
    controller, broker, _ = cluster(protocol, replace(LED_BY_1, isr=(1,)))
    fenced = step(protocol, controller, SessionExpired(2)).state
    asked = step(protocol, broker, IsrWished((IsrWish("t", 0, (1, 2)),)))
    (sent,) = (each.request for each in asked.effects if isinstance(each, Send))
    assert sent.incarnation == views.registration(controller, 1).epoch
    outcome, response = ask(protocol, fenced, sent)
    assert response.results == (E.NONE,) and outcome.state.durable.partitions[0].isr == (1, 2)
