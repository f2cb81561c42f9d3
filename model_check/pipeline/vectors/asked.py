"""What an exploration asks the reference: every step and start, once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from unittest.mock import patch

from model_check.kraft import node
from reference.disk import Disk
from reference.events import Event
from reference.protocol import Protocol
from reference.replica import Replica
from reference.step import Outcome, start, step


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

    def step(self, protocol: Protocol, replica: Replica, event: Event) -> Outcome:
        """As :func:`reference.step.step`."""
        outcome = step(protocol, replica, event)
        self._found.setdefault((protocol, replica, event), Asked(protocol, replica, event, None, outcome))
        return outcome

    def start(self, protocol: Protocol, identity: Replica, disk: Disk) -> Outcome:
        """As :func:`reference.step.start`."""
        outcome = start(protocol, identity, disk)
        self._found.setdefault((protocol, identity, disk), Asked(protocol, identity, None, disk, outcome))
        return outcome


@contextmanager
def asking() -> Iterator[Asking]:
    """What nodes ask the reference in this process meanwhile."""
    found = Asking()
    with patch.object(node, "step", found.step), patch.object(node, "start", found.start):
        yield found
