"""Random walks of both forms, with odd requests between: every rule of the broker layer decides something,
and in every step what ``broker_properties`` says holds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from kraftcheck import spec
from kraftcheck.reference.brokers import events, messages
from kraftcheck.reference.brokers.broker import Api
from kraftcheck.reference.brokers.configuration import problems
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerLiveness, BrokerProtocol, IsrChanges
from kraftcheck.reference.frozen import replace
from kraftcheck.systems import citations
from tests.reference.brokers.broker_world import FEATURES, World

AREAS = ("INC", "BSTATE", "HEARTBEAT", "FENCE", "COMPAT", "REG", "HBK", "ISR", "AISR")
STRANGER = messages.Process(9, 9)
ODD = {
    BrokerLiveness.KIP343: [
        messages.MetadataHeartbeatRequest(-1, 1, messages.BrokerState.ACTIVE),
        messages.MetadataHeartbeatRequest(1, 0, messages.BrokerState.ACTIVE),
        messages.MetadataHeartbeatRequest(9, 9, messages.BrokerState.INITIAL),
        messages.IsrChangeRequest(1, 1, (messages.IsrProposal("t", 0, 9, (1,)),)),
    ],
    BrokerLiveness.KIP631: [
        messages.BrokerRegistrationRequest(9, "another", 9),
        messages.BrokerRegistrationRequest(9, "cluster", 9),
        messages.BrokerRegistrationRequest(1, "cluster", 99),
        messages.BrokerRegistrationRequest(2, "cluster", 2, FEATURES),
        messages.BrokerHeartbeatRequest(9, 9, 9),
        messages.BrokerHeartbeatRequest(2, 3, 9, want_fence=True),
    ],
}
BOTH = (1, 2)
ISRS = [(1,), (2,), BOTH, (1, 2, 3), ()]


def walk(world: World, chance: random.Random, steps: int) -> None:
    """Let things happen at random; messages arrive often, and some are lost."""
    for _ in range(steps):
        if world.network and chance.random() < 0.5:
            newest = len(world.network) - 1
            world.deliver(chance.choice([newest, chance.randint(0, newest), chance.randint(0, newest)]))
        else:
            something(world, chance)


def something(world: World, chance: random.Random) -> None:
    """One step of a process or of the controller, or another process that starts."""
    process = chance.choice(sorted(world.processes, key=lambda each: (each.broker, each.incarnation)))
    broker = chance.choice([1, 2])
    doing: list[Callable[[], object]] = [
        lambda: world.on_process(process, chance.choice(list(of_process(world, process, chance)))),
        lambda: world.on_process(process, chance.choice(list(of_process(world, process, chance)))),
        lambda: world.on_controller(chance.choice(list(of_controller(world, process, broker, chance)))),
    ]
    if len(world.processes) < 5:
        doing.append(lambda: world.start_process(broker, chance.choice([4, 5]) if world.legacy else 5))
    chance.choice(doing)()


def of_process(world: World, process: messages.Process, chance: random.Random) -> Iterator[Any]:
    """What may happen to a process. A legacy one asks for sound ISRs: no node looks at what it writes."""
    isr, other = BOTH, BOTH
    if not world.processes[process].legacy:
        isr, other = chance.choice(ISRS), chance.choice([BOTH, BOTH, (2,)])
    yield from [events.HeartbeatDue()] * 4
    yield from (events.Tick(), events.RegistrationDue(), events.ContactLost(), events.ClientRequest())
    yield from (events.ClientRequestDone(), events.ShutdownRequested())
    yield events.ControllerFound(chance.choice([1, 2]))
    yield events.RequestTimedOut(chance.choice(list(Api)))
    yield from [events.IsrProposed((events.ProposedIsr("t", 0, isr), events.ProposedIsr("t", 1, other)))] * 3
    yield events.IsrProposed((events.ProposedIsr("t", 0, BOTH, (messages.IsrMember(2, 2),)),))


def of_controller(
    world: World, process: messages.Process, broker: int, chance: random.Random
) -> Iterator[Any]:
    """What may happen to the controller."""
    yield from (events.Tick(), events.SessionExpired(broker))
    yield from [events.MetadataDue(process)] * 2
    yield events.Failover(chance.choice([None, 1, 2]))
    odd: Any = chance.choice(ODD[world.protocol.liveness])
    if not isinstance(odd, messages.IsrChangeRequest) or world.protocol.isr_changes is IsrChanges.ISR_CHANGE:
        yield events.RequestReceived(chance.choice([1, 2]), STRANGER, odd)
    if world.protocol.is_draft:
        yield events.LeaderMoveDue("t", chance.choice([0, 1]))
        if world.removes:
            yield events.RegistrationRemoved(broker)


@cache
def worlds() -> tuple[World, ...]:
    """A few hundred short walks of each form; in every other one registrations are removed."""
    timed = {"controller_timeout": 2, "broker_timeout": 3}
    protocols: list[tuple[BrokerProtocol, tuple[int, ...], int]] = [
        (KIP343, (), 200),
        (KIP343, (1,), 200),
        (replace(KIP343, inactive_leaves_isr=False), (), 200),
        (replace(KIP343, **timed), (), 200),
        (replace(KIP343, isr_changes=IsrChanges.ALTER_PARTITION), (), 50),
        (SHIPPED, (), 200),
        (replace(SHIPPED, **timed), (), 200),
        (replace(SHIPPED, isr_changes=IsrChanges.ISR_CHANGE), (), 50),
    ]
    found = []
    for protocol, legacy, count in protocols:
        for seed in range(count):
            world = World(protocol, legacy, removes=seed % 2 == 0)
            walk(world, random.Random(seed), 120)
            found.append(world)
    return tuple(found)


@pytest.fixture(scope="module")
def fired() -> set[str]:
    """The rules that decided something in them."""
    return {rule for world in worlds() for rule in world.rules}


@pytest.mark.slow
def test_every_rule_decides_something(fired: set[str]) -> None:
    rules = {each.id for each in spec.load().rules.values() if each.area in AREAS}
    swapped = replace(KIP343, controller_timeout=2, broker_timeout=1)
    of_configurations = {each.rule for each in problems(swapped)}
    assert of_configurations == {"FENCE-4"}
    assert sorted(rules - fired - of_configurations) == []


@pytest.mark.slow
def test_every_rule_that_the_package_names_decides_something(fired: set[str]) -> None:
    named = {
        rule
        for rule, places in citations.in_reference().items()
        if any(place.startswith("reference/brokers/") for place in places)
    }
    assert sorted(named - fired) == ["FENCE-4"]
