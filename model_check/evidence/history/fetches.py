"""The leader's view of fetches: S-15, S-20, S-28, S-42. Only recordings show it."""

from __future__ import annotations

from kraftcheck.evidence.history.facts import Key, Report, Violation
from kraftcheck.evidence.history.replica import WholeState


def check_fetch(
    before: WholeState,
    after: WholeState,
    who: Key,
    offset: int,
    flushed: int | None,
    report: Report,
    *,
    suffices: bool = False,
) -> None:
    """Judge the changes that a leader makes on a fetch of ``who`` at ``offset``; ``flushed``: the offset up
    to which the sender had flushed, if that is less than its log; ``suffices``: fewer voters must fetch now
    than when check quorum began to count, so that those which have may be enough (CHECKQ-3).
    """
    entry, old = after.progress.get(str(who.id)), before.progress.get(str(who.id))
    if any(who.matches(voter) for voter in (*before.voters, *after.voters)):
        if flushed is not None and entry != old and offset > flushed:
            found = (
                f"takes a fetch of voter {who} at {offset} for an acknowledgement; that voter has flushed up "
                f"to {flushed}"
            )
            report(Violation("AcknowledgedIsDurable", "", found, others=(who.id,)))
        return
    counted = []
    if before.high_watermark != after.high_watermark:
        counted.append("its high watermark")
    if old != entry:
        counted.append("what it knows of a voter")
    timer = after.timers.get("checkQuorum")
    if timer not in (before.timers.get("checkQuorum"), -1) and not suffices:
        counted.append("its check-quorum timer")
    if counted:
        known = any(voter.id == who.id for voter in before.voters)
        name = "WipedReplicaIsAnother" if known else "ObserversDoNotCount"
        found = f"changes {' and '.join(counted)} on a fetch of {who}, which is no voter"
        report(Violation(name, "", found, others=(who.id,)))


def check_times(before: WholeState, after: WholeState, now: int, report: Report) -> None:
    """Judge the times of the last fetch and of being caught up that a leader keeps; -1: there was none."""
    for replica, entry in after.progress.items():
        times, old = entry[1:3], before.progress.get(replica, [])[1:3]
        for index, time in enumerate(times):
            if time > now or (index < len(old) and time < old[index]):
                what = ("last fetch", "time of being caught up")[index]
                then = f", before it was {old[index]}" if index < len(old) else ""
                found = f"records {time} as the {what} of {replica} at {now}{then}"
                report(Violation("DescribeTimesMonotone", "", found))
