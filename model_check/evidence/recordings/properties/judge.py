"""One pass over a recorded run that judges every property of :mod:`.catalogue` that a recording shows."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from kraftcheck.evidence.recordings.properties import roles, voter_sets
from kraftcheck.evidence.recordings.properties.ballots import Ballots
from kraftcheck.evidence.recordings.properties.causes import explained
from kraftcheck.evidence.recordings.properties.contacts import Contacts
from kraftcheck.evidence.recordings.properties.elections import Elections
from kraftcheck.evidence.recordings.properties.finding import Finding
from kraftcheck.evidence.recordings.properties.logs import Logs
from kraftcheck.evidence.recordings.properties.track import Step, Track
from kraftcheck.evidence.recordings.properties.view import stored, view_of
from kraftcheck.evidence.recordings.properties.watermarks import Watermarks
from kraftcheck.evidence.recordings.recording import STEPS, Event, Message, Recording
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import names

#: What the recorder itself watches: one leader in an epoch, and committed records that never change.
WATCHED = frozenset(
    {
        names.SINGLE_LEADER,
        names.SINGLE_KNOWN_LEADER,
        names.RECORD_IDENTITY,
        names.LEADER_COMPLETENESS,
        names.STATE_MACHINE_SAFETY,
        names.NO_TRUNCATION_BELOW_HIGH_WATERMARK,
    }
)


@dataclass(frozen=True, slots=True)
class Remark:
    """A note of the recorder; ``seq`` is ``None`` for one in ``run.json``."""

    run: str
    seq: int | None
    text: str


@dataclass(slots=True)
class Judgement:
    """What judging a run gave. ``goals``: which goals of the catalogue the run reaches. ``unexplained``: what
    the recorder noted to be wrong and no finding accounts for.
    """

    findings: list[Finding] = field(default_factory=list)
    goals: dict[str, bool] = field(default_factory=dict)
    unexplained: list[Remark] = field(default_factory=list)


def judge(recording: Recording, protocol: Protocol = KAFKA) -> Judgement:
    """Judge a run. Raises InputError for a recording that contradicts its own format."""
    try:
        return _Judge(recording, protocol).run()
    except RecursionError:
        raise InputError(f"{recording.name}: a value in the trace is nested too deeply.") from None


class _Judge:
    def __init__(self, recording: Recording, protocol: Protocol) -> None:
        self.recording = recording
        self.state_machine = protocol.state_machine
        self.findings: list[Finding] = []
        self.tracks: dict[int, Track] = {}
        self.retired: list[Track] = []
        self.logs = Logs()
        self.elections = Elections()
        self.ballots = Ballots()
        self.contacts = Contacts()
        self.watermarks = Watermarks(self.logs.forest.root)

    def run(self) -> Judgement:
        for event in self.recording.events:
            if event.kind in STEPS:
                self._step(event)
            elif event.kind == "wipe":
                self._wipe(event)
            elif event.kind == "osFlush":
                self._write_back(event)
        goals = {
            names.GOAL_LEADER_ELECTED: bool(self.elections.leaders),
            names.GOAL_COMMITTED: self.watermarks.committed is not self.logs.forest.root,
            names.GOAL_VALUE_COMMITTED: self.watermarks.value_committed,
            names.GOAL_TRUNCATED: self.logs.truncated,
        }
        return Judgement([explained(finding) for finding in self.findings], goals, self._unexplained())

    def _unexplained(self) -> list[Remark]:
        """Notes before which nothing was found that the recorder watches, and those that the trace lacks."""
        name = self.recording.name
        first = min((found.seq for found in self.findings if found.property in WATCHED), default=None)
        notes = [event for event in self.recording.events if event.kind == "note"]
        remarks = [
            Remark(name, event.seq, json.dumps(event.fields.values))
            for event in notes
            if first is None or event.seq < first
        ]
        summary = self.recording.summary
        if "invariantNotes" in summary:
            listed = len(summary.items("invariantNotes"))
            if listed != len(notes):
                text = f"invariantNotes lists {listed}, the trace has {len(notes)} notes"
                remarks.append(Remark(name, None, text))
        return remarks

    def _report(
        self, property: str, event: Event, nodes: tuple[int, ...], evidence: str, hazard: bool
    ) -> None:
        run = self.recording.name
        finding = Finding(run, property, event.seq, event.time, nodes, evidence, hazard)
        # A state and a write of the quorum-state file may show the same thing.
        if not self.findings or self.findings[-1] != finding:
            self.findings.append(finding)

    # The world.

    def _wipe(self, event: Event) -> None:
        """The disk is replaced: what was known of the replica stays with its old directory id."""
        old = self.tracks.pop(event.fields.number("n"), None)
        if old is not None:
            self.retired.append(old)

    def _write_back(self, event: Event) -> None:
        track = self.tracks.get(event.fields.number("n"))
        if track is not None:
            track.flushed = max(track.flushed, min(event.fields.number("to"), track.log.end))

    # Steps.

    def _step(self, event: Event) -> None:
        assert event.node is not None
        track = self.tracks.get(event.node)
        if event.kind == "start":
            track = self._started(event, track)
        elif track is None:
            return
        before = None if event.kind == "start" else track.view
        after = None if event.state is None else view_of(event.state, before)
        step = Step(event, track, before, after, track.log, self.recording.messages, self._report)
        if event.kind == "start":
            self.logs.found(step)
            roles.judge_file_found(step)
            step.log_before = track.log
        elif event.log:
            self.logs.apply(step)
        if event.persisted:
            self._write(step)
        self._judge(step)
        _follow(step)
        track.view = after

    def _started(self, event: Event, track: Track | None) -> Track:
        key = (event.node or 0, event.fields.text("dirId"))
        if track is None or track.key != key:
            if track is not None:
                self.retired.append(track)
            track = Track(key, self.logs.forest.root)
            self.tracks[key[0]] = track
        track.view, track.has_fetched, track.known_high_watermark = None, False, 0
        return track

    def _write(self, step: Step) -> None:
        node = step.node
        for fields in step.event.persisted:
            now = stored(fields)
            step.written.append((node.file, now))
            node.file, node.file_shown = now, fields.values

    def _judge(self, step: Step) -> None:
        roles.judge(step, self.state_machine)
        if step.written or step.event.sent or _moved(step):
            self.elections.judge(step)
            self.ballots.judge(step)
        self.contacts.judge(step)
        if step.after is not None:
            self.logs.judge(step, step.after)
            voter_sets.judge(step, step.after)
        self.watermarks.judge(step, [*self.tracks.values(), *self.retired])
        if step.event.sent:
            self.contacts.sent(step)
            self.logs.sent(step)
        if step.event.message is not None:
            self.logs.answered.pop(step.event.message.mid, None)


def _moved(step: Step) -> bool:
    """Whether role, epoch, leader or vote are not as before."""
    before, after = step.before, step.after
    return before is None or after is None or before[:4] != after[:4]


def _follow(step: Step) -> None:
    """Whether the node has fetched from the leader that it follows."""
    before, after, node = step.before, step.after, step.node
    if after is None or after.role != "Follower":
        node.has_fetched = False
        return
    if before is None or (before.role, before.epoch, before.leader) != (
        after.role,
        after.epoch,
        after.leader,
    ):
        node.has_fetched = False
    message = step.event.message
    if message is not None and message.source == after.leader and _is_fetched(message):
        node.has_fetched = True


def _is_fetched(message: Message) -> bool:
    """Whether a leader has answered a Fetch without an error, with or without records."""
    if message.api != "Fetch" or message.is_request or message.synthetic is not None:
        return False
    if message.data.number("errorCode", 0) != 0:
        return False
    partitions = [
        partition
        for topic in message.data.objects("responses", [])
        for partition in topic.objects("partitions", [])
    ]
    return bool(partitions) and all(partition.number("errorCode", 0) == 0 for partition in partitions)
