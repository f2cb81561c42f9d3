"""What an operator sees of a replica: the gauges of the group raft-metrics, as a function of its state.

Rates and latencies (METRIC-7, METRIC-8) are no such function; a host of the reference would count them.

Source: KIP-595, KIP-853, KIP-996 (metrics); Kafka: KafkaRaftMetrics, ChangeVoterHandlerState.
"""

from __future__ import annotations

from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.protocol import Protocol, StateMachine
from kraftcheck.reference.replica import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    Replica,
    Unattached,
)
from kraftcheck.reference.types import Count, Name
from kraftcheck.reference.voters import NO_DIRECTORY


class Metric(Frozen):
    """A gauge by its name, its value now, and the rule of the catalogue that says so."""

    name: Name
    value: Count | Name
    rule: Name


def metrics(
    protocol: Protocol, replica: Replica, *, static_voters_configured: bool = False
) -> tuple[Metric, ...]:
    """All gauges that ``replica`` shows; those of a leader only while it leads.

    ``static_voters_configured``: whether controller.quorum.voters is set.
    """
    return (
        *_state(protocol, replica),
        *_vote(replica),
        Metric("current-epoch", replica.epoch, "METRIC-5"),
        Metric("log-end-offset", replica.log.end_offset, "METRIC-5"),
        Metric("log-end-epoch", replica.log.last_epoch, "METRIC-5"),
        Metric("high-watermark", _or_minus_one(replica.high_watermark), "METRIC-5"),
        Metric("number-unknown-voter-connections", 0, "METRIC-6"),
        Metric("number-of-voters", len(replica.voters), "METRIC-9"),
        *_of_leader(replica),
        _ignored_voters(replica, static_voters_configured),
    )


def _state(protocol: Protocol, replica: Replica) -> tuple[Metric, ...]:
    if protocol.state_machine is StateMachine.PRE_KIP996:
        current = Metric("current-state", _state_before_kip996(replica), "METRIC-1")
    else:
        current = Metric("current-state", _state_since_kip996(replica), "METRIC-2")
    return current, Metric("current-leader", _or_minus_one(replica.quorum_state.leader), "METRIC-3")


def _state_before_kip996(replica: Replica) -> str:
    """A vote shows as a state of its own; Resigned shows as unattached."""
    if isinstance(replica.role, Unattached) and replica.quorum_state.voted is not None:
        return "voted"
    return _common_state(replica)


def _state_since_kip996(replica: Replica) -> str:
    voted = "-voted" if replica.quorum_state.voted is not None else ""
    if isinstance(replica.role, Prospective):
        return f"prospective{voted}"
    if isinstance(replica.role, Unattached):
        return f"unattached{voted}"
    return _common_state(replica)


def _common_state(replica: Replica) -> str:
    """A Follower that is no voter shows as observer."""
    role = replica.role
    if isinstance(role, Leader):
        return "leader"
    if isinstance(role, Candidate):
        return "candidate"
    if isinstance(role, Follower):
        return "follower" if replica.is_voter else "observer"
    return "unattached"


def _vote(replica: Replica) -> tuple[Metric, ...]:
    key = replica.key if isinstance(replica.role, Leader | Candidate) else replica.quorum_state.voted
    directory = None if key is None else key.directory
    return (
        Metric("current-vote", -1 if key is None else key.id, "METRIC-4"),
        Metric("current-vote-directory-id", directory or NO_DIRECTORY, "METRIC-4"),
    )


def _of_leader(replica: Replica) -> tuple[Metric, ...]:
    """Kafka counts a voter to be added from the request on, before there is a VotersRecord. It counts an
    update of a voter only where the leader reaches the voter first (trunk).
    """
    role = replica.role
    if not isinstance(role, Leader):
        return ()
    changing = role.change is not None
    return (
        Metric("number-of-observers", len(role.observers), "METRIC-9"),
        Metric("uncommitted-voter-change", int(changing), "METRIC-9"),
    )


def _ignored_voters(replica: Replica, static_voters_configured: bool) -> Metric:
    ignored = static_voters_configured and replica.kraft_version >= 1
    return Metric("ignored-static-voters", int(ignored), "METRIC-10")


def _or_minus_one(number: int | None) -> int:
    return -1 if number is None else number
