"""States up to renaming of interchangeable voters, against all states; and where that is refused."""

from __future__ import annotations

import re
import typing
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.checking.run import check
from kraftcheck.engine import symmetry as engine_symmetry
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.system import GlobalState, Limits
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Fatal
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.voters import Endpoint, ReplicaKey
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import rebuilding
from kraftcheck.systems.kraft import symmetry as kraft_symmetry
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.labels import Label
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.symmetry import _said, symmetric
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import Scenario, find
from kraftcheck.traces import build as build_trace
from kraftcheck.traces.replay import replay
from tests.engine.replayed import asked_once
from tests.systems.kraft.small import changed

SCENARIOS = Path(__file__).parents[3] / "docs" / "scenarios.md"


def up_to_renaming(scenario: Scenario) -> KRaftSystem:
    """The system of ``scenario``, in which interchangeable voters are."""
    system, _ = symmetric(build(scenario), scenario)
    return system


ELECT: dict[str, Any] = {"network__capacity": 2, "budgets__timers": 2, "check__goals": []}
CRASH: dict[str, Any] = {"network__capacity": 2, "budgets__timers": 1, "check__goals": []}
REPLICATE: dict[str, Any] = {
    "replicas__initial": {
        "1": "leader epoch=1",
        "2": "follower epoch=1 leader=1",
        "3": "follower epoch=1 leader=1",
    },
    "environment__timers": ["begin-quorum-epoch"],
    "network__capacity": 2,
    "check__goals": [],
}
SMALL = {
    "elections": changed("three-voters-elect", **ELECT),
    "crashes": changed("three-voters-crash", **CRASH),
    "crashes-lost-requests": changed("three-voters-crash", **CRASH, network__forgotten="lost"),
    "two-voters": changed("three-voters-crash", **CRASH, replicas__voters=[1, 2]),
    "ids-not-in-a-row": changed("three-voters-crash", **CRASH, replicas__voters=[7, 3, 12]),
    "an-observer": changed("three-voters-crash", **CRASH, replicas__observers=[4]),
    "one-apart": changed("three-voters-crash", **CRASH, environment__timers_at={"2": ["fetch"]}),
    "a-cut-link": changed("three-voters-crash", **CRASH, network__cut=["1-3"]),
    "no-pre-vote": changed("three-voters-crash", **CRASH, network__no_pre_vote=[3]),
    "directories": changed("three-voters-crash", **CRASH, replicas__dynamic=True),
    "wiped-disks": changed(
        "three-voters-crash", **{**CRASH, "budgets__crashes": 0, "budgets__wipes": 1}, replicas__dynamic=True
    ),
    "moved-voters": changed(
        "three-voters-crash",
        **{**CRASH, "budgets__crashes": 0, "budgets__moves": 1},
        network__addresses="known",
    ),
    "a-voter-without-endpoints": changed(
        "three-voters-crash", **CRASH, network__addresses="known", network__without_endpoints=[3]
    ),
    "appends-and-snapshots": changed(
        "three-voters-replicate",
        **REPLICATE,
        budgets={"appends": 1, "snapshots": 1, "timers": 0},
        environment__delayed_fetches=False,
    ),
    "parked-fetches": changed(
        "three-voters-replicate", **REPLICATE, budgets={"appends": 1, "timeouts": 1, "timers": 1}
    ),
    "violated": find("finding-parked-fetch-counts-again"),
}


#: These take a second or more.
LARGER = ("crashes-lost-requests", "ids-not-in-a-row", "an-observer", "directories", "parked-fetches")


