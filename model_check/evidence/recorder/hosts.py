"""A process of a simulated cluster as the recorder sees it, and the reference as such a process."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Protocol as Interface

from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.host import Host
from kraftcheck.evidence.recordings.state import encode_state
from kraftcheck.reference.config import Times
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import CallFailed, Effect, Fatal
from kraftcheck.reference.events import Event, Timer
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica


class Hosted(Interface):
    """One process from its start on. Times are readings of the node's own clock, in ms.

    effects: those of the steps since the last :meth:`begin`. stopped: the graceful shutdown is complete.
    """

    effects: list[Effect]
    stopped: bool

    @property
    def replica(self) -> Replica:
        """The replica; of an adapter's the parts that the recorder needs."""

    @property
    def upgrades(self) -> bool:
        """Whether kraft.version can be finalized."""

    def begin(self) -> None:
        """A new recorded step begins."""

    def feed(self, stimulus: Event, now: int, raw: Json = None) -> None:
        """One step. ``raw``: the content of the message as the adapter of its sender reported it."""

    def round(self, now: int) -> None:
        """The first half of a round of the poll loop."""

    def due(self) -> Iterator[int]:
        """The times at which the loop wakes up."""

    def waits(self, request: int) -> bool:
        """Whether the Fetch with this message id is in purgatory."""

    def state(self, now: int) -> Json:
        """The state as recordings show it, with its deadlines."""

    def arms_unshown(self) -> bool:
        """Whether a step since the last :meth:`begin` restarted a timer that states do not show."""

    def raw(self, sent: Effect) -> Json:
        """The content of a sent message as the adapter reported it; ``None``: the reference sent it."""

    def reason(self) -> str:
        """The reason for the failure among the effects, as Kafka words exceptions."""


def exits(host: Hosted) -> bool:
    """Whether the process ends with its last step."""
    return bool(host.effects) and isinstance(host.effects[-1], Fatal)


class Hosting(Interface):
    """Starts processes. The arguments are those of :class:`ReferenceHost` but for the first."""

    def __call__(
        self,
        draw: random.Random,
        protocol: Protocol,
        times: Times,
        servers: Mapping[int, int],
        identity: Replica,
        disk: Disk,
        now: int,
    ) -> Hosted:
        """The process that ``identity`` describes, started on ``disk``."""


class ReferenceHost(Host):
    """The reference as a process. ``draw`` decides what Kafka draws at random."""

    __slots__ = ("_draw",)

    def __init__(
        self,
        draw: random.Random,
        protocol: Protocol,
        times: Times,
        servers: Mapping[int, int],
        identity: Replica,
        disk: Disk,
        now: int,
    ) -> None:
        self._draw = draw
        super().__init__(protocol, times, servers, identity, disk, now)
        self._settle()

    @property
    def upgrades(self) -> bool:
        """It can."""
        return True

    def feed(self, stimulus: Event, now: int, raw: Json = None) -> None:
        """One step of the reference."""
        super().feed(stimulus, now)
        if self.clock.random_from is not None:
            self._settle()

    def _settle(self) -> None:
        clock = self.clock
        if clock.random_from is not None:
            base = clock.times.election_timeout
            clock.deadlines[Timer.ELECTION] = clock.random_from + base + self._draw.randrange(base)
            clock.random_from = None

    def round(self, now: int) -> None:
        """The first half of a round, with a bootstrap server at random among those that are ready."""
        clock = self.clock
        clock.connect(self.replica, now)
        busy = {connection.node for connection, until in clock.connections.items() if until > now}
        ready = [server for server in self.servers if server not in busy]
        self.poll(now, self._draw.choice(ready) if ready else None)

    def due(self) -> Iterator[int]:
        """The expiry of timers and requests, and the ends of back-offs."""
        return self.clock.due()

    def waits(self, request: int) -> bool:
        """Whether the Fetch with this message id is in purgatory."""
        return any(entry.correlation == request for entry in self.replica.parked)

    def state(self, now: int) -> Json:
        """The state as recordings show it."""
        state = encode_state(self.replica, stopped=self.stopped)
        state["deadlines"] = self.clock.display(self.replica, now)
        return state

    def raw(self, sent: Effect) -> Json:
        """There is none."""
        return None

    def reason(self) -> str:
        """The sentence of the reference, in the form of a Java exception."""
        failed = next(
            each.sentence if isinstance(each, Fatal) else each.reason.sentence
            for each in reversed(self.effects)
            if isinstance(each, Fatal | CallFailed)
        )
        kind = "State" if isinstance(self.effects[-1], Fatal) else "Argument"
        return f"java.lang.Illegal{kind}Exception: {failed}"
