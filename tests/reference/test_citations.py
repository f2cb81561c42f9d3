"""The reference and the catalogue name each other: every id cited exists, every rule covered is cited."""

from __future__ import annotations

import pytest

import spec
from model_check.consult.citations import in_reference
from spec import Rule

RULES = spec.load().rules
COVERED = [rule for rule in RULES.values() if rule.uncovered is None]

#: Rules without a reason in the catalogue that no code names yet. Each is reported and expected to fail; the
#: test fails as soon as the code names it or the catalogue gives a reason, and then the id goes from here.
NOT_CITED_YET: frozenset[str] = frozenset(
    [
        "BEGIN-12",
        "BEGIN-13",
        "CHECKQ-5",
        "CHECKQ-6",
        "DEF-1",
        "DEF-2",
        "DEF-3",
        "DEF-4",
        "DEF-7",
        "END-11",
        "END-12",
        "FETCH-11",
        "HWM-8",
        "ID-2",
        "ID-7",
        "ID-8",
        "LOG-7",
        "LOG-8",
        "PREVOTE-1",
        "PREVOTE-2",
        "PREVOTE-16",
        "PREVOTE-19",
        "PREVOTE-20",
        "PREVOTE-30",
        "PREVOTE-31",
        "PREVOTE-34",
        "RESIGN-7",
        "RESP-8",
        "STATE-1",
        "STATE-2",
        "TIMER-6",
        "VOTE-18",
        "VOTE-27",
    ]
)


@pytest.mark.parametrize("rule_id", sorted(in_reference()))
def test_a_cited_rule_is_in_the_catalogue(rule_id: str) -> None:
    assert rule_id in RULES, f"{rule_id} at {', '.join(in_reference()[rule_id])} is not in the catalogue"


@pytest.mark.parametrize("rule_id", sorted(in_reference()))
def test_a_cited_rule_is_not_called_uncovered(rule_id: str) -> None:
    assert RULES[rule_id].uncovered is None


@pytest.mark.parametrize("rule", COVERED, ids=[rule.id for rule in COVERED])
def test_a_covered_rule_is_cited(rule: Rule, request: pytest.FixtureRequest) -> None:
    if rule.id in NOT_CITED_YET:
        request.applymarker(pytest.mark.xfail(strict=True, reason=f"{rule.id} is cited nowhere"))
    assert rule.id in in_reference(), f"{rule.id} ({rule.title}) has no reason to be uncovered and no place"


def test_the_list_names_rules_only() -> None:
    assert set(RULES) >= NOT_CITED_YET
