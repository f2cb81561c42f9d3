"""Recordings with one corrupted step: each violates exactly the properties in its decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.evidence.recordings.cluster_recording import (
    Cluster,
    leader_with_a_value,
    opening,
    value,
    voters_record,
)

Line = dict[str, Any]
Corrupted = tuple[Cluster, Line]

CASES: list[tuple[str, frozenset[str], Callable[[], Corrupted]]] = []


def violates(*properties: str) -> Callable[[Callable[[], Corrupted]], Callable[[], Corrupted]]:
    """A recording that violates exactly these properties; the function returns it and the guilty line."""

    def remember(build: Callable[[], Corrupted]) -> Callable[[], Corrupted]:
        CASES.append((build.__name__, frozenset(properties), build))
        return build

    return remember


def candidate(cluster: Cluster, node: int, epoch: int) -> None:
    """``node`` becomes Candidate of ``epoch`` without an election."""
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
def second_leader() -> Corrupted:
    cluster = Cluster()
    cluster.elect(1, 2)
    candidate(cluster, 3, 1)
    return cluster, leader(cluster, 3, 1)


@violates("SingleKnownLeaderPerEpoch")
def another_known_leader() -> Corrupted:
    cluster, steps = leader_with_a_value()
    steps["follows"]["s"]["leader"] = 3
    steps["follows"]["persist"][0] = cluster.file(1, leader=3, voted=1)
    return cluster, steps["follows"]


def _second_vote(cluster: Cluster, voter: int, **asked: Any) -> Line:
    request = cluster.vote(3, voter, replicaEpoch=1, lastOffset=9, lastOffsetEpoch=1, **asked)
    cluster.step(3, out=[request])
    return cluster.receive(voter, request, out=[cluster.vote_answer(voter, 3, request)])


@violates("VotedOncePerEpoch", "SelfVoteSurvivesRestart")
def second_vote() -> Corrupted:
    """The request alone is a vote of 3 for itself that was never stored."""
    cluster, _ = leader_with_a_value()
    return cluster, _second_vote(cluster, 2)


@violates("VotedOncePerEpoch")
def vote_granted_before_it_is_stored() -> Corrupted:
    cluster = Cluster()
    steps = cluster.elect(1, 2)
    steps["granted"]["persist"] = [cluster.file(1)]
    return cluster, steps["granted"]


@violates("SelfVoteSurvivesRestart")
def candidate_without_a_stored_vote() -> Corrupted:
    cluster = Cluster()
    steps = cluster.elect(1, 2)
    steps["wins"]["persist"] = [cluster.file(1)]
    return cluster, steps["runs"]


@violates("SelfVoteSurvivesRestart", "VotedOncePerEpoch", "VoteKeptWithinEpoch")
def candidate_that_votes_for_another() -> Corrupted:
    cluster = Cluster()
    candidate(cluster, 2, 1)
    request = cluster.vote(3, 2, replicaEpoch=1)
    answer = cluster.vote_answer(2, 3, request)
    return cluster, cluster.receive(2, request, out=[answer], file=cluster.file(1, voted=3))


@violates("VoteKeptWithinEpoch")
def vote_forgotten() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(2, changes={"voted": None})


@violates("NoReturnAfterLeading", "ResignedLeavesItsEpoch", "TransitionsLegal")
def leader_again() -> Corrupted:
    cluster = Cluster()
    cluster.elect(1, 2)
    cluster.end(1)
    cluster.start(1, "Resigned", leader=1)
    return cluster, leader(cluster, 1, 1)


@violates("NoReturnAfterLeading", "EpochMonotone", "LogEpochsMonotone", "TransitionsLegal")
def leader_again_after_an_earlier_epoch() -> Corrupted:
    cluster, _ = leader_with_a_value()
    cluster.step(1, changes={"state": "Unattached", "epoch": 0, "leader": -1, "progress": None})
    return cluster, cluster.step(1, changes={"state": "Leader", "epoch": 1, "leader": 1, "progress": {}})


@violates("SingleKnownLeaderPerEpoch", "EpochMonotone", "LogEpochsMonotone", "TransitionsLegal")
def another_leader_after_an_earlier_epoch() -> Corrupted:
    cluster, _ = leader_with_a_value()
    cluster.step(1, changes={"state": "Unattached", "epoch": 0, "leader": -1, "progress": None})
    return cluster, cluster.step(1, changes={"state": "Follower", "epoch": 1, "leader": 3})


# Logs.


@violates("RecordIdentity", "HighWatermarkOnMajority")
def another_record() -> Corrupted:
    """Voter 2 gets another record than the leader has, so the leader's is on no majority."""
    cluster, steps = leader_with_a_value()
    line = steps["first takes"]
    line["data"]["responses"][0]["partitions"][0]["batches"] = [value(1, 1, 8)]
    return cluster, line


