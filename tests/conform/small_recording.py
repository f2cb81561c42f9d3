"""A recording small enough to read: what voter 1 of three does while voter 2 becomes its leader.

Written by hand after the recorder's format; nothing of it is computed by the reference.
"""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]

CLUSTER = "kraftcheck-test-cluster"
ZERO = "AAAAAAAAAAAAAAAAAAAAAA"
DIRECTORIES = {1: "dir-of-1", 2: "dir-of-2", 3: "dir-of-3"}
VOTERS = [[node, directory] for node, directory in DIRECTORIES.items()]
TIMEOUTS = {
    "controller.quorum.election.timeout.ms": 1000,
    "controller.quorum.fetch.timeout.ms": 2000,
    "controller.quorum.election.backoff.max.ms": 1000,
    "controller.quorum.append.linger.ms": 25,
    "controller.quorum.request.timeout.ms": 2000,
    "controller.quorum.retry.backoff.ms": 20,
    "fetchMaxWaitMs": 500,
}
OPENING = {
    "base": 0,
    "last": 0,
    "epoch": 1,
    "control": True,
    "records": [
        {
            "type": "LEADER_CHANGE",
            "value": {
                "version": 0,
                "leaderId": 2,
                "voters": [{"voterId": node} for node in DIRECTORIES],
                "grantingVoters": [{"voterId": 2}, {"voterId": 1}],
            },
        }
    ],
}


def _state(role: str, **changes: Any) -> Json:
    state = {
        "state": role,
        "epoch": 0,
        "leader": -1,
        "leo": 0,
        "lastEpoch": 0,
        "hw": -1,
        "voters": VOTERS,
        "votersOffset": -1,
        "kraftVersion": 1,
        "isVoter": True,
    }
    return {**state, **changes}


def _file(leader: int, epoch: int, voted: int) -> Json:
    directory = DIRECTORIES.get(voted, ZERO)
    return {"leaderId": leader, "leaderEpoch": epoch, "votedId": voted, "votedDirectoryId": directory}


