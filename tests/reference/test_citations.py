"""The reference and the catalogue name each other: every id cited exists, every rule has code or a reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kraftcheck import spec
from kraftcheck.systems import citations

RULES = spec.load().rules


def test_every_rule_has_code_or_a_stated_reason_and_not_both() -> None:
    assert list(citations.problems(RULES, citations.in_reference())) == []


VOTE = replace(RULES["VOTE-10"], uncovered=None)


@pytest.mark.parametrize(
    ("rule", "cited", "problem"),
    [
        (VOTE, {}, "VOTE-10 (Grant by log comparison) has no code and no reason why."),
        (replace(VOTE, uncovered=" "), {}, "VOTE-10 (Grant by log comparison) gives an empty reason"),
        (
            replace(VOTE, uncovered="Later."),
            {"VOTE-10": ("a.py:1", "b.py:2")},
            "yet cited at a.py:1, b.py:2.",
        ),
        (
            VOTE,
            {"VOTE-10": ("a.py:1",), "VOTE-99": ("a.py:2",)},
            "VOTE-99 at a.py:2 is not in the catalogue.",
        ),
        (
            VOTE,
            {"VOTE-10": ("a.py:1",), "VOTES-1": ("a.py:2",)},
            "VOTES-1 at a.py:2 is not in the catalogue.",
        ),
    ],
)
def test_what_is_wrong_is_said(rule: spec.Rule, cited: dict[str, tuple[str, ...]], problem: str) -> None:
    (found,) = citations.problems({rule.id: rule}, cited)
    assert problem in found


def test_nothing_is_wrong_with_code_or_a_reason() -> None:
    assert not list(citations.problems({VOTE.id: VOTE}, {"VOTE-10": ("a.py:1",)}))
    assert not list(citations.problems({VOTE.id: replace(VOTE, uncovered="Later.")}, {}))


def test_functions_agree_with_lines() -> None:
    functions = citations.functions_of_reference()
    cited = citations.in_reference()
    assert functions.keys() == cited.keys()
    assert "vote.would_grant_vote" in functions["VOTE-8"]
    modules = {rule_id: {name.partition(".")[0] for name in names} for rule_id, names in functions.items()}
    assert modules == {
        rule_id: {place.partition(".py:")[0].removeprefix("reference/") for place in places}
        for rule_id, places in cited.items()
    }
