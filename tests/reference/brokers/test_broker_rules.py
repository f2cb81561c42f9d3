"""Every rule of the broker layer decides something: random walks of both forms, with odd requests between."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from kraftcheck import spec
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.configuration import problems
from kraftcheck.reference.brokers.events import (
    ClientRequest,
    ClientRequestDone,
    ContactLost,
    ControllerFound,
    Failover,
    HeartbeatDue,
    IsrWish,
    IsrWished,
    LeaderMoveDue,
    MetadataDue,
    RegistrationDue,
    RegistrationRemoved,
    RequestReceived,
    RequestTimedOut,
    SessionExpired,
    ShutdownWished,
    Tick,
)
from kraftcheck.reference.brokers.messages import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    BrokerState,
    IsrChangeRequest,
    IsrMember,
    IsrProposal,
    MetadataHeartbeatRequest,
    Process,
)
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerLiveness, BrokerProtocol
from kraftcheck.reference.frozen import replace
from kraftcheck.systems import citations
from tests.reference.brokers.broker_world import FEATURES, World

AREAS = ("INC", "BSTATE", "HEARTBEAT", "FENCE", "COMPAT", "REG", "HBK", "ISR", "AISR")
STRANGER = Process(9, 9)
ODD = {
    BrokerLiveness.KIP343: [
        MetadataHeartbeatRequest(-1, 1, BrokerState.ACTIVE),
        MetadataHeartbeatRequest(1, 0, BrokerState.ACTIVE),
        MetadataHeartbeatRequest(9, 9, BrokerState.INITIAL),
        IsrChangeRequest(1, 1, (IsrProposal("t", 0, 9, (1,)),)),
    ],
    BrokerLiveness.KIP631: [
        BrokerRegistrationRequest(9, "another", 9),
        BrokerRegistrationRequest(9, "cluster", 9),
        BrokerRegistrationRequest(1, "cluster", 99),
        BrokerRegistrationRequest(2, "cluster", 2, FEATURES),
        BrokerHeartbeatRequest(9, 9, 9),
        BrokerHeartbeatRequest(2, 3, 9, want_fence=True),
    ],
}
ISRS = [(1,), (2,), (1, 2), ()]


def walk(world: World, chance: random.Random, steps: int) -> None:
    """Let things happen at random; messages arrive often."""
    for _ in range(steps):
        if world.network and chance.random() < 0.5:
            world.deliver(chance.randrange(len(world.network)))
        else:
            something(world, chance)


def something(world: World, chance: random.Random) -> None:
    process = chance.choice(sorted(world.processes, key=lambda each: (each.broker, each.incarnation)))
    of_process: list[Any] = [HeartbeatDue()] * 4 + [Tick(), RegistrationDue(), ContactLost(), ClientRequest()]
    of_process += [ClientRequestDone(), ShutdownWished(), ControllerFound(chance.choice([1, 2]))]
    of_process += [RequestTimedOut(chance.choice(list(Api)))]
    of_process += [IsrWished((IsrWish("t", 0, chance.choice(ISRS)), IsrWish("t", 1, (1, 2))))] * 3
    of_process += [IsrWished((IsrWish("t", 0, (1, 2), (IsrMember(2, 2),)),))]
    broker = chance.choice([1, 2])
    of_controller: list[Any] = [Tick(), SessionExpired(broker), MetadataDue(process), MetadataDue(process)]
    of_controller += [Failover(chance.choice([None, 1, 2]))]
    odd: Any = chance.choice(ODD[world.protocol.liveness])
    of_controller += [RequestReceived(chance.choice([1, 2]), STRANGER, odd)]
    if world.protocol.liveness is BrokerLiveness.KIP343:
        of_controller += [LeaderMoveDue("t", chance.choice([0, 1])), RegistrationRemoved(broker)]
    doing: list[Callable[[], object]] = [
        lambda: world.on_process(process, chance.choice(of_process)),
        lambda: world.on_process(process, chance.choice(of_process)),
        lambda: on_controller(world, chance.choice(of_controller)),
    ]
    if len(world.processes) < 5:
        doing.append(lambda: world.start_process(broker, chance.choice([4, 5]) if world.legacy else 5))
    chance.choice(doing)()


def on_controller(world: World, event: Any) -> None:
    if isinstance(event, RequestReceived):
        world.on_odd_request(event)
    else:
        world.on_controller(event)


@cache
def worlds() -> tuple[World, ...]:
    """A few hundred short walks of each form."""
    timed = {"controller_timeout": 2, "broker_timeout": 3}
    protocols: list[tuple[BrokerProtocol, tuple[int, ...]]] = [
        (KIP343, ()),
        (KIP343, (1,)),
        (replace(KIP343, inactive_leaves_isr=False), ()),
        (replace(KIP343, **timed), ()),
        (SHIPPED, ()),
        (replace(SHIPPED, **timed), ()),
    ]
    found = []
    for protocol, legacy in protocols:
        for seed in range(200):
            world = World(protocol, legacy)
            walk(world, random.Random(seed), 120)
            found.append(world)
    return tuple(found)


@pytest.fixture(scope="module")
def fired() -> set[str]:
    """The rules that decided something in them."""
    return {rule for world in worlds() for rule in world.rules}


def test_every_rule_decides_something(fired: set[str]) -> None:
    rules = {each.id for each in spec.load().rules.values() if each.area in AREAS}
    swapped = replace(KIP343, controller_timeout=2, broker_timeout=1)
    of_configurations = {each.rule for each in problems(swapped)}
    assert of_configurations == {"FENCE-4"}
    assert sorted(rules - fired - of_configurations) == []


def test_every_rule_that_the_package_names_decides_something(fired: set[str]) -> None:
    named = {
        rule
        for rule, places in citations.in_reference().items()
        if any(place.startswith("reference/brokers/") for place in places)
    }
    assert sorted(named - fired) == ["FENCE-4"]
