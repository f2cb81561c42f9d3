"""Mutants of brokers that one property alone kills: without it the scenario holds, its goals included."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.checking.mutation import catalogue, patch
from kraftcheck.checking.mutation.server import Job, Server
from kraftcheck.support.forks import End
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


def violated(scenario: str, name: str) -> Iterator[list[str]]:
    """What is violated, and what without ``name``: a job, which imports the reference when it is called."""
    from kraftcheck.checking import run
    from kraftcheck.checking.mutation import worker
    from kraftcheck.systems.scenario import find

    chosen = find(scenario)
    for without in (None, name):
        asked = chosen.check
        told: dict[str, Any] = {
            "eventually": tuple(each for each in asked.eventually if each.property != without)
        }
        if without is not None and told["eventually"] == asked.eventually:
            told["without"] = (*asked.without, without)
        changed = chosen.model_copy(update={"check": asked.model_copy(update=told)})
        yield [found.property for found in worker.violated(run.check(changed))]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patched, Server() as found:
        patched.setenv("PYTHONPATH", str(ROOT))
        yield found


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "name"), MUTANTS.items())
def test_nothing_else_finds_it(mutant: str, name: str, server: Server) -> None:
    known = catalogue.shipped()[mutant]
    arguments = {"scenario": known.scenario, "name": name}
    ended = server.run(Job(f"{__name__}:violated", arguments, 300.0, mutant, patch.mutated_sources(known)))
    assert ended.end is End.DONE, ended.why
    found, without = ended.found
    # A violation ends the exploration, and goals beyond it are not reached.
    goals = {each for each in found if each.startswith("Goal") or is_transition(each)}
    assert set(found) - goals == {name}
    assert without == []
