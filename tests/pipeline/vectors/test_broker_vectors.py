"""How vectors of brokers and their controller are made and held to the reference, without Spark."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from kraftcheck.checking.coverage.outcomes import features, outcomes
from kraftcheck.pipeline.vectors import tasks
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.effects import ForgetRequest, PartitionChanged
from kraftcheck.reference.brokers.messages import (
    BrokerState,
    IsrChangeRequest,
    IsrProposal,
    MetadataHeartbeatRequest,
)
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import replace
from kraftcheck.support.errors import InputError
from kraftcheck.systems import scenario
from kraftcheck.vectors import broker_situations, form, malformed
from kraftcheck.vectors.vector import decode_protocol, difference, encode_protocol, of_step, tier_of


@cache
def asked(protocol: BrokerProtocol) -> list[broker_situations.Asked]:
    return [*broker_situations.asked(protocol)]


@pytest.fixture(scope="module")
def some() -> list[dict[str, Any]]:
    """The vectors that a scenario of the draft, and one of what shipped, come to."""
    chosen = [scenario.find(name) for name in ("brokers-delayed-heartbeat", "parity-brokers-shutdown")]
    found = [row for task in tasks.tasks(chosen, beyond=False) for row in tasks.rows(task, 300, 1)]
    assert all(row["file"].startswith(("steps/controller/", "steps/broker/")) for row in found)
    return [json.loads(row["vector"]) for row in found]


def test_a_scenario_gives_steps_that_the_reference_repeats(some: list[dict[str, Any]]) -> None:
    assert {each["node"] for each in some} == {form.CONTROLLER, form.BROKER}
    for each in some:
        assert difference(each, "vector") is None
        assert each["hash"] == form.digest(form.content(each))


def test_what_the_engine_asks_is_told(some: list[dict[str, Any]]) -> None:
    rules = {rule for each in some for rule in form.rules(each)}
    assert {"INC-3", "INC-4", "HEARTBEAT-2", "HEARTBEAT-9", "HEARTBEAT-1"} <= rules


def test_a_changed_vector_is_contradicted(some: list[dict[str, Any]]) -> None:
    refused = next(each for each in some if "HEARTBEAT-9" in form.rules(each))
    refused["outcome"]["effects"] = []
    assert (difference(refused, "vector") or "").startswith(
        "vector.outcome.effects[0]: the vector has nothing, the reference has {"
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"node": "observer"}, "vector.node: expected one of replica, controller, broker"),
        ({"node": "replica"}, "protocol"),
        ({"kind": "sequence"}, "vector.kind: expected step"),
        ({"protocol": {"preset": "kip1", "switches": {}}}, "vector.protocol.preset: expected one of draft"),
        ({"protocol": {"preset": "draft", "switches": {"x": 1}}}, "there is no switch 'x'"),
        ({"protocol": 7}, "vector.protocol: the value must be an object"),
        ({"state": {"active": 1}}, "vector.state: Controller needs the field 'durable'"),
        ({"event": {"type": "HeartbeatDue"}}, "vector.event.type: expected"),
        ({"event": {"type": "RequestReceived"}}, "vector.event: RequestReceived needs the field"),
        ({"outcome": None}, "vector: field 'outcome' must be an object"),
    ],
)
def test_what_is_no_vector_of_brokers_is_refused(change: dict[str, Any], says: str) -> None:
    found = asked(KIP343)[0]
    with pytest.raises(InputError) as refused:
        difference({**of_step(found), **change}, "vector")
    assert says in str(refused.value) and "\n" not in str(refused.value)


def test_the_protocol_of_a_vector_is_read_as_it_was_written() -> None:
    found = broker_situations.protocols()
    assert len(set(found.values())) == len(found)
    for protocol in found.values():
        assert decode_protocol(encode_protocol(protocol), "vector", BrokerProtocol) == protocol
    tiers = {name: tier_of(each) for name, each in found.items()}
    assert {name for name, tier in tiers.items() if tier == 0} == {"shipped", "shipped timed"}
    assert {name for name, tier in tiers.items() if tier == 1} == {"draft", "draft timed"}


def test_malformed_values_differ_in_one_field() -> None:
    request = IsrChangeRequest(1, 2, (IsrProposal("t", 0, 3, (1, 2)),))
    found = [*malformed.with_others(request)]
    assert len(found) == len(set(found))
    proposal = request.partitions[0]
    for wanted in (
        request,
        replace(request, broker=-1),
        replace(request, incarnation=3),
        replace(request, partitions=()),
        replace(request, partitions=(proposal, proposal)),
        replace(request, partitions=(replace(proposal, topic="another-t"),)),
        replace(request, partitions=(replace(proposal, leader_epoch=4),)),
        replace(request, partitions=(replace(proposal, isr=()),)),
        replace(request, partitions=(replace(proposal, isr=(1, 2, 1)),)),
        replace(request, partitions=(replace(proposal, isr=(1, 11)),)),
    ):
        assert wanted in found
    targets = {
        each.target for each in malformed.with_others(MetadataHeartbeatRequest(1, 1, BrokerState.ACTIVE))
    }
    assert targets == {*BrokerState}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [KIP343, SHIPPED])
def test_situations_are_steps_of_the_reference(protocol: Any) -> None:
    words = set()
    for number, each in enumerate(asked(protocol)):
        words.update(outcomes(each.state, each.outcome))
        if number % 97 == 0:
            assert step(each.protocol, each.state, each.happened) == each.outcome  # type: ignore[call-overload]
    assert "partition changes, no leader" in words and "partition changes, another leader" in words
    assert ("FencedItself" in words) == ("declares INACTIVE" in words) == protocol.is_draft
    assert ("fences" in words) == ("sends BrokerRegistrationRequest" in words) == (not protocol.is_draft)


@pytest.mark.slow
def test_outcomes_are_told_in_words() -> None:
    found = {
        type(effect): each
        for each in asked(SHIPPED)
        for effect in each.outcome.effects
        if isinstance(effect, ForgetRequest | PartitionChanged)
    }
    forgetting = found[ForgetRequest]
    assert forgetting.outcome.effects[0] in map(ForgetRequest, Api)
    assert next(outcomes(forgetting.state, forgetting.outcome)).startswith("forgets the request ")
    assert all(": " in pair for each in found.values() for pair in features(each.state, each.outcome))
