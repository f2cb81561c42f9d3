"""The totals of a recorded run: those that its last line and ``run.json`` give, counted again.

The simulator's own acts (``act:...``) cannot be counted from the events; of ``spinGuard`` the lines show a
part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import UNSET

from kraftcheck import spec
from kraftcheck.evidence.recordings import lines, performed
from kraftcheck.evidence.recordings.exceptions import UNKNOWN_TOTAL, UNSEEN_MESSAGES
from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.recording import Event, Recording
from kraftcheck.evidence.recordings.state import differences
from kraftcheck.evidence.recordings.typed import Json

#: Counts of the simulator's acts, which lines do not show, or only in part.
NOT_COUNTED = ("act:", "spinGuard")

#: Counts of messages that may include some that no line shows: answers made for a process that ended before
#: it received them, and requests of the client that did not arrive.
AT_LEAST = ("synthetic:", "admin:")

#: The kinds of events of which the last line counts each.
_EVENTS = ("recv", "tick", "expire", "api", "start")

#: Counts of events by kind, which the last line always gives in full.
_COUNTED = (
    *("ev:", "end:", "lost:", "synthetic:", "admin:", "adminResult:"),
    *("appends", "starts", "truncations", "snapshotLoads", "lostUnflushedRestarts"),
)


class Totals:
    """The counts so far."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.counts: Counter[str] = Counter()
        self.messages: Counter[str] = Counter()
        self.results: Counter[str] = Counter()
        self.entered: Counter[str] = Counter()
        self.leaders: dict[str, int] = {}
        self.ended_leading: dict[str, int] = {}
        self.unnamed: set[str] = set()
        self.may_miss = False
        self.committed: set[int] = set()
        self.fatal: list[tuple[int, int, str]] = []
        self.high_watermark = -1
        self.wipes = 0
        self.pauses = 0
        self._roles: dict[int, tuple[str, int]] = {}

    def take(self, event: Event) -> None:
        """Count one line."""
        kind, line, counts = event.kind, event.line, self.counts
        if kind in _EVENTS:
            counts[f"ev:{kind}"] += 1
        if isinstance(line, lines.Shown):
            self._state(line)
        if event.message is not None and kind == "recv":
            self._message(event.message)
        elif kind == "inflight":
            self.may_miss = True
        elif isinstance(line, lines.LostLine):
            self.may_miss |= event.message is not None and event.message.source == -1
            counts[f"lost:{line.why}"] += 1
        elif isinstance(line, lines.StartLine):
            counts["starts"] += 1
            counts["lostUnflushedRestarts"] += line.lost_unflushed > 0
        elif isinstance(line, lines.EndLine):
            self._end(line)
        elif isinstance(line, lines.CallLine):
            counts["appends"] += line.call == "append" and line.offset is not UNSET
        elif isinstance(line, lines.AdminResultLine):
            self._admin_result(line)
        self.wipes += kind == "wipe"
        self.pauses += kind == "pause"
        if isinstance(line, lines.Step):
            self._effects(line)

    def _effects(self, line: lines.Step) -> None:
        for entry in line.log:
            self.counts["truncations"] += isinstance(entry, performed.Truncate)
            self.counts["snapshotLoads"] += isinstance(entry, performed.TruncateToSnapshot)
        for call in line.callbacks:
            if isinstance(call, performed.Commit) and call.values is not UNSET:
                self.committed.update(range(call.base, call.base + len(call.values)))

    def _state(self, line: lines.Shown) -> None:
        role, epoch = line.state.state, line.state.epoch
        if self._roles.get(line.node) != (role, epoch):
            self._roles[line.node] = (role, epoch)
            self.entered[role] += 1
        if role == "Leader":
            self.leaders[str(epoch)] = line.node
        self.high_watermark = max(self.high_watermark, line.state.hw)

    def _message(self, message: lines.Message) -> None:
        self.messages[message.api + ("Req" if message.is_request else "Resp")] += 1
        if message.synthetic is not None:
            self.counts[f"synthetic:{message.synthetic}"] += 1
        if message.source == -1:
            self.counts[f"admin:{message.api}"] += 1

    def _end(self, line: lines.EndLine) -> None:
        self.counts[f"end:{line.reason.partition(':')[0]}"] += 1
        self.may_miss = True
        for stored in line.persisted:
            if stored.leader_id == line.node:
                self.ended_leading[str(stored.leader_epoch)] = line.node
        if line.reason == "fatal":
            self.fatal.append((line.time, line.node, line.exception))

    def _admin_result(self, line: lines.AdminResultLine) -> None:
        api, code = line.api, line.data.error
        names = [error.name for error in spec.load().errors.values() if error.code == code]
        if len(names) == 1:
            self.counts[f"adminResult:{api}:{names[0]}"] += 1
        else:
            self.unnamed.add(f"adminResult:{api}:")
        self.results[f"{api}:{code}"] += 1

    # The totals of the recording.

    def compare(self, final: Event) -> Iterator[Found | str]:
        """Differences of the last line and of ``run.json``; a string is an exception to count."""
        assert isinstance(final.line, lines.FinalLine)
        yield from self._final(final.line)
        yield from self._summary(final)

    def spins(self, final: Event, shown: int) -> Iterator[Found]:
        """Whether the last line counts fewer spinning loops than the ``shown`` ones."""
        assert isinstance(final.line, lines.FinalLine)
        given = final.line.counts.get("spinGuard", 0)
        if given < shown:
            yield Found("counts.spinGuard", f"{shown} or more", given)

    def final_line(self) -> Json:
        """The totals in the last line of a run with these events."""
        counts = {name: count for name, count in sorted(self.counts.items()) if count}
        return {
            "leaders": self.leaders,
            "committedDataRecords": len(self.committed),
            "counts": counts,
        }

    def _final(self, line: lines.FinalLine) -> Iterator[Found | str]:
        yield from differences(self._leaders(line.leaders), line.leaders, "leaders")
        yield from differences(len(self.committed), line.committed_data_records, "committedDataRecords")
        given = line.counts
        for name in sorted(self.counts.keys() | given.keys()):
            if name.startswith(tuple(self.unnamed)):
                yield UNKNOWN_TOTAL
            elif name.startswith(AT_LEAST) and self.may_miss and given.get(name, 0) > self.counts[name]:
                yield UNSEEN_MESSAGES
            elif name.startswith(_COUNTED):
                yield from differences(self.counts[name], given.get(name, 0), f"counts.{name}")
            elif not name.startswith(NOT_COUNTED):
                yield UNKNOWN_TOTAL

    def _leaders(self, given: Json) -> dict[str, int]:
        """The leader of each epoch, and one that crashed as it became leader if ``given`` counts it."""
        ended = {epoch: node for epoch, node in self.ended_leading.items() if given.get(epoch) == node}
        return {**self.leaders, **ended}

    def _summary(self, final: Event) -> Iterator[Found]:
        counts, config = self.counts, self.recording.config
        summary, shown = self.recording.summary, self.recording.totals
        voters = sum(node.initial_voter for node in config.nodes)
        brokers = sum(not node.can_become_voter for node in config.nodes)
        totals: dict[str, Json] = {
            "recv": counts["ev:recv"],
            "ticks": counts["ev:tick"],
            "prospectives": self.entered["Prospective"],
            "candidacies": self.entered["Candidate"],
            "resignations": self.entered["Resigned"],
            "leaders": self._leaders(summary.leaders),
            "adminResults": dict(self.results),
            "starts": counts["starts"],
            "ends": self._part("end:"),
            "lost": self._part("lost:"),
            "truncations": counts["truncations"],
            "snapshotLoads": counts["snapshotLoads"],
            "diskLosses": self.wipes,
            "pauses": self.pauses,
            "maxHighWatermark": self.high_watermark,
            "messages": dict(self.messages),
            "simSeconds": final.time / 1000,
        }
        labels: dict[str, Json] = {
            "scenario": config.scenario,
            "seed": config.seed,
            "logLevel": config.log_level,
            "initialKraftVersion": config.initial_kraft_version,
            "nodes": len(config.nodes),
            "initialVoters": voters,
            "brokers": brokers,
            "joiners": len(config.nodes) - voters - brokers,
        }
        for name, expected in (totals | labels).items():
            if name in shown:
                place = 0 if name in labels else None
                yield from differences(expected, shown[name], f"run.json {name}", place)
        if summary.fatal is not UNSET:
            given = [(each.t, each.node) for each in summary.fatal]
            same = given == [each[:2] for each in self.fatal] and all(
                found.startswith(each.exception)
                for each, (_, _, found) in zip(summary.fatal, self.fatal, strict=True)
            )
            if not same:
                yield Found("run.json fatal", [list(one) for one in self.fatal], shown["fatal"])

    def _part(self, prefix: str) -> dict[str, int]:
        return {key[len(prefix) :]: count for key, count in self.counts.items() if key.startswith(prefix)}
