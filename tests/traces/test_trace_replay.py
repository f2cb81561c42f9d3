"""A trace held against the reference."""

from __future__ import annotations

from typing import Any

import pytest

from kraftcheck.reference.frozen import replace
from kraftcheck.traces import json_form
from kraftcheck.traces.model import Finding
from kraftcheck.traces.replay import replay
from tests.traces.trace_samples import (
    POWER_LOSS,
    UNSTABLE,
    Place,
    around,
    as_json,
    counterexample,
    scenario_of,
)


@pytest.mark.parametrize("data", (UNSTABLE, POWER_LOSS), ids=lambda data: data["name"])
def test_an_honest_trace_replays(data: dict[str, Any]) -> None:
    assert replay(counterexample(data)) is None


def test_another_protocol_shows_at_the_step_where_it_matters() -> None:
    other = scenario_of({key: value for key, value in UNSTABLE.items() if key != "protocol"})
    found = replay(replace(counterexample(UNSTABLE), scenario=other))
    assert found is not None
    assert found.step == 2
    assert str(found).startswith("step 2, runs[0].rules[")


EPOCH = ("local", "replica", "quorum_state", "epoch")


@pytest.mark.parametrize(
    ("place", "value", "told"),
    [
        (("steps", 0, "runs", 0, "rules", 0), "VOTE-1", "step 1, runs[0].rules[0]: recorded VOTE-1, now TIM"),
        (("steps", 0, "runs", 0, "completed"), 0, "step 1, runs[0].completed: recorded 0, now "),
        (("steps", 1, "sent"), [], "step 2, sent[0]: recorded nothing, now {"),
        (("steps", 1, "in_flight"), [], "step 2, in_flight[0]: recorded nothing, now {"),
        (("steps", 0, "budgets", 0, "left"), 9, "step 1, budgets[0].left: recorded 9, now "),
        (("steps", 0, "action"), "nothing", "step 1, action: recorded nothing"),
        (("nodes", 0, *EPOCH), 7, "initial state, nodes[0].local.replica.quorum_state.epoch: recorded 7"),
        (("reasons", 0), "Nothing.", "step 5, reasons[0]: recorded Nothing, now Replica 2"),
        (("steps", 0, "nodes", 0, *EPOCH), 7, "step 1, nodes[0].local.replica.quorum_state.epoch: recorded"),
    ],
)  # fmt: skip
def test_each_recorded_field_is_compared(place: Place, value: Any, told: str) -> None:
    data = as_json(UNSTABLE)
    around(data, place)[place[-1]] = value
    assert told in str(replay(json_form.decode(data)))


def test_another_property_shows_at_the_end() -> None:
    trace = counterexample(UNSTABLE)
    found = replay(replace(trace, finding=Finding("LogMatching", ())))
    assert str(found).startswith("step 5, property: recorded LogMatching, now ReturningReplica")


def test_other_numbers_are_told_where_nothing_else_differs() -> None:
    data = as_json(UNSTABLE)
    for index, step in enumerate(data["steps"]):
        step["option"] += 3
        step["choice"] += 7
        data["path"][index] += 3
    found = replay(json_form.decode(data))
    assert found is not None and (found.step, found.field) == (1, "option")
    data["steps"][3]["violations"] = ["LogMatching"]
    assert str(replay(json_form.decode(data))).startswith("step 4, violations[0]")
