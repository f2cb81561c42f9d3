"""A trace held against the reference."""

from __future__ import annotations

import json
from typing import Any

import pytest
from trace_samples import POWER_LOSS, UNSTABLE, counterexample

from model_check.trace import json_form
from model_check.trace.replay import replay


@pytest.mark.parametrize("data", (UNSTABLE, POWER_LOSS), ids=lambda data: data["name"])
def test_an_honest_trace_replays(data: dict[str, Any]) -> None:
    assert replay(counterexample(data)) is None


def test_another_protocol_shows_at_the_step_where_it_matters() -> None:
    data = json.loads(json_form.dumps(counterexample(UNSTABLE)))
    del data["scenario"]["protocol"]
    found = replay(json_form.decode(data))
    assert found is not None
    assert found.step == 2
    assert str(found).startswith("step 2, rules: recorded PREVOTE-")


def _changed(path: list[Any], value: Any) -> str:
    data = json.loads(json_form.dumps(counterexample(UNSTABLE)))
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return str(replay(json_form.decode(data)))


def test_each_recorded_field_is_compared() -> None:
    assert "step 1, rules" in _changed(["steps", 0, "runs", 0, "rules"], ["VOTE-1"])
    assert "step 1, completed effects" in _changed(["steps", 0, "runs", 0, "completed"], 0)
    assert "step 2, messages sent" in _changed(["steps", 1, "sent"], [])
    assert "step 2, messages in flight" in _changed(["steps", 1, "in_flight"], [])
    assert "step 1, budgets" in _changed(["steps", 0, "budgets", 0, "left"], 9)
    assert "step 1, action: recorded nothing" in _changed(["steps", 0, "action"], "nothing")
    assert "the initial state, replica 1, epoch: recorded 7, now 1" in _changed(
        ["nodes", 0, "replica", "quorum_state", "epoch"], 7
    )
    assert "step 5, property: recorded LogMatching" in _changed(["property"], "LogMatching")
    assert "step 1, replica 2, epoch: recorded 7" in _changed(
        ["steps", 0, "nodes", 0, "replica", "quorum_state", "epoch"], 7
    )


def test_options_and_choices_may_have_been_renumbered() -> None:
    data = json.loads(json_form.dumps(counterexample(UNSTABLE)))
    for index, step in enumerate(data["steps"]):
        step["option"] += 3
        step["choice"] += 7
        data["path"][index] += 3
    assert replay(json_form.decode(data)) is None
