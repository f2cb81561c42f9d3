"""Answers that the network layer of a node makes in the peer's place.

Source: Kafka: KafkaNetworkChannel.sendOnCompleted, RaftUtil.errorResponse; the recorder's network.
"""

from __future__ import annotations

from kraftcheck.evidence.recordings.encode import ERROR_TEXT
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.state import equal
from kraftcheck.reference.errors import ErrorCode

#: The top-level error of an answer that the network layer makes in the peer's place.
SYNTHETIC = {
    "REQUEST_TIMEOUT": ErrorCode.BROKER_NOT_AVAILABLE,
    "CONNECTION_REFUSED": ErrorCode.BROKER_NOT_AVAILABLE,
    "CONNECTION_RESET": ErrorCode.BROKER_NOT_AVAILABLE,
    "UNSUPPORTED_VERSION": ErrorCode.UNSUPPORTED_VERSION,
}

#: Why a message is lost together with the connection that it was sent on.
BROKEN = frozenset({"reset", "connectionReset", "connectionClosed"})


def error_answer(api: str, error: int) -> Json:
    """An answer that holds nothing but a top-level error, as the JSON converter of its API shows it.

    ``None`` for an API that the reference does not know.
    """
    if api == "Fetch":
        return {"throttleTimeMs": 0, "errorCode": error, "sessionId": 0, "responses": []}
    if api == "FetchSnapshot":
        return {"throttleTimeMs": 0, "errorCode": error, "topics": []}
    if api == "ApiVersions":
        return {"errorCode": error, "apiKeys": [], "throttleTimeMs": 0}
    if api in ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch"):
        return {"errorCode": error, "topics": []}
    if api in ("AddRaftVoter", "RemoveRaftVoter"):
        return {"throttleTimeMs": 0, "errorCode": error, ERROR_TEXT: ""}
    if api == "UpdateRaftVoter":
        return {"throttleTimeMs": 0, "errorCode": error}
    return None


def is_error_answer(data: Json, api: str, error: int) -> bool:
    """Whether ``data`` is such an answer; the words for the error, if there are any, are production's."""
    expected = error_answer(api, error)
    words = data.get(ERROR_TEXT)
    if expected is not None and ERROR_TEXT in expected and (words is None or isinstance(words, str)):
        expected = {**expected, ERROR_TEXT: words}
    return expected is None or equal(expected, data)
