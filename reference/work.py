"""A step in progress: the replica so far, the effects in order, and the rules that decided.

Handlers take a ``Work`` and are read from top to bottom; nothing of it survives the step.
"""

from __future__ import annotations

from typing import Any

from kraftcheck.reference import log as logs
from kraftcheck.reference.effects import AppendBatch, Effect, Fatal, ForgetRequests, Persist, Reply, Send
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch
from kraftcheck.reference.messages import Request, Response
from kraftcheck.reference.protocol import ControlRecords, Protocol
from kraftcheck.reference.replica import Connection, QuorumState, Replica
from kraftcheck.reference.voters import ReplicaKey


class ProcessExited(Exception):
    """Ends a step where Apache Kafka throws; ``fatal`` is then its last effect."""

    def __init__(self, fatal: Fatal) -> None:
        super().__init__(fatal.sentence)
        self.fatal = fatal


class Work:
    """The state of one step. ``now`` is the clock reading that came with the event, if any."""

    __slots__ = ("effects", "now", "protocol", "replica", "rules")

    def __init__(self, protocol: Protocol, replica: Replica, now: int | None = None) -> None:
        self.protocol = protocol
        self.replica = replica
        self.now = now
        self.effects: list[Effect] = []
        self.rules: list[str] = []

    def by(self, *rules: str) -> None:
        """Name the rules that decide what comes next; a rule is listed once, where it first decided."""
        for rule in rules:
            if rule not in self.rules:
                self.rules.append(rule)

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def persist(self, quorum_state: QuorumState) -> None:
        """Write the quorum-state file. At kraft.version 0 it has no room for the directory id of the vote."""
        voted = quorum_state.voted
        if voted is not None and voted.directory is not None:
            self.by("PERSIST-8")
            if self.replica.kraft_version < 1:
                quorum_state = replace(quorum_state, voted=ReplicaKey(voted.id))
        self.emit(Persist(quorum_state))

    def update(self, **changes: Any) -> None:
        """Change fields of the replica."""
        self.replica = replace(self.replica, **changes)

    def update_role(self, **changes: Any) -> None:
        """Change fields of the role, which stays the same role."""
        self.replica = replace(self.replica, role=replace(self.replica.role, **changes))

    @property
    def reads_again(self) -> bool:
        """Whether control records that take the place of truncated ones are read. Without support for
        kraft.version 1 there are none.
        """
        again = self.protocol.control_records is ControlRecords.READ_AGAIN
        return again or self.replica.max_kraft_version < 1

    def append(self, batch: Batch) -> None:
        """Append ``batch`` to the log."""
        if logs.has_control_effect(batch) and logs.passes_over(self.replica.log, batch):
            self.by("VSET-14")
        self.emit(AppendBatch(batch))
        self.update(log=logs.append(self.replica.log, batch))

    def exit(self, fatal: Fatal, *rules: str) -> ProcessExited:
        """The exception to raise where Apache Kafka throws."""
        self.by(*rules)
        return ProcessExited(fatal)

    # Requests and answers: one outstanding request per node (RESP-7).

    def connection(self, node: int) -> Connection | None:
        """What is remembered of requests to ``node``; ``None``: ready to send."""
        for connection in self.replica.connections:
            if connection.node == node:
                return connection
        return None

    def send(self, node: int, request: Request) -> None:
        """Send ``request`` and await its answer. The connection must be ready."""
        correlation = self.replica.next_correlation
        self._remember(node, Connection(node, True, correlation))
        if correlation is not None:
            self.update(next_correlation=correlation + 1)
        self.emit(Send(node, request, correlation))

    def reply(self, node: int, correlation: int | None, response: Response) -> None:
        self.emit(Reply(node, response, correlation))

    def connection_ready(self, node: int) -> None:
        """Nothing is awaited from ``node`` any more."""
        self._remember(node, None)

    def back_off(self, node: int) -> None:
        """Send nothing to ``node`` until the retry back-off is over."""
        self._remember(node, Connection(node, False))

    def forget_requests(self) -> None:
        """Drop every outstanding request, and with it the answers on their way."""
        self.update(connections=())
        self.emit(ForgetRequests())

    def _remember(self, node: int, connection: Connection | None) -> None:
        others = [known for known in self.replica.connections if known.node != node]
        if connection is not None:
            others.append(connection)
        self.update(connections=tuple(sorted(others, key=lambda known: known.node)))
