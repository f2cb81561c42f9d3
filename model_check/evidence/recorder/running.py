"""Recording with the processes of an adapter, and comparing what was recorded with the reference."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from kraftcheck.evidence.adapters.started import Adapters
from kraftcheck.evidence.recorder.adapter_host import AdapterHost
from kraftcheck.evidence.recorder.schedule import Schedule, record
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.outcome import Difference, RunReport
from kraftcheck.evidence.recordings.properties.judge import judge
from kraftcheck.evidence.recordings.recording import recording_of
from kraftcheck.reference.config import Times
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica


class Recorder:
    """Records with the processes of ``adapters``, one for each node; further recordings use them again."""

    def __init__(self, adapters: Adapters) -> None:
        self._adapters = adapters
        self._numbers: dict[int, int] = {}

    @property
    def name(self) -> str:
        """The implementation, as it names itself."""
        return self._adapters.name

    def record(self, schedule: Schedule) -> list[Json]:
        """The lines of the recording that ``schedule`` gives. Raises AdapterError."""
        self._numbers = {}
        return record(schedule, self._host, kafka=self.name)

    def _host(
        self,
        draw: random.Random,
        protocol: Protocol,
        times: Times,
        servers: Mapping[int, int],
        identity: Replica,
        disk: Disk,
        now: int,
    ) -> AdapterHost:
        session = self._adapters.session(self._numbers.setdefault(identity.id, len(self._numbers)))
        return AdapterHost(session, draw, protocol, times, servers, identity, disk, now)


class Compared(Struct, frozen=True):
    """A recording that was compared. kind, seq, time: of its first difference, ``""`` where there is none.

    kinds: the number of differences of each kind. violated: the number of findings, by property and cause.
    whole: whether every step was compared. rules: how many agreeing steps each rule decided.
    """

    run: str
    events: int
    whole: bool = True
    kind: str = ""
    seq: int = -1
    time: int = -1
    kinds: dict[str, int] = {}
    violated: dict[str, int] = {}
    rules: dict[str, int] = {}

    @property
    def differs(self) -> bool:
        """Whether the reference and the implementation differ."""
        return bool(self.kind)


def kind_of(difference: Difference) -> str:
    """The kind of a difference: the event and the field, without the numbers in them."""
    field = re.sub(r"\b\d+\b", "N", difference.field)
    return f"{difference.event}: {field}"


def compared(run: str, lines: list[Json], protocol: Protocol) -> Compared:
    """Compare and judge the recording ``run``, as ``kraftcheck conform`` does."""
    recording = recording_of(lines, run)
    report = compare(recording, protocol)
    found = [finding for finding in judge(recording, protocol).findings if not finding.hazard]
    violated = Counter(f"{each.property}: {each.cause or 'cause not known'}" for each in found)
    if not report.differences:
        return Compared(
            run, len(lines), whole=report.is_whole, violated=dict(violated), rules=dict(report.rules)
        )
    first = min(report.differences, key=lambda difference: difference.seq)
    return Compared(
        run,
        len(lines),
        whole=report.is_whole,
        kind=kind_of(first),
        seq=first.seq,
        time=recording.events[first.seq].time,
        kinds=dict(_kinds(report)),
        violated=dict(violated),
        rules=dict(report.rules),
    )


def _kinds(report: RunReport) -> Counter[str]:
    return Counter(kind_of(each) for each in report.differences)
