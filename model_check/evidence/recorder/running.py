"""Recording with the processes of an adapter, and comparing what was recorded with the reference."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from msgspec import Struct

from kraftcheck.evidence.adapters.session import AdapterProcess, Session, words_of
from kraftcheck.evidence.recorder.adapter_host import AdapterHost, require_whole
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


class Adapters:
    """The processes of an adapter, one for each node, which further recordings use again.

    ``name``: the implementation, as it names itself. Leaving the context ends them. Raises InputError where
    the first one does not start or does not show what a recording needs.
    """

    def __init__(self, command: str, timeout: float) -> None:
        self._command, self._timeout = command, timeout
        self._running: list[tuple[AdapterProcess, Session]] = []
        self._used: dict[int, Session] = {}
        try:
            self.name = self._session(0).capabilities.name
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """End the processes."""
        for process, _ in self._running:
            process.end()
        self._running = []

    def record(self, schedule: Schedule) -> list[Json]:
        """The lines of the recording that ``schedule`` gives. Raises AdapterError."""
        self._used = {}
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
        session = self._used.get(identity.id) or self._session(len(self._used))
        self._used[identity.id] = session
        return AdapterHost(session, draw, protocol, times, servers, identity, disk, now)

    def _session(self, number: int) -> Session:
        while len(self._running) <= number:
            process = AdapterProcess(words_of(self._command), self._timeout)
            try:
                session = Session(process)
                require_whole(session)
            except BaseException:
                process.end()
                raise
            self._running.append((process, session))
        return self._running[number][1]


class Compared(Struct, frozen=True):
    """A recording that was compared. kind, seq, time: of its first difference, ``""`` where there is none.

    kinds: the number of differences of each kind. violated: the number of findings, by property and cause.
    whole: whether every step was compared.
    """

    run: str
    events: int
    whole: bool = True
    kind: str = ""
    seq: int = -1
    time: int = -1
    kinds: dict[str, int] = {}
    violated: dict[str, int] = {}

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
        return Compared(run, len(lines), whole=report.is_whole, violated=dict(violated))
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
    )


def _kinds(report: RunReport) -> Counter[str]:
    return Counter(kind_of(each) for each in report.differences)
