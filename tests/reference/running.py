"""A replica that is asked one event after the other and lives to tell."""

from __future__ import annotations

from typing import Any

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Event, Poll, Timer
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome, start, step


class Running:
    """A replica from its start on; ``outcome`` is that of the last event."""

    def __init__(self, replica: Replica, protocol: Protocol, disk: Disk | None = None) -> None:
        self.protocol = protocol
        self.outcome = start(protocol, replica, disk or Disk())

    @property
    def replica(self) -> Replica:
        return self.outcome.replica

    @property
    def role(self) -> Any:
        return self.replica.role

    def on(self, event: Event) -> Outcome:
        self.outcome = step(self.protocol, self.replica, event)
        assert self.outcome.fatal is None, self.outcome.fatal
        return self.outcome

    def polls(self, *expired: Timer) -> Outcome:
        return self.on(Poll(expired))
