"""The parts of a simulated cluster (:mod:`.simulation`): its nodes, their processes, and its messages."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from kraftcheck.evidence.recorder.hosts import Hosted
from kraftcheck.evidence.recordings.callbacks import Listener
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.lines import NodeConfig
from kraftcheck.evidence.recordings.recording import recording_of
from kraftcheck.evidence.recordings.totals import Totals
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.messages import Request, Response

#: The id of the admin client, which is no node.
ADMIN = -1


@dataclass(slots=True)
class Letter:
    """A message under way. ``connection``: where its answer is awaited; ``owner``: the incarnation of the
    process that asked; ``data``: the content as the recording shows it; ``raw``: the content as an adapter
    reported it, which another adapter receives.
    """

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
    raw: Json = None

    @property
    def is_request(self) -> bool:
        """Whether it is a request."""
        return self.request is None

    def shown(self) -> Json:
        """The fields of the message on a line."""
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

    def sent(self) -> Json:
        """The entry in the list of messages that a step sends."""
        entry: Json = {"mid": self.mid, "to": self.to, "kind": "req", "api": self.api}
        return entry if self.request is None else entry | {"kind": "resp", "re": self.request.mid}


@dataclass(slots=True, eq=False)
class Process:
    """A process on ``node``. state: as its last line shows it. wake: counts its sleeps."""

    node: Node
    host: Hosted
    listener: Listener
    state: Json = None
    wake: int = 0
    paused_until: int = 0
    crash_at: str | None = None
    shutdown_at: int | None = None


@dataclass(slots=True)
class Node:
    """A node: its disk, and the process that runs on it, if one does. waiting: letters in its queue; served:
    answers of its server, which its next line lists.
    """

    config: NodeConfig
    directory: str
    disk: Disk = field(default_factory=Disk)
    file: Json = None
    incarnation: int = 0
    process: Process | None = None
    lost: int = 0
    waiting: list[Letter] = field(default_factory=list)
    served: list[Letter] = field(default_factory=list)

    @property
    def id(self) -> int:
        """The id of the node."""
        return self.config.id

    def clock(self, time: int) -> int:
        """The reading of the node's clock at the global ``time`` (ms)."""
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
    """A directory id."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return "".join(source.choice(letters) for _ in range(21)) + "A"
