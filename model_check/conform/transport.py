"""The messages of a recorded run: each is sent once, arrives once or is lost once, and answers what it says.

This holds whatever the nodes decide, so it is checked for every line, also where a node's own steps cannot
be compared.

Source: the recorder's network (MANIFEST of the recorded runs); Kafka: KafkaNetworkChannel.sendOnCompleted
(answers made by the network layer), RaftUtil.errorResponse, the message schemas (versions).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from model_check.conform.encode import encode
from model_check.conform.exceptions import UNRESOLVED
from model_check.conform.fields import Json
from model_check.conform.found import Found
from model_check.conform.identity import MAX_KRAFT_VERSION
from model_check.conform.processes import Processes
from model_check.conform.recording import NOT_RAFT, Event, Message, Recording, Sent
from reference.errors import ErrorCode
from reference.messages import ApiVersionsResponse

#: The version that a node of release 4.3 uses for each API, with a peer of the same release.
VERSIONS = {
    "Fetch": 18,
    "Vote": 2,
    "BeginQuorumEpoch": 1,
    "EndQuorumEpoch": 1,
    "FetchSnapshot": 1,
    "ApiVersions": 4,
    "AddRaftVoter": 1,
    "RemoveRaftVoter": 0,
    "UpdateRaftVoter": 0,
}

#: The client that is not a node.
ADMIN = -1

#: Why messages are lost, as far as the recorder says.
REASONS = frozenset(
    {
        "drop",
        "reset",
        "partition",
        "hostDown",
        "connectionReset",
        "connectionClosed",
        "unsupportedVersion",
    }
)

#: The top-level error of an answer that the network layer makes in the peer's place.
SYNTHETIC = {
    "REQUEST_TIMEOUT": ErrorCode.BROKER_NOT_AVAILABLE,
    "CONNECTION_REFUSED": ErrorCode.BROKER_NOT_AVAILABLE,
    "CONNECTION_RESET": ErrorCode.BROKER_NOT_AVAILABLE,
    "UNSUPPORTED_VERSION": ErrorCode.UNSUPPORTED_VERSION,
}


class _Flight(NamedTuple):
    """A message that was sent: when, on which line, by which node; ``ends`` of the destination by then."""

    sent: Sent
    seq: int
    time: int
    node: int
    ends: int


class Transport:
    """The messages under way as a run goes on."""

    def __init__(self, recording: Recording, processes: Processes) -> None:
        self.recording = recording
        self.messages = recording.messages
        self.request_timeout = recording.config.timeouts.request
        self.processes = processes
        self.flights: dict[int, _Flight] = {}
        self.open: set[int] = set()
        self.asked: dict[tuple[int, int], int] = {}
        self.lost: dict[int, str] = {}
        self.answered: dict[int, int] = {}
        self.arrived: dict[int, int] = {}
        self.strays: set[tuple[int, int, str]] = set()
        self.admin: dict[int, Message] = {}
        self.early: dict[int, Message] = {}
        self.blocked: frozenset[tuple[int, int]] = frozenset()
        self.blocked_at: int | None = None

    def step(self, event: Event) -> Iterator[Found]:
        """The message that a step handles, and those that it sends."""
        assert event.node is not None
        if event.kind == "start":
            self.asked = {key: mid for key, mid in self.asked.items() if key[0] != event.node}
        message = event.message
        if message is not None:
            if message.synthetic is not None:
                yield from self._synthetic(event, message)
            else:
                yield from self._arrives(event, message)
        for sent in event.sent:
            yield from self._sends(event, sent)
            if event.kind == "expire":
                yield from self._expires(event, sent)

    def _sends(self, event: Event, sent: Sent) -> Iterator[Found]:
        assert event.node is not None
        destination = self.processes.by_node.get(sent.destination)
        ends = 0 if destination is None else destination.ends
        self.flights[sent.mid] = _Flight(sent, event.seq, event.time, event.node, ends)
        if sent.mid in self.early:
            arrived = self.early.pop(sent.mid)
            yield from _equal("out.api", arrived.api, sent.api, arrived.seq)
            yield from _equal("n", arrived.source, event.node, arrived.seq)
            return
        self.open.add(sent.mid)
        content = self.messages.get(sent.mid)
        if sent.is_request:
            if content is not None:
                self.asked[event.node, content.correlation] = sent.mid
        elif sent.answers is not None:
            self.answered[sent.answers] = sent.mid

    def _expires(self, event: Event, sent: Sent) -> Iterator[Found]:
        """A Fetch is answered when it has waited as long as it said, by the node's own clock."""
        request = self.messages.get(-1 if sent.answers is None else sent.answers)
        arrived = None if request is None else self.arrived.get(request.mid)
        if request is None or arrived is None:
            yield Found("re", "a request that arrived here", sent.answers)
            return
        assert event.node is not None
        process = self.processes.by_node[event.node]
        waited, wait = event.now - arrived, request.data.number("maxWaitMs")
        longest = wait + int(process.node.is_skewed)
        if waited < wait or (waited > longest and process.paused_at is None):
            yield Found("t", event.time - waited + wait, event.time, request.seq)

    def _arrives(self, event: Event, message: Message) -> Iterator[Found]:
        assert event.node is not None
        if message.source == ADMIN and message.is_request:
            self.admin[message.mid] = message
            yield from _version(message)
            return
        if not message.is_request and message.api == NOT_RAFT and message.mid not in self.flights:
            # A node's server answers; the recorder lists that among a later step's effects.
            self.early[message.mid] = message
            yield from _version(message)
            expected = encode(ApiVersionsResponse((0, MAX_KRAFT_VERSION)))
            if message.data.values != expected:
                yield Found("data", expected, message.data.values)
            return
        yield from self._same(message, event.node)
        if message.is_request:
            self.arrived[message.mid] = event.now
        if event.kind == "recv" and (message.source, event.node) in self.blocked:
            yield Found("from", "no message over a blocked link", message.source, self.blocked_at)

    def world(self, event: Event) -> Iterator[Found]:
        """A line that is no step: a loss, a change of the links, or what is left at the end."""
        if event.kind == "net":
            self.blocked, self.blocked_at = frozenset(_links(event)), event.seq
            for link in event.fields.texts("blocked"):
                if not set(_link(link)) <= self.processes.by_node.keys():
                    yield Found("blocked", "a link a>b between two nodes", link)
        elif event.message is not None:
            yield from self._loses(event, event.message)
        elif event.kind == "apiVersions":
            yield from self._resolved(event, event.fields.number("mid"), event.fields.number("n"), NOT_RAFT)
        elif event.kind == "adminResult":
            yield from self._admin_result(event)

    def _loses(self, event: Event, message: Message) -> Iterator[Found]:
        destination = -1 if message.destination is None else message.destination
        yield from self._same(message, destination)
        if event.kind == "inflight":
            return
        why, link = event.fields.text("why"), (message.source, destination)
        self.lost[message.mid] = why
        if why not in REASONS:
            yield Found("why", f"one of {', '.join(sorted(REASONS))}", why)
        elif why == "partition" and link not in self.blocked:
            yield Found("why", "a reason other than a partition: the link is open", why, self.blocked_at)
        elif why == "hostDown" and self.processes.runs(destination):
            yield Found("why", "a reason other than a dead process: it runs", why)
        elif why == "drop" and not self.recording.config.may_drop:
            yield Found("why", "no message is dropped: dropP is 0", why)

    def _resolved(self, event: Event, mid: int, node: int, api: str) -> Iterator[Found]:
        """A message whose content the line does not show has reached ``node``."""
        self.open.discard(mid)
        flight = self.flights.get(mid)
        source = event.fields.number("from")
        if flight is None:
            yield Found("mid", "a message that was sent", mid)
            return
        yield from _equal("api", flight.sent.api, api, flight.seq)
        yield from _equal("from", flight.node, source, flight.seq)
        yield from _equal("to", flight.sent.destination, node, flight.seq)

    def _admin_result(self, event: Event) -> Iterator[Found]:
        mid, api = event.fields.number("mid"), event.fields.text("api")
        yield from self._resolved(event, mid, ADMIN, api)
        flight, request = self.flights.get(mid), event.fields.number("re")
        if flight is not None:
            yield from _equal("re", flight.sent.answers, request, flight.seq)
        if request not in self.admin:
            yield Found("re", "a request of the client", request)

    def _same(self, message: Message, node: int) -> Iterator[Found]:
        """What arrives at ``node``, or is lost on its way there, is what was sent."""
        flight = self.flights.get(message.mid)
        self.open.discard(message.mid)
        if flight is None:
            self.strays.add((message.source, node, message.api))
            yield Found("mid", "a message that was sent", message.mid)
            return
        sent, seq = flight.sent, flight.seq
        if (sent.is_request, sent.api, flight.node, sent.destination) != (
            message.is_request,
            message.api,
            message.source,
            node,
        ):
            yield from _equal("kind", _kind(sent.is_request), _kind(message.is_request), seq)
            yield from _equal("api", sent.api, message.api, seq)
            yield from _equal("from", flight.node, message.source, seq)
            yield from _equal("to", sent.destination, node, seq)
        if sent.is_request:
            yield from _version(message)
        else:
            yield from self._answers(message, sent, node, seq)

    def _answers(self, message: Message, sent: Sent, node: int, seq: int) -> Iterator[Found]:
        if sent.answers in self.admin:
            request, asker = self.admin[sent.answers], ADMIN
        else:
            flight = self.flights.get(-1 if sent.answers is None else sent.answers)
            if flight is None or not flight.sent.is_request:
                yield Found("re", "a request that was sent", sent.answers, seq)
                return
            asker = flight.node
            asked = self.messages.get(flight.sent.mid)
            if asked is None and message.api == NOT_RAFT:
                return
            if asked is None:
                yield Found("re", "a request that arrived", sent.answers, seq)
                return
            request = asked
        if (message.correlation, message.version, message.api, node) != (
            request.correlation,
            request.version,
            request.api,
            asker,
        ):
            yield from _equal("corr", request.correlation, message.correlation, seq)
            yield from _equal("ver", request.version, message.version, seq)
            yield from _equal("api", request.api, message.api, seq)
            yield from _equal("to", asker, node, seq)

    def _pairs(self, event: Event, message: Message) -> Iterator[Found]:
        """The request that ``message`` answers, by its correlation id alone."""
        assert event.node is not None
        mid = self.asked.get((event.node, message.correlation))
        if mid is None:
            yield Found("corr", "the correlation id of a request", message.correlation)
            return
        flight = self.flights[mid]
        yield from _equal("api", flight.sent.api, message.api, flight.seq)
        yield from _equal("from", flight.sent.destination, message.source, flight.seq)

    def _synthetic(self, event: Event, message: Message) -> Iterator[Found]:
        """An answer made in the peer's place: to a request of this process, with nothing but an error."""
        assert event.node is not None and message.synthetic is not None
        yield from _version(message)
        yield from self._pairs(event, message)
        if message.is_request:
            yield Found("kind", "resp", "req")
        error = SYNTHETIC.get(message.synthetic)
        if error is None:
            yield Found("synthetic", f"one of {', '.join(sorted(SYNTHETIC))}", message.synthetic)
            return
        expected = error_answer(message.api, int(error))
        if expected is not None and message.data.values != expected:
            yield Found("data", expected, message.data.values)
        mid = self.asked.get((event.node, message.correlation))
        if message.mid in self.flights:
            yield Found("mid", "a message that no node sent", message.mid, self.flights[message.mid].seq)
        if mid is not None:
            if message.mid < mid:
                yield Found("mid", f"above {mid}, the request's", message.mid)
            yield from self._fate(event, message, self.flights[mid])

    def _fate(self, event: Event, message: Message, request: _Flight) -> Iterator[Found]:
        """What happened to the request must be a reason for this kind of answer."""
        lost = self.lost.get(request.sent.mid)
        answer = self.lost.get(self.answered.get(request.sent.mid, -1))
        if message.synthetic == "CONNECTION_REFUSED":
            fits = lost == "hostDown"
        elif message.synthetic == "REQUEST_TIMEOUT":
            fits = event.time - request.time >= self.request_timeout
        elif message.synthetic == "UNSUPPORTED_VERSION":
            fits = lost == "unsupportedVersion"
        else:
            resets = ("reset", "connectionReset", "connectionClosed")
            peer = self.processes.by_node.get(request.sent.destination)
            restarted = peer is not None and peer.ends > request.ends
            fits = lost in resets or answer in resets or restarted
        if not fits:
            yield Found("synthetic", "what became of the request", message.synthetic, request.seq)

    def finish(self) -> Iterator[tuple[int, int, Found | str]]:
        """What is left at the end: line, node, and what is wrong or the exception that covers it."""
        for mid in sorted(self.open):
            flight = self.flights[mid]
            peer = self.processes.by_node.get(flight.sent.destination)
            # A message that nobody sent has arrived in its place: then it did not wait in a queue.
            strayed = (flight.node, flight.sent.destination, flight.sent.api) in self.strays
            if flight.sent.is_request and peer is not None and peer.ends > flight.ends and not strayed:
                yield flight.seq, flight.node, UNRESOLVED
            else:
                wrong = "a message that arrives, is lost or is left over"
                yield flight.seq, flight.node, Found(f"out.mid {mid}", wrong, "none does")
        for mid, message in self.early.items():
            expected = "an answer that the node's server lists as sent"
            yield message.seq, message.source, Found("mid", expected, mid)

    def too_large(self) -> Iterator[tuple[int, Found]]:
        """Messages are numbered without gaps: an answer made by the network has one of the numbers.

        Those made for a process that ended before it took them are never shown.
        """
        made = len(self.flights.keys() | self.messages.keys())
        unseen = 16 * sum(process.ends for process in self.processes.by_node.values())
        for message in self.messages.values():
            if message.mid >= made + unseen:
                yield message.seq, Found("mid", f"below {made + unseen}", message.mid)


