"""Disks that Kafka's classes wrote, next to the recorded runs: what is read equals what is known of them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.evidence.disks.disk import StoredDisk, find_disks, read_disk
from kraftcheck.evidence.disks.observations import observations
from kraftcheck.evidence.disks.quorum import Quorum
from tests.recorded.recorded_runs import runs_folder

DISKS = runs_folder().parent / "kafka-disks"
SITUATIONS = sorted(each.parent for each in DISKS.glob("*/truth.json"))
#: What is observed of each situation: nodes, and ``!`` for a problem.
OBSERVED = {
    "01": set(),
    "02": {"lagging 3"},
    "03": {"diverged-tail 1"},
    "04": {"lagging 3", "older-voter-set 3"},
    "05": {"uncommitted-voter-set 1", "lagging 2", "lagging 3", "lagging 4"},
    "06": {"!other-directory 3", "lagging 3"},
    "08": {"!own-vote-other-leader 3"},
    "09": {"lagging 4", "older-voter-set 4", "removed-unaware 4"},
    "10": set(),
    "12": {"lagging 3"},
    "13": {"!damage 2", "lagging 2"},
    "14": {"!damage 3", "lagging 3"},
    "16": {"!no-quorum-state 2"},
    "19": {"lagging 3", "older-kraft-version 3"},
    "20": set(),
}

pytestmark = pytest.mark.skipif(not SITUATIONS, reason=f"there are no disks in {DISKS}")


@cache
def quorum(situation: Path) -> Quorum:
    return Quorum(tuple(read_disk(each, decode=True) for each in find_disks([situation])))


def truth(situation: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((situation / "truth.json").read_text())
    return found


def batches(disk: StoredDisk) -> list[Any]:
    return [[each.base, each.last, each.epoch, each.size, list(each.kinds)] for each in disk.batches]


def batches_of(known: dict[str, Any]) -> list[Any]:
    return [[each[key] for key in ("base", "last", "epoch", "bytes", "kinds")] for each in known["batches"]]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_each_disk_is_read_as_it_is(situation: Path) -> None:
    nodes = truth(situation)["nodes"]
    assert {disk.name for disk in quorum(situation).disks} == set(nodes)
    for disk in quorum(situation).disks:
        known = nodes[disk.name]
        left = known | known.get("readable", {})
        assert (disk.start, disk.end) == (known["logStartOffset"], left["logEndOffset"])
        assert (disk.last_epoch, disk.kraft_version) == (left["lastEpoch"], known["kraftVersion"])
        assert (disk.voter_sets[-1].offset if disk.voter_sets else None) == known["votersOffset"]
        named = [each if isinstance(each, dict) else {"id": each} for each in known["voters"] or ()]
        assert [(each.id, each.directory) for each in disk.voters] == [
            (each["id"], each.get("directoryId")) for each in named
        ]
        count = len(disk.batches)
        assert batches(disk) == batches_of(known)[:count]
        assert count == len(known["batches"]) or known["damage"]
        assert [each.base for each in disk.behind] == left.get("validBatchesAfter", [])
        assert list(disk.segments) == known["segments"] and list(disk.ignored) == known["ignoredFiles"]
        assert [(each.end, each.epoch, each.bytes) for each in disk.snapshots] == [
            (each["endOffset"], each["epoch"], each["bytes"]) for each in known["snapshots"]
        ]
        assert disk.meta is not None and disk.meta.directory == known["metaProperties"]["directoryId"]


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_each_election_state_is_read_as_it_is(situation: Path) -> None:
    for disk in quorum(situation).disks:
        known = truth(situation)["nodes"][disk.name]
        state = known["quorumState"]
        if any(each["file"] == "quorum-state" for each in known["damage"]):
            assert disk.state is None
            continue
        assert disk.state is not None
        assert (disk.state.epoch, -1 if disk.state.leader is None else disk.state.leader) == (
            state["epoch"],
            state["leader"],
        )
        vote = (-1, None) if disk.state.vote is None else (disk.state.vote.id, disk.state.vote.directory)
        assert vote == (state["votedId"], state["votedDirectoryId"])


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda each: each.name)
def test_what_is_said_of_the_quorum_is_true(situation: Path) -> None:
    found = quorum(situation)
    assert found.committed.below == truth(situation)["cluster"]["committedBelowOffset"]
    said = {"!" * one.is_problem + f"{one.kind} {','.join(one.nodes)}" for one in observations(found)}
    assert said == OBSERVED[situation.name[:2]]
    for disk in found.disks:
        known = [one for one in truth(situation)["nodes"][disk.name]["damage"] if one["kind"] != "delete"]
        assert [one.file for one in disk.damage] == [one["file"] for one in known]
