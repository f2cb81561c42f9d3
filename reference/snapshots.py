"""Snapshots: creating them, deleting what they stand for, and loading one instead of records.

Source: KIP-630, KIP-595 (FetchSnapshot); Kafka: KafkaRaftClient.createSnapshot, handleFetchSnapshotRequest,
handleFetchSnapshotResponse, KafkaRaftLog.createNewSnapshot, deleteBeforeSnapshot, truncateToLatestSnapshot.
"""

from __future__ import annotations

from kraftcheck.reference import epochs, progress
from kraftcheck.reference import log as logs
from kraftcheck.reference.effects import (
    ArmTimer,
    CallFailed,
    DeleteBefore,
    Duration,
    Fatal,
    HighWatermark,
    LoadSnapshot,
    StoreSnapshot,
)
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import CreateSnapshot, Timer
from kraftcheck.reference.fatal import FatalReason, RefusalReason
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import BOOTSTRAP_CHECKPOINT, Log, Snapshot, SnapshotId
from kraftcheck.reference.messages import FetchSnapshotRequest, FetchSnapshotResponse
from kraftcheck.reference.protocol import FetchSnapshotError, HistoryTrim, SnapshotBoundary
from kraftcheck.reference.replica import Follower, PartialSnapshot, Replica
from kraftcheck.reference.voters import VoterSet
from kraftcheck.reference.work import Work

#: The snapshot id of an answer without a snapshot.
_NO_SNAPSHOT = SnapshotId(0, 0)

# The state machine's side.


def create(work: Work, event: CreateSnapshot) -> None:
    """Keep the state that the state machine has written down, unless there is such a snapshot already."""
    log, committed = work.replica.log, work.replica.high_watermark
    end, epoch = event.id.end_offset, event.id.epoch
    work.by("SNAP-1")
    if end < log.start_offset:
        # Kafka logs that and creates none; the state machine is not informed.
        return
    if committed is None or end > committed:
        work.emit(CallFailed(RefusalReason.SNAPSHOT_NOT_COMMITTED))
        return
    if log.assignments:
        work.by("ALTER-16")
        work.emit(CallFailed(RefusalReason.SNAPSHOT_OF_ASSIGNMENTS))
        return
    if not _may_end_at(work, end) or not _is_known_position(work.replica, end, epoch):
        work.emit(CallFailed(RefusalReason.SNAPSHOT_OFF_BATCHES))
        return
    if any(known.id == event.id for known in log.snapshots):
        return
    work.by("SNAP-2")
    voters, kraft_version = control_records(work.replica, end)
    snapshot = Snapshot(event.id, voters, kraft_version, event.values, event.size)
    work.emit(StoreSnapshot(snapshot))
    work.update(log=logs.with_snapshot(_without_old_sets(work, end), snapshot))
    if event.delete_prefix:
        work.by("SNAP-3")
        work.emit(DeleteBefore(event.id))
        work.update(log=logs.delete_before(work.replica.log, end))


def _without_old_sets(work: Work, end: int) -> Log:
    """The log of the replica, which has a snapshot up to ``end`` now. Voter sets that no step uses any more
    stay in it. Kafka drops them, and where an uncommitted set begins at ``end``, the committed one with them.
    """
    log = work.replica.log
    if work.protocol.history_trim is HistoryTrim.BEFORE_END:
        return log
    trimmed = logs.forget_before(log, end)
    if trimmed is not log:
        work.by("VSET-15")
    return trimmed


def _is_known_position(replica: Replica, offset: int, epoch: int) -> bool:
    log, checkpoint = replica.log, replica.has_checkpoint
    is_before = logs.needs_snapshot(log, offset, epoch, checkpoint=checkpoint)
    return not is_before and logs.is_valid_position(log, offset, epoch)


def _may_end_at(work: Work, offset: int) -> bool:
    log = work.replica.log
    if work.protocol.snapshot_boundary is SnapshotBoundary.ANY_OFFSET:
        return True
    return offset == log.start_offset or any(batch.end_offset == offset for batch in log.batches)


def control_records(replica: Replica, end: int) -> tuple[VoterSet | None, int]:
    """The voter set (``None``: a static one, or forgotten) and kraft.version effective before ``end``."""
    versions = [version for offset, version in replica.log.kraft_versions if offset < end]
    kraft_version = versions[-1] if versions else replica.bootstrap_kraft_version
    voters = [known for offset, known in replica.log.voter_sets if offset < end]
    if kraft_version < 1:
        return None, kraft_version
    if voters:
        return voters[-1], kraft_version
    return (replica.bootstrap_voters if replica.knows_checkpoint else None), kraft_version


# The leader's side.


