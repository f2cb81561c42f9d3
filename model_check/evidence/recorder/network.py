"""The network of a simulated cluster: letters under way, losses, and the answers that it makes itself."""

from __future__ import annotations

import copy
import heapq
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kraftcheck.evidence.recorder.parts import ADMIN, Letter, Node
from kraftcheck.evidence.recordings.effects import content_shown, with_size
from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.evidence.recordings.lines import ConfigLine
from kraftcheck.evidence.recordings.network import SYNTHETIC, UNSUPPORTED, error_answer
from kraftcheck.evidence.recordings.wire import VERSIONS, api_of, at_version, read_message, shown_since
from kraftcheck.reference.effects import Effect, Reply, Send
from kraftcheck.reference.messages import (
    FetchResponse,
    FetchSnapshotResponse,
    Request,
    Response,
    VoteRequest,
)


@dataclass(frozen=True, slots=True)
class Delays:
    """The delays of messages, in ms: from ``least`` to ``most``; of the share ``slow`` of them ``tail`` more
    at most.
    """

    least: int = 2
    most: int = 12
    slow: float = 0.0
    tail: int = 0

    def drawn(self, draw: random.Random) -> int:
        """The delay of one message."""
        delay = draw.randint(self.least, self.most)
        if self.slow and draw.random() < self.slow:
            delay += draw.randint(0, self.tail)
        return delay


_STEPS_WITH_CLOCK = frozenset({"start", "tick", "recv", "api", "expire"})


