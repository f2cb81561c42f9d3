"""One pass over a recorded run that gives the judge of histories every fact that the recording shows."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kraftcheck.evidence.history.chain import Batch, Link
from kraftcheck.evidence.history.fetches import check_fetch, check_times
from kraftcheck.evidence.history.replica import Replica, WholeState
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.evidence.recordings.lines import STEPS, OsFlushLine, Shown, StartLine, WipeLine
from kraftcheck.evidence.recordings.outcome import Finding, Judgement, Remark
from kraftcheck.evidence.recordings.properties import states, view, voting
from kraftcheck.evidence.recordings.properties.run import Run, Step
from kraftcheck.evidence.recordings.recording import Event, Recording
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
    run = Run(recording.messages, protocol.state_machine.value)
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
    if "invariantNotes" in summary:
        listed = len(summary.items("invariantNotes"))
        if listed != len(notes):
            text = f"invariantNotes lists {listed}, the trace has {len(notes)} notes"
            remarks.append(Remark(None, text))
    return remarks


def _take(run: Run, event: Event) -> None:
    line = event.line
    if event.kind in STEPS:
        _step(run, event)
    elif isinstance(line, WipeLine):
        # The disk is replaced: the known facts about the replica stay with its old directory id.
        old = run.replicas.pop(line.n, None)
        if old is not None:
            run.retired.append(old)
    elif isinstance(line, OsFlushLine):
        replica = run.replicas.get(line.n)
        if replica is not None:
            written = min(line.to, replica.log.end)
            replica.flushed = max(replica.flushed, written)


def _step(run: Run, event: Event) -> None:
    assert event.node is not None
    replica, line = run.replicas.get(event.node), event.line
    if isinstance(line, StartLine):
        replica = _started(run, event.node, line, replica)
    elif replica is None:
        return
    before = replica.state
    after = None
    if isinstance(line, Shown) and event.state is not None:
        after = view.state_of(line.state, event.state, event.where, before)
    step = Step(run, event, replica, before, after)
    if isinstance(line, StartLine):
        run.logs.found(replica, _log_found(step, line), event, step.report)
        states.find_file(step)
    voting.judge_answer(step)
    for operation in event.log:
        _operate(step, operation)
    states.write_file(step)
    states.judge(step)
    voting.judge_sent(step)
    voting.judge_epoch(step)
    _judge_leader(step)
    if after is not None:
        states.judge_voters(step, after)
    _judge_committed(step)
    _remember(step)
    replica.state = after


def _started(run: Run, node: int, line: StartLine, replica: Replica | None) -> Replica:
    key = view.key(node, line.dir_id)
    if replica is None or replica.key != key:
        if replica is not None:
            run.retired.append(replica)
        replica = run.replicas[key.id] = Replica(key, run.logs.forest.root)
    replica.starts()
    return replica


# The log.


def _log_found(step: Step, line: StartLine) -> Link:
    forest = step.run.logs.forest
    log = forest.root
    if line.state.snapshot is not None:
        end, epoch = line.state.snapshot
        log = forest.find(end, epoch) or forest.unseen(end, epoch)
    for _, last, epoch, _, _ in line.log_batches:
        link = next((each for each in log.after if (each.end, each.epoch) == (last + 1, epoch)), None)
        log = forest.unseen(last + 1, epoch) if link is None else link
    return log


def _operate(step: Step, operation: Fields) -> None:
    """One log operation of a step."""
    replica, logs = step.replica, step.run.logs
    match operation.text("op"):
        case "append":
            for batch, led in _appended(step, operation):
                old = replica.log
                logs.append(replica, batch, step.after or step.before, step.event, step.report)
                if led and replica.log.voters != old.voters:
                    states.change_voters(step, old.voters, replica.log)
        case "flush":
            replica.flushed = min(operation.number("to"), replica.log.end)
        case "truncate":
            message = step.event.message
            theirs = None if message is None else step.run.answered.get(message.mid)
            leader = -1 if message is None else message.source
            logs.truncate(replica, operation.number("to"), theirs, leader, step.event, step.report)
        case "truncateToSnapshot":
            end, epoch = operation.number("offset"), operation.number("epoch")
            replica.moves_to(logs.forest.find(end, epoch) or logs.forest.unseen(end, epoch), step.event)
            replica.flushed = replica.log.end


def _appended(step: Step, operation: Fields) -> Iterator[tuple[Batch, bool]]:
    """The batches of an append, and whether a leader appended them."""
    if "batches" in operation:
        for batch in operation.objects("batches"):
            yield view.batch_of(batch), True
        return
    base, end = operation.number("base"), operation.number("end")
    for partition in view.fetched(step.event.message):
        for batch in partition.objects("batches", []):
            if base <= batch.number("base") and batch.number("last") < end:
                yield view.batch_of(batch), False


# Leaders, and committed records.


def _judge_leader(step: Step) -> None:
    """The changes of a leader's view of others in one step."""
    before, after = step.before, step.after
    if before is None or after is None or after.role != "Leader" or before.role != "Leader":
        return
    message, fetch = step.event.message, view.fetching(step.event.message)
    if message is not None and fetch is not None:
        check_fetch(before, after, *fetch, step.run.unflushed.pop(message.mid, None), step.report)
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
    for callback in step.event.callbacks:
        _judge_callback(step, callback)


def _judge_high_watermark(step: Step, after: WholeState) -> None:
    replicas = [*step.run.replicas.values(), *step.run.retired]
    step.run.committed.high_watermark(step.replica, step.before, after, replicas, step.report)


def _judge_callback(step: Step, callback: Fields) -> None:
    committed, kind = step.run.committed, callback.text("cb")
    if kind == "loadSnapshot":
        committed.loaded(callback.number("offset"), callback.number("value", -1), step.report)
    elif kind == "commit":
        base, last, known = (
            callback.number("base"),
            callback.number("last"),
            step.replica.known_high_watermark,
        )
        if step.after is not None and known <= last:
            evidence = f"applies offset {last}, its high watermark is {known}"
            step.violates("StateMachineSafety", evidence)
        values = callback.items("values", [])
        committed.applied(step.replica, base, callback.number("epoch"), values, step.report)


def _last_known(step: Step) -> int:
    """The largest high watermark that a step's callbacks and Fetch answers show."""
    commits = (call for call in step.event.callbacks if call.text("cb") == "commit")
    shown = [call.number("last") + 1 for call in commits]
    for message, _ in step.messages("Fetch", requests=False):
        shown += [partition.number("highWatermark", -1) for partition in view.fetched(message)]
    return max(shown, default=0)


def _remember(step: Step) -> None:
    """Keep the context for judging later steps: logs at the time of an answer, and fetches."""
    run, replica, event, after = step.run, step.replica, step.event, step.after
    for sent in event.sent:
        if sent.api == "Fetch" and not sent.is_request:
            run.answered[sent.mid] = replica.log
        elif sent.api == "Fetch" and replica.flushed < replica.log.end:
            run.unflushed[sent.mid] = replica.flushed
    message, progress = event.message, replica.progress
    if message is not None:
        run.answered.pop(message.mid, None)
    if after is None or after.role != "Follower" or step.before is None or step.before[:3] != after[:3]:
        progress.fetched = None
    if after is None or after.role != "Follower" or message is None:
        return
    if message.source == after.leader and view.is_fetched(message):
        progress.fetched = event
