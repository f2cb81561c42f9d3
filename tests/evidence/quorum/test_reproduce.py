"""Behaviours that a quorum of adapters takes: with the reference's adapter all are confirmed, and with a
defect planted in an adapter they are not.
"""

from __future__ import annotations

from functools import cache

import pytest

from kraftcheck.checking.findings import known_findings
from kraftcheck.evidence.quorum.chosen import (
    NOT_RELEASED,
    Source,
    behaviours,
    explored,
    obstacle,
    shown_by,
    sources,
)
from kraftcheck.evidence.quorum.replay import UNAWARE, behaviour, play, reproduce
from kraftcheck.site.counterexamples import of_scenario
from kraftcheck.systems import scenario
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.scenario import shipped
from kraftcheck.traces import Trace
from tests.evidence.adapters.faulty_adapter import BROKEN_RULE, FaultyAdapter
from tests.evidence.adapters.test_what_is_given import Giving
from tests.evidence.quorum.counterexamples import LARGE, QUICK, TAKEN, is_recognised, looks_as_it_should
from tests.evidence.quorum.walks import quorum_of, random_walk

#: How the reasons begin why a behaviour cannot be taken for what the drive protocol has no place for.
WITHOUT_STEP = (
    "the clock is set back",
    "one replica id is in the voter set twice",
    "no events are known that lead replica 1 into its initial state",
)


@cache
def traces(name: str) -> list[Trace]:
    return [each.trace for each in behaviours(Source(name, scenario.find(name)))]


@pytest.mark.parametrize("name", QUICK)
def test_a_finding_is_confirmed(name: str) -> None:
    for trace in traces(name):
        result = reproduce(trace, quorum_of())
        assert (result.verdict, result.taken, result.note) == ("confirmed", len(trace.steps), "")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in LARGE if name in TAKEN])
def test_the_kept_counterexample_of_a_large_scenario_is_recognised_and_confirmed(name: str) -> None:
    explored_anew: list[str] = []
    for kept in of_scenario(scenario.find(name), explored_anew.append):
        assert looks_as_it_should(kept.trace)
        result = reproduce(kept.trace, quorum_of())
        assert (result.verdict, result.taken) == ("confirmed", len(kept.trace.steps)), result
        assert result.note in ("", UNAWARE)
    assert not explored_anew


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name in LARGE else ()) for name in TAKEN]
)
def test_every_counterexample_of_shipped_scenarios_is_recognised_and_confirmed(name: str) -> None:
    found = explored(scenario.find(name))
    assert found.as_expected and is_recognised(found)
    for _, _, trace in shown_by(found):
        result = reproduce(trace, quorum_of())
        if result.stopped is not None and result.stopped.reason.startswith(WITHOUT_STEP):
            pytest.skip(f"{name} NOT REPRODUCED: {result.stopped.reason}")
        assert (result.verdict, result.taken) == ("confirmed", len(trace.steps)), result
        assert result.note in ("", UNAWARE)


def test_all_are_the_findings_about_replicas_of_kafka() -> None:
    chosen, left_out = sources(["all"])
    names = {source.word for source in chosen}
    of_kafka = {name for each in known_findings() if "kafka" in each.variants for name in each.scenarios}
    assert names == of_kafka - left_out.keys() and len(names) >= 18
    assert {*left_out.values()} == {NOT_RELEASED} and not of_kafka & left_out.keys()


@pytest.mark.parametrize(
    ("fault", "finding", "step"),
    [
        ("no-error-for-a-fenced-epoch", "finding-wiped-leader", 3),
        ("answers-before-it-is-durable", "finding-wiped-leader", 0),
        ("never-flushes", "finding-single-voter-power-loss", 1),
        ("commits-with-a-minority", "finding-leader-removal-timed-out", 0),
    ],
)
def test_a_planted_defect_is_the_first_difference(fault: str, finding: str, step: int) -> None:
    (trace, *_) = traces(finding)
    result = reproduce(trace, quorum_of(lambda: FaultyAdapter(fault)))
    assert result.verdict == "differs" and result.stopped is not None
    assert (result.stopped.step, result.taken) == (step, max(0, step - 1))
    question = result.stopped.question
    assert result.stopped.differences and question is not None and question.outcome is not None
    if fault != "never-flushes":
        assert BROKEN_RULE[fault] in question.outcome.rules


def test_one_defective_replica_of_the_quorum_is_enough() -> None:
    (trace, *_) = traces("finding-wiped-leader")
    adapter = lambda: FaultyAdapter("no-error-for-a-fenced-epoch")  # noqa: E731
    assert reproduce(trace, quorum_of(adapter, but=1)).stopped.replica == 2  # type: ignore[union-attr]
    assert reproduce(trace, quorum_of(adapter, but=0)).verdict == "confirmed"


def test_switches_that_only_go_past_another_finding_are_left_out() -> None:
    (trace, *_) = traces("finding-restart-before-write-back")
    _, chosen, taken = behaviour(trace)
    assert trace.scenario.protocol.set and not chosen.protocol.set  # type: ignore[attr-defined]
    assert len(taken) == len(trace.steps)


@pytest.mark.parametrize("name", ["votes-heeded-while-fetching", "pre-vote-without-check-quorum"])
def test_switches_that_a_behaviour_depends_on_stay(name: str) -> None:
    """Of the other's steps each is possible with them, too, but the leader would step down in time."""
    (trace, *_) = traces(name)
    assert behaviour(trace)[1] == trace.scenario


# Random behaviours.

#: Scenarios with many kinds of steps: requests of the admin client, snapshots, time-outs, shutdowns, disks
#: that are lost, fetches in purgatory, clocks, and older software.
SOME = (
    "append-is-answered",
    "observer-loads-snapshot",
    "parked-fetches-are-woken",
    "hand-over-at-shutdown",
    "mutants-replaced-disk",
    "mutants-static-voters",
    "mutants-silent-observer",
    "mixed-versions-elect-one-old",
    "mutants-catch-up",
)


def stopped_at(name: str, seed: int, length: int) -> str:
    """The reason why a random behaviour of a scenario could not be taken to its end, if it could not."""
    chosen = shipped()[name]
    system = build(chosen)
    walk = random_walk(system, f"{name} {seed}", length)
    result = play(system, chosen, walk.taken, quorum_of())
    assert result.verdict != "differs", (name, seed, result)
    assert result.note in ("", UNAWARE)
    return "" if result.stopped is None else result.stopped.reason


@pytest.mark.parametrize("name", SOME)
def test_random_behaviours_are_confirmed(name: str) -> None:
    assert stopped_at(name, 1, 12) == ""


@pytest.mark.one_in(8)
@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 5), marks=pytest.mark.nightly)])
@pytest.mark.parametrize("name", sorted(shipped()))
def test_random_behaviours_of_every_scenario_are_confirmed(name: str, seeds: range) -> None:
    """But for the states and steps that have no place in the drive protocol, each with its reason."""
    reason = obstacle(shipped()[name])
    if reason is not None:
        pytest.skip(f"{name} NOT REPRODUCED: {reason}")
    reasons = {stopped_at(name, seed, 30) for seed in seeds}
    assert not {each for each in reasons if each and not each.startswith(WITHOUT_STEP)}


def test_what_the_state_machine_is_given_is_judged_where_the_adapter_shows_it() -> None:
    trace = traces("finding-leader-removal-timed-out")[0]
    assert reproduce(trace, quorum_of(Giving)).verdict == "confirmed"
    found = reproduce(trace, quorum_of(lambda: Giving("uncommitted"))).stopped
    assert found is not None and found.differences[0].field == "giveRecords: last"
