"""Each property that is judged on recordings: a good recording passes, and one bent step is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cluster_recording import Cluster, leader_with_a_value, opening, value, voters_record
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_recording import eventful_recording, write

import spec
from model_check.conform.properties.catalogue import GOALS, JUDGED, NOT_JUDGED, why_not
from model_check.conform.properties.causes import explained, known_causes
from model_check.conform.properties.finding import Finding
from model_check.conform.properties.judge import judge
from model_check.conform.recording import read
from model_check.errors import InputError
from model_check.scenario import shipped

Line = dict[str, Any]
Bent = tuple[Cluster, Line]

CASES: list[tuple[str, frozenset[str], Callable[[], Bent]]] = []


def violates(*properties: str) -> Callable[[Callable[[], Bent]], Callable[[], Bent]]:
    """A recording that violates exactly these properties; the function returns it and the guilty line."""

    def remember(build: Callable[[], Bent]) -> Callable[[], Bent]:
        CASES.append((build.__name__, frozenset(properties), build))
        return build

    return remember


def found_in(cluster: Cluster, folder: Path) -> list[Finding]:
    return judge(cluster.recording(folder)).findings


def candidate(cluster: Cluster, node: int, epoch: int) -> None:
    """``node`` becomes Candidate of ``epoch`` without anybody's help."""
    if cluster.states[node]["epoch"] < epoch - 1:
        cluster.step(node, changes={"epoch": epoch - 1}, file=cluster.file(epoch - 1))
    cluster.step(node, changes={"state": "Prospective", "leader": -1})
    changes = {"state": "Candidate", "epoch": epoch, "voted": cluster.key(node)}
    cluster.step(node, file=cluster.file(epoch, voted=node), changes=changes)


def leader(cluster: Cluster, node: int, epoch: int) -> Line:
    changes = {"state": "Leader", "leader": node, "voted": None, "hw": -1, "progress": {}}
    return cluster.step(node, file=cluster.file(epoch, leader=node), changes=changes)


# Elections.


@violates("SingleLeaderPerEpoch", "SingleKnownLeaderPerEpoch")
def second_leader() -> Bent:
    cluster = Cluster()
    cluster.elect(1, 2)
    candidate(cluster, 3, 1)
    return cluster, leader(cluster, 3, 1)


@violates("SingleKnownLeaderPerEpoch")
def another_known_leader() -> Bent:
    cluster, steps = leader_with_a_value()
    steps["follows"]["s"]["leader"] = 3
    steps["follows"]["persist"][0] = cluster.file(1, leader=3, voted=1)
    return cluster, steps["follows"]


def _second_vote(cluster: Cluster, voter: int, **asked: Any) -> Line:
    request = cluster.vote(3, voter, replicaEpoch=1, lastOffset=9, lastOffsetEpoch=1, **asked)
    cluster.step(3, out=[request])
    return cluster.receive(voter, request, out=[cluster.vote_answer(voter, 3, request)])


@violates("VotedOncePerEpoch", "SelfVoteSurvivesRestart")
def second_vote() -> Bent:
    """The request alone is a vote of 3 for itself that was never stored."""
    cluster, _ = leader_with_a_value()
    return cluster, _second_vote(cluster, 2)


@violates("VotedOncePerEpoch")
def vote_granted_before_it_is_stored() -> Bent:
    cluster = Cluster()
    steps = cluster.elect(1, 2)
    steps["granted"]["persist"] = [cluster.file(1)]
    return cluster, steps["granted"]


@violates("SelfVoteSurvivesRestart")
def candidate_without_a_stored_vote() -> Bent:
    cluster = Cluster()
    steps = cluster.elect(1, 2)
    steps["wins"]["persist"] = [cluster.file(1)]
    return cluster, steps["runs"]


@violates("SelfVoteSurvivesRestart", "VotedOncePerEpoch", "VoteKeptWithinEpoch")
def candidate_that_votes_for_another() -> Bent:
    cluster = Cluster()
    candidate(cluster, 2, 1)
    request = cluster.vote(3, 2, replicaEpoch=1)
    answer = cluster.vote_answer(2, 3, request)
    return cluster, cluster.receive(2, request, out=[answer], file=cluster.file(1, voted=3))


@violates("VoteKeptWithinEpoch")
def vote_forgotten() -> Bent:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(2, changes={"voted": None})