def _equal(name: str, expected: Json, found: Json, shown_at: int) -> Iterator[Found]:
    if expected != found:
        yield Found(name, expected, found, shown_at)


def _kind(is_request: bool) -> str:
    return "req" if is_request else "resp"


def _version(message: Message) -> Iterator[Found]:
    expected = VERSIONS.get(message.api)
    if expected is None:
        yield Found("api", f"one of {', '.join(sorted(VERSIONS))}", message.api)
    elif message.version != expected:
        yield Found("ver", expected, message.version)


def error_answer(api: str, error: int) -> Json:
    """An answer that holds nothing but a top-level error, as the JSON converter of its API shows it.

    ``None`` for the APIs that the reference does not cover yet.
    """
    if api == "Fetch":
        return {"throttleTimeMs": 0, "errorCode": error, "sessionId": 0, "responses": []}
    if api == "ApiVersions":
        return {"errorCode": error, "apiKeys": [], "throttleTimeMs": 0}
    if api in ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch"):
        return {"errorCode": error, "topics": []}
    return None


def _links(event: Event) -> Iterator[tuple[int, int]]:
    for text in event.fields.texts("blocked"):
        yield _link(text)


def _link(text: str) -> tuple[int, int]:
    """The nodes of ``a>b``; a pair of unknown nodes for anything else."""
    source, _, destination = text.partition(">")
    try:
        return int(source), int(destination)
    except ValueError:
        return -9, -9
