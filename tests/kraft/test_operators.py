"""What operators do to the voter set, and what happens to a cluster meanwhile."""

from __future__ import annotations

from model_check.run import check
from tests.kraft.small import changed


def test_a_crash_amid_a_change_of_the_voters_is_judged_by_what_is_on_the_disk() -> None:
    """The leader appends that it is the only voter and crashes before the step ends: it elects itself."""
    scenario = changed(
        "leader-removes-itself",
        replicas={"voters": [1, 2], "dynamic": True, "led-by": 1},
        admin={"steps": ["remove 2"]},
        environment={"timers": [], "write-back": True, "power-loss": False, "crashes-at": [1]},
        budgets={"admin": 1, "crashes": 1},
        check={"goals": ["GoalVoterRemoved", "Resigned->Prospective"]},
    )
    assert check(scenario).as_expected
