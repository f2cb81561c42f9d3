"""What operators do to the voter set, and what happens to a cluster meanwhile."""

from __future__ import annotations

from kraftcheck.checking.run import check
from tests.systems.kraft.small import changed


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


def test_electable_because_votes_are_not_confined_to_voters() -> None:
    """The mutation of L-9: with a check of membership the new voter's vote is missing, and nobody leads."""
    scenario = changed(
        "grow-and-restart",
        protocol={"set": {"voter-membership": "on", "candidate-restart": "without-leader"}},
        budgets={"admin": 1, "crashes": 1},
    )
    violated = {judged.name for judged in check(scenario).judged if not judged.holds}
    assert "ElectableAfterUnseenVoterChange" in violated
