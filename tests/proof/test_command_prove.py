"""``kraftcheck prove``: output and exit status."""

import json

import pytest

from kraftcheck.cli.main import main


@pytest.mark.slow
def test_a_conjunct_of_an_action_is_proved(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "fixed-voters:grant-vote:VotedOncePerEpoch"]) == 0
    place, line, total, *_ = capsys.readouterr().out.splitlines()
    assert place == "fixed-voters"
    assert line.split()[:2] == ["grant-vote", "VotedOncePerEpoch"] and line.endswith("proved")
    assert total.startswith("1 of 1 proved")


@pytest.mark.slow
def test_results_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--json", "arithmetic"]) == 0
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {each["verdict"] for each in results} == {"proved"}
    assert {"same-voters", "one-change"} <= {each["conjunct"] for each in results}


@pytest.mark.slow
def test_the_list_names_what_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--list", "LogMatching"]) == 0
    names = capsys.readouterr().out.split()
    assert "changing-voters:take-records:LogMatching" in names
    assert all(name.endswith(":LogMatching") for name in names)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "works"),
    [
        (
            "changing-voters:commit",
            {"changing-voters:commit:MajorityHolds", "changing-voters:commit:possible"},
        ),
        ("fixed-voters:initially", {"fixed-voters:initially:LogMatching", "fixed-voters:initially:possible"}),
        ("fixed-voters:EpochMonotone", set()),
    ],
)
def test_parts_of_a_name_mean_all_that_has_them(
    name: str, works: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prove", "--list", name]) == 0
    names = set(capsys.readouterr().out.split())
    parts = set(name.split(":"))
    assert all(parts <= set(each.split(":")) for each in names)
    assert works <= names


@pytest.mark.slow
def test_where_nothing_changes_nothing_is_claimed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "fixed-voters:flush:VotedOncePerEpoch"]) == 0
    assert capsys.readouterr().out.startswith("0 of 0 proved in 0.0 s; 1 more need no proof")


@pytest.mark.slow
def test_a_mutant_is_shown_with_its_counterexample(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--mutants", "tell-leader"]) == 0
    out = capsys.readouterr().out
    assert "killed: LeadersToldOfWereElected" in out
    assert "replica 1: Unattached" in out
    assert out.rstrip().endswith("2 of 2 mutants killed")


@pytest.mark.parametrize("arguments", [["nothing"], ["--mutants", "LogMatching"]])
def test_an_unknown_name_is_bad_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", *arguments]) == 2
    assert capsys.readouterr().err.startswith("kraftcheck: ")
