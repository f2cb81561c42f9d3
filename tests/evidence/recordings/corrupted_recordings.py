"""Recordings with one corrupted step: each violates exactly the properties in its decorator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kraftcheck.reference.messages import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from kraftcheck.reference.voters import ReplicaKey
from tests.evidence.recordings.cluster_recording import (
    Cluster,
    leader_with_a_value,
    opening,
    value,
    voters_record,
)

Line = dict[str, Any]

#: The place of a message's only partition in its topics.
PARTITION = (0, "partitions", 0)
Steps = dict[str, Line]
Given = Callable[[], tuple[Cluster, Steps]]
Corrupt = Callable[[Cluster, Steps], Line]


def fresh() -> tuple[Cluster, Steps]:
    """Three voters have started."""
    return Cluster(), {}


def elected() -> tuple[Cluster, Steps]:
    """Voter 1 leads epoch 1 by the vote of voter 2."""
    cluster = Cluster()
    return cluster, cluster.elect(1, 2)


def alone() -> tuple[Cluster, Steps]:
    """A quorum of one, which leads epoch 1 and has committed its first record."""
    cluster = Cluster(voters=(1,))
    elect_alone(cluster)
    return cluster, {}


def with_observer() -> tuple[Cluster, Steps]:
    """As leader_with_a_value, and 101 is an observer."""
    return leader_with_a_value(observers=(101,))


def elect_alone(cluster: Cluster) -> None:
    """Voter 1 becomes Leader of epoch 1 without an election."""
    cluster.step(1, file=cluster.file(1, leader=1), changes={"state": "Leader", "leader": 1, "epoch": 1})
    cluster.applies(
        cluster.step(1, log=cluster.append(1, opening(0, 1, 1)), changes={"hw": 1}), cluster.logs[1][0]
    )


def candidate(cluster: Cluster, node: int, epoch: int) -> None:
    """``node`` becomes Candidate of ``epoch`` without an election."""
    if cluster.states[node]["epoch"] < epoch - 1:
        cluster.step(node, changes={"epoch": epoch - 1}, file=cluster.file(epoch - 1))
    cluster.step(node, changes={"state": "Prospective", "leader": -1})
    file, voted = cluster.file(epoch, voted=node), cluster.key(node)
    state(cluster, node, "Candidate", file, epoch=epoch, voted=voted)


def leader(cluster: Cluster, node: int, epoch: int) -> Line:
    """``node`` becomes Leader of ``epoch``."""
    file = cluster.file(epoch, leader=node)
    return state(cluster, node, "Leader", file, leader=node, voted=None, hw=-1, progress={})


def led_after_candidate(cluster: Cluster, epoch: int) -> Line:
    """Voter 3 becomes Candidate and Leader of ``epoch`` without an election."""
    candidate(cluster, 3, epoch)
    return leader(cluster, 3, epoch)


def state(cluster: Cluster, node: int, role: str, file: Line | None = None, **changes: Any) -> Line:
    """A step after which ``node`` shows another state."""
    return cluster.step(node, file=file, changes={"state": role, **changes})


def appends(cluster: Cluster, batch: Line, **changes: Any) -> Line:
    """A step in which the leader 1 appends ``batch``."""
    return cluster.step(1, log=cluster.append(1, batch), changes=changes)


def changed(line: Line, *path: Any, to: Any) -> Line:
    """``line`` with another value at ``path``."""
    *around, last = path
    part: Any = line
    for key in around:
        part = part[key]
    part[last] = to
    return line


def grants_second_vote(cluster: Cluster, **asked: Any) -> Line:
    """Voter 2, which follows, grants a vote of 3."""
    request = cluster.vote(3, 2, replicaEpoch=1, lastOffset=9, lastOffsetEpoch=1, **asked)
    cluster.step(3, out=[request])
    return cluster.receive(2, request, out=[cluster.vote_answer(2, 3, request)])


#: Every case by name: the properties, the recording before, and the change, which returns the guilty line.
CASES: dict[str, tuple[frozenset[str], Given, Corrupt]] = {}


def violates(*properties: str, given: Given = leader_with_a_value) -> Callable[[Corrupt], Corrupt]:
    """A recording that violates exactly these properties."""

    def remember(corrupt: Corrupt) -> Corrupt:
        CASES[corrupt.__name__] = (frozenset(properties), given, corrupt)
        return corrupt

    return remember


# One step changed or added.


@violates("SingleLeaderPerEpoch", "SingleKnownLeaderPerEpoch", given=elected)
def second_leader(cluster: Cluster, _: Steps) -> Line:
    return led_after_candidate(cluster, 1)


@violates("VotedOncePerEpoch", "SelfVoteSurvivesRestart")
def second_vote(cluster: Cluster, _: Steps) -> Line:
    """The request alone is a vote of 3 for itself that was never stored."""
    return grants_second_vote(cluster)


@violates("VotedOncePerEpoch", given=elected)
def vote_granted_before_it_is_stored(cluster: Cluster, steps: Steps) -> Line:
    return changed(steps["granted"], "persist", to=[cluster.file(1)])


@violates("VoteKeptWithinEpoch")
def vote_forgotten(cluster: Cluster, _: Steps) -> Line:
    return cluster.step(2, changes={"voted": None})


@violates("RecordIdentity", "HighWatermarkOnMajority")
def another_record(_cluster: Cluster, steps: Steps) -> Line:
    """Voter 2 gets another record than the leader has, so the leader's is on no majority."""
    return changed(steps["first takes"], "data", "responses", *PARTITION, "batches", to=[value(1, 1, 8)])


