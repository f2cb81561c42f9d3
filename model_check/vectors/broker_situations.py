"""Steps of brokers and their controller beyond what scenarios come to: states that a few events lead to, and
in each of them everything that may happen, what no sound process sends included.

Malformed input is made from the declared fields of the messages: of each sound one, every one that differs
in one field, at whatever depth, from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from itertools import product
from typing import Any, TypeVar

from kraftcheck.reference.brokers.broker import Api, Broker, Life
from kraftcheck.reference.brokers.controller import Controller, FinalizedFeature
from kraftcheck.reference.brokers.messages import BrokerState, FeatureRange, Process
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED, BrokerProtocol
from kraftcheck.reference.brokers.starting import first_controller, running_cluster, starting
from kraftcheck.reference.brokers.step import step
from kraftcheck.reference.frozen import field_types, replace
from kraftcheck.vectors import broker_events, controller_events
from kraftcheck.vectors.asked import Asked

#: From how many states of the controller, and of brokers, everything may happen.
MOST_STATES = 100
#: Through how many events they come from those in the beginning.
_DEPTH = 3
#: The time-outs where clocks run.
_CONTROLLER_TICKS, _BROKER_TICKS = 2, 3
S = TypeVar("S", Controller, Broker)


def protocols() -> dict[str, BrokerProtocol]:
    """Both forms, with and without clocks, and each with every single switch at each of its other values."""
    found = {}
    for name, form in (("draft", KIP343), ("shipped", SHIPPED)):
        ticks = _BROKER_TICKS if form.is_draft else None
        timed = replace(form, controller_timeout=_CONTROLLER_TICKS, broker_timeout=ticks)
        for begin, base in ((name, form), (f"{name} timed", timed)):
            found[begin] = base
            for switch, value in _others_of(form):
                found[f"{begin} {switch} {getattr(value, 'value', value)}"] = replace(base, **{switch: value})
    return found


def _others_of(form: BrokerProtocol) -> Iterator[tuple[str, Any]]:
    """Switches of a form at values that it does not have."""
    draft_only = ("rebuilds_incarnations", "new_controller", "rejection_restarts_timer", "rejection_fences",
                  "contact", "contact_time", "known_life", "inactive_leaves_isr")  # fmt: skip
    fixes = ("registration_begins_session", "new_controller_waits_for_readers",
             "leaving_broker_leads_nothing")  # fmt: skip
    for switch in field_types(BrokerProtocol):
        value = getattr(form, switch)
        if switch in fixes:
            continue
        if switch == "liveness" or (switch in draft_only and not form.is_draft):
            continue
        others = [*type(value)] if isinstance(value, Enum) else []
        others += [not value] if isinstance(value, bool) else []
        others += [0, 2] if switch == "alter_partition_version" and not form.is_draft else []
        yield from ((switch, other) for other in others if other != value)


def asked(protocol: BrokerProtocol) -> Iterator[Asked]:
    """Every step from the states of :func:`_reached`, by every event of this protocol."""
    for controller in _reached(protocol, _controllers(protocol), controller_events.events):
        for event in controller_events.events(protocol, controller):
            yield Asked(protocol, controller, event, step(protocol, controller, event))
    for broker in _reached(protocol, _brokers(protocol), broker_events.events):
        for happened in broker_events.events(protocol, broker):
            yield Asked(protocol, broker, happened, step(protocol, broker, happened))


def _reached(
    protocol: BrokerProtocol, begin: Iterable[S], events: Callable[[BrokerProtocol, S], Iterator[Any]]
) -> list[S]:
    """The states to which at most ``_DEPTH`` events lead: each of one event first, some of more."""
    found = dict.fromkeys(begin)
    level = list(found)
    for _ in range(_DEPTH):
        room = max(0, MOST_STATES - len(found))
        following: dict[S, None] = {}
        for state in level:
            for event in events(protocol, state):
                after: S = step(protocol, state, event).state
                if after not in found:
                    following[after] = None
        level = sorted(following, key=lambda each: (len(repr(each)), repr(each)))[:room]
        found |= dict.fromkeys(level)
    return list(found)


# The beginnings: small ones, so that vectors are.


def _partition(leader: int | None, *isr: int, **fields: Any) -> Partition:
    return Partition("t", 0, fields.pop("replicas", (1, 2)), isr, leader, **fields)


def _controllers(protocol: BrokerProtocol) -> Iterator[Controller]:
    """Controllers of clusters that run, with brokers of version 4 in some, and of one without brokers."""
    led, alone = _partition(1, 1, 2), _partition(1, 1)
    moved = _partition(1, 1, 2, replicas=(2, 1, 3), adding=(3,), removing=(2,))
    leaving = _partition(1, 1, 2, replicas=(1, 2), removing=(1,))
    for brokers, partitions in (
        ((1, 2), (led,)),
        ((1, 2), (alone,)),
        ((1, 2, 3), (moved,)),
        ((1, 2), (leaving,)),
        ((1, 2), (_partition(1, 1, recovering=True),)),
        ((1, 2), (led, Partition("u", 0, (2, 1), (1, 2), 2))),
        ((1,), (alone,)),
    ):
        yield running_cluster(protocol, brokers, partitions)[0]
    yield first_controller(protocol, (_partition(None, 1),))
    yield first_controller(protocol)
    if protocol.is_draft:
        yield running_cluster(protocol, (1, 2), (led,), legacy=(2,))[0]
        yield running_cluster(protocol, (1, 2), (led,), legacy=(1, 2))[0]
    else:
        yield first_controller(protocol, finalized=(FinalizedFeature("metadata.version", 7),))


def _brokers(protocol: BrokerProtocol) -> Iterator[Broker]:
    """Processes of clusters that run, and such that have just started."""
    for partition in (_partition(1, 1, 2), _partition(1, 1, recovering=True), _partition(2, 1, 2)):
        running = running_cluster(protocol, (1, 2), (partition,))[1][0]
        yield running
        yield from _leaving(protocol, running)
        if protocol.is_draft:
            yield running_cluster(protocol, (1, 2), (partition,), legacy=(1,))[1][0]
    for controller, legacy in product((1, None), (False, True) if protocol.is_draft else (False,)):
        yield starting(protocol, Process(1, 1), controller=controller, legacy=legacy)
    if not protocol.is_draft:
        supported = (FeatureRange("metadata.version", 5, 8),)
        yield starting(protocol, Process(1, 1), controller=1, features=supported)


def _leaving(protocol: BrokerProtocol, running: Broker) -> Iterator[Broker]:
    """A process that runs, at every point of its way out."""
    heard = replace(running, state=BrokerState.STOPPING)
    if protocol.is_draft:
        yield replace(heard, target=BrokerState.STOPPING)
    for accepted in (0, 1):
        awaiting = replace(
            heard if protocol.is_draft else running, accepted=accepted, awaiting=(Api.HEARTBEAT,)
        )
        if protocol.is_draft:
            yield replace(awaiting, target=BrokerState.INACTIVE)
        else:
            for life in (Life.PENDING_CONTROLLED_SHUTDOWN, Life.SHUTTING_DOWN):
                yield replace(awaiting, life=life)
