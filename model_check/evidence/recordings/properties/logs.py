"""Logs as they grow and shrink: S-7, S-9, S-10, S-11, S-15 (what a disk must keep), S-21."""

from __future__ import annotations

from kraftcheck.evidence.history.chain import Forest, Link, batch_shown
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.evidence.recordings.properties import voter_sets
from kraftcheck.evidence.recordings.properties.track import Step
from kraftcheck.evidence.recordings.properties.view import View
from kraftcheck.systems.kraft import names


class Logs:
    """The logs of all nodes. ``answered``: the leader's log as it sent each Fetch answer still on its way."""

    def __init__(self) -> None:
        self.forest = Forest()
        self.answered: dict[int, Link] = {}
        self.truncated = False

    def found(self, step: Step) -> None:
        """The log with which a process starts."""
        fields = step.event.fields
        log = self._beginning(step)
        for entry in fields.items("logBatches"):
            end, epoch = batch_shown(entry, fields.where)
            link = next((each for each in log.after if (each.end, each.epoch) == (end, epoch)), None)
            log = self.forest.unseen(end, epoch) if link is None else link
        node = step.node
        if node.flushed > log.end:
            evidence = f"finds a log that ends at {log.end}, and had flushed up to {node.flushed}"
            step.report(names.ACKNOWLEDGED_IS_DURABLE, evidence)
        node.log = log
        node.flushed = min(node.flushed, log.end)

    def _beginning(self, step: Step) -> Link:
        state = step.event.state
        if state is None or "snapshot" not in state:
            return self.forest.root
        end, epoch = state.numbers("snapshot")[:2]
        return self.forest.find(end, epoch) or self.forest.unseen(end, epoch)

    def apply(self, step: Step) -> None:
        """The log operations of a step, in order."""
        for operation in step.event.log:
            kind = operation.text("op")
            if kind == "append":
                self._append(step, operation)
            elif kind == "flush":
                step.node.flushed = min(operation.number("to"), step.node.log.end)
            elif kind == "truncate":
                self._truncate(step, operation.number("to"))
            elif kind == "truncateToSnapshot":
                end, epoch = operation.number("offset"), operation.number("epoch")
                step.node.log = self.forest.find(end, epoch) or self.forest.unseen(end, epoch)
                step.node.flushed = step.node.log.end

    def judge(self, step: Step, after: View) -> None:
        """S-9, of the state after a step."""
        if after.last_epoch > after.epoch:
            evidence = f"holds records of epoch {after.last_epoch} in epoch {after.epoch}"
            step.report(names.LOG_EPOCHS_MONOTONE, evidence)

    def sent(self, step: Step) -> None:
        """Remember what the log was when a Fetch was answered, until the answer arrives."""
        for sent in step.event.sent:
            if sent.api == "Fetch" and not sent.is_request:
                self.answered[sent.mid] = step.node.log

    # Appends.

    def _append(self, step: Step, operation: Fields) -> None:
        if "batches" in operation:
            for batch in operation.objects("batches"):
                before = step.node.log
                self._append_batch(step, batch)
                if step.node.log.voters != before.voters:
                    voter_sets.judge_change(step, before.voters, step.node.log)
            return
        base, end = operation.number("base"), operation.number("end")
        for batch in _fetched(step):
            if base <= batch.number("base") and batch.number("last") < end:
                self._append_batch(step, batch)

    def _append_batch(self, step: Step, batch: Fields) -> None:
        log = step.node.log
        appended = self.forest.append(log, batch)
        link = appended.link
        step.node.log = link
        if appended.twin is not None and not link.suspect:
            link.suspect = True
            _report_twin(step, link, appended.twin)
        if link.epoch < log.epoch:
            evidence = f"appends epoch {link.epoch} at offset {link.base} behind epoch {log.epoch}"
            step.report(names.LOG_EPOCHS_MONOTONE, evidence)

    # Truncations.

    def _truncate(self, step: Step, to: int) -> None:
        node, log = step.node, step.node.log
        self.truncated = True
        known = None if step.before is None else step.before.high_watermark
        if known is not None and to < known:
            evidence = f"truncates its log to {to}, below its high watermark {known}"
            step.report(names.NO_TRUNCATION_BELOW_HIGH_WATERMARK, evidence)
        node.log = log.at(to)
        node.flushed = min(node.flushed, node.log.end)
        if node.log is log:
            evidence = f"truncates its log to {to}, which removes nothing: it ends at {log.end}"
            step.report(names.TRUNCATION_KEEPS_COMMITTED, evidence)
        message = step.event.message
        theirs = None if message is None else self.answered.get(message.mid)
        if message is None or theirs is None:
            return
        common = log.common(theirs).end
        if common > node.log.end:
            evidence = (
                f"truncates its log to {node.log.end} on an answer of {message.source}, with whose log it "
                f"was equal up to {common}"
            )
            step.report(names.TRUNCATION_KEEPS_COMMITTED, evidence, message.source)


def _fetched(step: Step) -> list[Fields]:
    message = step.event.message
    if message is None or message.api != "Fetch" or message.is_request:
        return []
    return [
        batch
        for topic in message.data.objects("responses", [])
        for partition in topic.objects("partitions", [])
        for batch in partition.objects("batches", [])
    ]


def _report_twin(step: Step, link: Link, twin: Link) -> None:
    where = f"at offset {link.base} of epoch {link.epoch}"
    if (twin.base, twin.records) != (link.base, link.records):
        evidence = f"appends {link.records} {where}, where another log has {twin.records}"
        step.report(names.RECORD_IDENTITY, _short(evidence))
    common = link.common(twin)
    if link.before is not common or twin.before is not common:
        evidence = (
            f"appends {where} what another log holds as well, but they differ from offset {common.end} on"
        )
        step.report(names.LOG_MATCHING, evidence)


def _short(text: str) -> str:
    return text if len(text) <= 300 else f"{text[:300]} ..."