@violates("LogMatching")
def another_prefix() -> Corrupted:
    cluster, _ = leader_with_a_value()
    cluster.follow(3, 1)
    request = cluster.fetch(3, 1)
    cluster.step(3, out=[request])
    answer = cluster.fetch_answer(1, 3, request, [value(1, 1, 7)])
    cluster.receive(1, request, out=[answer])
    return cluster, cluster.receive(3, answer, log=[{"op": "append", "by": "follower", "base": 0, "end": 2}])


@violates("LogEpochsMonotone")
def record_of_a_later_epoch() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, log=cluster.append(1, value(2, 2, 9)))


@violates("LogEpochsMonotone")
def state_with_a_record_of_a_later_epoch() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(2, changes={"lastEpoch": 2})


@violates("TruncationKeepsCommonPrefix")
def truncation_of_common_records() -> Corrupted:
    cluster, _ = leader_with_a_value()
    cluster.step(1, log=cluster.append(1, value(2, 1, 9)))
    cluster.replicate(2, 1)
    line = cluster.replicate(2, 1)["takes"]
    line["log"] = [{"op": "truncate", "to": 2}]
    return cluster, line


@violates("TruncationKeepsCommonPrefix")
def truncation_of_nothing() -> Corrupted:
    cluster, steps = leader_with_a_value()
    steps["second takes"]["log"] = [{"op": "truncate", "to": 2}]
    return cluster, steps["second takes"]


@violates("NoTruncationBelowHighWatermark")
def truncation_of_committed_records() -> Corrupted:
    cluster, _ = leader_with_a_value()
    cluster.logs[2].pop()
    return cluster, cluster.step(2, log=[{"op": "truncate", "to": 1}])


@violates("AcknowledgedIsDurable")
def fetch_before_the_flush() -> Corrupted:
    cluster, steps = leader_with_a_value()
    steps["first takes"]["log"].pop()
    return cluster, steps["second serves"]


@violates("AcknowledgedIsDurable")
def flushed_records_lost() -> Corrupted:
    cluster, _ = leader_with_a_value()
    cluster.end(2)
    cluster.logs[2].pop()
    return cluster, cluster.start(2, "Follower", leader=1, voted=cluster.key(1))


@violates("QuorumStateIsAtomic")
def file_lost() -> Corrupted:
    cluster, _ = leader_with_a_value()
    cluster.end(2)
    cluster.files[2] = cluster.file(1, leader=1)
    return cluster, cluster.start(2, "Follower", leader=1)


# What is committed.


@violates("LeaderCompleteness")
def leader_without_committed_records() -> Corrupted:
    cluster, _ = leader_with_a_value()
    candidate(cluster, 3, 2)
    return cluster, leader(cluster, 3, 2)


@violates("LeaderCompleteness", "CommittedSurvivesVoterChanges")
def leader_without_committed_records_after_voter_changes() -> Corrupted:
    cluster, _ = leader_with_a_value()
    for voters in (cluster.voters, cluster.voters[:2]):
        end = len(cluster.logs[1])
        cluster.step(1, log=cluster.append(1, voters_record(end, 1, voters)))
        cluster.replicate(2, 1)
        cluster.replicate(2, 1, high_watermark=end + 1)
    candidate(cluster, 3, 2)
    return cluster, leader(cluster, 3, 2)


@violates("CommitNeedsOwnEpoch")
def high_watermark_without_a_record_of_the_epoch() -> Corrupted:
    cluster, _ = leader_with_a_value()
    steps = cluster.elect(2, 3)
    steps["leads"]["s"]["hw"] = 2
    return cluster, steps["leads"]


@violates("OwnTailCountsWhenFlushed")
def high_watermark_above_the_flushed_log() -> Corrupted:
    cluster, steps = leader_with_a_value()
    steps["appends"]["log"].pop()
    return cluster, steps["second serves"]


def alone() -> Cluster:
    """A quorum of one, which leads epoch 1 and has committed its first record."""
    cluster = Cluster(voters=(1,))
    elect_alone(cluster)
    return cluster


