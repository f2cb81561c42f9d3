"""The reference and the catalogue name each other: every id cited exists, every rule covered is cited."""

from __future__ import annotations

import pytest

import spec
from model_check.consult.citations import in_reference
from spec import Rule

RULES = spec.load().rules
COVERED = [rule for rule in RULES.values() if rule.uncovered is None]


@pytest.mark.parametrize("rule_id", sorted(in_reference()))
def test_a_cited_rule_is_in_the_catalogue(rule_id: str) -> None:
    assert rule_id in RULES, f"{rule_id} at {', '.join(in_reference()[rule_id])} is not in the catalogue"


@pytest.mark.parametrize("rule_id", sorted(in_reference()))
def test_a_cited_rule_is_not_called_uncovered(rule_id: str) -> None:
    assert RULES[rule_id].uncovered is None


@pytest.mark.parametrize("rule", COVERED, ids=[rule.id for rule in COVERED])
def test_a_covered_rule_is_cited(rule: Rule) -> None:
    assert rule.id in in_reference(), f"{rule.id} ({rule.title}) has no reason to be uncovered and no place"
