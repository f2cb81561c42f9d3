"""IsrChange at the controller and at the leader that asks (ISR)."""

from __future__ import annotations

import pytest

from reference.brokers.broker import Api
from reference.brokers.effects import PartitionChanged, Send
from reference.brokers.errors import BrokerErrorCode
from reference.brokers.events import (
    HeartbeatDue,
    IsrWish,
    IsrWished,
    RegistrationWritten,
    RequestTimedOut,
    SessionExpired,
)
from reference.brokers.messages import IsrChangeRequest, IsrChangeResponse, IsrProposal
from reference.brokers.partition import Partition
from reference.brokers.protocol import KIP343, KnownLife
from reference.brokers.step import step
from reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, answer, ask, cluster

NONE, INVALID_REQUEST = BrokerErrorCode.NONE, BrokerErrorCode.INVALID_REQUEST
NOT_LEADER = BrokerErrorCode.NOT_LEADER_FOR_PARTITION


def change(*isr: int, index: int = 0, leader_epoch: int = 0) -> IsrProposal:
    return IsrProposal("t", index, leader_epoch, isr)


def request(*proposals: IsrProposal, broker: int = 1, incarnation: int = 1) -> IsrChangeRequest:
    return IsrChangeRequest(broker, incarnation, proposals)


@pytest.mark.parametrize(
    ("proposal", "result", "rules"),
    [
        (change(1), NONE, ("ISR-8", "ISR-7")),
        (change(2, 1), NONE, ("ISR-8", "ISR-7")),
        (change(1, index=1), NOT_LEADER, ("ISR-8", "ISR-4")),
        (change(index=1), NOT_LEADER, ("ISR-8", "ISR-4")),
        (change(1, leader_epoch=1), NOT_LEADER, ("ISR-8", "ISR-5")),
        (change(leader_epoch=1), NOT_LEADER, ("ISR-8", "ISR-5")),
        (change(), INVALID_REQUEST, ("ISR-8", "ISR-6")),
        (change(2), INVALID_REQUEST, ("ISR-8", "ISR-6")),
        (change(1, 3), INVALID_REQUEST, ("ISR-8", "ISR-6")),
        (change(1, 1), INVALID_REQUEST, ("ISR-8", "ISR-6")),
        (change(1, index=9), INVALID_REQUEST, ("ISR-8", "ISR-6")),
    ],
)
def test_checks_of_a_partition_in_order(
    proposal: IsrProposal, result: BrokerErrorCode, rules: tuple[str, ...]
) -> None:
    controller, *_ = cluster(KIP343, LED_BY_1, LED_BY_2)
    outcome, response = ask(KIP343, controller, request(proposal))
    assert response == IsrChangeResponse(results=(result,))
    assert outcome.rules[:2] == rules
    changed = [each for each in outcome.effects if isinstance(each, PartitionChanged)]
    assert bool(changed) == (proposal == change(1))  # the same ISR again is no change


def test_without_the_comparison_a_request_of_an_earlier_epoch_is_applied() -> None:
    protocol = replace(KIP343, compares_leader_epoch=False)
    controller, *_ = cluster(protocol)
    _, response = ask(protocol, controller, request(change(1, leader_epoch=9)))
    assert response.results == (NONE,)


def test_results_are_independent_and_in_order() -> None:
    other = replace(LED_BY_1, index=2)
    controller, *_ = cluster(KIP343, LED_BY_1, LED_BY_2, other)
    outcome, response = ask(
        KIP343, controller, request(change(1, index=2), change(1, index=1), change(), change(1))
    )
    assert response.results == (NONE, NOT_LEADER, INVALID_REQUEST, NONE)
    isrs = {each.index: each.isr for each in outcome.state.durable.partitions}
    assert isrs == {0: (1,), 1: (1, 2), 2: (1,)}


@pytest.mark.parametrize(
    ("node", "incarnation", "error", "rule"),
    [
        (2, 1, BrokerErrorCode.NOT_CONTROLLER, "ISR-2"),
        (2, 9, BrokerErrorCode.NOT_CONTROLLER, "ISR-2"),
        (1, 0, BrokerErrorCode.INVALID_INCARNATION_ID, "ISR-3"),
        (1, 9, BrokerErrorCode.INVALID_INCARNATION_ID, "ISR-3"),
    ],
)
def test_a_top_level_error_applies_nothing(
    node: int, incarnation: int, error: BrokerErrorCode, rule: str
) -> None:
    controller, *_ = cluster(KIP343)
    outcome, response = ask(KIP343, controller, request(change(1), incarnation=incarnation), node)
    assert response == IsrChangeResponse(error)
    assert outcome.rules == (rule,) and outcome.state == controller


