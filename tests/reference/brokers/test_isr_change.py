"""IsrChange at the controller and at the leader that asks (ISR)."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.brokers.broker import Api, Broker
from kraftcheck.reference.brokers.effects import PartitionChanged, Send
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import (
    ControllerFound,
    HeartbeatDue,
    IsrWish,
    IsrWished,
    MetadataReceived,
    RegistrationWritten,
    RequestTimedOut,
    SessionExpired,
)
from kraftcheck.reference.brokers.messages import (
    IsrChangeRequest,
    IsrChangeResponse,
    IsrProposal,
    MetadataUpdate,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import KIP343, KnownLife
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, answer, ask, cluster

NONE, INVALID_REQUEST = BrokerErrorCode.NONE, BrokerErrorCode.INVALID_REQUEST
NOT_LEADER = BrokerErrorCode.NOT_LEADER_FOR_PARTITION
WISH = IsrWished((IsrWish("t", 0, (1,)),))


def change(*isr: int, index: int = 0, leader_epoch: int = 0) -> IsrProposal:
    return IsrProposal("t", index, leader_epoch, isr)


def told(broker: Broker, **named: Any) -> MetadataReceived:
    """Metadata that says this of the first partition, and nothing else that is new."""
    first, *others = broker.partitions
    partitions = (replace(first, **named), *others)
    return MetadataReceived(MetadataUpdate(1, broker.controller_epoch, broker.visible, partitions))


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


def test_a_change_that_is_none_is_given_up() -> None:
    _, broker, _ = cluster(KIP343)
    pending = step(KIP343, broker, IsrWished((IsrWish("t", 0, (1,)),))).state
    assert answer(KIP343, pending, IsrChangeResponse(results=(INVALID_REQUEST,))).state == broker


def test_a_change_of_another_leader_epoch_waits_for_metadata() -> None:
    """It may have been applied before the leader changed; to ask again is of no use."""
    _, broker, _ = cluster(KIP343)
    pending = step(KIP343, broker, WISH).state
    refused = answer(KIP343, pending, IsrChangeResponse(results=(NOT_LEADER,)))
    assert refused.rules == ("ISR-8", "ISR-9", "ISR-10")
    assert refused.state.pending == (replace(pending.pending[0], refused=True),)
    assert refused.state.partitions == broker.partitions
    assert step(KIP343, refused.state, IsrWished(())).effects == ()
    assert step(KIP343, refused.state, WISH).effects == ()
    led_by_other = told(broker, leader=2, leader_epoch=1, partition_epoch=1)
    settled = step(KIP343, refused.state, led_by_other)
    assert settled.state.pending == () and settled.rules == ("BSTATE-8", "ISR-10")


# A leader that does not know what became of its change.


def test_a_change_whose_answer_is_lost_is_asked_for_again_and_applied_once() -> None:
    controller, broker, _ = cluster(KIP343)
    first = step(KIP343, broker, WISH)
    applied, _ = ask(KIP343, controller, request(change(1)))
    given_up = step(KIP343, first.state, RequestTimedOut(Api.ISR))
    assert given_up.state.pending == first.state.pending and given_up.state.partitions == broker.partitions
    again = step(KIP343, given_up.state, IsrWished(()))
    assert again.effects == first.effects and again.rules == ("ISR-1", "ISR-9", "ISR-10")
    assert again.state == first.state
    twice, response = ask(KIP343, applied.state, request(change(1)))
    assert twice.state == applied.state and response.results == (NONE,)
    done = answer(KIP343, again.state, response).state
    assert done.pending == () and done.partitions[0].isr == (1,)


def test_nothing_else_is_asked_of_a_partition_while_a_change_is_pending() -> None:
    other = replace(LED_BY_1, index=1)
    _, broker, _ = cluster(KIP343, LED_BY_1, other)
    given_up = step(KIP343, step(KIP343, broker, WISH).state, RequestTimedOut(Api.ISR)).state
    again = step(KIP343, given_up, IsrWished((IsrWish("t", 0, (1, 2)), IsrWish("t", 1, (1,)))))
    assert again.effects == (Send(1, request(change(1), change(1, index=1))),)
    assert [each.index for each in again.state.pending] == [0, 1]


def test_results_belong_to_what_was_asked_not_to_what_waits() -> None:
    """A refused change is not in the next request, and its answer says nothing of it."""
    other = replace(LED_BY_1, index=1)
    _, broker, _ = cluster(KIP343, LED_BY_1, other)
    asked = step(KIP343, broker, WISH).state
    refused = answer(KIP343, asked, IsrChangeResponse(results=(NOT_LEADER,))).state
    later = step(KIP343, refused, IsrWished((IsrWish("t", 1, (1,)),)))
    assert later.effects == (Send(1, request(change(1, index=1))),)
    done = answer(KIP343, later.state, IsrChangeResponse(results=(NONE,))).state
    assert [each.isr for each in done.partitions] == [(1, 2), (1,)]
    assert [each.index for each in done.pending] == [0]


@pytest.mark.parametrize(
    ("named", "settled"),
    [
        ({"partition_epoch": 1, "isr": (1,)}, True),
        ({"partition_epoch": 1, "isr": (1, 2)}, False),  # the request may still be applied
        ({"partition_epoch": 0, "isr": (1,)}, False),
        ({"leader_epoch": 1, "partition_epoch": 1}, True),
    ],
)
def test_what_metadata_says_of_a_pending_change(named: dict[str, Any], settled: bool) -> None:
    _, broker, _ = cluster(KIP343)
    waiting = step(KIP343, broker, WISH).state
    assert step(KIP343, waiting, told(broker, **named)).state.pending == waiting.pending
    given_up = step(KIP343, waiting, RequestTimedOut(Api.ISR)).state
    assert (step(KIP343, given_up, told(broker, **named)).state.pending == ()) == settled
    late = step(KIP343, step(KIP343, waiting, told(broker, **named)).state, RequestTimedOut(Api.ISR)).state
    assert (late.pending == ()) == settled


def test_a_superseded_process_keeps_what_it_asked_for() -> None:
    """It may have been applied before the other process was registered."""
    _, broker, _ = cluster(KIP343)
    asked = step(KIP343, broker, WISH).state
    superseded = answer(KIP343, asked, IsrChangeResponse(BrokerErrorCode.INVALID_INCARNATION_ID)).state
    assert superseded.pending == asked.pending
    assert step(KIP343, superseded, IsrWished(())).effects == ()


def test_a_superseded_process_changes_no_isr_any_more() -> None:
    _, broker, _ = cluster(KIP343)
    wish = IsrWished((IsrWish("t", 0, (1,)),))
    pending = step(KIP343, broker, wish).state
    told = answer(KIP343, pending, IsrChangeResponse(BrokerErrorCode.INVALID_INCARNATION_ID))
    assert told.rules == ("ISR-3", "ISR-10") and told.state.superseded
    later = step(KIP343, told.state, wish)
    assert later.effects == () and later.rules == ("ISR-3",)
    assert isinstance(step(KIP343, told.state, HeartbeatDue()).effects[0], Send)


def test_another_controller_may_be_asked() -> None:
    _, broker, _ = cluster(KIP343)
    pending = step(KIP343, broker, IsrWished((IsrWish("t", 0, (1,)),))).state
    told = answer(KIP343, pending, IsrChangeResponse(BrokerErrorCode.NOT_CONTROLLER))
    assert told.state.controller is None and told.state.pending == pending.pending
    assert step(KIP343, told.state, IsrWished(())).effects == ()  # nobody to ask
    found = step(KIP343, told.state, ControllerFound(2)).state
    assert step(KIP343, found, IsrWished(())).effects == (Send(2, request(change(1))),)


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
