"""One recorded run against the reference: every node's events in order, each step compared with the record.

Nodes are compared separately: the messages that a node receives come from the recording, never from the
reference's other nodes, so one difference does not spread. Facts that no node decides (the messages that
arrive, the processes that run, the totals) are compared with the recording itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from kraftcheck.evidence.recordings.exceptions import SPINNING, UNKNOWN_FIELD
from kraftcheck.evidence.recordings.lines import ConfigLine, NodeLine
from kraftcheck.evidence.recordings.nodes import NodeRun
from kraftcheck.evidence.recordings.outcome import Found, RunReport
from kraftcheck.evidence.recordings.processes import Processes
from kraftcheck.evidence.recordings.recording import Event, Recording, StepEvent
from kraftcheck.evidence.recordings.spacing import Spacing
from kraftcheck.evidence.recordings.stored import KnownBatches
from kraftcheck.evidence.recordings.totals import Totals
from kraftcheck.evidence.recordings.transport import Transport
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.support.collector import without_collector

#: The log behind recorded runs gives at most this many batches to a Fetch.
FETCH_MAX_BATCHES = 2


def protocol_for(protocol: Protocol, config: ConfigLine) -> Protocol:
    """``protocol`` with the times and limits of a recorded run."""
    return replace(
        protocol,
        fetch_max_batches=FETCH_MAX_BATCHES,
        fetch_max_wait_ms=config.timeouts.fetch_max_wait,
        fetch_timeout_ms=config.timeouts.fetch,
        request_timeout_ms=config.timeouts.request,
    )


def compare(
    recording: Recording, protocol: Protocol = KAFKA, decided: dict[int, tuple[str, ...]] | None = None
) -> RunReport:
    """Compare ``recording`` with the reference. Raises InputError where a line cannot be read.

    ``decided`` is given the rules that decided each compared step, by seq.
    """
    with without_collector():
        comparison = Comparison(recording, protocol, decided)
        for event in recording.events:
            if isinstance(event, StepEvent):
                comparison.step(event)
            else:
                comparison.world(event)
        comparison.finish()
    return comparison.report


class Comparison:
    """A run while it is compared, event by event."""

    def __init__(
        self, recording: Recording, protocol: Protocol, decided: dict[int, tuple[str, ...]] | None
    ) -> None:
        self.recording = recording
        self.decided = decided
        self.protocol = protocol_for(protocol, recording.config)
        self.report = RunReport(recording.name, recorded=len(recording.events))
        self.processes = Processes(recording.config)
        self.transport = Transport(recording, self.processes)
        self.spacing = Spacing(recording)
        self.totals = Totals(recording)
        self.known = KnownBatches(recording)
        self.nodes: dict[int, NodeRun] = {}

    def step(self, event: StepEvent) -> None:
        """One step of a node."""
        self._differ(event, event.node, self.processes.step(event))
        self._differ(event, event.node, self.transport.step(event))
        self.totals.take(event)
        node = self._node(event.node)
        spaced = self.spacing.step(event, *node.timers(), self.transport.flights)
        self._differ(event, event.node, spaced)
        node.take(event)
        if self.decided is not None and node.history and node.history[-1][0] is event:
            self.decided[event.seq] = node.history[-1][1]

    def _node(self, node: int) -> NodeRun:
        if node not in self.nodes:
            self.nodes[node] = NodeRun(node, self.recording, self.protocol, self.known, self.report)
        return self.nodes[node]

    def world(self, event: Event) -> None:
        """One event that is no step of a node."""
        self.report.world[event.kind] += 1
        self._differ(event, None, self.transport.world(event))
        self._differ(event, None, self.spacing.world(event, self.transport.flights))
        self.totals.take(event)
        line = event.line
        if isinstance(line, NodeLine):
            self._differ(event, line.n, self.processes.world(line))
            if line.n in self.nodes:
                self.nodes[line.n].stored.outside(line)

    def finish(self) -> None:
        """The differences that show only at the end: messages without a fate, and the totals."""
        events, report = self.recording.events, self.report
        for seq, source, wrong in self.transport.finish():
            self._differ(events[seq], source, (wrong,))
        self._differ(events[-1], None, self.totals.spins(events[-1], report.exceptions[SPINNING]))
        self._differ(events[-1], None, self.totals.compare(events[-1]))
        report.unknown.update(self.recording.unknown)
        if report.unknown:
            report.exceptions[UNKNOWN_FIELD] += report.unknown.total()

    def _differ(self, event: Event, node: int | None, found: Iterable[Found | str]) -> None:
        """Report differences; a string is an exception to count."""
        for one in found:
            if isinstance(one, str):
                self.report.exceptions[one] += 1
            else:
                self.report.differ(event, node, one)
