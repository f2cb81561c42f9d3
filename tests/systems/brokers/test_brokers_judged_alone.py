"""Mutants of brokers that one property alone kills: without it the scenario holds, its goals included."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kraftcheck.systems.brokers.coverage import is_transition

ROOT = Path(__file__).parents[3]

#: By mutant the property that finds it, safety and eventually.
MUTANTS = {
    "new-controller-hears-no-silence": "BrokerLivenessEventuallyKnown",
    "waits-for-an-answer-unfenced": "PartitionedBrokerEventuallyFenced",
    "serves-under-the-first-controller-alone": "LiveBrokerEventuallyServes",
    "controlled-shutdown-waits-for-nobody": "ShutdownHandsLeadersOver",
    "any-member-of-the-isr-is-elected": "LeavingBrokerIsNotChosen",
    "stops-with-any-answer": "StopsOnlyWhenLetGo",
    "ends-with-accepted-requests": "AcceptedRequestsAreCompleted",
    "broker-epoch-beside-the-log": "NewestRegistrationCounts",
    "sessions-survive-a-failover": "SessionsSayWhatWasHeard",
    "given-up-heartbeat-counts-on": "ContactCountsByItsRequest",
}

_PROGRAM = """
import json, sys
from kraftcheck.checking.mutation import catalogue, worker

mutant, name = catalogue.shipped()[sys.argv[1]], sys.argv[2]
worker.become(mutant)
from kraftcheck.checking.run import check
from kraftcheck.systems.scenario import find

def violated(without):
    scenario = find(mutant.scenario)
    asked = scenario.check
    told = {"eventually": tuple(each for each in asked.eventually if each.property != without)}
    if without is not None and told["eventually"] == asked.eventually:
        told["without"] = (*asked.without, without)
    scenario = scenario.model_copy(update={"check": asked.model_copy(update=told)})
    return [found.property for found in worker.violated(check(scenario))]

print(json.dumps([violated(None), violated(name)]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "name"), MUTANTS.items())
def test_nothing_else_finds_it(mutant: str, name: str) -> None:
    command = [sys.executable, "-c", _PROGRAM, mutant, name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    found, without = json.loads(done.stdout)
    # A violation ends the exploration, and goals beyond it are not reached.
    goals = {each for each in found if each.startswith("Goal") or is_transition(each)}
    assert set(found) - goals == {name}
    assert without == []
