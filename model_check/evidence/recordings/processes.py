"""The processes and disks of a recorded run: which run, as which incarnation, on which disk, and where in a
poll they end.

Source: the recorder's crash points: after the log was appended to, before and after it is flushed, before
and after the quorum-state file is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kraftcheck.evidence.recordings import lines
from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.performed import DeleteBefore, TruncateToSnapshot
from kraftcheck.evidence.recordings.recording import NOT_RAFT, StepEvent
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.reference.effects import AppendBatch, Effect, Fatal, Flush, Persist

#: Each crash point: the effect it belongs to, and whether that has happened.
POINTS: dict[str, tuple[type[Effect], bool]] = {
    "crash:appended": (AppendBatch, True),
    "crash:preFlush": (Flush, False),
    "crash:postFlush": (Flush, True),
    "crash:preStore": (Persist, False),
    "crash:postStore": (Persist, True),
}

#: The reasons why a process ends.
REASONS = frozenset({"killed", "stopped", "fatal", *POINTS})


@dataclass(slots=True)
class Process:
    """The process on a node. ``log_start`` and ``end_of_log`` are those last shown; ``lost`` is the number of
    records that the next process must lack, and ``ended_at`` the line of the end that gives it;
    ``directory_at`` is the line that gives the disk; ``paused_at`` is the line of the last pause,
    ``last_step`` that of the last step of any process.
    """

    node: lines.NodeConfig
    directory: str
    runs: bool = False
    incarnation: int = 0
    ends: int = 0
    log_start: int = 0
    end_of_log: int = 0
    lost: int = 0
    lost_before_wipe: int = 0
    ended_at: int | None = None
    directory_at: int = 0
    paused_at: int | None = None
    started_at: int = -1
    last_step: int = -1


class Processes:
    """All nodes of a run."""

    def __init__(self, config: lines.ConfigLine) -> None:
        self.auto_join = config.timeouts.auto_join
        self.by_node = {node.id: Process(node, node.directory) for node in config.nodes}

    def ran_since(self, node: int, seq: int) -> bool:
        """Whether the process on ``node`` has run since line ``seq``; no process runs on an unknown node."""
        process = self.by_node.get(node)
        return process is not None and process.runs and process.started_at < seq

    def step(self, event: StepEvent) -> Iterator[Found]:
        """Compare a step with the known facts about its process, and record it."""
        process = self.by_node[event.node]
        if process.node.is_skewed or event.shows_clock:
            yield from _clock(process.node, event)
        line = event.line
        if isinstance(line, lines.StartLine):
            yield from self._start(process, line)
        elif not process.runs and not _fails_to_start(process, event):
            yield Found("process", "a process runs on the node", "none does", process.ended_at)
        if isinstance(line, lines.EndLine):
            yield from _end(process, line)
        process.last_step = event.seq
        if isinstance(line, lines.Shown):
            process.end_of_log, process.log_start = line.state.leo, line.state.log_start or 0

    def _start(self, process: Process, line: lines.StartLine) -> Iterator[Found]:
        node = process.node
        if process.runs:
            yield Found("process", "no process runs on the node", "one does")
        joins = self.auto_join and node.can_become_voter
        expected: list[tuple[str, int | str | bool, int | str | bool, int | None]] = [
            ("inc", process.incarnation + 1, line.inc, process.ended_at),
            ("dirId", process.directory, line.dir_id, process.directory_at),
            ("canBecomeVoter", node.can_become_voter, line.can_become_voter, 0),
            ("autoJoin", joins, line.auto_join, 0),
        ]
        for name, wanted, found, said_at in expected:
            if wanted != found:
                yield Found(name, wanted, found, said_at)
        if line.lost_unflushed not in (process.lost, process.lost_before_wipe):
            yield Found("lostUnflushed", process.lost, line.lost_unflushed, process.ended_at)
        process.runs, process.incarnation = True, line.inc
        process.started_at, process.paused_at = line.seq, None
        process.lost = process.lost_before_wipe = 0

    def world(self, line: lines.NodeLine) -> Iterator[Found]:
        """A pause, a lost disk, or a log written back."""
        process = self.by_node.get(line.n)
        if process is None:
            yield Found("n", "a node of the configuration", line.n)
        elif isinstance(line, lines.WipeLine):
            if process.directory == line.dir_id:
                yield Found("dirId", "a new one", process.directory)
            process.directory, process.directory_at = line.dir_id, line.seq
            # No line shows whether records lost with the power, before the disk was replaced, count as lost.
            process.lost, process.lost_before_wipe = 0, process.lost
            process.log_start = process.end_of_log = 0
        elif isinstance(line, lines.PauseLine):
            process.paused_at = line.seq
            if line.ms < 0:
                yield Found("ms", "a length of time", line.ms)
        elif isinstance(line, lines.OsFlushLine):
            to, end = line.to, process.end_of_log
            # The end of a crashed process and the next start show how much of its log is left to write back.
            if to > end or (process.runs and to != end):
                yield Found("to", end, to)


def _fails_to_start(process: Process, event: StepEvent) -> bool:
    """Whether an ``end`` is that of a process which exited before it had a state to show."""
    line = event.line
    if not isinstance(line, lines.EndLine) or line.reason in ("killed", "stopped"):
        return False
    if line.inc != process.incarnation + 1:
        return False
    process.incarnation += 1
    return True


def _end(process: Process, line: lines.EndLine) -> Iterator[Found]:
    if line.inc != process.incarnation:
        yield Found("inc", process.incarnation, line.inc)
    if line.reason == "fatal" and not line.exception:
        yield Found("exception", "there is one where the reason is 'fatal'", None)
    if line.reason not in REASONS:
        yield Found("reason", f"one of {', '.join(sorted(REASONS))}", line.reason)
    process.runs, process.ends = False, process.ends + 1
    process.end_of_log, process.ended_at = line.leo, line.seq
    for operation in line.log:
        if isinstance(operation, DeleteBefore | TruncateToSnapshot):
            process.log_start = operation.offset
    # Records below the start of the log are not there to be lost: a snapshot replaced them.
    kept = max(line.flushed, process.log_start)
    process.lost = process.lost_before_wipe = max(0, line.leo - kept) if line.power_loss else 0


def _clock(node: lines.NodeConfig, event: StepEvent) -> Iterator[Found]:
    """A node with a clock of its own shows it, except at its end or where it equals the global time."""
    if event.shows_clock:
        if event.now not in (times := node.local_times(event.time)):
            yield Found("lt", times[0], event.now)
    elif node.is_skewed and event.kind != "end" and event.time not in node.local_times(event.time):
        yield Found("lt", node.local_times(event.time)[0], None)


def is_second_half(event: StepEvent, last: Json) -> bool:
    """Whether a ``tick`` shows the second half of a poll: its wait is over and no message has arrived.

    The recorder writes a line for each half of a poll that has a visible effect. In the second half the
    state machine is served, and a timer may have expired on which the next poll acts. ``last`` is the state
    that the node showed before, ``None`` if there is none.
    """
    now = event.state
    line = event.line
    # The next line of a node lists what its server has answered, whatever that line shows.
    sent = any(each.api != NOT_RAFT or each.is_request for each in line.sent)
    if now is None or sent or line.log or line.persisted or last is None:
        return False
    deadlines, before = now["deadlines"], last["deadlines"]
    if now.keys() != last.keys() or deadlines.keys() != before.keys():
        return False
    if any(now[key] != last[key] for key in now if key != "deadlines"):
        return False
    return all(value in (-1, before[name]) for name, value in deadlines.items())


def fits(reason: str, effects: Sequence[Effect], count: int) -> bool:
    """Whether a process that ends for ``reason`` may have done the first ``count`` of ``effects``."""
    if reason == "fatal":
        return count < len(effects) and isinstance(effects[count], Fatal)
    if reason in POINTS:
        kind, has_happened = POINTS[reason]
        if has_happened:
            return count > 0 and isinstance(effects[count - 1], kind)
        return count < len(effects) and isinstance(effects[count], kind)
    return count == (len(effects) if reason == "stopped" else 0)
