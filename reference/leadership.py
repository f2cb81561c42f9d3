"""A leader's own actions: appending what the state machine submits, and giving up leadership.

Source: KIP-595 (leader); Kafka: KafkaRaftClient.append, flushLeaderLog, resign, LeaderState.updateLocalState.
"""

from __future__ import annotations

from kraftcheck.reference import fetch, progress
from kraftcheck.reference.effects import AppendAccepted, ArmTimer, CallFailed, Duration, Flush
from kraftcheck.reference.events import Append, Resign, Timer
from kraftcheck.reference.fatal import RefusalReason
from kraftcheck.reference.log import Batch, Value
from kraftcheck.reference.replica import Leader
from kraftcheck.reference.work import Work


def accept_append(work: Work, event: Append) -> None:
    """Queue records of the state machine; they reach the log when the linger time is over."""
    role = work.replica.role
    if not isinstance(role, Leader) or event.epoch != work.replica.epoch:
        work.by("LOG-1")
        work.emit(CallFailed(RefusalReason.NOT_LEADER))
        return
    work.by("LOG-1", "LOG-6")
    joins = is_lingering(role)
    if not joins:
        work.emit(ArmTimer(Timer.LINGER, Duration.LINGER))
    values = tuple(Value(value) for value in event.values)
    pending = (*role.pending[:-1], role.pending[-1] + values) if joins else (*role.pending, values)
    work.update_role(pending=pending)
    offset = work.replica.log.end_offset + sum(len(records) for records in pending)
    work.emit(AppendAccepted(offset - 1))


def is_lingering(role: Leader) -> bool:
    """Whether records of the state machine wait for more; a queued control batch ends such a wait."""
    return bool(role.pending) and isinstance(role.pending[-1][0], Value)


def drainable(role: Leader, *, has_lingered: bool) -> int:
    """The number of queued batches that reach the log now: all up to the last control batch, or, once the
    linger time is over and no control batch is queued, all.
    """
    control = [number for number, records in enumerate(role.pending, 1) if not isinstance(records[0], Value)]
    return control[-1] if control else len(role.pending) if has_lingered else 0


def request_resignation(work: Work, event: Resign) -> None:
    """The state machine requests to resign; the next poll acts on it.

    A call that comes too late, after the epoch or the leadership, counts as fulfilled.
    """
    replica = work.replica
    work.by("RESIGN-8")
    if 0 <= event.epoch < replica.epoch:
        return
    if event.epoch != replica.epoch or replica.quorum_state.leader != replica.id:
        work.emit(CallFailed(RefusalReason.NOT_LEADER))
    elif isinstance(replica.role, Leader):
        work.update_role(resign_requested=True)


def append_pending(work: Work, count: int) -> None:
    """Append the first ``count`` queued batches, count the own copy, answer fetches that waited for it, and
    flush.
    """
    role = work.replica.role
    assert isinstance(role, Leader)
    work.by("LOG-1", "LOG-5")
    for records in role.pending[:count]:
        work.append(Batch(work.replica.log.end_offset, work.replica.epoch, records))
    work.update_role(pending=role.pending[count:])
    if work.protocol.flush_before_counting:
        work.emit(Flush(work.replica.log.end_offset))
    progress.count_own_log(work)
    if progress.advance_high_watermark(work):
        fetch.high_watermark_moved(work)
    fetch.answer_parked_below(work, work.replica.log.end_offset)
    if not work.protocol.flush_before_counting:
        work.emit(Flush(work.replica.log.end_offset))


def check_quorum_expired(work: Work) -> bool:
    """Whether the expired check-quorum timer means that the leader must resign."""
    if not work.protocol.check_quorum:
        return False
    if len(work.replica.voters) == 1:
        work.by("CHECKQ-4")
        return False
    work.by("CHECKQ-1")
    return True
