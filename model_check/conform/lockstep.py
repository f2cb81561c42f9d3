"""One recorded run against the reference: every node's events in order, each step compared with the record.

Nodes are compared separately: what a node receives comes from the recording, never from the reference's
other nodes, so one difference does not spread.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from model_check.conform.nodes import Difference, NodeRun, Verdict
from model_check.conform.recording import STEPS, Recording
from model_check.conform.state import NOT_COVERED
from model_check.conform.wire import UncoveredMessageError, batch
from reference.log import Batch
from reference.protocol import KAFKA, Protocol

#: The log behind recorded runs gives at most this many batches to a Fetch.
FETCH_MAX_BATCHES = 2


@dataclass(slots=True)
class RunReport:
    """What the comparison of one run found. Each event is counted once, in one of the four counters.

    compared: steps that were compared, by kind. world: events that are no step of a node, by kind.
    not_covered: steps that the reference does not know yet, by kind. skipped: steps of a node after a
    difference or after a step that is not covered, until its next start, by reason.
    rules: how many of the steps that agree each rule decided. fields: how many compared states show a part
    that the reference does not cover.
    """

    run: str
    recorded: int = 0
    compared: Counter[str] = field(default_factory=Counter)
    world: Counter[str] = field(default_factory=Counter)
    not_covered: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    rules: Counter[str] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)


def compare(recording: Recording, protocol: Protocol = KAFKA) -> RunReport:
    """Hold ``recording`` against the reference under ``protocol``."""
    timeouts = recording.config.timeouts
    protocol = replace(
        protocol,
        fetch_max_batches=FETCH_MAX_BATCHES,
        fetch_max_wait_ms=timeouts.fetch_max_wait,
        fetch_timeout_ms=timeouts.fetch,
    )
    report = RunReport(recording.name, recorded=len(recording.events))
    known = known_batches(recording)
    nodes: dict[int, NodeRun] = {}
    for event in recording.events:
        if event.kind not in STEPS:
            report.world[event.kind] += 1
            if event.kind in ("osFlush", "wipe"):
                node = nodes.get(event.fields.number("n"))
                if node is not None:
                    node.disk_event(event)
            continue
        assert event.node is not None
        if event.node not in nodes:
            nodes[event.node] = NodeRun(event.node, recording, protocol, known, report.rules)
        verdict, found = nodes[event.node].take(event)
        report.differences.extend(found)
        if verdict is Verdict.COMPARED:
            report.compared[event.label] += 1
            report.fields.update(() if event.state is None else NOT_COVERED & event.state.values.keys())
        elif verdict is Verdict.NOT_COVERED:
            report.not_covered[nodes[event.node].uncovered] += 1
        else:
            report.skipped[nodes[event.node].detached or ""] += 1
    return report


def known_batches(recording: Recording) -> dict[tuple[int, int], Batch]:
    """Every record batch whose content the recording shows, by base offset and epoch."""
    known: dict[tuple[int, int], Batch] = {}
    for event in recording.events:
        shown = [entry for operation in event.log for entry in operation.objects("batches", [])]
        if event.message is not None and event.message.api == "Fetch" and not event.message.is_request:
            for topic in event.message.data.objects("responses"):
                for partition in topic.objects("partitions"):
                    shown.extend(partition.objects("batches", []))
        for entry in shown:
            try:
                content = batch(entry)
            except UncoveredMessageError:
                continue
            known[content.base_offset, content.epoch] = content
    return known
