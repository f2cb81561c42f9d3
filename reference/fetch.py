"""Fetch: replication, log reconciliation, and the liveness check of a follower.

Source: KIP-595 (Fetch), KIP-1166 (high watermark in the request); Kafka:
KafkaRaftClient.handleFetchRequest, tryCompleteFetchRequest, handleFetchResponse, appendAsFollower,
FollowerState.updateHighWatermark, ThresholdPurgatory, UnifiedLog.append.
"""

from __future__ import annotations

import itertools

from kraftcheck.reference import divergence, epochs, progress, snapshots, voter_assignments, voter_changes
from kraftcheck.reference import log as logs
from kraftcheck.reference import parked as parked_fetches
from kraftcheck.reference.effects import (
    ArmTimer,
    Duration,
    Fatal,
    Flush,
    HighWatermark,
    Truncate,
)
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Timer
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.messages import HIGH_WATERMARK_NOT_SUPPORTED, FetchRequest, FetchResponse
from kraftcheck.reference.protocol import FetchHighWatermark
from kraftcheck.reference.replica import Follower, ParkedFetch
from kraftcheck.reference.work import Work

#: Which rule refuses a fetch that is not for this leader and epoch.
REFUSALS = {
    ErrorCode.FENCED_LEADER_EPOCH: "FETCH-4",
    ErrorCode.UNKNOWN_LEADER_EPOCH: "FETCH-5",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "FETCH-6",
    ErrorCode.BROKER_NOT_AVAILABLE: "FETCH-7",
}


def handle_request(
    work: Work, source: int, correlation: int | None, request: FetchRequest
) -> FetchResponse | None:
    """Answer a fetch, or delay it (``None``) until there is something to report."""
    # validate
    error = epochs.envelope_error(work, request)
    if error is not ErrorCode.NONE:
        return FetchResponse(work.replica.epoch, error=error)
    if _is_malformed(request):
        work.by("FETCH-3")
        return parked_fetches.error_response(work, ErrorCode.INVALID_REQUEST)
    # epoch, decide
    response = _try_complete(work, request)
    if _is_due(work, request, response):
        return response
    # effects
    work.by("FETCH-19")
    work.update(parked=(*work.replica.parked, ParkedFetch(source, correlation, request, response)))
    return None


def _is_malformed(request: FetchRequest) -> bool:
    smallest = min(request.max_wait_ms, request.offset, request.last_epoch)
    return smallest < 0 or request.last_epoch > request.epoch


def _is_due(work: Work, request: FetchRequest, response: FetchResponse) -> bool:
    """Whether ``response`` is worth sending at once."""
    if response.partition_error is not ErrorCode.NONE or request.max_wait_ms == 0:
        return True
    if response.batches or response.diverging is not None or response.snapshot is not None:
        return True
    if work.protocol.fetch_high_watermark is FetchHighWatermark.NOT_REPORTED:
        return False
    theirs = -1 if request.high_watermark is None else request.high_watermark
    ours = -1 if response.high_watermark is None else response.high_watermark
    return ours > theirs


def _try_complete(work: Work, request: FetchRequest, *, again: bool = False) -> FetchResponse:
    """The answer to a fetch as of now; a valid position counts as that replica's end offset.

    ``again``: the fetch arrived earlier, and has waited since.
    """
    error = epochs.leader_request_error(work, request.epoch)
    if error is not ErrorCode.NONE:
        work.by(REFUSALS[error])
        return parked_fetches.error_response(work, error)
    work.by("FETCH-8")
    log = work.replica.log
    needed = _needed_snapshot(work, request)
    if needed is not None:
        return _response(work, snapshot=needed)
    if not logs.is_valid_position(log, request.offset, request.last_epoch):
        checkpoint = work.replica.has_checkpoint
        diverging = logs.end_offset_for_epoch(log, request.last_epoch, checkpoint=checkpoint)
        return divergence.answer(work, _response(work, diverging=diverging))
    if request.offset == 0:
        work.by("FETCH-11")
    if request.replica.id == work.replica.id:
        work.by("FETCH-18")
        return parked_fetches.error_response(work, ErrorCode.UNKNOWN_SERVER_ERROR)
    work.by("FETCH-14", "FETCH-1")
    batches = logs.batches_from(log, request.offset, work.protocol.fetch_max_batches)
    progress.record_fetch(work, request.replica, request.offset, again=again)
    if progress.advance_high_watermark(work):
        high_watermark_moved(work)
    return _response(work, batches=batches)


def _needed_snapshot(work: Work, request: FetchRequest) -> logs.SnapshotId | None:
    """The snapshot that the fetcher has to load before it can be given records, if any."""
    log = work.replica.log
    if not log.snapshots:
        return None
    if request.offset == 0:
        work.by("FETCH-13")
        return log.snapshots[-1].id
    checkpoint = work.replica.has_checkpoint
    if logs.needs_snapshot(log, request.offset, request.last_epoch, checkpoint=checkpoint):
        work.by("FETCH-12")
        return log.snapshots[-1].id
    return None


def _response(
    work: Work,
    batches: tuple[logs.Batch, ...] = (),
    diverging: logs.EpochEnd | None = None,
    snapshot: logs.SnapshotId | None = None,
) -> FetchResponse:
    replica = work.replica
    return FetchResponse(
        epoch=replica.epoch,
        leader=replica.quorum_state.leader,
        high_watermark=replica.high_watermark,
        batches=batches,
        diverging=diverging,
        leader_endpoints=replica.leader_endpoints,
        log_start_offset=replica.log.start_offset,
        snapshot=snapshot,
    )


