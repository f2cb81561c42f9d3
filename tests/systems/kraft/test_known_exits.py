"""Exits that findings show: a scenario goes past one finding, and not past another with the same reason."""

from __future__ import annotations

import pytest

from kraftcheck.checking.findings import known_findings
from kraftcheck.checking.run import check
from kraftcheck.systems.kraft.known_exits import KNOWN
from tests.systems.kraft.small import changed


def test_each_is_a_finding_that_says_how_to_go_past_it() -> None:
    past = {each.id: each.past for each in known_findings()}
    for known in KNOWN:
        alone = f'check.ignore-fatal = ["{known.finding}"]'
        # Where a switch of the protocol has the missing rule, that is the better way.
        assert past[known.finding] == alone or past[known.finding].startswith("protocol.set"), known.finding


_SHARED = ["restart-under-removed-leader", "observer-without-voter-set"]


def test_these_have_one_reason() -> None:
    assert len({known.reason for known in KNOWN if known.finding in _SHARED}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("known", [*_SHARED, "wiped-leader"])
def test_its_scenario_is_gone_past_by_its_own_name_alone(known: str) -> None:
    others = [other.finding for other in KNOWN if other.finding != known]
    for ignored, violated in (([known], []), (others, ["NoFatal"])):
        result = check(changed(f"finding-{known}", check={"ignore-fatal": ignored}))
        assert [each.property for each in result.exploration.violations] == violated
