"""What is committed: S-12, S-14, S-16 to S-19, S-22, S-25, S-26."""

from __future__ import annotations

from collections.abc import Iterable

from kraftcheck.evidence.history.chain import Link
from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.evidence.recordings.properties.track import Step, Track
from kraftcheck.evidence.recordings.properties.view import Key, View, same_replica, shown
from kraftcheck.systems.kraft import names

SNAPSHOT_IS_COMMITTED = "SnapshotIsCommittedPrefix"
SURVIVES_VOTER_CHANGES = "CommittedSurvivesVoterChanges"
REMOVED_LEADER = "RemovedLeaderDoesNotCount"


class Watermarks:
    """What the leaders of a run have called committed, and what state machines have applied.

    committed: the longest log below any leader's high watermark. applied: epoch and value of every offset
    that a state machine was given, and to whom first.
    """

    def __init__(self, root: Link) -> None:
        self.committed = root
        self.root = root
        self.largest: dict[int, tuple[int, int]] = {}
        self.applied: dict[int, tuple[int, Json, int]] = {}
        self.value_committed = False

    def judge(self, step: Step, tracks: Iterable[Track]) -> None:
        """Judge the high watermark, snapshots, and what the state machine is given."""
        after, before = step.after, step.before
        if after is not None:
            elected = after.role == "Leader" and (before is None or before.role != "Leader")
            if elected and self.committed is not self.root:
                self._judge_complete(step, after)
            known = after.high_watermark
            if known is not None:
                if before is None or before.high_watermark != known or elected:
                    self._judge_change(step, before, after, known, tracks)
                step.node.known_high_watermark = max(step.node.known_high_watermark, known)
            if after.snapshot is not None:
                self._judge_snapshot(step, before, after, after.snapshot)
        if before is not None and before.role == "Leader" and (after is None or after.role != "Leader"):
            self._judge_last_step(step, before, tracks)
        for callback in step.event.callbacks:
            self._judge_callback(step, callback)

    # Leaders.

    def _judge_last_step(self, step: Step, before: View, tracks: Iterable[Track]) -> None:
        """A high watermark that a leader reached in the step in which it ceased to lead: the state does not
        show it, but the leader may have applied records or told others.
        """
        known = _last_known(step)
        if known > (before.high_watermark or 0):
            reached = before._replace(high_watermark=known, end=step.node.log.end)
            self._judge_change(step, before, reached, known, tracks)

    def _judge_complete(self, step: Step, after: View) -> None:
        log, committed = step.node.log, self.committed
        if committed.epoch > after.epoch or log.holds(committed) or log.suspect:
            return
        lost = log.common(committed).end
        evidence = (
            f"becomes Leader of epoch {after.epoch} without the committed records from offset {lost} to "
            f"{committed.end}"
        )
        step.report(names.LEADER_COMPLETENESS, evidence)
        if committed.voters != self._first_voters(committed):
            step.report(SURVIVES_VOTER_CHANGES, evidence)

    @staticmethod
    def _first_voters(link: Link) -> tuple[Key, ...] | None:
        first = link.voters
        walk: Link | None = link
        while walk is not None and walk.voters is not None:
            first, walk = walk.voters, walk.before
        return first

    def _judge_change(
        self, step: Step, before: View | None, after: View, known: int, tracks: Iterable[Track]
    ) -> None:
        prefix = step.node.log.at(known)
        old = None if before is None else before.high_watermark
        same_reign = before is not None and (before.role == "Leader") == (after.role == "Leader")
        if same_reign and old is not None and known < old:
            evidence = f"lowers its high watermark from {old} to {known}"
            step.report(names.HIGH_WATERMARK_MONOTONE, evidence)
        if known > after.end:
            evidence = f"has the high watermark {known}, its log ends at {after.end}"
            step.report(names.STATE_MACHINE_SAFETY, evidence)
        if after.role == "Leader":
            self._judge_leader(step, before, after, known, prefix, tracks)
        self._judge_prefix(step, after, prefix)

    def _judge_leader(
        self,
        step: Step,
        before: View | None,
        after: View,
        known: int,
        prefix: Link,
        tracks: Iterable[Track],
    ) -> None:
        node = step.node
        if prefix.epoch != after.epoch and not prefix.suspect:
            evidence = (
                f"leads epoch {after.epoch} and has the high watermark {known}, below which no record of its "
                "epoch lies"
            )
            step.report(names.COMMITS_OWN_EPOCH, evidence)
        if after.is_voter and known > node.flushed:
            alone = ", the only voter," if len(after.voters) == 1 else ""
            evidence = (
                f"leads{alone} with the high watermark {known}, it has flushed its log up to {node.flushed}"
            )
            step.report(names.OWN_TAIL_FLUSHED, evidence)
        earlier = [entry for epoch, entry in self.largest.items() if epoch < after.epoch]
        top, who = max(earlier, default=(0, 0))
        mine = self.largest.get(after.epoch)
        if mine is None and top > known:
            evidence = (
                f"leads epoch {after.epoch} with the high watermark {known}; {who} has led an earlier one "
                f"with {top}"
            )
            step.report(names.HIGH_WATERMARK_MONOTONE, evidence, who)
        self.largest[after.epoch] = max(mine or (0, 0), (known, node.id))
        self._judge_majority(step, before, after, known, prefix, tracks)

    def _judge_majority(
        self,
        step: Step,
        before: View | None,
        after: View,
        known: int,
        prefix: Link,
        tracks: Iterable[Track],
    ) -> None:
        if prefix.suspect or (before is not None and (before.high_watermark or 0) >= known):
            return
        sets = [after.voters, prefix.voters or after.voters]
        tracks = list(tracks)
        holders = [track.key for track in tracks if track.log.end >= prefix.end and track.log.holds(prefix)]
        if any(_is_majority(voters, holders) for voters in sets):
            return
        held = ", ".join(shown(key) for key in holders) or "nobody"
        evidence = (
            f"raises its high watermark to {known}, which {held} of {len(after.voters)} voters has reached"
        )
        removed = not any(same_replica(step.node.key, voter) for voter in after.voters)
        step.report(REMOVED_LEADER if removed else names.HIGH_WATERMARK_ON_MAJORITY, evidence)

    def _judge_prefix(self, step: Step, after: View, prefix: Link) -> None:
        """What one node takes for committed and what leaders have called committed are one log."""
        if prefix.suspect:
            return
        longer = prefix.end > self.committed.end
        if not (prefix.holds(self.committed) if longer else self.committed.holds(prefix)):
            prefix.suspect = True
            common = prefix.common(self.committed).end
            evidence = f"takes for committed what differs from the committed records from offset {common} on"
            step.report(names.STATE_MACHINE_SAFETY, evidence)
        elif longer and after.role == "Leader":
            self.value_committed = self.value_committed or _holds_values(prefix, self.committed)
            self.committed = prefix
        elif longer and self.committed is not self.root:
            evidence = (
                f"has the high watermark {prefix.end}, no leader has had more than {self.committed.end}"
            )
            step.report(names.STATE_MACHINE_SAFETY, evidence)

    # Snapshots and the state machine.

    def _judge_snapshot(
        self, step: Step, before: View | None, after: View, snapshot: tuple[int, int]
    ) -> None:
        end, epoch = snapshot
        if after.log_start > end:
            evidence = f"has a log from {after.log_start} on, and a snapshot up to {end} only"
            step.report(SNAPSHOT_IS_COMMITTED, evidence)
        if before is not None and before.snapshot == snapshot:
            return
        limit = max(self.committed.end, after.high_watermark or 0)
        link = self.committed.at(end)
        if end > limit or (link.end, link.epoch) != (end, epoch):
            evidence = f"has a snapshot up to {end} of epoch {epoch}, which is not what was committed"
            step.report(SNAPSHOT_IS_COMMITTED, evidence)

    def _judge_callback(self, step: Step, callback: Fields) -> None:
        kind = callback.text("cb")
        if kind == "loadSnapshot":
            self._judge_loaded(step, callback)
        if kind != "commit":
            return
        base, last = callback.number("base"), callback.number("last")
        if step.after is not None and step.node.known_high_watermark <= last:
            evidence = f"applies offset {last}, its high watermark is {step.node.known_high_watermark}"
            step.report(names.STATE_MACHINE_SAFETY, evidence)
        epoch = callback.number("epoch")
        for offset, value in enumerate(callback.items("values", []), base):
            first = self.applied.setdefault(offset, (epoch, value, step.node.id))
            if first[:2] != (epoch, value):
                evidence = (
                    f"applies {value} of epoch {epoch} at offset {offset}, {first[2]} has applied "
                    f"{first[1]} of epoch {first[0]}"
                )
                step.report(names.STATE_MACHINE_SAFETY, evidence, first[2])

    def _judge_loaded(self, step: Step, callback: Fields) -> None:
        """The state in a snapshot is the last value below its end offset."""
        end, value = callback.number("offset"), callback.number("value", -1)
        below = [offset for offset in self.applied if offset < end]
        expected = self.applied[max(below)][1] if below else None
        if expected is not None and value != expected:
            evidence = f"loads a snapshot up to {end} with the value {value}, the committed one is {expected}"
            step.report(SNAPSHOT_IS_COMMITTED, evidence)


def _last_known(step: Step) -> int:
    """The largest high watermark that a step's callbacks and Fetch answers show."""
    commits = (call for call in step.event.callbacks if call.text("cb") == "commit")
    shown_by = [call.number("last") + 1 for call in commits]
    for sent in step.event.sent:
        message = step.messages.get(sent.mid)
        if message is not None and message.api == "Fetch" and not message.is_request:
            for topic in message.data.objects("responses", []):
                partitions = topic.objects("partitions", [])
                shown_by += [partition.number("highWatermark", -1) for partition in partitions]
    return max(shown_by, default=0)


def _is_majority(voters: tuple[Key, ...], holders: list[Key]) -> bool:
    count = sum(any(same_replica(voter, holder) for holder in holders) for voter in voters)
    return 2 * count > len(voters)


def _holds_values(link: Link, until: Link) -> bool:
    walk: Link | None = link
    while walk is not None and walk is not until:
        records = walk.records
        if isinstance(records, list) and any(isinstance(entry, int) for entry in records):
            return True
        walk = walk.before
    return False
