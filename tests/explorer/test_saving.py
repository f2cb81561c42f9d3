"""A saved path is what the commands read: a trace that replays, a scenario that checks, a test that runs."""

from __future__ import annotations

import tomllib
from pathlib import Path as File

import pytest
from hypothesis import given, settings

from kraftcheck.cli.main import main
from kraftcheck.explorer.ground import Ground
from kraftcheck.explorer.saving import FORMS, save
from kraftcheck.explorer.start import start_of
from kraftcheck.support.errors import InputError
from kraftcheck.support.toml_form import toml_text
from kraftcheck.systems import scenario
from kraftcheck.traces import json_form
from kraftcheck.traces.json_form import scenario_data
from kraftcheck.traces.replay import replay
from tests.explorer.walks import WALKS, ground_of, walked

#: After the election timer of replica 1: it asks for pre-votes.
ELECTION = (0,)


@settings(max_examples=6, deadline=None)
@given(WALKS)
def test_a_saved_trace_replays(walk: tuple[str, list[int]]) -> None:
    ground = ground_of(walk[0])
    path, _ = walked(ground, walk[1])
    trace = json_form.loads(save(ground, path, "trace").text)
    assert replay(trace) is None and trace.path == path


def test_a_saved_trace_opens_at_its_end(tmp_path: File, capsys: pytest.CaptureFixture[str]) -> None:
    ground = ground_of("three-voters-crash")
    path, _ = walked(ground, [3, 1, 4, 1, 5])
    found = save(ground, path, "trace")
    (tmp_path / found.name).write_text(found.text, encoding="utf-8")
    assert start_of([str(tmp_path / found.name)]).path == path
    assert main(["trace", "replay", str(tmp_path / found.name)]) == 0
    assert f"takes all {len(path)} steps" in capsys.readouterr().out


def test_a_saved_test_passes() -> None:
    ground = ground_of("three-voters-crash")
    path, _ = walked(ground, [3, 1, 4, 1, 5])
    space: dict[str, object] = {}
    exec(save(ground, path, "pytest").text, space)
    (test,) = [value for name, value in space.items() if name.startswith("test_")]
    test()  # type: ignore[operator]


def test_a_saved_scenario_begins_here(tmp_path: File) -> None:
    ground = ground_of("three-voters-crash")
    found = save(ground, ELECTION, "scenario")
    assert found.name == "three-voters-crash-here.toml"
    assert "# Left out, as if it never arrived: 1 to 2: VoteRequest(" in found.text
    begun = Ground(scenario.parse(found.text))
    assert begun.walk(()).state.locals == ground.walk(ELECTION).state.locals
    assert begun.walk(()).state.budgets == ground.walk(ELECTION).state.budgets


@pytest.mark.slow
def test_a_saved_scenario_checks(tmp_path: File) -> None:
    found = save(ground_of("three-voters-crash"), ELECTION, "scenario")
    (tmp_path / found.name).write_text(found.text, encoding="utf-8")
    assert main(["check", str(tmp_path / found.name)]) == 0


@pytest.mark.parametrize("name", ["brokers-shipped-data-crash", "finding-second-leader-of-epoch"])
def test_in_the_beginning_the_scenario_is_saved_as_it_is(name: str) -> None:
    ground = ground_of(name)
    assert scenario.parse(save(ground, (), "scenario").text) == ground.scenario


def test_what_no_scenario_can_begin_with_is_said_in_a_sentence() -> None:
    with pytest.raises(InputError, match=r"^no scenario of brokers can begin in a given state; .*\.$"):
        save(ground_of("brokers-shipped-data-crash"), (0,), "scenario")
    ground = ground_of("three-voters-crash")
    path, _ = walked(ground, [1, 2, 3, 4])
    for form in FORMS:
        try:
            assert save(ground, path, form).text
        except InputError as error:
            assert str(error).endswith(".") and "\n" not in str(error)


@pytest.mark.slow
def test_every_shipped_scenario_is_the_same_as_toml_text() -> None:
    for name in scenario.shipped_files():
        shipped = scenario.find(name)
        assert scenario.parse(toml_text(scenario_data(shipped))) == shipped


def test_texts_in_toml() -> None:
    for text in ('"', "\\", "\x7f", "\n\t", "é", "\u2028", "'''", '"""', "# no comment"):
        written = toml_text({"name": text, "table": {"a key": [text, {"b": True}]}})
        assert tomllib.loads(written) == {"name": text, "table": {"a key": [text, {"b": True}]}}
