"""Made-up logs of whole clusters that agree with each other: for tests and measurements of fleets.

The history of a `Cluster` is a walk of the simulator over the reference (`model_check.logs.simulated`): what its
processes do is told as events (`model_check.logs.loggable`), and written here as a release writes it, with the
clock of each node. `model_check.logs.faults` plants what the checks must find; `model_check.logs.walk` lets the
cluster run and fail.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from model_check.logs import loggable
from model_check.logs.loggable import (
    Answers,
    Appends,
    Attempts,
    Becomes,
    Begins,
    Commits,
    Dies,
    Event,
    Loads,
    Reads,
    Says,
    Truncates,
    events_of,
)
from model_check.logs.node_log import NodeLog, Place
from model_check.logs.releases import forms
from model_check.logs.render import (
    Drawn,
    directory,
    offset_text,
    record,
    replica_state,
    transition_messages,
)
from model_check.logs.simulated import Step, ToldSimulation

_BEGIN: Final = int(datetime(2026, 3, 3, tzinfo=UTC).timestamp())
_SNAPSHOT: Final = "Reading KRaft snapshot and log as part of the initialization"
_RECORDS: Final = "internals.KRaftControlRecordStateMachine"
_FATAL: Final = (
    "Encountered fatal fault: Unexpected error in raft IO thread "
    "(org.apache.kafka.server.fault.ProcessTerminatingFaultHandler)\n"
    "java.lang.IllegalStateException: "
)
#: What is only said, and by which logger.
_SAID: Final = {
    loggable.SHUTS_DOWN: ("Beginning graceful shutdown", "KafkaRaftClient", "INFO"),
    loggable.STOPPED: ("Graceful shutdown completed", "KafkaRaftClient", "INFO"),
    loggable.FETCHED_BACK: ("Detected non-monotonic update of fetch offset", "LeaderState", "WARN"),
}


class Cluster:
    """A cluster, its history, and the logs of its nodes.

    ``noise``: lines of other loggers that each node writes in a second. ``trace``: nodes log at TRACE, so that
    the ends of their logs show. ``dynamic``: the voter set is in the log. ``drop``: the share of messages lost.
    """

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
        noise: int = 0,
        trace: bool = False,
        dynamic: bool = False,
        drop: float = 0.0,
    ) -> None:
        self.random = random.Random(seed)
        self.name, self.release, self.trace, self.dynamic = name, release, trace, dynamic
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
                noise=noise,
            )
            for node in self.nodes
        }
        self._begin = (_BEGIN + draw.randrange(100_000)) * 1000
        self.states: dict[int, Drawn] = {}
        self.epoch, self.end = 0, 0
        """The largest epoch, and the largest high watermark, that a line shows."""
        self.set_offset = -1
        """Where the voter set is that the node read last in whose log a fault is planted."""
        self.misnamed: set[int] = set()
        self.died: list[Place] = []
        """Lines on processes that ended by an error in the walk itself."""
        self.heard: set[int] = set()
        """Nodes that have logged a high watermark in their present state, and in their newest file."""
        self.placed: set[int] = set()
        """Nodes whose newest file has a change of state."""
        self._touched: dict[int, None] = {}
        self._skips: list[tuple[int, int]] = []
        """Offset from which on, and how many, the offsets of the walk are shown larger."""
        self.simulation = ToldSimulation(
            draw.randrange(1 << 30),
            self._hear,
            voters=size,
            old=not self.since("4.0"),
            dynamic=dynamic,
            drop=drop,
        )

    def since(self, release: str) -> bool:
        """Whether this cluster's release is ``release`` or later."""
        return self.at >= forms().releases.index(release)

    @property
    def now(self) -> int:
        """Global time, in ms since 1970."""
        return self._begin + self.simulation.time

    def offset(self, offset: int) -> int:
        """How an offset of the walk is shown: planted lines may have used the ones that follow."""
        place = bisect_right(self._skips, (offset, 1 << 62))
        return offset + (self._skips[place - 1][1] if place else 0)

    # --- what processes of the walk do --------------------------------------------------------------------

    def _hear(self, step: Step) -> None:
        draw = self.random
        events = events_of(
            step,
            self.states.get(step.node),
            voted_apart=not self.since("3.9"),
            draw=lambda: draw.choice((1000, 1234, 1999, 2000)),
        )
        for event in events:
            self._log(step.node, event)

    def _log(self, node: int, event: Event) -> None:
        """``node`` logs ``event`` of the walk."""
        match event:
            case Commits(offset, ends):
                known = {voter: None if end is None else self.offset(end) for voter, end in ends}
                self.high_watermark(node, self.offset(offset), known)
                self.heard.add(node)
            case Appends():
                self._append(node, event)
            case Becomes(new, granted, attempted):
                self._change_to(node, new, granted, attempted=attempted)
            case Attempts(new, granted):
                self._attempt(node, new, granted)
            case Answers(candidate, (epoch, end), pre_vote, granted):
                last = (epoch, self.offset(end))
                self.answer(node, candidate, last=last, pre_vote=pre_vote, granted=granted)
            case Begins():
                self._begins(node, event)
            case Reads():
                self._read(node, event)
            case Truncates(offset, leader):
                text = f"Truncated to offset {self.offset(offset)} from Fetch response from leader {leader}"
                self.say(node, text)
            case Loads():
                self._load(node, event)
            case Says(what):
                self.say(node, *_SAID[what])
            case Dies(reason):
                self.died.append(self.fail(node, reason))

    def _change_to(self, node: int, new: Drawn, granted: frozenset[int], *, attempted: bool) -> None:
        old = self.states.get(node)
        self._changed(node, self._shown(node, new), self._left(old, granted), stored=attempted)
        self.heard.discard(node)
        self.placed.add(node)

    def _attempt(self, node: int, new: Drawn, granted: frozenset[int]) -> None:
        old = self._left(self.states.get(node), granted)
        messages = list(transition_messages(self._shown(node, new), old, self.release, stored=True))
        for message in messages[:-1]:
            self.say(node, message, "QuorumState")

    def _left(self, old: Drawn | None, granted: frozenset[int]) -> Drawn | None:
        return old if old is None or not granted else replace(old, granted=granted)

    def _shown(self, node: int, new: Drawn) -> Drawn:
        """A state of the walk with the high watermark that ``node`` has logged."""
        old = self.states.get(node)
        high = None if old is None or new.role in ("Leader", "Resigned") else old.high
        return replace(new, high=high, start=self.offset(new.start))

    def _begins(self, node: int, event: Begins) -> None:
        self.states.pop(node, None)
        if self.since("3.5"):
            self.say(node, _SNAPSHOT)
        if not self.since("3.9"):
            return
        if event.loads is not None:
            self._loading(node, event.loads)
        for one in event.read:
            self._read(node, one)
        text = _voter_set(event.voters, directories=self.dynamic)
        self.say(node, f"Starting voters are {text}")

    def _loading(self, node: int, end: int) -> None:
        shown = self.offset(end)
        text = (
            f"Loading snapshot (OffsetAndEpoch[offset={shown}, epoch=0]) since log start offset ({shown}) is"
        )
        self.say(node, f"{text} greater than the internal listener's next offset (-1)", _RECORDS)

    def _load(self, node: int, event: Loads) -> None:
        end = self.offset(event.offset)
        text = f"Fully truncated the log at ({offset_text(end)}, {event.epoch}) after downloading snapshot"
        self.say(node, f"{text} OffsetAndEpoch[offset={end}, epoch={event.epoch}] from leader {event.leader}")
        if self.since("3.9"):
            self._loading(node, event.offset)

    def _read(self, node: int, event: Reads) -> None:
        offset = event.offset if event.offset < 0 else self.offset(event.offset)
        if not self.since("3.9"):
            return
        if event.voters is None:
            self.read_version(node, offset, event.version)
        else:
            self.read_voters(node, offset, event.voters)

    def _append(self, node: int, event: Appends) -> None:
        if not self.trace:
            return
        at = f"OffsetAndEpoch[offset={self.offset(event.end)}, epoch={event.epoch}]"
        text = f"Follower end offset updated to {at} after append"
        if event.base is not None:
            base = self.offset(event.base)
            text = f"Leader appended records at base offset {base}, new end offset is {at}"
        self.say(node, text, level="TRACE")

    # --- planting -----------------------------------------------------------------------------------------

    def settled(self) -> bool:
        """Whether all nodes lead or follow in one epoch, hold the same log, know it to be committed, and have
        logged so in their newest files.
        """
        replicas = [self.simulation.running(node) for node in self.nodes]
        known = {
            (one.epoch, one.log.end_offset, one.high_watermark, one.voters.ids)
            for one in replicas
            if one is not None
        }
        states = self.states.values()
        return (
            None not in replicas
            and len(known) == 1
            and len({state.high for state in states} | {self.end}) == 1
            and all(end == high for _, end, high, _ in known)
            and sorted({state.role for state in states}) == ["Follower", "Leader"]
            and self.heard >= set(self.nodes)
        )

    def rotate(self, lines: int) -> None:
        """Begin new files where the newest has so many lines."""
        for node, log in self.logs.items():
            if log.line >= lines:
                log.rotate()
                self.heard.discard(node)
                self.placed.discard(node)

    def look(self) -> None:
        """Take over the voters of a settled cluster."""
        replica = self.simulation.running(self.nodes[0])
        assert replica is not None
        self.voters = tuple(sorted(replica.voters.ids))

    @contextmanager
    def planting(self, node: int) -> Iterator[None]:
        """Within it, lines may be written that no walk would; the cluster must be settled.

        Afterwards the walk goes on from there: whoever wrote such a line starts anew, all know of an epoch
        beyond those of the lines, and offsets that the lines say are committed are skipped.
        """
        simulation = self.simulation
        replica = simulation.running(node)
        assert replica is not None
        self.set_offset = self._last_set(node)
        self._touched.clear()
        end = self.end
        yield
        touched, epoch = list(self._touched), self.epoch + 1
        if self.end > end:
            shown = self._skips[-1][1] if self._skips else 0
            self._skips.append((replica.log.end_offset, shown + self.end - end))
            # Who says where its log ends would contradict itself.
            touched = [*touched, *(one for one in self.nodes if self.trace and one not in touched)]
        for one in touched:
            simulation.kill(one, power_loss=False)
            simulation.put_epoch(one, epoch)
        for one in self.nodes:
            if one not in touched:
                simulation.learn_epoch(one, epoch, touched[0])
        for one in touched:
            simulation.start(one)

    def _last_set(self, node: int) -> int:
        read = [one.offset for one in self._beginning(node).read if one.voters is not None]
        return self.offset(read[-1]) if read and read[-1] >= 0 else -1

    def _beginning(self, node: int) -> Begins:
        """How a process would begin on what is on the disk of ``node`` now."""
        replica = self.simulation.running(node)
        assert replica is not None
        return loggable.beginning(replica, self.simulation.nodes[node].disk)

    # --- lines --------------------------------------------------------------------------------------------

    def say(self, node: int, message: str, logger: str = "KafkaRaftClient", level: str = "INFO") -> Place:
        """One raft line of ``node``."""
        self._touched[node] = None
        return self.logs[node].say(self.now, record("{}", node, message, self.release, logger, level))

    def fail(self, node: int, reason: str) -> Place:
        """``node`` writes, two lines without log context, that an error ends it."""
        self._touched[node] = None
        return self.logs[node].say(self.now, f"[{{}}] ERROR {_FATAL}{reason}\n", 2)

    def pass_time(self) -> None:
        """Other loggers write up to now."""
        for log in self.logs.values():
            log.pass_time(self.now)

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
        self,
        node: int,
        new: Drawn,
        old: Drawn | None,
        *,
        attempted: bool = True,
        stored: bool | None = None,
    ) -> tuple[Place, Place]:
        messages = list(transition_messages(new, old, self.release, stored))
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
        self._begins(node, self._beginning(node))
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

    def high_watermark(self, node: int, high: int, ends: Mapping[int, int | None] | None = None) -> Place:
        """``node`` learns of a high watermark; ``ends``: the ends that a leader sees, if not all at ``high``."""
        state = self.states[node]
        self.states[node] = state.with_high(high)
        self.end = max(self.end, high)
        first = state.high is None
        if state.role == "Follower":
            if first:
                text = f"High watermark set to Optional[{offset_text(high)}] for the first time"
                self.say(node, f"{text} for epoch {state.epoch}", "FollowerState")
            return self.say(node, f"Follower high watermark updated to {high}", level="DEBUG")
        seen = ends or dict.fromkeys(state.voters, high)
        voters = ", ".join(replica_state(one, end, self.at) for one, end in seen.items())
        how = (
            f"for the first time for epoch {state.epoch}" if first else f"from {offset_text(state.high or 0)}"
        )
        text = f"High watermark set to {offset_text(high)} {how} based on indexOfHw 1 and voters [{voters}]"
        return self.say(node, text, "LeaderState", "INFO" if first else "DEBUG")

    def read_voters(self, node: int, offset: int, voters: Iterable[int]) -> Place:
        """``node`` reads a voter set from its log."""
        return self.say(node, f"Latest set of voters is {_voter_set(voters)} at offset {offset}", _RECORDS)

    def read_version(self, node: int, offset: int, version: int) -> Place:
        """``node`` reads kraft.version from its log."""
        text = f"Latest kraft.version is KRAFT_VERSION_{version} at offset {offset}"
        return self.say(node, text, _RECORDS)

    def answer(
        self,
        node: int,
        candidate: int,
        *,
        pre_vote: bool = False,
        last: tuple[int, int] | None = None,
        granted: bool = True,
    ) -> Place:
        """``node`` decides on a vote in its epoch; ``last``: epoch and end of the candidate's log."""
        epoch = self.states[node].epoch
        last = (epoch - 1, self.end) if last is None else last
        asked = f"lastOffsetEpoch={last[0]}, lastOffset={last[1]}"
        shown = f", preVote={str(pre_vote).lower()}" if self.since("4.0") else ""
        who = "replica" if self.since("4.0") else "candidate"
        keys = f", {who}DirectoryId={directory(candidate)}, voterDirectoryId={directory(node)}"
        text = (
            f"Vote request VoteRequestData(clusterId='{self.name}', voterId={node}, topics=[TopicData("
            "topicName='__cluster_metadata', partitions=[PartitionData(partitionIndex=0, "
            f"{who}Epoch={epoch}, {who}Id={candidate}{keys if self.since('3.9') else ''}, {asked}{shown}"
            f")])]) with epoch {epoch} is {'granted' if granted else 'rejected'}"
        )
        return self.say(node, text)

    def finish(self) -> None:
        """Close the files."""
        for log in self.logs.values():
            log.finish()


def _voter_set(voters: Iterable[int], *, directories: bool = True) -> str:
    endpoints = "Endpoints(endpoints={{ListenerName(CONTROLLER)=node-{}/<unresolved>:9093}})"
    keys = ", ".join(
        f"{one}=VoterNode(voterKey=ReplicaKey(id={one}, "
        f"directoryId={directory(one) if directories else '<undefined>'}), "
        f"listeners={endpoints.format(one)}, "
        "supportedKRaftVersion=SupportedVersionRange[min_version:0, max_version:1])"
        for one in voters
    )
    return f"VoterSet(voters={{{keys}}})"