@pytest.mark.one_in(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in LARGER else []) for name in SMALL]
)
def test_every_answer_is_the_same_for_all_images(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is left to sampling; and both searches come to the same, with exactly as many states."""
    monkeypatch.setattr(engine_symmetry, "ALWAYS", 10**9)
    whole = explore(build(SMALL[name]), limits=Limits(max_states=100_000))
    reduced = explore(up_to_renaming(SMALL[name]), limits=Limits(max_states=100_000))
    assert whole.limit is None
    assert reduced.states == whole.distinct > reduced.distinct
    assert (reduced.verdict, reduced.depth) == (whole.verdict, whole.depth)
    assert reduced.reached_goals == whole.reached_goals
    violated = {(each.property, each.depth) for each in whole.violations}
    assert {(each.property, each.depth) for each in reduced.violations} == violated


@pytest.mark.parametrize("name", ["two-voters", pytest.param("crashes", marks=pytest.mark.slow)])
def test_one_state_of_each_orbit_as_the_oracle_finds_them(name: str) -> None:
    system = up_to_renaming(SMALL[name])
    symmetry = engine_symmetry.Symmetry(system)
    _, states = explore_naively(asked_once(build(SMALL[name])))

    def shape(state: GlobalState) -> Any:
        return state.locals, tuple(sorted(state.messages, key=repr)), state.history, state.budgets

    permutations = range(len(symmetry.permutations))
    orbits: list[set[Any]] = []
    seen: set[Any] = set()
    for state in states:
        if shape(state) not in seen:
            orbits.append({shape(symmetry.image(number, state)) for number in permutations})
            seen |= orbits[-1]
    assert seen == {shape(state) for state in states}
    assert sum(map(len, orbits)) == len(seen), "orbits overlap"
    assert explore(system).distinct == len(orbits)


@pytest.mark.slow
def test_the_symmetry_of_three_voters_is_close_to_six() -> None:
    result = check(find("three-voters-crash-symmetry"), threads=2)
    assert result.as_expected, result.differences
    assert result.interchangeable == (1, 2, 3)
    assert result.exploration.states > 5.5 * result.exploration.distinct


@pytest.mark.slow
def test_counterexamples_are_told_in_the_ids_of_the_scenario() -> None:
    scenario = changed("finding-parked-fetch-counts-again", reduction={"symmetry": True})
    result = check(scenario)
    assert result.interchangeable == (2, 3)
    (violation,) = result.exploration.violations
    trace = build_trace(result.system, result.scenario, violation)
    assert replay(trace) is None


@pytest.mark.slow
def test_refused_when_the_reference_decides_by_id() -> None:
    """The search finds a difference that no key shows: the removed leader lists its successors."""
    scenario = changed(
        "leader-removes-itself", reduction={"symmetry": True}, environment__sends="any-order", check__goals=[]
    )
    with pytest.raises(InputError, match="the replicas are not interchangeable: replica 1 resigns"):
        check(scenario)


def test_what_is_refused_would_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kraft_symmetry, "_ordered_by_id", lambda scenario: iter(()))
    scenario = changed("three-voters-crash-symmetry", **CRASH, environment__sends="listed")
    with pytest.raises(InputError, match=r"the replicas are not interchangeable: .* differ"):
        check(scenario)


@pytest.mark.slow
def test_any_order_reaches_more_than_the_listed_one() -> None:
    keys = {**CRASH, "budgets__timers": 2}
    listed = explore(build(changed("three-voters-crash", **keys, environment__sends="listed")))
    in_any = explore(build(changed("three-voters-crash", **keys)))
    assert in_any.distinct > listed.distinct
    assert in_any.verdict is listed.verdict


def test_keys_that_name_replicas_are_compared() -> None:
    """As docs/scenarios.md tells which they are; the states that are given show in how replicas begin."""
    rows = re.findall(r"^\| `([^`]+)` \| (.*?) \|", SCENARIOS.read_text(encoding="utf-8"), re.MULTILINE)
    of_replicas = [(key, kind) for key, kind in rows if not key.startswith("brokers.")]
    naming = {key for key, kind in of_replicas if re.search(r"\bids?\b|\bID\b|replica|links", kind)}
    assert naming == {*_said(find("three-voters-elect"), {}), "replicas.initial"}


def test_it_is_known_of_all_that_occurs_whether_it_names_a_replica() -> None:
    for kind in (Node, InFlight, History, *typing.get_args(Label)):
        assert rebuilding.RENAMING.of_class(kind) is not None


def test_a_text_that_does_not_name_its_replica_is_refused() -> None:
    with pytest.raises(TypeError, match="does not say which replica"):
        rebuilding.renamed(Endpoint("CONTROLLER", "localhost", 9093), {})


def test_replicas_are_renamed_in_the_reasons_why_processes_exit() -> None:
    died = Fatal(FatalReason.CONFLICTING_LEADER, replica=7, epoch=7, known_leader=8, known_epoch=7)
    found = rebuilding.renamed(Node(None, Disk(), died), {7: 8, 8: 7}).died
    assert found == replace(died, replica=8, known_leader=7)


def test_directories_and_hosts_go_with_their_replicas() -> None:
    ids = {1: 12, 12: 1}
    assert rebuilding.renamed(ReplicaKey(1, "d1-2"), ids) == ReplicaKey(12, "d12-2")
    assert rebuilding.renamed(ReplicaKey(12, "d12"), ids) == ReplicaKey(1, "d1")
    assert rebuilding.renamed(ReplicaKey(-1, None), ids) == ReplicaKey(-1, None)
    assert rebuilding.renamed(Endpoint("C", "new-node-1", 1), ids) == Endpoint("C", "new-node-12", 1)
