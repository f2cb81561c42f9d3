"""Disks and nodes that are replaced, voters that miss a change, administrators that ask again."""

from __future__ import annotations

import pytest

from kraftcheck.checking.run import check
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import names
from kraftcheck.systems.kraft.build import build
from tests.systems.kraft.small import changed, shown_again

FINDINGS = {
    "finding-refusal-of-old-leader": (names.REFUSAL_IS_UP_TO_DATE, 17),
    "finding-removed-candidate": (names.NO_FATAL, 19),
    "finding-second-leader-of-epoch": (names.SINGLE_LEADER, 24),
    "finding-removed-voter-keeps-leader": (names.CHECK_QUORUM_NEEDS_MAJORITY, 5),
    "finding-parked-fetch-counts-again": (names.CHECK_QUORUM_NEEDS_MAJORITY, 7),
}


@pytest.mark.parametrize(("name", "found"), FINDINGS.items())
def test_findings_are_found_and_can_be_shown_again(name: str, found: tuple[str, int]) -> None:
    assert shown_again(name) == found


def test_a_property_that_a_finding_violates_can_be_left_out() -> None:
    check_ = {"without": [names.CHECK_QUORUM_NEEDS_MAJORITY]}
    assert check(changed("finding-removed-voter-keeps-leader", check=check_)).as_expected
    with pytest.raises(InputError, match="'Nothing' is no property"):
        build(changed("finding-removed-voter-keeps-leader", check={"without": ["Nothing"]}))


@pytest.mark.slow
def test_no_second_leader_where_a_stored_leader_ends_a_candidacy() -> None:
    """The rule that is missing: with it, the same behaviours are safe."""
    protocol = {"set": {"candidate-restart": "without-leader"}}
    assert check(changed("finding-second-leader-of-epoch", protocol=protocol), threads=2).as_expected
