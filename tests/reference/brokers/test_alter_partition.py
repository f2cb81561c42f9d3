"""AlterPartition at the controller and at the leader that asks (AISR)."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.brokers import messages, views
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.effects import Send
from kraftcheck.reference.brokers.errors import BrokerErrorCode as Error
from kraftcheck.reference.brokers.events import (
    IsrProposed,
    MetadataReceived,
    ProposedIsr,
    RequestTimedOut,
    SessionExpired,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, IsrChanges
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, After, controller, leader, proposal

CURRENT = replace(LED_BY_1, leader_epoch=5, partition_epoch=7)
SHRUNK = replace(LED_BY_1, isr=(1,))
ALONE, BOTH = IsrProposed((ProposedIsr("t", 0, (1,)),)), IsrProposed((ProposedIsr("t", 0, (1, 2)),))
SEND_PENDING = IsrProposed(())
FENCED = Error.FENCED_LEADER_EPOCH
TIMED_OUT = RequestTimedOut(Api.ISR)


def request(
    *proposals: messages.PartitionProposal, broker: int = 1, epoch: int = 2, version: int = 3
) -> messages.AlterPartitionRequest:
    return messages.AlterPartitionRequest(broker, epoch, proposals, version)


def result(
    error: Error = Error.NONE, leader_epoch: int = 0, partition_epoch: int = 1, topic: str = "t"
) -> messages.AlterPartitionResponse:
    """The result of one partition: its ISR is broker 1, or an error."""
    applied = (1, leader_epoch, partition_epoch, (1,)) if error is Error.NONE else ()
    return messages.AlterPartitionResponse(partitions=(messages.PartitionResult(topic, 0, error, *applied),))


def read(process: After, *, offset: int = 1, **named: Any) -> MetadataReceived:
    """The metadata log ``offset`` records further on, which says this of the first partition, and nothing
    else that is new.
    """
    broker = process.state
    first, *others = broker.partitions
    partitions = (replace(first, **named), *others)
    update = messages.MetadataUpdate(
        1, broker.controller_epoch, broker.visible, partitions, broker.offset + offset
    )
    return MetadataReceived(update)


def current(*isr: int, **named: Any) -> messages.PartitionProposal:
    return proposal(*isr, **{"leader_epoch": 5, "partition_epoch": 7, **named})


@pytest.mark.parametrize(
    ("node", "epoch", "error"),
    [(2, 9, Error.NOT_CONTROLLER), (1, 9, Error.STALE_BROKER_EPOCH), (1, 1, Error.STALE_BROKER_EPOCH)],
)
def test_refused_as_a_whole(node: int, epoch: int, error: Error) -> None:
    before = controller(SHIPPED, CURRENT, LED_BY_2)
    after = before.ask(request(current(1), epoch=epoch), node)
    assert (after.response, after.rules) == (messages.AlterPartitionResponse(error), ("AISR-1",))
    assert after.state == before.state


@pytest.mark.parametrize(
    ("wanted", "version", "error", "rule"),
    [
        (replace(current(1), topic="x"), 3, Error.UNKNOWN_TOPIC_ID, "AISR-2"),
        (replace(current(1), topic="x"), 1, Error.UNKNOWN_TOPIC_OR_PARTITION, "AISR-2"),
        (current(1, index=9), 3, Error.UNKNOWN_TOPIC_OR_PARTITION, "AISR-2"),
        (current(1, leader_epoch=6, partition_epoch=1), 3, Error.NOT_CONTROLLER, "AISR-2"),
        (current(1, leader_epoch=4, partition_epoch=8), 3, Error.NOT_CONTROLLER, "AISR-2"),
        (current(1, leader_epoch=4, partition_epoch=1), 3, Error.FENCED_LEADER_EPOCH, "AISR-2"),
        (proposal(1, index=1, leader_epoch=0, partition_epoch=0), 3, Error.INVALID_REQUEST, "AISR-2"),
        (current(partition_epoch=6), 3, Error.INVALID_UPDATE_VERSION, "AISR-2"),
        (current(), 3, Error.INVALID_REQUEST, "AISR-3"),
        (current(2), 3, Error.INVALID_REQUEST, "AISR-3"),
        (current(1, 1), 3, Error.INVALID_REQUEST, "AISR-3"),
        (current(1, 4), 3, Error.INVALID_REQUEST, "AISR-3"),
        (current(1, recovering=True), 3, Error.INVALID_REQUEST, "AISR-3"),
        (current(1, 2, epochs={2: 9}), 3, Error.INELIGIBLE_REPLICA, "AISR-4"),
        (current(1, 2, epochs={2: 9}), 2, Error.NONE, "AISR-5"),
        (current(1, 2, epochs={1: 2, 2: 3}), 3, Error.NONE, "AISR-5"),
        (current(1), 3, Error.NONE, "AISR-5"),
    ],
)
def test_checks_of_a_partition_in_order(
    wanted: messages.PartitionProposal, version: int, error: Error, rule: str
) -> None:
    before = controller(SHIPPED, CURRENT, LED_BY_2)
    after = before.ask(request(wanted, version=version))
    (found,) = after.response.partitions
    assert (found.topic, found.index, found.error) == (wanted.topic, wanted.index, error)
    assert after.rules[-1] == rule
    assert (after.state != before.state) == (wanted == current(1))


def test_an_applied_change_is_a_record_and_a_new_partition_epoch() -> None:
    before = controller(SHIPPED, CURRENT, LED_BY_2)
    after = before.ask(request(current(1), proposal(1, index=1)))
    assert after.response.partitions[0] == messages.PartitionResult("t", 0, Error.NONE, 1, 5, 8, (1,))
    assert after.response.partitions[1] == messages.PartitionResult("t", 1, Error.INVALID_REQUEST)
    assert after.state.durable.end_offset == before.state.durable.end_offset + 1
    again = after.ask(request(current(1, 2)))
    assert again.response.partitions[0].error is Error.INVALID_UPDATE_VERSION


def test_a_fenced_replica_joins_no_isr() -> None:
    after = controller(SHIPPED, SHRUNK).on(SessionExpired(2)).ask(request(proposal(1, 2), epoch=1))
    assert after.response.partitions[0].error is Error.INELIGIBLE_REPLICA


@pytest.mark.parametrize(("version", "error"), [(3, Error.INELIGIBLE_REPLICA), (2, Error.NONE)])
def test_a_replica_that_restarted_meanwhile(version: int, error: Error) -> None:
    """KIP-903: the leader means the previous process of broker 2, whose successor may have lost its disk."""
    protocol = replace(SHIPPED, alter_partition_version=version)
    gone = controller(protocol, SHRUNK).on(SessionExpired(2))
    registered = gone.ask(messages.BrokerRegistrationRequest(2, "cluster", 9))
    back = registered.ask(messages.BrokerHeartbeatRequest(2, registered.response.epoch, 99))
    after = back.ask(leader(protocol, SHRUNK).on(BOTH).sent)
    assert after.response.partitions[0].error is error


@pytest.mark.parametrize(
    ("recovering", "isr", "error"),
    [
        (True, (1,), Error.NONE),
        (True, (1, 2), Error.INVALID_REQUEST),
        (False, (1,), Error.NONE),
        (False, (1, 2), Error.NONE),
    ],
)
def test_a_recovering_leader_is_alone(recovering: bool, isr: tuple[int, ...], error: Error) -> None:
    before = controller(SHIPPED, replace(SHRUNK, recovering=True))
    after = before.ask(request(proposal(*isr, recovering=recovering), epoch=1))
    assert after.response.partitions[0].error is error


@pytest.mark.parametrize(("version", "error"), [(3, Error.NEW_LEADER_ELECTED), (1, FENCED)])
def test_a_reassignment_that_the_change_completes(version: int, error: Error) -> None:
    moving = Partition("t", 0, (1, 2), (1,), leader=1, adding=(2,), removing=(1,))
    after = controller(SHIPPED, moving).ask(request(proposal(1, 2), epoch=1, version=version))
    assert after.response.partitions[0].error is error
    assert after.partitions == (Partition("t", 0, (2,), (2,), leader=2, leader_epoch=1, partition_epoch=1),)


@pytest.mark.parametrize(("removing", "epoch"), [((3,), 1), ((), 0)])
def test_a_replica_that_leaves_the_list_begins_a_leader_epoch(removing: tuple[int, ...], epoch: int) -> None:
    before = tuple(sorted({1, 2, *removing}))
    moving = Partition("t", 0, before, (1,), leader=1, adding=(2,), removing=removing)
    after = controller(SHIPPED, moving, brokers=before).ask(request(proposal(1, 2), epoch=1))
    moved = Partition("t", 0, (1, 2), (1, 2), leader=1, leader_epoch=epoch, partition_epoch=1)
    assert after.partitions == (moved,)
    found = after.response.partitions[0]
    assert (found.error, found.leader_epoch) == (Error.NONE, epoch)


def test_a_reassignment_goes_on_until_all_have_joined() -> None:
    moving = Partition("t", 0, (1, 2, 3), (1,), leader=1, adding=(2, 3))
    after = controller(SHIPPED, moving, brokers=(1, 2, 3)).ask(request(proposal(1, 2), epoch=1))
    assert after.response.partitions[0].error is Error.NONE
    (partition,) = after.partitions
    assert partition.adding == (2, 3) and partition.isr == (1, 2)


# The leader.


def test_the_leader_uses_the_isr_of_the_answer() -> None:
    before = leader(SHIPPED)
    asked = before.on(ALONE)
    assert asked.effects == (Send(1, request(proposal(1, epochs={1: 1}), epoch=1)),)
    done = asked.hear(result())
    assert done.state.partitions[0].isr == (1,) and done.state.partitions[0].partition_epoch == 1
    assert done.rules == ("AISR-5",) and done.state.awaiting == ()
    for kept in (
        result(Error.INELIGIBLE_REPLICA),
        result(Error.OPERATION_NOT_ATTEMPTED),
        result(partition_epoch=0),  # not newer than what is known
    ):
        assert asked.hear(kept).state == before.state
    assert asked.hear(result(topic="x")).state == replace(asked.state, awaiting=())
    assert before.but(epoch=-1).on(ALONE).effects == ()  # it is not registered yet


@pytest.mark.parametrize(
    "error",
    [
        Error.FENCED_LEADER_EPOCH,
        Error.INVALID_REQUEST,
        Error.INVALID_UPDATE_VERSION,
        Error.NEW_LEADER_ELECTED,
        Error.UNKNOWN_TOPIC_ID,
        Error.UNKNOWN_TOPIC_OR_PARTITION,
    ],
)
def test_errors_after_which_metadata_says_which_isr_is_effective(error: Error) -> None:
    asked = leader(SHIPPED).on(ALONE)
    refused = asked.hear(result(error))
    assert refused.rules == ("AISR-6",)
    assert refused.state.pending == (replace(asked.state.pending[0], refused=True),)
    assert refused.on(ALONE).effects == ()
    assert refused.on(read(asked)).state.pending == refused.state.pending
    settled = refused.on(read(asked, partition_epoch=1))
    assert settled.state.pending == () and settled.rules == ("HBK-10", "AISR-6")


@pytest.mark.parametrize(("leader_epoch", "partition_epoch"), [(6, 8), (4, 8), (5, 6)])
def test_an_answer_that_is_not_of_what_the_leader_knows_leaves_the_change_pending(
    leader_epoch: int, partition_epoch: int
) -> None:
    """A change that ends a reassignment has a newer leader epoch; metadata will say what it led to."""
    asked = leader(SHIPPED, CURRENT).on(ALONE)
    after = asked.hear(result(Error.NONE, leader_epoch, partition_epoch))
    assert after.rules == ("AISR-6",) and after.state.partitions == asked.state.partitions
    assert after.state.pending == (replace(asked.state.pending[0], refused=True),)
    assert after.on(read(asked, leader_epoch=6, partition_epoch=8)).state.pending == ()


def test_what_is_asked_again_means_the_same_processes_of_its_members() -> None:
    """A member that has restarted meanwhile need not have the log of its previous process (KIP-903)."""
    asked = leader(SHIPPED, SHRUNK).on(BOTH)
    restarted = asked.on(TIMED_OUT).but(visible=(messages.VisibleBroker(1, 1), messages.VisibleBroker(2, 99)))
    assert restarted.on(SEND_PENDING).effects == asked.effects


@pytest.mark.parametrize(("version", "lives"), [(3, {2}), (2, {1, 2, 3})])
def test_the_process_that_fetched_joins(version: int, lives: set[int]) -> None:
    """KIP-903: the broker epoch of metadata may be that of a process which has not fetched anything yet."""
    before = leader(replace(SHIPPED, alter_partition_version=version), SHRUNK)

    def joins(life: int) -> IsrProposed:
        return IsrProposed((ProposedIsr("t", 0, (1, 2), (messages.IsrMember(2, life),)),))

    asked = {life: before.on(joins(life)) for life in (1, 2, 3)}
    assert {life for life, after in asked.items() if after.state.pending} == lives
    assert {life for life, after in asked.items() if after.effects} == lives
    assert {after.rules for after in asked.values()} == {("AISR-7",) if version == 3 else ()}
    unseen = before.but(visible=(messages.VisibleBroker(1, 1),))
    assert bool(unseen.on(joins(2)).effects) == (version == 2)


def test_a_member_stays_whichever_of_its_processes_fetched() -> None:
    before = leader(SHIPPED, Partition("t", 0, (1, 2, 3), (1, 2), leader=1), brokers=(1, 2, 3))
    wanted = IsrProposed(
        (ProposedIsr("t", 0, (1, 2, 3), (messages.IsrMember(2, 9), messages.IsrMember(3, 3))),)
    )
    assert len(before.on(wanted).effects) == 1


def test_metadata_that_is_behind_an_answer_takes_nothing_back() -> None:
    asked = leader(SHIPPED).on(ALONE)
    done = asked.hear(result())
    behind = done.on(read(asked)).state
    assert behind.partitions == done.state.partitions and behind.offset == asked.state.offset + 1


# The liveness of one form with the ISR changes of the other.


def test_the_draft_with_partition_epochs() -> None:
    """With AlterPartition a late request of the same leader epoch is refused, an inactive member too."""
    protocol = replace(KIP343, isr_changes=IsrChanges.ALTER_PARTITION)
    sent = leader(protocol).on(ALONE).sent
    assert sent.epoch == leader(protocol).state.incarnation
    done = controller(protocol).ask(sent)
    late = done.ask(sent)
    refused = done.on(SessionExpired(2)).ask(request(proposal(1, 2, partition_epoch=1), epoch=1))
    found = [after.response.partitions[0].error for after in (done, late, refused)]
    assert found == [Error.NONE, Error.INVALID_UPDATE_VERSION, Error.INELIGIBLE_REPLICA]


def test_sessions_with_isr_changes_of_the_draft() -> None:
    """Without the checks of KIP-841 a leader takes a fenced replica into the ISR."""
    protocol = replace(SHIPPED, isr_changes=IsrChanges.ISR_CHANGE)
    before = controller(protocol, SHRUNK)
    sent = leader(protocol, SHRUNK).on(BOTH).sent
    assert sent.incarnation == views.registration(before.state, 1).epoch
    after = before.on(SessionExpired(2)).ask(sent)
    assert after.response.results == (Error.NONE,) and after.partitions[0].isr == (1, 2)
