"""Every explored transition of the reference is one of the proved system, and every conjunct holds there."""

import dataclasses
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from kraftcheck.checking.mutation.server import Server
from kraftcheck.cli.main import main
from kraftcheck.engine.system import PathStep, Signal
from kraftcheck.proof.refinement import command
from kraftcheck.proof.refinement.expected import ALL, EXPECTED
from kraftcheck.proof.refinement.run import Refinement, Work, check_refinement
from kraftcheck.proof.refinement.transitions import OUTSIDE, on_all_paths, pass_over
from kraftcheck.proof.refinement.violations import again, lines_of_broken, lines_of_lack, lines_of_state
from kraftcheck.proof.refinement.worker import refute
from kraftcheck.proof.system import CHANGING_VOTERS
from kraftcheck.reference import fetch
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, Voters
from kraftcheck.reference.replica import Follower
from kraftcheck.reference.work import Work as ReferenceWork
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import find

#: Every transition of these is one of the proof's system, and every conjunct holds in every state.
CLEAN = ("parity-crash", "parity-before-kip-996", "parity-leader-removes-itself", "two-voters-restart")
#: With so many transitions that they, and their mutants, are judged at night.
LONG = frozenset(
    ("mutants-old-epoch", "mutants-timed-out-change", "mutants-two-candidates", "three-voters-diverge")
)


@cache
def judged(name: str) -> Refinement:
    """The result for a scenario that refines the proved system."""
    found = check_refinement(find(name)).refinement
    assert found.holds, name
    return found


def at_night(*values: str, scenario: str) -> object:
    """Parameters of a test, which is run at night if its scenario is a long one."""
    return pytest.param(*values, marks=pytest.mark.nightly if scenario in LONG else ())


@pytest.mark.slow
def test_nothing_is_outside_the_proof_and_each_action_is_taken_somewhere() -> None:
    found = {name: judged(name) for name in EXPECTED.small}
    for name, each in ((name, found[name]) for name in CLEAN):
        assert each.states == find(name).expect.states, name
        assert each.passed.outside == {} and each.broken == () and each.behind == 0, name
        assert each.transitions > 10_000 and each.acting > each.transitions // 2, name
    taken = {action for each in found.values() for action in each.actions}
    assert taken == {action.name for action in CHANGING_VOTERS.actions}


@pytest.mark.nightly
def test_ten_million_transitions_are_of_the_proof() -> None:
    found = [judged(name) for name in EXPECTED.large]
    assert all(each.passed.outside == {} and each.broken == () for each in found)
    assert sum(each.system == CHANGING_VOTERS.name for each in found) >= 3
    assert sum(each.transitions for each in found) > 10_000_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "outside", "broken"),
    [
        ("finding-restart-before-write-back", {"unflushed-log-shown"}, {"ToldIsKept"}),
        ("finding-single-voter-power-loss", {"unflushed-log-counted", "unflushed-log-shown"}, {"ToldIsKept"}),
        ("finding-removal-before-flush", {"unflushed-log-counted"}, {"ToldIsKept"}),
        ("parity-observer", {"broker-log-shown"}, {"ToldIsKept"}),
        (
            "finding-second-leader-of-epoch",
            {"candidate-under-leader", "unflushed-log-counted"},
            {"SingleLeaderPerEpoch"},
        ),
    ],
)
def test_differences_are_named_and_what_fails_is_behind_them(
    name: str, outside: set[str], broken: set[str]
) -> None:
    found = judged(name)
    assert set(found.passed.outside) == outside
    assert {each.conjunct.name for each in found.broken} >= broken
    assert all(each.states == 0 and each.after_difference for each in found.broken)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "fixed-restart-before-write-back",
        "fixed-removal-before-flush",
        pytest.param("shrink-to-former-candidate", marks=pytest.mark.nightly),
    ],
)
def test_with_the_fix_of_a_difference_nothing_is_outside_the_proof(name: str) -> None:
    found = judged(name)
    assert found.passed.outside == {} and found.broken == ()
    assert found.states == find(name).expect.states


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parity-divergence", "mutants-committed", "diverged-tail"])
def test_states_that_are_given_have_a_past_in_which_every_conjunct_holds(name: str) -> None:
    found = judged(name)
    assert found.passed.outside == {} and found.broken == ()
    assert found.actions.get("truncate", 0) > 0 or name == "mutants-committed"
    assert found.states == (find(name).expect.states or found.states)


