"""One pass over a recorded run that gives the judge of histories every fact that the recording shows."""

from __future__ import annotations

import json
from collections.abc import Iterator

from msgspec import UNSET

from kraftcheck.evidence.history.chain import Batch, Link
from kraftcheck.evidence.history.fetches import check_fetch, check_times
from kraftcheck.evidence.history.replica import Replica, WholeState
from kraftcheck.evidence.recordings import lines, performed
from kraftcheck.evidence.recordings.outcome import Finding, Judgement, Remark
from kraftcheck.evidence.recordings.properties import states
from kraftcheck.evidence.recordings.properties.step import (
    Run,
    Step,
    batch_of,
    fetching,
    is_fetched,
    key,
    others_needed,
    state_of,
)
from kraftcheck.evidence.recordings.recording import Event, Recording, StepEvent
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.support.errors import InputError

#: The recorder's own checks: one leader in an epoch, and committed records that never change.
WATCHED = frozenset(
    {
        "SingleLeaderPerEpoch",
        "SingleKnownLeaderPerEpoch",
        "RecordIdentity",
        "LeaderCompleteness",
        "StateMachineSafety",
        "NoTruncationBelowHighWatermark",
    }
)


def judge(recording: Recording, protocol: Protocol = KAFKA) -> Judgement:
    """Judge a run. Raises InputError for a recording that contradicts its own format."""
    run = Run(recording.messages, protocol)
    try:
        for event in recording.events:
            _take(run, event)
    except RecursionError:
        raise InputError(f"{recording.name}: a value in the trace is nested too deeply.") from None
    goals = {
        "GoalLeaderElected": bool(run.led),
        "GoalRecordCommitted": run.committed.log is not run.committed.root,
        "GoalValueCommitted": run.committed.value_committed,
        "GoalDivergenceTruncated": run.logs.truncated,
    }
    return Judgement(run.findings.found, goals, _unexplained(recording, run.findings.found))


def _unexplained(recording: Recording, findings: list[Finding]) -> list[Remark]:
    """Notes without a violation before them that the recorder watches, and those that the trace lacks."""
    first = min((found.seq for found in findings if found.property in WATCHED), default=None)
    notes = recording.notes
    remarks = [Remark(seq, json.dumps(note)) for seq, note in notes.items() if first is None or seq < first]
    summary = recording.summary
    if summary.invariant_notes is not UNSET:
        listed = len(summary.invariant_notes)
        if listed != len(notes):
            text = f"invariantNotes lists {listed}, the trace has {len(notes)} notes"
            remarks.append(Remark(None, text))
    return remarks


def _take(run: Run, event: Event) -> None:
    line = event.line
    if isinstance(event, StepEvent):
        _step(run, event)
    elif isinstance(line, lines.WipeLine):
        run.retire(line.n)
    elif isinstance(line, lines.OsFlushLine):
        replica = run.replicas.get(line.n)
        if replica is not None:
            written = min(line.to, replica.log.end)
            replica.flushed = max(replica.flushed, written)


def _step(run: Run, event: StepEvent) -> None:
    replica, line = run.replicas.get(event.node), event.line
    if isinstance(line, lines.StartLine):
        replica = _started(run, event.node, line, replica)
    elif replica is None:
        return
    before = replica.state
    after = None
    if isinstance(line, lines.Shown) and event.state is not None:
        after = state_of(line.state, event.state, event.where, before)
    step = Step(run, event, replica, before, after)
    if isinstance(line, lines.StartLine):
        if line.lost_unflushed > 0:
            run.findings.lost(event.node)
        run.logs.found(replica, _log_found(step, line), event, step.report)
        states.find_file(step)
    states.judge_answer(step)
    for operation in event.line.log:
        _operate(step, operation)
    states.write_file(step)
    states.judge_state(step)
    states.judge_sent(step)
    states.judge_epoch(step)
    _judge_leader(step)
    if after is not None:
        states.judge_voters(step, after)
    _judge_committed(step)
    _remember(step)
    replica.state = after


def _started(run: Run, node: int, line: lines.StartLine, replica: Replica | None) -> Replica:
    own = key(node, line.dir_id)
    if replica is None or replica.key != own:
        if replica is not None:
            run.retire(node)
        replica = run.replicas[own.id] = Replica(own, run.logs.forest.root, run.vote_until_leader)
    replica.starts()
    return replica


# The log.


def _log_found(step: Step, line: lines.StartLine) -> Link:
    """The log on the disk. Records below the newest snapshot may still be there; if the log does not begin at
    0, the snapshot stands for them.
    """
    forest = step.run.logs.forest
    log, begin = forest.root, 0
    if line.state.snapshot is not None and line.state.log_start:
        begin, epoch = line.state.snapshot
        log = forest.find(begin, epoch) or forest.unseen(begin, epoch)
    for base, last, epoch, _, _ in line.log_batches:
        if base < begin:
            continue
        link = next((each for each in log.after if (each.end, each.epoch) == (last + 1, epoch)), None)
        log = forest.unseen(last + 1, epoch) if link is None else link
    return log


