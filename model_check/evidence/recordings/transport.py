"""The messages of a recorded run: each is sent once, arrives once or is lost once, and answers the request
that it names.

This does not depend on the decisions of nodes, so it is checked for every line, also where a node's own steps
cannot be compared.

Source: the recorder's network (MANIFEST of the recorded runs); Kafka: KafkaNetworkChannel.sendOnCompleted
(answers made by the network layer), RaftUtil.errorResponse, the message schemas (versions).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from kraftcheck.evidence.recordings.exceptions import NUMBER_LEFT_OUT, OLDER_VERSION, UNRESOLVED
from kraftcheck.evidence.recordings.identity import MAX_KRAFT_VERSION
from kraftcheck.evidence.recordings.lines import AdminResultLine, ApiVersionsLine, Message, NetLine, Sent
from kraftcheck.evidence.recordings.network import (
    BROKEN,
    SYNTHETIC,
    UNSUPPORTED,
    Links,
    Requests,
    error_answer,
    is_error_answer,
    is_older,
    wrong_version,
)
from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.processes import Processes
from kraftcheck.evidence.recordings.recording import NOT_RAFT, Event, Recording, StepEvent
from kraftcheck.evidence.recordings.state import equal
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.evidence.recordings.wire import VERSIONS, write_message
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.messages import ApiVersionsResponse

#: The client, which is not a node.
ADMIN = -1

#: The reasons of losses that the recorder names.
REASONS = frozenset({*BROKEN, "drop", "partition", "hostDown", UNSUPPORTED})


class Flight(NamedTuple):
    """A message that was sent: the time (``now`` by the sender's own clock), the line and the node; ``ends``
    of the destination by then.
    """

    sent: Sent
    seq: int
    time: int
    now: int
    node: int
    ends: int


class _Early(NamedTuple):
    """The answer of a node's server to ``node``, seen before its own line; ``ends`` as of a flight."""

    message: Message
    node: int
    ends: int


class Transport:
    """The messages in flight during a run."""

    def __init__(self, recording: Recording, processes: Processes) -> None:
        self.recording = recording
        self.messages = recording.messages
        self.request_timeout = recording.config.timeouts.request
        self.final_time = recording.events[-1].time
        self.processes = processes
        self.flights: dict[int, Flight] = {}
        self.open: set[int] = set()
        self.requests = Requests()
        self.links = Links()
        self.lost: dict[int, str] = {}
        self.answered: dict[int, int] = {}
        self.replaced: dict[int, int] = {}
        self.arrived: dict[int, int] = {}
        self.strays: set[tuple[int, int, str]] = set()
        self.admin: dict[int, Message] = {}
        self.early: dict[int, _Early] = {}
        self.newest = (-1, 0)
        self.older = 0
        self.owed: dict[int, list[int]] = {}

    def step(self, event: StepEvent) -> Iterator[Found]:
        """The message that a step handles, and those that it sends."""
        if event.kind == "start":
            self.requests.start(event.node)
        yield from self._servers_answers(event, self.owed.pop(event.node, []))
        message = event.message
        if message is not None:
            if message.synthetic is not None:
                yield from self._synthetic(event, message)
            else:
                yield from self._arrives(event, message)
        for sent in event.line.sent:
            yield from self._sends(event, sent)
            if event.kind == "expire":
                yield from self._expires(event, sent)

    def _servers_answers(self, event: StepEvent, requests: list[int]) -> Iterator[Found]:
        """A node's next step lists the answers of its server, unless the node takes no further step."""
        if event.kind in ("start", "end"):
            return
        listed = {sent.answers for sent in event.line.sent if sent.api == NOT_RAFT and not sent.is_request}
        for mid in requests:
            if mid not in listed:
                yield Found("out", f"the answer of the node's server to request {mid}", None)
        numbers = {sent.mid for sent in event.line.sent}
        for mid, (answer, _, _) in list(self.early.items()):
            if answer.source == event.node and mid not in numbers:
                del self.early[mid]
                yield Found("out", f"message {mid}, an answer of the node's server", None, answer.seq)

    def _sends(self, event: StepEvent, sent: Sent) -> Iterator[Found]:
        ends = self._ends(sent.destination)
        self.flights[sent.mid] = Flight(sent, event.seq, event.time, event.now, event.node, ends)
        if sent.mid in self.early:
            arrived, node, _ = self.early.pop(sent.mid)
            yield from _equal("out.api", arrived.api, sent.api, arrived.seq)
            yield from _equal("n", arrived.source, event.node, arrived.seq)
            yield from _equal("out.to", node, sent.destination, arrived.seq)
            yield from self._asked_server(sent, event.node, node, arrived.seq)
            if sent.answers is not None:
                self.answered[sent.answers] = sent.mid
            return
        if sent.is_request or sent.api != NOT_RAFT:
            yield from self._in_order(event, sent)
        self.open.add(sent.mid)
        if sent.is_request:
            self.requests.send(event.node, sent, self.messages.get(sent.mid))
        elif sent.answers is not None:
            self.answered[sent.answers] = sent.mid

    def _in_order(self, event: StepEvent, sent: Sent) -> Iterator[Found]:
        """Messages are numbered as they are made, including those of the client, the network and a node's
        server; only the last are listed after they were made.
        """
        number, line = self.newest
        if number > sent.mid:
            yield Found("out.mid", f"above {number}, which was made before", sent.mid, line)
        self.newest = sent.mid, event.seq

    def _is_numbered(self, message: Message) -> None:
        """``message``, which no line lists as sent before, has been made by now."""
        self.newest = max(self.newest, (message.mid, message.seq))

    def _ends(self, node: int) -> int:
        """The number of processes that have ended on ``node`` so far."""
        process = self.processes.by_node.get(node)
        return 0 if process is None else process.ends

    def _expires(self, event: StepEvent, sent: Sent) -> Iterator[Found]:
        """A Fetch expires after the wait that it requested, by the node's own clock."""
        request = self.messages.get(-1 if sent.answers is None else sent.answers)
        arrived = None if request is None else self.arrived.get(request.mid)
        if request is None or arrived is None:
            yield Found("re", "a request that arrived here", sent.answers)
            return
        process = self.processes.by_node[event.node]
        waited, wait = event.now - arrived, request.content.maxWaitMs
        longest = wait + int(process.node.is_skewed)
        if waited < wait or (waited > longest and process.paused_at is None):
            yield Found("t", event.time - waited + wait, event.time, request.seq)

    def _arrives(self, event: StepEvent, message: Message) -> Iterator[Found]:
        if self._comes_first(message, event.node):
            yield from wrong_version(message)
            if message.api == NOT_RAFT and not message.is_request:
                yield from self._servers_content(message)
                if self.requests.find(event.node, message.correlation) is not None:
                    # The content of the request is not shown, so every known request is a different one.
                    yield Found("corr", "that of an ApiVersions request", message.correlation)
            return
        yield from self._same(message, event.node)
        if message.is_request:
            self.arrived[message.mid] = event.now
        flight = self.flights.get(message.mid)
        blocked_at = self.links.blocked_since((message.source, event.node))
        if flight is not None and blocked_at is not None and blocked_at < flight.seq:
            yield Found("from", "no message over a link blocked all the time", message.source, blocked_at)

    def _comes_first(self, message: Message, node: int) -> bool:
        """Whether ``message``, which reaches ``node`` or is lost, is sent on no line, or on a later one.

        The first are requests of the client; the others are answers of a node's server, which the recorder
        lists among the effects of a later step.
        """
        if message.source == ADMIN and message.is_request:
            self.admin[message.mid] = message
            self._is_numbered(message)
            return True
        if not message.is_request and message.api == NOT_RAFT and message.mid not in self.flights:
            self.early[message.mid] = _Early(message, node, self._ends(message.source))
            self._is_numbered(message)
            return True
        return False

    def world(self, event: Event) -> Iterator[Found]:
        """A line that is no step: a loss, a change of the links, or a message left over at the end."""
        line = event.line
        if isinstance(line, NetLine):
            yield from self.links.change(line, self.processes.by_node)
        elif event.message is not None:
            yield from self._loses(event, event.message)
        elif isinstance(line, ApiVersionsLine):
            self.owed.setdefault(line.n, []).append(line.mid)
            yield from self._resolved(line, line.n, NOT_RAFT)
        elif isinstance(line, AdminResultLine):
            yield from self._admin_result(event, line)

    def _loses(self, event: Event, message: Message) -> Iterator[Found]:
        destination = message.destination
        if self._comes_first(message, destination):
            yield from wrong_version(message)
        else:
            yield from self._same(message, destination)
        why = message.why
        if why is None:
            return
        self.lost[message.mid] = why
        if why in BROKEN:
            self.links.break_between(message.source, destination, event.seq)
        if why not in REASONS:
            yield Found("why", f"one of {', '.join(sorted(REASONS))}", why)
        flight = self.flights.get(message.mid)
        if flight is not None:
            yield from self._reason_fits(why, (message.source, destination), flight)

    def _reason_fits(self, why: str, link: tuple[int, int], flight: Flight) -> Iterator[Found]:
        """A reason must have held at some time since the message was sent."""
        if why == "partition" and self.links.was_open_since(link, flight.seq):
            freed = self.links.freed_at(link)
            yield Found("why", "another reason: the link was open all the time", why, freed)
        elif why == "hostDown" and self.processes.ran_since(link[1], flight.seq):
            yield Found("why", "another reason: the process ran all the time", why)

    def _resolved(self, line: ApiVersionsLine | AdminResultLine, node: int, api: str) -> Iterator[Found]:
        """A message whose content the line does not show has reached ``node``."""
        self.open.discard(line.mid)
        flight = self.flights.get(line.mid)
        if flight is None:
            yield Found("mid", "a message that was sent", line.mid)
            return
        yield from _equal("api", flight.sent.api, api, flight.seq)
        yield from _equal("from", flight.node, line.source, flight.seq)
        yield from _equal("to", flight.sent.destination, node, flight.seq)

    def _admin_result(self, event: Event, line: AdminResultLine) -> Iterator[Found]:
        """The client has an answer: a node's, or one that the network made because nothing came."""
        request, flight = line.answers, self.flights.get(line.mid)
        if flight is None and not self._was_answered(request):
            yield from self._made_for_client(event, line)
            return
        yield from self._resolved(line, ADMIN, line.api)
        if flight is not None:
            yield from _equal("re", flight.sent.answers, request, flight.seq)
        if request not in self.admin:
            yield Found("re", "a request of the client", request)

    def _made_for_client(self, event: Event, line: AdminResultLine) -> Iterator[Found]:
        """The network made this answer: it reports an error. Its request may have waited in a queue."""
        if line.data.error == ErrorCode.NONE:
            yield Found("data.errorCode", "an error: no node sent this answer", 0)
        # The request may still wait in a queue, to be shown on a later line.
        shown = self.messages.get(line.answers)
        if shown is not None:
            yield from _equal("re", ADMIN, shown.source, shown.seq)
            yield from _equal("api", shown.api, line.api, shown.seq)
        elif not self._ends(line.source) and self.final_time - event.time >= self.request_timeout:
            yield Found("re", "a request of the client", line.answers)

    def _was_answered(self, request: int) -> bool:
        """Whether an answer to ``request`` is in flight."""
        answer = self.answered.get(request)
        return answer is not None and answer in self.open

    def _same(self, message: Message, node: int) -> Iterator[Found]:
        """The message that arrives at ``node``, or is lost on its way there, is the one that was sent."""
        flight = self.flights.get(message.mid)
        self.open.discard(message.mid)
        if flight is None:
            self.strays.add((message.source, node, message.api))
            yield Found("mid", "a message that was sent", message.mid)
            return
        sent, seq = flight.sent, flight.seq
        yield from _equal("kind", _kind(sent.is_request), _kind(message.is_request), seq)
        yield from _equal("api", sent.api, message.api, seq)
        yield from _equal("from", flight.node, message.source, seq)
        yield from _equal("to", sent.destination, node, seq)
        if sent.is_request:
            if message.version != VERSIONS.get(message.api):
                yield from wrong_version(message)
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
                yield from wrong_version(message)
                yield from self._servers_content(message)
                yield from self._asked_server(sent, message.source, node, seq)
                return
            if asked is None:
                yield Found("re", "a request that arrived", sent.answers, seq)
                return
            request = asked
        yield from _equal("corr", request.correlation, message.correlation, seq)
        yield from _equal("ver", request.version, message.version, seq)
        yield from _equal("api", request.api, message.api, seq)
        yield from _equal("to", asker, node, seq)

    def _servers_content(self, message: Message) -> Iterator[Found]:
        """Every server answers the same; no line shows the version of the request."""
        self.older += is_older(message)
        expected = write_message(ApiVersionsResponse((0, MAX_KRAFT_VERSION)))
        if not equal(message.data, expected):
            yield Found("data", expected, message.data)

    def _asked_server(self, sent: Sent, server: int, asker: int, seq: int) -> Iterator[Found]:
        """The answer of the server on a node answers a request that ``asker`` has sent there."""
        flight = self.flights.get(-1 if sent.answers is None else sent.answers)
        asked = None if flight is None else (flight.node, flight.sent.destination, flight.sent.api)
        if asked != (asker, server, NOT_RAFT):
            yield Found(
                "out.re", f"a request of node {asker} to the server of node {server}", sent.answers, seq
            )

    def _pairs(self, event: StepEvent, message: Message) -> Iterator[Found]:
        """The request that ``message`` answers, by its correlation id alone."""
        mid = self.requests.answered(event.node, message)
        if mid is None:
            yield Found("corr", "the correlation id of a request", message.correlation)
            return
        flight = self.flights[mid]
        yield from _equal("api", flight.sent.api, message.api, flight.seq)
        yield from _equal("from", flight.sent.destination, message.source, flight.seq)
        request = self.messages.get(mid)
        if request is not None and request.why != UNSUPPORTED:
            yield from _equal("ver", request.version, message.version, request.seq)

    def _synthetic(self, event: StepEvent, message: Message) -> Iterator[Found]:
        """An answer made in the peer's place: to a request of this process, with nothing but an error."""
        assert message.synthetic is not None
        yield from wrong_version(message)
        yield from self._pairs(event, message)
        if message.is_request:
            yield Found("kind", "resp", "req")
        error = SYNTHETIC.get(message.synthetic)
        if error is None:
            yield Found("synthetic", f"one of {', '.join(sorted(SYNTHETIC))}", message.synthetic)
            return
        if not is_error_answer(message.data, message.api, int(error)):
            yield Found("data", error_answer(message.api, int(error)), message.data)
        mid = self.requests.find(event.node, message.correlation)
        if message.mid in self.flights:
            yield Found("mid", "a message that no node sent", message.mid, self.flights[message.mid].seq)
        else:
            self._is_numbered(message)
        if mid is not None:
            before = self.replaced.setdefault(mid, event.seq)
            if before != event.seq:
                yield Found("corr", "that of a request without an answer", message.correlation, before)
            if message.mid < mid:
                yield Found("mid", f"above {mid}, the request's", message.mid)
            if not self._fits(event, message, self.flights[mid]):
                yield Found(
                    "synthetic", "what became of the request", message.synthetic, self.flights[mid].seq
                )

    def _fits(self, event: StepEvent, message: Message, request: Flight) -> bool:
        """The fate of the request must be a reason for this kind of answer."""
        mid, peer = request.sent.mid, request.sent.destination
        shown = self.messages.get(mid)
        lost = None if shown is None else shown.why
        if message.synthetic == "CONNECTION_REFUSED":
            return lost == "hostDown"
        if message.synthetic == "UNSUPPORTED_VERSION":
            return lost == UNSUPPORTED
        if message.synthetic == "REQUEST_TIMEOUT":
            # The network may count by either clock.
            return max(event.time - request.time, event.now - request.now) >= self.request_timeout
        answer = self.lost.get(self.answered.get(mid, -1))
        broke = self.links.broke_since(request.node, peer, request.seq)
        return lost in BROKEN or answer in BROKEN or broke or self._ends(peer) > request.ends

    def finish(self) -> Iterator[tuple[int, int, Found | str]]:
        """The messages left over at the end: line, node, and the fault or the exception that covers it."""
        for mid in sorted(self.open):
            flight = self.flights[mid]
            to = flight.sent.destination
            # An unsent message has arrived in its place: then it did not wait in a queue.
            strayed = (flight.node, to, flight.sent.api) in self.strays
            ended = flight.sent.is_request and self._ends(to) > flight.ends
            waits = ended or self.final_time - flight.time < self.request_timeout
            if waits and not strayed and mid not in self.answered:
                yield flight.seq, flight.node, UNRESOLVED
            else:
                wrong = "a message that arrives, is lost or is left over"
                yield flight.seq, flight.node, Found(f"out.mid {mid}", wrong, "none does")
        for mid, (message, _, ends) in self.early.items():
            late = self.processes.by_node.get(message.source)
            if late is not None and (late.ends > ends or late.last_step < message.seq):
                yield message.seq, message.source, UNRESOLVED
            else:
                expected = "an answer that the node's server lists as sent"
                yield message.seq, message.source, Found("mid", expected, mid)
        yield from [(0, ADMIN, OLDER_VERSION)] * self.older
        ids = sorted(self.flights.keys() | self.messages.keys())
        for before, after in pairwise(ids):
            if after != before + 1:
                yield 0, ADMIN, NUMBER_LEFT_OUT


def _equal(name: str, expected: Json, found: Json, shown_at: int) -> Iterator[Found]:
    if expected != found:
        yield Found(name, expected, found, shown_at)


def _kind(is_request: bool) -> str:
    return "req" if is_request else "resp"
