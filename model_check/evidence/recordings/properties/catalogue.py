"""Which properties of the catalogue a recorded run is judged by, and why not by the others."""

from __future__ import annotations

from functools import cache

from kraftcheck import spec

#: Judged on recordings, and what exactly is looked at.
JUDGED: dict[str, str] = {
    "SingleLeaderPerEpoch": "every state Leader, by replica and directory id",
    "SingleKnownLeaderPerEpoch": "the leader in every state and every write of the quorum-state file",
    "VotedOncePerEpoch": "votes granted, asked for and stored; a vote is stored before it is granted",
    "SelfVoteSurvivesRestart": "votes granted by a former candidate; its own vote is stored before it asks",
    "VoteKeptWithinEpoch": "the vote in states and in the quorum-state file, restarts included",
    "NoReturnAfterLeading": "states Leader and votes after the end of a leadership",
    "RecordIdentity": "every batch appended anywhere in the run, also those lost since",
    "EpochMonotone": "states and files, restarts included; the file is never behind the state",
    "LogEpochsMonotone": "every append, and the last epoch in every state",
    "LogMatching": "every log of the run at any time, also those truncated since",
    "TruncationKeepsCommonPrefix": "every truncation, against the leader's log when it sent its answer",
    "LeaderCompleteness": "the log of every new leader, against the longest prefix ever committed",
    "VoteComparesEpochFirst": "every vote and pre-vote granted",
    "CommitNeedsOwnEpoch": "the epoch of the last record below a leader's high watermark",
    "AcknowledgedIsDurable": "fetches that a leader counts, against what their sender had flushed; "
    "the log found at a start, against what was flushed",
    "OwnTailCountsWhenFlushed": "a leader's high watermark after a step, and what it applies before a crash",
    "StateMachineSafety": "everything given to a state machine, and every prefix below a high watermark",
    "HighWatermarkMonotone": "every change of a high watermark, and the first one of every leadership",
    "HighWatermarkOnMajority": "the logs of all voters when a leader raises its high watermark",
    "ObserversDoNotCount": "what a leader changes on a fetch of a replica that is no voter",
    "NoTruncationBelowHighWatermark": "every truncation",
    "SnapshotIsCommittedPrefix": "offset and epoch of every snapshot, the log start, and the state loaded",
    "OneVoterChangeAtATime": "every voter set that a leader appends",
    "VoterChangeNeedsOwnEpochCommit": "every voter set that a leader appends",
    "CommittedSurvivesVoterChanges": "as LeaderCompleteness, where voter sets have changed before",
    "RemovedLeaderDoesNotCount": "as HighWatermarkOnMajority, of a leader that is no voter",
    "WipedReplicaIsAnother": "the directory id in votes granted and in fetches that a leader counts",
    "VoterSetNotEmpty": "every voter set that a leader appends",
    "PreVoteCreatesNoEpoch": "steps that handle or send a pre-vote, and every change to Prospective",
    "PreVoteGrantHasNoEffect": "state, file and log around every pre-vote granted",
    "CandidateOnlyFromProspective": "the role before every state Candidate",
    "ObserversStandNoElection": "every change of role of a replica that is no voter",
    "ResignedLeavesItsEpoch": "every change of role",
    "FetchingFollowerRejectsPreVote": "every pre-vote granted; a fetch counts if the leader found no error",
    "VoterChangeAcknowledgedWhenCommitted": "every answer that reports success of a voter change",
    "KRaftVersionMonotone": "kraft.version in every state, and under every change of the voter set",
    "QuorumStateIsAtomic": "the file found at a start, against the last write",
    "DescribeTimesMonotone": "the times in a leader's progress, by its own clock",
    "NoFatal": "every process that ends by an exception",
    "TransitionsLegal": "every change of role between two recorded steps; one step may take two transitions",
}

#: The goals of the catalogue: the report says which ones a run does not reach.
GOALS = ("GoalLeaderElected", "GoalRecordCommitted", "GoalDivergenceTruncated", "GoalValueCommitted")

_EVENTUALLY = "a run that ends cannot refute what must hold sooner or later"
_BY_RULES = "the list of rules that a run exercised tells whether it happened"
_BROKERS = "recordings show the raft module only, not brokers and the controller above it"
_HEALTHY = "it speaks of a leader that a majority fetches from all the while, which a recording does not tell"

#: Not judged on recordings, and why.
NOT_JUDGED: dict[str, str] = {
    "AddedVoterIsReady": "it needs when the new voter had caught up, which no line shows",
    "RemovedVoterDisturbsNobody": _HEALTHY,
    "ReturningReplicaDeposesNobody": _HEALTHY,
    "AcknowledgedAppendIsCommitted": "a recording shows the offset of an append, not what its client is told",
    "AlterQuorumReachesItsTarget": "no release has this request",
}


@cache
def why_not(name: str) -> str | None:
    """Why a property of the catalogue is not judged on recordings; ``None``: it is judged, or a goal."""
    if name in JUDGED or name in GOALS:
        return None
    if name in NOT_JUDGED:
        return NOT_JUDGED[name]
    found = next(each for each in spec.load().properties.values() if each.name == name)
    if found.id.startswith("B-") or name in (
        "BrokerLivenessEventuallyKnown",
        "PartitionedBrokerEventuallyFenced",
    ):
        return _BROKERS
    return _BY_RULES if found.kind == "sometimes" else _EVENTUALLY
