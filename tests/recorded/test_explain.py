"""The story that the logs of recorded runs tell, against what the runs are known to be."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kraftcheck.evidence.logs.explain import Leadership, Story
from kraftcheck.evidence.logs.reader import Options, read_logs
from tests.recorded.recorded_runs import recorded_runs


def leaderships(run: Path) -> dict[tuple[int, int], Leadership]:
    """By epoch and leader, from the logs."""
    story = Story()
    read_logs(sorted(run.glob("node-*.log.gz")), Options(), story.add)
    return {(epoch, each.node): each for epoch, each in story.leaderships()}


def started_again(run: Path) -> Counter[int]:
    """By node how often a process ended without a word and another one started, by the story."""
    story, found = Story(), Counter[int]()
    read_logs(sorted(run.glob("node-*.log.gz")), Options(), story.add)
    for _, lines in story.epochs():
        for line in lines:
            if times := re.match(r"starts again(?: (\d+) times)?", line.text):
                found[line.node] += int(times[1] or 1)
    return found


def killed(run: Path) -> Counter[int]:
    """By node how often a process was killed before another one started, by the event stream."""
    reasons: dict[int, str] = {}
    found = Counter[int]()
    with gzip.open(run / "trace.jsonl.gz", "rt") as lines:
        for line in map(json.loads, lines):
            if line["ev"] == "end":
                reasons[line["n"]] = line["reason"]
            elif line["ev"] == "start" and reasons.get(line["n"], "").startswith(("killed", "crash")):
                found[line["n"]] += 1
    return found


def truth(run: Path) -> Iterator[tuple[tuple[int, int], str]]:
    """By epoch and leader, from the event stream: what ended it."""
    roles: dict[int, tuple[str, int]] = {}
    leads: dict[tuple[int, int], str] = {}
    with gzip.open(run / "trace.jsonl.gz", "rt") as lines:
        for text in lines:
            line = json.loads(text)
            node, shown = line.get("n"), line.get("s")
            role, epoch = roles.get(node, ("", 0))
            if line["ev"] == "end" and role == "Leader":
                leads[epoch, node] = "process"
            if line["ev"] == "end":
                roles.pop(node, None)
            if not shown:
                continue
            if shown["state"] == "Leader":
                leads.setdefault((shown["epoch"], node), "")
            elif role == "Leader" and not leads[epoch, node]:
                leads[epoch, node] = "resigns" if shown["state"] == "Resigned" else "epoch"
            roles[node] = (shown["state"], shown["epoch"])
    yield from leads.items()


@pytest.mark.skipif(not recorded_runs(), reason="there are no recorded runs")
@pytest.mark.parametrize("run", recorded_runs(), ids=lambda run: run.name)
def test_who_led_and_what_ended_it(run: Path) -> None:
    found, known = leaderships(run), dict(truth(run))
    assert set(found) == set(known)
    for key, why in known.items():
        expected = {
            "": (),
            "process": ("its process ends", "shuts down", "exits"),
            "resigns": ("resigns", "its process ends", "shuts down"),
            "epoch": ("learns of epoch",),
        }[why]
        ends = found[key].end
        assert ends.startswith(expected) if ends else why in ("", "process"), (key, why, found[key])


@pytest.mark.skipif(not recorded_runs(), reason="there are no recorded runs")
@pytest.mark.parametrize("run", recorded_runs(), ids=lambda run: run.name)
def test_every_process_that_was_killed_is_named(run: Path) -> None:
    assert started_again(run) == killed(run)
