"""The network layer's additions to messages: their versions, and answers in the peer's place.

Source: Kafka: KafkaNetworkChannel.sendOnCompleted, RaftUtil.errorResponse; the recorder's network.
"""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.recording import Message
from kraftcheck.evidence.recordings.state import equal
from kraftcheck.evidence.recordings.wire import (
    ERROR_TEXT,
    VERSIONS,
    read_message,
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
        shown = shown_since(message.data.values, message.api, is_request=message.is_request)
        if shown > message.version:
            yield Found("ver", f"{shown} or more, by the fields", message.version)


def error_answer(api: str, error: int) -> Json:
    """An answer that holds nothing but a top-level error, as the JSON converter of its API shows it.

    ``None`` for an API that replicas do not use among themselves.
    """
    if api not in VERSIONS or api == "DescribeQuorum":
        return None
    empty = {"errorCode": error, "topics": [], "responses": []}
    shown = write_message(read_message(api, Fields(empty, api), is_request=False))
    return {**{name: value for name, value in shown.items() if name != "currentLeader"}, "errorCode": error}


def is_error_answer(data: Json, api: str, error: int) -> bool:
    """Whether ``data`` is such an answer; the text of the error, if there is any, is Kafka's."""
    expected = error_answer(api, error)
    text = data.get(ERROR_TEXT)
    if expected is not None and ERROR_TEXT in expected and (text is None or isinstance(text, str)):
        expected = {**expected, ERROR_TEXT: text}
    return expected is None or equal(expected, data)