def elect_alone(cluster: Cluster) -> None:
    """Voter 1 becomes Leader of epoch 1 without an election."""
    cluster.step(1, file=cluster.file(1, leader=1), changes={"state": "Leader", "leader": 1, "epoch": 1})
    cluster.applies(
        cluster.step(1, log=cluster.append(1, opening(0, 1, 1)), changes={"hw": 1}), cluster.logs[1][0]
    )


@violates("OwnTailCountsWhenFlushed")
def power_lost_between_commit_and_flush() -> Corrupted:
    cluster = alone()
    appended = cluster.append(1, value(1, 1, 7))[:1]
    line = cluster.end(1, "crash:preFlush", log=appended, powerLoss=True)
    cluster.applies(line, cluster.logs[1][1])
    return cluster, line


@violates("StateMachineSafety")
def another_value_applied() -> Corrupted:
    cluster, steps = leader_with_a_value()
    steps["second takes"]["cb"][0]["values"] = [8]
    return cluster, steps["second takes"]


@violates("StateMachineSafety")
def applied_before_it_is_committed() -> Corrupted:
    cluster, _ = leader_with_a_value()
    line = cluster.step(1, log=cluster.append(1, value(2, 1, 9)))
    cluster.applies(line, cluster.logs[1][2])
    return cluster, line


@violates("StateMachineSafety")
def high_watermark_that_no_leader_had() -> Corrupted:
    cluster, _ = leader_with_a_value()
    cluster.step(1, log=cluster.append(1, value(2, 1, 9)))
    cluster.replicate(2, 1)
    return cluster, cluster.step(2, changes={"hw": 3})


@violates("StateMachineSafety", "OwnTailCountsWhenFlushed")
def last_step_applies_beyond_the_log() -> Corrupted:
    cluster, _ = leader_with_a_value()
    line = cluster.end(1)
    cluster.applies(line, value(2, 1, 9))
    return cluster, line


@violates("HighWatermarkMonotone")
def high_watermark_lowered() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, changes={"hw": 1})


@violates("HighWatermarkOnMajority")
def high_watermark_of_one() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, log=cluster.append(1, value(2, 1, 9)), changes={"hw": 3})


@violates("RemovedLeaderDoesNotCount")
def removed_leader_counts_itself() -> Corrupted:
    cluster, _ = leader_with_a_value()
    rest = cluster.voters[1:]
    changes = {"voters": rest, "votersOffset": 2, "isVoter": False, "hw": 3}
    return cluster, cluster.step(1, log=cluster.append(1, voters_record(2, 1, rest)), changes=changes)


@violates("SnapshotIsCommittedPrefix")
def snapshot_above_the_high_watermark() -> Corrupted:
    cluster, _ = leader_with_a_value()
    cluster.step(1, log=cluster.append(1, value(2, 1, 9)))
    return cluster, cluster.step(1, changes={"snapshot": [3, 1]})


@violates("SnapshotIsCommittedPrefix")
def prefix_deleted_without_a_snapshot() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, changes={"snapshot": [1, 1], "logStart": 2})


# Voter sets.


@violates("OneVoterChangeAtATime")
def two_voters_removed() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, log=cluster.append(1, voters_record(2, 1, cluster.voters[:1])))


@violates("VoterChangeNeedsOwnEpochCommit")
def voter_change_before_a_commit() -> Corrupted:
    cluster = Cluster()
    cluster.elect(1, 2)
    return cluster, cluster.step(1, log=cluster.append(1, voters_record(1, 1, cluster.voters[:2])))


@violates("VoterSetNotEmpty")
def last_voter_removed() -> Corrupted:
    cluster = alone()
    return cluster, cluster.step(1, log=cluster.append(1, voters_record(1, 1, [])))


@violates("VoterChangeAcknowledgedWhenCommitted")
def voter_change_answered_on_append() -> Corrupted:
    cluster, _ = leader_with_a_value()
    request = cluster.message(-1, 1, "RemoveRaftVoter", {})
    cluster.receive(1, request)
    answer = cluster.message(1, -1, "RemoveRaftVoter", {"errorCode": 0}, request)
    rest = cluster.voters[:2]
    log = cluster.append(1, voters_record(2, 1, rest))
    return cluster, cluster.step(1, log=log, out=[answer], changes={"voters": rest, "votersOffset": 2})


@violates("KRaftVersionMonotone")
def kraft_version_lowered() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, changes={"kraftVersion": 0})


