"""No edit of a trace file goes unnoticed: reading refuses it, or the replay names the first difference."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kind import INITIAL_PREFIX
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import from_data, shipped
from kraftcheck.traces import Trace, build_dead_end, json_form
from kraftcheck.traces.build import walk
from kraftcheck.traces.replay import replay
from tests.examples import examples
from tests.traces.trace_samples import POWER_LOSS, UNSTABLE, Place, around, counterexample, places


def _of_brokers() -> Trace:
    return check(shipped()["brokers-data-without-isr"]).traces()[0]


def _lasso() -> Trace:
    return check(shipped()["pre-vote-without-check-quorum"]).traces()[0]


def _lasso_of_brokers() -> Trace:
    """One of two *eventually* properties that the same cycle violates."""
    return check(shipped()["finding-late-registration"]).traces()[0]


def _dead_end() -> Trace:
    scenario = shipped()["unseen-voter-change"]
    system = kind_of(scenario).build(scenario, scenario.name)
    first = next(step for step in walk(system, ()).options() if step.cut is None)
    return build_dead_end(system, scenario, "ElectableAfterUnseenVoterChange", [first.path])


def _initial_prefix() -> Trace:
    data = json_form.scenario_data(shipped()["finding-parked-fetch-counts-again"])
    data["check"] = {"only": ["CheckQuorumNeedsMajority"]}
    data["expect"] = {"verdict": "violated", "violates": ["CheckQuorumNeedsMajority"]}
    (trace,) = check(from_data(data, "parked")).traces()
    assert trace.scenario.name.endswith(INITIAL_PREFIX)
    return trace


KINDS = {
    "safety": lambda: counterexample(UNSTABLE),
    "crash": lambda: counterexample(POWER_LOSS),
    "brokers": _of_brokers,
    "lasso": _lasso,
    "lasso of brokers": _lasso_of_brokers,
    "dead end": _dead_end,
    "initial-prefix": _initial_prefix,
}


@cache
def _file(kind: str) -> str:
    return json_form.dumps(KINDS[kind]())


@cache
def _places(kind: str) -> list[Place]:
    """The places of all leaves, and of the items of lists."""
    return [
        place
        for place, value in places(json.loads(_file(kind)))
        if not (isinstance(value, dict | list) and value) or isinstance(place[-1], int)
    ]


def _others(value: Any) -> st.SearchStrategy[Any]:
    """Values like ``value``, and values of other types."""
    like: st.SearchStrategy[Any] = st.none()
    if isinstance(value, bool):
        like = st.just(not value)
    elif isinstance(value, int):
        like = st.sampled_from([value + 1, value - 1, 0, 1, 2, 3])
    elif isinstance(value, str):
        like = st.sampled_from([value + " ", value[:-1], value.upper(), value.replace("1", "2"), "Leader"])
    return like | st.none() | st.booleans() | st.integers(0, 5) | st.text(max_size=3)


def _is_noticed(data: Any) -> bool:
    try:
        return replay(json_form.decode(data, "file")) is not None
    except InputError as error:
        assert str(error).startswith("file")
        return True


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_as_it_was_written_it_is_taken(kind: str) -> None:
    assert replay(json_form.loads(_file(kind))) is None


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@examples(60)
@given(st.data())
def test_every_edit_is_noticed(kind: str, draw: st.DataObject) -> None:
    data = json.loads(_file(kind))
    place = draw.draw(st.sampled_from(_places(kind)))
    parent = around(data, place)
    old = copy.deepcopy(parent[place[-1]])
    if isinstance(parent, list) and draw.draw(st.booleans()):
        del parent[place[-1]]
    else:
        parent[place[-1]] = draw.draw(_others(old).filter(lambda new: json.dumps(new) != json.dumps(old)))
    assert _is_noticed(data), (place, old)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_text_for_people_is_compared(kind: str) -> None:
    """Each leaf that no value of the reference depends on, changed once."""
    words = {"field", "before", "after", "short", "reasons", "rules", "violations", "action", "about"}
    texts = [place for place in _places(kind) if words & set(place)]
    assert len(texts) > 3
    for place in texts[:: max(len(texts) // 12, 1)]:
        data = json.loads(_file(kind))
        around(data, place)[place[-1]] = "something else"
        assert _is_noticed(data), place


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_cycle_goes_with_an_eventually_property_alone(kind: str) -> None:
    """A reader who edits the property can make the digest fit."""
    data = json.loads(_file(kind))
    for violated, loop in ((data["property"], 0), ("NoFatal", data["loop"]), ("NoFatal", 0)):
        if [violated, loop] != [data["property"], data["loop"]]:
            digest = json_form._digest(data["scenario"], violated)
            assert _is_noticed({**data, "property": violated, "loop": loop, "digest": digest})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("safety", ", ReturningReplicaDeposesNobody is violated."),
        ("lasso", " and the cycle closes; whether that violates LeaderWithoutMajorityStepsDown, only"),
        ("dead end", "; whether that violates ElectableAfterUnseenVoterChange, only 'kraftcheck check' can"),
    ],
)
def test_no_more_is_claimed_than_the_steps_show(
    kind: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A part of the path to a dead end has steps that are as good as all of it."""
    file = tmp_path / "trace.json"
    file.write_text(_file(kind))
    assert main(["trace", "replay", str(file)]) == 0
    assert f"as recorded{told}" in capsys.readouterr().out
