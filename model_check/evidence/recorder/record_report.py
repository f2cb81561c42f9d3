"""The report of ``kraftcheck record``: its text, its machine-readable form and its exit status."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import to_builtins

from kraftcheck.evidence.recorder.campaign import Made, Plan
from kraftcheck.evidence.recorder.running import Compared
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.printable import printable


@dataclass(slots=True)
class Summary:
    """What a campaign has done. made, events: recordings made in this run of the command, and their lines.
    refused: how many clusters the implementation has not, by reason. results: of all recordings of the plan
    that were compared. minimal: a minimal schedule of each kind.
    """

    plan: Plan
    folder: Path
    made: int = 0
    events: int = 0
    seconds: float = 0.0
    refused: Counter[str] = field(default_factory=Counter)
    results: list[Compared] = field(default_factory=list)
    minimal: dict[str, Path] = field(default_factory=dict)

    def count(self, made: Made) -> None:
        """Add a recording, or one that cannot be made."""
        if made.refused:
            self.refused[made.refused] += 1
        else:
            self.made, self.events = self.made + 1, self.events + made.events

    def kinds(self) -> dict[str, list[Compared]]:
        """The recordings that differ, by the kind of their first difference; the most frequent kind first."""
        kinds: dict[str, list[Compared]] = {}
        for result in self.results:
            if result.differs:
                kinds.setdefault(result.kind, []).append(result)
        return dict(sorted(kinds.items(), key=lambda item: (-len(item[1]), item[0])))

    def rules(self) -> Counter[str]:
        """How many agreeing steps each rule decided."""
        counts: Counter[str] = Counter()
        for result in self.results:
            counts.update(result.rules)
        return counts

    def findings(self) -> Counter[str]:
        """The number of recordings in which a property is violated, by property and cause."""
        return Counter(violated for result in self.results for violated in result.violated)


def exit_status(summary: Summary) -> int:
    """1: a recording differs; 3: a step of one could not be compared; else 0."""
    if any(result.differs for result in summary.results):
        return EXIT_DIFFERS
    return EXIT_EXPECTED if all(result.whole for result in summary.results) else EXIT_UNDETERMINED


def as_json(summary: Summary) -> Json:
    """The machine-readable form."""
    return {
        **to_builtins(summary.plan),
        "folder": str(summary.folder),
        "made": summary.made,
        "events": summary.events,
        "elapsed": round(summary.seconds, 3),
        "refused": dict(sorted(summary.refused.items())),
        "runs": [
            {name: value for name, value in to_builtins(result).items() if name != "rules"}
            for result in summary.results
        ],
        "rules": dict(sorted(summary.rules().items())),
        "kinds": [
            {
                "kind": kind,
                "runs": [each.run for each in results],
                "schedule": str(summary.minimal[kind]) if kind in summary.minimal else None,
            }
            for kind, results in summary.kinds().items()
        ],
        "findings": dict(summary.findings()),
    }


def as_text(summary: Summary, width: int) -> str:
    """The report for people."""
    return "\n".join(printable(line) for line in _lines(summary, width))


def _lines(summary: Summary, width: int) -> Iterator[str]:
    plan, kinds = summary.plan, summary.kinds()
    speed = f", {60 * summary.made / summary.seconds:,.0f} recordings/min" if summary.seconds else ""
    yield from textwrap.wrap(
        f"{plan.adapter}: {summary.made:,} of {plan.count:,} recordings made now, {summary.events:,} events"
        f"{speed}; {summary.folder}",
        width,
    )
    for reason, count in sorted(summary.refused.items()):
        yield from textwrap.wrap(f"{count:,} left out: {reason}", width)
    if not plan.compares:
        return
    differ = sum(map(len, kinds.values()))
    partly = sum(not result.whole and not result.differs for result in summary.results)
    parts = [f"{len(summary.results):,} compared", f"{differ:,} differ"]
    yield "; ".join([*parts, *([f"{partly:,} not as a whole"] if partly else [])])
    for kind, results in kinds.items():
        yield ""
        yield from textwrap.wrap(f"{len(results):>6,}  {kind}", width, subsequent_indent=" " * 8)
        yield from textwrap.wrap(
            f"first in {results[0].run}, seq {results[0].seq}",
            width,
            initial_indent=" " * 8,
            subsequent_indent=" " * 10,
        )
        if kind in summary.minimal:
            yield f"        again: kraftcheck record --compare --schedule {summary.minimal[kind]} …"
    findings = summary.findings()
    if findings:
        yield ""
        yield "properties violated, by recordings:"
        for text, count in findings.most_common():
            yield from textwrap.wrap(f"{count:>6,}  {text}", width, subsequent_indent=" " * 10)
