"""Campaign files, the cells that they stand for, and the ids of cells."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.checking.mutation import catalogue
from kraftcheck.cli.main import main
from kraftcheck.pipeline.campaign.cells import Cell, Limits, from_task
from kraftcheck.pipeline.campaign.command import exit_status
from kraftcheck.pipeline.campaign.matrix import Campaign, expand, find_campaign
from kraftcheck.support.errors import InputError
from kraftcheck.systems.scenario import shipped_files

BOUNDS = ("scenario", "budgets.crashes=2", "budgets.crashes=0..1 bounds.max-epoch=2..3")
MATRICES = st.fixed_dictionaries(
    {
        "scenarios": st.lists(st.sampled_from(["single-voter", "flip-flop"]), min_size=1, unique=True),
        "protocols": st.lists(
            st.sampled_from(["scenario", "kip996", "scenario follower-pre-vote=never"]),
            min_size=1,
            unique=True,
        ),
        "mutants": st.lists(st.sampled_from(["none", "vote-for-an-id"]), min_size=1, unique=True),
        "bounds": st.lists(st.sampled_from(BOUNDS), min_size=1, unique=True),
        "engines": st.lists(st.sampled_from(["check", "simulate"]), min_size=1, unique=True),
        "seeds": st.sampled_from(["0", "7", "3..5"]),
    }
)

BOTH = {"scenarios": ["single-voter", "brokers-delayed-heartbeat"]}


def cells_of(*matrices: dict[str, Any]) -> list[Cell]:
    return expand(Campaign.model_validate({"matrix": list(matrices)}))


def written(tmp_path: Path, text: str) -> str:
    file = tmp_path / "campaign.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


@pytest.mark.slow
@settings(max_examples=25)
@given(MATRICES)
def test_cells_are_all_combinations_each_with_an_id_of_its_own(matrix: dict[str, Any]) -> None:
    cells = cells_of(matrix, matrix)
    seeds = {"0": 1, "7": 1, "3..5": 3}[matrix["seeds"]]
    bounds = sum(4 if ".." in text else 1 for text in matrix["bounds"])
    engines = sum(seeds if engine == "simulate" else 1 for engine in matrix["engines"])
    others = [len(matrix[name]) for name in ("scenarios", "protocols")]
    assert len(cells) == others[0] * others[1] * len({*matrix["mutants"], "none"}) * bounds * engines
    assert len({cell.id("sources") for cell in cells}) == len(cells)
    assert [cell.id("sources") for cell in cells_of(matrix)] == [cell.id("sources") for cell in cells]


@pytest.mark.slow
@settings(max_examples=25)
@given(MATRICES)
def test_the_reference_as_it_is_runs_wherever_a_mutant_does(matrix: dict[str, Any]) -> None:
    cells = cells_of(matrix | {"coverage": True, "walks": 3}, matrix | {"keep-going": True})
    controls = {cell.control for cell in cells if cell.mutant == "none"}
    assert {cell.control for cell in cells if cell.mutant != "none"} <= controls
    assert all(replace(cell, coverage=False) == cell.control for cell in cells if cell.mutant == "none")


def test_the_reference_as_it_is_runs_where_no_mutant_does_only_when_asked_for() -> None:
    cells = cells_of(
        BOTH | {"mutants": ["vote-for-an-id"], "engines": ["check", "simulate"], "seeds": "0..1"}
    )
    assert [(cell.scenario, cell.mutant, cell.seed) for cell in cells] == [
        ("single-voter", mutant, seed) for mutant in ("none", "vote-for-an-id") for seed in (None, 0, 1)
    ]
    own = cells_of({"mutants": ["vote-for-an-id"], "mutants-in": "own", "coverage": True})
    (control,) = (cell for cell in own if cell.mutant == "none")
    assert {cell.control for cell in own} == {replace(control, coverage=False)}


@pytest.mark.slow
@settings(max_examples=25)
@given(MATRICES)
def test_a_task_says_all_of_its_cell(matrix: dict[str, Any]) -> None:
    for cell in cells_of(matrix):
        assert from_task(cell.task("sources")) == (cell, cell.id("sources"), "sources")


def test_whatever_defines_a_cell_is_in_its_id() -> None:
    (cell,) = cells_of({"scenarios": ["single-voter"]})
    other: dict[type, Any] = {str: "x", bool: None, int: 99}
    for field in fields(cell):
        value = getattr(cell, field.name)
        changed = not value if isinstance(value, bool) else other.get(type(value), "x")
        changed = Limits(1, 2, 3) if field.name == "limits" else changed
        assert replace(cell, **{field.name: changed}).id("sources") != cell.id("sources"), field.name
    assert cell.id("other sources") != cell.id("sources")


def test_what_is_expected_is_known_of_what_runs_as_it_is_written() -> None:
    plain, altered = cells_of({"scenarios": ["single-voter"], "bounds": ["scenario", "budgets.crashes=0"]})
    assert plain.expects and plain.expected == "holds"
    assert not altered.expects and altered.expected is None
    told = json.loads(altered.content)
    assert told["budgets"]["crashes"] == 0 and told["expect"]["states"] is None
    (variant,) = cells_of({"scenarios": ["single-voter"], "protocols": ["kip996 follower-pre-vote=never"]})
    assert json.loads(variant.content)["protocol"] == {
        "preset": "kip996",
        "set": {"follower-pre-vote": "never"},
        "at": {},
    }


@pytest.mark.slow
def test_the_mutants_of_the_project_run_as_kraftcheck_mutate_runs_them() -> None:
    cells = expand(find_campaign("mutants"))
    known = catalogue.shipped()
    wanted = {(mutant.id, judged) for mutant in known.values() for judged in mutant.expect or (None,)}
    assert {(cell.mutant, cell.judged) for cell in cells if cell.mutant != "none"} == wanted
    controls = [cell.scenario for cell in cells if cell.mutant == "none"]
    assert sorted(controls) == sorted({mutant.scenario for mutant in known.values()})
    assert len(cells) == len(wanted) + len(controls)
    assert all(cell.mutant_alone == (cell.mutant != "none") for cell in cells)


def test_the_campaign_of_variants_has_a_thousand_cells() -> None:
    assert len(expand(find_campaign("variants"))) >= 1000


@pytest.mark.parametrize(
    ("coordinate", "left", "said"),
    [
        (
            {"mutants": ["none", "vote-for-an-id", "former-life-accepted"]},
            {("single-voter", "vote-for-an-id"), ("brokers-delayed-heartbeat", "former-life-accepted")},
            "2 of a scenario and a mutant",
        ),
        (
            {"protocols": ["kip996", "shipped", "scenario rejection-fences=false"]},
            {
                ("single-voter", "kip996"),
                ("brokers-delayed-heartbeat", "shipped"),
                ("brokers-delayed-heartbeat", "scenario rejection-fences=false"),
            },
            "3 of a scenario and a protocol variant",
        ),
        (
            {"bounds": ["budgets.crashes=1", "bounds.max-epoch=2", "budgets.cuts=1..2"]},
            {
                ("single-voter", "budgets.crashes=1"),
                ("single-voter", "bounds.max-epoch=2"),
                ("brokers-delayed-heartbeat", "budgets.crashes=1"),
                ("brokers-delayed-heartbeat", "budgets.cuts=1"),
                ("brokers-delayed-heartbeat", "budgets.cuts=2"),
            },
            "3 of a scenario and bounds",
        ),
    ],
)
def test_pairs_of_replicas_and_brokers_are_left_out_and_counted(
    coordinate: dict[str, Any], left: set[tuple[str, str]], said: str
) -> None:
    told: list[str] = []
    cells = expand(Campaign.model_validate({"matrix": [BOTH | coordinate]}), told.append)
    (name,) = coordinate
    found = {
        (cell.scenario, getattr(cell, name.removesuffix("s") if name != "bounds" else name)) for cell in cells
    }
    assert {(scenario, value) for scenario, value in found if value != "none"} == left
    why = "those of replicas and those of brokers do not apply to each other"
    assert told == [f"campaign: pairs left out: {said}; {why}."]


def test_mutants_of_both_kinds_in_their_own_scenarios_leave_nothing_out() -> None:
    told: list[str] = []
    matrix = {"mutants": ["vote-for-an-id", "former-life-accepted"], "mutants-in": "own"}
    assert len(expand(Campaign.model_validate({"matrix": [matrix]}), told.append)) == 5
    assert told == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[[matrix]]\nscenarios = ['brokers-empty-isr']\nmutants = ['vote-for-an-id']",
            "campaign, matrix.0: no cell; pairs left out: 1 of a scenario and a mutant",
        ),
        ("[[matrix]]\nscenarios = ['brokers-empty-isr']\nprotocols = ['kip996']", "no cell"),
        ("[[matrix]]\nscenarios = ['brokers-empty-isr']\nbounds = ['bounds.max-epoch=2']", "no cell"),
        ("[[matrix]]\nscenarios = ['flip-flop']\nprotocols = ['draft x=1']", "there is no switch 'x'"),
        (
            "[[matrix]]\nscenarios = ['brokers-empty-isr']\nprotocols = ['kip1']",
            "there is no preset 'kip1'; expected one of draft, shipped",
        ),
        (
            "[[matrix]]\nscenarios = ['brokers-empty-isr']\nprotocols = ['shipped rejection-fences=7']",
            "switch 'rejection-fences' takes true or false",
        ),
        (
            "[[matrix]]\nscenarios = ['brokers-timeouts-drift']\nprotocols = ['shipped']",
            "brokers-timeouts-drift, shipped: ",
        ),
        ("[[matrix]]\nscenarios = ['flip-flop']\nprotocols = ['kafka follower-pre-vote']", "SWITCH=VALUE"),
        ("matrix = 1", "matrix: should be a list"),
        ("[[matrix]]", "matrix.0: give scenarios or tags"),
        (
            "[[matrix]]\nscenarios = ['flip-flop']\nboundz = ['x']",
            ":3: matrix.0.boundz: is not a known key; did you mean 'bounds'? See ",
        ),
        (
            "limitz = 1\n[[matrix]]\ntags = ['ci']",
            ":1: limitz: is not a known key; did you mean 'limits'? See ",
        ),
        (
            "[[matrix]]\nscenarios = 'single-voter'",
            'campaign.toml:2: matrix.0.scenarios: should be a list, such as ["single-voter"]; see ',
        ),
        (
            "[[matrix]]\nscenarios = ['flip-flop']\nbounds = ['budgets.crashes=0..']",
            "campaign.toml:3: matrix.0.bounds: budgets.crashes: expected a number or a range such as 0..2, "
            "not '0..'; see ",
        ),
        ("[[matrix]]\ntags = ['no-such-tag']", "no shipped scenario has the tag 'no-such-tag'"),
        ("[[matrix]]\nscenarios = ['nowhere']", "there is no scenario 'nowhere'"),
        ("[[matrix]]\nscenarios = ['flip-flop']\nseeds = '9..1'", "seeds: expected 1 to 1,000,000 numbers"),
        ("[[matrix]]\nscenarios = ['flip-flop']\nseeds = 'x'", "seeds: expected a number or a range"),
        ("[[matrix]]\nscenarios = ['flip-flop']\nbounds = ['crashes=1']", "expected TABLE.KEY=VALUE"),
        ("[[matrix]]\nscenarios = ['flip-flop']\nbounds = ['budgets.crashes=99']", "budgets.crashes"),
        ("[[matrix]]\nscenarios = ['flip-flop']\nbounds = ['budgets.x=1']", "budgets.x: is not a known key"),
        ("[[matrix]]\nscenarios = ['flip-flop']\nprotocols = ['kip1']", "there is no preset 'kip1'"),
        ("[[matrix]]\nscenarios = ['flip-flop']\nprotocols = ['kafka x=1']", "there is no switch 'x'"),
        ("[[matrix]]\nscenarios = ['flip-flop']\nmutants = ['nobody']", "there is no mutant"),
        ("[[matrix]]\nscenarios = ['flip-flop']\nmutants = ['REG-5']", "REG-5 has no mutant (no scenario"),
        ("[[matrix]]\nmutants = ['none']\nmutants-in = 'own'", "needs mutants, and goes without"),
        ("limits = { memory = 'much' }\n[[matrix]]\ntags = ['ci']", "limits.memory: expected a size"),
        ("nonsense", ":1: each line is a table, [name]"),
    ],
)
def test_a_bad_campaign_is_refused_in_one_sentence(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        expand(find_campaign(written(tmp_path, text)))
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_two_scenarios_of_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shipped = shipped_files()["single-voter"].read_text(encoding="utf-8")
    same, other = tmp_path / "same.toml", tmp_path / "other.toml"
    same.write_text(shipped)
    other.write_text(shipped.replace("appends = 1", "appends = 2"))
    assert same.read_text() != other.read_text()
    assert len(cells_of({"scenarios": ["single-voter", str(same)]})) == 1
    blocks: tuple[list[dict[str, Any]], ...] = (
        [{"scenarios": [str(same), str(other)]}],
        [{"scenarios": [str(same)]}, {"scenarios": [str(other)]}],
        [{"scenarios": [str(other)], "tags": ["ci"]}],
        [{"mutants": ["own-log-not-counted"], "mutants-in": "own"}, {"scenarios": [str(other)]}],
    )
    for matrices in blocks:
        with pytest.raises(InputError, match=r"^two scenarios are called 'single-voter', .*; rename one\.$"):
            cells_of(*matrices)
    options = [part for file in (same, other) for part in ("--scenario", str(file))]
    assert main(["pipeline", "campaign", *options, "--list"]) == 2
    assert f"differ: {same} and {other}; rename one." in capsys.readouterr().err


def test_what_a_file_names_is_refused_with_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, "[[matrix]]\nscenarios = ['nowhere']")
    assert main(["pipeline", "campaign", file, "--list"]) == 2
    assert capsys.readouterr().err.startswith(f"kraftcheck: {file}: there is no scenario 'nowhere'")


def test_a_campaign_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"there is no campaign 'nowhere'; give a file, or one of"):
        find_campaign("nowhere")


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 0),
        ({"not_as_expected": 1, "open": 1}, 1),
        ({"verdicts": {"failed": 1}}, 1),
        ({"open": 1}, 3),
        ({"finished": 4}, 3),
        ({"verdicts": {"invalid": 1}}, 3),
        ({"mutant": "undetermined"}, 3),
        ({"mutant": "survived"}, 0),
    ],
)
def test_exit_status(changed: dict[str, Any], status: int) -> None:
    mutants = {"status": {"one": "killed", "other": changed.pop("mutant", "killed")}}
    cells = {"planned": 5, "finished": 5, "not_as_expected": 0, "open": 0, "verdicts": {"holds": 5}}
    assert exit_status({"cells": cells | changed, "mutants": mutants}) == status
