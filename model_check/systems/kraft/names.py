"""The names of the properties that the checker judges, as ``spec/properties.toml`` has them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from kraftcheck.spec import load
from kraftcheck.systems.property_names import PropertyNames

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
FAST_HAND_OVER = "GracefulHandOverIsFast"
NO_FATAL = "NoFatal"
TRANSITIONS_LEGAL = "TransitionsLegal"
CHECK_QUORUM_NEEDS_MAJORITY = "CheckQuorumNeedsMajority"
RESIGNED_KEEPS_NOBODY_WAITING = "ResignedKeepsNobodyWaiting"
SNAPSHOT_IS_COMMITTED = "SnapshotIsCommittedPrefix"
ONE_CHANGE_AT_A_TIME = "OneVoterChangeAtATime"
CHANGE_NEEDS_COMMIT = "VoterChangeNeedsOwnEpochCommit"
COMMITTED_SURVIVES_CHANGES = "CommittedSurvivesVoterChanges"
REMOVED_LEADER_DOES_NOT_COUNT = "RemovedLeaderDoesNotCount"
ADDED_VOTER_IS_READY = "AddedVoterIsReady"
WIPED_REPLICA_IS_ANOTHER = "WipedReplicaIsAnother"
VOTER_SET_NOT_EMPTY = "VoterSetNotEmpty"
APPEND_IS_COMMITTED = "AcknowledgedAppendIsCommitted"
CHANGE_ACKNOWLEDGED_WHEN_COMMITTED = "VoterChangeAcknowledgedWhenCommitted"
KRAFT_VERSION_MONOTONE = "KRaftVersionMonotone"
CHANGE_ANSWERED = "VoterChangeIsAnswered"
CHANGE_AS_ASKED = "VoterChangeIsAsAsked"
REFUSAL_TELLS_COMMITTED_SET = "RefusalTellsCommittedSet"
VOTERS_OF_THE_LOG = "VotersOfTheLog"
REFUSAL_IS_UP_TO_DATE = "RefusalIsUpToDate"
ALTER_REACHES_TARGET = "AlterQuorumReachesItsTarget"
DESCRIBE_TIMES_MONOTONE = "DescribeTimesMonotone"
DESCRIPTION_IS_THE_LEADERS = "DescriptionIsTheLeaders"
QUORUM_STATE_IS_ATOMIC = "QuorumStateIsAtomic"

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
    CHECK_QUORUM_NEEDS_MAJORITY,
    RESIGNED_KEEPS_NOBODY_WAITING,
    QUORUM_STATE_IS_ATOMIC,
)

#: Judged additionally where the voter set may change or snapshots are taken.
VOTER_CHANGES = (
    SNAPSHOT_IS_COMMITTED,
    ONE_CHANGE_AT_A_TIME,
    CHANGE_NEEDS_COMMIT,
    COMMITTED_SURVIVES_CHANGES,
    REMOVED_LEADER_DOES_NOT_COUNT,
    ADDED_VOTER_IS_READY,
    WIPED_REPLICA_IS_ANOTHER,
    VOTER_SET_NOT_EMPTY,
    APPEND_IS_COMMITTED,
    CHANGE_ACKNOWLEDGED_WHEN_COMMITTED,
    KRAFT_VERSION_MONOTONE,
    CHANGE_ANSWERED,
    CHANGE_AS_ASKED,
    REFUSAL_TELLS_COMMITTED_SET,
    VOTERS_OF_THE_LOG,
    ALTER_REACHES_TARGET,
)

#: Judged where the admin client sends DescribeQuorum; the first only where clocks run.
DESCRIPTIONS = (DESCRIBE_TIMES_MONOTONE, DESCRIPTION_IS_THE_LEADERS)

#: Judged where a scenario asks for it: they hold only while the leader of the initial state keeps a majority.
#: The first is violated when that leader is deposed or another one elected, the second by any new epoch.
#: The third holds only while there is no leader of an old epoch.
ON_REQUEST = (STABLE_LEADERSHIP, REMOVED_VOTER_DISTURBS_NOBODY, REFUSAL_IS_UP_TO_DATE)

#: The goals by which an *eventually* property may be judged.
EVENTUALLY: Mapping[str, tuple[str, ...]] = {
    "LeaderEventuallyElected": ("a-leader", "all-follow-one-leader"),
    "ProspectiveEventuallyLeaves": ("all-follow-one-leader",),
    "LeaderWithoutMajorityStepsDown": ("no-leader-of-epoch-1",),
    "VotersEventuallyLearnLeader": ("all-follow-one-leader",),
    FAST_HAND_OVER: ("a-leader",),
    "MixedVersionsElect": ("a-leader",),
    "RemovedVoterEventuallyObserver": ("no-outdated-voter",),
    "LeaderRemovalCompletes": ("no-leader-outside-voters",),
    "ElectableAfterUnseenVoterChange": ("a-leader",),
    "VoterChangeEventuallySettled": ("no-change-pending", "no-alteration-pending"),
    "FollowerEventuallyCatchesUp": ("all-caught-up", "high-watermark-known"),
    "StaleLeaderEventuallyLearns": ("no-stale-leader",),
    "AppendEventuallyAnswered": ("no-append-waits",),
    "LeadershipEventuallyStable": ("leadership-settled", "leadership-stays"),
}

GOAL_LEADER_ELECTED = "GoalLeaderElected"
GOAL_COMMITTED = "GoalRecordCommitted"
GOAL_VALUE_COMMITTED = "GoalValueCommitted"
GOAL_TRUNCATED = "GoalDivergenceTruncated"
GOAL_VOTER_ADDED = "GoalVoterAdded"
GOAL_VOTER_REMOVED = "GoalVoterRemoved"
GOAL_REMOVED_LEADER_REPLACED = "GoalRemovedLeaderReplaced"
GOAL_CHANGE_REVERTED = "GoalVoterChangeReverted"
GOAL_CHANGE_OUTLIVES_TIMEOUT = "GoalVoterChangeOutlivesTimeout"
GOAL_SNAPSHOT_LOADED = "GoalSnapshotLoaded"
GOAL_DISK_REPLACED = "GoalDiskReplaced"
GOAL_AUTO_JOINED = "GoalAutoJoined"
GOAL_KRAFT_VERSION_UPGRADED = "GoalKRaftVersionUpgraded"
GOAL_TOLD_DUPLICATE_VOTER = "GoalToldDuplicateVoter"
GOAL_TOLD_VOTER_NOT_FOUND = "GoalToldVoterNotFound"
GOAL_VOTER_OBSERVES_AGAIN = "GoalVoterObservesAgain"
GOAL_VOTERS_FROM_SNAPSHOT = "GoalVotersFromSnapshot"
GOAL_DOWNLOAD_ABANDONED = "GoalDownloadAbandoned"
GOAL_LEADS_BY_SNAPSHOT = "GoalLeadsByVotersOfSnapshot"
GOAL_QUORUM_ALTERED = "GoalQuorumAltered"
GOAL_ALTERATION_CANCELLED = "GoalAlterationCancelled"
GOAL_QUORUM_DESCRIBED = "GoalQuorumDescribed"
GOAL_TOLD_LAGGING = "GoalToldLagging"
GOAL_OBSERVER_FORGOTTEN = "GoalObserverForgotten"
GOAL_VOTER_UPDATED = "GoalVoterUpdated"

GOALS = tuple(value for name, value in list(vars().items()) if name.startswith("GOAL_"))


def transition_goal(source: str, target: str) -> str:
    """The goal that a transition of the spec's table is taken."""
    return f"{source}->{target}"


@cache
def transition_goals() -> frozenset[str]:
    """The goals that transitions are."""
    return frozenset(transition_goal(row.from_state, row.to_state) for row in load().transitions)


#: The names that scenarios of replicas may use.
NAMES = PropertyNames(ALWAYS, VOTER_CHANGES + DESCRIPTIONS + ON_REQUEST, EVENTUALLY, GOALS, transition_goals)