@violates("NoReturnAfterLeading", "ResignedLeavesItsEpoch", "TransitionsLegal")
def leader_again() -> Bent:
    cluster = Cluster()
    cluster.elect(1, 2)
    cluster.end(1)
    cluster.start(1, "Resigned", leader=1)
    return cluster, leader(cluster, 1, 1)


# Logs.


@violates("RecordIdentity", "HighWatermarkOnMajority")
def another_record() -> Bent:
    """Voter 2 gets another record than the leader has, so the leader's is on no majority."""
    cluster, steps = leader_with_a_value()
    line = steps["first takes"]
    line["data"]["responses"][0]["partitions"][0]["batches"] = [value(1, 1, 8)]
    return cluster, line


@violates("LogMatching")
def another_prefix() -> Bent:
    cluster, _ = leader_with_a_value()
    request = cluster.fetch(3, 1)
    cluster.step(3, out=[request])
    answer = cluster.fetch_answer(1, 3, request, [value(1, 1, 7)])
    cluster.receive(1, request, out=[answer])
    return cluster, cluster.receive(3, answer, log=[{"op": "append", "by": "follower", "base": 0, "end": 2}])


@violates("LogEpochsMonotone")
def record_of_a_later_epoch() -> Bent:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, log=cluster.append(1, value(2, 2, 9)))


@violates("TruncationKeepsCommonPrefix")
def truncation_of_common_records() -> Bent:
    cluster, _ = leader_with_a_value()
    cluster.step(1, log=cluster.append(1, value(2, 1, 9)))
    cluster.replicate(2, 1)
    line = cluster.replicate(2, 1)["takes"]
    line["log"] = [{"op": "truncate", "to": 2}]
    return cluster, line


@violates("TruncationKeepsCommonPrefix")
def truncation_of_nothing() -> Bent:
    cluster, steps = leader_with_a_value()
    steps["second takes"]["log"] = [{"op": "truncate", "to": 2}]
    return cluster, steps["second takes"]


@violates("NoTruncationBelowHighWatermark")
def truncation_of_committed_records() -> Bent:
    cluster, _ = leader_with_a_value()
    cluster.logs[2].pop()
    return cluster, cluster.step(2, log=[{"op": "truncate", "to": 1}])


@violates("AcknowledgedIsDurable")
def fetch_before_the_flush() -> Bent:
    cluster, steps = leader_with_a_value()
    steps["first takes"]["log"].pop()
    return cluster, steps["second serves"]


@violates("AcknowledgedIsDurable")
def flushed_records_lost() -> Bent:
    cluster, _ = leader_with_a_value()
    cluster.end(2)
    cluster.logs[2].pop()
    return cluster, cluster.start(2, "Follower", leader=1, voted=cluster.key(1))


@violates("QuorumStateIsAtomic")
def file_lost() -> Bent:
    cluster, _ = leader_with_a_value()
    cluster.end(2)
    cluster.files[2] = cluster.file(1, leader=1)
    return cluster, cluster.start(2, "Follower", leader=1)


# What is committed.


@violates("LeaderCompleteness")
def leader_without_committed_records() -> Bent:
    cluster, _ = leader_with_a_value()
    candidate(cluster, 3, 2)
    return cluster, leader(cluster, 3, 2)


@violates("LeaderCompleteness", "CommittedSurvivesVoterChanges")
def leader_without_committed_records_after_voter_changes() -> Bent:
    cluster, _ = leader_with_a_value()
    for voters in (cluster.voters, cluster.voters[:2]):
        end = len(cluster.logs[1])
        cluster.step(1, log=cluster.append(1, voters_record(end, 1, voters)))
        cluster.replicate(2, 1)
        cluster.replicate(2, 1, high_watermark=end + 1)
    candidate(cluster, 3, 2)
    return cluster, leader(cluster, 3, 2)


@violates("CommitNeedsOwnEpoch")
def high_watermark_without_a_record_of_the_epoch() -> Bent:
    cluster, _ = leader_with_a_value()
    steps = cluster.elect(2, 3)
    steps["leads"]["s"]["hw"] = 2
    return cluster, steps["leads"]


@violates("OwnTailCountsWhenFlushed")
def high_watermark_above_the_flushed_log() -> Bent:
    cluster, steps = leader_with_a_value()
    steps["appends"]["log"].pop()
    return cluster, steps["second serves"]


