"""What a simulated cluster (:mod:`.simulation`) is made of: its nodes, its messages, its last line."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from kraftcheck.evidence.recordings.callbacks import Listener
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.host import Host
from kraftcheck.evidence.recordings.lines import NodeConfig
from kraftcheck.evidence.recordings.recording import recording_of
from kraftcheck.evidence.recordings.totals import Totals
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.messages import Request, Response

#: Delays of the network, in ms.
DELAY = (2, 12)

TIMEOUTS = {
    "controller.quorum.election.timeout.ms": 1000,
    "controller.quorum.fetch.timeout.ms": 2000,
    "controller.quorum.election.backoff.max.ms": 1000,
    "controller.quorum.append.linger.ms": 25,
    "controller.quorum.request.timeout.ms": 2000,
    "controller.quorum.retry.backoff.ms": 20,
    "fetchMaxWaitMs": 500,
    "controller.quorum.auto.join.enable": False,
}


@dataclass(slots=True)
class Letter:
    """A message under way. ``connection``: where its answer is awaited; ``owner``: the process that asked."""

    mid: int
    source: int
    to: int
    api: str
    correlation: int
    content: Request | Response
    data: Json
    connection: int
    owner: int
    request: Letter | None = None
    version: int = 0
    done: bool = False
    synthetic: str | None = None

    @property
    def is_request(self) -> bool:
        return self.request is None

    def shown(self) -> Json:
        kind = "req" if self.is_request else "resp"
        return {
            "mid": self.mid,
            "kind": kind,
            "api": self.api,
            "from": self.source,
            "corr": self.correlation,
            "ver": self.version,
            **({} if self.synthetic is None else {"synthetic": self.synthetic}),
            "data": self.data,
        }


@dataclass(slots=True, eq=False)
class Process:
    """A process on ``node``. state: as its last line shows it. wake: counts its sleeps."""

    node: Node
    host: Host
    listener: Listener
    state: Json = None
    wake: int = 0
    paused_until: int = 0
    crash_at: str | None = None
    shutdown_at: int | None = None


@dataclass(slots=True)
class Node:
    """A node: its disk, and the process that runs on it, if one does. waiting: letters in its queue."""

    config: NodeConfig
    directory: str
    disk: Disk = field(default_factory=Disk)
    file: Json = None
    incarnation: int = 0
    process: Process | None = None
    lost: int = 0
    waiting: list[Letter] = field(default_factory=list)

    @property
    def id(self) -> int:
        return self.config.id

    def clock(self, time: int) -> int:
        return self.config.local_times(time)[0]

    def when(self, local: int) -> int:
        """The first global time at which the node's clock shows ``local`` or more."""
        time = int((local - (self.config.clock_offset or 0)) / (1 + (self.config.clock_drift or 0.0))) - 2
        while self.clock(time) < local:
            time += 1
        return time


def finished(lines: list[Json], time: int) -> list[Json]:
    """``lines`` with the last line, which gives the totals."""
    end = {"seq": len(lines), "t": time, "ev": "final"}
    end |= {"leaders": {}, "committedDataRecords": 0, "counts": {}}
    recording = recording_of([*lines, end])
    totals = Totals(recording)
    for event in recording.events:
        totals.take(event)
    return [*lines, end | totals.final_line()]


def uuid(source: random.Random) -> str:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return "".join(source.choice(letters) for _ in range(21)) + "A"
