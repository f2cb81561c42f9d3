"""The data sets of a fleet's logs, with the fields of ``kraftcheck logs --json`` (docs/pipeline/logs.md)."""

from __future__ import annotations

from typing import Final

from kraftcheck.pipeline.datasets import Dataset

_LINE: Final = "file string, line bigint, time string"
_VOTES: Final = "array<struct<voter:int,candidate:int>>"

#: By the kind of their rows, which is the name of their folder.
DATASETS: Final = {
    "history": Dataset(
        "log-history",
        2,
        f"cluster string, node int, process int, what string, {_LINE}, state string, role string, "
        "epoch bigint, leader int, voted int, offset bigint, highWatermark bigint, voters array<string>, "
        "votersOffset bigint, kraftVersion int, candidate int",
    ),
    "epochs": Dataset(
        "log-epochs",
        3,
        f"cluster string, epoch bigint, leader int, knownBy array<int>, votes {_VOTES}, grants {_VOTES}, "
        "start bigint, highWatermark bigint",
    ),
    "problems": Dataset(
        "log-problems",
        1,
        f"cluster string, check string, node int, {_LINE}, expected string, found string, earlier string, "
        "cites array<string>, timeGoesBack string",
    ),
    "files": Dataset(
        "log-files",
        3,
        "cluster string, file string, bytes bigint, lines bigint, records bigint, overlong bigint, "
        "relevant bigint, nulBytes bigint, notUtf8 bigint, nodes array<int>, damaged string",
    ),
    "nodes": Dataset(
        "log-nodes",
        3,
        "cluster string, node int, releases array<string>, tables array<string>, relevant bigint, "
        "processes bigint, transitions bigint, elections bigint, leaderships bigint, firstEpoch bigint, "
        "lastEpoch bigint, firstTime string, lastTime string, lastState string, voters array<string>",
    ),
    "clusters": Dataset(
        "log-clusters",
        2,
        "cluster string, problemCounts map<string,bigint>, problemsInDoubt map<string,bigint>, "
        "notes map<string,bigint>, firstNotes map<string,string>, copies array<string>, "
        "missing array<int>, clusterIds array<string>, epochsForgotten bigint",
    ),
}