class Network(ABC):
    """What is under way between the nodes, in global time (ms), and the lines of the recording so far.

    drop: the share of messages that are lost, half of them together with their connection. older: the
    newest version that a node knows, by node and API, where that is not the release's. Messages of the admin
    client are lost only where no process runs.
    """

    config: ConfigLine
    nodes: dict[int, Node]
    servers: dict[int, int]

    def __init__(
        self, seed: int, drop: float, older: Mapping[int, Mapping[str, int]], delays: Delays
    ) -> None:
        self.random = random.Random(seed)
        self.time, self.order, self.mids = 0, 0, 0
        self.drop, self.older, self.delays = drop, older, delays
        self.queue: list[tuple[int, int, Callable[[], None]]] = []
        self.lines: list[Json] = []
        self.blocked: set[tuple[int, int]] = set()
        self.arrivals: dict[tuple[int, int], int] = {}
        self.open: dict[int, Letter] = {}
        self.requests: dict[int, Letter] = {}
        self.connected: dict[tuple[int, int], tuple[int, int]] = {}

    @abstractmethod
    def _client_receives(self, letter: Letter) -> None:
        """The answer ``letter`` has reached the admin client."""

    @abstractmethod
    def _deliver(self, node: Node, letter: Letter) -> None:
        """``letter`` has reached ``node``, on which a process runs."""

    # Time and lines.

    def at(self, time: int, action: Callable[[], None]) -> None:
        """Do ``action`` at ``time`` (ms)."""
        self.order += 1
        heapq.heappush(self.queue, (time, self.order, action))

    def run(self, until: int) -> None:
        """Go on until the time ``until`` (ms)."""
        while self.queue and self.queue[0][0] <= until:
            self.time, _, action = heapq.heappop(self.queue)
            action()
        self.time = until

    def _line(self, kind: str, node: int | None, fields: Json) -> None:
        line: Json = {"seq": len(self.lines), "t": self.time}
        if node is not None:
            line["n"] = node
        line["ev"] = kind
        if node is not None and self.nodes[node].config.is_skewed and kind in _STEPS_WITH_CLOCK:
            line["lt"] = self.nodes[node].clock(self.time)
        self.lines.append(line | fields)

    def block(self, what: str, links: set[tuple[int, int]]) -> None:
        """From now on exactly ``links`` (source, destination) are blocked; ``what`` is a label."""
        self.blocked = links
        self._line("net", None, {"what": what, "blocked": sorted(f"{a}>{b}" for a, b in links)})

    # Sending.

    def _send(self, node: Node, effects: Sequence[Effect]) -> list[Json]:
        out = []
        for effect in effects:
            if isinstance(effect, Send):
                letter = self._letter(node, self.servers.get(effect.to, effect.to), effect, None)
                deadline = node.when(node.clock(self.time) + self.config.timeouts.request)
                self.at(deadline, lambda one=letter: self._time_out(one))  # type: ignore[misc]
            elif isinstance(effect, Reply):
                assert effect.correlation is not None
                letter = self._letter(node, effect.to, effect, self.requests[effect.correlation])
            else:
                continue
            out.append(letter.sent())
        return out

    def _letter(self, node: Node, to: int, effect: Send | Reply, request: Letter | None) -> Letter:
        content = effect.request if isinstance(effect, Send) else effect.response
        correlation = effect.correlation if request is None else request.correlation
        assert correlation is not None
        api = api_of(content)
        version = self.older.get(to, {}).get(api, VERSIONS[api]) if request is None else request.version
        raw = None if node.process is None else node.process.host.raw(effect)
        if request is None and isinstance(content, VoteRequest) and raw is not None:
            # The first release with pre-votes shows in each Vote request whether it is one.
            version = min(version, shown_since(raw, api, is_request=True))
        letter = Letter(
            mid=self._mid(),
            source=node.id,
            to=to,
            api=api,
            correlation=correlation,
            content=content,
            data=self._shown(content) if raw is None else shown_of(raw, content),
            connection=effect.to if isinstance(effect, Send) else -1,
            owner=node.incarnation,
            request=request,
            version=version,
            raw=raw,
        )
        if request is None:
            self.requests[letter.mid] = letter
        self._post(letter)
        if not is_unsupported(letter):
            self._write(letter)
        return letter

    def _post(self, letter: Letter) -> None:
        """``letter`` is under way, in order on its link."""
        self.open[letter.mid] = letter
        link = (letter.source, letter.to)
        arrival = max(self.time + self.delays.drawn(self.random), self.arrivals.get(link, 0))
        self.arrivals[link] = arrival
        self.at(arrival, lambda: self._arrive(letter))

    def _shown(self, content: Request | Response) -> Json:
        """A message as the recording shows it."""
        return content_shown(content)

    def _write(self, letter: Letter) -> None:
        """The receiver sees what the version of the message has room for."""
        if letter.version >= VERSIONS[letter.api]:
            return
        letter.data = at_version(letter.data, letter.api, letter.version, is_request=letter.is_request)
        data = Fields(letter.data, "simulation")
        letter.content = read_message(letter.api, data, is_request=letter.is_request)
        letter.raw = None

    def _mid(self) -> int:
        self.mids += 1
        return self.mids - 1

    # Arriving.

    def _arrive(self, letter: Letter) -> None:
        if letter.done:
            return
        letter.done = True
        if letter.to == ADMIN:
            self._client_receives(letter)
            return
        node = self.nodes[letter.to]
        why = self._why_lost(letter, node)
        if why is not None:
            self._line("lost", None, {"why": why, "to": letter.to} | letter.shown())
            self._answer_for(letter, why)
            return
        if letter.request is not None:
            self.open.pop(letter.request.mid, None)
            self.open.pop(letter.mid, None)
        self._deliver(node, letter)

    def _answer_for(self, letter: Letter, why: str) -> None:
        """The network answers where the loss of ``letter`` is noticed."""
        asked = letter.request or letter
        if why == "hostDown":
            self._make(asked, "CONNECTION_REFUSED", 2)
        elif why == UNSUPPORTED:
            self._make(asked, "UNSUPPORTED_VERSION", 0)
        elif why in ("reset", "connectionReset"):
            self._make(asked, "CONNECTION_RESET", 1)

    def _why_lost(self, letter: Letter, node: Node) -> str | None:
        if is_unsupported(letter):
            return UNSUPPORTED
        if (letter.source, letter.to) in self.blocked:
            return "partition"
        if letter.is_request and node.process is None:
            return "hostDown"
        if letter.source == ADMIN:
            return None
        if letter.is_request and self._is_stale(letter, node):
            return "connectionReset"
        request = letter.request
        if request is not None:
            runs = node.process is not None and node.incarnation == request.owner
            if request.mid not in self.open or not runs:
                return "connectionClosed"
        if self.random.random() < self.drop:
            return self.random.choice(["drop", "reset"])
        return None

    def _is_stale(self, letter: Letter, node: Node) -> bool:
        """Whether the connection was made to a process before, as its owner now finds out, if at all."""
        now = (letter.owner, node.incarnation)
        before = self.connected.get((letter.source, letter.to), now)
        self.connected[letter.source, letter.to] = now
        return before[0] == now[0] and before[1] != now[1] and self.random.random() < 0.5

    # Answers that the network makes.

    def _time_out(self, letter: Letter) -> None:
        if letter.mid in self.open:
            self._make(letter, "REQUEST_TIMEOUT", 0)

    def _make(self, request: Letter, reason: str, delay: int) -> None:
        """The network layer answers ``request`` in the peer's place."""
        if self.open.pop(request.mid, None) is None or request.source == ADMIN:
            return
        node = self.nodes[request.source]
        if node.process is None or node.incarnation != request.owner:
            return
        data = error_answer(request.api, int(SYNTHETIC[reason]))
        letter = Letter(
            mid=self._mid(),
            source=request.to,
            to=node.id,
            api=request.api,
            correlation=request.correlation,
            content=read_message(request.api, Fields(data, "simulation"), is_request=False),
            data=data,
            connection=-1,
            owner=0,
            request=request,
            version=request.version,
            synthetic=reason,
        )
        self.at(self.time + delay, lambda: self._hand_over(node, letter))

    def _hand_over(self, node: Node, letter: Letter) -> None:
        assert letter.request is not None
        if node.process is not None and node.incarnation == letter.request.owner:
            self._deliver(node, letter)

    def _reset_peers(self, node: Node) -> None:
        """Peers that wait for an answer of an ended process learn that the connection is gone.

        Answers that waited in its queue are lost; requests that did are never seen again.
        """
        for letter in node.waiting:
            if not letter.is_request and letter.synthetic is None:
                self._line("lost", None, {"why": "connectionClosed", "to": node.id} | letter.shown())
        node.waiting = []
        for letter in list(self.open.values()):
            if letter.is_request and letter.to == node.id and letter.done:
                self._make(letter, "CONNECTION_RESET", 3)


def is_unsupported(letter: Letter) -> bool:
    """Whether the version of the peer has no room for the message: a pre-vote before version 2."""
    content = letter.content
    return isinstance(content, VoteRequest) and content.pre_vote and letter.version < 2


def shown_of(raw: Json, content: Request | Response) -> Json:
    """A message that an adapter reported as recordings show it: with the size of its records, and without the
    snapshot of which it brings a part.
    """
    if isinstance(content, FetchResponse):
        return with_size(copy.deepcopy(raw), content.batches)
    if isinstance(content, FetchSnapshotResponse) and content.content is not None:
        data = copy.deepcopy(raw)
        for topic in data["topics"]:
            for partition in topic["partitions"]:
                partition.pop("snapshot", None)
        return data
    return raw