def _operate(step: Step, operation: performed.Operation) -> None:
    """One log operation of a step."""
    replica, logs, message = step.replica, step.run.logs, step.event.message
    if isinstance(operation, performed.Append):
        for batch in _appended(step, operation):
            old = replica.log
            logs.append(replica, batch, step.after or step.before, step.event, step.report)
            if operation.by == "leader" and replica.log.voters != old.voters:
                states.change_voters(step, old.voters, replica.log)
    elif isinstance(operation, performed.Flush):
        replica.flushed = min(operation.to, replica.log.end)
    elif isinstance(operation, performed.Truncate):
        theirs = None if message is None else step.run.answered.get(message.mid)
        leader = -1 if message is None else message.source
        logs.truncate(replica, operation.to, theirs, leader, step.event, step.report)
    elif isinstance(operation, performed.TruncateToSnapshot):
        end, epoch = operation.offset, operation.epoch
        replica.moves_to(logs.forest.find(end, epoch) or logs.forest.unseen(end, epoch), step.event)
        replica.flushed = replica.log.end


def _appended(step: Step, append: performed.Append) -> Iterator[Batch]:
    """The batches of an append; the message shows those of a follower."""
    shown = append.batches
    if append.by == "follower":
        answer = (batch for partition in lines.fetched(step.event.message) for batch in partition.batches)
        shown = [batch for batch in answer if append.base <= batch.base and batch.last < append.end]
    try:
        yield from map(batch_of, shown)
    except ValueError as error:
        raise InputError(f"{step.event.where}: {error}.") from None


# Leaders, and committed records.


def _judge_leader(step: Step) -> None:
    """The changes of a leader's view of others in one step."""
    before, after = step.before, step.after
    if before is None or after is None or after.role != "Leader" or before.role != "Leader":
        return
    message, fetch = step.event.message, fetching(step.event.message)
    if message is not None and fetch is not None:
        node = step.event.node
        suffices = others_needed(before, node) < step.run.needed.get(node, 0)
        unflushed = step.run.unflushed.pop(message.mid, None)
        check_fetch(before, after, *fetch, unflushed, step.report, suffices=suffices)
    if before.progress != after.progress:
        check_times(before, after, step.event.now, step.report)


def _judge_committed(step: Step) -> None:
    """The high watermark, snapshots, and the records handed to the state machine."""
    after, before, replica, committed = step.after, step.before, step.replica, step.run.committed
    if after is not None:
        if step.is_elected:
            committed.elected(replica, after.epoch, step.report)
        known = after.high_watermark
        if known is not None:
            if before is None or before.high_watermark != known or step.is_elected:
                replica.progress.end = after.end
                replica.progress.raise_high(known, after.epoch, step.event, step.report)
                _judge_high_watermark(step, after)
            replica.known_high_watermark = max(replica.known_high_watermark, known)
        committed.snapshot(before, after, step.report)
    if before is not None and before.role == "Leader" and (after is None or after.role != "Leader"):
        # The state does not show the offset that the leader reached in its last step, but others may have
        # received it.
        known = _last_known(step)
        if known > (before.high_watermark or 0):
            if known > replica.log.end:
                evidence = f"has the high watermark {known}, its log ends at {replica.log.end}"
                step.violates("StateMachineSafety", evidence)
            _judge_high_watermark(step, before._replace(high_watermark=known, end=replica.log.end))
    for callback in step.event.line.callbacks:
        _judge_callback(step, callback)


def _judge_high_watermark(step: Step, after: WholeState) -> None:
    replicas = [*step.run.replicas.values(), *step.run.retired]
    step.run.committed.high_watermark(step.replica, step.before, after, replicas, step.report)


def _judge_callback(step: Step, callback: performed.Callback) -> None:
    committed = step.run.committed
    if isinstance(callback, performed.LoadSnapshot):
        value = -1 if callback.value is None else callback.value
        committed.loaded(callback.offset, value, step.report)
    elif isinstance(callback, performed.Commit):
        known = step.replica.known_high_watermark
        if step.after is not None and known <= callback.last:
            evidence = f"applies offset {callback.last}, its high watermark is {known}"
            step.violates("StateMachineSafety", evidence)
        values = [] if callback.values is UNSET else callback.values
        committed.applied(step.replica, callback.base, callback.epoch, values, step.report)


def _last_known(step: Step) -> int:
    """The largest high watermark that a step's callbacks and Fetch answers show."""
    shown = [call.last + 1 for call in step.event.line.callbacks if isinstance(call, performed.Commit)]
    for message, _ in step.messages("Fetch", requests=False):
        shown += [partition.highWatermark for partition in lines.fetched(message)]
    return max(shown, default=0)


def _remember(step: Step) -> None:
    """Keep the context for judging later steps: logs at the time of an answer, and fetches."""
    run, replica, event, after = step.run, step.replica, step.event, step.after
    for sent in event.line.sent:
        if sent.api == "Fetch" and after is not None:
            asked = run.asked.pop(-1 if sent.answers is None else sent.answers, None)
            run.asked[sent.mid] = after[:3] if sent.is_request else asked
        if sent.api == "Fetch" and not sent.is_request:
            run.answered[sent.mid] = replica.log
        elif sent.api == "Fetch" and replica.flushed < replica.log.end:
            run.unflushed[sent.mid] = replica.flushed
    message, progress = event.message, replica.progress
    if message is not None:
        run.answered.pop(message.mid, None)
    if after is None or after.role != "Follower" or step.before is None or step.before[:3] != after[:3]:
        progress.fetched = None
    if after is not None and after.role == "Leader":
        old = step.before if step.before is not None and step.before.role == "Leader" else None
        if old is None or old.timers.get("checkQuorum") != after.timers.get("checkQuorum"):
            run.needed[event.node] = others_needed(after, event.node)
    if after is None or after.role != "Follower" or message is None:
        return
    # An answer to a request from before this state is dropped: its connection is gone.
    asked = run.asked.pop(message.mid, None)
    if message.source == after.leader and is_fetched(message) and asked == after[:3]:
        progress.fetched = event
