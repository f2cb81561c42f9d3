"""The exits of processes that findings show (docs/findings.md), each by its reason and its place: the rule,
the message, the role, and what else is the case there.

Two findings may have one reason. A scenario that goes past one of them (``check.ignore-fatal``) still shows
the other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from types import NoneType

from kraftcheck.reference import messages
from kraftcheck.reference.effects import Fatal
from kraftcheck.reference.events import Event, RequestReceived, ResponseReceived
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.replica import Candidate, Leader, Replica, Unattached
from kraftcheck.systems.kraft import membership
from kraftcheck.systems.kraft.administration import first_directory


@dataclass(frozen=True, slots=True)
class KnownExit:
    """An exit that ``finding`` shows.

    rule: the rule by which the process exits; message: the class of messages or other events that it handles,
    ``None`` for a start; role: the class of roles in which it does; matter: what else is the case, of the
    replica before the step, the sender of the message (else the replica itself), and the effect.
    """

    finding: str
    reason: FatalReason
    rule: str
    message: type[object] | None
    role: type[object]
    matter: Callable[[Replica, int, Fatal], bool]

    def is_this(self, before: Replica, event: Event | None, fatal: Fatal, rules: Collection[str]) -> bool:
        """See :func:`finding_of`."""
        if fatal.reason is not self.reason or self.rule not in rules:
            return False
        handled: object = event
        sender = before.id
        if isinstance(event, RequestReceived | ResponseReceived):
            handled = event.request if isinstance(event, RequestReceived) else event.response
            sender = event.source
        fits = isinstance(handled, self.message or NoneType) and isinstance(before.role, self.role)
        return fits and self.matter(before, sender, fatal)


def finding_of(before: Replica, event: Event | None, fatal: Fatal, rules: Collection[str]) -> str | None:
    """The finding that shows the exit of a process with ``fatal``; ``None`` if there is none.

    ``event`` is ``None`` for a start; ``before`` is then the replica whose process ended before. ``rules``
    are those that decided in the step.
    """
    return next((each.finding for each in KNOWN if each.is_this(before, event, fatal, rules)), None)


def _was_removed(leader: Replica, sender: int, fatal: Fatal) -> bool:
    """Whether the sender is no voter any more, but was one by a voter set in the leader's log."""
    earlier = any(sender in voters.ids for _, voters, _ in membership.own_history(leader))
    return leader.voters.find(sender) is None and earlier


def _knows_no_endpoints(replica: Replica, sender: int) -> bool:
    """Whether the sender is the stored leader, and the own voter set does not say where it listens."""
    return replica.quorum_state.leader == sender and replica.voters.find(sender) is None


def _names_a_leader_that_it_cannot_reach(replica: Replica, sender: int, fatal: Fatal) -> bool:
    """Whether a bootstrap server names another leader to a replica that has no voter set."""
    return fatal.replica not in (sender, replica.id) and not replica.voters.ids


def _is_unknown_voter(replica: Replica, sender: int, fatal: Fatal) -> bool:
    return fatal.replica == sender and replica.voters.find(sender) is None


def _led_on_a_lost_disk(replica: Replica, sender: int, fatal: Fatal) -> bool:
    """Whether the message names this replica as the leader, which led on a disk that it has lost."""
    replaced = replica.key.directory not in (None, first_directory(replica.id))
    return replaced and fatal.replica == replica.id and not isinstance(replica.role, Leader)


def _has_records_of_its_epoch(candidate: Replica, sender: int, fatal: Fatal) -> bool:
    return candidate.log.last_epoch >= candidate.epoch


KNOWN = (
    KnownExit(
        "restart-as-candidate", FatalReason.INVALID_REQUEST, "RESP-5", messages.VoteResponse, Candidate,
        _has_records_of_its_epoch,
    ),
    KnownExit(
        "removed-candidate", FatalReason.CANDIDATE_NOT_VOTER, "STATE-3", None, object,
        lambda replica, sender, fatal: True,
    ),
    KnownExit(
        "restart-under-removed-leader", FatalReason.FETCH_RESPONSE_AT_NON_FOLLOWER, "FETCH-30",
        messages.FetchResponse, Unattached,
        lambda replica, sender, fatal: replica.is_voter and _knows_no_endpoints(replica, sender),
    ),
    KnownExit(
        "observer-without-voter-set", FatalReason.FETCH_RESPONSE_AT_NON_FOLLOWER, "FETCH-30",
        messages.FetchResponse, Unattached,
        lambda replica, sender, fatal: not replica.is_voter and _knows_no_endpoints(replica, sender),
    ),
    KnownExit(
        "helper-without-endpoints", FatalReason.LEADER_WITHOUT_ENDPOINTS, "STATE-6", messages.FetchResponse,
        Unattached, _names_a_leader_that_it_cannot_reach,
    ),
    KnownExit(
        "removed-voter-acknowledges", FatalReason.ACKNOWLEDGED_BY_NON_VOTER, "BEGIN-1",
        messages.BeginQuorumEpochResponse, Leader, _was_removed,
    ),
    KnownExit(
        "resigned-leader-unknown", FatalReason.LEADER_WITHOUT_ENDPOINTS, "STATE-6",
        messages.EndQuorumEpochRequest, object, _is_unknown_voter,
    ),
    KnownExit(
        "elected-by-static-voters", FatalReason.LEADER_WITHOUT_VOTER_SET, "VSET-16", object, object,
        lambda replica, sender, fatal: True,
    ),
    KnownExit(
        "wiped-leader", FatalReason.CONFLICTING_LEADER, "EPOCH-8", object, object, _led_on_a_lost_disk
    ),
)  # fmt: skip
