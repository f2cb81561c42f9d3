"""Why a process exits or a call is refused: the places where Apache Kafka throws, each with a stable name and
a sentence.
"""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """A reason. Its value is its name in files; ``sentence`` says it to people, and nothing depends on its
    wording.
    """

    sentence: str

    def __new__(cls, name: str, sentence: str) -> Reason:
        reason = object.__new__(cls)
        reason._value_ = name
        reason.sentence = sentence
        return reason


class RefusalReason(Reason):
    """The reason of a :class:`~kraftcheck.reference.effects.CallFailed`."""

    NOT_LEADER = "not-leader", "the replica does not lead the epoch that the call names"
    VERSION_DECREASES = "version-decreases", "kraft.version cannot go back to a smaller level"
    VERSION_NOT_SUPPORTED = "version-not-supported", "a voter does not support this level of kraft.version"
    SNAPSHOT_NOT_COMMITTED = "snapshot-not-committed", "no snapshot can end after the committed records"
    SNAPSHOT_OFF_BATCHES = (
        "snapshot-off-batches",
        "no snapshot can end there: no batch of the log ends at this offset with this epoch",
    )
    SNAPSHOT_OF_ASSIGNMENTS = "snapshot-of-assignments", "no snapshot can say what voter assignments say"


class FatalReason(Reason):
    """The reason of a :class:`~kraftcheck.reference.effects.Fatal`. Its sentence has fields of ``Fatal`` in
    braces.
    """

    # Disks.
    UNKNOWN_FILE_VERSION = (
        "unknown-file-version",
        "a file of the metadata directory has a version that this software does not know",
    )
    NO_DIRECTORY_ID = "no-directory-id", "the id of the metadata directory is the zero UUID"

    # Elections.
    CANDIDATE_NOT_VOTER = "candidate-not-voter", "a Candidate must be a voter"
    VOTE_FROM_NON_VOTER = "vote-from-non-voter", "node {replica} answered a vote but is not a voter"
    VOTE_CHANGED = "vote-changed", "the vote of {replica} changed within one candidacy"
    VOTER_WITHOUT_ENDPOINT = "voter-without-endpoint", "no endpoint is known for voter {replica}"
    INVALID_REQUEST = "invalid-request", "node {replica} found a request invalid"
    NOT_AUTHORIZED = "not-authorized", "the cluster refuses to authorize this replica"

    # Leaders and epochs.
    CONFLICTING_LEADER = (
        "conflicting-leader",
        "a message names replica {replica} as leader of epoch {epoch}; this replica is in epoch "
        "{known_epoch} and knows {known_leader} there",
    )
    LEADER_WITHOUT_ENDPOINTS = "leader-without-endpoints", "the endpoints of leader {replica} are not known"
    ACKNOWLEDGED_BY_NON_VOTER = (
        "acknowledged-by-non-voter",
        "node {replica} acknowledged the leader but is not a voter",
    )
    RESIGNATION_ACKNOWLEDGED_BY_NON_VOTER = (
        "resignation-acknowledged-by-non-voter",
        "node {replica} acknowledged the resignation but is not a voter",
    )
    END_RESPONSE_AT_NON_RESIGNED = (
        "end-response-at-non-resigned",
        "an answer to EndQuorumEpoch from {replica} reached a replica that has not resigned",
    )
    VOTER_WITHOUT_DIRECTORY = (
        "voter-without-directory",
        "a voter that supports kraft.version 1 has no directory id",
    )

    # Transitions between roles.
    ILLEGAL_TRANSITION = "illegal-transition", "illegal transition from {source} to {target}"
    UNATTACHED_IN_EPOCH = "unattached-in-epoch", "cannot become Unattached in epoch {epoch}"
    VOTE_FOR_ITSELF = "vote-for-itself", "a replica cannot grant its vote to itself"
    FOLLOWS_ITSELF = "follows-itself", "a replica cannot follow itself"
    FOLLOWS_SMALLER_EPOCH = "follows-smaller-epoch", "cannot follow in the smaller epoch {epoch}"
    LEADER_FOLLOWS = "leader-follows", "a leader cannot follow in its own epoch"
    ALREADY_FOLLOWS = "already-follows", "already follows with as many endpoints"
    OBSERVER_STARTS_ELECTION = "observer-starts-election", "an observer cannot start an election"
    OBSERVER_BECOMES_CANDIDATE = "observer-becomes-candidate", "an observer cannot become Candidate"
    LEADER_WITHOUT_VOTER_SET = (
        "leader-without-voter-set",
        "a new leader knows no voter set of its log, though kraft.version asks for one",
    )
    OBSERVER_BECOMES_LEADER = "observer-becomes-leader", "an observer cannot become Leader"
    CANNOT_BECOME = "cannot-become", "cannot become {target} from {source}"
    NOT_LEADER_RESIGNS = "not-leader-resigns", "only a leader resigns, not {source}"

    # Replication.
    FETCH_RESPONSE_AT_NON_FOLLOWER = (
        "fetch-response-at-non-follower",
        "a Fetch response of the current epoch reached a replica that is no Follower",
    )
    DIVERGES_BELOW_HIGH_WATERMARK = (
        "diverges-below-high-watermark",
        "a response says to truncate to {offset}, below the high watermark {high_watermark}",
    )
    TRUNCATES_BELOW_HIGH_WATERMARK = (
        "truncates-below-high-watermark",
        "would truncate to {offset}, below the high watermark {high_watermark}",
    )
    BATCH_BEFORE_END = "batch-before-end", "a batch at {offset} begins before the end of the log"
    HIGH_WATERMARK_FALLS = (
        "high-watermark-falls",
        "the high watermark would fall from {high_watermark} to {offset}",
    )

    # Snapshots, voter changes and descriptions.
    SNAPSHOT_AT_NON_FOLLOWER = (
        "snapshot-at-non-follower",
        "a part of a snapshot reached a replica that is no Follower",
    )
    SNAPSHOT_NOT_ASKED_FOR = (
        "snapshot-not-asked-for",
        "a part of snapshot {snapshot} from {position} on was not asked for",
    )
    SNAPSHOT_DIFFERS = "snapshot-differs", "the bytes of snapshot {snapshot} are not that snapshot"
    SNAPSHOT_OLDER_THAN_LOG = "snapshot-older-than-log", "snapshot {snapshot} is older than the log"
    MEMBERSHIP_RESPONSE_AT_NON_FOLLOWER = (
        "membership-response-at-non-follower",
        "an answer about the own membership reached a replica that is no Follower",
    )
    UNEXPECTED_DESCRIPTION = (
        "unexpected-description",
        "only clients ask for DescribeQuorum, so no replica expects its answer",
    )

    def __repr__(self) -> str:
        return self.name
