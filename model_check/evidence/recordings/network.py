"""The network of a recorded run: links, requests on them, versions of messages, and answers that the network
layer makes in the place of a peer.

Source: Kafka: KafkaNetworkChannel.sendOnCompleted, RaftUtil.errorResponse; the recorder's network (MANIFEST).
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from kraftcheck.evidence.recordings.lines import Message, NetLine, Sent
from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.state import equal
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.evidence.recordings.wire import (
    CONTENTS,
    ERROR_TEXT,
    VERSIONS,
    message_of,
    shown_since,
    write_message,
)
from kraftcheck.reference.errors import ErrorCode

#: The reason of a loss where the version of the peer has no room for a request.
UNSUPPORTED = "unsupportedVersion"

#: The top-level error of an answer that the network layer makes in the peer's place.
SYNTHETIC = {
    "REQUEST_TIMEOUT": ErrorCode.BROKER_NOT_AVAILABLE,
    "CONNECTION_REFUSED": ErrorCode.BROKER_NOT_AVAILABLE,
    "CONNECTION_RESET": ErrorCode.BROKER_NOT_AVAILABLE,
    "UNSUPPORTED_VERSION": ErrorCode.UNSUPPORTED_VERSION,
}

#: The reason of a loss where a message is lost together with its connection.
BROKEN = frozenset({"reset", "connectionReset", "connectionClosed"})


def is_older(message: Message) -> bool:
    """Whether ``message`` has an older version than the release: its sender's peer is older."""
    return message.version < VERSIONS.get(message.api, 0)


def wrong_version(message: Message) -> Iterator[Found]:
    """The faults in the API and the version of ``message``, also by the fields that it has."""
    newest = VERSIONS.get(message.api)
    if newest is None:
        yield Found("api", f"one of {', '.join(sorted(VERSIONS))}", message.api)
    elif not 0 <= message.version <= newest:
        yield Found("ver", newest, message.version)
    elif message.version < newest and message.why != UNSUPPORTED:
        shown = shown_since(message.data, message.api, is_request=message.is_request)
        if shown > message.version:
            yield Found("ver", f"{shown} or more, by the fields", message.version)


def error_answer(api: str, error: int) -> Json:
    """An answer that holds nothing but a top-level error, as the JSON converter of its API shows it.

    ``None`` for an API that replicas do not use among themselves.
    """
    if api not in VERSIONS or api == "DescribeQuorum":
        return None
    shown = write_message(message_of(api, CONTENTS[api, False](errorCode=error), api, is_request=False))
    return {**{name: value for name, value in shown.items() if name != "currentLeader"}, "errorCode": error}


def is_error_answer(data: Json, api: str, error: int) -> bool:
    """Whether ``data`` is such an answer; the text of the error, if there is any, is Kafka's."""
    expected = error_answer(api, error)
    text = data.get(ERROR_TEXT)
    if expected is not None and ERROR_TEXT in expected and (text is None or isinstance(text, str)):
        expected = {**expected, ERROR_TEXT: text}
    return expected is None or equal(expected, data)


#: From a node to a node.
Link = tuple[int, int]


class Links:
    """The state of the links as of the line that was read last; lines are named by their ``seq``."""

    def __init__(self) -> None:
        self._blocked: dict[Link, int] = {}
        self._freed: dict[Link, int] = {}
        self._broken: dict[Link, int] = {}

    def change(self, line: NetLine, nodes: Container[int]) -> Iterator[Found]:
        """A line lists the links that are blocked from now on."""
        blocked = set(map(_link, line.blocked))
        for link in self._blocked.keys() - blocked:
            self._freed[link] = line.seq
        self._blocked = {link: self._blocked.get(link, line.seq) for link in blocked}
        for text in line.blocked:
            if not all(node in nodes for node in _link(text)):
                yield Found("blocked", "a link a>b between two nodes", text)

    def blocked_since(self, link: Link) -> int | None:
        """The line since which a link is blocked; ``None``: it is open."""
        return self._blocked.get(link)

    def freed_at(self, link: Link) -> int | None:
        """The line on which a link was opened last."""
        return self._freed.get(link)

    def was_open_since(self, link: Link, seq: int) -> bool:
        """Whether a link has been open all the time since line ``seq``."""
        return link not in self._blocked and self._freed.get(link, -1) < seq

    def break_between(self, one: int, other: int, seq: int) -> None:
        """The connection between two nodes breaks on line ``seq``."""
        self._broken[_pair(one, other)] = seq

    def broke_since(self, one: int, other: int, seq: int) -> bool:
        """Whether the connection between two nodes has broken after line ``seq``."""
        return self._broken.get(_pair(one, other), -1) > seq


class Requests:
    """Message ids by node and correlation id, of the process that runs on each node."""

    def __init__(self) -> None:
        self._sent: dict[tuple[int, int], int] = {}
        self._unseen: dict[int, list[Sent]] = {}

    def start(self, node: int) -> None:
        """A process starts, which has sent nothing yet."""
        self._sent = {key: mid for key, mid in self._sent.items() if key[0] != node}
        self._unseen[node] = []

    def send(self, node: int, sent: Sent, content: Message | None) -> None:
        """``node`` sends a request; its correlation id is shown with its content, if any line shows that."""
        if content is None:
            self._unseen.setdefault(node, []).append(sent)
        else:
            self._sent[node, content.correlation] = sent.mid

    def find(self, node: int, correlation: int) -> int | None:
        """The message id of the request of ``node`` with this correlation id."""
        return self._sent.get((node, correlation))

    def answered(self, node: int, answer: Message) -> int | None:
        """The request that ``answer`` is for: by its correlation id, else one whose content no line shows."""
        known = self.find(node, answer.correlation)
        if known is not None:
            return known
        for sent in self._unseen.get(node, ()):
            if (sent.api, sent.destination) == (answer.api, answer.source):
                self._unseen[node].remove(sent)
                self._sent[node, answer.correlation] = sent.mid
                return sent.mid
        return None


def _pair(one: int, other: int) -> Link:
    return min(one, other), max(one, other)


def _link(text: str) -> Link:
    """The nodes of ``a>b``; a pair of unknown nodes for anything else."""
    source, _, destination = text.partition(">")
    try:
        return int(source), int(destination)
    except ValueError:
        return -9, -9
