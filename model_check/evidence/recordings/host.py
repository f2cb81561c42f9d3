"""A process around the reference: it keeps the clock, polls as Kafka's loop does, and numbers its requests.

Source: Kafka: KafkaRaftClient.poll, RequestManager, KafkaNetworkChannel.newCorrelationId.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kraftcheck.evidence.recordings import effects as shown
from kraftcheck.evidence.recordings.clock import Clock
from kraftcheck.evidence.recordings.lines import Message
from kraftcheck.evidence.recordings.log_high_watermark import LogHighWatermark
from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.recording import NOT_RAFT
from kraftcheck.reference.config import Times
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import ArmTimer, Effect, Send, Stop
from kraftcheck.reference.events import BackoffExpired, Poll, RequestReceived, RequestTimedOut, Timer
from kraftcheck.reference.events import Event as Stimulus
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    ApiVersionsRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
)
from kraftcheck.reference.protocol import BeginQuorumEpochResend, Protocol
from kraftcheck.reference.replica import Connection, Replica
from kraftcheck.reference.step import Outcome, start, step

_MEMBERSHIP = AddRaftVoterRequest | RemoveRaftVoterRequest | UpdateRaftVoterRequest
#: Requests that may let a leader send to the voter that they name.
PROBING = AddRaftVoterRequest | UpdateRaftVoterRequest


class Host:
    """One process from its start on.

    servers: the bootstrap servers' nodes by the id under which connections to them are kept. effects, rules:
    the effects of the steps since the last :meth:`begin`, and the rules that decided them. stopped: the
    graceful shutdown is complete.
    """

    __slots__ = ("_log", "clock", "effects", "protocol", "replica", "rules", "servers", "stopped")

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
        to_all = protocol.begin_quorum_epoch_resend is BeginQuorumEpochResend.ALL_VOTERS
        self.clock = Clock(times, announces_to_all=to_all)
        self.effects: list[Effect] = []
        self.rules: list[str] = []
        self.stopped = False
        self.replica = identity
        self._log = LogHighWatermark()
        self._follow(start(protocol, identity, disk), now)
        self.clock.started(now)

    def begin(self) -> None:
        """A new recorded step begins."""
        self.effects, self.rules = [], []

    def feed(self, stimulus: Stimulus, now: int) -> None:
        """One step of the reference; ``now`` is the node's own clock."""
        if isinstance(stimulus, RequestReceived) and isinstance(stimulus.request, PROBING):
            self._look_before_probe(stimulus, stimulus.request.voter.id, now)
        self._follow(self._log.step(self.protocol, self.replica, stimulus), now)

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

    def _look_before_probe(self, asked: RequestReceived, voter: int, now: int) -> None:
        """The leader looks at the connection to ``voter`` as a poll would, if the request passes all checks
        that come before the probe of the voter (Kafka: AddVoterHandler, UpdateVoterHandler, RequestSender).
        """
        others = tuple(each for each in self.replica.connections if each.node != voter)
        if len(others) == len(self.replica.connections):
            return
        probing = step(self.protocol, replace(self.replica, connections=others), asked).effects
        if any(isinstance(each, Send) and each.to == voter for each in probing):
            for stimulus in self.clock.over(frozenset((voter,)), now):
                self.feed(stimulus, now)

    def poll(self, now: int, discovery: int | None) -> None:
        """The first half of a poll; ``discovery`` is the bootstrap server for the next request."""
        expired = self.clock.expired(now)
        for stimulus in self.clock.ready_again(self.replica, expired, now):
            self.feed(stimulus, now)
            if isinstance(stimulus, RequestTimedOut):
                self.clock.timed_out(stimulus.node, now)
                # The replica asks a static voter for a leader under its own id, including the silent leader.
                if stimulus.node == discovery or self._reports_to(stimulus.node, expired, now):
                    self.feed(BackoffExpired(stimulus.node), now)
        if discovery is None:
            discovery = self.any_ready_server()
        self.feed(Poll(expired, discovery, now), now)

    def _reports_to(self, leader: int, expired: tuple[Timer, ...], now: int) -> bool:
        """Whether the poll asks the silent ``leader`` for a change of the voter set: such a request goes to a
        connection that has timed out, and only a Fetch passes over it (Kafka: RequestManager.isReady,
        KafkaRaftClient.maybeSendFetchToBestNode).
        """
        if Timer.UPDATE_VOTER not in expired:
            return False
        ready = step(self.protocol, self.replica, BackoffExpired(leader)).replica
        sent = step(self.protocol, ready, Poll(expired, None, now)).effects
        return any(isinstance(each, Send) and isinstance(each.request, _MEMBERSHIP) for each in sent)

    def arms_unshown(self) -> bool:
        """Whether a step since the last :meth:`begin` restarted a timer that states do not show."""
        return any(isinstance(each, ArmTimer) and not Clock.is_shown(each.timer) for each in self.effects)

    def any_ready_server(self) -> int | None:
        """A bootstrap server without a pending request or back-off."""
        busy = {connection.node for connection in self.replica.connections}
        return next((server for server in self.servers if server not in busy), None)


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
        """A step, on line ``seq``, has sent the messages of ``effects`` with the numbers in ``sending``."""
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
        """An answer decides which number of a step belongs to a request that no line shows."""
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
