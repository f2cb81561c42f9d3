"""The JSON form of traces: complete, and strict towards damage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build as build_system
from kraftcheck.systems.scenario import find
from kraftcheck.traces import build, json_form, terminal
from kraftcheck.traces.replay import replay
from kraftcheck.traces.walk import Walk
from tests.examples import examples
from tests.traces.trace_samples import POWER_LOSS, UNSTABLE, around, as_json, counterexample, places

TRACES = (UNSTABLE, POWER_LOSS)


@pytest.mark.parametrize("data", TRACES, ids=lambda data: data["name"])
def test_round_trip(data: dict[str, Any]) -> None:
    trace = counterexample(data)
    text = json_form.dumps(trace)
    assert json_form.loads(text) == trace
    assert json_form.dumps(json_form.loads(text)) == text


@pytest.mark.parametrize(
    ("name", "holds"),
    [
        ("replaced-disk-comes-back", lambda node: node.replaced is not None),
        ("describe-quorum-observer", lambda node: node.clock is not None and node.clock.fetches),
    ],
)
def test_what_only_some_replicas_have_is_kept(name: str, holds: Callable[[Any], bool]) -> None:
    """A disk next to the machine, and when others have fetched from a leader."""
    chosen, random = find(name), Random(1)
    walk = Walk(build_system(chosen))
    while not any(map(holds, walk.state.locals)):
        walk.take(random.choice([at for at, step in enumerate(walk.options()) if step.cut is None]))
    trace = build(walk.system, chosen, [taken.option for taken in walk.taken])
    assert json_form.loads(json_form.dumps(trace)) == trace


def test_a_file_is_self_contained_and_versioned() -> None:
    data = as_json(UNSTABLE)
    assert (data["format"], data["version"]) == ("kraftcheck-trace", 4)
    assert data["scenario"] == UNSTABLE
    assert data["path"] == [step["option"] for step in data["steps"]]


def test_another_scenario_or_property_is_refused() -> None:
    for key, value in (("about", "Something else."), ("bounds", {"max-epoch": 3})):
        data = as_json(UNSTABLE)
        data["scenario"][key] = value
        assert "changed after the trace was made" in _refused(json.dumps(data))
    data = as_json(UNSTABLE) | {"property": "LogMatching"}
    assert "changed after the trace was made" in _refused(json.dumps(data))


def _refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        json_form.loads(text, "file")
    message = str(caught.value)
    assert "\n" not in message and message.endswith(".")
    return message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "not JSON"),
        ("[]", "not a trace file"),
        ("{}", "not a trace file"),
        ('{"format": "kraftcheck-trace"}', "version null"),
        ('{"format": "kraftcheck-trace", "version": 3}', "version 3"),
        ('{"format": "kraftcheck-trace", "version": true}', "version true"),
        ('{"format": "kraftcheck-trace", "version": 4}', "expected the key 'digest'"),
        ('{"format": "kraftcheck-trace", "format": 1}', "given twice"),
        ('{"format": "kraftcheck-trace", "version": 4, "x": 0}', 'found "x"'),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("\x00" * 100, "not JSON"),
        ("9" * 100_000, "digits"),
    ],
    ids=range(13),
)
def test_what_is_no_trace_is_refused(text: str, expected: str) -> None:
    assert expected in _refused(text)


@pytest.mark.slow
def test_ten_megabytes_of_noise_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "noise.json"
    file.write_bytes(bytes(range(256)) * 40_000)
    with pytest.raises(InputError, match="not UTF-8"):
        json_form.load(file)
    file.write_text("[" + "1," * 5_000_000 + "1]", encoding="utf-8")
    with pytest.raises(InputError, match="not a trace file"):
        json_form.load(file)
    with pytest.raises(InputError, match="cannot be read"):
        json_form.load(tmp_path / "missing.json")


PLACES = {data["name"]: [place for place, _ in places(as_json(data))] for data in TRACES}
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just([]), st.just({}), st.just([[]])
)


@pytest.mark.slow
@examples(60)
@given(st.sampled_from(TRACES), st.data())
def test_damage_is_refused_or_harmless(data: dict[str, Any], draw: st.DataObject) -> None:
    damaged = as_json(data)
    place = draw.draw(st.sampled_from(PLACES[data["name"]]))
    parent = around(damaged, place)
    what = draw.draw(st.sampled_from(["delete", "replace", "add"]))
    if what == "delete":
        del parent[place[-1]]
    elif what == "replace":
        parent[place[-1]] = draw.draw(VALUES)
    elif isinstance(parent, dict):
        parent[draw.draw(st.text(max_size=5))] = draw.draw(VALUES)
    else:
        parent.append(draw.draw(VALUES))
    try:
        trace = json_form.decode(damaged, "file")
        replay(trace)
    except InputError as error:
        assert str(error)
        return
    for width in (40, 120):
        assert terminal.transcript(trace, width, verbose=True)


@pytest.mark.slow
@examples(100)
@given(st.integers(min_value=0), st.text(max_size=3))
def test_damaged_text_is_refused_or_harmless(place: int, text: str) -> None:
    whole = json_form.dumps(counterexample(POWER_LOSS))
    cut = place % len(whole)
    try:
        json_form.loads(whole[:cut] + text + whole[cut + 1 :])
    except InputError as error:
        assert str(error)
