"""Properties of single steps of leaders: who keeps one in office, and whom one keeps waiting."""

from __future__ import annotations

from collections.abc import Iterator

from model_check.kraft import names
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
            heard = {before.id, *before.role.contacts, request.replica.id}
            voters = {key.id for key in before.voters.keys}
            if 2 * len(heard & voters) <= len(voters):
                yield names.CHECK_QUORUM_NEEDS_MAJORITY
