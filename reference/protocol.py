"""The protocol's variants: a frozen set of switches and the presets that name useful combinations.

Each switch is read in one place. What its values mean and which document argues for each:
``spec/variants.toml`` and ``spec/conflicts.toml``.
"""

from __future__ import annotations

from enum import Enum

from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.reference.types import ByteCount, Milliseconds, Positive


class StateMachine(Enum):
    """The state machine before KIP-996 (no Prospective) or after it."""

    PRE_KIP996 = "pre996"
    KIP996 = "kip996"


class FollowerPreVote(Enum):
    """When a Follower grants a pre-vote: until it has fetched from its leader, never, or by the log alone."""

    UNTIL_FETCHED = "until-fetched"
    NEVER = "never"
    BY_LOG = "by-log"


class FollowerVote(Enum):
    """Whether a Follower that fetches, or its leader, heeds a Vote request of a larger epoch (KIP-996)."""

    HEEDS = "heeds"
    REFUSES_WHILE_FETCHING = "refuses-while-fetching"


class PreVoteCompatibility(Enum):
    """How a Prospective finds out that a peer does not know pre-vote."""

    UNSUPPORTED_VERSION = "unsupported-version"
    RESPONSE_FLAG = "response-flag"


class CandidateLoss(Enum):
    """What a Candidate does that cannot win any more."""

    WAIT_REST = "wait-rest"
    EXPONENTIAL_BACKOFF = "exp-backoff"
    SEPARATE_BACKOFF = "separate-backoff"


class ProspectiveTimer(Enum):
    """The election timer of a Prospective that times out and becomes Unattached."""

    REMAINING = "remaining-timer"
    FRESH = "fresh-timer"


class ProspectiveLeader(Enum):
    """Which same-epoch leader claim makes a Prospective a Follower: any, only where none was known, or only
    the leader's own."""

    IF_UNKNOWN = "if-unknown"
    ANY = "any"
    ANNOUNCED = "announced"


class ReceiverKeyCheck(Enum):
    """Whether a request for another directory may raise the epoch before it is refused."""

    AFTER_EPOCH = "after-epoch"
    BEFORE_EPOCH = "before-epoch"


class BeginQuorumEpochResend(Enum):
    """Which voters hear BeginQuorumEpoch again: those that do not fetch, or all of them."""

    SILENT_VOTERS = "silent-voters"
    ALL_VOTERS = "all-voters"


class CandidateRestart(Enum):
    """When a replica that voted for itself resumes its candidacy: always, or only if no leader is stored."""

    OWN_VOTE = "own-vote"
    WITHOUT_LEADER = "without-leader"


class ControlRecords(Enum):
    """Whether control records are read once per offset, or also where they replace truncated ones."""

    ONCE = "once"
    READ_AGAIN = "read-again"


class HistoryTrim(Enum):
    """Which voter sets count as those up to a snapshot, of which only the last is kept: also one that begins
    at its end, or only those before.
    """

    THROUGH_END = "through-end"
    BEFORE_END = "before-end"


class VoteMemory(Enum):
    """Whether a replica keeps its vote when it learns the leader of that epoch, or only until then."""

    KEPT = "kept"
    UNTIL_LEADER = "until-leader"


class OnlyVoterRestart(Enum):
    """What an only voter does that starts as Candidate: it leads, or it exits after it has written that."""

    LEADS = "leads"
    EXITS = "exits"


class FetchSnapshotError(Enum):
    """What a Follower does about an error of FetchSnapshot other than SNAPSHOT_NOT_FOUND: it backs off, or
    takes the answer for data.
    """

    BACKS_OFF = "backs-off"
    READ_AS_DATA = "read-as-data"


class SnapshotBoundary(Enum):
    """Where a snapshot may end: at the end of a batch, or at any offset."""

    BATCH = "batch"
    ANY_OFFSET = "any-offset"


class FetchHighWatermark(Enum):
    """Whether fetchers report their high watermark and leaders answer when theirs moves (KIP-1166)."""

    REPORTED = "reported"
    NOT_REPORTED = "not-reported"


class ObserverAfterFetchTimeout(Enum):
    """Where an observer fetches after its fetch timeout: from its leader as before, or from bootstrap servers
    only.
    """

    BEST_NODE = "best-node"
    BOOTSTRAP_ONLY = "bootstrap-only"


