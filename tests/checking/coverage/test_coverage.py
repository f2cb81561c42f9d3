"""What explorations exercise: against steps taken one by one, and where scenarios ask for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from kraftcheck.checking.coverage.covering import Covering
from kraftcheck.checking.coverage.report import together
from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.engine.checkpoint import Checkpoint
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.steps import Cached, broken_invariants, initial_states, steps
from kraftcheck.engine.system import Limits, Outcome, System
from kraftcheck.reference.brokers.effects import Reply
from kraftcheck.reference.brokers.errors import BrokerErrorCode
from kraftcheck.reference.brokers.events import RequestReceived
from kraftcheck.reference.brokers.messages import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrChangeResponse,
    IsrMember,
    PartitionProposal,
    Process,
)
from kraftcheck.reference.brokers.messages import Response as BrokerResponse
from kraftcheck.reference.brokers.partition import Partition
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED
from kraftcheck.reference.brokers.starting import running_cluster
from kraftcheck.reference.brokers.step import step as broker_step
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.support.errors import InputError
from kraftcheck.systems.brokers import coverage
from kraftcheck.systems.brokers.step import Action, Execution, Step
from kraftcheck.systems.coverage import ACTION, ERROR, RULE, TARGET_KINDS, TRANSITION, VOTE, Item, parse
from kraftcheck.systems.guards import Watch, guards_of_brokers, guards_of_replicas
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.coverage import covered, to_cover
from kraftcheck.systems.kraft.kind import REPLICAS
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import find
from kraftcheck.traces.build import details
from tests.systems.kraft.small import changed

SMALL = ("scenario-a",)
LARGER = (
    "finding-single-voter-power-loss",
    "scenario-a-granting-by-log",
    "ping-pong",
    "single-voter",
    "zombie-leader",
)


def naively(system: KRaftSystem) -> set[Item]:
    """What the steps within the bounds cover, taken one by one."""
    found: set[Item] = set()
    known: set[tuple[Any, ...]] = set()
    cached: Any = Cached(system)
    waiting = initial_states(system)
    seen = set(waiting)
    while waiting:
        state = waiting.pop()
        if broken_invariants(system, state):
            continue
        for step in steps(cached, state):
            if step.cut is None:
                path = step.path
                asked = path.component, state.locals[path.component], path.message, path.choice, path.kind
                detail = None if asked in known else details(system, state, path)
                known.add(asked)
                found |= set() if detail is None else set(covered(detail))
                if not step.violations and step.target not in seen:
                    seen.add(step.target)
                    waiting.append(step.target)
    return found


@pytest.mark.parametrize("name", [*SMALL, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGER)])
def test_what_is_covered_is_what_steps_cover(name: str) -> None:
    system = build(find(name))
    covering = Covering(system)
    result = explore(cast(System, covering), keep_going=True, threads=2)
    found, noted = covering.split(result)
    assert noted.items == naively(system) and noted.complete and noted.guards is None
    # Steps whose order makes no difference are taken in one of them.
    if not result.violations:
        reduced = explore(cast(System, again := Covering(system)), partial_order=True)
        assert again.split(reduced)[1].items == noted.items
    plain = explore(system, keep_going=True)
    for field in ("verdict", "distinct", "generated", "levels", "reached_goals", "violations", "constrained"):
        assert getattr(found, field) == getattr(plain, field)


@pytest.mark.slow
def test_coverage_survives_an_interruption(tmp_path: Path) -> None:
    scenario = find("ping-pong")
    whole = check(scenario, coverage=True)
    for depth in (3, 9, None):
        checkpoint = Checkpoint(tmp_path, "test", every=0.0)
        found = check(scenario, coverage=True, limits=Limits(max_depth=depth), checkpoint=checkpoint)
        checkpoint.close()
    assert found.covered == whole.covered and whole.covered is not None and whole.covered.items


@pytest.mark.slow
def test_steps_that_are_never_taken_cover_nothing() -> None:
    """Without the budget for it a crash is offered to nobody, and beyond the bounds nothing is covered."""
    result = check(changed("single-voter", budgets__crashes=0, replicas__stopped=[1]), coverage=True)
    assert result.covered is not None
    assert (ACTION, "crash") not in result.covered.items
    assert (TRANSITION, "Start->Leader") not in result.covered.items


@pytest.mark.slow
def test_guards_are_decisions_of_the_reference() -> None:
    from kraftcheck import reference

    folder = Path(str(reference.__file__)).parent
    for place, guard in guards_of_replicas().items():
        file, _, line = place.partition(":")
        text = (folder / file).read_text(encoding="utf-8").splitlines()[int(line) - 1].strip()
        assert text.startswith(("if ", "elif ", "return ")) or guard.then == 0
        assert guard.text and guard.first <= guard.last
    assert len({guard.function for guard in guards_of_replicas().values()}) > 50


@pytest.mark.slow
def test_guards_go_the_ways_that_happen() -> None:
    granting = check(find("scenario-a-granting-by-log"), coverage=True)
    assert granting.covered is not None and granting.covered.guards is not None
    assert {place for place, _ in granting.covered.guards} <= guards_of_replicas().keys()
    decides = [place for place, guard in guards_of_replicas().items() if guard.function == "would_grant_vote"]
    by_log = next(place for place in decides if guards_of_replicas()[place].text.startswith("is_up_to_date"))
    assert (by_log, True) in granting.covered.guards and (by_log, False) not in granting.covered.guards


@pytest.mark.slow
def test_only_what_replicas_do_is_watched() -> None:
    """Properties ask the reference as well; that is nobody's step."""
    from kraftcheck.reference.events import Poll
    from kraftcheck.reference.step import step

    system = build(find("scenario-a"))
    replica = next(node.replica for node in system.nodes if node.replica is not None)
    watch = Watch(REPLICAS.guards(), REPLICAS.asking)
    with watch.watching() as seen:
        step(KAFKA, replica, Poll(()))
    assert not seen


