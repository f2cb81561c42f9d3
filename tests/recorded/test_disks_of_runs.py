"""The disks of recorded runs at random moments: what is read of them, and what is called committed."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from kraftcheck.evidence.disks.quorum import Quorum
from kraftcheck.evidence.recordings.lockstep import Comparison
from kraftcheck.evidence.recordings.nodes import NodeRun
from kraftcheck.evidence.recordings.recording import StepEvent, read
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.voters import VoterSet
from tests.evidence.disks.test_committed import formatted, prefix, stored
from tests.recorded.recorded_runs import recorded_runs

CUTS = 200
#: The runs that are looked at by day: crashes within polls, and snapshots with voter changes.
BY_DAY = ("run-16", "run-31")
RUNS = [
    pytest.param(run, id=run.name, marks=() if run.name.startswith(BY_DAY) else pytest.mark.nightly)
    for run in recorded_runs()
]


def origin(node: NodeRun) -> tuple[VoterSet, int]:
    """The voters and the version before any record of a log."""
    return node.host.replica.bootstrap_voters, node.host.replica.bootstrap_kraft_version


@pytest.mark.skipif(not RUNS, reason="there are no recorded runs")
@pytest.mark.parametrize("run", RUNS or [Path()])
def test_what_is_read_and_called_committed(run: Path) -> None:
    recording = read(run)
    comparison = Comparison(recording, KAFKA, None)
    steps = [each for each in recording.events if isinstance(each, StepEvent)]
    cuts = {each.seq for each in Random(run.name).sample(steps, CUTS)}
    shown: dict[int, Any] = {}
    known: dict[int, tuple[int, int]] = {}
    claims = 0
    for event in recording.events:
        if not isinstance(event, StepEvent):
            comparison.world(event)
            continue
        comparison.step(event)
        state = event.shown.get("s")
        if state:
            shown[event.node] = state
        else:
            shown.pop(event.node, None)
        if event.seq not in cuts:
            continue
        disks = {
            node: stored(one.host.replica.key, one.stored.disk, *formatted(*origin(one)))
            for node, one in comparison.nodes.items()
            if one.stored.is_known
        }
        for node, disk in disks.items():
            if node in shown:
                assert (disk.end, disk.last_epoch) == (shown[node]["leo"], shown[node]["lastEpoch"])
        for base, epoch, crc in prefix(Quorum(tuple(disks.values()))):
            assert known.setdefault(base, (epoch, crc)) == (epoch, crc)
            claims += 1
    assert claims > CUTS
