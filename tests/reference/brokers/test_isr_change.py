"""IsrChange at the controller and at the leader that asks (ISR)."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.brokers import events
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.effects import PartitionChanged, Send
from kraftcheck.reference.brokers.errors import BrokerErrorCode as Error
from kraftcheck.reference.brokers.events import IsrProposed, ProposedIsr
from kraftcheck.reference.brokers.messages import (
    IsrChangeRequest,
    IsrChangeResponse,
    IsrProposal,
    MetadataUpdate,
)
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import KIP343, KnownLife
from kraftcheck.reference.frozen import replace
from tests.reference.brokers.broker_steps import LED_BY_1, LED_BY_2, After, cluster, controller, leader

NOT_LEADER = Error.NOT_LEADER_FOR_PARTITION
ALONE = IsrProposed((ProposedIsr("t", 0, (1,)),))
SEND_PENDING = IsrProposed(())
TIMED_OUT = events.RequestTimedOut(Api.ISR)


def change(*isr: int, index: int = 0, leader_epoch: int = 0) -> IsrProposal:
    return IsrProposal("t", index, leader_epoch, isr)


def request(*proposals: IsrProposal, broker: int = 1, incarnation: int = 1) -> IsrChangeRequest:
    return IsrChangeRequest(broker, incarnation, proposals)


def results(*codes: Error) -> IsrChangeResponse:
    return IsrChangeResponse(results=codes)


def metadata(process: After, **named: Any) -> events.MetadataReceived:
    """Metadata that says this of the first partition, and nothing else that is new."""
    broker = process.state
    first, *others = broker.partitions
    update = MetadataUpdate(1, broker.controller_epoch, broker.visible, (replace(first, **named), *others))
    return events.MetadataReceived(update)


@pytest.mark.parametrize(
    ("proposal", "result", "rule"),
    [
        (change(1), Error.NONE, "ISR-7"),
        (change(2, 1), Error.NONE, "ISR-7"),
        (change(1, index=1), NOT_LEADER, "ISR-4"),
        (change(index=1), NOT_LEADER, "ISR-4"),
        (change(1, leader_epoch=1), NOT_LEADER, "ISR-5"),
        (change(leader_epoch=1), NOT_LEADER, "ISR-5"),
        (change(), Error.INVALID_REQUEST, "ISR-6"),
        (change(2), Error.INVALID_REQUEST, "ISR-6"),
        (change(1, 3), Error.INVALID_REQUEST, "ISR-6"),
        (change(1, 1), Error.INVALID_REQUEST, "ISR-6"),
        (change(1, index=9), Error.INVALID_REQUEST, "ISR-6"),
    ],
)
def test_checks_of_a_partition_in_order(proposal: IsrProposal, result: Error, rule: str) -> None:
    after = controller(KIP343, LED_BY_1, LED_BY_2).ask(request(proposal))
    assert after.response == results(result)
    assert after.rules[:2] == ("ISR-8", rule)
    assert bool(after.of(PartitionChanged)) == (proposal == change(1))  # the same ISR again is no change


def test_results_are_independent_and_in_order() -> None:
    before = controller(KIP343, LED_BY_1, LED_BY_2, replace(LED_BY_1, index=2))
    after = before.ask(request(change(1, index=2), change(1, index=1), change(), change(1)))
    assert after.response == results(Error.NONE, NOT_LEADER, Error.INVALID_REQUEST, Error.NONE)
    assert {each.index: each.isr for each in after.partitions} == {0: (1,), 1: (1, 2), 2: (1,)}


@pytest.mark.parametrize(
    ("node", "incarnation", "error", "rule"),
    [
        (2, 1, Error.NOT_CONTROLLER, "ISR-2"),
        (2, 9, Error.NOT_CONTROLLER, "ISR-2"),
        (1, 0, Error.INVALID_INCARNATION_ID, "ISR-3"),
        (1, 9, Error.INVALID_INCARNATION_ID, "ISR-3"),
    ],
)
def test_a_top_level_error_applies_nothing(node: int, incarnation: int, error: Error, rule: str) -> None:
    before = controller(KIP343)
    after = before.ask(request(change(1), incarnation=incarnation), node)
    assert (after.response, after.rules) == (IsrChangeResponse(error), (rule,))
    assert after.state == before.state


@pytest.mark.parametrize(
    ("switches", "before", "proposal", "expected"),
    [
        pytest.param(
            {"compares_leader_epoch": False}, [], change(1, leader_epoch=9), results(Error.NONE),
            id="without the comparison a request of an earlier epoch is applied",
        ),
        # FENCE-5: it still serves, and what it asks for is of an earlier leader epoch.
        pytest.param(
            {}, [events.SessionExpired(1)], change(1), results(NOT_LEADER),
            id="a delayed request of a leader that was inactive",
        ),
        # ISR-3 asks the store; what the controller remembers of heartbeats is older.
        pytest.param(
            {"known_life": KnownLife.REGISTERED}, [events.RegistrationWritten(1, 5)], change(1),
            IsrChangeResponse(Error.INVALID_INCARNATION_ID), id="a newcomer that has only registered",
        ),
        pytest.param(
            {"known_life": KnownLife.REMEMBERED}, [events.RegistrationWritten(1, 5)], change(1),
            results(Error.NONE), id="heartbeats as what the controller compares with",
        ),
    ],
)  # fmt: skip
def test_which_requests_are_current(
    switches: dict[str, Any], before: list[Any], proposal: IsrProposal, expected: IsrChangeResponse
) -> None:
    after = controller(replace(KIP343, **switches)).on(*before).ask(request(proposal))
    assert after.response == expected


def test_within_a_leader_epoch_nothing_orders_two_requests() -> None:
    """The draft has no partition epoch: a request that timed out is applied after its successor."""
    three = Partition("t", 0, (1, 2, 3), (1, 2), leader=1)
    later = controller(KIP343, three, brokers=(1, 2, 3)).ask(request(change(1, 2, 3)))
    late = later.ask(request(change(1)))
    assert late.response == results(Error.NONE) and late.partitions[0].isr == (1,)


# The leader.


def test_only_the_leader_asks_and_uses_the_new_isr_after_the_answer() -> None:
    before = leader(KIP343, LED_BY_1, LED_BY_2)
    asked = before.on(IsrProposed((ProposedIsr("t", 0, (1,)), ProposedIsr("t", 1, (1,)))))
    assert (asked.effects, asked.rules) == ((Send(1, request(change(1))),), ("ISR-1", "ISR-9"))
    assert asked.state.partitions == before.state.partitions and len(asked.state.pending) == 1
    assert asked.on(IsrProposed((ProposedIsr("t", 0, (1, 2)),))).effects == ()  # one at a time
    done = asked.hear(results(Error.NONE))
    assert done.rules == ("ISR-8", "ISR-9") and done.state.pending == ()
    assert [each.isr for each in done.state.partitions] == [(1,), (1, 2)]


def test_a_follower_asks_for_nothing() -> None:
    follower = cluster(KIP343)[2]
    after = follower.on(IsrProposed((ProposedIsr("t", 0, (2,)), ProposedIsr("x", 0, (2,)))))
    assert (after.effects, after.rules, after.state) == ((), ("ISR-1",), follower.state)


def test_an_invalid_change_is_abandoned() -> None:
    before = leader(KIP343)
    assert before.on(ALONE).hear(results(Error.INVALID_REQUEST)).state == before.state


def test_a_change_of_another_leader_epoch_waits_for_metadata() -> None:
    """It may have been applied before the leader changed; to ask again is of no use."""
    before = leader(KIP343)
    asked = before.on(ALONE)
    refused = asked.hear(results(NOT_LEADER))
    assert refused.rules == ("ISR-8", "ISR-9", "ISR-10")
    assert refused.state.pending == (replace(asked.state.pending[0], refused=True),)
    assert refused.state.partitions == before.state.partitions
    assert refused.on(SEND_PENDING).effects == refused.on(ALONE).effects == ()
    settled = refused.on(metadata(before, leader=2, leader_epoch=1, partition_epoch=1))
    assert settled.state.pending == () and settled.rules == ("BSTATE-8", "ISR-10")


# A leader that does not know whether its change was applied.


def test_nothing_else_is_asked_of_a_partition_while_a_change_is_pending() -> None:
    timed_out = leader(KIP343, LED_BY_1, replace(LED_BY_1, index=1)).on(ALONE, TIMED_OUT)
    again = timed_out.on(IsrProposed((ProposedIsr("t", 0, (1, 2)), ProposedIsr("t", 1, (1,)))))
    assert again.effects == (Send(1, request(change(1), change(1, index=1))),)
    assert [each.index for each in again.state.pending] == [0, 1]


def test_results_belong_to_what_was_asked_not_to_what_waits() -> None:
    """A refused change is not in the next request, and its answer says nothing of it."""
    refused = leader(KIP343, LED_BY_1, replace(LED_BY_1, index=1)).on(ALONE).hear(results(NOT_LEADER))
    later = refused.on(IsrProposed((ProposedIsr("t", 1, (1,)),)))
    assert later.effects == (Send(1, request(change(1, index=1))),)
    done = later.hear(results(Error.NONE)).state
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
    asked = leader(KIP343).on(ALONE)
    read = metadata(leader(KIP343), **named)
    assert asked.on(read).state.pending == asked.state.pending
    assert (asked.on(TIMED_OUT, read).state.pending == ()) == settled
    assert (asked.on(read, TIMED_OUT).state.pending == ()) == settled


def test_a_superseded_process_keeps_what_it_asked_for_and_changes_no_isr_any_more() -> None:
    """It may have been applied before the other process was registered."""
    asked = leader(KIP343).on(ALONE)
    superseded = asked.hear(IsrChangeResponse(Error.INVALID_INCARNATION_ID))
    assert superseded.rules == ("ISR-3", "ISR-10") and superseded.state.superseded
    assert superseded.state.pending == asked.state.pending
    assert superseded.on(SEND_PENDING).effects == ()
    later = superseded.on(ALONE)
    assert later.effects == () and later.rules == ("ISR-3",)
    assert isinstance(superseded.on(events.HeartbeatDue()).effects[0], Send)


def test_an_answer_that_metadata_has_overtaken_changes_nothing() -> None:
    asked = leader(KIP343).on(ALONE)
    (known,) = asked.state.partitions
    newer = asked.but(partitions=(replace(known, partition_epoch=5, isr=(1, 2)),))
    assert newer.hear(results(Error.NONE)).state.partitions == newer.state.partitions
