"""Requests for the ISRs of two partitions: what is judged of each by itself; writes of legacy brokers."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.engine.steps import initial_states, steps
from kraftcheck.reference.brokers import messages
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.brokers.effects import Reply
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import RequestReceived, StoreIsrReceived
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol
from kraftcheck.reference.brokers.starting import running_cluster
from kraftcheck.reference.brokers.step import ControllerOutcome, step
from kraftcheck.reference.frozen import replace
from kraftcheck.systems.brokers import isr_checks
from kraftcheck.systems.brokers.controller_step import ControllerStep
from tests.systems.brokers.broker_samples import system_of

#: Broker 1 leads the first of them alone.
PARTITIONS = (Partition("t", 0, (1, 2), (1, 2), leader=1), Partition("t", 1, (1, 2), (1, 2), leader=2))
FORMS = [pytest.param(KIP343, id="draft"), pytest.param(SHIPPED, id="shipped")]


def asked(
    protocol: BrokerProtocol, *isrs: tuple[int, ...], life: int | None = None
) -> tuple[Controller, RequestReceived, Any]:
    """The controller, and a request of broker 1 for ISRs of the partitions in turn."""
    controller, (first, _) = running_cluster(protocol, (1, 2), PARTITIONS)
    request: messages.IsrChangeRequest | messages.AlterPartitionRequest
    if protocol is KIP343:
        proposals = tuple(messages.IsrProposal("t", index, 0, isr) for index, isr in enumerate(isrs))
        request = messages.IsrChangeRequest(1, first.incarnation if life is None else life, proposals)
    else:
        members = (tuple(messages.IsrMember(broker, -1) for broker in isr) for isr in isrs)
        wanted = tuple(
            messages.PartitionProposal("t", index, 0, 0, each) for index, each in enumerate(members)
        )
        request = messages.AlterPartitionRequest(1, first.epoch if life is None else life, wanted)
    return controller, RequestReceived(1, first.process, request), request


def judged(
    protocol: BrokerProtocol, before: Controller, event: RequestReceived, outcome: ControllerOutcome
) -> list[str]:
    return list(isr_checks.violations(ControllerStep(protocol, before, event, outcome)))


def with_partitions(outcome: ControllerOutcome, *partitions: Partition) -> ControllerOutcome:
    durable = replace(outcome.state.durable, partitions=partitions)
    return replace(outcome, state=replace(outcome.state, durable=durable))


def with_results(outcome: ControllerOutcome, *errors: BrokerErrorCode) -> ControllerOutcome:
    """``outcome`` with other results of the partitions, errors or none."""
    (reply,) = (each for each in outcome.effects if isinstance(each, Reply))
    if hasattr(reply.response, "results"):
        response: Any = replace(reply.response, results=errors)
    else:
        results = tuple(messages.PartitionResult("t", index, error) for index, error in enumerate(errors))
        response = replace(reply.response, partitions=results)
    effects = tuple(replace(each, response=response) if each is reply else each for each in outcome.effects)
    return replace(outcome, effects=effects)


@pytest.mark.parametrize("protocol", FORMS)
def test_one_is_applied_and_the_other_refused(protocol: BrokerProtocol) -> None:
    before, event, _ = asked(protocol, (1,), (1, 2))
    outcome = step(protocol, before, event)
    changed, kept = outcome.state.durable.partitions
    assert changed.isr == (1,) and kept == PARTITIONS[1]
    assert judged(protocol, before, event, outcome) == []
    (answer,) = (each.response for each in outcome.effects if isinstance(each, Reply))
    assert isr_checks.is_partly_refused(answer) and not isr_checks.is_refused(answer)


@pytest.mark.parametrize("isrs", [((1,), (1, 2)), ((1,),)], ids=["asked", "not-asked"])
@pytest.mark.parametrize("protocol", FORMS)
def test_a_partition_that_another_leads_is_not_changed(
    protocol: BrokerProtocol, isrs: tuple[tuple[int, ...], ...]
) -> None:
    before, event, _ = asked(protocol, *isrs)
    outcome = step(protocol, before, event)
    other = replace(PARTITIONS[1], isr=(2,))
    bent = with_partitions(outcome, outcome.state.durable.partitions[0], other)
    found = judged(protocol, before, event, bent)
    assert set(found) == {"IsrChangedByLeaderOnly", "RejectedIsrChangeHasNoEffect"}


@pytest.mark.parametrize("protocol", FORMS)
def test_one_that_is_in_order_is_not_refused_for_another(protocol: BrokerProtocol) -> None:
    before, event, _ = asked(protocol, (1,), (1, 2))
    outcome = with_partitions(step(protocol, before, event), *PARTITIONS)
    refused = with_results(outcome, BrokerErrorCode.INVALID_REQUEST, BrokerErrorCode.INVALID_REQUEST)
    assert "RejectedIsrChangeHasNoEffect" in judged(protocol, before, event, refused)


@pytest.mark.parametrize("protocol", FORMS)
def test_each_is_told_its_own_result(protocol: BrokerProtocol) -> None:
    before, event, _ = asked(protocol, (1,), (1, 2))
    outcome = step(protocol, before, event)
    for errors in (
        (BrokerErrorCode.NONE, BrokerErrorCode.NONE),
        (BrokerErrorCode.INVALID_REQUEST, BrokerErrorCode.NONE),
        (BrokerErrorCode.NONE,),
        (),
    ):
        found = judged(protocol, before, event, with_results(outcome, *errors))
        assert "RejectedIsrChangeHasNoEffect" in found, errors


@pytest.mark.parametrize("protocol", FORMS)
def test_a_request_of_a_former_life_is_refused_as_a_whole(protocol: BrokerProtocol) -> None:
    before, event, _ = asked(protocol, (1,), (1, 2), life=99)
    outcome = step(protocol, before, event)
    assert outcome.state == before and judged(protocol, before, event, outcome) == []
    applied = with_partitions(outcome, replace(PARTITIONS[0], isr=(1,)), PARTITIONS[1])
    assert "IsrChangedByLeaderOnly" in judged(protocol, before, event, applied)
    assert "RejectedIsrChangeHasNoEffect" in judged(protocol, before, event, applied)


def test_a_legacy_leader_writes_in_its_leader_epoch() -> None:
    before, (first, _) = running_cluster(KIP343, (1, 2), PARTITIONS, legacy=(1, 2))
    for leader, epoch, broken in (
        (1, 0, []),
        (1, 1, ["IsrChangedByLeaderOnly"]),
        (2, 0, ["IsrChangedByLeaderOnly"]),
    ):
        write = messages.StoreIsrRequest(leader, "t", 0, epoch, 0, (1,))
        event = StoreIsrReceived(messages.Process(leader, first.incarnation), write)
        outcome = step(KIP343, before, event)
        assert outcome.state != before
        assert list(isr_checks.violations(ControllerStep(KIP343, before, event, outcome))) == broken


def test_what_a_former_legacy_life_wrote_is_applied() -> None:
    """The store asks for no incarnation, and neither does B-4 of what is written there."""
    system = system_of(
        brokers={"running": [1, 2], "legacy": [1, 2], "replicas": [1, 2], "isr": [1]},
        environment={"proposed-isrs": ["1,2"]},
        network={"capacity": 5},
        budgets={"timeouts": 0, "contact-losses": 0, "isr-changes": 1, "crashes": 1},
    )
    state = initial_states(system)[0]
    for action in (
        "proposes an ISR at broker-1 (1,2)",
        "crash at broker-1",
        "start at broker-1",
        "StoreRegistration at controller (from broker-1)",
        "StoreIsrRequest at controller (from broker-1)",
    ):
        found = [each for each in steps(system, state) if str(each.outcome and each.outcome.action) == action]
        assert not any(each.outcome and each.outcome.violations for each in found)
        state = found[0].target
    control: Any = state.locals[0]
    (registered, _) = control.controller.durable.registrations
    assert (registered.broker, registered.incarnation) == (1, 3)
    assert control.controller.durable.partitions[0].isr == (1, 2)