@violates("WipedReplicaIsAnother")
def vote_of_a_lost_disk() -> Corrupted:
    cluster = Cluster()
    steps = cluster.elect(1, 2)
    steps["granted"]["data"]["topics"][0]["partitions"][0]["voterDirectoryId"] = "lost"
    return cluster, steps["granted"]


@violates("WipedReplicaIsAnother")
def fetch_of_another_disk_counts() -> Corrupted:
    cluster, steps = leader_with_a_value()
    partition = steps["second serves"]["data"]["topics"][0]["partitions"][0]
    partition["replicaDirectoryId"] = "another"
    return cluster, steps["second serves"]


@violates("ObserversDoNotCount")
def fetch_of_an_observer_counts() -> Corrupted:
    cluster, _ = leader_with_a_value(observers=(101,))
    cluster.follow(101, 1)
    line = cluster.replicate(101, 1)["serves"]
    line["s"]["deadlines"] = {"checkQuorum": 9000}
    return cluster, line


@violates("DescribeTimesMonotone")
def fetch_in_the_future() -> Corrupted:
    cluster, steps = leader_with_a_value()
    steps["second serves"]["s"]["progress"]["2"][1] = 10**6
    return cluster, steps["second serves"]


# Pre-votes and roles.


@violates("VoteComparesEpochFirst")
def vote_for_a_shorter_log() -> Corrupted:
    cluster, _ = leader_with_a_value()
    candidate(cluster, 3, 2)
    request = cluster.vote(3, 1)
    cluster.step(3, out=[request])
    changes = {"state": "Unattached", "epoch": 2, "leader": -1, "voted": cluster.key(3), "progress": None}
    answer = cluster.vote_answer(1, 3, request)
    line = cluster.receive(1, request, out=[answer], file=cluster.file(2, voted=3), changes=changes)
    return cluster, line


@violates("PreVoteCreatesNoEpoch", "TransitionsLegal")
def epoch_raised_for_a_pre_vote() -> Corrupted:
    cluster = Cluster()
    steps = cluster.elect(1, 2)
    steps["asks"]["persist"] = [cluster.file(1)]
    steps["asks"]["s"]["epoch"] = 1
    return cluster, steps["asks"]


@violates("PreVoteGrantHasNoEffect")
def pre_vote_recorded() -> Corrupted:
    cluster = Cluster()
    steps = cluster.elect(1, 2)
    steps["pre-granted"]["s"]["voted"] = cluster.key(1)
    return cluster, steps["pre-granted"]


@violates("FetchingFollowerRejectsPreVote")
def pre_vote_of_a_fetching_follower() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, _second_vote(cluster, 2, preVote=True)


@violates("CandidateOnlyFromProspective", "TransitionsLegal")
def candidate_at_once() -> Corrupted:
    cluster = Cluster()
    changes = {"state": "Candidate", "epoch": 1, "voted": cluster.key(3)}
    return cluster, cluster.step(3, file=cluster.file(1, voted=3), changes=changes)


@violates("ObserversStandNoElection", "TransitionsLegal")
def observer_stands() -> Corrupted:
    cluster = Cluster(observers=(101,))
    return cluster, cluster.step(101, changes={"state": "Prospective"})


@violates("ResignedLeavesItsEpoch", "TransitionsLegal")
def resigned_stays_in_its_epoch() -> Corrupted:
    cluster, _ = leader_with_a_value()
    cluster.step(1, changes={"state": "Resigned", "progress": None})
    return cluster, cluster.step(1, changes={"state": "Unattached", "leader": -1})


@violates("ResignedLeavesItsEpoch")
def follower_of_itself() -> Corrupted:
    cluster = Cluster()
    changes = {"state": "Follower", "epoch": 1, "leader": 2}
    return cluster, cluster.step(2, file=cluster.file(1, leader=2), changes=changes)


@violates("EpochMonotone")
def older_epoch_written() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(2, file=cluster.file(0))


@violates("EpochMonotone", "TransitionsLegal")
def epoch_lowered() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(2, changes={"state": "Unattached", "epoch": 0, "leader": -1, "lastEpoch": 0})


@violates("TransitionsLegal")
def leader_turns_prospective() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.step(1, changes={"state": "Prospective", "progress": None})


@violates("NoFatal")
def exception_ends_the_process() -> Corrupted:
    cluster, _ = leader_with_a_value()
    return cluster, cluster.end(2, "fatal", exception="java.lang.IllegalStateException: why")
