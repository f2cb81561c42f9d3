"""``kraftcheck rules --between``: what changed for a replica between two releases."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from kraftcheck import spec
from kraftcheck.cli.main import main
from kraftcheck.query.releases import between, changes_of, in_words
from kraftcheck.spec import RELEASES

RULES = spec.load().rules


def output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["rules", *words]) == 0
    return capsys.readouterr().out


def test_rules_come_go_and_change() -> None:
    pre_votes = between("3.9", "4.0")[0]
    assert {"PREVOTE-1", "TRANS-Prospective-Candidate"} <= {rule.id for rule in pre_votes.came}
    assert {"OLD-Resigned-Candidate", "RESIGN-5"} <= {rule.id for rule in pre_votes.went}
    assert "TIMER-4" in {rule.id for rule in pre_votes.changed}


def test_steps_from_release_to_release_make_the_whole_way() -> None:
    steps = [each for pair in pairwise(RELEASES) for each in between(*pair)]
    assert tuple(steps) == between(RELEASES[0], RELEASES[-1])
    assert {rule.id for each in steps for rule in each.came} == {r.id for r in RULES.values() if r.since}


def test_the_text_is_grouped_by_release(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "--between", "4.0", "4.2")
    assert text.index("\n4.1\n") < text.index("(KIP-1166, KAFKA-14145)") < text.index("\n4.2\n")
    assert "came      KVER-2 to KVER-5" in text and "Prospective" not in text
    assert f"KVER-5  {RULES['KVER-5'].title}" in output(capsys, "--between", "4.0", "4.1", "-v")


def test_nothing_changed(capsys: pytest.CaptureFixture[str]) -> None:
    assert "No rule for a replica changed." in output(capsys, "--between", "4.3", "4.4")


def test_json_has_the_rules_of_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(output(capsys, "--between", "4.1", "4.2", "--json"))
    assert (data["format"], data["from"], data["to"]) == ("kraftcheck-rule-changes", "4.1", "4.2")
    joins = next(each for each in data["changes"] if "KAFKA-19078" in each["issues"])
    assert joins["came"] == ["ADD-13", "ADD-14", "CONFIG-14"] and joins["went"] == []


def test_a_rule_names_its_releases_and_changes(capsys: pytest.CaptureFixture[str]) -> None:
    assert in_words(RULES["PREVOTE-1"]) == "since 4.0"
    assert in_words(RULES["TIMER-6"]) == "until 4.0"
    assert in_words(RULES["OLD-Voted-Candidate"]) == "none since 3.9"
    assert in_words(RULES["VOTE-10"]) == "all since 3.9"
    assert "variants decide" in in_words(RULES["ALTER-1"])
    assert [change.release for change in changes_of(RULES["VOTE-21"])] == ["4.0", "4.1"]
    text = output(capsys, "BEGIN-2")
    assert "releases  all since 3.9" in text and "changed   in 4.2 (KAFKA-16926)" in text
    (rule,) = json.loads(output(capsys, "KVER-5", "--json"))["rules"]
    assert (rule["since"], rule["until"]) == ("4.1", None)
    assert rule["changes"][0]["release"] == "4.1"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--between", "4.3", "4.0"], "the older release first: 4.0 does not come after 4.3"),
        (["--between", "4.3", "4.3"], "the older release first"),
        (["--between", "2.8", "4.0"], "'2.8' is no release that the rules speak of"),
        (["--between", "4.0", "4.33"], "did you mean '4.3'"),
        (["VOTE-1", "--between", "3.9", "4.0"], "--between takes no rules"),
    ],
)
def test_what_is_refused(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", *words]) == 2
    out, err = capsys.readouterr()
    assert problem in err and out == "" and len(err.splitlines()) == 1