def alone() -> Cluster:
    """A quorum of one, which leads epoch 1 and has committed its first record."""
    cluster = Cluster(voters=(1,))
    elect_alone(cluster)
    return cluster


def elect_alone(cluster: Cluster) -> None:
    """Voter 1 becomes Leader of epoch 1 with nobody's help."""
    cluster.step(1, file=cluster.file(1, leader=1), changes={"state": "Leader", "leader": 1, "epoch": 1})
    cluster.applies(
        cluster.step(1, log=cluster.append(1, opening(0, 1, 1)), changes={"hw": 1}), cluster.logs[1][0]
    )


@violates("OwnTailCountsWhenFlushed")
def power_lost_between_commit_and_flush() -> Bent:
    cluster = alone()
    appended = cluster.append(1, value(1, 1, 7))[:1]
    line = cluster.end(1, "crash:preFlush", log=appended, powerLoss=True)
    cluster.applies(line, cluster.logs[1][1])
    return cluster, line


@violates("StateMachineSafety")
def another_value_applied() -> Bent:
    cluster, steps = leader_with_a_value()
    steps["second takes"]["cb"][0]["values"] = [8]
    return cluster, steps["second takes"]


@violates("StateMachineSafety")
def applied_before_it_is_committed() -> Bent:
    cluster, _ = leader_with_a_value()
    line = cluster.step(1, log=cluster.append(1, value(2, 1, 9)))
    cluster.applies(line, cluster.logs[1][2])
    return cluster, line


@violates("StateMachineSafety")
def high_watermark_that_no_leader_had() -> Bent:
    cluster, _ = leader_with_a_value()
    cluster.step(1, log=cluster.append(1, value(2, 1, 9)))
    cluster.replicate(2, 1)
    return cluster, cluster.step(2, changes={"hw": 3})


@violates("HighWatermarkMonotone")
def high_watermark_lowered() -> Bent:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, changes={"hw": 1})


@violates("HighWatermarkOnMajority")
def high_watermark_of_one() -> Bent:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, log=cluster.append(1, value(2, 1, 9)), changes={"hw": 3})


@violates("RemovedLeaderDoesNotCount")
def removed_leader_counts_itself() -> Bent:
    cluster, _ = leader_with_a_value()
    rest = cluster.voters[1:]
    changes = {"voters": rest, "votersOffset": 2, "isVoter": False, "hw": 3}
    return cluster, cluster.step(1, log=cluster.append(1, voters_record(2, 1, rest)), changes=changes)


@violates("SnapshotIsCommittedPrefix")
def snapshot_above_the_high_watermark() -> Bent:
    cluster, _ = leader_with_a_value()
    cluster.step(1, log=cluster.append(1, value(2, 1, 9)))
    return cluster, cluster.step(1, changes={"snapshot": [3, 1]})


@violates("SnapshotIsCommittedPrefix")
def prefix_deleted_without_a_snapshot() -> Bent:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, changes={"snapshot": [1, 1], "logStart": 2})


# Voter sets.


@violates("OneVoterChangeAtATime")
def two_voters_removed() -> Bent:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, log=cluster.append(1, voters_record(2, 1, cluster.voters[:1])))


@violates("VoterChangeNeedsOwnEpochCommit")
def voter_change_before_a_commit() -> Bent:
    cluster = Cluster()
    cluster.elect(1, 2)
    return cluster, cluster.step(1, log=cluster.append(1, voters_record(1, 1, cluster.voters[:2])))


@violates("VoterSetNotEmpty")
def last_voter_removed() -> Bent:
    cluster = alone()
    return cluster, cluster.step(1, log=cluster.append(1, voters_record(1, 1, [])))


@violates("VoterChangeAcknowledgedWhenCommitted")
def voter_change_answered_on_append() -> Bent:
    cluster, _ = leader_with_a_value()
    request = cluster.message(-1, 1, "RemoveRaftVoter", {})
    cluster.receive(1, request)
    answer = cluster.message(1, -1, "RemoveRaftVoter", {"errorCode": 0}, request)
    rest = cluster.voters[:2]
    log = cluster.append(1, voters_record(2, 1, rest))
    return cluster, cluster.step(1, log=log, out=[answer], changes={"voters": rest, "votersOffset": 2})


@violates("KRaftVersionMonotone")
def kraft_version_lowered() -> Bent:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, changes={"kraftVersion": 0})


