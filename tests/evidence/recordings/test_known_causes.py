"""Violations in recorded runs that have a known cause: `conform` names it, and the scenario that shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.recordings.outcome import Difference, Finding, Judgement, RunReport, RunResult
from kraftcheck.evidence.recordings.properties.judge import judge
from kraftcheck.evidence.recordings.recording import read
from kraftcheck.reference import messages as m
from tests.evidence.recordings.cluster_recording import Cluster, leader_with_a_value, opening, value
from tests.evidence.recordings.corrupted_recordings import elect_alone
from tests.evidence.recordings.small_recording import small_recording, write


def named(cluster: Cluster, folder: Path) -> dict[str, str | None]:
    """The scenario of each finding, by property."""
    found = judge(cluster.recording(folder)).findings
    assert all((each.cause is None) == (each.scenario is None) for each in found)
    return {each.property: each.scenario for each in found}


# A quorum of one.


def loses_committed_records(*, lost: int) -> Cluster:
    """The only voter commits a value, ends before it flushes, and writes others in the next epoch."""
    cluster = Cluster(voters=(1,))
    elect_alone(cluster)
    batch = value(1, 1, 7)
    applied = {"cb": "commit", "base": 1, "last": 1, "epoch": 1, "values": [7]}
    appended = {"op": "append", "by": "leader", "batches": [batch]}
    cluster.end(1, "crash:preFlush", log=[appended], powerLoss=True, cb=[applied])
    cluster.start(1, "Resigned", leader=1)["lostUnflushed"] = lost
    changes = {"state": "Leader", "leader": 1, "epoch": 2, "progress": {}}
    cluster.step(1, file=cluster.file(2, leader=1), changes=changes, log=cluster.append(1, opening(1, 2, 1)))
    cluster.applies(cluster.step(1, changes={"hw": 2}), cluster.logs[1][-1])
    return cluster


def test_a_quorum_of_one_that_loses_what_it_committed_is_explained(tmp_path: Path) -> None:
    scenario = "finding-single-voter-power-loss"
    assert named(loses_committed_records(lost=1), tmp_path) == {
        "OwnTailCountsWhenFlushed": scenario,
        "LeaderCompleteness": scenario,
        "StateMachineSafety": scenario,
    }


def test_committed_records_that_go_without_a_loss_of_power_are_not_explained(tmp_path: Path) -> None:
    found = named(loses_committed_records(lost=0), tmp_path)
    assert found["LeaderCompleteness"] is None and found["StateMachineSafety"] is None


def test_the_same_with_other_voters_is_not_explained(tmp_path: Path) -> None:
    cluster, _ = leader_with_a_value()
    cluster.step(1, changes={"hw": 3})
    cluster.end(1, powerLoss=True)
    cluster.start(1, "Resigned", leader=1)["lostUnflushed"] = 1
    cluster.step(2, changes={"hw": 3})
    found = named(cluster, tmp_path)
    assert "StateMachineSafety" in found and set(found.values()) == {None}


# Processes that end.

NAMES_ITSELF = (
    "java.lang.IllegalStateException: Received request or response with leader OptionalInt[1] and epoch 1 "
    "which is inconsistent with current leader OptionalInt.empty and epoch 0"
)
NO_ENDPOINT = (
    "java.lang.IllegalArgumentException: Cannot transition to Follower with leader 1 and epoch 1 without a "
    "leader endpoint"
)
NO_VOTER = (
    "java.lang.IllegalArgumentException: Local replica (3, dir-3) must be in the set of voters VoterSet()"
)


@pytest.mark.parametrize(("wiped", "scenario"), [(True, "finding-wiped-leader"), (False, None)])
def test_a_leader_with_a_new_disk_is_explained(tmp_path: Path, wiped: bool, scenario: str | None) -> None:
    cluster, _ = leader_with_a_value()
    cluster.end(1)
    if wiped:
        cluster.files[1], cluster.logs[1], cluster.directories[1] = None, [], "new-disk"
        cluster.line(ev="wipe", n=1, dirId="new-disk")
    cluster.start(1)
    cluster.end(1, "fatal", exception=NAMES_ITSELF)
    assert named(cluster, tmp_path) == {"NoFatal": scenario}


@pytest.mark.parametrize("asks", [True, False])
def test_a_resigned_leader_without_endpoints_is_explained(tmp_path: Path, asks: bool) -> None:
    """A voter with an empty log receives EndQuorumEpoch; a Vote response is not the known cause."""
    cluster = Cluster()
    if asks:
        message = cluster.message(1, 3, m.EndQuorumEpochRequest(1, 1, ()))
        scenario = "finding-resigned-leader-unknown"
    else:
        request = cluster.vote(3, 1)
        cluster.step(3, out=[request])
        cluster.receive(1, request)
        message = cluster.message(1, 3, m.VoteResponse(0, granted=False), request)
        scenario = None
    cluster.step(1, out=[message])
    cluster.open.discard(message)
    cluster.end(3, "fatal", exception=NO_ENDPOINT, during=cluster.contents[message]["content"])
    found = named(cluster, tmp_path)
    assert found["NoFatal"] == scenario


def test_a_removed_candidate_that_cannot_start_is_explained(tmp_path: Path) -> None:
    """It exits before it has a state to show."""
    cluster, _ = leader_with_a_value()
    cluster.end(3)
    cluster.line(n=3, ev="end", inc=2, reason="fatal", exception=NO_VOTER, powerLoss=False, leo=0, flushed=0)
    assert named(cluster, tmp_path) == {"NoFatal": "finding-removed-candidate"}


# States that differ from the reference.

OF_STATE = Finding("TransitionsLegal", "P-2", False, 7, 90, (1,), "Follower to Leader, epoch 3 to 4")
DIFFERENT = Difference(5, None, 1, "tick", "role", "Follower", "Leader")


@pytest.mark.parametrize(
    ("difference", "finding", "starts", "kept"),
    [
        (DIFFERENT, OF_STATE, [], 0),
        (DIFFERENT, OF_STATE, [(1, 2)], 0),
        (DIFFERENT, OF_STATE, [(2, 6)], 0),
        (DIFFERENT, OF_STATE, [(1, 6)], 1),  # Another process.
        (Difference(8, None, 1, "tick", "role", None, None), OF_STATE, [], 1),  # Later.
        (Difference(5, None, 2, "tick", "role", None, None), OF_STATE, [], 1),  # Another node.
        (DIFFERENT, Finding("SingleLeaderPerEpoch", "S-1", False, 7, 90, (1, 2), "two"), [], 1),
    ],
)
def test_a_state_that_differs_is_reported_once(
    difference: Difference, finding: Finding, starts: list[tuple[int, int]], kept: int
) -> None:
    report = RunReport("run", differences=[difference])
    assert len(RunResult.of(report, Judgement([finding]), starts).violations) == kept


@pytest.mark.slow
def test_a_wrong_role_is_a_difference_and_no_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = small_recording()
    follower = next(line for line in lines if "s" in line and line["s"]["state"] == "Follower")
    follower["s"]["state"] = "Resigned"
    run = write(tmp_path / "run-1", lines)
    judged = {each.property for each in judge(read(run)).findings}
    assert "TransitionsLegal" in judged
    assert main(["conform", "--json", str(run)]) == 1
    (compared,) = json.loads(capsys.readouterr().out)["runs"]
    assert follower["seq"] in {each["seq"] for each in compared["differences"]}
    assert "TransitionsLegal" not in {each["property"] for each in compared["findings"]}
