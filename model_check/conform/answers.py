"""Answers that the network layer of a node makes in the peer's place.

Source: Kafka: KafkaNetworkChannel.sendOnCompleted, RaftUtil.errorResponse; the recorder's network.
"""

from __future__ import annotations

from model_check.conform.fields import Json
from reference.errors import ErrorCode

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

    ``None`` for the APIs that the reference does not cover yet.
    """
    if api == "Fetch":
        return {"throttleTimeMs": 0, "errorCode": error, "sessionId": 0, "responses": []}
    if api == "ApiVersions":
        return {"errorCode": error, "apiKeys": [], "throttleTimeMs": 0}
    if api in ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch"):
        return {"errorCode": error, "topics": []}
    return None