@violates("WipedReplicaIsAnother")
def vote_of_a_lost_disk() -> Bent:
    cluster = Cluster()
    steps = cluster.elect(1, 2)
    steps["granted"]["data"]["topics"][0]["partitions"][0]["voterDirectoryId"] = "lost"
    return cluster, steps["granted"]


@violates("WipedReplicaIsAnother")
def fetch_of_another_disk_counts() -> Bent:
    cluster, steps = leader_with_a_value()
    partition = steps["second serves"]["data"]["topics"][0]["partitions"][0]
    partition["replicaDirectoryId"] = "another"
    return cluster, steps["second serves"]


@violates("ObserversDoNotCount")
def fetch_of_an_observer_counts() -> Bent:
    cluster, _ = leader_with_a_value(observers=(101,))
    cluster.follow(101, 1)
    line = cluster.replicate(101, 1)["serves"]
    line["s"]["deadlines"] = {"checkQuorum": 9000}
    return cluster, line


@violates("DescribeTimesMonotone")
def fetch_in_the_future() -> Bent:
    cluster, steps = leader_with_a_value()
    steps["second serves"]["s"]["progress"]["2"][1] = 10**6
    return cluster, steps["second serves"]


# Pre-votes and roles.


@violates("VoteComparesEpochFirst")
def vote_for_a_shorter_log() -> Bent:
    cluster, _ = leader_with_a_value()
    candidate(cluster, 3, 2)
    request = cluster.vote(3, 1)
    cluster.step(3, out=[request])
    changes = {"state": "Unattached", "epoch": 2, "leader": -1, "voted": cluster.key(3), "progress": None}
    answer = cluster.vote_answer(1, 3, request)
    line = cluster.receive(1, request, out=[answer], file=cluster.file(2, voted=3), changes=changes)
    return cluster, line


@violates("PreVoteCreatesNoEpoch", "TransitionsLegal")
def epoch_raised_for_a_pre_vote() -> Bent:
    cluster = Cluster()
    steps = cluster.elect(1, 2)
    steps["asks"]["persist"] = [cluster.file(1)]
    steps["asks"]["s"]["epoch"] = 1
    return cluster, steps["asks"]


@violates("PreVoteGrantHasNoEffect")
def pre_vote_recorded() -> Bent:
    cluster = Cluster()
    steps = cluster.elect(1, 2)
    steps["pre-granted"]["s"]["voted"] = cluster.key(1)
    return cluster, steps["pre-granted"]


@violates("FetchingFollowerRejectsPreVote")
def pre_vote_of_a_fetching_follower() -> Bent:
    cluster, _ = leader_with_a_value()
    return cluster, _second_vote(cluster, 2, preVote=True)


@violates("CandidateOnlyFromProspective", "TransitionsLegal")
def candidate_at_once() -> Bent:
    cluster = Cluster()
    changes = {"state": "Candidate", "epoch": 1, "voted": cluster.key(3)}
    return cluster, cluster.step(3, file=cluster.file(1, voted=3), changes=changes)


@violates("ObserversStandNoElection", "TransitionsLegal")
def observer_stands() -> Bent:
    cluster = Cluster(observers=(101,))
    return cluster, cluster.step(101, changes={"state": "Prospective"})


@violates("ResignedLeavesItsEpoch", "TransitionsLegal")
def resigned_stays_in_its_epoch() -> Bent:
    cluster, _ = leader_with_a_value()
    cluster.step(1, changes={"state": "Resigned", "progress": None})
    return cluster, cluster.step(1, changes={"state": "Unattached", "leader": -1})


@violates("ResignedLeavesItsEpoch")
def follower_of_itself() -> Bent:
    cluster = Cluster()
    changes = {"state": "Follower", "epoch": 1, "leader": 2}
    return cluster, cluster.step(2, file=cluster.file(1, leader=2), changes=changes)


@violates("EpochMonotone")
def older_epoch_written() -> Bent:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(2, file=cluster.file(0))


@violates("EpochMonotone", "TransitionsLegal")
def epoch_lowered() -> Bent:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(2, changes={"state": "Unattached", "epoch": 0, "leader": -1, "lastEpoch": 0})


@violates("TransitionsLegal")
def leader_turns_prospective() -> Bent:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, changes={"state": "Prospective", "progress": None})


@violates("NoFatal")
def exception_ends_the_process() -> Bent:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.end(2, "fatal", exception="java.lang.IllegalStateException: why")


