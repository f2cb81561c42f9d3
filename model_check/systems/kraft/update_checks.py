"""The conditions under which a voter sends UpdateRaftVoter, and the leader's handling of it."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.reference.effects import AppendBatch, Effect, Reply, Send
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, RequestReceived
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.systems.kraft import membership, names
from kraftcheck.systems.kraft.append_checks import told_entry
from kraftcheck.systems.kraft.node import Execution


def violations(before: Replica, event: Event | None, execution: Execution) -> Iterator[str]:
    """P-9: a voter whose entry in its own voter set is correct requests no update. An accepted update is in
    the log, or noted for the upgrade where voters are static.

    Other checks judge the appended records. A refused update leaves no trace.
    """
    if any(_changes_nothing(execution.replica, effect) for effect in execution.effects):
        yield names.CHANGE_AS_ASKED
    if any(_joins_unasked(execution.replica, effect) for effect in execution.effects):
        yield names.CHANGE_AS_ASKED
    request = event.request if isinstance(event, RequestReceived) else None
    after = execution.replica.role
    if not isinstance(request, UpdateRaftVoterRequest):
        return
    if not isinstance(before.role, Leader) or not isinstance(after, Leader):
        return
    appended = any(
        isinstance(effect, AppendBatch) and membership.has_voters(effect.batch)
        for effect in execution.effects
    )
    _, _, version = membership.history_of(membership.own_origin(before), before.log)[-1]
    accepted = any(_accepts(effect.response) for effect in execution.effects if isinstance(effect, Reply))
    noted = set(before.role.reported)
    if accepted and version < 1:
        noted = {entry for entry in noted if entry.key.id != request.voter.id} | {told_entry(request)}
    if appended != (accepted and version >= 1) or set(after.reported) != noted:
        yield names.CHANGE_AS_ASKED


def _accepts(response: object) -> bool:
    return isinstance(response, UpdateRaftVoterResponse) and response.partition_error is ErrorCode.NONE


def _changes_nothing(sender: Replica, effect: Effect) -> bool:
    """Whether ``effect`` requests an entry that the newest voter set of the sender's log has already."""
    request = effect.request if isinstance(effect, Send) else None
    if not isinstance(request, UpdateRaftVoterRequest):
        return False
    _, voters, version = membership.history_of(membership.own_origin(sender), sender.log)[-1]
    return version >= 1 and told_entry(request) in voters.voters


def _joins_unasked(sender: Replica, effect: Effect) -> bool:
    """Whether a replica changes its own membership without being configured to do so (ADD-14)."""
    request = effect.request if isinstance(effect, Send) else None
    own = isinstance(request, AddRaftVoterRequest | RemoveRaftVoterRequest)
    return own and not (sender.auto_join and sender.can_become_voter and sender.kraft_version >= 1)