@violates("LogEpochsMonotone")
def record_of_a_later_epoch(cluster: Cluster, _: Steps) -> Line:
    return appends(cluster, value(2, 2, 9))


@violates("LogEpochsMonotone")
def state_with_a_record_of_a_later_epoch(cluster: Cluster, _: Steps) -> Line:
    return cluster.step(2, changes={"lastEpoch": 2})


@violates("TruncationKeepsCommonPrefix")
def truncation_of_nothing(_cluster: Cluster, steps: Steps) -> Line:
    return changed(steps["second takes"], "log", to=[{"op": "truncate", "to": 2}])


@violates("AcknowledgedIsDurable")
def fetch_before_the_flush(_cluster: Cluster, steps: Steps) -> Line:
    steps["first takes"]["log"].pop()
    return steps["second serves"]


@violates("LeaderCompleteness")
def leader_without_committed_records(cluster: Cluster, _: Steps) -> Line:
    return led_after_candidate(cluster, 2)


@violates("OwnTailCountsWhenFlushed")
def high_watermark_above_the_flushed_log(_cluster: Cluster, steps: Steps) -> Line:
    steps["appends"]["log"].pop()
    return steps["second serves"]


@violates("StateMachineSafety")
def another_value_applied(_cluster: Cluster, steps: Steps) -> Line:
    return changed(steps["second takes"], "cb", 0, "values", to=[8])


@violates("HighWatermarkMonotone")
def high_watermark_lowered(cluster: Cluster, _: Steps) -> Line:
    return cluster.step(1, changes={"hw": 1})


@violates("HighWatermarkOnMajority")
def high_watermark_of_one(cluster: Cluster, _: Steps) -> Line:
    return appends(cluster, value(2, 1, 9), hw=3)


@violates("RemovedLeaderDoesNotCount")
def removed_leader_counts_itself(cluster: Cluster, _: Steps) -> Line:
    rest = cluster.voters[1:]
    return appends(cluster, voters_record(2, 1, rest), voters=rest, votersOffset=2, isVoter=False, hw=3)


@violates("SnapshotIsCommittedPrefix")
def prefix_deleted_without_a_snapshot(cluster: Cluster, _: Steps) -> Line:
    return cluster.step(1, changes={"snapshot": [1, 1], "logStart": 2})


@violates("OneVoterChangeAtATime")
def two_voters_removed(cluster: Cluster, _: Steps) -> Line:
    return appends(cluster, voters_record(2, 1, cluster.voters[:1]))


@violates("VoterChangeNeedsOwnEpochCommit", given=elected)
def voter_change_before_a_commit(cluster: Cluster, _: Steps) -> Line:
    return appends(cluster, voters_record(1, 1, cluster.voters[:2]))


@violates("VoterSetNotEmpty", given=alone)
def last_voter_removed(cluster: Cluster, _: Steps) -> Line:
    return appends(cluster, voters_record(1, 1, []))


@violates("KRaftVersionMonotone")
def kraft_version_lowered(cluster: Cluster, _: Steps) -> Line:
    return cluster.step(1, changes={"kraftVersion": 0})


@violates("WipedReplicaIsAnother", given=elected)
def vote_of_a_lost_disk(_cluster: Cluster, steps: Steps) -> Line:
    return changed(steps["granted"], "data", "topics", *PARTITION, "voterDirectoryId", to="lost")


@violates("WipedReplicaIsAnother")
def fetch_of_another_disk_counts(_cluster: Cluster, steps: Steps) -> Line:
    return changed(steps["second serves"], "data", "topics", *PARTITION, "replicaDirectoryId", to="another")


@violates("DescribeTimesMonotone")
def fetch_in_the_future(_cluster: Cluster, steps: Steps) -> Line:
    return changed(steps["second serves"], "s", "progress", "2", 1, to=10**6)


@violates("PreVoteGrantHasNoEffect", given=elected)
def pre_vote_recorded(cluster: Cluster, steps: Steps) -> Line:
    return changed(steps["pre-granted"], "s", "voted", to=cluster.key(1))


