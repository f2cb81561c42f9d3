"""The files that one node of a made-up fleet writes: raft lines among those of other loggers.

Lines of other loggers come at an even rate, so that what the node says stands between them in order of time.
"""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, Final

_STAMP: Final = b"\0"
#: Lines of other loggers; the raft lines stand among them.
_NOISE: Final = (
    "INFO [QuorumController id=1] Replayed a RegisterBrokerRecord (org.apache.kafka.controller.Cluster)",
    "DEBUG [QuorumController id=1] Processed maybeFenceReplicas in 42 us (org.apache.kafka.controller)",
    "DEBUG [MetadataLoader id=1] Publishing delta at offset 4711 (org.apache.kafka.image.loader)",
    "INFO [SnapshotGenerator id=1] Creating new KRaft snapshot file (org.apache.kafka.image.publisher)",
    "DEBUG [NodeToControllerChannelManager id=1] Sending BROKER_HEARTBEAT (kafka.server.NodeToController)",
    "WARN [RaftManager id=1] Connection to node 2 could not be established (org.apache.kafka.clients)",
    "INFO [kafka-1-raft-io-thread]: Elected leader of nothing (kafka.raft.KafkaRaftManager$RaftIoThread)",
    "DEBUG Completed transition to something else, which is no state (org.example.Other)",
)


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a node's log: the number of the file, oldest first from 0, and of the line in it, from 1."""

    node: int
    file: int
    line: int


@dataclass(slots=True)
class NodeLog:
    """The files that one node writes, in a folder; ``None``: its logs are lost."""

    node: int
    folder: Path | None
    skew: int
    """ms by which its clock is ahead."""
    zipped: bool
    paths: list[Path] = field(default_factory=list)
    noise: int = 0
    """So many lines of other loggers come in a second."""
    line: int = 0
    total: int = 0
    _quiet_until: tuple[int, int] = (0, 0)
    """The second (since 1970) up to which they are written, and how many of its lines."""
    _file: gzip.GzipFile | BinaryIO | None = None

    def say(self, now: int, text: str, lines: int = 1) -> Place:
        """Write ``text`` at ``now`` (ms since 1970), with the time that the node's clock shows for ``{}``."""
        self.pass_time(now)
        moment = now + self.skew
        time = f"{_stamp(moment // 1000)},{moment % 1000:03}"
        return self._write(text.replace("{}", time, 1).encode(), lines)

    def pass_time(self, now: int) -> None:
        """Write the lines of other loggers up to ``now`` (ms since 1970)."""
        second, done = self._quiet_until
        if not second:
            second = now // 1000
        while self.noise and second * 1000 <= now:
            within = now - second * 1000
            # All whose time is not after `now`: a file may end here, and no line of the next one is earlier.
            due = min(self.noise, -(-(within + 1) * self.noise // 1000))
            if due > done:
                text, starts = _block(self.noise, second % 8)
                text = text[starts[done] : starts[due]]
                self._write(text.replace(_STAMP, _stamp(second + self.skew // 1000).encode()), due - done)
                done = due
            if done < self.noise:
                break
            second, done = second + 1, 0
        self._quiet_until = second, done

    def _write(self, text: bytes, lines: int) -> Place:
        """Append; gives the place of the first line."""
        if self._file is None:
            self._open()
        place = Place(self.node, len(self.paths) - 1, self.line + 1)
        if self._file is not None:
            self._file.write(text)
        self.line += lines
        self.total += lines
        return place

    def _open(self) -> None:
        name = f"part-{len(self.paths):06}"
        self.paths.append(Path(name) if self.folder is None else self.folder / name)
        self.line = 0
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.paths[-1]
            zipped = self.zipped and len(self.paths) % 2 == 1
            # Closed by `rotate`.
            self._file = gzip.GzipFile(path, "wb", 1, mtime=0) if zipped else path.open("wb")

    def rotate(self) -> None:
        """The next lines go to another file."""
        if self._file is not None:
            self._file.close()
        self._file, self.line = None, 0

    def finish(self) -> None:
        """Give the files the names that rotation leaves: ``controller.log``, ``controller.log.1.gz``, ..."""
        self.rotate()
        count = len(self.paths)
        for number, path in enumerate(self.paths):
            older = "" if number == count - 1 else f".{count - 1 - number}"
            end = ".gz" if self.zipped and number % 2 == 0 else ""
            self.paths[number] = path.with_name(f"controller.log{older}{end}")
            if self.folder is not None:
                path.rename(self.paths[number])


@lru_cache(maxsize=256)
def _stamp(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("[%Y-%m-%d %H:%M:%S")[1:]


@lru_cache(maxsize=64)
def _block(lines: int, number: int) -> tuple[bytes, tuple[int, ...]]:
    """So many lines within one second, which stands as `_STAMP`; and where each starts."""
    draw = random.Random(number)
    found = []
    for line in range(lines):
        if line and draw.random() < 0.02:
            found.append("\tat org.apache.kafka.example.Frame.run(Frame.java:42)")
        else:
            found.append(f"[{_STAMP.decode()},{line * 1000 // lines:03}] {draw.choice(_NOISE)}")
    text = "".join(one + "\n" for one in found).encode()
    starts = accumulate((len(one) + 1 for one in found), initial=0)
    return text, tuple(starts)
