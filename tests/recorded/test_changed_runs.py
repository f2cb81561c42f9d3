"""A recorded run of production with one change: the comparison reports it at its line.

Or with a step left out, doubled or exchanged with another: the comparison notices.
"""

from __future__ import annotations

import gzip
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.evidence.recorder.parts import finished
from tests.evidence.recordings.line_changes import Fields, any_change, change_of, fields_of, is_reported
from tests.evidence.recordings.line_disorder import any_disorder, is_noticed
from tests.recorded.recorded_runs import recorded_runs

Lines = list[dict[str, Any]]

#: Runs in which everything is covered, of different kinds; enough lines of each for elections and records.
SAMPLE = {
    "run-05": 1300,
    "run-14": 2100,
    "run-16": 1500,
    "run-20": 1400,
    "run-25": 900,
    "run-27": 1250,
    "run-31": 1400,
    "run-36": 1700,
    "run-41": 1300,
}

#: Runs with changes of the voter set and snapshots, each changed as a whole.
VOTER_CHANGES = [run for run in recorded_runs() if run.name[:6] in ("run-20", "run-25", "run-27", "run-31")]

#: What is about changes of the voter set and about snapshots: kinds of lines and names of fields.
ABOUT = frozenset(
    {
        *("AddRaftVoter", "RemoveRaftVoter", "UpdateRaftVoter", "ApiVersions", "FetchSnapshot"),
        *("apiVersions", "adminResult", "createSnapshot", "upgradeKRaftVersion", "wipe"),
        *("voters", "votersOffset", "kraftVersion", "pendingAdd", "pendingRemove", "kRaftVersion"),
        *("snapshot", "snapshotId", "fetchingSnapshot", "position", "logStart", "logStartOffset"),
    }
)

#: Operations on the log and callbacks of which every field counts.
ACTS = frozenset({"deleteBefore", "truncateToSnapshot", "loadSnapshot"})

RUNS = [(run, SAMPLE[run.name[:6]]) for run in recorded_runs() if run.name[:6] in SAMPLE]


@pytest.fixture(scope="module", params=VOTER_CHANGES, ids=lambda run: run.name)
def run(request: pytest.FixtureRequest) -> Path:
    """Each run with changes of the voter set, with all that is asked of it one after the other."""
    found: Path = request.param
    return found


@cache
def whole(run: Path) -> Lines:
    """All lines of a run; not to be changed."""
    with gzip.open(run / "trace.jsonl.gz", "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


@cache
def about_voters_and_snapshots(run: Path) -> Fields:
    """The fields of a run that are about changes of the voter set or about snapshots."""
    lines = whole(run)
    chosen = {name: places for name, places in fields_of(lines).items() if ABOUT & set(name)}
    for line in lines:
        for name in ("log", "cb"):
            for index, act in enumerate(line.get(name, ())):
                if ACTS & {act.get("op"), act.get("cb")}:
                    for field in act:
                        places = chosen.setdefault((line["ev"], name, str(act.get("op")), field), [])
                        places.append((line["seq"], (name, index, field)))
    return chosen


def beginning(run: Path, length: int) -> Lines:
    """The first lines of a run, closed as the recorder closes one: what is under way is left over."""
    lines = whole(run)
    kept, rest = lines[:length], lines[length:]
    sent = {one["mid"] for line in kept for one in line.get("out", ())}
    for line in kept:
        sent.discard(line.get("mid", line.get("during", {}).get("mid")))
    time = kept[-1]["t"]
    for line in rest:
        message = line if "data" in line else line.get("during", {})
        if message.get("mid") in sent:
            left = {"seq": len(kept), "t": time, "ev": "inflight", "to": line.get("to", line.get("n"))}
            fields = ("mid", "kind", "api", "from", "corr", "ver", "data")
            kept.append(left | {name: message[name] for name in fields})
    return finished(kept, time)


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("begun", "length"), RUNS, ids=[run.name for run, _ in RUNS])
def test_one_wrong_field_of_a_recorded_run_is_reported_at_its_line(
    begun: Path, length: int, count: int
) -> None:
    lines, draw = beginning(begun, length), random.Random(length)
    missed = [str(made) for made in (any_change(lines, draw) for _ in range(count)) if not is_reported(made)]
    assert missed == []


def missed(run: Path, count: int, seed: int) -> list[str]:
    """Which of ``count`` changes about voter sets and snapshots the comparison does not report."""
    lines, fields, draw = whole(run), about_voters_and_snapshots(run), random.Random(seed)
    made = (change_of(lines, fields, draw) for _ in range(count))
    return [str(one) for one in made if not is_reported(one)]


def test_the_runs_have_every_field_about_voters_and_snapshots() -> None:
    names = {part for run in VOTER_CHANGES for name in about_voters_and_snapshots(run) for part in name}
    assert not VOTER_CHANGES or names >= ABOUT | ACTS - {"loadSnapshot"}


def test_a_wrong_field_about_voters_or_snapshots_is_reported_at_its_line(run: Path) -> None:
    assert missed(run, 10, 0) == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_wrong_fields_about_voters_and_snapshots_are_reported(run: Path, seed: int) -> None:
    assert missed(run, 400, seed) == []


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 5))
def test_many_wrong_fields_of_a_whole_run_are_reported(run: Path, seed: int) -> None:
    lines, draw = whole(run), random.Random(seed)
    fields = fields_of(lines)
    changes = (change_of(lines, fields, draw) for _ in range(400))
    assert [str(made) for made in changes if not is_reported(made)] == []


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.nightly)])
def test_a_step_left_out_or_doubled_or_exchanged_is_noticed(run: Path, count: int) -> None:
    lines, draw = whole(run), random.Random(len(run.name))
    disorders = (any_disorder(lines, draw) for _ in range(count))
    assert [what for what, changed in disorders if not is_noticed(changed)] == []
