"""Records: logs as they grow and shrink, and the committed prefix. Log files show no records."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kraftcheck.evidence.history.chain import Batch, Forest, Link
from kraftcheck.evidence.history.facts import Appended, Key, Place, Report, Violation
from kraftcheck.evidence.history.replica import Replica, WholeState, is_majority


class Logs:
    """All logs of a run as they grow and shrink."""

    def __init__(self) -> None:
        self.forest = Forest()
        self.truncated = False

    def append(
        self, replica: Replica, batch: Batch, state: WholeState | None, where: Place, report: Report
    ) -> None:
        """A replica, which is in ``state`` afterwards, appended a batch."""
        appended = self.forest.append(replica.log, batch)
        link = appended.link
        replica.progress.append(Appended(link.end, link.epoch, None), state, where, report)
        replica.moves_to(link, where)
        if appended.twin is not None and not link.suspect:
            link.suspect = True
            _report_twin(link, appended.twin, report)

    def truncate(
        self, replica: Replica, to: int, theirs: Link | None, leader: int, where: Place, report: Report
    ) -> None:
        """A replica truncated its log; ``theirs``: the log of the ``leader`` whose answer asked for it."""
        log = replica.log
        self.truncated = True
        replica.progress.truncate(to, where, report)
        replica.moves_to(log.at(to), where)
        replica.flushed = min(replica.flushed, replica.log.end)
        if replica.log is log:
            found = f"truncates its log to {to}, which removes nothing: it ends at {log.end}"
            report(Violation("TruncationKeepsCommonPrefix", "", found))
        if theirs is None:
            return
        common = log.common(theirs).end
        if common > replica.log.end:
            found = (
                f"truncates its log to {replica.log.end} on an answer of {leader}, with whose log it was "
                f"equal up to {common}"
            )
            report(Violation("TruncationKeepsCommonPrefix", "", found, others=(leader,)))

    def found(self, replica: Replica, log: Link, where: Place, report: Report) -> None:
        """A process finds ``log`` when it starts."""
        if replica.flushed > log.end:
            found = f"finds a log that ends at {log.end}, and had flushed up to {replica.flushed}"
            report(Violation("AcknowledgedIsDurable", "", found))
        replica.moves_to(log, where)
        replica.flushed = min(replica.flushed, log.end)


def _report_twin(link: Link, twin: Link, report: Report) -> None:
    where = f"at offset {link.base} of epoch {link.epoch}"
    if (twin.base, twin.records) != (link.base, link.records):
        found = f"appends {link.records} {where}, where another log has {twin.records}"
        report(Violation("RecordIdentity", "", found if len(found) <= 300 else f"{found[:300]} ..."))
    common = link.common(twin)
    if link.before is not common or twin.before is not common:
        found = f"appends {where} what another log holds as well, but they differ from offset {common.end} on"
        report(Violation("LogMatching", "", found))


class Committed:
    """The records that leaders of a run have called committed, and those that state machines have applied."""

    def __init__(self, root: Link) -> None:
        self.root = root
        self.log = root
        """The longest log below any leader's high watermark."""
        self.value_committed = False
        self._largest: dict[int, tuple[int, int]] = {}
        """Epoch → its leader's largest high watermark, and the leader."""
        self._applied: dict[int, tuple[int, Any, int]] = {}
        """Offset → epoch and value that a state machine was given, and the replica to whom first."""

    # --- leaders ------------------------------------------------------------------------------------------

    def elected(self, replica: Replica, epoch: int, report: Report) -> None:
        """A replica became Leader of ``epoch``: it must have every committed record."""
        log, committed = replica.log, self.log
        if committed is self.root or committed.epoch > epoch or log.holds(committed) or log.suspect:
            return
        lost = log.common(committed).end
        found = (
            f"becomes Leader of epoch {epoch} without the committed records from offset {lost} to "
            f"{committed.end}"
        )
        changed = committed.voters != _first_voters(committed)
        also = ("CommittedSurvivesVoterChanges",) if changed else ()
        report(Violation("LeaderCompleteness", "", found, also=also))

    def high_watermark(
        self,
        replica: Replica,
        before: WholeState | None,
        after: WholeState,
        replicas: Collection[Replica],
        report: Report,
    ) -> None:
        """A replica knows another high watermark than ``before``, or knows one as a new leader."""
        known = after.high_watermark
        assert known is not None
        prefix = replica.log.at(known)
        if after.role == "Leader":
            self._judge_leader(replica, after, known, prefix, report)
            if before is None or (before.high_watermark or 0) < known:
                _judge_majority(replica, after, known, prefix, replicas, report)
        self._judge_prefix(after, prefix, report)

    def _judge_leader(
        self, replica: Replica, after: WholeState, known: int, prefix: Link, report: Report
    ) -> None:
        if prefix.epoch != after.epoch and not prefix.suspect:
            found = (
                f"leads epoch {after.epoch} and has the high watermark {known}, below which no record of its "
                "epoch lies"
            )
            report(Violation("CommitNeedsOwnEpoch", "", found))
        if after.is_voter and known > replica.flushed:
            alone = ", the only voter," if len(after.voters) == 1 else ""
            found = (
                f"leads{alone} with the high watermark {known}, it has flushed its log up to "
                f"{replica.flushed}"
            )
            report(Violation("OwnTailCountsWhenFlushed", "", found))
        earlier = [entry for epoch, entry in self._largest.items() if epoch < after.epoch]
        top, who = max(earlier, default=(0, 0))
        mine = self._largest.get(after.epoch)
        if mine is None and top > known:
            found = (
                f"leads epoch {after.epoch} with the high watermark {known}; {who} has led an earlier one "
                f"with {top}"
            )
            report(Violation("HighWatermarkMonotone", "", found, others=(who,)))
        self._largest[after.epoch] = max(mine or (0, 0), (known, replica.id))

    def _judge_prefix(self, after: WholeState, prefix: Link, report: Report) -> None:
        """The records that a replica and the leaders take for committed are one log."""
        if prefix.suspect:
            return
        committed = self.log
        longer = prefix.end > committed.end
        if not (prefix.holds(committed) if longer else committed.holds(prefix)):
            prefix.suspect = True
            common = prefix.common(committed).end
            found = f"takes for committed what differs from the committed records from offset {common} on"
            report(Violation("StateMachineSafety", "", found))
        elif longer and after.role == "Leader":
            self.value_committed = self.value_committed or _holds_values(prefix, committed)
            self.log = prefix
        elif longer and committed is not self.root:
            found = f"has the high watermark {prefix.end}, no leader has had more than {committed.end}"
            report(Violation("StateMachineSafety", "", found))

    # --- snapshots and the state machine ------------------------------------------------------------------

    def snapshot(self, before: WholeState | None, after: WholeState, report: Report) -> None:
        """A replica has a snapshot."""
        if after.snapshot is None:
            return
        end, epoch = after.snapshot
        if after.log_start > end:
            found = f"has a log from {after.log_start} on, and a snapshot up to {end} only"
            report(Violation("SnapshotIsCommittedPrefix", "", found))
        if before is not None and before.snapshot == after.snapshot:
            return
        limit = max(self.log.end, after.high_watermark or 0)
        link = self.log.at(end)
        if end > limit or (link.end, link.epoch) != (end, epoch):
            found = f"has a snapshot up to {end} of epoch {epoch}, which is not what was committed"
            report(Violation("SnapshotIsCommittedPrefix", "", found))

    def applied(self, replica: Replica, base: int, epoch: int, values: list[Any], report: Report) -> None:
        """A state machine was given ``values`` from offset ``base`` on."""
        for offset, value in enumerate(values, base):
            first = self._applied.setdefault(offset, (epoch, value, replica.id))
            if first[:2] != (epoch, value):
                found = (
                    f"applies {value} of epoch {epoch} at offset {offset}, {first[2]} has applied {first[1]} "
                    f"of epoch {first[0]}"
                )
                report(Violation("StateMachineSafety", "", found, others=(first[2],)))

    def loaded(self, end: int, value: int, report: Report) -> None:
        """A state machine was given a snapshot: its state is the last value below its end offset."""
        below = [offset for offset in self._applied if offset < end]
        expected = self._applied[max(below)][1] if below else None
        if expected is not None and value != expected:
            found = f"loads a snapshot up to {end} with the value {value}, the committed one is {expected}"
            report(Violation("SnapshotIsCommittedPrefix", "", found))


def _judge_majority(
    replica: Replica,
    after: WholeState,
    known: int,
    prefix: Link,
    replicas: Collection[Replica],
    report: Report,
) -> None:
    if prefix.suspect:
        return
    sets = [after.voters, prefix.voters or after.voters]
    holders = [one.key for one in replicas if one.log.end >= prefix.end and one.log.holds(prefix)]
    if any(is_majority(voters, holders) for voters in sets):
        return
    held = ", ".join(map(str, holders)) or "none"
    found = f"raises its high watermark to {known}, which {held} of {len(after.voters)} voters has reached"
    removed = not any(replica.key.matches(voter) for voter in after.voters)
    name = "RemovedLeaderDoesNotCount" if removed else "HighWatermarkOnMajority"
    report(Violation(name, "", found))


def _first_voters(link: Link) -> tuple[Key, ...] | None:
    first = link.voters
    walk: Link | None = link
    while walk is not None and walk.voters is not None:
        first, walk = walk.voters, walk.before
    return first


def _holds_values(link: Link, until: Link) -> bool:
    walk: Link | None = link
    while walk is not None and walk is not until:
        if isinstance(walk.records, list) and any(isinstance(entry, int) for entry in walk.records):
            return True
        walk = walk.before
    return False
