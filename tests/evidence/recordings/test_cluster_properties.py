"""Each property that is judged on recordings: a good recording passes, a corrupted step is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck import spec
from kraftcheck.checking.findings import known_findings
from kraftcheck.evidence.history.checks import GOALS, JUDGED, NOT_JUDGED, why_not
from kraftcheck.evidence.history.transitions import VOTER
from kraftcheck.evidence.recordings.outcome import Finding
from kraftcheck.evidence.recordings.properties.judge import judge
from kraftcheck.evidence.recordings.properties.states import _is_legal
from kraftcheck.evidence.recordings.recording import read
from kraftcheck.support.errors import InputError
from kraftcheck.systems.scenario import shipped
from tests.evidence.recordings.cluster_recording import Cluster, leader_with_a_value, value
from tests.evidence.recordings.corrupted_recordings import CASES, candidate, elect_alone, elected, leader
from tests.evidence.recordings.line_changes import with_anything
from tests.evidence.recordings.small_recording import eventful_recording, write


def found_in(cluster: Cluster, folder: Path) -> list[Finding]:
    return judge(cluster.recording(folder)).findings


@pytest.mark.parametrize("name", CASES)
def test_a_corrupted_step_violates_exactly(name: str, tmp_path: Path) -> None:
    properties, given, corrupt = CASES[name]
    cluster, steps = given()
    line = corrupt(cluster, steps)
    found = found_in(cluster, tmp_path)
    assert {finding.property for finding in found} == properties
    assert line["seq"] in {finding.seq for finding in found}
    assert all(finding.evidence and finding.nodes and not finding.hazard for finding in found)


def test_every_property_judged_can_fail() -> None:
    assert {name for properties, _, _ in CASES.values() for name in properties} == set(JUDGED)


def test_every_property_of_the_catalogue_is_judged_or_has_a_reason() -> None:
    known = {each.name: each for each in spec.load().properties.values()}
    assert set(JUDGED) | set(NOT_JUDGED) | set(GOALS) <= set(known)
    assert not set(JUDGED) & set(NOT_JUDGED)
    assert {known[name].kind for name in GOALS} == {"sometimes"}
    for name in known:
        assert (why_not(name) is None) == (name in JUDGED or name in GOALS)


def test_the_documentation_lists_what_is_judged() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "conform.md").read_text(encoding="utf-8")
    ids = {each.name: each.id for each in spec.load().properties.values()}
    for name, how in JUDGED.items():
        assert f"| {ids[name]} | `{name}` | {how} |" in page
    for name in ids:
        assert (why_not(name) or "") in page


# Good recordings.


@pytest.mark.slow
def test_a_simulated_cluster_with_faults_violates_nothing(tmp_path: Path) -> None:
    result = judge(read(write(tmp_path, list(eventful_recording()))))
    assert [finding for finding in result.findings if not finding.hazard] == []
    assert result.goals["GoalRecordCommitted"] and result.unexplained == []


@pytest.mark.parametrize("role", ["Unattached", "Prospective", "Candidate", "Resigned", "Follower"])
def test_only_a_quorum_of_one_becomes_leader_in_a_single_step(role: str) -> None:
    """A Follower may have fetched the record that leaves it as the only voter."""
    step = (("kip996",), role, "Leader", 1, VOTER)
    assert _is_legal(*step, alone=True) and not _is_legal(*step, alone=False)


def test_a_quiet_cluster_violates_nothing(tmp_path: Path) -> None:
    cluster, _ = leader_with_a_value(observers=(101,))
    cluster.follow(101, 1)
    cluster.replicate(101, 1)
    result = judge(cluster.recording(tmp_path))
    assert result.findings == [] and result.unexplained == []
    reached = {name for name, is_reached in result.goals.items() if is_reached}
    assert reached == set(GOALS) - {"GoalDivergenceTruncated"}


def test_a_change_of_leader_with_a_divergence_violates_nothing(tmp_path: Path) -> None:
    cluster, _ = leader_with_a_value()
    cluster.step(1, log=cluster.append(1, value(2, 1, 9)))
    cluster.elect(2, 3)
    cluster.follow(1, 2)
    request = cluster.fetch(1, 2)
    cluster.step(1, out=[request], changes={"progress": None})
    answer = cluster.fetch_answer(2, 1, request, [])
    cluster.receive(2, request, out=[answer])
    cluster.logs[1].pop()
    cluster.receive(1, answer, log=[{"op": "truncate", "to": 2}])
    cluster.replicate(1, 2)
    cluster.replicate(1, 2, high_watermark=3)
    result = judge(cluster.recording(tmp_path))
    assert result.findings == []
    assert result.goals["GoalDivergenceTruncated"]


def test_a_wiped_disk_may_vote_again(tmp_path: Path) -> None:
    cluster = Cluster()
    cluster.elect(1, 2)
    cluster.end(2)
    cluster.files[2] = None
    cluster.directories[2] = "new-disk"
    cluster.line(ev="wipe", n=2, dirId="new-disk")
    cluster.start(2)
    candidate(cluster, 3, 1)
    request = cluster.vote(3, 2)
    cluster.step(3, out=[request])
    changes = {"epoch": 1, "voted": cluster.key(3)}
    answer = cluster.vote_answer(2, 3, request)
    cluster.receive(2, request, out=[answer], file=cluster.file(1, voted=3), changes=changes)
    assert found_in(cluster, tmp_path) == []


def test_an_unflushed_tail_that_is_lost_is_no_finding(tmp_path: Path) -> None:
    cluster, _ = leader_with_a_value()
    appended = {"op": "append", "by": "leader", "batches": [value(2, 1, 9)]}
    cluster.end(1, "crash:preFlush", log=[appended], powerLoss=True)
    cluster.start(1, "Resigned", leader=1)
    assert found_in(cluster, tmp_path) == []


def test_records_that_a_leader_sent_before_its_process_ended_were_committed(tmp_path: Path) -> None:
    """The process of the only voter ends after its flush; an observer has received the record."""
    cluster = Cluster(voters=(1,), observers=(101,))
    elect_alone(cluster)
    cluster.follow(101, 1)
    request = cluster.fetch(101, 1, 0)
    cluster.step(101, out=[request])
    cluster.receive(1, request)
    log = cluster.append(1, value(1, 1, 7))
    answer = cluster.fetch_answer(1, 101, request, list(cluster.logs[1]), high_watermark=2)
    cluster.end(1, "crash:postFlush", log=log, powerLoss=True, out=[cluster.sending(answer)])
    cluster.logs[101] = list(cluster.logs[1])
    cluster.receive(
        101, answer, log=[{"op": "append", "by": "follower", "base": 0, "end": 2}], changes={"hw": 2}
    )
    assert found_in(cluster, tmp_path) == []


# Hazards, causes, notes.


def test_a_restart_as_candidate_is_a_hazard_with_its_scenario(tmp_path: Path) -> None:
    cluster, _ = leader_with_a_value()
    cluster.end(2)
    cluster.files[2] = cluster.file(1, leader=1, voted=2)
    line = cluster.start(2, "Candidate", voted=cluster.key(2))
    found = [each for each in found_in(cluster, tmp_path) if each.hazard]
    assert [(each.property, each.seq, each.nodes) for each in found] == [("NoFatal", line["seq"], (2, 1))]
    assert found[0].scenario == "finding-restart-as-candidate"


@pytest.mark.parametrize(
    "known", [each for each in known_findings() if each.recorded], ids=lambda each: each.id
)
def test_the_scenario_of_a_cause_is_shipped_and_violates_its_property_or_what_follows(known: Any) -> None:
    scenario = shipped()[known.scenarios[0]]
    assert scenario.expect.verdict == "violated"
    for each in known.recorded:
        assert each.property in JUDGED
        # Where a committed record is lost, the model stops at the first violation, the recording goes on.
        shown = (
            "StateMachineSafety"
            if "committed" in each.cause or "high watermark" in each.cause
            else each.property
        )
        assert shown in scenario.expect.violates


@pytest.mark.parametrize(
    ("exception", "scenario"),
    [
        (
            "Expected to be Follower, but the current state is Unattached",
            "finding-observer-without-voter-set",
        ),
        ("another exception", None),
    ],
)
def test_a_known_exception_is_explained(tmp_path: Path, exception: str, scenario: str | None) -> None:
    cluster = Cluster(observers=(101,))
    cluster.end(101, "fatal", exception=exception)
    assert [each.scenario for each in found_in(cluster, tmp_path)] == [scenario]


def test_a_note_without_a_finding_is_reported(tmp_path: Path) -> None:
    cluster, _ = leader_with_a_value()
    note = cluster.line(ev="note", what="two leaders")
    (remark,) = judge(cluster.recording(tmp_path)).unexplained
    assert remark.seq == note["seq"] and "two leaders" in remark.text


def test_a_note_after_a_finding_is_explained(tmp_path: Path) -> None:
    cluster, _ = elected()
    candidate(cluster, 3, 1)
    leader(cluster, 3, 1)
    cluster.line(ev="note", what="two leaders")
    assert judge(cluster.recording(tmp_path)).unexplained == []


# Hostile input.


@pytest.mark.slow
@given(st.data())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_field_holds_there_is_a_judgement_or_one_sentence(
    tmp_path: Path, data: st.DataObject
) -> None:
    cluster, _ = leader_with_a_value()
    with_anything(cluster.lines[1:], data)
    try:
        recording = cluster.recording(tmp_path)
        for finding in judge(recording).findings:
            assert finding.evidence
    except InputError as error:
        assert "trace.jsonl.gz" in str(error) or "run.json" in str(error)