# Fetches in purgatory.


def high_watermark_moved(work: Work) -> None:
    """A voter change may be complete now, and every fetch in purgatory is answered anew (since KIP-1166)."""
    voter_changes.settle(work)
    voter_assignments.settle(work)
    if work.protocol.fetch_high_watermark is FetchHighWatermark.REPORTED:
        _answer(work, work.replica.parked)


def answer_parked_below(work: Work, end_offset: int) -> None:
    """Answer the fetches in purgatory that waited for a record below ``end_offset``."""
    _answer(work, tuple(parked for parked in work.replica.parked if parked.request.offset < end_offset))


def _answer(work: Work, due: tuple[ParkedFetch, ...]) -> None:
    work.update(parked=tuple(parked for parked in work.replica.parked if parked not in due))
    for parked in sorted(due, key=lambda parked: parked.request.offset):
        work.by("FETCH-19")
        work.reply(parked.source, parked.correlation, _try_complete(work, parked.request, again=True))


# The fetcher's side.


def request_of(work: Work) -> FetchRequest:
    """What this replica asks for next."""
    replica = work.replica
    work.by("FETCH-2")
    reported = work.protocol.fetch_high_watermark is FetchHighWatermark.REPORTED
    return FetchRequest(
        epoch=replica.epoch,
        replica=replica.key,
        offset=replica.log.end_offset,
        last_epoch=replica.log.last_epoch,
        high_watermark=replica.high_watermark if reported else HIGH_WATERMARK_NOT_SUPPORTED,
        max_wait_ms=work.protocol.fetch_max_wait_ms,
        cluster_id=replica.cluster_id,
    )


def handle_response(work: Work, source: int, response: FetchResponse) -> None:
    """Truncate or append as the leader says, learn the high watermark, and restart the fetch timer."""
    # validate, epoch
    response = divergence.understood(work, response)
    if epochs.handled_in_common(work, source, response):
        if response.partition_error is ErrorCode.FENCED_LEADER_EPOCH:
            work.by("FETCH-22")
        elif response.partition_error is not ErrorCode.NONE:
            work.by("FETCH-31")
        return
    role = work.replica.role
    if not isinstance(role, Follower):
        raise work.exit(Fatal(FatalReason.FETCH_RESPONSE_AT_NON_FOLLOWER), "FETCH-30")
    if response.partition_error is not ErrorCode.NONE:
        epochs.unexpected_error(work, source)
        return
    # decide, effects
    work.by("FETCH-30")
    if response.diverging is not None:
        _truncate(work, response.diverging)
    elif response.snapshot is not None:
        if not snapshots.start_loading(work, source, response.snapshot):
            return
    else:
        _append(work, response.batches)
        _learn_high_watermark(work, response.high_watermark)
        voter_assignments.learn(work)
    work.by("TIMER-1")
    work.update_role(has_fetched=True)
    work.emit(ArmTimer(Timer.FETCH, Duration.FETCH_TIMEOUT))


def _truncate(work: Work, diverging: logs.EpochEnd) -> None:
    log = work.replica.log
    high_watermark = work.replica.high_watermark
    work.by("FETCH-23", "FETCH-24")
    if high_watermark is not None and diverging.offset < high_watermark:
        raise work.exit(
            Fatal(
                FatalReason.DIVERGES_BELOW_HIGH_WATERMARK,
                offset=diverging.offset,
                high_watermark=high_watermark,
            )
        )
    offset = logs.truncation_offset(log, diverging)
    # What a snapshot stands for is committed, whatever else is known to be.
    committed = max(high_watermark or 0, log.start_offset)
    if offset < committed:
        raise work.exit(
            Fatal(FatalReason.TRUNCATES_BELOW_HIGH_WATERMARK, offset=offset, high_watermark=committed)
        )
    work.by("FETCH-25")
    work.emit(Truncate(offset))
    shorter = logs.truncate(log, offset, read_again=work.reads_again)
    if shorter.voter_sets != log.voter_sets:
        work.by("VSET-5")
    work.update(log=shorter)


def _append(work: Work, batches: tuple[logs.Batch, ...]) -> None:
    if not batches:
        return
    work.by("FETCH-26", "FETCH-28")
    known = work.replica.voters_offset
    taken = tuple(itertools.takewhile(lambda batch: batch.epoch <= work.replica.epoch, batches))
    # All are looked at before one is appended. Nothing asks whether offsets are left out.
    wrong = [batch for before, batch in itertools.pairwise(taken) if batch.end_offset <= before.end_offset]
    wrong += [batch for batch in taken[:1] if batch.base_offset < work.replica.log.end_offset]
    if wrong:
        raise work.exit(Fatal(FatalReason.BATCH_BEFORE_END, offset=wrong[0].base_offset))
    for batch in taken:
        work.append(batch)
    if work.replica.voters_offset != known:
        work.by("VSET-2", "VSET-4", "VSET-12")
    if work.replica.is_voter or work.replica.can_become_voter:
        work.by("DEF-5")
        work.emit(Flush(work.replica.log.end_offset))


def _learn_high_watermark(work: Work, leader_high_watermark: int | None) -> None:
    current = work.replica.high_watermark
    work.by("FETCH-27")
    if leader_high_watermark is None:
        return
    learned = min(work.replica.log.end_offset, leader_high_watermark)
    if current is not None and learned < current:
        raise work.exit(Fatal(FatalReason.HIGH_WATERMARK_FALLS, high_watermark=current, offset=learned))
    if learned != current:
        work.update(high_watermark=learned)
        work.emit(HighWatermark(learned))
