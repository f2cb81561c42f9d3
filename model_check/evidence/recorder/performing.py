"""A campaign from its plan to its summary: what is complete stays, workers make the rest."""

from __future__ import annotations

import time
from collections.abc import Callable

from kraftcheck.evidence.recorder.campaign import Campaign, Made
from kraftcheck.evidence.recorder.record_report import Summary
from kraftcheck.evidence.recorder.running import Compared
from kraftcheck.evidence.recorder.schedule import Schedule
from kraftcheck.evidence.recorder.workers import Workers
from kraftcheck.support.errors import InputError


def perform(campaign: Campaign, workers: Workers, tell: Callable[[str], None], *, shrinks: bool) -> Summary:
    """Make the recordings that are left, and with ``shrinks`` a minimal schedule of each kind of difference.

    Raises InputError.
    """
    begin, plan = time.monotonic(), campaign.plan
    summary, left = Summary(plan, campaign.folder), campaign.left()
    complete = plan.count - len(left)
    differ = sum(result.differs for result in campaign.results())

    def keep(name: str, made: Made) -> None:
        nonlocal differ
        campaign.keep(name, made)
        summary.count(made)
        differ += made.result is not None and made.result.differs
        shown = f", {differ:,} of them differ" if plan.compares else ""
        tell(f"recording: {complete + summary.made:,} of {plan.count:,}{shown}")

    tell(f"recording: {complete:,} of {plan.count:,} are complete")
    if left:
        workers.record(left, keep)
    summary.results, summary.seconds = campaign.results(), time.monotonic() - begin
    if summary.refused and not complete + summary.made:
        reason = next(iter(summary.refused))
        raise InputError(f"{plan.adapter}: nothing can be recorded: {reason}; choose another --profile.")
    if plan.compares:
        _shrink(campaign, workers, summary, tell, shrinks=shrinks)
    return summary


def _shrink(
    campaign: Campaign, workers: Workers, summary: Summary, tell: Callable[[str], None], *, shrinks: bool
) -> None:
    """A minimal schedule for the first recording of each kind; one that is there is not looked for again."""
    firsts = {results[0].run: kind for kind, results in summary.kinds().items()}

    def keep(found: Compared, smallest: Schedule) -> None:
        campaign.keep_minimal(found.run, smallest)
        tell(f"minimal schedule of {found.run}: {found.kind}")

    found = [each for each in summary.results if each.run in firsts]
    left = [each for each in found if not campaign.minimal(each.run).is_file()]
    if left and shrinks:
        tell(f"looking for a minimal schedule of {left[0].run}: {left[0].kind}")
        workers.shrink(left, keep)
    summary.minimal = {
        kind: campaign.minimal(run) for run, kind in firsts.items() if campaign.minimal(run).is_file()
    }