@violates("FetchingFollowerRejectsPreVote")
def pre_vote_of_a_fetching_follower(cluster: Cluster, _: Steps) -> Line:
    return grants_second_vote(cluster, preVote=True)


@violates("CandidateOnlyFromProspective", "TransitionsLegal", given=fresh)
def candidate_at_once(cluster: Cluster, _: Steps) -> Line:
    return state(cluster, 3, "Candidate", cluster.file(1, voted=3), epoch=1, voted=cluster.key(3))


@violates("ObserversStandNoElection", "TransitionsLegal", given=with_observer)
def observer_stands(cluster: Cluster, _: Steps) -> Line:
    return state(cluster, 101, "Prospective")


@violates("ResignedLeavesItsEpoch", given=fresh)
def follower_of_itself(cluster: Cluster, _: Steps) -> Line:
    return state(cluster, 2, "Follower", cluster.file(1, leader=2), epoch=1, leader=2)


@violates("EpochMonotone")
def older_epoch_written(cluster: Cluster, _: Steps) -> Line:
    return cluster.step(2, file=cluster.file(0))


@violates("EpochMonotone", "TransitionsLegal")
def epoch_lowered(cluster: Cluster, _: Steps) -> Line:
    return state(cluster, 2, "Unattached", epoch=0, leader=-1, lastEpoch=0)


@violates("TransitionsLegal")
def leader_turns_prospective(cluster: Cluster, _: Steps) -> Line:
    return state(cluster, 1, "Prospective", progress=None)


@violates("NoFatal")
def exception_ends_the_process(cluster: Cluster, _: Steps) -> Line:
    return cluster.end(2, "fatal", exception="java.lang.IllegalStateException: why")


# More steps.


@violates("SingleKnownLeaderPerEpoch")
def another_known_leader(cluster: Cluster, steps: Steps) -> Line:
    steps["follows"]["s"]["leader"] = 3
    return changed(steps["follows"], "persist", 0, to=cluster.file(1, leader=3, voted=1))


@violates("SelfVoteSurvivesRestart", given=elected)
def candidate_without_a_stored_vote(cluster: Cluster, steps: Steps) -> Line:
    steps["wins"]["persist"] = [cluster.file(1)]
    return steps["runs"]


@violates("SelfVoteSurvivesRestart", "VotedOncePerEpoch", "VoteKeptWithinEpoch", given=fresh)
def candidate_that_votes_for_another(cluster: Cluster, _: Steps) -> Line:
    candidate(cluster, 2, 1)
    request = cluster.vote(3, 2, replicaEpoch=1)
    answer = cluster.vote_answer(2, 3, request)
    return cluster.receive(2, request, out=[answer], file=cluster.file(1, voted=3))


@violates("NoReturnAfterLeading", "ResignedLeavesItsEpoch", "TransitionsLegal", given=elected)
def leader_again(cluster: Cluster, _: Steps) -> Line:
    cluster.end(1)
    cluster.start(1, "Resigned", leader=1)
    return leader(cluster, 1, 1)


@violates("NoReturnAfterLeading", "EpochMonotone", "LogEpochsMonotone", "TransitionsLegal")
def leader_again_after_an_earlier_epoch(cluster: Cluster, _: Steps) -> Line:
    state(cluster, 1, "Unattached", epoch=0, leader=-1, progress=None)
    return state(cluster, 1, "Leader", epoch=1, leader=1, progress={})


@violates("SingleKnownLeaderPerEpoch", "EpochMonotone", "LogEpochsMonotone", "TransitionsLegal")
def another_leader_after_an_earlier_epoch(cluster: Cluster, _: Steps) -> Line:
    state(cluster, 1, "Unattached", epoch=0, leader=-1, progress=None)
    return state(cluster, 1, "Follower", epoch=1, leader=3)


@violates("LogMatching")
def another_prefix(cluster: Cluster, _: Steps) -> Line:
    cluster.follow(3, 1)
    request = cluster.fetch(3, 1)
    cluster.step(3, out=[request])
    answer = cluster.fetch_answer(1, 3, request, [value(1, 1, 7)])
    cluster.receive(1, request, out=[answer])
    return cluster.receive(3, answer, log=[{"op": "append", "by": "follower", "base": 0, "end": 2}])


@violates("TruncationKeepsCommonPrefix")
def truncation_of_common_records(cluster: Cluster, _: Steps) -> Line:
    appends(cluster, value(2, 1, 9))
    cluster.replicate(2, 1)
    return changed(cluster.replicate(2, 1)["takes"], "log", to=[{"op": "truncate", "to": 2}])


@violates("NoTruncationBelowHighWatermark")
def truncation_of_committed_records(cluster: Cluster, _: Steps) -> Line:
    cluster.logs[2].pop()
    return cluster.step(2, log=[{"op": "truncate", "to": 1}])


