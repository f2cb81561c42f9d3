"""A hunt on Spark finds and writes what `kraftcheck hunt` does, whatever happens to the cluster."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.hunt import store
from kraftcheck.hunt.step import Done, Job, Line, take
from kraftcheck.pipeline.campaign import hunt as on_spark
from kraftcheck.support.errors import InputError
from kraftcheck.support.forks import End, Ended
from kraftcheck.systems.scenario import find
from tests.hunt.test_hunt import comparable
from tests.pipeline.explore.test_clusters import CONF, standalone_cluster
from tests.pipeline.test_packaging import ROOT, packed

#: Of replicas and brokers: two with something new, and one with a known cause.
SOME = ["stray-vote-after-epoch", "brokers-forgetful-controller", "former-candidate-restarts"]
#: More, with larger ones that take walks, and one that leaves out what it violates.
MANY = [
    *SOME, "single-voter", "kip836-caught-up-beyond-end", "bootstrap-server-joins", "older-voter-reports",
    "three-voters-elect", "scenario-a-granting-by-log", "disk-loss-table",
]  # fmt: skip


def _native(names: Sequence[str], folder: Path, steps: int) -> list[str]:
    return ["hunt", *names, "-o", str(folder), "--steps", str(steps)]


def _campaign(names: Sequence[str], folder: Path, steps: int, *more: str) -> list[str]:
    scenarios = [word for name in names for word in ("--scenario", name)]
    return ["pipeline", "campaign", "--hunt", str(folder), *scenarios, "--steps", str(steps), *more]


def _state(folder: Path) -> store.State:
    return store.State.model_validate_json((folder / store.STATE).read_text(encoding="utf-8"))


def _require_the_same(folder: Path, other: Path) -> None:
    """What was seen, the lines of widenings, and all that was written."""
    assert comparable(_state(folder)) == comparable(_state(other))
    written, expected = (
        {path.name: path.read_bytes() for path in each.iterdir() if path.name != store.STATE}
        for each in (folder, other)
    )
    assert written == expected


@pytest.mark.spark
@pytest.mark.slow
def test_a_hunt_finds_the_same_and_goes_on_anywhere(
    spark: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(_native(SOME, tmp_path / "native", 7)) == 1
    # In the middle of a round from one to the other.
    assert main(_campaign(SOME, tmp_path / "both", 4)) == 1
    assert main(_native(SOME, tmp_path / "both", 5)) == 1
    assert main(_campaign(SOME, tmp_path / "both", 7)) == 1
    assert len(_state(tmp_path / "native").new) == 3 and _state(tmp_path / "native").causes
    _require_the_same(tmp_path / "both", tmp_path / "native")
    assert "known causes, set aside: 1" in capsys.readouterr().out


# Results come in any order, and are merged in that of the steps.


def _jobs(count: int) -> list[Job]:
    return [Job(find("single-voter"), Line(), 1, number, time.time() + 60) for number in range(count)]


def _taking(
    monkeypatch: pytest.MonkeyPatch, results: Callable[[Sequence[tuple[int, Job]]], list[Any]]
) -> None:
    """Batches of two, the last one first, are answered by ``results``."""

    def in_batches(spark: Any, items: Any, work: Any, done: Any, *, most: int) -> None:
        for begin in reversed(range(0, len(items), 2)):
            done(results(items[begin : begin + 2]))

    monkeypatch.setattr(on_spark, "in_batches", in_batches)


def test_results_are_merged_in_the_order_of_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs, seen = _jobs(7), list[int]()
    _taking(monkeypatch, lambda batch: [(number, Done(Line(), states=number)) for number, _ in batch])

    def keep(job: Job, done: Done | None) -> bool:
        assert done is not None and done.states == job.seed
        seen.append(job.seed)
        return len(seen) < 5

    on_spark.takes_on(None)(jobs, keep)  # type: ignore[arg-type]
    assert seen == [0, 1, 2, 3, 4]


class _Server:
    """A server that comes to the same end with each job."""

    def __init__(self, ended: Ended) -> None:
        self.ended = ended

    def run(self, job: Any) -> Ended:
        return self.ended


def _in_a_task(ended: Ended, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(on_spark, "server_of_worker", lambda: _Server(ended))
    task = pickle.dumps((3, _jobs(1)[0], 60.0))
    return pickle.loads(on_spark._taken(on_spark.source_digest(), task))


def test_a_step_in_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    job = _jobs(1)[0]
    encoded = on_spark.base64.b64encode(pickle.dumps(job)).decode()
    assert _in_a_task(Ended([*on_spark.step(encoded)]), monkeypatch) == (3, take(job))
    for end in (End.TIME, End.MEMORY):
        assert _in_a_task(Ended([], end, "no result"), monkeypatch) == (3, None)
    # Spark tries it again, perhaps elsewhere; if that is of no use, the hunt ends with this sentence.
    for end in (End.FAILED, End.INPUT, End.MACHINE):
        with pytest.raises(InputError, match="a step of single-voter: it broke"):
            _in_a_task(Ended([], end, "it broke"), monkeypatch)
    with pytest.raises(InputError, match="another version of kraftcheck"):
        on_spark._taken("other", b"")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hunt", "x", "mutants"], "--hunt has no cells"),
        (["--hunt", "x", "--results", "y"], "--hunt has no cells"),
        (["--hunt", "x", "--mutant", "VOTE-8"], "--hunt has no cells"),
        (["--hunt", "x", "--max-seconds", "9"], "--hunt has no cells"),
        (["--hunt", "x", "--seeds", "0..9"], "a hunt has one seed"),
        (["--hunt", "x", "--max-memory", "much"], "memory: expected a size"),
        (["--hunt", "x", "--scenario", "no-such-scenario"], "no-such-scenario"),
        (["--scenario", "single-voter", "--steps", "3"], "--for and --steps go with --hunt"),
    ],
)
def test_options_that_make_no_hunt(
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["pipeline", "campaign", *options]) == 2
    assert said in capsys.readouterr().err and not list(tmp_path.iterdir())


# The whole: a standalone cluster that has nothing but what is sent along, and loses a worker.


@pytest.mark.spark
@pytest.mark.nightly
def test_a_hunt_on_a_standalone_cluster_whose_worker_is_killed(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="needs PySpark: pip install 'kraftcheck[spark]'")
    notes, folder, steps = tmp_path / "notes", tmp_path / "hunted", 60
    notes.mkdir()
    settings = CONF | {
        "spark.archives": f"{packed(tmp_path, notes)}#environment",
        "spark.pyspark.python": "./environment/bin/python",
        "spark.executor.memory": "1g",
    }
    options = [f"--conf={key}={value}" for key, value in settings.items()]
    # The driver has kraftcheck because it is here; nothing tells executors of this folder.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with standalone_cluster(tmp_path, workers=2) as cluster, (tmp_path / "errors").open("w") as errors:
        words = _campaign(MANY, folder, steps, "--master", cluster.master, *options)
        running = subprocess.Popen(
            [sys.executable, "-m", "kraftcheck", *words],
            cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=errors,
        )  # fmt: skip
        try:
            while running.poll() is None and not (
                (folder / store.STATE).exists() and _state(folder).steps >= 15
            ):
                time.sleep(0.5)
            killed_after = _state(folder).steps
            os.kill(cluster.workers[0].pid, signal.SIGKILL)
            assert running.wait() == 1, (tmp_path / "errors").read_text()[-2000:]
        finally:
            running.kill()
        said = cluster.log.read_text()
    assert 15 <= killed_after < steps - 5
    assert said.count("Removing worker") == 1, said[-2000:]
    prefixes = {Path(note.read_text(encoding="utf-8")) for note in notes.iterdir()}
    assert len({prefix.parent for prefix in prefixes}) >= 2, "both workers have taken steps"
    assert all(tmp_path / "work" in prefix.parents for prefix in prefixes)
    assert main(_native(MANY, tmp_path / "native", steps)) == 1
    _require_the_same(folder, tmp_path / "native")