@pytest.mark.slow
def test_a_given_state_that_no_past_explains_is_no_refinement() -> None:
    """Two replicas that say that different ones lead their epoch."""
    scenario = find("diverged-tail")
    initial = {"1": "leader epoch=2 log=1@1,1@2 start=1", "2": "follower epoch=2 leader=2 log=1@1 voted=1"}
    initial["2"] = "candidate epoch=2 log=1@1"
    replicas = scenario.replicas.model_copy(update={"voters": (1, 2, 3), "initial": initial})
    found = check_refinement(
        scenario.model_copy(update={"name": "impossible", "replicas": replicas})
    ).refinement
    assert not found.holds
    assert "LeadersHaveMajorities" in {each.conjunct.name for each in found.broken if each.state == 0}


@pytest.mark.slow
def test_a_difference_on_the_way_to_the_initial_state_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A single voter counts its log before it is flushed, here before the first state that is explored."""
    found = judged("grow-and-restart")
    assert found.beginning.outside == {"unflushed-log-counted": 1} and found.behind == found.states
    monkeypatch.setattr("kraftcheck.proof.refinement.run.allowed", lambda _: frozenset())
    explored = dataclasses.replace(found, passed=dataclasses.replace(found.passed, outside={}))
    assert explored.unexpected == {"unflushed-log-counted"} and not explored.holds


@pytest.mark.slow
def test_followers_take_over_the_voter_sets_of_their_leader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else is elected in this scenario: the followers' voter sets decide nothing."""
    append = fetch._append

    def without_voter_changes(work: ReferenceWork, batches: tuple[Batch, ...]) -> None:
        same = Voters(voters=work.replica.voters)
        append(
            work,
            tuple(
                replace(
                    batch, records=tuple(same if isinstance(each, Voters) else each for each in batch.records)
                )
                for batch in batches
            ),
        )

    monkeypatch.setattr(fetch, "_append", without_voter_changes)
    work = check_refinement(find("parity-remove-voters"))
    assert not work.refinement.holds
    (what, *_) = dict(lines_of_lack(work, work.refinement.passed.lacks[0]))["what fails"]
    assert what.startswith("take-records: brings no voter set, as with the leader; there is: record 4@1")


@pytest.mark.slow
def test_a_step_that_changes_another_replica_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def has_not_fetched(_: KRaftSystem, __: Signal, ___: int, local: Node) -> Node:
        replica = local.replica
        if replica is None or not isinstance(replica.role, Follower):
            return local
        role = replace(replica.role, has_fetched=False)
        return replace(local, replica=replace(replica, role=role))

    monkeypatch.setattr(KRaftSystem, "signal_local", has_not_fetched)
    found = check_refinement(find("two-voters-restart")).refinement
    assert found.disturbed > 0 and not found.holds