class UpdateVoter(Enum):
    """Which voters send their entry to the leader by UpdateRaftVoter: static ones too, or only those of voter
    sets in the log. ``PROBED``: static ones too, and the leader first reaches the voter at its new endpoint.
    """

    REPORTED = "reported"
    APPENDED = "appended"
    PROBED = "probed"


class VoterMembership(Enum):
    """Whether Vote, BeginQuorumEpoch and EndQuorumEpoch are refused between non-voters (KIP-595 era)."""

    OFF = "off"
    ON = "on"


class CaughtUp(Enum):
    """When a fetch shows that a replica has caught up (KIP-836): at the leader's end offset, or beyond it."""

    AT_END = "at-end"
    BEYOND_END = "beyond-end"


class QuorumDescription(Enum):
    """What DescribeQuorum says of the leader: as Kafka does, or as the documents have it."""

    KAFKA = "kafka"
    DOCUMENTS = "documents"


class VoterChanges(Enum):
    """How voters change: by KIP-853, effective on append, or by AlterQuorum (KIP-595), on commit."""

    KIP853 = "kip853"
    ALTER_QUORUM = "alterquorum"


class VoterKeys(Enum):
    """Whether one replica id may be in a voter set twice, under different directory ids (KIP-853)."""

    UNIQUE_ID = "unique-id"
    COMPOSITE = "composite"


class AutomaticRejoin(Enum):
    """Whether a leader accepts a replica that adds itself although its log has it as a voter before."""

    ACCEPTED = "accepted"
    REFUSED = "refused"


class Discovery(Enum):
    """How a replica without a leader looks for it: by Fetch, or by FindQuorum (KIP-595)."""

    FETCH = "fetch-bootstrap"
    FIND_QUORUM = "findquorum"


class DivergenceAnswer(Enum):
    """How a leader reports where the log of a fetcher diverges: with error NONE, or as an error (KIP-595)."""

    DIVERGING_EPOCH = "diverging-epoch"
    OFFSET_OUT_OF_RANGE = "offset-out-of-range"


class HandOver(Enum):
    """Which voters receive EndQuorumEpoch, and wait: all by rank, all at random, or only the best log."""

    PREFERRED_LIST = "preferred-list"
    BROADCAST_JITTER = "broadcast-jitter"
    SINGLE_SUCCESSOR = "single-successor"


class ZombieLeader(Enum):
    """What a leader without check quorum does that no majority fetches from: nothing, ask, or stand for
    election again, which the state machine before KIP-996 allows (KIP-595)."""

    NONE = "none"
    FIND_QUORUM = "findquorum"
    NEW_ELECTION = "new-election"


class ClusterId(Enum):
    """Whether a request may leave its cluster id out."""

    OPTIONAL = "optional"
    REQUIRED = "required"


