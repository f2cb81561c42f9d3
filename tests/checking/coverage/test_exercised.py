"""The rules that reports of several commands have steps of, together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kraftcheck.checking.coverage.exercised import exercised, summary
from kraftcheck.checking.coverage.not_exercised import carried_out
from kraftcheck.cli.main import main
from kraftcheck.support.errors import InputError


def test_reports_count_together() -> None:
    reports = {"drive": frozenset({"VOTE-10", "VOTE-8"}), "record": frozenset({"VOTE-10", "FETCH-1"})}
    lines = list(summary(reports))
    assert lines[:2] == ["drive: 2", "record: 2"]
    assert lines[2].startswith("rules exercised: 3 of ")
    assert not any(" VOTE-10" in line for line in lines[3:])


def test_a_rule_of_other_releases_or_documents_is_left_with_the_presets_that_have_it() -> None:
    lines = list(summary({"drive": frozenset(carried_out()) - {"OLD-Leader-Resigned", "ALTER-1", "STATE-5"}}))
    assert lines[2:] == [
        "not exercised, as guards behind other guards, to which no event is known to lead (1): STATE-5",
        "not exercised, in force under preset kip595 alone (1): ALTER-1",
        "not exercised, in force under preset kafka-3.9 or kip853 or kip595 alone (1): OLD-Leader-Resigned",
    ]


def test_a_rule_without_steps_does_not_count(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"rules": {"VOTE-10": 3, "VOTE-8": 0}}))
    assert exercised(report) == {"VOTE-10"}


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("[]", "is no report"),
        ('{"rules": []}', "is no report"),
        ('{"rules": {"X-1": 1}}', "'X-1' is not a rule"),
    ],
)
def test_what_is_no_report_is_one_sentence(tmp_path: Path, content: str, wrong: str) -> None:
    report = tmp_path / "report.json"
    report.write_text(content)
    with pytest.raises(InputError, match=wrong):
        exercised(report)


def test_it_takes_no_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--json", "--exercised", str(tmp_path / "report.json")]) == 2
    assert "--exercised takes no rules" in capsys.readouterr().err
