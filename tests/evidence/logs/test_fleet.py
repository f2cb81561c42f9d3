"""Made-up fleets: every planted fault is found at its place, and nothing else."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.evidence.history.checks import CHECKS
from kraftcheck.evidence.history.cluster import Cluster, Seen
from kraftcheck.evidence.logs.findings import Findings, Where
from kraftcheck.evidence.logs.reader import Options, read_logs
from kraftcheck.support.errors import InputError
from tests.evidence.logs.fleets import Finding, unlike_planted
from tests.laboratory.logs.faults import FAULTS
from tests.laboratory.logs.make_fleet import FleetOptions, main, make_fleet
from tests.laboratory.logs.node_log import NodeLog


def _found(folder: Path, clusters: Iterable[str]) -> list[Finding]:
    found = []
    for cluster in clusters:
        for problem in read_logs([folder / cluster], Options()).findings.problems:
            file = Path(problem.where.file).relative_to(folder).as_posix()
            found.append((cluster, problem.check, problem.node, file, problem.where.line))
    return found


def test_every_check_has_a_fault() -> None:
    assert set(FAULTS) == set(CHECKS)


@pytest.mark.slow
@settings(max_examples=4)
@given(
    seed=st.integers(0, 2**32),
    clusters=st.integers(1, 3),
    lines=st.sampled_from((100, 3_000, 20_000)),
    faults=st.integers(0, 1),
    skew=st.sampled_from((0, 600, 1_000_000)),
)
def test_what_is_planted_is_found_and_nothing_else(
    seed: int, clusters: int, lines: int, faults: int, skew: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        made = make_fleet(Path(name), FleetOptions(clusters, lines, seed, faults, skew=skew))
        # In a walk a process may exit by itself, as Kafka's does: that is listed, too.
        assert len(made["planted"]) >= faults * len(CHECKS)
        found = _found(Path(name), (one["cluster"] for one in made["clusters"]))
    assert unlike_planted(made, found) == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("clusters", "lines", "seed"), [(3, 20_000, 0), *((8, 100_000, n) for n in range(8))]
)
def test_in_larger_fleets_too(tmp_path: Path, clusters: int, lines: int, seed: int) -> None:
    made = make_fleet(tmp_path, FleetOptions(clusters, lines, seed, faults=2))
    assert unlike_planted(made, _found(tmp_path, (one["cluster"] for one in made["clusters"]))) == []


@pytest.mark.slow
def test_the_same_options_give_the_same_text(tmp_path: Path) -> None:
    options = FleetOptions(clusters=2, lines=400)
    for name in ("a", "b"):
        make_fleet(tmp_path / name, options)
    texts = [
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (tmp_path / "a", tmp_path / "b")
    ]
    assert texts[0] == texts[1]
    with pytest.raises(InputError, match="is not an empty folder"):
        make_fleet(tmp_path / "a", options)


def test_the_script_writes_a_fleet_or_says_why_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(tmp_path / "fleet"), "--clusters", "1", "--lines", "500", "--faults", "0"]
    assert main(words) == 0
    assert "in 1 clusters; 0 faults planted" in capsys.readouterr().out
    assert main(words) == 2
    (tmp_path / "file").touch()
    assert main([str(tmp_path / "file")]) == 2
    assert [line[:12] for line in capsys.readouterr().err.splitlines()] == ["make_fleet: "] * 2


@pytest.mark.parametrize("noise", [1, 7, 160])
def test_rotated_files_follow_each_other_in_time(tmp_path: Path, noise: int) -> None:
    """Otherwise the first lines of a file would be taken for an overlap with the one before."""
    log = NodeLog(1, tmp_path, skew=0, zipped=False, noise=noise)
    for now in range(1_000_000, 1_010_000, 37):
        log.say(now, "[{}] INFO said\n")
        log.rotate()
    log.finish()
    lines = [line for path in log.paths for line in path.read_text().splitlines() if line.startswith("[")]
    times = [line[1:24] for line in lines]
    assert times == sorted(times) and any("said" not in line for line in lines)
    # Two of a hundred lines of other loggers begin no record.
    assert sum(path.read_text().count("\n") for path in log.paths) == log.total >= 271 + 9 * noise


def test_of_nodes_that_know_the_same_the_smallest_id_is_named() -> None:
    for nodes in permutations((1, 2, 3)):
        findings = Findings()
        cluster = Cluster(findings)
        for node in nodes:
            cluster.high_watermark(5, Seen(100, node, Where(f"{node}.log", 1), b""))
        cluster.starts(6, Seen(90, 2, Where("2.log", 9), b""))
        cluster.finish()
        assert [problem.earlier for problem in findings.problems] == [Where("1.log", 1)]


@pytest.mark.parametrize("wiped_first", [True, False])
def test_a_disk_that_was_replaced_excuses_votes_whoever_is_read_first(wiped_first: bool) -> None:
    findings = Findings()
    cluster = Cluster(findings)
    if wiped_first:
        cluster.wiped(3)
    cluster.vote(5, Seen(1, 3, Where("3.log", 1), b""))
    cluster.grant(5, 3, Seen(2, 2, Where("2.log", 1), b""))
    if not wiped_first:
        cluster.wiped(3)
    cluster.finish()
    assert not findings.problem_counts