class Protocol(Frozen):
    """One protocol variant. ``fetch_max_batches`` bounds a Fetch response (``None``: no bound);
    ``fetch_max_wait_ms`` is how long a fetcher lets the leader park its request (0: not at all);
    ``fetch_timeout_ms`` matters only where events carry clock readings; ``request_timeout_ms`` is only sent
    to the leader that is asked for a change of the voter set. ``fetch_snapshot_max_bytes`` is how much of a
    snapshot a fetcher asks for at a time. ``update_voter_period``: after how many fetch timeouts a Follower
    looks at its entry in the voter set.
    """

    state_machine: StateMachine = StateMachine.KIP996
    check_quorum: bool = True
    follower_pre_vote: FollowerPreVote = FollowerPreVote.UNTIL_FETCHED
    follower_vote: FollowerVote = FollowerVote.HEEDS
    pre_vote_compatibility: PreVoteCompatibility = PreVoteCompatibility.UNSUPPORTED_VERSION
    candidate_loss: CandidateLoss = CandidateLoss.WAIT_REST
    prospective_timer: ProspectiveTimer = ProspectiveTimer.REMAINING
    prospective_leader: ProspectiveLeader = ProspectiveLeader.IF_UNKNOWN
    receiver_key_check: ReceiverKeyCheck = ReceiverKeyCheck.AFTER_EPOCH
    begin_quorum_epoch_resend: BeginQuorumEpochResend = BeginQuorumEpochResend.SILENT_VOTERS
    candidate_restart: CandidateRestart = CandidateRestart.OWN_VOTE
    vote_memory: VoteMemory = VoteMemory.KEPT
    only_voter_restart: OnlyVoterRestart = OnlyVoterRestart.LEADS
    control_records: ControlRecords = ControlRecords.ONCE
    history_trim: HistoryTrim = HistoryTrim.THROUGH_END
    fetch_snapshot_error: FetchSnapshotError = FetchSnapshotError.BACKS_OFF
    snapshot_boundary: SnapshotBoundary = SnapshotBoundary.BATCH
    fetch_high_watermark: FetchHighWatermark = FetchHighWatermark.REPORTED
    observer_after_fetch_timeout: ObserverAfterFetchTimeout = ObserverAfterFetchTimeout.BEST_NODE
    update_voter: UpdateVoter = UpdateVoter.REPORTED
    voter_membership: VoterMembership = VoterMembership.OFF
    caught_up: CaughtUp = CaughtUp.AT_END
    quorum_description: QuorumDescription = QuorumDescription.KAFKA
    voter_changes: VoterChanges = VoterChanges.KIP853
    voter_keys: VoterKeys = VoterKeys.UNIQUE_ID
    automatic_rejoin: AutomaticRejoin = AutomaticRejoin.ACCEPTED
    discovery: Discovery = Discovery.FETCH
    divergence_answer: DivergenceAnswer = DivergenceAnswer.DIVERGING_EPOCH
    hand_over: HandOver = HandOver.PREFERRED_LIST
    zombie_leader: ZombieLeader = ZombieLeader.NONE
    cluster_id: ClusterId = ClusterId.OPTIONAL
    fetch_max_batches: Positive | None = None
    fetch_max_wait_ms: Milliseconds = 500
    fetch_timeout_ms: Positive = 2000
    request_timeout_ms: Milliseconds = 2000
    fetch_snapshot_max_bytes: ByteCount = 1048576
    update_voter_period: Positive = 1

    # The smallest fixes of findings in Kafka, each off in every preset: docs/findings/.
    #: The leader flushes what it appends before it counts its own copy (LOG-5): single-voter-power-loss.
    flush_before_counting: bool = False
    #: A process that can be a voter flushes the log that it finds when it starts (DEF-5):
    #: restart-before-write-back.
    flush_at_start: bool = False
    #: A leader that is to remove itself resigns instead, and the next leader may remove it (REMOVE-8):
    #: leader-of-two-removes-itself.
    hand_over_before_removal: bool = False
    #: A leader ignores acknowledgements of non-voters (BEGIN-1): removed-voter-acknowledges.
    ignore_removed_voters: bool = False
    #: A replica that knows its leader, but no endpoints of it, becomes Follower by a response that has them
    #: (RESP-4): observer-without-voter-set.
    follow_known_leader: bool = False
    #: A leader of which the receiver knows no endpoints shows the epoch alone (STATE-6):
    #: helper-without-endpoints, resigned-leader-unknown.
    adopt_epoch_without_endpoints: bool = False
    #: Within an epoch a replica takes other endpoints of its leader, not only more (BEGIN-6):
    #: observer-keeps-old-address.
    take_other_endpoints: bool = False
    #: A replica ignores a response that names it as leader, if its disk has not led that epoch (EPOCH-8):
    #: wiped-leader.
    ignore_lost_leadership: bool = False
    #: A leader resigns once a voter set without it is committed, whatever waits for that (REMOVE-9):
    #: leader-removal-timed-out.
    removed_leader_resigns: bool = False
    #: The first successor of a resigned leader becomes Candidate without a pre-vote (END-7):
    #: hand-over-of-four.
    successor_skips_pre_vote: bool = False
    #: The leader forgets contacts of replicas that are no voters any more (CHECKQ-2):
    #: removed-voter-keeps-leader.
    forget_removed_contacts: bool = False
    #: A fetch counts as contact when it arrives, and not again when it is answered (CHECKQ-3):
    #: parked-fetch-counts-again.
    count_fetch_once: bool = False

    @property
    def counts_contacts(self) -> bool:
        """Whether a leader watches if a majority still fetches from it."""
        return self.check_quorum or self.zombie_leader is not ZombieLeader.NONE


#: Apache Kafka 4.3 (4.3.1), check by check; 4.4 is the same.
KAFKA = Protocol()

# The other releases, each with what the next one changed. Source: the releases' own code.

