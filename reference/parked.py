"""Fetches in purgatory that end without being tried again: by time-out, or with the leadership.

Source: Kafka: ThresholdPurgatory, KafkaRaftClient.handleFetchRequest (completion of the future),
buildEmptyFetchResponse.
"""

from __future__ import annotations

from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.messages import FetchResponse
from kraftcheck.reference.work import Work


def error_response(work: Work, error: ErrorCode) -> FetchResponse:
    """A Fetch response that carries nothing but ``error`` and the leader known here."""
    replica = work.replica
    return FetchResponse(
        epoch=replica.epoch,
        leader=replica.quorum_state.leader,
        leader_endpoints=replica.leader_endpoints,
        partition_error=error,
        log_start_offset=replica.log.start_offset,
    )


def fail_parked(work: Work) -> None:
    """Leadership is over: answer every fetch in purgatory with an error."""
    waiting = work.replica.parked
    work.update(parked=())
    for parked in waiting:
        work.by("FETCH-19", "RESIGN-2")
        work.reply(parked.source, parked.correlation, error_response(work, ErrorCode.NOT_LEADER_OR_FOLLOWER))


def expire_parked(work: Work, source: int, correlation: int | None) -> None:
    """A fetch in purgatory has waited long enough: it gets the answer that was prepared when it arrived."""
    for parked in work.replica.parked:
        if parked.source == source and parked.correlation == correlation:
            work.by("FETCH-19")
            work.update(parked=tuple(other for other in work.replica.parked if other is not parked))
            work.reply(parked.source, parked.correlation, parked.response)
            return
