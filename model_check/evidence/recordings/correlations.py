"""The correlation ids of one process's requests: they assign each answer to its connection.

Kafka numbers requests in the order in which it sends them, and to several nodes it sends in the order of a
hash set: the reference takes its numbers over from the messages that lines show.

Source: Kafka: KafkaNetworkChannel.newCorrelationId, RequestManager.ConnectionState.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kraftcheck.evidence.recordings import effects as shown
from kraftcheck.evidence.recordings.host import Host
from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.recording import NOT_RAFT, Message
from kraftcheck.reference.effects import Effect, Send
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import ApiVersionsRequest
from kraftcheck.reference.replica import Connection


class Correlations:
    """The numbers of the process that ``host`` runs. servers: as in :class:`Host`."""

    def __init__(self, host: Host, servers: Mapping[int, int]) -> None:
        self._host = host
        self._servers = servers
        self._unsure: dict[int, int] = {}
        self._server_asked: dict[int, set[int]] = {}

    def arrives(self, answer: Message) -> Iterator[Found]:
        """``answer`` arrives: the fault of its number. The answer may settle which request has the number."""
        if answer.synthetic is not None and answer.correlation in self._unsure:
            self._settle(answer)
        if answer.api == NOT_RAFT:
            # A request to a server is answered once, by a node that may have received a request of that
            # number.
            nodes = self._server_asked.pop(answer.correlation, set())
            if answer.source not in nodes:
                expected = f"that of a request to the server of node {answer.source}"
                yield Found("corr", expected, answer.correlation)
        if answer.correlation >= (self._host.replica.next_correlation or 0):
            yield Found("corr", "that of a request sent before", answer.correlation)

    def awaited_by(self, answer: Message) -> int:
        """The connection on which ``answer`` is awaited: a bootstrap server has one of its own."""
        for connection in self._host.replica.connections:
            expected = connection.awaiting and connection.correlation == answer.correlation
            if expected and self._node(connection.node) == answer.source:
                return connection.node
        return answer.source

    def send(self, effects: Sequence[Effect], sending: shown.Sending, seq: int) -> None:
        """A step has sent the messages of ``effects``, with the numbers that ``sending`` found on line
        ``seq``.
        """
        if len(sending.unsure) > 1:
            self._unsure |= dict.fromkeys(sending.unsure, seq)
        for effect in effects:
            if not isinstance(effect, Send):
                continue
            if isinstance(effect.request, ApiVersionsRequest):
                number = sending.correlations.get(effect.to, effect.correlation)
                node = self._node(effect.to)
                self._server_asked |= {} if number is None else {number: {node}}
                for unsure in sending.unsure:
                    self._server_asked.setdefault(unsure, set()).add(node)
        if any(
            isinstance(effect, Send) and sending.correlations.get(effect.to) != effect.correlation
            for effect in effects
        ):
            self._renumber(sending.correlations)

    def _node(self, connection: int) -> int:
        return self._servers.get(connection, connection)

    def _settle(self, answer: Message) -> None:
        """An answer decides which number of a step belongs to a request that no line shows; another request
        of that step has the other.
        """
        connections = self._host.replica.connections
        step = self._unsure[answer.correlation]
        for known in connections:
            guessed = known.correlation
            asked = self._node(known.node) == answer.source
            if asked and guessed is not None and self._unsure.get(guessed) == step:
                numbers = {
                    other.node: guessed for other in connections if other.correlation == answer.correlation
                }
                self._renumber({**numbers, known.node: answer.correlation})
                return

    def _renumber(self, correlations: Mapping[int, int]) -> None:
        """Adopt the order in which Kafka sent to several nodes: no rule of the protocol fixes it."""
        host = self._host
        connections = tuple(shown.reconnect(known, correlations) for known in host.replica.connections)
        renamed: dict[Connection, int] = {
            new: host.clock.connections[old]
            for old, new in zip(host.replica.connections, connections, strict=True)
        }
        host.replica = replace(host.replica, connections=connections)
        host.clock.connections = renamed
