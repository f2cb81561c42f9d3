"""``kraftcheck plan``: the known procedures are found, and the known traps refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kraftcheck.cli.main import main
from kraftcheck.engine.system import Limits
from kraftcheck.evidence.disks.disk import read_disk
from kraftcheck.evidence.disks.quorum import Quorum
from kraftcheck.evidence.planning import judging
from kraftcheck.evidence.planning.judging import Judge, Judged
from kraftcheck.evidence.planning.observed import of_disks
from kraftcheck.evidence.planning.report import commands
from kraftcheck.evidence.planning.search import Plan, plan
from kraftcheck.evidence.planning.situation import Member, Operation, Situation, parse_goal, parse_situation
from kraftcheck.support.errors import InputError
from kraftcheck.support.outputs import schema
from kraftcheck.systems.kraft.scenario import KRaftScenario
from tests.laboratory.disks.written import BEGIN, DATA, Batch, Disk, VoterSet, write_disk

STATUS = """\
LeaderId:               1
LeaderEpoch:            5
HighWatermark:          40
CurrentVoters:          [{"id": 1, "directoryId": null}, {"id": 2, "directoryId": null}]
CurrentObservers:       []
"""


class Order(Judge):
    """Judges the order of operations alone: elections meanwhile take longer, and change none."""

    def risks(self, before: Situation, operation: Operation) -> tuple[Judged, ...]:
        return ()


def found(situation: str, goal: str, faults: tuple[str, ...] = ("crash",)) -> Plan:
    judge = Order("kafka", faults, 1)
    return plan(parse_situation(situation), parse_goal(f"voters={goal}"), judge, lambda text: None)


def steps(found: Plan) -> list[str]:
    assert found.steps is not None
    return [f"{each.operation.verb} {each.operation.member.id}" for each in found.steps]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("situation", "goal", "expected"),
    [
        # KIP-853, node failure recovery: the new node first, if the disks last that long.
        ("voters=1,2,3 observers=4 leader=1 lost=3", "1,2,4", ["add 4", "remove 3"]),
        ("voters=1,2,3 observers=4 leader=1", "1,2,4", ["add 4", "remove 3"]),
        # KIP-853, disk failure recovery: an id is once in a voter set.
        ("voters=1,2,3 leader=1 lost=3", "1,2,3", ["format 3", "remove 3", "add 3"]),
        ("voters=1 leader=1", "1,2,3", ["format 2", "format 3", "add 2", "add 3"]),
        ("voters=1,2,3 leader=1", "1", ["remove 2", "remove 3"]),
        ("voters=1,2,3 leader=1", "2,3", ["remove 1"]),
        ("voters=1,2,3 down=2,3", "1,2,3", ["start 2", "start 3"]),
        ("voters=1,2,3 leader=1", "1,2,3", []),
    ],
)
def test_known_procedures(situation: str, goal: str, expected: list[str]) -> None:
    assert steps(found(situation, goal)) == expected


@pytest.mark.slow
def test_a_voter_that_runs_is_not_removed_before_another_is_added() -> None:
    result = found("voters=1,2,3 observers=4 leader=1", "1,2,4")
    assert result.tolerates and [each.fragile for each in result.steps or ()] == [(), ()]
    (refused,) = result.refused
    assert (refused.after, refused.operation.verb, refused.operation.member) == (0, "remove", Member(3))
    assert refused.why == "if 1 or 2 is lost afterwards, no leader can be elected"


@pytest.mark.slow
def test_other_ids_take_away_no_crash_between_two_requests() -> None:
    """Requests go out by id, so that with other ids a crash would fall after others were sent."""
    judge = Judge("kafka", ("crash",), 1)
    judged = judge.step(parse_situation("voters=1,2,3 leader=1"), Operation("remove", Member(3)))
    assert not judged.refusal and judged.complete
    assert judge._known
    for scenario in (each.scenario for each in judge._known.values()):
        assert isinstance(scenario, KRaftScenario)
        assert scenario.budgets.crashes == 1 and scenario.environment.sends == "any-order"


@pytest.mark.slow
def test_all_three_voters_are_replaced_and_steps_that_differ_in_ids_are_explored_once() -> None:
    judge = Order("kafka", ("crash",), 1)
    start = parse_situation("voters=1,2,3 observers=4,5,6 leader=1")
    result = plan(start, parse_goal("voters=4,5,6"), judge, lambda text: None)
    expected = ["add 4", "add 5", "add 6", "remove 1", "remove 2", "remove 3"]
    assert sorted(steps(result)) == expected and steps(result)[:2] == expected[:2]
    # The leader of five leaves when four are left: that step can be explored whole.
    assert result.tolerates and all(each.complete for each in result.steps or ())
    assert len(judge._known) < 18


@pytest.mark.slow
def test_other_ids_have_the_same_plan() -> None:
    result = found("voters=2,7,9 observers=5 leader=7", "2,5,7")
    assert steps(result) == ["add 5", "remove 9"]
    assert {each.why for each in result.refused} == {"if 2 or 7 is lost afterwards, no leader can be elected"}


@pytest.mark.slow
def test_the_leader_of_two_does_not_remove_itself() -> None:
    result = found("voters=1,2 leader=1", "2")
    assert steps(result) == ["restart 1", "remove 1"]
    assert "leader-of-two-removes-itself" in result.refused[0].why and result.refused[0].scenario is not None
    # It takes a restart, which is no fault that an operator can exclude.
    assert steps(found("voters=1,2 leader=1", "2", ())) == ["restart 1", "remove 1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("situation", "goal", "expected"),
    [
        # After the first removal 3 may lead as well as 2, and must not remove itself.
        ("voters=1,2,3 leader=1", "2", ["remove 1", "restart 3", "remove 3"]),
        # Nothing says who leads.
        ("voters=1,2", "1", ["restart 2", "remove 2"]),
        # One of two does not lead, and nothing says who will.
        ("voters=1,2 down=2 leader=1", "1", ["start 2", "restart 2", "remove 2"]),
    ],
)
def test_who_leads_is_not_guessed(situation: str, goal: str, expected: list[str]) -> None:
    assert steps(found(situation, goal)) == expected


@pytest.mark.slow
def test_the_leader_of_a_bare_majority_does_not_remove_itself() -> None:
    """Four voters of which one is lost: without the vote of the removed leader there are two of three."""
    judge = Judge("kafka", ("crash",), 2)
    judged = judge.step(parse_situation("voters=1,2,3,4 leader=1 lost=4"), Operation("remove", Member(1)))
    assert judged.refusal.startswith("LeaderEventuallyElected can be violated")


@pytest.mark.slow
def test_large_ids_are_those_of_the_plan_and_not_of_scenarios() -> None:
    judge = Order("kafka", ("crash",), 1)
    result = plan(
        parse_situation("voters=9991,9992 leader=9991"), frozenset({9992}), judge, lambda text: None
    )
    assert steps(result) == ["restart 9991", "remove 9991"]
    (first, second) = result.steps or ()
    assert first.fragile == (9991, 9992) and second.fragile == (9992,)
    assert result.refused[0].scenario is not None
    assert result.refused[0].scenario.name == "leader-leaves"


def test_before_a_removal_from_two_the_leader_is_looked_up() -> None:
    two, three = parse_situation("voters=1,2 leader=1"), parse_situation("voters=1,2,3 leader=1")
    looked = [
        any("--status" in each for each in commands(Operation("remove", Member(2)), x)) for x in (two, three)
    ]
    assert looked == [True, False]


@pytest.mark.slow
def test_what_is_not_seen_to_work_within_the_limits_is_no_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judging, "_LIMITS", Limits(max_states=20))
    assert main(["plan", "voters=1,2,3 leader=1", "--goal", "voters=1,2"]) == 3
    assert "no plan" in capsys.readouterr().out


@pytest.mark.slow
def test_a_step_that_was_not_explored_whole_leaves_the_plan_open(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(judging, "_LIMITS", Limits(max_states=1_000))
    assert main(["plan", "voters=1,2,3 leader=1", "--goal", "voters=1,2"]) == 3
    assert "undetermined: step 1 not explored whole" in capsys.readouterr().out


@pytest.mark.slow
def test_a_single_voter_that_may_lose_power_is_refused() -> None:
    result = found("voters=1,2 leader=1", "1", ("crash", "power-loss"))
    assert result.steps is None
    assert "single-voter-power-loss" in result.refused[0].why


def test_without_a_majority_nothing_changes_the_voters() -> None:
    result = found("voters=1,2,3 lost=2,3", "1,2,3")
    assert result.steps is None and not result.has_leader
    assert {each.why for each in result.refused} == {
        "no leader can be elected, and without one voters do not change"
    }


def test_the_command_shows_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "voters=1,2,3 down=3", "--goal", "voters=1,2,3"]) == 0
    text = capsys.readouterr().out
    assert "1.      start 3" in text and "kafka-server-start.sh -daemon 3.properties" in text
    assert "the loss of any one voter" not in text


@pytest.mark.slow
def test_a_refusal_is_a_scenario_that_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["plan", "voters=1,2 leader=1", "--goal", "voters=1", "--faults", "crash,power-loss"]
    assert main([*words, "-o", str(tmp_path)]) == 1
    files = [str(each) for each in tmp_path.iterdir()]
    out = capsys.readouterr().out
    assert files and all(f"{each}: written" in out for each in files)
    assert main(["check", *files]) == 0


def test_a_reported_quorum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "status").write_text(STATUS)
    words = ["plan", "--status", str(tmp_path / "status"), "--down", "2", "--goal", "voters=1,2", "--json"]
    assert main(words) == 0
    data = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema("plan")).validate(data)
    assert [(each["operation"], each["node"]) for each in data["steps"]] == [("start", 2)]
    assert data["found"] and not data["has_leader"]


def test_disks_of_a_quorum(tmp_path: Path) -> None:
    disks = [Disk(1), Disk(2), Disk(3, directories=1, log=(), snapshots={}, state=None)]
    quorum = Quorum(tuple(read_disk(write_disk(tmp_path, each)) for each in disks))
    found = of_disks(quorum, frozenset({2}), frozenset())
    assert found.voters == {Member(1), Member(2), Member(3)}
    assert found.running == {Member(1), Member(3, 2)} and found.down == {Member(2)}


ADDED = (BEGIN, DATA, Batch(1, (VoterSet((1, 2, 3, 4)),)))


@pytest.mark.parametrize(
    ("disks", "down", "says"),
    [
        # Of a set of four the record needs three; the next leader may take it back.
        ((Disk(1, log=ADDED), Disk(2, log=(BEGIN, DATA)), Disk(3)), (), "may not be committed"),
        ((Disk(1), Disk(2, cluster="B" * 22)), (), "the disks are of several clusters"),
        ((Disk(1), Disk(2), Disk(3, state=(-1, -1, -1))), (), "repair that first, or name it with --lost"),
        ((Disk(1), Disk(2), Disk(3)), (7,), "7 is neither a voter nor an observer"),
    ],
)
def test_disks_that_give_no_situation_are_refused(
    disks: tuple[Disk, ...], down: tuple[int, ...], says: str, tmp_path: Path
) -> None:
    quorum = Quorum(tuple(read_disk(write_disk(tmp_path, each)) for each in disks))
    with pytest.raises(InputError, match=says):
        of_disks(quorum, frozenset(down), frozenset())


def test_two_disks_of_one_node_are_refused(tmp_path: Path) -> None:
    copies = [read_disk(write_disk(tmp_path / name, Disk(1))) for name in ("a", "b")]
    with pytest.raises(InputError, match="is a second disk of node 1"):
        of_disks(Quorum(tuple(copies)), frozenset(), frozenset())


def test_a_voter_set_of_a_majority_is_taken(tmp_path: Path) -> None:
    disks = [Disk(id, log=ADDED) for id in (1, 2, 4)]
    quorum = Quorum(tuple(read_disk(write_disk(tmp_path, each)) for each in disks))
    found = of_disks(quorum, frozenset(), frozenset())
    assert found.voters == {Member(1), Member(2), Member(3), Member(4)}


@pytest.mark.slow
def test_what_an_election_during_a_step_can_do_is_its_risk(capsys: pytest.CaptureFixture[str]) -> None:
    """A leader that is deposed during the removal truncates what it had read, and skips the voter set."""
    words = ["plan", "voters=1,2,3 leader=1", "--goal", "voters=1,2"]
    assert main(words) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "if another leader is elected during this step: VotersOfTheLog can be violated" in text
    assert "skipped-voter-set" in text and "a plan of 1 step, explored whole; 1 with a risk" in text
    assert "and a process crashes" not in text and "in part" not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("situation", "operation"),
    [
        ("voters=1,2,3,4 leader=1", Operation("remove", Member(4))),
        ("voters=1,2,3 observers=4 leader=1", Operation("add", Member(4))),
    ],
)
def test_random_walks_find_the_risk_among_four_voters(
    situation: str, operation: Operation, tmp_path: Path
) -> None:
    """They are too many for a search, which must be said."""
    (risk,) = Judge("kafka", (), 1).risks(parse_situation(situation), operation)
    assert risk.violated == ("VotersOfTheLog",) and not risk.complete
    assert risk.scenario is not None and "'simulate' shows it" in risk.scenario.about


@pytest.mark.slow
def test_an_election_together_with_a_crash_is_explored(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judge("kafka", ("crash",), 1)
    explored: list[KRaftScenario] = []
    whole = judging.check

    def noted(scenario: KRaftScenario, **more: Any) -> Any:
        explored.append(scenario)
        return whole(scenario, **more)

    monkeypatch.setattr(judging, "check", noted)
    alone, crash = judge.risks(parse_situation("voters=1,2,3 leader=1"), Operation("remove", Member(3)))
    assert [each.budgets.crashes for each in explored] == [0, 1]
    assert alone.violated == ("VotersOfTheLog",) and alone.violated[0] in explored[1].check.without
    assert not crash.refusal and crash.complete


@pytest.mark.slow
def test_where_no_majority_without_the_leader_lacks_the_change_nothing_is_left_open() -> None:
    (risk,) = Judge("kafka", (), 1).risks(
        parse_situation("voters=1,2 observers=3 leader=1"), Operation("add", Member(3))
    )
    assert not risk.refusal and risk.complete


def test_no_crash_no_election_with_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Judge, "_election", lambda *_: Judged())
    operation, start = Operation("remove", Member(3)), parse_situation("voters=1,2,3 leader=1")
    assert [len(Judge("kafka", faults, 1).risks(start, operation)) for faults in ((), ("crash",))] == [1, 2]


@pytest.mark.parametrize(
    ("situation", "says"),
    [
        ("", "it needs 1 to 5 voters"),
        ("voters=1 lead=1", "found 'lead=1'"),
        ("voters=1,x", "voters: expected ids such as 1,2,4"),
        ("voters=1,4000000000", "4000000000 is no id of a node"),
        ("voters=1,2 down=3", "3 is neither a voter nor an observer"),
        ("voters=1,2 leader=1 down=1", "leader is one voter that runs"),
    ],
)
def test_bad_situations_are_refused(situation: str, says: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_situation(situation)
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("plan voters=1 --goal 1,2", "--goal: expected voters"),
        ("plan --goal voters=1", "give the situation in words"),
        ("plan voters=1 --goal voters=1 --protocol kafka-9", "--protocol"),
        ("plan voters=1 --down 1 --goal voters=1", "say it in the situation"),
    ],
)
def test_bad_arguments_are_refused(line: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.split()) == 2
    assert says in capsys.readouterr().err