@pytest.mark.slow
def test_guards_of_brokers_go_the_ways_that_happen() -> None:
    """Links are cut and heal here; nothing else goes wrong, and nobody has clocks."""
    result = check(find("brokers-cut-off-fences"), coverage=True)
    assert result.covered is not None and result.covered.guards
    assert {place for place, _ in result.covered.guards} <= guards_of_brokers().keys()
    answers = together([result]).answers()
    assert answers is not None and sum(map(len, answers.values())) == len(guards_of_brokers())
    by_text = {(guard.function, guard.text): how for how, found in answers.items() for guard in found}
    assert by_text["reached_controller", "work.broker.fenced"] == "both"
    assert by_text["reached_controller", "timeout is not None and ticks >= timeout"] == "false"
    assert by_text["_is_current", "request.incarnation >= known"] == "true"


@pytest.mark.slow
def test_generators_within_a_condition_are_not_its_answer() -> None:
    """Their frames run the same line: broker 1 is eligible, and broker 3 is not."""
    members = (IsrMember(1, 1), IsrMember(3, 9))
    led_by_1 = Partition("t", 0, (1, 2, 3), (1,), leader=1)
    controller, _ = running_cluster(SHIPPED, (1, 2), (led_by_1,))
    request = AlterPartitionRequest(1, 1, (PartitionProposal("t", 0, 0, 0, members),))

    def ask() -> None:
        broker_step(SHIPPED, controller, RequestReceived(1, Process(1, 1), request))

    watch = Watch(guards_of_brokers(), (ask,))
    with watch.watching() as seen:
        ask()
    asked = [(guards_of_brokers()[place], went) for place, went in seen]
    assert [went for guard, went in asked if guard.text.startswith("not all(lives.is_eligible(")] == [True]


@pytest.mark.slow
def test_what_brokers_of_the_draft_can_cover() -> None:
    """No step names what is wrong with time-outs; error codes have the names of the draft's messages."""
    draft, shipped = (coverage.to_cover([protocol]) for protocol in (KIP343, SHIPPED))
    assert "FENCE-3" in draft[RULE] and "FENCE-4" not in draft[RULE]
    assert set(draft[ERROR]) == {
        "INVALID_INCARNATION_ID", "INVALID_REQUEST", "NOT_CONTROLLER", "NOT_LEADER_FOR_PARTITION",
    }  # fmt: skip
    assert {"STALE_BROKER_EPOCH", "INCONSISTENT_CLUSTER_ID"} <= set(shipped[ERROR])
    assert {*draft[ERROR], *shipped[ERROR]} == set(coverage.to_cover([])[ERROR])


