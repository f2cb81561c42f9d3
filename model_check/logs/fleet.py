"""Made-up logs of whole clusters that agree with each other: for tests and measurements of fleets.

A `Cluster` elects one leader an epoch, its nodes follow, vote, commit and change voters, and each writes what
production writes of it, with its own clock. `model_check.logs.faults` plants what the checks must find.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final

from model_check.logs.releases import forms
from model_check.logs.render import (
    Drawn,
    directory,
    offset_text,
    record,
    replica_state,
    transition_messages,
)

_BEGIN: Final = int(datetime(2026, 3, 3, tzinfo=UTC).timestamp())
_SNAPSHOT: Final = "Reading KRaft snapshot and log as part of the initialization"
_STAMP: Final = b"\0"
#: What other loggers write; the raft lines stand among it.
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
    line: int = 0
    total: int = 0
    _file: gzip.GzipFile | BinaryIO | None = None

    def write(self, text: bytes, lines: int) -> Place:
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
        """What follows goes to another file."""
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


class Cluster:
    """A cluster, its history, and the logs of its nodes."""

    def __init__(
        self,
        seed: int,
        name: str,
        release: str,
        folder: Path,
        *,
        size: int,
        absent: int | None = None,
        skew: int = 600,
    ) -> None:
        self.random = random.Random(seed)
        self.name, self.release = name, release
        self.at = forms().releases.index(release)
        self.nodes = tuple(range(1, size + 1))
        self.voters = self.nodes
        self.absent = absent
        draw = self.random
        self.logs = {
            node: NodeLog(
                node,
                None if node == absent else folder / name / f"controller-{node}",
                draw.randrange(-600, 600) * skew // 600 * 1000,
                draw.random() < 0.5,
            )
            for node in self.nodes
        }
        self.now = (_BEGIN + draw.randrange(100_000)) * 1000
        self.states: dict[int, Drawn] = {}
        self.epoch, self.end, self.leader = 0, 1, 0
        self.set_offset = 0
        self.misnamed: set[int] = set()
        for node in self.nodes:
            self.start(node, Drawn("Unattached", node, 0, self.voters))

    def since(self, release: str) -> bool:
        """Whether this cluster's release is ``release`` or later."""
        return self.at >= forms().releases.index(release)

    # --- lines --------------------------------------------------------------------------------------------

    def say(self, node: int, message: str, logger: str = "KafkaRaftClient", level: str = "INFO") -> Place:
        """One raft line of ``node``."""
        log = self.logs[node]
        moment = self.now + log.skew
        self.now += 1
        time = f"{_stamp(moment // 1000)},{moment % 1000:03}"
        return log.write(record(time, node, message, self.release, logger, level).encode(), 1)

    def fail(self, node: int, text: str) -> Place:
        """``node`` writes ``text``, two lines without log context, as an error."""
        moment = self.now + self.logs[node].skew
        self.now += 1
        time = f"{_stamp(moment // 1000)},{moment % 1000:03}"
        return self.logs[node].write(f"[{time}] ERROR {text}".encode(), 2)

    def noise(self, lines: int) -> None:
        """Each node writes so many lines of other loggers, within one second."""
        second = self.now // 1000 + 1
        for log in self.logs.values():
            text = _block(lines, self.random.randrange(8))
            log.write(text.replace(_STAMP, _stamp(second + log.skew // 1000).encode()), lines)
        self.now = (second + 1) * 1000

    # --- changes of state ---------------------------------------------------------------------------------

    def change(
        self, node: int, new: Drawn, *, grants: Iterable[int] | None = None, attempted: bool = True
    ) -> tuple[Place, Place]:
        """``node`` changes to ``new``; gives the places of the first line and of the completion.

        ``grants``: those that the state left behind had when it was left. ``attempted``: whether the line on
        the attempt is written.
        """
        old = self.states[node]
        if grants is not None:
            old = replace(old, granted=frozenset(grants))
        return self._changed(node, new, old, attempted=attempted)

    def _changed(
        self, node: int, new: Drawn, old: Drawn | None, *, attempted: bool = True
    ) -> tuple[Place, Place]:
        messages = list(transition_messages(new, old, self.release))
        if not attempted:
            del messages[:-1]
        places = [self.say(node, message, "QuorumState") for message in messages]
        self.states[node] = new
        self.epoch = max(self.epoch, new.epoch)
        return places[0], places[-1]

    def make(self, role: str, node: int, epoch: int, **more: object) -> Drawn:
        """A state of ``node`` that knows the high watermark which the node knows now."""
        timeout = self.random.choice((1000, 1234, 1999, 2000))
        values: dict[str, object] = {"high": self.states[node].high, "timeout": timeout} | more
        if role in ("Leader", "Resigned"):
            values["high"] = None
        return Drawn(role, node, epoch, self.voters, **values)  # type: ignore[arg-type]

    def start(self, node: int, state: Drawn) -> tuple[Place, Place]:
        """A process of ``node`` starts in ``state``."""
        if self.since("3.5"):
            self.say(node, _SNAPSHOT)
        if self.since("3.9"):
            self.read_voters(node, self.set_offset, self.voters)
            self.read_version(node, 0, 1)
        return self._changed(node, replace(state, high=None), None)

    def restart(self, node: int) -> None:
        """The process of ``node`` ends and another starts with what is on disk."""
        state = self.states[node]
        if state.role in ("Leader", "Resigned"):
            self.start(node, self.make("Resigned", node, state.epoch, leader=node))
        elif state.role in ("Voted", "Candidate") and not self.since("3.9"):
            self.start(node, self.make("Voted", node, state.epoch, voted=state.voted))
        else:
            self.start(node, self.make("Unattached", node, state.epoch, voted=state.voted))

    def hop(self, node: int, epoch: int | None = None) -> tuple[Place, Place]:
        """``node`` alone learns of a larger epoch."""
        return self.change(node, self.make("Unattached", node, self.epoch + 1 if epoch is None else epoch))

    def vote(self, node: int, candidate: int) -> tuple[Place, Place]:
        """``node``, which has not voted, votes in its epoch."""
        role = "Unattached" if self.since("3.9") else "Voted"
        return self.change(node, self.make(role, node, self.states[node].epoch, voted=candidate))

    def stand(self, node: int, **candidate: object) -> tuple[Place, Place]:
        """``node``, which does not lead, becomes candidate in the next epoch; ``candidate``: odd values."""
        epoch, state = self.epoch + 1, self.states[node]
        if state.epoch < self.epoch:
            self.hop(node, self.epoch)
        own = frozenset({node})
        if self.since("4.0"):
            state = self.states[node]
            kept = self.make("Prospective", node, state.epoch, leader=state.leader, voted=state.voted)
            self.change(node, replace(kept, granted=own))
        values: dict[str, object] = {"voted": node, "granted": own} | candidate
        voters = values.pop("voters", self.voters)
        named = values.pop("named", node)
        new = replace(self.make("Candidate", node, epoch, **values), voters=voters, node=named)  # type: ignore[arg-type]
        grants = self.voters if self.since("4.0") else None
        return self.change(node, new, grants=grants)

    def win(self, node: int, grants: Iterable[int], start: int | None = None) -> tuple[Place, Place]:
        """The candidate ``node`` becomes leader; its log ends at ``start``."""
        at = self.end if start is None else start
        new = self.make("Leader", node, self.states[node].epoch, leader=node, start=at)
        places = self.change(node, new, grants=grants)
        self.end = max(self.end, at + 2)
        return places

    def follow(self, node: int, epoch: int, leader: int) -> tuple[Place, Place]:
        """``node`` learns of the leader of ``epoch``."""
        state = self.states[node]
        voted = state.voted if state.epoch == epoch else None
        return self.change(node, self.make("Follower", node, epoch, leader=leader, voted=voted))

    # --- the log ------------------------------------------------------------------------------------------

    def high_watermark(self, node: int, high: int, ends: dict[int, int] | None = None) -> Place:
        """``node`` learns of a high watermark; ``ends``: the ends that a leader sees, unlike ``high``."""
        state = self.states[node]
        self.states[node] = state.with_high(high)
        first = state.high is None
        if state.role == "Follower":
            if first:
                text = f"High watermark set to Optional[{offset_text(high)}] for the first time"
                self.say(node, f"{text} for epoch {state.epoch}", "FollowerState")
            return self.say(node, f"Follower high watermark updated to {high}", level="DEBUG")
        seen = ends or {}
        voters = ", ".join(replica_state(one, seen.get(one, high), 12) for one in state.voters)
        how = (
            f"for the first time for epoch {state.epoch}" if first else f"from {offset_text(state.high or 0)}"
        )
        text = f"High watermark set to {offset_text(high)} {how} based on indexOfHw 1 and voters [{voters}]"
        return self.say(node, text, "LeaderState", "INFO" if first else "DEBUG")

    def read_voters(self, node: int, offset: int, voters: Iterable[int]) -> Place:
        """``node`` reads a voter set from its log."""
        endpoints = "ListenerName(CONTROLLER)=node-{}/<unresolved>:9093"
        keys = ", ".join(
            f"{one}=VoterNode(voterKey=ReplicaKey(id={one}, directoryId={directory(one)}), "
            f"listeners=Endpoints(endpoints={{{endpoints.format(one)}}}), "
            "supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:1])"
            for one in voters
        )
        text = f"Latest set of voters is VoterSet(voters={{{keys}}}) at offset {offset}"
        return self.say(node, text, "internals.KRaftControlRecordStateMachine")

    def read_version(self, node: int, offset: int, version: int) -> Place:
        """``node`` reads kraft.version from its log."""
        text = f"Latest kraft.version is KRAFT_VERSION_{version} at offset {offset}"
        return self.say(node, text, "internals.KRaftControlRecordStateMachine")

    def answer(self, node: int, candidate: int, *, pre_vote: bool = False, end: int | None = None) -> Place:
        """``node`` grants a vote in its epoch; ``end``: of the candidate's log."""
        epoch = self.states[node].epoch
        last = (epoch - 1, self.end) if end is None else (0, end)
        asked = f"lastOffsetEpoch={last[0]}, lastOffset={last[1]}"
        shown = f", preVote={str(pre_vote).lower()}" if self.since("4.0") else ""
        who = "replica" if self.since("4.0") else "candidate"
        keys = f", {who}DirectoryId={directory(candidate)}, voterDirectoryId={directory(node)}"
        text = (
            f"Vote request VoteRequestData(clusterId='{self.name}', voterId={node}, topics=[TopicData("
            "topicName='__cluster_metadata', partitions=[PartitionData(partitionIndex=0, "
            f"{who}Epoch={epoch}, {who}Id={candidate}{keys if self.since('3.9') else ''}, {asked}{shown}"
            f")])]) with epoch {epoch} is granted"
        )
        return self.say(node, text)

    # --- epochs -------------------------------------------------------------------------------------------

    def elect(self) -> None:
        """An epoch with a leader begins, and every node takes part in it."""
        able = [one for one in self.voters if self.states[one].role not in ("Leader", "Resigned")]
        leader = self.random.choice(able)
        self.stand(leader)
        epoch = self.states[leader].epoch
        grants = {leader}
        for node in self.nodes:
            if node != leader:
                if node not in self.voters or self.random.random() < 0.8 or node == self.leader:
                    self.hop(node, epoch)
                late = len(self.voters) - len(grants) <= len(self.voters) // 2
                if node in self.voters and self.states[node].epoch == epoch and not late:
                    self.vote(node, leader)
                    self.answer(node, leader)
                    grants.add(node)
        for node in self.voters:
            if len(grants) <= len(self.voters) // 2 and node not in grants:
                if self.states[node].epoch < epoch:
                    self.hop(node, epoch)
                self.vote(node, leader)
                grants.add(node)
        self.win(leader, grants)
        self.leader = leader
        for node in self.nodes:
            if node != leader:
                self.follow(node, epoch, leader)

    def commit(self) -> None:
        """The high watermark advances."""
        self.end += self.random.choice((1, 2, 7))
        for node in (self.leader, *(one for one in self.nodes if one != self.leader)):
            self.high_watermark(node, self.end)

    def change_voters(self) -> None:
        """A voter is removed, or the one removed is added again."""
        if not self.since("3.9") or len(self.nodes) < 4 or self.leader == self.nodes[-1]:
            return
        every = self.voters == self.nodes
        self.voters = self.nodes[:-1] if every else self.nodes
        self.set_offset = self.end
        for node in self.nodes:
            self.read_voters(node, self.set_offset, self.voters)

    def run(self, epochs: int, lines: int, noise: int, rotate: int, then: Callable[[int], None]) -> None:
        """So many epochs, each with about so many lines of each node; ``then`` is told of their ends.

        ``noise``: lines of other loggers between two steps. ``rotate``: lines after which a file ends.
        """
        for number in range(epochs):
            for log in self.logs.values():
                if log.line >= rotate:
                    log.rotate()
            self.elect()
            self.commit()
            if self.random.random() < 0.3:
                self.change_voters()
            for _ in range(max(1, lines // (noise + 1))):
                self.noise(noise)
                self.commit()
            then(number)

    def finish(self) -> None:
        """Close the files."""
        for log in self.logs.values():
            log.finish()


@lru_cache(maxsize=256)
def _stamp(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("[%Y-%m-%d %H:%M:%S")[1:]


@lru_cache(maxsize=64)
def _block(lines: int, number: int) -> bytes:
    """So many lines within one second, which stands as `_STAMP`."""
    draw = random.Random(number)
    found = []
    for line in range(lines):
        if line and draw.random() < 0.02:
            found.append("\tat org.apache.kafka.example.Frame.run(Frame.java:42)")
        else:
            found.append(f"[{_STAMP.decode()},{line * 1000 // lines:03}] {draw.choice(_NOISE)}")
    return "".join(one + "\n" for one in found).encode()
