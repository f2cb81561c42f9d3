"""The names of the properties that the checker judges, as ``spec/properties.toml`` has them."""

from __future__ import annotations

SINGLE_LEADER = "SingleLeaderPerEpoch"
SINGLE_KNOWN_LEADER = "SingleKnownLeaderPerEpoch"
VOTED_ONCE = "VotedOncePerEpoch"
SELF_VOTE_SURVIVES = "SelfVoteSurvivesRestart"
VOTE_KEPT = "VoteKeptWithinEpoch"
EX_LEADER_NEVER_LEADS_AGAIN = "NoReturnAfterLeading"
RECORD_IDENTITY = "RecordIdentity"
EPOCH_MONOTONE = "EpochMonotone"
LOG_EPOCHS_MONOTONE = "LogEpochsMonotone"
LOG_MATCHING = "LogMatching"
TRUNCATION_KEEPS_COMMITTED = "TruncationKeepsCommonPrefix"
LEADER_COMPLETENESS = "LeaderCompleteness"
VOTE_COMPARES_EPOCH_FIRST = "VoteComparesEpochFirst"
COMMITS_OWN_EPOCH = "CommitNeedsOwnEpoch"
ACKNOWLEDGED_IS_DURABLE = "AcknowledgedIsDurable"
OWN_TAIL_FLUSHED = "OwnTailCountsWhenFlushed"
STATE_MACHINE_SAFETY = "StateMachineSafety"
HIGH_WATERMARK_MONOTONE = "HighWatermarkMonotone"
HIGH_WATERMARK_ON_MAJORITY = "HighWatermarkOnMajority"
OBSERVERS_DO_NOT_COUNT = "ObserversDoNotCount"
NO_TRUNCATION_BELOW_HIGH_WATERMARK = "NoTruncationBelowHighWatermark"
PRE_VOTE_CREATES_NO_EPOCH = "PreVoteCreatesNoEpoch"
PRE_VOTE_HAS_NO_EFFECT = "PreVoteGrantHasNoEffect"
CANDIDATE_FROM_PROSPECTIVE = "CandidateOnlyFromProspective"
OBSERVERS_STAND_NO_ELECTION = "ObserversStandNoElection"
RESIGNED_LEAVES_ITS_EPOCH = "ResignedLeavesItsEpoch"
FETCHING_FOLLOWER_REJECTS = "FetchingFollowerRejectsPreVote"
REMOVED_VOTER_DISTURBS_NOBODY = "RemovedVoterDisturbsNobody"
STABLE_LEADERSHIP = "ReturningReplicaDeposesNobody"
NO_FATAL = "NoFatal"
TRANSITIONS_LEGAL = "TransitionsLegal"

#: Judged in every scenario unless it says otherwise.
ALWAYS = (
    SINGLE_LEADER,
    SINGLE_KNOWN_LEADER,
    VOTED_ONCE,
    SELF_VOTE_SURVIVES,
    VOTE_KEPT,
    EX_LEADER_NEVER_LEADS_AGAIN,
    RECORD_IDENTITY,
    EPOCH_MONOTONE,
    LOG_EPOCHS_MONOTONE,
    LOG_MATCHING,
    TRUNCATION_KEEPS_COMMITTED,
    LEADER_COMPLETENESS,
    VOTE_COMPARES_EPOCH_FIRST,
    COMMITS_OWN_EPOCH,
    ACKNOWLEDGED_IS_DURABLE,
    OWN_TAIL_FLUSHED,
    STATE_MACHINE_SAFETY,
    HIGH_WATERMARK_MONOTONE,
    HIGH_WATERMARK_ON_MAJORITY,
    OBSERVERS_DO_NOT_COUNT,
    NO_TRUNCATION_BELOW_HIGH_WATERMARK,
    PRE_VOTE_CREATES_NO_EPOCH,
    PRE_VOTE_HAS_NO_EFFECT,
    CANDIDATE_FROM_PROSPECTIVE,
    OBSERVERS_STAND_NO_ELECTION,
    RESIGNED_LEAVES_ITS_EPOCH,
    FETCHING_FOLLOWER_REJECTS,
    NO_FATAL,
    TRANSITIONS_LEGAL,
)

#: Judged where a scenario asks for it: they hold only while the leader of the initial state keeps a majority.
#: The first is violated when that leader is deposed or another one elected, the second by any new epoch.
ON_REQUEST = (STABLE_LEADERSHIP, REMOVED_VOTER_DISTURBS_NOBODY)

GOAL_LEADER_ELECTED = "GoalLeaderElected"
GOAL_COMMITTED = "GoalRecordCommitted"
GOAL_VALUE_COMMITTED = "GoalValueCommitted"
GOAL_TRUNCATED = "GoalDivergenceTruncated"

GOALS = (GOAL_LEADER_ELECTED, GOAL_COMMITTED, GOAL_VALUE_COMMITTED, GOAL_TRUNCATED)


def transition_goal(source: str, target: str) -> str:
    """The goal that a transition of the spec's table is taken."""
    return f"{source}->{target}"