@pytest.mark.parametrize(
    ("response", "name"),
    [
        (IsrChangeResponse(BrokerErrorCode.INVALID_INCARNATION_ID), "INVALID_INCARNATION_ID"),
        (
            IsrChangeResponse(results=(BrokerErrorCode.NOT_LEADER_FOR_PARTITION,)),
            "NOT_LEADER_FOR_PARTITION",
        ),
        (AlterPartitionResponse(BrokerErrorCode.STALE_BROKER_EPOCH), "STALE_BROKER_EPOCH"),
    ],
)
def test_errors_have_the_names_that_the_message_gives_them(response: BrokerResponse, name: str) -> None:
    reply = Reply(1, Process(1, 1), response)
    step = Step(Outcome(Action("request", "controller"), (), ()), Execution((), (reply,), ()))
    assert [code for kind, code in coverage.covered(step) if kind == ERROR] == [name]


@pytest.mark.slow
def test_guards_of_both_kinds_of_systems_count_together() -> None:
    results = [check(find(name), coverage=True) for name in ("scenario-a", "brokers-cut-off-fences")]
    report = together(results)
    assert set(report.guards) == {*guards_of_replicas(), *guards_of_brokers()}
    assert report.covered.guards is not None
    assert report.covered.guards == {
        seen for each in results if each.covered is not None for seen in each.covered.guards or ()
    }


@pytest.mark.slow
def test_interchangeable_replicas_are_covered_without_guards() -> None:
    result = check(
        changed("three-voters-elect", reduction={"symmetry": True}, bounds__max_epoch=1, budgets__timers=1),
        coverage=True,
    )
    assert result.interchangeable and result.covered is not None
    assert result.covered.guards is None and result.covered.items
    other = check(changed("three-voters-elect", bounds__max_epoch=1, budgets__timers=1), coverage=True)
    assert other.covered is not None and other.covered.items == result.covered.items


@pytest.mark.slow
def test_a_scenario_may_ask_for_what_must_be_covered() -> None:
    expect = {
        "verdict": "holds",
        "covers": ["rule VOTE-10", "action timer election", "transition Leader->Resigned"],
    }
    result = check(changed("single-voter", expect=expect))
    assert result.differences == tuple(
        f"{name} was expected to be covered, and is not"
        for name in expect["covers"]
        if _missing(result, name)
    )
    assert "transition Leader->Resigned was expected to be covered, and is not" in result.differences
    assert not result.as_expected


def _missing(result: Any, name: str) -> bool:
    return parse(name, to_cover()) not in result.covered.items


@pytest.mark.parametrize("text", ("rule NONSENSE-1", "VOTE-10", "guard vote.py:1", "error NONE", "action"))
def test_what_does_not_exist_cannot_be_asked_for(text: str) -> None:
    with pytest.raises(InputError, match=r"expect\.covers: there is nothing called"):
        check(changed("scenario-a", expect={"verdict": "holds", "covers": [text]}))


def test_names_can_be_asked_for() -> None:
    for kind in (*TARGET_KINDS, VOTE):
        for name in to_cover()[kind]:
            assert parse(f"{kind} {name}", to_cover()) == (kind, name)


@pytest.mark.slow
def test_what_is_covered_is_among_what_there_is() -> None:
    """Nothing is covered that the lists of what there is do not have."""
    known = to_cover(frozenset({KAFKA}))
    for name in ("single-voter", "observer"):
        result = check(find(name), coverage=True)
        assert result.covered is not None
        assert all(each in known[kind] for kind, each in result.covered.items), [
            item for item in result.covered.items if item[1] not in known[item[0]]
        ]


@pytest.mark.slow
def test_votes_by_the_rules_that_decided_them() -> None:
    votes = together([check(find("ping-pong"), coverage=True)]).votes()
    assert {rule for rules in votes.values() for rule in rules} <= {*to_cover()[RULE]}
    assert not {*votes["both"]} & {*votes["granted"], *votes["refused"]}
    assert "VOTE-10" in votes["granted"] and "VOTE-8" in votes["refused"]


@pytest.mark.slow
def test_the_report(capsys: Any) -> None:
    assert main(["check", "scenario-a", "disruptive-server", "--coverage"]) == 0
    text = capsys.readouterr().out
    assert "Coverage of 2 scenarios" in text and "never asked" in text
    assert main(["check", "scenario-a", "--coverage", "--json"]) == 0
    *_, last = capsys.readouterr().out.splitlines()
    data = json.loads(last)["coverage"]
    report = together([check(find("scenario-a"), coverage=True)])
    assert data["rules"]["exercised"] == report.exercised(RULE)
    assert set(data["rules"]["never"]).isdisjoint(data["rules"]["exercised"])
    answers = data["guards"]
    assert sum(map(len, answers.values())) == len(guards_of_replicas())
