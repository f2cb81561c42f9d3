"""One recorded run against the reference: every node's events in order, each step compared with the record.

Nodes are compared separately: the messages that a node receives come from the recording, never from the
reference's other nodes, so one difference does not spread. Facts that no node decides (the messages that
arrive, the processes that run, the totals) are compared with the recording itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kraftcheck.evidence.recordings.exceptions import SPINNING, UNKNOWN_FIELD
from kraftcheck.evidence.recordings.known import KnownBatches
from kraftcheck.evidence.recordings.lines import STEPS
from kraftcheck.evidence.recordings.nodes import NodeRun
from kraftcheck.evidence.recordings.outcome import Difference, Found, Verdict
from kraftcheck.evidence.recordings.processes import Processes
from kraftcheck.evidence.recordings.recording import Config, Event, Recording
from kraftcheck.evidence.recordings.spacing import Spacing
from kraftcheck.evidence.recordings.totals import Totals
from kraftcheck.evidence.recordings.transport import Transport
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.support.collector import without_collector

#: The log behind recorded runs gives at most this many batches to a Fetch.
FETCH_MAX_BATCHES = 2


@dataclass(slots=True)
class RunReport:
    """The result of comparing one run. Each event is counted once, in one of the four counters.

    compared: steps that were compared, by kind. world: events that are no step of a node, by kind.
    not_covered: steps that the reference does not know yet, by kind. skipped: steps of a node after a
    difference or after a step that is not covered, until its next start, by reason. rules: how many of the
    steps that agree each rule decided. exceptions: how often each exception was used
    (:data:`kraftcheck.evidence.recordings.exceptions.EXCEPTIONS`). unknown: fields that are not known, by
    kind of event and name.
    """

    run: str
    recorded: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    world: Counter[str] = field(default_factory=Counter)
    not_covered: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)
    exceptions: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)

    @property
    def not_compared(self) -> int:
        """The number of steps that were not compared."""
        return self.not_covered.total() + self.skipped.total()

    @property
    def is_whole(self) -> bool:
        """Whether there are steps, and every one was compared."""
        return self.compared.total() > 0 and not self.not_compared


def protocol_for(protocol: Protocol, config: Config) -> Protocol:
    """``protocol`` with the times and limits of a recorded run."""
    return replace(
        protocol,
        fetch_max_batches=FETCH_MAX_BATCHES,
        fetch_max_wait_ms=config.fetch_max_wait,
        fetch_timeout_ms=config.times.fetch_timeout,
        request_timeout_ms=config.times.request_timeout,
    )


def compare(recording: Recording, protocol: Protocol = KAFKA) -> RunReport:
    """Compare ``recording`` with the reference under ``protocol``. Raises InputError where a line cannot be
    read as its kind.
    """
    with without_collector():
        comparison = _Comparison(recording, protocol)
        for event in recording.events:
            if event.kind in STEPS:
                comparison.step(event)
            else:
                comparison.world(event)
        comparison.finish()
    return comparison.report


class _Comparison:
    """A run while it is compared."""

    def __init__(self, recording: Recording, protocol: Protocol) -> None:
        self.recording = recording
        self.protocol = protocol_for(protocol, recording.config)
        self.report = RunReport(recording.name, recorded=len(recording.events))
        self.processes = Processes(recording.config)
        self.transport = Transport(recording, self.processes)
        self.spacing = Spacing(recording)
        self.totals = Totals(recording)
        self.known = KnownBatches(recording)
        self.nodes: dict[int, NodeRun] = {}

    def step(self, event: Event) -> None:
        """One step of a node."""
        assert event.node is not None
        self._differ(event, event.node, self.processes.step(event))
        self._differ(event, event.node, self.transport.step(event))
        self.totals.take(event)
        node = self._node(event.node)
        self._differ(event, event.node, self._spaced(event, node))
        verdict, found = node.take(event)
        report = self.report
        report.differences.extend(found)
        if verdict is Verdict.COMPARED:
            report.compared[event.label] += 1
        elif verdict is Verdict.NOT_COVERED:
            report.not_covered[node.uncovered] += 1
        else:
            report.skipped[node.detached or ""] += 1

    def _spaced(self, event: Event, node: NodeRun) -> Iterator[Found]:
        """The differences in the time of a step; exceptions are counted."""
        clock, shutdown_at = node.timers()
        for one in self.spacing.step(event, clock, shutdown_at, self.transport.flights):
            if isinstance(one, str):
                self.report.exceptions[one] += 1
            else:
                yield one

    def _node(self, node: int) -> NodeRun:
        if node not in self.nodes:
            report = self.report
            self.nodes[node] = NodeRun(
                node, self.recording, self.protocol, self.known, report.rules, report.exceptions
            )
        return self.nodes[node]

    def world(self, event: Event) -> None:
        """One event that is no step of a node."""
        self.report.world[event.kind] += 1
        self._differ(event, None, self.transport.world(event))
        self._differ(event, None, self.spacing.world(event, self.transport.flights))
        self.totals.take(event)
        if event.kind in ("osFlush", "wipe", "pause"):
            self._differ(event, event.fields.number("n"), self.processes.world(event))
            node = self.nodes.get(event.fields.number("n"))
            if node is not None and event.kind != "pause":
                node.stored.outside(event)

    def finish(self) -> None:
        """The differences that show only at the end: messages without a fate, and the totals."""
        events, report = self.recording.events, self.report
        for seq, source, wrong in self.transport.finish():
            if isinstance(wrong, str):
                report.exceptions[wrong] += 1
            else:
                self._differ(events[seq], source, (wrong,))
        self._differ(events[-1], None, self.totals.spins(events[-1], report.exceptions[SPINNING]))
        for total in self.totals.compare(events[-1]):
            if isinstance(total, str):
                report.exceptions[total] += 1
            else:
                self._differ(events[-1], None, (total,))
        report.unknown.update(self.recording.unknown)
        if report.unknown:
            report.exceptions[UNKNOWN_FIELD] += report.unknown.total()

    def _differ(self, event: Event, node: int | None, found: Iterable[Found]) -> None:
        for one in found:
            self.report.differences.append(
                Difference(
                    self.recording.name,
                    event.seq,
                    node,
                    event.label,
                    one.field,
                    one.expected,
                    one.found,
                    shown_at=one.shown_at,
                )
            )