def _topic(**partition: Any) -> list[Json]:
    return [{"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0, **partition}]}]


def _fetch(epoch: int, offset: int, last_epoch: int, high_watermark: int) -> Json:
    partition = {
        "partition": 0,
        "currentLeaderEpoch": epoch,
        "fetchOffset": offset,
        "lastFetchedEpoch": last_epoch,
        "logStartOffset": -1,
        "partitionMaxBytes": 0,
        "replicaDirectoryId": DIRECTORIES[1],
        "highWatermark": high_watermark,
    }
    return {
        "clusterId": CLUSTER,
        "replicaState": {"replicaId": 1, "replicaEpoch": -1},
        "maxWaitMs": 500,
        "minBytes": 0,
        "maxBytes": 1048576,
        "isolationLevel": 0,
        "sessionId": 0,
        "sessionEpoch": -1,
        "topics": [{"topicId": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": [partition]}],
        "forgottenTopicsData": [],
        "rackId": "",
    }


def _message(mid: int, kind: str, api: str, source: int, corr: int, data: Json) -> Json:
    envelope = {"mid": mid, "kind": kind, "api": api, "from": source, "corr": corr, "ver": 1}
    return {**envelope, "data": data}


def _sent(mid: int, to: int, kind: str, api: str, answers: int | None = None) -> list[Json]:
    sent = {"mid": mid, "to": to, "kind": kind, "api": api}
    return [sent if answers is None else {**sent, "re": answers}]


VOTE = {
    "clusterId": CLUSTER,
    "voterId": 1,
    "topics": _topic(
        replicaEpoch=1,
        replicaId=2,
        replicaDirectoryId=DIRECTORIES[2],
        voterDirectoryId=DIRECTORIES[1],
        lastOffsetEpoch=0,
        lastOffset=0,
        preVote=False,
    ),
}
BEGIN = {
    "clusterId": CLUSTER,
    "voterId": 1,
    "topics": _topic(voterDirectoryId=DIRECTORIES[1], leaderId=2, leaderEpoch=1),
    "leaderEndpoints": [{"name": "CONTROLLER", "host": "node-2", "port": 9093}],
}
RECORDS = {
    "throttleTimeMs": 0,
    "errorCode": 0,
    "sessionId": 0,
    "responses": [
        {
            "topicId": "AAAAAAAAAAAAAAAAAAAAAQ",
            "partitions": [
                {
                    "partitionIndex": 0,
                    "errorCode": 0,
                    "highWatermark": 1,
                    "lastStableOffset": -1,
                    "logStartOffset": 0,
                    "currentLeader": {"leaderId": 2, "leaderEpoch": 1},
                    "abortedTransactions": [],
                    "preferredReadReplica": -1,
                    "recordsSizeInBytes": 100,
                    "batches": [OPENING],
                }
            ],
        }
    ],
    "nodeEndpoints": [{"nodeId": 2, "host": "node-2", "port": 9093, "rack": None}],
}
REFUSED = {"throttleTimeMs": 0, "errorCode": 8, "sessionId": 0, "responses": []}
GRANTED = {
    "errorCode": 0,
    "topics": _topic(errorCode=0, leaderId=-1, leaderEpoch=1, voteGranted=True),
}
BEGUN = {
    "errorCode": 0,
    "topics": _topic(errorCode=0, leaderId=2, leaderEpoch=1),
    "nodeEndpoints": [{"nodeId": 2, "host": "node-2", "port": 9093}],
}


def small_recording() -> list[Json]:
    """The lines of the trace; a fresh copy each time."""
    waiting = _state("Unattached", deadlines={"election": 1500})
    voted = _state("Unattached", epoch=1, voted=[2, DIRECTORIES[2]], deadlines={"election": 1700})
    follows = _state("Follower", epoch=1, leader=2, voted=[2, DIRECTORIES[2]], deadlines={"fetch": 2150})
    fetched = {**follows, "leo": 1, "lastEpoch": 1, "hw": 1, "deadlines": {"fetch": 2180}}
    start = {
        "inc": 1,
        "dirId": DIRECTORIES[1],
        "canBecomeVoter": True,
        "persisted": None,
        "logBatches": [],
        "persist": [_file(-1, 0, -1)],
        "s": waiting,
    }
    nodes = [
        {"id": node, "dirId": directory, "initialVoter": True, "canBecomeVoter": True}
        for node, directory in DIRECTORIES.items()
    ]
    config = {"clusterId": CLUSTER, "initialKraftVersion": 1, "timeouts": TIMEOUTS, "nodes": nodes}
    refused = _message(1, "resp", "Fetch", 2, 0, REFUSED)
    appended = [{"op": "append", "by": "follower", "base": 0, "end": 1, "lastEpoch": 1}]
    lines: list[Json] = [
        {"t": 0, "ev": "config", **config},
        {"t": 100, "n": 1, "ev": "start", **start},
        {"t": 100, "n": 1, "ev": "tick", "out": _sent(0, 2, "req", "Fetch"), "s": waiting},
        {"t": 110, "n": 1, "ev": "recv", **refused, "synthetic": "CONNECTION_REFUSED", "s": waiting},
        {"t": 110, "n": 1, "ev": "tick", "out": _sent(2, 3, "req", "Fetch"), "s": waiting},
        {
            "t": 120,
            "n": 1,
            "ev": "recv",
            **_message(3, "req", "Vote", 2, 7, VOTE),
            "persist": [_file(-1, 1, -1), _file(-1, 1, 2)],
            "out": _sent(4, 2, "resp", "Vote", 3),
            "s": voted,
        },
        {"t": 121, "n": 1, "ev": "tick", "out": _sent(5, 3, "req", "Fetch"), "s": voted},
        {
            "t": 150,
            "n": 1,
            "ev": "recv",
            **_message(6, "req", "BeginQuorumEpoch", 2, 8, BEGIN),
            "persist": [_file(2, 1, 2)],
            "out": _sent(7, 2, "resp", "BeginQuorumEpoch", 6),
            "s": follows,
        },
        {"t": 150, "n": 1, "ev": "tick", "out": _sent(8, 2, "req", "Fetch"), "s": follows},
        {
            "t": 180,
            "n": 1,
            "ev": "recv",
            **_message(9, "resp", "Fetch", 2, 3, RECORDS),
            "log": [*appended, {"op": "flush", "to": 1}],
            "s": fetched,
        },
        {"t": 180, "n": 1, "ev": "tick", "out": _sent(10, 2, "req", "Fetch"), "s": fetched},
        {"t": 200, "n": 1, "ev": "end", "inc": 1, "reason": "killed", "leo": 1, "flushed": 1},
    ]
    contents = [
        _message(0, "req", "Fetch", 1, 0, _fetch(0, 0, 0, -1)),
        _message(2, "req", "Fetch", 1, 1, _fetch(0, 0, 0, -1)),
        _message(4, "resp", "Vote", 1, 7, GRANTED),
        _message(5, "req", "Fetch", 1, 2, _fetch(1, 0, 0, -1)),
        _message(7, "resp", "BeginQuorumEpoch", 1, 8, BEGUN),
        _message(8, "req", "Fetch", 1, 3, _fetch(1, 0, 0, -1)),
        _message(10, "req", "Fetch", 1, 4, _fetch(1, 1, 1, 1)),
    ]
    lines += [{"t": 300, "ev": "inflight", "to": 2, **content} for content in contents]
    lines.append({"t": 300, "ev": "final"})
    return [{"seq": seq, **copy.deepcopy(line)} for seq, line in enumerate(lines)]


def write(folder: Path, lines: list[Json]) -> Path:
    """Write a run with these lines into ``folder``."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    return write_bytes(folder, gzip.compress(text.encode()), len(lines))


def write_bytes(folder: Path, trace: bytes, events: int) -> Path:
    """Write a run whose trace file has exactly these bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trace.jsonl.gz").write_bytes(trace)
    (folder / "run.json").write_text(json.dumps({"run": "small", "events": events}))
    return folder