@pytest.mark.parametrize(
    ("properties", "build"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_a_bent_step_violates_exactly(
    properties: frozenset[str], build: Callable[[], Bent], tmp_path: Path
) -> None:
    cluster, line = build()
    found = found_in(cluster, tmp_path)
    assert {finding.property for finding in found} == properties
    assert line["seq"] in {finding.seq for finding in found}
    assert all(finding.evidence and finding.nodes and not finding.hazard for finding in found)


def test_every_property_judged_can_fail() -> None:
    assert {name for _, properties, _ in CASES for name in properties} == set(JUDGED)


def test_every_property_of_the_catalogue_is_judged_or_has_a_reason() -> None:
    known = {each.name: each for each in spec.load().properties.values()}
    assert set(JUDGED) | set(NOT_JUDGED) | set(GOALS) <= set(known)
    assert not set(JUDGED) & set(NOT_JUDGED)
    assert {name for name, each in known.items() if each.kind == "sometimes"} == set(GOALS)
    for name in known:
        assert (why_not(name) is None) == (name in JUDGED or name in GOALS)


def test_the_documentation_lists_what_is_judged() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "conform.md").read_text(encoding="utf-8")
    ids = {each.name: each.id for each in spec.load().properties.values()}
    for name, how in JUDGED.items():
        assert f"| {ids[name]} | `{name}` | {how} |" in page
    for name in ids:
        assert (why_not(name) or "") in page


# Good recordings.


def test_a_simulated_cluster_with_faults_violates_nothing(tmp_path: Path) -> None:
    result = judge(read(write(tmp_path, list(eventful_recording()))))
    assert [finding for finding in result.findings if not finding.hazard] == []
    assert result.goals["GoalRecordCommitted"] and result.unexplained == []


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


def test_what_a_leader_told_before_it_died_was_committed(tmp_path: Path) -> None:
    """A quorum of one dies behind its flush; an observer heard of the record, the state shows it nowhere."""
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


@pytest.mark.parametrize("known", known_causes(), ids=lambda known: known.scenario)
def test_the_scenario_of_a_cause_is_shipped_and_violates_its_property_or_what_follows(known: Any) -> None:
    scenario = shipped()[known.scenario]
    assert scenario.expect.verdict == "violated"
    assert known.property in JUDGED
    follows = {"OwnTailCountsWhenFlushed": "StateMachineSafety"}
    assert follows.get(known.property, known.property) in scenario.expect.violates


def test_a_known_exception_is_explained() -> None:
    evidence = "ends as Unattached: Expected to be Follower, but the current state is UnattachedState(epoch=1"
    found = explained(Finding("run", "NoFatal", 1, 1, (101,), evidence))
    assert found.scenario == "finding-observer-without-voter-set"
    assert explained(Finding("run", "NoFatal", 1, 1, (1,), "another exception")).scenario is None


def test_a_note_without_a_finding_is_reported(tmp_path: Path) -> None:
    cluster, _ = leader_with_a_value()
    note = cluster.line(ev="note", what="two leaders")
    (remark,) = judge(cluster.recording(tmp_path)).unexplained
    assert remark.seq == note["seq"] and "two leaders" in remark.text


def test_a_note_after_a_finding_is_explained(tmp_path: Path) -> None:
    cluster, _ = second_leader()
    cluster.line(ev="note", what="two leaders")
    assert judge(cluster.recording(tmp_path)).unexplained == []


# Hostile input.

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)


def _places(found: Any) -> list[tuple[Any, Any]]:
    items: list[tuple[Any, Any]] = []
    if isinstance(found, dict):
        items = list(found.items())
    elif isinstance(found, list):
        items = list(enumerate(found))
    return [place for key, inner in items for place in [(found, key), *_places(inner)]]


@given(st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_field_holds_there_is_a_judgement_or_one_sentence(
    tmp_path: Path, data: st.DataObject
) -> None:
    cluster, _ = leader_with_a_value()
    line = data.draw(st.sampled_from(cluster.lines[1:]))
    container, key = data.draw(st.sampled_from(_places(line)))
    container[key] = data.draw(ANYTHING)
    try:
        recording = cluster.recording(tmp_path)
        for finding in judge(recording).findings:
            assert finding.evidence
    except InputError as error:
        assert "trace.jsonl.gz" in str(error) or "run.json" in str(error)
