"""The protocol's variants: a frozen set of switches and the presets that name useful combinations.

Each switch is read in one place. What its values mean and which document argues for each:
``spec/variants.toml`` and ``spec/conflicts.toml``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class StateMachine(Enum):
    """The state machine before KIP-996 (no Prospective) or after it."""

    PRE_KIP996 = "pre996"
    KIP996 = "kip996"


class FollowerPreVote(Enum):
    """When a Follower grants a pre-vote: until it has fetched from its leader, never, or by the log alone."""

    UNTIL_FETCHED = "until-fetched"
    NEVER = "never"
    BY_LOG = "by-log"


class PreVoteCompatibility(Enum):
    """How a Prospective finds out that a peer does not know pre-vote."""

    UNSUPPORTED_VERSION = "unsupported-version"
    RESPONSE_FLAG = "response-flag"


class CandidateLoss(Enum):
    """What a Candidate does that cannot win any more."""

    WAIT_REST = "wait-rest"
    EXPONENTIAL_BACKOFF = "exp-backoff"


class ProspectiveTimer(Enum):
    """The election timer of a Prospective that times out and becomes Unattached."""

    REMAINING = "remaining-timer"
    FRESH = "fresh-timer"


class ProspectiveLeader(Enum):
    """Which same-epoch leader claim makes a Prospective a Follower: any, or only where none was known."""

    IF_UNKNOWN = "if-unknown"
    ANY = "any"


class BeginQuorumEpochResend(Enum):
    """Which voters hear BeginQuorumEpoch again: those that do not fetch, or all of them."""

    SILENT_VOTERS = "silent-voters"
    ALL_VOTERS = "all-voters"


class CandidateRestart(Enum):
    """When a replica that voted for itself resumes its candidacy: always, or only if no leader is stored."""

    OWN_VOTE = "own-vote"
    WITHOUT_LEADER = "without-leader"


class VoterMembership(Enum):
    """Whether Vote, BeginQuorumEpoch and EndQuorumEpoch are refused between non-voters (KIP-595 era)."""

    OFF = "off"
    ON = "on"


class CaughtUp(Enum):
    """When a fetch shows that a replica has caught up (KIP-836): at the leader's end offset, or beyond it."""

    AT_END = "at-end"
    BEYOND_END = "beyond-end"


class QuorumDescription(Enum):
    """What DescribeQuorum says of the leader: as production does, or as the documents have it."""

    PRODUCTION = "production"
    DOCUMENTS = "documents"


@dataclass(frozen=True, slots=True)
class Protocol:
    """One protocol variant. ``fetch_max_batches`` bounds a Fetch response (``None``: no bound);
    ``fetch_max_wait_ms`` is how long a fetcher lets the leader park its request (0: not at all);
    ``fetch_timeout_ms`` matters only where events carry clock readings; ``request_timeout_ms`` is only told
    to the leader that is asked for a change of the voter set. ``fetch_snapshot_max_bytes`` is how much of a
    snapshot a fetcher asks for at a time.
    """

    state_machine: StateMachine = StateMachine.KIP996
    check_quorum: bool = True
    follower_pre_vote: FollowerPreVote = FollowerPreVote.UNTIL_FETCHED
    pre_vote_compatibility: PreVoteCompatibility = PreVoteCompatibility.UNSUPPORTED_VERSION
    candidate_loss: CandidateLoss = CandidateLoss.WAIT_REST
    prospective_timer: ProspectiveTimer = ProspectiveTimer.REMAINING
    prospective_leader: ProspectiveLeader = ProspectiveLeader.IF_UNKNOWN
    begin_quorum_epoch_resend: BeginQuorumEpochResend = BeginQuorumEpochResend.SILENT_VOTERS
    candidate_restart: CandidateRestart = CandidateRestart.OWN_VOTE
    voter_membership: VoterMembership = VoterMembership.OFF
    caught_up: CaughtUp = CaughtUp.AT_END
    quorum_description: QuorumDescription = QuorumDescription.PRODUCTION
    fetch_max_batches: int | None = None
    fetch_max_wait_ms: int = 500
    fetch_timeout_ms: int = 2000
    request_timeout_ms: int = 2000
    fetch_snapshot_max_bytes: int = 1048576


#: Production, check by check.
KAFKA = Protocol()

#: The documents as written, the newest one winning.
KIP996 = Protocol(
    candidate_loss=CandidateLoss.EXPONENTIAL_BACKOFF,
    pre_vote_compatibility=PreVoteCompatibility.RESPONSE_FLAG,
    prospective_timer=ProspectiveTimer.FRESH,
    prospective_leader=ProspectiveLeader.ANY,
    begin_quorum_epoch_resend=BeginQuorumEpochResend.ALL_VOTERS,
    candidate_restart=CandidateRestart.WITHOUT_LEADER,
    caught_up=CaughtUp.BEYOND_END,
    quorum_description=QuorumDescription.DOCUMENTS,
)

PRESETS = {"kafka": KAFKA, "kip996": KIP996}
