"""The lines of the nodes of a made-up cluster, as their release words them."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kraftcheck.evidence.logs.releases import forms
from tests.laboratory.logs.node_log import NodeLog, Place
from tests.laboratory.logs.render import (
    Drawn,
    directory,
    offset_text,
    record,
    replica_state,
    transition_messages,
    voter_node,
)

#: The logger of control records.
RECORDS: Final = "internals.KRaftControlRecordStateMachine"
_BEGIN: Final = int(datetime(2026, 3, 3, tzinfo=UTC).timestamp())
_FATAL: Final = (
    "Encountered fatal fault: Unexpected error in raft IO thread "
    "(org.apache.kafka.server.fault.ProcessTerminatingFaultHandler)\n"
    "java.lang.IllegalStateException: "
)


class ClusterLog(ABC):
    """The logs of the nodes of a cluster, and the state that each has logged last.

    ``skew``: by how many seconds clocks are wrong at most. ``noise``: lines of other loggers that each node
    writes in a second.
    """

    def __init__(
        self,
        seed: int,
        name: str,
        release: str,
        folder: Path,
        *,
        size: int,
        absent: int | None,
        skew: int,
        noise: int,
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
                noise=noise,
            )
            for node in self.nodes
        }
        self.begin = (_BEGIN + draw.randrange(100_000)) * 1000
        """When the cluster is set up, in ms since 1970."""
        self.states: dict[int, Drawn] = {}
        self.epoch, self.end = 0, 0
        """The largest epoch, and the largest high watermark, that a line shows."""
        self.touched: dict[int, None] = {}
        """Nodes that have written a line, since it was emptied last."""

    def since(self, release: str) -> bool:
        """Whether this cluster's release is ``release`` or later."""
        return self.at >= forms().releases.index(release)

    @property
    @abstractmethod
    def now(self) -> int:
        """Global time, in ms since 1970."""

    # --- lines --------------------------------------------------------------------------------------------

    def say(self, node: int, message: str, logger: str = "KafkaRaftClient", level: str = "INFO") -> Place:
        """One raft line of ``node``."""
        self.touched[node] = None
        return self.logs[node].say(self.now, record("{}", node, message, self.release, logger, level))

    def fail(self, node: int, reason: str) -> Place:
        """``node`` writes, two lines without log context, that an error ends it."""
        self.touched[node] = None
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

    def timeout(self) -> int:
        """An election timeout."""
        return self.random.choice((1000, 1234, 1999, 2000))

    def make(self, role: str, node: int, epoch: int, **more: object) -> Drawn:
        """A state of ``node`` that knows the high watermark which the node knows now."""
        values: dict[str, object] = {"high": self.states[node].high, "timeout": self.timeout()} | more
        if role in ("Leader", "Resigned"):
            values["high"] = None
        return Drawn(role, node, epoch, self.voters, **values)  # type: ignore[arg-type]

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
        """``node`` learns of a high watermark; ``ends``: those that a leader sees, if not all at ``high``."""
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
        return self.say(node, f"Latest set of voters is {voter_set(voters)} at offset {offset}", RECORDS)

    def read_version(self, node: int, offset: int, version: int) -> Place:
        """``node`` reads kraft.version from its log."""
        text = f"Latest kraft.version is KRAFT_VERSION_{version} at offset {offset}"
        return self.say(node, text, RECORDS)

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


def voter_set(voters: Iterable[int], *, directories: bool = True) -> str:
    """A printed VoterSet."""
    undefined = "ReplicaKey(id={}, directoryId=<undefined>)"
    at = len(forms().releases)
    nodes = (f"{one}={voter_node(one, at, None if directories else undefined.format(one))}" for one in voters)
    return f"VoterSet(voters={{{', '.join(nodes)}}})"
