"""A process around the reference: it keeps the clock, and polls as Kafka's loop does.

Source: Kafka: KafkaRaftClient.poll, RequestManager.
"""

from __future__ import annotations

from collections.abc import Mapping

from kraftcheck.evidence.recordings.clock import Clock
from kraftcheck.reference.config import Times
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import ArmTimer, Effect, Stop
from kraftcheck.reference.events import BackoffExpired, Poll, RequestTimedOut
from kraftcheck.reference.events import Event as Stimulus
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome, start, step


class Host:
    """One process from its start on.

    servers: the bootstrap servers' nodes by the id under which connections to them are kept. effects, rules:
    the effects of the steps since the last :meth:`begin`, and the rules that decided them. stopped: the
    graceful shutdown is complete.
    """

    __slots__ = ("clock", "effects", "protocol", "replica", "rules", "servers", "stopped")

    def __init__(
        self,
        protocol: Protocol,
        times: Times,
        servers: Mapping[int, int],
        identity: Replica,
        disk: Disk,
        now: int,
    ) -> None:
        self.protocol = protocol
        self.servers = servers
        self.clock = Clock(times)
        self.effects: list[Effect] = []
        self.rules: list[str] = []
        self.stopped = False
        self.replica = identity
        self._follow(start(protocol, identity, disk), now)
        self.clock.started(now)

    def begin(self) -> None:
        """A new recorded step begins."""
        self.effects, self.rules = [], []

    def feed(self, stimulus: Stimulus, now: int) -> None:
        """One step of the reference; ``now`` is the node's own clock."""
        self._follow(step(self.protocol, self.replica, stimulus), now)

    def _follow(self, outcome: Outcome, now: int) -> None:
        for effect in outcome.effects:
            if isinstance(effect, ArmTimer):
                self.clock.arm(effect, now)
            elif isinstance(effect, Stop):
                self.stopped = True
        if outcome.replica.connections is not self.replica.connections:
            self.clock.connect(outcome.replica, now)
        self.replica = outcome.replica
        self.effects.extend(outcome.effects)
        rules = self.rules
        rules.extend([rule for rule in outcome.rules if rule not in rules] if rules else outcome.rules)

    def look_at(self, node: int, now: int) -> None:
        """A step at ``now`` is about to look at the connection to ``node``, as a poll would."""
        for stimulus in self.clock.over(frozenset((node,)), now):
            self.feed(stimulus, now)

    def poll(self, now: int, discovery: int | None) -> None:
        """The first half of a poll: ``discovery`` is the bootstrap server for the next request, if there is
        one.
        """
        expired = self.clock.expired(now)
        for stimulus in self.clock.ready_again(self.replica, expired, now):
            self.feed(stimulus, now)
            if isinstance(stimulus, RequestTimedOut):
                self.clock.timed_out(stimulus.node, now)
                if stimulus.node == discovery:
                    # The replica asks a static voter for a leader under its own id, including the silent
                    # leader.
                    self.feed(BackoffExpired(stimulus.node), now)
        if discovery is None:
            discovery = self.any_ready_server()
        self.feed(Poll(expired, discovery, now), now)

    def any_ready_server(self) -> int | None:
        """A bootstrap server without a pending request or back-off."""
        busy = {connection.node for connection in self.replica.connections}
        return next((server for server in self.servers if server not in busy), None)
