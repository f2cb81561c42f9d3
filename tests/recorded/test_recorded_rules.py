"""The rules that recorded runs are said to exercise are those that they exercise."""

from __future__ import annotations

import pytest

from kraftcheck.checking.coverage import rule_evidence as evidence
from tests.recorded.recorded_runs import compared, recorded_runs

RUNS = {run.name: run for run in recorded_runs()}


@pytest.mark.skipif(not RUNS, reason="the rules are counted in recorded runs, and there are none")
def test_the_rules_in_recorded_runs_are_up_to_date() -> None:
    kept = evidence.in_recorded_runs()
    if not set(kept.runs) <= set(RUNS):
        pytest.skip("of the runs in which the rules were counted some are not there")
    found = {rule for name in kept.runs for rule, steps in compared(RUNS[name]).rules.items() if steps}
    assert found == set(kept.rules), (
        "count again; the command is in model_check/checking/coverage/rules_in_recorded_runs.json"
    )
