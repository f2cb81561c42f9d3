"""Histories that are walks of the simulator: the checks find nothing in them but what is planted there."""

from __future__ import annotations

import gzip
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kraftcheck import spec
from kraftcheck.evidence.history.checks import CHECKS
from kraftcheck.evidence.logs.node_history import HistoryEntry
from kraftcheck.evidence.logs.reader import LogReport, Options, Reader
from kraftcheck.reference.disk import Disk
from tests.laboratory.logs.faults import FAULTS
from tests.laboratory.logs.fleet import Cluster
from tests.laboratory.logs.walk import Walk

RELEASES = ("3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.5")


def _cluster(folder: Path, seed: int, release: str, *, size: int = 3, dynamic: bool | None = None) -> Cluster:
    shows_voters = release >= "3.9"
    return Cluster(
        seed,
        "cluster",
        release,
        folder,
        size=size,
        trace=seed % 2 == 0,
        dynamic=shows_voters if dynamic is None else dynamic,
        drop=(0.0, 0.02)[seed % 2],
    )


def _walked(cluster: Cluster, steps: int) -> None:
    walk = Walk(cluster)
    for _ in range(steps):
        walk.go_on()
    walk.settle()
    cluster.finish()


def _read(folder: Path) -> tuple[LogReport, list[HistoryEntry]]:
    told: list[HistoryEntry] = []
    reader = Reader(Options(), told.append)
    for path in sorted(folder.rglob("*.log*")):
        text = path.read_bytes()
        reader.read(path, [gzip.decompress(text) if path.suffix == ".gz" else text], None)
    return reader.finish(), told


def _wrong(report: LogReport, cluster: Cluster) -> list[str]:
    """Problems other than the processes that exit in the walk itself, as Kafka's do (docs/findings.md)."""
    found = Counter(one.check for one in report.findings.problems)
    found["NoFatal"] -= len(cluster.died)
    return list(found.elements())


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES)
def test_a_walk_has_no_problem_and_is_read_whole(release: str, tmp_path: Path) -> None:
    cluster = _cluster(tmp_path, 7, release)
    _walked(cluster, 60)
    report, told = _read(tmp_path)
    assert _wrong(report, cluster) == []
    assert not report.findings.notes.keys() & {"gaps", "unreadable", "unknown-form", "other-release"}
    last = {entry.node: entry for entry in told if entry.state is not None}
    for node in cluster.nodes:
        replica, state = cluster.simulation.running(node), last[node].state
        assert replica is not None and state is not None
        assert state.role == type(replica.role).__name__
        assert (state.epoch, state.leader) == (replica.epoch, replica.quorum_state.leader)
        assert last[node].high_watermark == replica.high_watermark


@pytest.mark.slow
@settings(max_examples=8, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    seed=st.integers(0, 2**32),
    release=st.sampled_from(RELEASES),
    size=st.integers(2, 5),
    is_dynamic=st.booleans(),
)
def test_no_walk_has_a_problem(seed: int, release: str, size: int, is_dynamic: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        cluster = _cluster(Path(name), seed, release, size=size, dynamic=is_dynamic and release >= "3.9")
        _walked(cluster, 80)
        assert _wrong(_read(Path(name))[0], cluster) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.nightly) for n in range(1, 18))])
def test_no_long_walk_has_a_problem(seed: int, tmp_path: Path) -> None:
    cluster = _cluster(tmp_path, seed, RELEASES[seed % len(RELEASES)], size=3 + seed % 3)
    _walked(cluster, 1_500)
    assert _wrong(_read(tmp_path)[0], cluster) == []


def _plantable() -> Iterator[tuple[str, str]]:
    for check, fault in FAULTS.items():
        able = [one for one in RELEASES if fault.shows_in(one, dynamic=one >= "3.9")]
        yield check, able[0]
        yield check, able[-1]


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(("check", "release"), [*dict.fromkeys(_plantable())])
def test_a_fault_planted_in_a_walk_is_found_and_nothing_else(
    check: str, release: str, tmp_path: Path
) -> None:
    cluster = _cluster(tmp_path, 3, release)
    walk = Walk(cluster)
    for _ in range(20):
        walk.go_on()
    walk.settle()
    node = next(one for one in cluster.nodes if cluster.states[one].role == "Follower")
    with cluster.planting(node):
        FAULTS[check].plant(cluster, node)
    for _ in range(20):
        walk.go_on()
    walk.settle()
    cluster.finish()
    report, _ = _read(tmp_path)
    assert _wrong(report, cluster) == [check]
    (problem,) = (problem for problem in report.findings.problems if problem.check == check)
    assert problem.expected and problem.found and problem.where.line > 0
    cited = set(CHECKS[check].cites)
    assert cited <= set(problem.cites) and cited <= {*spec.load().rules, *spec.load().properties}


@pytest.mark.slow
def test_what_walks_live_through(tmp_path: Path) -> None:
    wanted = {"start", "interrupted", "end", "truncation", "snapshot", "voters", "append", "high watermark"}
    seen: Counter[str] = Counter()
    sizes: set[int] = set()
    for seed in range(6):
        if wanted <= seen.keys() and sizes >= {4, 5}:
            break
        cluster = _cluster(tmp_path / str(seed), seed, "4.2", size=5)
        _walked(cluster, 500)
        report, told = _read(tmp_path / str(seed))
        seen.update(entry.what for entry in told)
        seen.update(report.findings.notes)
        sizes |= {len(entry.voters) for entry in told if entry.voters is not None}
    assert {name for name in wanted if not seen[name]} == set()
    assert sizes >= {4, 5}


def test_a_disk_that_goes_back_in_time_is_noticed(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path, 4, "4.2")
    walk = Walk(cluster)
    for _ in range(10):
        walk.go_on()
    cluster.simulation.resign()
    walk.settle()
    simulation, node = cluster.simulation, cluster.nodes[0]
    assert cluster.states[node].epoch > 1
    simulation.kill(node, power_loss=False)
    simulation.put_epoch(node, 1)
    simulation.nodes[node].disk = Disk()
    simulation.start(node)
    walk.settle()
    cluster.finish()
    assert "EpochMonotone" in _wrong(_read(tmp_path)[0], cluster)
