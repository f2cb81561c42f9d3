"""``kraftcheck check --from``: what controllers can do that start on disks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.engine.system import Limits
from kraftcheck.evidence.disks.disk import LOG_FOLDER, QUORUM_STATE, read_disk
from kraftcheck.evidence.disks.quorum import Quorum
from kraftcheck.evidence.restart.questions import (
    Answer,
    answer,
    assumptions,
    beginning_of,
    questions,
    with_verdict,
)
from kraftcheck.support.errors import InputError
from kraftcheck.support.outputs import schema
from tests.laboratory.disks.written import BEGIN, DATA, Batch, Disk, Leader, Version, VoterSet, write_disk

THREE = (Disk(1, state=(1, 1, 1)), Disk(2, state=(1, 1, 1)), Disk(3))
SHORT = (BEGIN, DATA)
ADDED = Batch(1, (VoterSet((1, 2, 3, 4)),))


def written(folder: Path, *disks: Disk) -> Quorum:
    return Quorum(tuple(read_disk(write_disk(folder, each)) for each in disks))


def static(id: int, batches: int) -> Disk:
    """A disk of kraft.version 0 with so many batches."""
    log = (Batch(1, (Leader(1),)), DATA, DATA)[:batches]
    return Disk(id, log=log, state=(1, 1, -1), snapshots={}, configured=(1, 2, 3))


def answers(quorum: Quorum, *wanted: str) -> dict[str, Answer]:
    """The answers by the names of their scenarios."""
    beginning = beginning_of(quorum, "kafka")
    asked = {each.scenario.name: each for each in questions(beginning)}
    limits = Limits(max_states=300_000)
    return {name: answer(asked[name], beginning, limits, 1, lambda text: None) for name in wanted}


def test_logs_are_shortened_to_what_matters(tmp_path: Path) -> None:
    later = Batch(4, (Leader(2),))
    quorum = written(
        tmp_path,
        Disk(1, log=(BEGIN, *[DATA] * 9), state=(1, 1, 1)),
        Disk(2, log=(BEGIN, *[DATA] * 7, later, Batch(4), Batch(4)), state=(4, 2, 2)),
        Disk(3, log=(BEGIN, *[DATA] * 7, later, Batch(4)), state=(4, 2, -1)),
    )
    beginning = beginning_of(quorum, "kafka")
    scenario = next(questions(beginning)).scenario
    first = "log=[3]@1,1@1{} leaders=1:1{} versions=1:1 sets=[2:1/d1,2/d2,3/d3]"
    assert scenario.replicas.disks == {
        "1": "epoch=1 leader=1 voted=1/d1 " + first.format("", "").replace("1@1 ", "3@1 ", 1),
        "2": "epoch=3 leader=2 voted=2/d2 " + first.format(",3@3", ",3:2") + " committed=6",
        "3": "epoch=3 leader=2 " + first.format(",2@3", ",3:2"),
    }
    assert dict(beginning.shortened.offsets) == {0: 0, 3: 3, 10: 4, 11: 5, 12: 6, 13: 7}
    assert scenario.bounds.max_epoch == 4


@pytest.mark.slow
def test_any_one_of_three_may_stay_down(tmp_path: Path) -> None:
    found = answers(written(tmp_path, *THREE), "without-1", "without-2", "without-3")
    assert all(each.elects and each.commits and each.complete for each in found.values())
    assert not any(each.is_bad or each.loses for each in found.values())


@pytest.mark.slow
def test_a_leader_that_restarts_needs_another_epoch(tmp_path: Path) -> None:
    """Without node 2 only node 1 can be elected, which led the last epoch and leaves it first."""
    found = answers(written(tmp_path, THREE[0], THREE[1], replace(THREE[2], log=SHORT)), "without-2")
    assert found["without-2"].elects and found["without-2"].commits


@pytest.mark.slow
def test_two_voters_need_each_other_and_a_single_one_its_disk(tmp_path: Path) -> None:
    two = (Disk(1, state=(1, 1, 1), log=(*SHORT, Batch(1, (VoterSet((1, 2)),)), DATA)),)
    found = answers(written(tmp_path, *two, replace(two[0], id=2, state=(1, 1, 1))), "without-2", "lost-2")
    assert found["without-2"].elects is False and found["without-2"].complete
    assert not found["lost-2"].elects and not found["lost-2"].loses


@pytest.mark.slow
def test_an_empty_disk_of_a_static_voter_can_lose_what_is_committed(tmp_path: Path) -> None:
    quorum = written(tmp_path, static(1, 3), static(2, 3), static(3, 2))
    found = answers(quorum, "lost-2", "lost-3")
    assert found["lost-2"].loses and "LeaderCompleteness" in dict(found["lost-2"].violated)
    assert not found["lost-3"].loses


@pytest.mark.slow
def test_a_loss_behind_another_violation_is_found(tmp_path: Path) -> None:
    """Node 3 has missed the upgrade to kraft.version 1: it counts the vote of an empty disk by its id.

    That alone violates a property, and its leadership and what it lacks lie behind this violation.
    """
    before = (Batch(1, (Leader(1),)), DATA, DATA)
    log = (*before, Batch(1, (Version(), VoterSet((1, 2, 3)))), Batch(2, (Leader(2),)), Batch(2))
    quorum = written(
        tmp_path,
        *(Disk(id, log=log, state=(2, 2, 2), snapshots={}) for id in (1, 2)),
        Disk(3, log=before, snapshots={}, configured=(1, 2, 3)),
    )
    found = answers(quorum, "lost-1")["lost-1"]
    assert {"WipedReplicaIsAnother", "LeaderCompleteness"} <= dict(found.violated).keys()
    assert found.loses and found.is_bad
    shown = with_verdict(found)
    assert "LeaderCompleteness" in shown.expect.violates and check(shown).as_expected


@pytest.mark.slow
def test_the_election_behind_an_exit_is_found(tmp_path: Path) -> None:
    """The exit of the process on the empty disk ends nothing for the other two."""
    found = answers(written(tmp_path, *THREE), "lost-1")["lost-1"]
    assert "NoFatal" in dict(found.violated) and found.looks_like
    assert found.complete and found.elects and found.commits and not found.is_bad
    assert "NoFatal" in with_verdict(found).expect.violates


def test_the_only_copy_is_lost_with_its_disk(tmp_path: Path) -> None:
    single = Disk(1, log=(Batch(1, (Leader(1), VoterSet((1,)))), DATA), state=(1, 1, 1), snapshots={})
    found = answers(written(tmp_path, single), "all-nodes", "lost-1")
    assert found["all-nodes"].elects and not found["all-nodes"].loses
    assert found["lost-1"].loses and found["lost-1"].question.only_copy


def test_a_voter_whose_disk_is_not_given_stays_down_and_may_have_the_tail(tmp_path: Path) -> None:
    quorum = written(tmp_path, THREE[0], replace(THREE[1], log=SHORT))
    beginning = beginning_of(quorum, "kafka")
    assert [text for text, _ in assumptions(beginning)] == [
        "",
        "the records of node 1 up to offset 4 are committed",
    ]
    assert all(3 in each.scenario.replicas.stopped for each in questions(beginning))


def test_a_vote_that_a_lost_file_had_is_explored_both_ways(tmp_path: Path) -> None:
    quorum = written(tmp_path, replace(THREE[0], state=(2, -1, 1)), replace(THREE[1], state=None), THREE[2])
    beginning = beginning_of(quorum, "kafka")
    assert "node 2 has voted for 1 in epoch 2" in [text for text, _ in assumptions(beginning)]
    texts = [each.scenario.replicas.disks["2"] for each in questions(beginning) if each.kind == "all"]
    assert [("lost-vote=2:1/d1" in text) for text in texts] == [False, True]


@pytest.mark.parametrize("log", [(), SHORT])
def test_a_voter_that_granted_a_vote_has_given_it_whatever_its_log_has(
    log: tuple[Batch, ...], tmp_path: Path
) -> None:
    led = (*SHORT, Batch(2, (Leader(3, granting=(1,)),)))
    quorum = written(
        tmp_path, Disk(1, log=log, state=None), Disk(2, log=SHORT), Disk(3, log=led, state=(2, 3, 3))
    )
    (vote,) = assumptions(beginning_of(quorum, "kafka"))[0][1].votes
    assert (vote.voter, vote.epoch, vote.candidate.id, vote.certain) == (1, 2, 3, True)


def test_a_disk_that_has_replaced_another_has_not_given_its_votes(tmp_path: Path) -> None:
    led = (*SHORT, Batch(2, (Leader(3, granting=(1,)),)))
    new = Disk(1, log=led, state=None, directories=1)
    quorum = written(tmp_path, new, Disk(2, log=SHORT), Disk(3, log=led, state=(2, 3, 3)))
    assert not any(each.votes for _, each in assumptions(beginning_of(quorum, "kafka")))


def test_brokers_are_left_out_and_unreadable_files_keep_a_node_down(tmp_path: Path) -> None:
    quorum = written(tmp_path, *THREE, Disk(101))
    (tmp_path / "node-3" / LOG_FOLDER / QUORUM_STATE).write_text("")
    quorum = Quorum(tuple(read_disk(each.folder) for each in quorum.disks))
    beginning = beginning_of(quorum, "kafka")
    assert list(beginning.disks) == [1, 2, 3]
    assert beginning.left_out == ["node 101: no voter set names it, so that it decides nothing"]
    assert "its process exits" in beginning.unable[3]
    assert {each.node for each in questions(beginning)} == {None, 1, 2}


def test_ids_and_epochs_that_are_too_large_for_a_scenario_are_replaced(tmp_path: Path) -> None:
    begin = Batch(700, (Leader(3001), VoterSet((3001, 3002))))
    disks = [Disk(id, log=(begin, Batch(700)), state=(700, 3001, -1), snapshots={}) for id in (3001, 3002)]
    scenario = next(questions(beginning_of(written(tmp_path, *disks), "kafka"))).scenario
    assert scenario.replicas.voters == (1, 2) and scenario.bounds.max_epoch == 2


@pytest.mark.parametrize(
    ("disks", "says"),
    [
        ((Disk(1, cluster="A" * 22), Disk(2, cluster="B" * 22)), "the disks are of several clusters"),
        ((Disk(1, log=(), snapshots={}, state=None),), "of nodes that no voter set names"),
    ],
)
def test_disks_that_are_no_quorum_are_refused(disks: tuple[Disk, ...], says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=says):
        list(questions(beginning_of(written(tmp_path, *disks), "kafka")))


def test_two_copies_of_a_node_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_disk(tmp_path / "a", THREE[0])
    write_disk(tmp_path / "b", THREE[0])
    assert main(["check", "--from", str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert "is a second disk of node 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("check --from DIR --coverage", "leave --coverage out"),
        ("check two-voters -o DIR", "--output: goes with --from"),
        ("check --from NOWHERE", "is no folder"),
    ],
)
def test_bad_options(line: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = line.replace("DIR", str(tmp_path)).replace("NOWHERE", str(tmp_path / "x")).split()
    assert main(words) == 2
    assert says in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_answers_and_writes_scenarios_that_give_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for each in (static(1, 2), static(2, 2), static(3, 1)):
        write_disk(tmp_path / "disks", each)
    saved = tmp_path / "saved"
    words = ["check", "--from", str(tmp_path / "disks"), "-o", str(saved), "--json"]
    assert main(words) == 1
    data = json.loads(capsys.readouterr().out)
    Draft202012Validator(schema("check-from")).validate(data)
    assert [each["scenario"] for each in data["answers"] if each["loses_committed"]] == ["lost-1", "lost-2"]
    assert main(["check", *(str(saved / f"{name}.toml") for name in ("without-1", "lost-2"))]) == 0