@violates("AcknowledgedIsDurable")
def flushed_records_lost(cluster: Cluster, _: Steps) -> Line:
    cluster.end(2)
    cluster.logs[2].pop()
    return cluster.start(2, "Follower", leader=1, voted=cluster.key(1))


@violates("QuorumStateIsAtomic")
def file_lost(cluster: Cluster, _: Steps) -> Line:
    cluster.end(2)
    cluster.files[2] = cluster.file(1, leader=1)
    return cluster.start(2, "Follower", leader=1)


@violates("LeaderCompleteness", "CommittedSurvivesVoterChanges")
def leader_without_committed_records_after_voter_changes(cluster: Cluster, _: Steps) -> Line:
    for voters in (cluster.voters, cluster.voters[:2]):
        end = len(cluster.logs[1])
        appends(cluster, voters_record(end, 1, voters))
        cluster.replicate(2, 1)
        cluster.replicate(2, 1, high_watermark=end + 1)
    return led_after_candidate(cluster, 2)


@violates("CommitNeedsOwnEpoch")
def high_watermark_without_a_record_of_the_epoch(cluster: Cluster, _: Steps) -> Line:
    return changed(cluster.elect(2, 3)["leads"], "s", "hw", to=2)


@violates("OwnTailCountsWhenFlushed", given=alone)
def power_lost_between_commit_and_flush(cluster: Cluster, _: Steps) -> Line:
    appended = cluster.append(1, value(1, 1, 7))[:1]
    line = cluster.end(1, "crash:preFlush", log=appended, powerLoss=True)
    cluster.applies(line, cluster.logs[1][1])
    return line


@violates("StateMachineSafety")
def applied_before_it_is_committed(cluster: Cluster, _: Steps) -> Line:
    line = appends(cluster, value(2, 1, 9))
    cluster.applies(line, cluster.logs[1][2])
    return line


@violates("StateMachineSafety")
def high_watermark_that_no_leader_had(cluster: Cluster, _: Steps) -> Line:
    appends(cluster, value(2, 1, 9))
    cluster.replicate(2, 1)
    return cluster.step(2, changes={"hw": 3})


@violates("StateMachineSafety", "OwnTailCountsWhenFlushed")
def last_step_applies_beyond_the_log(cluster: Cluster, _: Steps) -> Line:
    line = cluster.end(1)
    cluster.applies(line, value(2, 1, 9))
    return line


@violates("SnapshotIsCommittedPrefix")
def snapshot_above_the_high_watermark(cluster: Cluster, _: Steps) -> Line:
    appends(cluster, value(2, 1, 9))
    return cluster.step(1, changes={"snapshot": [3, 1]})


@violates("VoterChangeAcknowledgedWhenCommitted")
def voter_change_answered_on_append(cluster: Cluster, _: Steps) -> Line:
    request = cluster.message(-1, 1, RemoveRaftVoterRequest(ReplicaKey(*cluster.key(3))))
    cluster.receive(1, request)
    answer = cluster.message(1, -1, RemoveRaftVoterResponse(), request)
    rest = cluster.voters[:2]
    log = cluster.append(1, voters_record(2, 1, rest))
    return cluster.step(1, log=log, out=[answer], changes={"voters": rest, "votersOffset": 2})


@violates("ObserversDoNotCount", given=with_observer)
def fetch_of_an_observer_counts(cluster: Cluster, _: Steps) -> Line:
    cluster.follow(101, 1)
    return changed(cluster.replicate(101, 1)["serves"], "s", "deadlines", to={"checkQuorum": 9000})


@violates("VoteComparesEpochFirst")
def vote_for_a_shorter_log(cluster: Cluster, _: Steps) -> Line:
    candidate(cluster, 3, 2)
    request = cluster.vote(3, 1)
    cluster.step(3, out=[request])
    changes = {"state": "Unattached", "epoch": 2, "leader": -1, "voted": cluster.key(3), "progress": None}
    answer = cluster.vote_answer(1, 3, request)
    return cluster.receive(1, request, out=[answer], file=cluster.file(2, voted=3), changes=changes)


@violates("PreVoteCreatesNoEpoch", "TransitionsLegal", given=elected)
def epoch_raised_for_a_pre_vote(cluster: Cluster, steps: Steps) -> Line:
    steps["asks"]["persist"] = [cluster.file(1)]
    return changed(steps["asks"], "s", "epoch", to=1)


@violates("ResignedLeavesItsEpoch", "TransitionsLegal")
def resigned_stays_in_its_epoch(cluster: Cluster, _: Steps) -> Line:
    state(cluster, 1, "Resigned", progress=None)
    return state(cluster, 1, "Unattached", leader=-1)
