"""``kraftcheck prove --tie``: output and exit status."""

import json

import pytest

from kraftcheck.cli.main import main
from kraftcheck.proof.tie import terminal
from kraftcheck.proof.tie.mutants import TIED, Verdict


def test_a_line_a_scenario_and_what_is_outside(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--tie", "parity-remove-voters", "finding-removal-before-flush"]) == 0
    first, second, *rest = capsys.readouterr().out.splitlines()
    assert first.split()[:2] == ["parity-remove-voters", "3,751"] and first.endswith("changing-voters  tied")
    assert second.startswith("finding-removal-before-flush") and second.endswith("tied")
    assert rest[0].strip().startswith("unflushed-log-counted: 6 transitions")
    assert "ToldIsKept" in " ".join(rest)
    assert (
        "2 of 2 scenarios tied (1 without any step outside the proof): 3,813 distinct transitions"
        in " ".join(rest)
    )


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--tie", "--json", "parity-remove-voters"]) == 0
    (found,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert found["tied"] and found["states"] == 1701 and found["transitions"] == 3751
    assert found["lacking"] == found["lacking_on_some_way"] == 0 and found["outside"] == {}


def test_what_is_not_tied_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--tie", "peer-without-pre-vote-by-flag"]) == 1
    out = capsys.readouterr().out
    assert "NOT TIED" in out
    assert "grant-vote: the request was sent; is missing: sent: vote request of" in " ".join(out.split())
    assert "VotesAreForCandidates fails in" in out
    assert "kraftcheck trace show peer-without-pre-vote-by-flag --path" in out


@pytest.mark.parametrize("arguments", [["nothing"], ["snapshot-beside-log"], ["--mutants", "nothing"]])
def test_bad_input(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--tie", *arguments]) == 2
    assert capsys.readouterr().err.startswith("kraftcheck: ")


def test_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prove", "--tie", "--list"]) == 0
    assert "three-voters-elect" in capsys.readouterr().out.split()
    assert main(["prove", "--tie", "--mutants", "--list"]) == 0
    assert capsys.readouterr().out.split() == list(TIED)


def test_a_mutant_that_is_not_noticed_is_a_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        terminal, "refute", lambda name: Verdict(name == "majority-is-half", ("a guard",), 1.0)
    )
    assert main(["prove", "--tie", "--mutants", "majority-is-half", "vote-not-persisted"]) == 1
    out = capsys.readouterr().out
    assert "breaks the tie" in out and "is not noticed" in out
    assert out.rstrip().endswith("1 of 2 mutants break the tie")
