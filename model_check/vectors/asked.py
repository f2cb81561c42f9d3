"""The questions of an exploration to the reference: every step and start, once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Event
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome


@dataclass(frozen=True, slots=True)
class Asked:
    """A step: what the replica was, what happened to it, what it did.

    ``event``: ``None`` for a start of the process with what is on ``disk``, which is given only then.
    """

    protocol: Protocol
    replica: Replica
    event: Event | None
    disk: Disk | None
    outcome: Outcome


class Asking:
    """Steps that were asked for, in order; each is kept once."""

    def __init__(self) -> None:
        self._found: dict[tuple[Protocol, Replica, Event | Disk], Asked] = {}

    def __iter__(self) -> Iterator[Asked]:
        return iter(self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def __call__(
        self, protocol: Protocol, replica: Replica, happened: Event | Disk, outcome: Outcome
    ) -> None:
        """Take in a step, or with a disk a start; see :data:`kraftcheck.systems.kraft.wiring.Listener`."""
        key = (protocol, replica, happened)
        if key not in self._found:
            event, disk = (None, happened) if isinstance(happened, Disk) else (happened, None)
            self._found[key] = Asked(protocol, replica, event, disk, outcome)
