"""Shipped scenarios as they are and with keys changed: what they violate, and how many states they have."""

from __future__ import annotations

import pytest

from kraftcheck.checking.run import check
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.build import build
from tests.systems.kraft.small import changed, explored, shown_again

FINDINGS = {
    "finding-removed-voter-acknowledges": ("NoFatal", 4),
    "finding-wiped-leader": ("NoFatal", 4),
    "finding-resigned-leader-unknown": ("NoFatal", 15),
    "finding-refusal-of-old-leader": ("RefusalIsUpToDate", 17),
    "finding-removed-candidate": ("NoFatal", 19),
    "finding-second-leader-of-epoch": ("SingleLeaderPerEpoch", 24),
    "finding-removed-voter-keeps-leader": ("CheckQuorumNeedsMajority", 5),
    "finding-parked-fetch-counts-again": ("CheckQuorumNeedsMajority", 7),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "found"), FINDINGS.items())
def test_findings_are_found_and_can_be_shown_again(name: str, found: tuple[str, int]) -> None:
    assert shown_again(name) == found


def test_a_property_that_a_finding_violates_can_be_left_out() -> None:
    check_ = {"without": ["CheckQuorumNeedsMajority"]}
    assert check(changed("finding-removed-voter-keeps-leader", check=check_)).as_expected
    with pytest.raises(InputError, match="'Nothing' is no property"):
        build(changed("finding-removed-voter-keeps-leader", check={"without": ["Nothing"]}))


@pytest.mark.slow
def test_no_second_leader_where_a_stored_leader_ends_a_candidacy() -> None:
    """The rule that is missing: with it, the same behaviours are safe."""
    protocol = {"set": {"candidate-restart": "without-leader"}}
    assert check(changed("finding-second-leader-of-epoch", protocol=protocol), threads=2).as_expected


#: Distinct states: a change of any of these numbers must be explained.
COUNTS = {
    "mutants-leader-removal": 314,
    "mutants-moved-voter": 2_974,
    "mutants-new-disk-joins": 132,
    "mutants-older-process": 1_286,
    "mutants-replaced-disk": 920,
    "mutants-snapshot-in-parts": 167,
    "mutants-upgrade-and-back": 162,
    "mutants-wiped-observer": 467,
    "mutants-wiped-static-voter": 446,
    "mutants-wiped-voter": 68,
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "states"), COUNTS.items())
def test_exact_number_of_states(name: str, states: int) -> None:
    assert explored(name).distinct == states


def test_an_older_process_cannot_become_a_voter() -> None:
    one = changed("mutants-older-process", admin__steps=["add 3"])
    result = check(one, threads=1)
    assert result.exploration.missing_goals == ("GoalVoterAdded",)


@pytest.mark.slow
def test_a_snapshot_above_the_high_watermark_is_refused() -> None:
    """Asking anywhere keeps no snapshot that ends with a record that is not committed."""
    one = changed("mutants-any-snapshot", admin__steps=[], budgets__admin=0, check__goals=[])
    anywhere = check(one, threads=1).exploration
    committed = changed("mutants-any-snapshot", environment__snapshots="committed", check__goals=[])
    assert not anywhere.violations and not check(committed, threads=1).exploration.violations


def test_a_version_does_not_go_back() -> None:
    one = changed("mutants-upgrade-and-back", admin__steps=["downgrade kraft.version"])
    assert check(one, threads=1).exploration.missing_goals == ("GoalKRaftVersionUpgraded",)


def test_a_crash_amid_a_change_of_the_voters_is_judged_by_what_is_on_the_disk() -> None:
    """The leader appends that it is the only voter and crashes before the step ends: it elects itself."""
    scenario = changed(
        "leader-removes-itself",
        replicas={"voters": [1, 2], "dynamic": True, "initial-leader": 1},
        admin={"steps": ["remove 2"]},
        environment={"timers": [], "write-back": True, "power-loss": False, "crashes-at": [1]},
        budgets={"admin": 1, "crashes": 1},
        check={"goals": ["GoalVoterRemoved", "Resigned->Prospective"]},
    )
    assert check(scenario).as_expected


@pytest.mark.slow
def test_electable_because_votes_are_not_confined_to_voters() -> None:
    """The mutation of L-9: with a check of membership the new voter's vote is missing, and nobody leads."""
    scenario = changed(
        "grow-and-restart",
        protocol={"set": {"voter-membership": "on", "candidate-restart": "without-leader"}},
        budgets={"admin": 1, "crashes": 1},
    )
    violated = {judged.name for judged in check(scenario).judged if not judged.holds}
    assert "ElectableAfterUnseenVoterChange" in violated


_FINDING = "finding-removed-voter-acknowledges"


@pytest.mark.parametrize(
    ("ignored", "violated"),
    [([], ["NoFatal"]), (["removed-voter-acknowledges"], []), (["resigned-leader-unknown"], ["NoFatal"])],
)
def test_an_ignored_fatal_is_not_judged_and_any_other_is(ignored: list[str], violated: list[str]) -> None:
    found = check(changed(_FINDING, check={"ignore-fatal": ignored})).exploration.violations
    assert [each.property for each in found] == violated