@pytest.mark.slow
def test_a_request_that_changes_on_its_way_is_outside_the_proof(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The draft of KIP-996: a replica without pre-votes takes the request for one for a vote."""
    name = "peer-without-pre-vote-by-flag"
    work = check_refinement(find(name))
    assert not work.refinement.holds
    assert work.refinement.passed.lacking == work.refinement.on_all_ways.lacking > 0
    told = dict(lines_of_lack(work, work.refinement.passed.lacks[0]))
    assert told["what fails"] == [
        "grant-vote: the request was sent; is missing: sent: vote request of 2 in epoch 1, log to the start@0"
    ]
    assert "VOTE-15" in told["step"][1]
    broken = next(each for each in work.refinement.broken if each.conjunct.name == "VotesAreForCandidates")
    there = dict(lines_of_broken(work, broken))["there"]
    assert any(line.startswith("sent: 3 votes in epoch 1 for") for line in there)
    monkeypatch.setattr(command, "check_refinement", lambda *_, **__: work)
    assert main(["prove", "--refinement", name]) == 1
    out = capsys.readouterr().out
    assert "DOES NOT REFINE" in out and "VotesAreForCandidates fails in" in out
    assert told["what fails"][0] in " ".join(out.split())
    assert f"kraftcheck trace show {name} --path" in out


@pytest.fixture(scope="module")
def small() -> Work:
    return check_refinement(find("parity-leader-removes-itself"))


@pytest.mark.slow
def test_a_guard_that_is_not_met_is_noticed(small: Work) -> None:
    """Without the facts of one kind, the transitions that need them are outside the proof."""
    always, ever = on_all_paths(small.explored, small.judged, small.refinement.beginning.facts)
    for symbol in ("votes", "stands", "claimed", "record", "committed", "counted", "set_of"):
        lost = small.judged.facts.row(fact for fact in small.judged.facts.numbers if fact[0] == symbol)
        assert pass_over(small.explored, small.judged, always & ~lost, ever).lacking > 0, symbol
    everything = np.full_like(ever, np.uint64(0xFFFFFFFFFFFFFFFF))
    assert pass_over(small.explored, small.judged, always, everything).lacking > 0


@pytest.mark.slow
def test_the_replica_must_be_as_the_actions_leave_it(small: Work) -> None:
    component, before = small.explored.tables.locals[0]
    step = small.translator.steps_of(PathStep("act", component, None, 0), before)[0]
    assert not small.translator.sequence(component, before, None, step).problems
    left = step.outcome.local
    for name, disk in {
        "unflushed": replace(left.disk, flushed=0),
        "epoch": replace(left.disk, quorum_state=replace(left.disk.quorum_state, epoch=7)),
    }.items():
        other = Node(None, disk) if name == "epoch" else replace(left, disk=disk)
        changed = replace(step, outcome=replace(step.outcome, local=other))
        problems = small.translator.sequence(component, before, None, changed).problems
        assert any(each.startswith(f"the actions leave {name}") for each in problems)


@pytest.mark.slow
def test_facts_on_every_path_are_facts_on_the_shortest(small: Work) -> None:
    always, ever = on_all_paths(small.explored, small.judged, small.refinement.beginning.facts)
    assert not np.any(always & ~small.pasts) and not np.any(small.pasts & ~ever)
    assert np.any(always != ever)
    assert OUTSIDE not in small.refinement.beginning.facts


@pytest.mark.slow
def test_a_state_is_shown_with_its_past(small: Work) -> None:
    last = small.explored.states - 1
    lines = lines_of_state(small, last)
    assert [line.split(":")[0] for line in lines[:2]] == ["replica 1", "replica 2"]
    assert any("committed to" in line for line in lines)
    assert again(small, 0).endswith("--path none")
    assert len(again(small, last).split()[-1].split(",")) == len(small.explored.path_to(last))


@pytest.mark.parametrize("name", ["snapshot-beside-log", "disk-loss-dynamic"])
def test_scenarios_of_what_the_proof_does_not_know_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"{name}.toml"):
        check_refinement(find(name))


def test_larger_scenarios_than_fit_are_refused() -> None:
    with pytest.raises(InputError, match="more than 100 states"):
        check_refinement(find("parity-crash"), max_states=100)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as found:
        yield found


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant", [at_night(mutant, scenario=EXPECTED.killed[mutant]) for mutant in sorted(EXPECTED.killed)]
)
def test_a_mutant_of_the_reference_is_killed(mutant: str, server: Server) -> None:
    found = refute(server, mutant, EXPECTED.killed[mutant])
    assert found["killed"] and found["why"]


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("mutant", "scenario"), [item for each in EXPECTED.surviving for item in each.tried.items()]
)
def test_a_mutant_that_changes_nothing_proved_survives(mutant: str, scenario: str, server: Server) -> None:
    assert not refute(server, mutant, scenario)["killed"]


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(each, marks=pytest.mark.nightly if each in LONG | {"three-voters-crash"} else ())
        for each in sorted(set(EXPECTED.killed.values()) - set(EXPECTED.small))
    ],
)
def test_without_a_mutant_the_reference_refines_the_proved_system(scenario: str) -> None:
    judged(scenario)


def test_no_scenario_is_named_twice() -> None:
    assert len(set(ALL)) == len(ALL) >= 8
