"""The error codes of the broker layer. Numbers and meanings: ``spec/errors.toml``."""

from __future__ import annotations

from enum import IntEnum


class BrokerErrorCode(IntEnum):
    """Kafka protocol error codes, by their wire number; the last two names are those of KIP-343."""

    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    NOT_LEADER_OR_FOLLOWER = 6
    UNSUPPORTED_VERSION = 35
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    OPERATION_NOT_ATTEMPTED = 55
    FENCED_LEADER_EPOCH = 74
    STALE_BROKER_EPOCH = 77
    INVALID_UPDATE_VERSION = 95
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    INCONSISTENT_CLUSTER_ID = 104
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    NOT_LEADER_FOR_PARTITION = NOT_LEADER_OR_FOLLOWER
    INVALID_INCARNATION_ID = STALE_BROKER_EPOCH

    def __repr__(self) -> str:
        return self.name
