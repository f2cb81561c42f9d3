"""Small scenarios with counterexamples, and their traces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.system import Violation
from kraftcheck.systems import scenario
from kraftcheck.systems.kraft.build import build as build_system
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces import Trace, build, json_form

#: Two voters that cannot reach each other, and followers that grant pre-votes by the log alone.
UNSTABLE: dict[str, Any] = {
    "name": "unstable",
    "about": "A follower takes the leadership from a leader that serves a majority.",
    "protocol": {"set": {"follower-pre-vote": "by-log"}},
    "replicas": {
        "voters": [1, 2, 3],
        "initial": {
            "1": "leader epoch=1 log=1@1 start=0 progress=3:1",
            "2": "follower epoch=1 leader=1 log=1@1 fetched",
            "3": "follower epoch=1 leader=1 log=1@1 fetched",
        },
    },
    "network": {"cut": ["1-2"]},
    "environment": {"timely": True},
    "budgets": {"timers": 2},
    "bounds": {"max-epoch": 2},
    "check": {"only": ["SingleLeaderPerEpoch", "ReturningReplicaDeposesNobody"]},
    "expect": {"verdict": "violated", "violates": ["ReturningReplicaDeposesNobody"]},
}

#: A leader that loses power between its commit and its flush.
POWER_LOSS: dict[str, Any] = {
    "name": "power-loss",
    "about": "A quorum of one loses what it committed.",
    "replicas": {"voters": [1], "initial-leader": 1},
    "network": {"capacity": 2},
    "environment": {"timers": []},
    "budgets": {"appends": 1, "crashes": 1},
    "bounds": {"max-epoch": 3},
    "expect": {"verdict": "violated", "violates": ["StateMachineSafety"]},
}


#: Messages may get lost and be duplicated, replicas may crash: something of everything.
FAULTY: dict[str, Any] = {
    "name": "faulty",
    "about": "Two voters under every fault.",
    "replicas": {"voters": [1, 2], "observers": [3]},
    "network": {"capacity": 3, "loss": "always"},
    "environment": {"discovery": True, "delayed-fetches": True},
    "budgets": {"appends": 1, "crashes": 1, "timeouts": 1, "resigns": 1, "shutdowns": 1, "duplicates": 1},
    "bounds": {"max-epoch": 2},
    "expect": {"verdict": "holds"},
}


def scenario_of(data: dict[str, Any]) -> Scenario:
    return scenario.from_data(data, data["name"])


@cache
def _known(name: str) -> tuple[KRaftSystem, Scenario, tuple[Violation, ...]]:
    data = {"unstable": UNSTABLE, "power-loss": POWER_LOSS}[name]
    chosen = scenario_of(data)
    system = build_system(chosen)
    return system, chosen, explore_naively(system)[0].violations


def counterexample(data: dict[str, Any]) -> Trace:
    """The shortest counterexample that the naive search finds."""
    system, chosen, violations = _known(data["name"])
    return build(system, chosen, violations[0])


def violation(data: dict[str, Any]) -> tuple[KRaftSystem, Scenario, Violation]:
    system, chosen, violations = _known(data["name"])
    return system, chosen, violations[0]


# The JSON data of traces, and places in it.

Place = tuple[Any, ...]


def as_json(data: dict[str, Any]) -> Any:
    """The JSON data of a counterexample, to be changed."""
    return json.loads(json_form.dumps(counterexample(data)))


def places(data: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every place in JSON data but the first, with what is there."""
    if place:
        yield place, data
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*place, key))


def around(data: Any, place: Place) -> Any:
    """The object or list in which ``place`` is."""
    for key in place[:-1]:
        data = data[key]
    return data