@pytest.mark.parametrize(
    ("known", "error"),
    [
        (KnownLife.REGISTERED, BrokerErrorCode.INVALID_INCARNATION_ID),
        (KnownLife.REMEMBERED, BrokerErrorCode.NONE),
    ],
)
def test_a_newcomer_that_has_registered_and_not_heartbeat_yet(
    known: KnownLife, error: BrokerErrorCode
) -> None:
    """ISR-3 asks the store; what the controller remembers of heartbeats is older."""
    protocol = replace(KIP343, known_life=known)
    controller, *_ = cluster(protocol)
    controller = step(protocol, controller, RegistrationWritten(1, 5)).state
    _, response = ask(protocol, controller, request(change(1)))
    assert response.error is error


def test_a_delayed_change_of_a_leader_that_was_held_to_be_inactive() -> None:
    """FENCE-5: it still serves, and what it asks for is of an earlier leader epoch."""
    controller, *_ = cluster(KIP343)
    moved = step(KIP343, controller, SessionExpired(1)).state
    _, response = ask(KIP343, moved, request(change(1)))
    assert response.results == (NOT_LEADER,)


# The leader.


def test_only_the_leader_asks_and_uses_the_new_isr_after_the_answer() -> None:
    _, broker, _ = cluster(KIP343, LED_BY_1, LED_BY_2)
    outcome = step(KIP343, broker, IsrWished((IsrWish("t", 0, (1,)), IsrWish("t", 1, (1,)))))
    assert outcome.effects == (Send(1, request(change(1))),)
    assert outcome.rules == ("ISR-1", "ISR-9")
    pending = outcome.state
    assert pending.partitions == broker.partitions and len(pending.pending) == 1
    assert step(KIP343, pending, IsrWished((IsrWish("t", 0, (1, 2)),))).effects == ()  # one at a time
    done = answer(KIP343, pending, IsrChangeResponse(results=(NONE,)))
    assert done.rules == ("ISR-8", "ISR-9")
    assert [each.isr for each in done.state.partitions] == [(1,), (1, 2)] and done.state.pending == ()


def test_who_leads_nothing_asks_for_nothing() -> None:
    _, _, follower = cluster(KIP343)
    outcome = step(KIP343, follower, IsrWished((IsrWish("t", 0, (2,)), IsrWish("x", 0, (2,)))))
    assert outcome.effects == () and outcome.rules == ("ISR-1",) and outcome.state == follower


@pytest.mark.parametrize("result", [NOT_LEADER, INVALID_REQUEST])
def test_a_refused_change_leaves_the_isr(result: BrokerErrorCode) -> None:
    _, broker, _ = cluster(KIP343)
    pending = step(KIP343, broker, IsrWished((IsrWish("t", 0, (1,)),))).state
    assert answer(KIP343, pending, IsrChangeResponse(results=(result,))).state == broker


def test_a_superseded_process_changes_no_isr_any_more() -> None:
    _, broker, _ = cluster(KIP343)
    wish = IsrWished((IsrWish("t", 0, (1,)),))
    pending = step(KIP343, broker, wish).state
    told = answer(KIP343, pending, IsrChangeResponse(BrokerErrorCode.INVALID_INCARNATION_ID))
    assert told.rules == ("ISR-3",) and told.state.superseded
    later = step(KIP343, told.state, wish)
    assert later.effects == () and later.rules == ("ISR-3",)
    assert isinstance(step(KIP343, told.state, HeartbeatDue()).effects[0], Send)


def test_another_controller_may_be_asked() -> None:
    _, broker, _ = cluster(KIP343)
    pending = step(KIP343, broker, IsrWished((IsrWish("t", 0, (1,)),))).state
    told = answer(KIP343, pending, IsrChangeResponse(BrokerErrorCode.NOT_CONTROLLER))
    assert told.rules == ("ISR-2",) and told.state.controller is None and told.state.pending == ()
    given_up = step(KIP343, pending, RequestTimedOut(Api.ISR)).state
    assert given_up == broker


def test_an_answer_that_metadata_has_overtaken_changes_nothing() -> None:
    _, broker, _ = cluster(KIP343)
    pending = step(KIP343, broker, IsrWished((IsrWish("t", 0, (1,)),))).state
    (known,) = pending.partitions
    newer = replace(pending, partitions=(replace(known, partition_epoch=5, isr=(1, 2)),))
    done = answer(KIP343, newer, IsrChangeResponse(results=(NONE,))).state
    assert done.partitions == newer.partitions


def test_within_a_leader_epoch_nothing_orders_two_requests() -> None:
    """The draft has no partition epoch: a request that was given up is applied after its successor."""
    three = Partition("t", 0, (1, 2, 3), (1, 2), leader=1)
    controller, *_ = cluster(KIP343, three, brokers=(1, 2, 3))
    first, second = request(change(1)), request(change(1, 2, 3))
    applied, _ = ask(KIP343, controller, second)
    late, response = ask(KIP343, applied.state, first)
    assert response.results == (NONE,) and late.state.durable.partitions[0].isr == (1,)
