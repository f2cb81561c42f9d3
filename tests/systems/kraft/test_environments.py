"""What scenarios say of older processes, moved voters, downgrades and snapshots at any offset."""

from __future__ import annotations

import pytest

from kraftcheck.checking.run import check
from kraftcheck.systems import scenario
from kraftcheck.systems.scenario import shipped
from tests.systems.kraft.small import explored

#: Distinct states: a change of any of these numbers must be explained.
COUNTS = {
    "mutants-leader-removal": 314,
    "mutants-moved-voter": 3_127,
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


def _changed(name: str, **keys: object) -> scenario.Scenario:
    data = shipped()[name].model_dump(by_alias=True)
    for table, changes in keys.items():
        data[table] = {**data[table], **changes}  # type: ignore[dict-item]
    return scenario.from_data(data, name)


def test_an_older_process_cannot_become_a_voter() -> None:
    one = _changed("mutants-older-process", admin={"steps": ["add 3"]})
    result = check(one, threads=1)
    assert result.exploration.missing_goals == ("GoalVoterAdded",)


def test_a_snapshot_above_the_high_watermark_is_refused() -> None:
    """Asking anywhere keeps no snapshot that ends with a record that is not committed."""
    one = _changed("mutants-any-snapshot", admin={"steps": []}, budgets={"admin": 0}, check={"goals": []})
    anywhere = check(one, threads=1).exploration
    committed = _changed("mutants-any-snapshot", environment={"snapshots": "committed"}, check={"goals": []})
    assert not anywhere.violations and not check(committed, threads=1).exploration.violations


def test_a_version_does_not_go_back() -> None:
    one = _changed("mutants-upgrade-and-back", admin={"steps": ["downgrade kraft.version"]})
    assert check(one, threads=1).exploration.missing_goals == ("GoalKRaftVersionUpgraded",)
