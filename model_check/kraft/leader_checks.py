"""Properties of single steps of leaders: who keeps one in office, and whom one keeps waiting."""

from __future__ import annotations

from collections.abc import Iterator

from model_check.kraft import membership, names
from model_check.kraft.membership import Keys
from model_check.kraft.node import Execution
from reference.effects import ArmTimer
from reference.events import Event, RequestReceived, Timer
from reference.messages import FetchRequest, FetchSnapshotRequest
from reference.replica import Leader, Replica, Resigned


def violations(before: Replica, event: Event | None, execution: Execution) -> Iterator[str]:
    """The names of the properties that a step violates; ``event`` is ``None`` for a restart."""
    after = execution.replica
    if isinstance(after.role, Resigned) and after.parked:
        yield names.RESIGNED_KEEPS_NOBODY_WAITING
    if isinstance(before.role, Leader) and isinstance(event, RequestReceived):
        request = event.request
        rearmed = any(
            isinstance(effect, ArmTimer) and effect.timer is Timer.CHECK_QUORUM
            for effect in execution.effects
        )
        if rearmed and isinstance(request, FetchRequest | FetchSnapshotRequest):
            heard = _heard_from(before.voters.keys, before.role.contacts, (before.key, request.replica))
            if 2 * heard <= len(before.voters):
                yield names.CHECK_QUORUM_NEEDS_MAJORITY


def _heard_from(voters: Keys, contacts: tuple[int, ...], keys: Keys) -> int:
    """How many of ``voters`` are among ``keys`` or the ``contacts``, of which a leader keeps the ids."""
    return sum(
        entry.id in contacts or any(membership.matches(entry, key) for key in keys) for entry in voters
    )
