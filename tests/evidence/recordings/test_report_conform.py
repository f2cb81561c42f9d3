"""The report of ``conform``: complete for programs, and readable for people at any width."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kraftcheck.evidence.history.checks import GOALS, JUDGED
from kraftcheck.evidence.recordings.conform_report import Wanted, as_json, as_text, exit_status
from kraftcheck.evidence.recordings.outcome import (
    Difference,
    Finding,
    Judgement,
    Remark,
    RunReport,
    RunResult,
)

EVERYTHING = Wanted(limit=10, verbose=True, rules=True, unexercised=True)
DIFFERENCE = Difference(5, 9, 1, "recv Vote request", "epoch", 1, 4, ("VOTE-10",), ("4 tick: -",))
FINDING = Finding("NoFatal", "P-1", False, 7, 90, (1, 2), "the process ends", "a cause", "finding-x")
HAZARD = Finding("NoFatal", "P-1", True, 7, 90, (1,), "starts as Candidate")


def result(
    *,
    name: str = "run",
    compared: int = 1204,
    differences: int = 0,
    findings: tuple[Finding, ...] = (),
    remarks: tuple[Remark, ...] = (),
    left: int = 0,
) -> RunResult:
    report = RunReport(name, recorded=compared + 1 + 2 * left)
    report.compared = Counter({"tick": compared})
    report.world = Counter({"net": 1})
    report.not_covered = Counter({"recv DescribeQuorum request": left})
    report.skipped = Counter({"after a step that is not covered": left})
    report.rules = Counter({"VOTE-10": 1204})
    report.exceptions = Counter({"random bootstrap server": 12})
    report.differences = [DIFFERENCE] * differences
    return RunResult(report, Judgement(list(findings), dict.fromkeys(GOALS, True), list(remarks)))


@pytest.mark.parametrize(
    ("found", "fail", "status"),
    [
        (result(), True, 0),
        (result(differences=1), False, 1),
        (result(findings=(FINDING,)), False, 0),
        (result(findings=(FINDING,)), True, 1),
        (result(findings=(HAZARD,)), True, 0),
        (result(remarks=(Remark(3, "two leaders"),)), True, 1),
        (result(compared=0), False, 3),
        (result(left=1), False, 3),
        (result(left=1, differences=1), False, 1),
    ],
)
def test_the_exit_status(found: RunResult, fail: bool, status: int) -> None:
    assert exit_status([found], findings_fail=fail) == status


def test_the_worst_run_decides() -> None:
    assert exit_status([result(), result(compared=0), result(differences=1)], findings_fail=False) == 1


def test_a_difference_says_where_it_is_and_why() -> None:
    text = as_text([result(differences=1)], Wanted(), 100)
    assert "run: seq 5, node 1, recv Vote request: epoch" in text
    assert "Kafka       4 (content recorded at seq 9)" in text
    assert "rules       VOTE-10" in text and "before      4 tick: -" in text


def test_verbose_prints_what_the_rules_say() -> None:
    text = " ".join(as_text([result(differences=1)], Wanted(verbose=True), 100).split())
    assert "VOTE-10 When an Unattached or Prospective replica" in text


def test_a_finding_names_its_property_its_cause_and_its_scenario() -> None:
    text = as_text([result(findings=(FINDING, HAZARD))], Wanted(), 100)
    assert "finding: run: seq 7, t 90 ms, node 1 with 2: NoFatal (P-1)" in text
    assert "kraftcheck check finding-x -v" in text and "cause       a cause" in text
    assert "hazard: run: seq 7" in text and "cause       not known" in text
    assert "1 finding, 1 hazard" in text


def test_what_was_not_compared_is_said() -> None:
    text = as_text([result(left=1)], Wanted(), 80)
    assert "1  recv DescribeQuorum request" in text and "1  after a step that is not covered" in text
    assert "1,204 compared, 2 NOT compared" in " ".join(text.split())
    assert "12  random bootstrap server" in text


def test_rules_are_counted_and_those_never_exercised_listed() -> None:
    assert "VOTE-10" in as_text([result()], Wanted(rules=True), 80)
    assert "1,204 times" in as_text([result()], Wanted(rules=True), 80)
    never = as_text([result()], Wanted(unexercised=True), 80).split()
    assert "VOTE-8" in never and "VOTE-10" not in never


def test_more_than_the_limit_is_counted() -> None:
    text = as_text([result(differences=3)], Wanted(limit=1), 80)
    assert text.count("recv Vote request") == 1 and "2 more differences" in text


def test_several_runs_have_a_sum() -> None:
    assert "2 runs" in as_text([result(), result(name="other")], Wanted(), 80)
    assert "2,410" in as_text([result(), result(name="other")], Wanted(), 80)


def test_json_is_complete() -> None:
    found = result(differences=1, findings=(FINDING, HAZARD), remarks=(Remark(None, "odd"),), left=1)
    data = json.loads(json.dumps(as_json([found], "kafka")))
    (run,) = data["runs"]
    parts = ("compared", "world", "notCovered", "skipped")
    assert run["recorded"] == sum(sum(run[part].values()) for part in parts)
    assert run["differences"][0]["shownAt"] == 9
    assert [each["hazard"] for each in run["findings"]] == [False, True]
    assert run["findings"][0]["id"] == "P-1" and run["findings"][0]["scenario"] == "finding-x"
    assert run["notesUnexplained"] == [{"seq": None, "text": "odd"}]
    assert set(data["properties"]["judged"]) == set(JUDGED)
    assert "VOTE-8" in data["rulesNeverExercised"]


@pytest.mark.slow
@given(
    name=st.text(max_size=60),
    evidence=st.text(max_size=200),
    width=st.integers(20, 160),
    compared=st.integers(0, 10**6),
)
@example(name="0" * 11, evidence="", width=20, compared=999_997)
@settings(max_examples=60)
def test_lines_fit_and_obey_no_terminal(name: str, evidence: str, width: int, compared: int) -> None:
    finding = Finding("NoFatal", "P-1", False, 7, 90, (1,), evidence)
    text = as_text(
        [result(name=name, compared=compared, differences=1, findings=(finding,))], EVERYTHING, width
    )
    lines = text.split("\n")
    assert all(line.isprintable() for line in lines)
    assert max(map(len, lines)) <= max(width, 60)
