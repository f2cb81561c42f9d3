"""The table of rules: the committed page and data are those of today, and the page shows every gap."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck import spec
from kraftcheck.checking.coverage import index
from kraftcheck.checking.coverage import rule_evidence as evidence
from kraftcheck.cli.main import main
from kraftcheck.query import rule_table
from kraftcheck.query.rule_table import Row, as_markdown, rows
from kraftcheck.support.errors import InputError

ROOT = Path(__file__).parents[2]
RULES = spec.load().rules


def row(rule_id: str) -> Row:
    return next(each for each in rows() if each.rule.id == rule_id)


def test_the_page_is_up_to_date() -> None:
    page = (ROOT / "docs" / "rule-table.md").read_text(encoding="utf-8")
    assert page == as_markdown(rows()), "run: kraftcheck rules --table -o docs/rule-table.md"


@pytest.mark.nightly
def test_the_rules_in_tests_are_up_to_date(tmp_path: Path) -> None:
    file = tmp_path / "executed.json"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-n0", "tests/reference"],
        cwd=ROOT,
        env={**os.environ, "EXECUTED_BY_TESTS": str(file)},
        capture_output=True,
        check=True,
    )
    kept, now = index.recorded(index.TESTS), index.read(file.read_bytes(), file.name)
    assert kept.digests == now.digests, "run: make pages"
    assert kept.checks.keys() == now.checks.keys(), "run: make pages"
    for name, ran in now.checks.items():
        before = kept.checks[name]
        assert (before.rules, before.functions) == (ran.rules, ran.functions), f"{name}: run: make pages"


def test_what_was_counted_is_of_this_catalogue() -> None:
    counted = {*evidence.in_tests(), *evidence.in_recorded_runs().rules}
    assert {rule_id for rule_id in counted if rule_id not in RULES or RULES[rule_id].uncovered} == set()


def test_every_rule_has_a_line() -> None:
    page = as_markdown(rows())
    for rule in RULES.values():
        assert f"\n| **{rule.id}** {rule.title} |" in page


def test_a_rule_with_everything() -> None:
    vote = row("VOTE-8")
    assert all(vote.shown_by(kind) for kind, _ in rule_table.KINDS)
    assert "vote.would_grant_vote" in vote.code
    assert "grant-without-looking-at-vote" in vote.mutants
    assert "test_vote" in vote.tests
    assert row("VOTE-11").equivalent == ("candidate-vote-rule-removed",)


def gap(page: str, kind: str) -> str:
    (line,) = [line for line in page.splitlines() if line.startswith(f"- {kind} (")]
    return line


def test_gaps_are_listed() -> None:
    vote = row("VOTE-8")
    for kind, emptied in {
        "no property": replace(vote, properties=()),
        "no mutant": replace(vote, mutants=(), equivalent=()),
        "no test": replace(vote, tests=(), naming=()),
        "no recorded step": replace(vote, production=0),
    }.items():
        assert gap(as_markdown([emptied]), kind) == f"- {kind} (1): VOTE-8"
        assert gap(as_markdown([vote]), kind) == f"- {kind} (0): none"
    bare = replace(vote, properties=(), mutants=(), equivalent=(), tests=(), production=0)
    assert gap(as_markdown([bare]), "nothing but code") == "- nothing but code (1): VOTE-8"


def test_a_rule_without_code_has_its_reason() -> None:
    known = [row("ISR-1"), row("ISR-2"), row("ISR-3")]
    later = [replace(each, rule=replace(each.rule, uncovered="Later."), code=()) for each in known]
    page = as_markdown(later)
    assert "- ISR-1 to ISR-3 (3): Later." in page
    assert gap(page, "no test") == "- no test (0): none"


def test_a_rule_that_no_mutant_can_show_says_why_and_has_tests() -> None:
    explained = [each for each in rows() if each.rule.unmutated is not None]
    areas = {"BOOT", "CONFIG", "HEARTBEAT", "FENCE", "COMPAT", "REG"}
    assert {each.rule.area for each in explained} == areas
    for each in explained:
        assert each.code and each.tests and not each.mutants + each.equivalent
        assert f": {each.rule.unmutated}" in as_markdown([each])
        assert gap(as_markdown([each]), "no mutant") == "- no mutant (0): none"


# The report that production's steps are counted from.

REPORT = {
    "runs": [{"run": "run-01", "recorded": 9, "compared": {"start": 3, "tick": 4}}],
    "rules": {"VOTE-8": 5, "BEGIN-1": 2},
}


def written(tmp_path: Path, content: object) -> Path:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_counting_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "--count", str(written(tmp_path, REPORT))]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["runs"] == ["run-01"] and found["recorded"] == 9 and found["compared"] == 7
    assert list(found["rules"].items()) == [("BEGIN-1", 2), ("VOTE-8", 5)]


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ({"runs": []}, "rules: is missing"),
        ([], "not a report of 'kraftcheck conform --json'"),
        (REPORT | {"rules": {"VOTE-99": 1}}, "'VOTE-99' is not a rule of this catalogue"),
        (REPORT | {"rules": {"VOTE-8": -1}}, "rules.VOTE-8"),
        (REPORT | {"rules": {"VOTE-8": 10**40}}, "rules.VOTE-8"),
    ],
)
def test_what_is_no_report(tmp_path: Path, report: object, said: str) -> None:
    file = written(tmp_path, report)
    with pytest.raises(InputError) as caught:
        evidence.counted(file)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_number_too_long_to_read(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    file.write_text(json.dumps(REPORT).replace("5", "5" * 5000), encoding="utf-8")
    with pytest.raises(InputError, match="not a report"):
        evidence.counted(file)


@settings(max_examples=50)
@given(st.binary(max_size=200))
def test_any_file_is_read_or_refused_in_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "any-report.json"
    file.write_bytes(raw)
    with pytest.raises(InputError) as caught:
        evidence.counted(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments",
    [["--table", "VOTE"], ["--table", "--json"], ["VOTE", "-o", "x"], ["--count", "missing.json"]],
)
def test_bad_input_is_one_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    file = tmp_path / "table.md"
    assert main(["rules", "--table", "-o", str(file)]) == 0
    assert file.read_text(encoding="utf-8") == as_markdown(rows())


def test_consulting_a_rule_shows_what_exercises_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "VOTE-8", "ISR-1", "-v"]) == 0
    out = capsys.readouterr().out
    assert "test_vote" in out and "recorded runs" in out and "decided no step" in out
