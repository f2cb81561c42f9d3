"""The fields of a replica as people read them, and the changes of a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kraftcheck.reference import replica as roles
from kraftcheck.reference.log import LeaderChange, Record, Value, VoterAssignment
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.transitions import role_name
from kraftcheck.systems.kraft.text.log import describe_log
from kraftcheck.systems.kraft.text.style import (
    ENDPOINTS,
    print_id,
    print_key,
    print_keys,
    print_numbers,
    print_optional,
)
from kraftcheck.systems.syntax import NONE

NOTHING = NONE


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A field of a replica before and after a step; ``none`` where the role has no such field."""

    name: str
    before: str
    after: str

    @property
    def changed(self) -> bool:
        return self.before != self.after


def compare(before: Replica, after: Replica) -> tuple[FieldChange, ...]:
    """All fields that either replica has, in the order of :func:`fields_of`."""
    old, new = fields_of(before), fields_of(after)
    pairs = (FieldChange(name, old.get(name, NOTHING), new.get(name, NOTHING)) for name in {**new, **old})
    return tuple(pair for pair in pairs if (pair.before, pair.after) != (NOTHING, NOTHING))


def fields_of(replica: Replica) -> Mapping[str, str]:
    """The fields by name: the durable ones, then the role's, then the rest of the volatile state."""
    state = replica.quorum_state
    found = {
        "role": role_name(replica.role),
        "epoch": str(state.epoch),
        "leader": print_optional(state.leader),
        "voted": NOTHING if state.voted is None else print_key(state.voted),
        "log": describe_log(replica.log),
        "end offset": str(replica.log.end_offset),
        "high watermark": print_optional(replica.high_watermark),
    }
    if replica.log.read_to:
        found["control records read to"] = str(replica.log.read_to)
    if replica.log.voters_forgotten:
        found["earlier voter sets"] = "forgotten"
    if replica.log.snapshots:
        found["log start"] = str(replica.log.start_offset)
        found["snapshots"] = " ".join(print_id(known.id) for known in replica.log.snapshots)
    waiting = (f"{each.node}{_colon(each.correlation)}" for each in replica.connections if each.awaiting)
    parked = (f"{each.source}:{each.request.offset}{_colon(each.correlation)}" for each in replica.parked)
    return {
        **found,
        **_role_fields(replica),
        "awaiting": ",".join(waiting) or NOTHING,
        "backing off": print_numbers(each.node for each in replica.connections if not each.awaiting),
        "parked": ",".join(parked) or NOTHING,
        "next correlation": print_optional(replica.next_correlation),
        "shutting down": _yes(replica.shutting_down),
        "voters": print_keys(voter.key for voter in replica.voters.voters),
    }


def _role_fields(replica: Replica) -> dict[str, str]:
    role = replica.role
    if isinstance(role, roles.Prospective | roles.Candidate):
        election = role.election
        frozen = {"electorate": print_numbers(election.voters)}
        tally = {"granted": print_numbers(election.granted), "rejected": print_numbers(election.rejected)}
        endpoints = role.leader_endpoints if isinstance(role, roles.Prospective) else ()
        waits = isinstance(role, roles.Candidate) and role.backs_off
        return {
            **({"waits for the next election": "yes"} if waits else {}),
            **(frozen if election.voters != replica.voters.ids else {}),
            **tally,
            "leader endpoints": ENDPOINTS.show(endpoints),
        }
    if isinstance(role, roles.Follower):
        partial = role.fetching_snapshot
        return {
            "leader endpoints": ENDPOINTS.show(role.leader_endpoints),
            "has fetched": "yes" if role.has_fetched else "no",
            **({"leader has updated": "yes"} if role.has_updated_leader else {}),
            **({} if partial is None else {"loads": f"{print_id(partial.id)} from {partial.position} on"}),
        }
    if isinstance(role, roles.Leader):
        return _leader_fields(role)
    if isinstance(role, roles.Resigned):
        return {
            "unacknowledged": print_numbers(role.unacknowledged),
            "preferred successors": print_keys(role.preferred_successors),
        }
    return {}


def _leader_fields(role: roles.Leader) -> dict[str, str]:
    pending = ("+".join(map(describe_record, records)) for records in role.pending)
    found = {
        "epoch start": str(role.epoch_start_offset),
        "granting voters": print_numbers(role.granting_voters),
        "progress": " ".join(map(_progress, role.progress)),
        "pending": " ".join(pending) or NOTHING,
        "contacts": print_numbers(role.contacts),
        "resign requested": _yes(role.resign_requested),
        "observers": " ".join(map(_progress, role.observers)) or NOTHING,
        "voter change": _voter_change(role.change),
        "reported entries": print_keys(entry.key for entry in role.reported),
    }
    return found | ({"alterations": " ".join(map(_alteration, role.alterations))} if role.alterations else {})


def _voter_change(change: roles.VoterChange | None) -> str:
    if change is None:
        return NOTHING
    if not isinstance(change, roles.RemovingVoter):
        at = "asks what it supports" if change.offset is None else f"appended at {change.offset}"
        does = "adds" if isinstance(change, roles.AddingVoter) else "updates"
        return f"{does} {print_key(change.voter.key)} ({at})"
    return f"removes a voter (appended at {change.offset})"


def _alteration(waiting: roles.AlteringQuorum) -> str:
    target = "cancel" if waiting.target is None else print_numbers(waiting.target)
    return f"{target} ({'waits' if waiting.offset is None else f'appended at {waiting.offset}'})"


def describe_record(record: Record) -> str:
    """A record in a word: its value, or the kind of a control record."""
    if isinstance(record, Value):
        return str(record.value)
    if isinstance(record, LeaderChange):
        return f"LeaderChange({record.leader})"
    if isinstance(record, VoterAssignment):
        target = "" if record.target is None else f" -> {print_numbers(record.target)}"
        return f"VoterAssignment({print_numbers(record.voters)}{target})"
    return type(record).__name__


def _progress(entry: roles.Progress) -> str:
    end = "?" if entry.end_offset is None else str(entry.end_offset)
    times = (entry.last_fetch_time, entry.last_caught_up_time)
    clock = "" if times == (None, None) else f"(fetched={times[0]} caught-up={times[1]})"
    return f"{entry.id}:{end}{'' if entry.acknowledged else ' (silent)'}{clock}"


def _colon(correlation: int | None) -> str:
    return "" if correlation is None else f":{correlation}"


def _yes(switch: bool) -> str:
    return "yes" if switch else NOTHING