def handle_request(work: Work, request: FetchSnapshotRequest) -> FetchSnapshotResponse:
    """Give the bytes that are asked for, or say why not."""
    # validate, epoch
    error = epochs.envelope_error(work, request)
    if error is ErrorCode.INVALID_REQUEST:
        return _response(work, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if error is not ErrorCode.NONE:
        return FetchSnapshotResponse(work.replica.epoch, error=error)
    error = epochs.leader_request_error(work, request.epoch)
    if error is not ErrorCode.NONE:
        work.by("SNAP-4")
        return _response(work, error)
    # decide
    found = next((known for known in work.replica.log.snapshots if known.id == request.snapshot), None)
    if found is None:
        work.by("SNAP-5")
        if request.snapshot == BOOTSTRAP_CHECKPOINT:
            work.by("BOOT-10")
        return _response(work, ErrorCode.SNAPSHOT_NOT_FOUND)
    if not 0 <= request.position < found.size:
        work.by("SNAP-6")
        return _response(work, ErrorCode.POSITION_OUT_OF_RANGE)
    # effects
    work.by("SNAP-7")
    progress.count_contact(work, request.replica)
    length = min(max(request.max_bytes, 0), found.size - request.position)
    return replace(
        _response(work, ErrorCode.NONE),
        snapshot=request.snapshot,
        size=found.size,
        position=request.position,
        length=length,
        content=found,
    )


def _response(work: Work, error: ErrorCode) -> FetchSnapshotResponse:
    """An answer without bytes. Its snapshot id is the default of the message, whatever was asked for."""
    replica = work.replica
    return FetchSnapshotResponse(
        epoch=replica.epoch,
        leader=replica.quorum_state.leader,
        snapshot=_NO_SNAPSHOT,
        leader_endpoints=replica.leader_endpoints,
        partition_error=error,
    )


# The follower's side.


def start_loading(work: Work, source: int, id: SnapshotId) -> bool:
    """The leader has no records to give before snapshot ``id``. Whether its answer makes sense."""
    if (id.end_offset < 0) != (id.epoch < 0):
        epochs.unexpected_error(work, source)
        return False
    work.by("SNAP-8")
    if id.end_offset >= 0 and all(known.id != id for known in work.replica.log.snapshots):
        work.update_role(fetching_snapshot=PartialSnapshot(id))
    return True


def request_of(work: Work, partial: PartialSnapshot) -> FetchSnapshotRequest:
    """What a follower asks for next of the snapshot that it loads."""
    replica = work.replica
    work.by("SNAP-8")
    return FetchSnapshotRequest(
        epoch=replica.epoch,
        replica=replica.key,
        snapshot=partial.id,
        position=partial.position,
        max_bytes=work.protocol.fetch_snapshot_max_bytes,
        cluster_id=replica.cluster_id,
    )


def handle_response(work: Work, source: int, response: FetchSnapshotResponse) -> None:
    """Take the bytes; with the last of them the snapshot takes the place of the log."""
    if epochs.handled_in_common(work, source, response):
        return
    role = work.replica.role
    if not isinstance(role, Follower):
        raise work.exit(Fatal(FatalReason.SNAPSHOT_AT_NON_FOLLOWER), "SNAP-8")
    id = response.snapshot
    gone = response.partition_error is ErrorCode.SNAPSHOT_NOT_FOUND
    if gone or id is None or id.end_offset < 0 or id.epoch < 0:
        work.by("SNAP-10")
        work.update_role(fetching_snapshot=None)
        work.emit(ArmTimer(Timer.FETCH, Duration.FETCH_TIMEOUT))
        return
    looks_at_error = work.protocol.fetch_snapshot_error is FetchSnapshotError.BACKS_OFF
    if response.partition_error is not ErrorCode.NONE and looks_at_error:
        epochs.unexpected_error(work, source)
        return
    partial = role.fetching_snapshot
    if partial is None or partial != PartialSnapshot(id, response.position):
        fatal = Fatal(FatalReason.SNAPSHOT_NOT_ASKED_FOR, snapshot=id, position=response.position)
        raise work.exit(fatal, "SNAP-8")
    position = partial.position + response.length
    work.update_role(fetching_snapshot=replace(partial, position=position))
    if position == response.size:
        _load(work, response)
    work.emit(ArmTimer(Timer.FETCH, Duration.FETCH_TIMEOUT))


def _load(work: Work, response: FetchSnapshotResponse) -> None:
    """All bytes are here: the snapshot is the log now, unless the log has got ahead of it."""
    snapshot, log = response.content, work.replica.log
    if snapshot is None or snapshot.id != response.snapshot:
        raise work.exit(Fatal(FatalReason.SNAPSHOT_DIFFERS, snapshot=response.snapshot), "SNAP-9")
    end, epoch = snapshot.id.end_offset, snapshot.id.epoch
    if (epoch, end) <= (log.last_epoch, log.end_offset):
        raise work.exit(Fatal(FatalReason.SNAPSHOT_OLDER_THAN_LOG, snapshot=snapshot.id), "SNAP-9")
    longer = logs.loaded(log, snapshot, read_again=work.reads_again)
    work.by("SNAP-9", "VSET-6" if longer == logs.reset_to(snapshot) else "VSET-14")
    work.emit(LoadSnapshot(snapshot))
    known = work.replica.high_watermark
    if known is not None and end < known:
        raise work.exit(Fatal(FatalReason.HIGH_WATERMARK_FALLS, high_watermark=known, offset=end))
    work.update(log=longer, high_watermark=end)
    work.update_role(fetching_snapshot=None)
    if end != known:
        work.emit(HighWatermark(end))
