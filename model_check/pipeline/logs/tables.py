"""The data sets of a fleet's logs; docs/pipeline/logs.md says what their columns mean."""

from __future__ import annotations

from typing import Final

from kraftcheck.pipeline.datasets import Dataset

_LINE: Final = "file string, line bigint, time string"

#: By the kind of their rows, which is the name of their folder.
DATASETS: Final = {
    "transitions": Dataset(
        "log-transitions",
        1,
        "cluster string, node int, process int, what string, role string, epoch bigint, leader int, "
        f"voted int, offset bigint, high_watermark bigint, {_LINE}",
    ),
    "votes": Dataset(
        "log-votes",
        1,
        f"cluster string, epoch bigint, voter int, candidate int, kind string, node int, {_LINE}",
    ),
    "leaders": Dataset("log-leaders", 1, f"cluster string, epoch bigint, leader int, node int, {_LINE}"),
    "epochs": Dataset(
        "log-epochs",
        1,
        "cluster string, epoch bigint, leaders array<int>, known_by int, votes int, grants int, "
        "start bigint, high_watermark bigint, committed_before bigint",
    ),
    "high_watermarks": Dataset(
        "log-high-watermarks",
        1,
        "cluster string, node int, process int, epoch bigint, role string, high_watermark bigint, " + _LINE,
    ),
    "voter_sets": Dataset(
        "log-voter-sets",
        1,
        f"cluster string, node int, offset bigint, voters array<string>, committed boolean, {_LINE}",
    ),
    "findings": Dataset(
        "log-findings",
        1,
        f"cluster string, node int, {_LINE}, severity string, check string, rules array<string>, "
        "expected string, found string, earlier_file string, earlier_line bigint, count bigint",
    ),
    "files": Dataset(
        "log-files",
        2,
        "cluster string, number int, file string, copy boolean, damaged string, bytes bigint, lines bigint, "
        "records bigint, relevant bigint, overlong bigint, nul bigint, invalid bigint, nodes array<int>",
    ),
    "nodes": Dataset(
        "log-nodes",
        2,
        "cluster string, node int, releases array<string>, relevant bigint, processes bigint, "
        "transitions bigint, elections bigint, leaderships bigint, first_epoch bigint, last_epoch bigint, "
        "first_time string, last_time string, names array<int>, cluster_id string",
    ),
}
