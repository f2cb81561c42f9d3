"""Writes recordings of small clusters, step by step; a test corrupts a step and checks what the judge finds.

Nothing here is computed by the reference: each helper writes down what production does in a quiet moment.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

from kraftcheck.evidence.recorder.simulation import TIMEOUTS
from kraftcheck.evidence.recordings.recording import Recording, read
from kraftcheck.evidence.recordings.wire import api_of, write_message
from kraftcheck.evidence.recordings.wire_codec import uuid
from kraftcheck.evidence.recordings.wire_records import write_batch
from kraftcheck.reference import messages as m
from kraftcheck.reference.log import Batch, LeaderChange, Record, Value, Voters
from kraftcheck.reference.voters import ReplicaKey, Voter, VoterSet
from tests.evidence.recordings.small_recording import write

Json = dict[str, Any]


def directory(node: int, disk: int = 0) -> str:
    return f"directory-{node}-{disk}"


def one(base: int, epoch: int, record: Record) -> Json:
    """A batch of one record."""
    return write_batch(Batch(base, epoch, (record,)))


def value(base: int, epoch: int, number: int) -> Json:
    return one(base, epoch, Value(number))


def opening(base: int, epoch: int, leader: int) -> Json:
    return one(base, epoch, LeaderChange(leader, (), ()))


def voters_record(base: int, epoch: int, voters: list[list[Any]]) -> Json:
    return one(base, epoch, Voters(VoterSet(tuple(Voter(ReplicaKey(*key), ()) for key in voters))))


class Cluster:
    """The recording so far. ``states``, ``logs``, ``files``: of each node, as recordings show them."""

    def __init__(self, voters: tuple[int, ...] = (1, 2, 3), observers: tuple[int, ...] = ()) -> None:
        self.voters = [[node, directory(node)] for node in voters]
        self.nodes = (*voters, *observers)
        self.lines: list[Json] = []
        self.states: dict[int, Json] = {}
        self.logs: dict[int, list[Json]] = {node: [] for node in self.nodes}
        self.files: dict[int, Json | None] = dict.fromkeys(self.nodes)
        self.directories = {node: directory(node) for node in self.nodes}
        self.contents: list[Json] = []
        self.open: set[int] = set()
        self.time = 0
        nodes = [
            {"id": node, "dirId": directory(node), "initialVoter": node in voters, "canBecomeVoter": True}
            for node in self.nodes
        ]
        self.line(ev="config", clusterId="test", initialKraftVersion=1, timeouts=TIMEOUTS, nodes=nodes)
        for node in self.nodes:
            self.start(node)

    # Lines.

    def line(self, **fields: Any) -> Json:
        self.time += 10
        self.lines.append({"seq": len(self.lines), "t": self.time, **fields})
        return self.lines[-1]

    def start(self, node: int, role: str = "Unattached", **changes: Any) -> Json:
        batches = [
            [batch["base"], batch["last"], batch["epoch"], batch["control"], []] for batch in self.logs[node]
        ]
        found = self.files[node]
        file = found or self.file(0)
        self.files[node] = file
        self.states[node] = {
            "state": role,
            "epoch": file["leaderEpoch"],
            "leader": -1,
            "hw": -1,
            "voters": self.voters,
            "votersOffset": -1,
            "deadlines": {},
            "kraftVersion": 1,
            "isVoter": [node, self.directories[node]] in self.voters,
            **self._end(node),
            **changes,
        }
        fields = {"inc": 1, "dirId": self.directories[node], "canBecomeVoter": True, "persisted": found}
        fields |= {"autoJoin": False, "lostUnflushed": 0}
        state = copy.deepcopy(self.states[node])
        return self.line(n=node, ev="start", **fields, logBatches=batches, persist=[file], s=state)

    def step(self, node: int, ev: str = "tick", **fields: Any) -> Json:
        """A step; ``changes`` are those of the state, ``file`` is a write, ``out`` are message ids."""
        out = [self.sending(sent) for sent in fields.pop("out", [])]
        file = fields.pop("file", None)
        if file is not None:
            self.files[node] = file
            fields["persist"] = [file]
        self.states[node] = {**self.states[node], **self._end(node), **fields.pop("changes", {})}
        self.states[node] = {key: held for key, held in self.states[node].items() if held is not None}
        extra = {"out": out} if out else {}
        return self.line(n=node, ev=ev, **extra, **fields, s=copy.deepcopy(self.states[node]))

    def receive(self, node: int, message: int, **fields: Any) -> Json:
        self.open.discard(message)
        return self.step(node, "recv", **self.contents[message]["content"], **fields)

    def end(self, node: int, reason: str = "killed", **fields: Any) -> Json:
        del self.states[node]
        log = self._end(node)["leo"]
        return self.line(n=node, ev="end", inc=1, reason=reason, leo=log, flushed=log, **fields)

    def _end(self, node: int) -> Json:
        log = self.logs[node]
        return {"leo": log[-1]["last"] + 1 if log else 0, "lastEpoch": log[-1]["epoch"] if log else 0}

    def append(self, node: int, batch: Json) -> list[Json]:
        """A leader appends and flushes."""
        self.logs[node].append(batch)
        written = {"op": "append", "by": "leader", "batches": [batch]}
        return [written, {"op": "flush", "to": batch["last"] + 1}]

    # Messages.

    def sending(self, message: int) -> Json:
        """``message`` among the effects of a step."""
        self.open.add(message)
        sent: Json = self.contents[message]["sent"]
        return sent

    def message(
        self, source: int, to: int, content: m.Message, answers: int | None = None, **changes: Any
    ) -> int:
        """A message of which the partition is changed; its id."""
        mid, data = len(self.contents), write_message(content)
        for topic in data.get("topics") or data.get("responses") or ():
            topic["partitions"][0] |= changes
        kind = "req" if answers is None else "resp"
        envelope = {"mid": mid, "kind": kind, "api": api_of(content)}
        shown = {**envelope, "from": source, "corr": 0, "ver": 1, "data": data}
        re = {} if answers is None else {"re": answers}
        self.contents.append({"sent": {**envelope, "to": to, **re}, "content": shown})
        return mid

    def vote(self, source: int, to: int, *, pre: bool = False, **changes: Any) -> int:
        state = self.states[source]
        own, voter = (ReplicaKey(*self.key(node)) for node in (source, to))
        request = m.VoteRequest(state["epoch"], own, voter, state["lastEpoch"], state["leo"], pre)
        return self.message(source, to, request, **changes)

    def vote_answer(self, source: int, to: int, request: int) -> int:
        return self.message(source, to, m.VoteResponse(0, granted=True), request)

    def fetch(self, source: int, to: int, offset: int | None = None) -> int:
        end = self.states[source]["leo"] if offset is None else offset
        request = m.FetchRequest(0, ReplicaKey(*self.key(source)), end, 0, None, 500)
        return self.message(source, to, request)

    def fetch_answer(
        self, source: int, to: int, request: int, batches: list[Json], high_watermark: int | None = None
    ) -> int:
        answer = m.FetchResponse(0, high_watermark=high_watermark)
        return self.message(source, to, answer, request, batches=batches)

    # What a quiet cluster does.

    def file(self, epoch: int, leader: int = -1, voted: int = -1) -> Json:
        place = uuid(self.directories[voted] if voted >= 0 else None)
        return {"leaderId": leader, "leaderEpoch": epoch, "votedId": voted, "votedDirectoryId": place}

    def key(self, node: int) -> list[Any]:
        return [node, self.directories[node]]

    def ask(self, node: int, voter: int) -> dict[str, Json]:
        """``node`` becomes Candidate of the next epoch with a pre-vote and a vote of ``voter``."""
        epoch = self.states[node]["epoch"]
        pre = self.vote(node, voter, pre=True)
        asks = self.step(node, out=[pre], changes={"state": "Prospective", "leader": -1})
        said = self.vote_answer(voter, node, pre)
        pre_granted = self.receive(voter, pre, out=[said])
        wins = self.receive(
            node,
            said,
            file=self.file(epoch + 1, voted=node),
            changes={"state": "Candidate", "epoch": epoch + 1, "voted": self.key(node)},
        )
        real = self.vote(node, voter)
        runs = self.step(node, out=[real])
        answer = self.vote_answer(voter, node, real)
        granted = self.receive(
            voter,
            real,
            file=self.file(epoch + 1, voted=node),
            out=[answer],
            changes={
                "state": "Unattached",
                "epoch": epoch + 1,
                "leader": -1,
                "voted": self.key(node),
                "progress": None,
            },
        )
        steps = {"asks": asks, "pre-granted": pre_granted, "wins": wins, "runs": runs, "granted": granted}
        return {**steps, "answer": {"mid": answer}}

    def elect(self, node: int, voter: int) -> dict[str, Json]:
        """``node`` becomes Leader of the next epoch with the vote of ``voter``, and opens the epoch."""
        steps = self.ask(node, voter)
        epoch = self.states[node]["epoch"]
        leads = self.receive(
            node,
            steps["answer"]["mid"],
            file=self.file(epoch, leader=node),
            changes={
                "state": "Leader",
                "leader": node,
                "voted": None,
                "hw": -1,
                "epochStart": self.states[node]["leo"],
                "progress": {str(key[0]): [0, -1, -1] for key in self.voters if key[0] != node},
                "deadlines": {"checkQuorum": 3000},
            },
        )
        opens = self.step(node, log=self.append(node, opening(self.states[node]["leo"], epoch, node)))
        return {**steps, "leads": leads, "opens": opens}

    def follow(self, node: int, leader: int) -> Json:
        """``node`` learns of its leader."""
        epoch = self.states[leader]["epoch"]
        old = self.files[node] or {}
        voted = old["votedId"] if old.get("leaderEpoch") == epoch else -1
        begin = self.message(leader, node, m.BeginQuorumEpochRequest(epoch, leader, None, ()))
        self.step(leader, out=[begin])
        return self.receive(
            node,
            begin,
            file=self.file(epoch, leader, voted),
            changes={"state": "Follower", "epoch": epoch, "leader": leader},
        )

    def replicate(self, node: int, leader: int, high_watermark: int | None = None) -> dict[str, Json]:
        """``node`` fetches once from its leader, which thereby may raise its high watermark."""
        request = self.fetch(node, leader)
        asks = self.step(node, out=[request])
        offset = self.states[node]["leo"]
        batches = [batch for batch in self.logs[leader] if batch["base"] >= offset]
        answer = self.fetch_answer(leader, node, request, batches)
        changes: Json = {}
        if str(node) in self.states[leader].get("progress", {}):
            progress = {**self.states[leader]["progress"], str(node): [offset, self.time, self.time]}
            changes["progress"] = progress
        if high_watermark is not None:
            changes["hw"] = high_watermark
        serves = self.receive(leader, request, out=[answer], changes=changes)
        self.logs[node] += batches
        end = self._end(node)["leo"]
        log = [{"op": "append", "by": "follower", "base": offset, "end": end}, {"op": "flush", "to": end}]
        known = min(end, self.states[leader]["hw"])
        takes = self.receive(node, answer, changes={"hw": known}, **({"log": log} if batches else {}))
        return {"asks": asks, "serves": serves, "takes": takes}

    def applies(self, step: Json, batch: Json) -> None:
        """The state machine is given ``batch`` in ``step``."""
        commit = {"cb": "commit", "base": batch["base"], "last": batch["last"], "epoch": batch["epoch"]}
        if not batch["control"]:
            commit["values"] = list(batch["records"])
        step.setdefault("cb", []).append(commit)

    # The recording.

    def recording(self, folder: Path) -> Recording:
        """What has been written, read as a recording."""
        lines = list(self.lines)
        for mid in sorted(self.open):
            content = self.contents[mid]["content"]
            to = self.contents[mid]["sent"]["to"]
            lines.append({"t": self.time, "ev": "inflight", "to": to, **content})
        lines.append({"t": self.time, "ev": "final", "leaders": {}, "counts": {}, "committedDataRecords": 0})
        lines = [{**line, "seq": seq} for seq, line in enumerate(lines)]
        return read(write(folder, lines))


def leader_with_a_value(observers: tuple[int, ...] = ()) -> tuple[Cluster, dict[str, Json]]:
    """Voter 1 leads epoch 1, voter 2 follows; the opening record and a value are committed on both."""
    cluster = Cluster(observers=observers)
    steps = cluster.elect(1, 2)
    steps["follows"] = cluster.follow(2, 1)
    cluster.replicate(2, 1)
    first = cluster.replicate(2, 1, high_watermark=1)
    cluster.applies(first["serves"], cluster.logs[1][0])
    cluster.applies(first["takes"], cluster.logs[1][0])
    steps["appends"] = cluster.step(1, log=cluster.append(1, value(1, 1, 7)))
    steps |= {f"first {name}": step for name, step in cluster.replicate(2, 1).items()}
    second = cluster.replicate(2, 1, high_watermark=2)
    cluster.applies(second["serves"], cluster.logs[1][1])
    cluster.applies(second["takes"], cluster.logs[1][1])
    return cluster, {**steps, **{f"second {name}": step for name, step in second.items()}}
