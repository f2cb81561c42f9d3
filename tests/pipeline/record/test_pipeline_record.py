"""Campaigns of recordings on Spark: the answer of `kraftcheck record`, whichever command began them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.evidence.adapters.started import Adapters
from kraftcheck.evidence.kafka.option import Implementation
from kraftcheck.evidence.recorder.adapter_host import require_whole
from kraftcheck.evidence.recorder.campaign import Campaign, Plan
from kraftcheck.evidence.recorder.performing import perform
from kraftcheck.evidence.recorder.record_report import Summary, as_json
from kraftcheck.evidence.recorder.results import RESULTS
from kraftcheck.evidence.recorder.running import Recorder
from kraftcheck.evidence.recorder.workers import Local, Order, Workers
from kraftcheck.pipeline.record.workers import OnSpark
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.support.errors import InputError
from tests.evidence.recorder.short_campaign import SECONDS

#: The reference, with a defect that every cluster shows.
MUTANT = (sys.executable, "-m", "kraftcheck.evidence.adapters.adapter", "--mutant", "vote-not-persisted")
PLAN = Plan("reference", ("steady", "upgrade"), 0, 3, SECONDS, compares=True, protocol=("kafka",))
ORDER = Order(PLAN, KAFKA, seconds=300)


def answer(folder: Path, workers: Workers, *, shrinks: bool = True) -> dict[str, Any]:
    """The answer of the campaign in ``folder``, without what differs from run to run."""
    summary: Summary = perform(Campaign(PLAN, folder), workers, lambda text: None, shrinks=shrinks)
    summary.minimal = {kind: path.relative_to(folder) for kind, path in summary.minimal.items()}
    passing = ("made", "events", "elapsed", "folder")
    return {name: value for name, value in as_json(summary).items() if name not in passing}


def files_in(folder: Path) -> dict[str, bytes]:
    """The content of the files of recordings."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("run-*/*")}


@pytest.mark.spark
def test_the_answer_on_spark_is_that_of_this_machine(spark: Any, tmp_path: Path) -> None:
    implementation = Implementation(60.0, MUTANT)
    with Adapters(MUTANT, 60.0, require_whole) as adapters:
        here = answer(tmp_path / "here", Local(ORDER, Recorder(adapters), implementation, 1))
    workers = OnSpark(spark, ORDER, implementation)
    assert answer(tmp_path / "spark", workers) == here
    assert [len(each["runs"]) for each in here["kinds"]] == [3] and here["kinds"][0]["schedule"]
    assert files_in(tmp_path / "spark") == files_in(tmp_path / "here")

    # What one began, the other completes.
    begun = tmp_path / "begun"
    shutil.copytree(tmp_path / "here", begun)
    shutil.rmtree(begun / "run-upgrade-1")
    lines = (begun / RESULTS).read_text().splitlines(keepends=True)
    (begun / RESULTS).write_text("".join(lines[:-1]))
    assert answer(begun, workers) == here
    assert files_in(begun) == files_in(tmp_path / "here")


@pytest.mark.spark
def test_an_adapter_that_fails_on_the_cluster_is_one_sentence(spark: Any, tmp_path: Path) -> None:
    workers = OnSpark(spark, ORDER, Implementation(60.0, ("no-such-adapter",)))
    with pytest.raises(InputError, match="'no-such-adapter' cannot be run"):
        answer(tmp_path, workers)
    ends = (sys.executable, "-c", "print(input())")
    with pytest.raises(InputError, match=r"^the adapter .*, in the handshake"):
        answer(tmp_path, OnSpark(spark, ORDER, Implementation(60.0, ends)))
