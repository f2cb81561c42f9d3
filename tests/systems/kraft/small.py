"""Scenarios for the tests of the KRaft system: small ones, made by changing a shipped one, and shipped ones
with what they come to.
"""

from __future__ import annotations

from typing import Any

from kraftcheck.checking.run import check
from kraftcheck.engine.system import Exploration
from kraftcheck.systems.scenario import Scenario, find, from_data
from kraftcheck.traces import build as build_trace
from kraftcheck.traces.json_form import dumps, loads
from kraftcheck.traces.replay import replay


def changed(name: str, **changes: Any) -> Scenario:
    """The shipped scenario ``name`` with keys changed; ``network__capacity=2`` reaches into tables."""
    data = find(name).model_dump(by_alias=True, exclude_none=True)
    data["expect"] = {"verdict": "holds"}
    for key, value in changes.items():
        *tables, last = key.replace("_", "-").split("--")
        target = data
        for table in tables:
            target = target[table]
        target[last] = value
    return from_data(data, name)


def alone(**tables: Any) -> Scenario:
    """A scenario of these tables alone, in which nothing should be violated."""
    data = {"name": "alone", "about": "A small scenario.", "expect": {"verdict": "holds"}}
    return from_data({**data, **tables}, "alone")


#: Two voters, asked for another set.
ALTERING: dict[str, Any] = {
    "protocol": {"preset": "kip595"},
    "replicas": {"voters": [1, 2], "joining": [3], "initial-leader": 1},
    "admin": {"steps": ["alter 2,3", "alter cancel"], "order": "any"},
    "budgets": {"admin": 1},
}


def explored(name: str) -> Exploration:
    """The result of checking the shipped scenario ``name``, which must be as it expects."""
    result = check(find(name), threads=2)
    assert result.as_expected, result.differences
    return result.exploration


def shown_again(name: str) -> tuple[str, int]:
    """The property that the shipped scenario ``name`` violates and in how many steps; its trace replays."""
    result = check(find(name), threads=2)
    assert result.as_expected, result.differences
    (violation,) = result.exploration.violations
    trace = build_trace(result.system, result.scenario, violation)
    assert loads(dumps(trace)) == trace
    assert replay(trace) is None
    return violation.property, violation.depth
