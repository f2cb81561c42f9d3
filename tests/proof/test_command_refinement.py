"""``kraftcheck prove --refinement``: output and exit status."""

import json
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.proof.refinement import command
from kraftcheck.proof.refinement.expected import EXPECTED


@pytest.mark.slow
def test_a_line_a_scenario_and_what_is_outside(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--refinement", "parity-remove-voters", "finding-removal-before-flush"]) == 0
    first, second, *rest = capsys.readouterr().out.splitlines()
    assert first.split()[:2] == ["parity-remove-voters", "3,751"] and first.endswith(
        "changing-voters  refines"
    )
    assert second.startswith("finding-removal-before-flush") and second.endswith("refines")
    assert rest[0].strip().startswith("unflushed-log-counted: 6 transitions")
    assert "ToldIsKept" in " ".join(rest)
    assert (
        "2 of 2 scenarios refine the proved system (1 without any step outside it): 3,813 distinct "
        "transitions" in " ".join(rest)
    )


@pytest.mark.slow
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--refinement", "--json", "parity-remove-voters"]) == 0
    (found,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found["refines"] and found["states"] == 1701 and found["transitions"] == 3751
    assert found["lacking"] == found["lacking_on_some_way"] == 0 and found["outside"] == {}


@pytest.mark.parametrize("arguments", [["nothing"], ["snapshot-beside-log"], ["--mutants", "nothing"]])
def test_bad_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--refinement", *arguments]) == 2
    assert capsys.readouterr().err.startswith("kraftcheck: ")


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--refinement", "--list"]) == 0
    assert "three-voters-elect" in capsys.readouterr().out.split()
    assert main(["prove", "--refinement", "--mutants", "--list"]) == 0
    assert capsys.readouterr().out.split() == list(EXPECTED.killed)


@pytest.mark.slow
def test_a_mutant_that_survives_is_a_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refute(_: object, name: str, scenario: str) -> dict[str, Any]:
        return {"killed": name == "majority-is-half", "why": ["a guard"], "seconds": 1.0}

    monkeypatch.setattr(command, "refute", refute)
    assert main(["prove", "--refinement", "--mutants", "majority-is-half", "vote-not-persisted"]) == 1
    out = capsys.readouterr().out
    assert "killed" in out and "survived" in out
    assert out.rstrip().endswith("1 of 2 mutants killed")