KAFKA_4_2 = replace(KAFKA, fetch_snapshot_max_bytes=8388608)
KAFKA_4_1 = replace(
    KAFKA_4_2,
    begin_quorum_epoch_resend=BeginQuorumEpochResend.ALL_VOTERS,
    observer_after_fetch_timeout=ObserverAfterFetchTimeout.BOOTSTRAP_ONLY,
)
KAFKA_4_0 = replace(
    KAFKA_4_1,
    candidate_loss=CandidateLoss.SEPARATE_BACKOFF,
    fetch_high_watermark=FetchHighWatermark.NOT_REPORTED,
    fetch_snapshot_error=FetchSnapshotError.READ_AS_DATA,
    update_voter=UpdateVoter.APPENDED,
    update_voter_period=3,
)
KAFKA_3_9 = replace(
    KAFKA_4_0,
    state_machine=StateMachine.PRE_KIP996,
    vote_memory=VoteMemory.UNTIL_LEADER,
    only_voter_restart=OnlyVoterRestart.EXITS,
    snapshot_boundary=SnapshotBoundary.ANY_OFFSET,
)

#: Kafka's trunk (4.5 to be), as of August 2026.
KAFKA_TRUNK = replace(KAFKA, update_voter=UpdateVoter.PROBED, update_voter_period=2)

#: The documents as written, the newest one winning.
KIP996 = Protocol(
    candidate_loss=CandidateLoss.EXPONENTIAL_BACKOFF,
    pre_vote_compatibility=PreVoteCompatibility.RESPONSE_FLAG,
    prospective_timer=ProspectiveTimer.FRESH,
    prospective_leader=ProspectiveLeader.ANY,
    begin_quorum_epoch_resend=BeginQuorumEpochResend.ALL_VOTERS,
    candidate_restart=CandidateRestart.WITHOUT_LEADER,
    control_records=ControlRecords.READ_AGAIN,
    history_trim=HistoryTrim.BEFORE_END,
    caught_up=CaughtUp.BEYOND_END,
    quorum_description=QuorumDescription.DOCUMENTS,
)

#: The documents up to KIP-853, before pre-votes; one replica id may be a voter on two disks.
KIP853 = Protocol(
    state_machine=StateMachine.PRE_KIP996,
    voter_keys=VoterKeys.COMPOSITE,
    candidate_loss=CandidateLoss.EXPONENTIAL_BACKOFF,
    begin_quorum_epoch_resend=BeginQuorumEpochResend.ALL_VOTERS,
    candidate_restart=CandidateRestart.WITHOUT_LEADER,
    control_records=ControlRecords.READ_AGAIN,
    history_trim=HistoryTrim.BEFORE_END,
    caught_up=CaughtUp.BEYOND_END,
    quorum_description=QuorumDescription.DOCUMENTS,
)

#: KIP-595 as its first revisions have it.
KIP595 = Protocol(
    state_machine=StateMachine.PRE_KIP996,
    check_quorum=False,
    zombie_leader=ZombieLeader.FIND_QUORUM,
    voter_changes=VoterChanges.ALTER_QUORUM,
    voter_membership=VoterMembership.ON,
    discovery=Discovery.FIND_QUORUM,
    divergence_answer=DivergenceAnswer.OFFSET_OUT_OF_RANGE,
    hand_over=HandOver.BROADCAST_JITTER,
    cluster_id=ClusterId.REQUIRED,
    candidate_loss=CandidateLoss.EXPONENTIAL_BACKOFF,
    candidate_restart=CandidateRestart.WITHOUT_LEADER,
    control_records=ControlRecords.READ_AGAIN,
    history_trim=HistoryTrim.BEFORE_END,
    quorum_description=QuorumDescription.DOCUMENTS,
)

#: The presets of the releases of Kafka.
RELEASES = {
    "kafka-3.9": KAFKA_3_9,
    "kafka-4.0": KAFKA_4_0,
    "kafka-4.1": KAFKA_4_1,
    "kafka-4.2": KAFKA_4_2,
    "kafka-4.3": KAFKA,
    "kafka-4.4": KAFKA,
    "kafka-trunk": KAFKA_TRUNK,
}

#: The presets of Kafka.
OF_KAFKA = ("kafka", *RELEASES)

#: The presets of the documents.
DOCUMENTS = {"kip996": KIP996, "kip853": KIP853, "kip595": KIP595}

#: All presets; ``kafka`` is Kafka 4.3.1.
PRESETS = {"kafka": KAFKA, **RELEASES, **DOCUMENTS}
