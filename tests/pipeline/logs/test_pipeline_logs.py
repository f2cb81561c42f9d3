"""The logs of fleets on Spark: the same findings as `kraftcheck logs`, whatever is damaged or missing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.evidence.logs.reader import Options, read_logs
from kraftcheck.pipeline.datasets import read
from kraftcheck.pipeline.logs import tables
from kraftcheck.pipeline.logs.files import cluster_of, compile_layout, find_files
from kraftcheck.support.errors import InputError
from tests.evidence.logs.fleets import Finding, unlike_planted
from tests.evidence.logs.log_lines import change, state, text_of
from tests.laboratory.logs.make_fleet import FleetOptions, make_fleet

_SETTINGS = ("spark.ui.enabled=false", "spark.sql.shuffle.partitions=2")


def _findings(spark: Any, output: Path) -> list[dict[str, Any]]:
    data = read(spark, tables.DATASETS["findings"], f"{output}/findings")
    return [row.asDict() for row in data.where("severity = 'error'").collect()]


def _places(folder: Path, findings: list[dict[str, Any]]) -> list[Finding]:
    return [
        (
            one["cluster"],
            one["check"],
            one["node"],
            Path(one["file"]).relative_to(folder).as_posix(),
            one["line"],
        )
        for one in findings
    ]


def _single(folder: Path, clusters: list[str]) -> set[tuple[object, ...]]:
    found = set()
    for cluster in clusters:
        for one in read_logs([folder / cluster], Options()).findings.problems:
            earlier = None if one.earlier is None else tuple(one.earlier)
            found.add(
                (one.check, one.node, *one.where, one.time, one.expected, one.found, earlier, one.cites)
            )
    return found


def _damage(folder: Path) -> None:
    """A gzip file cut short, one that is damaged, a copy, a file that is no log and a name without file."""
    node = folder / "cluster-000" / "controller-9"
    node.mkdir()
    text = gzip.compress(b"[2026-03-03 17:00:04,494] INFO nothing of raft (x.Y)\n" * 5000)
    (node / "short.log.gz").write_bytes(text[:-20])
    (node / "damaged.log.gz").write_bytes(text[:60] + b"\xff" * 40 + text[100:])
    (node / "other.log").write_bytes(b"\0\xff no log\n")
    original = sorted((folder / "cluster-001" / "controller-2").iterdir())[0]
    (original.parent / f"copy-of-{original.name}").write_bytes(original.read_bytes())


@pytest.mark.spark
def test_a_fleet_with_damage_is_read_as_kraftcheck_logs_reads_it(spark: Any, tmp_path: Path) -> None:
    import pyarrow.parquet

    from kraftcheck.pipeline.logs.fleet import check_fleet

    fleet, output = tmp_path / "fleet", tmp_path / "out"
    made = make_fleet(fleet, FleetOptions(clusters=3, lines=6_000, seed=7))
    _damage(fleet)
    report = check_fleet(spark, find_files([str(fleet)], None), Options(), str(output), 5)
    findings = _findings(spark, output)
    assert unlike_planted(made, _places(fleet, findings)) == []
    columns = ("check", "node", "file", "line", "time", "expected", "found")
    several = {
        (
            *(one[name] for name in columns),
            None if one["earlier_file"] is None else (one["earlier_file"], one["earlier_line"]),
            tuple(one["rules"]),
        )
        for one in findings
    }
    assert several == _single(fleet, [one["cluster"] for one in made["clusters"]])
    assert sum(report.problem_counts.values()) == len(findings) == len(made["planted"])
    assert len(report.problems) == 5
    assert report.missing == [{"cluster": "cluster-002", "nodes": [5]}]
    assert {Path(one["file"]).name for one in report.damaged} == {"short.log.gz", "damaged.log.gz"}
    assert [Path(one).name for one in report.without_raft_files] == ["other.log"]
    assert (report.copies, report.damage["nul"]) == (1, 1)
    epochs = read(spark, tables.DATASETS["epochs"], f"{output}/epochs")
    disputed = epochs.where("size(leaders) > 1").count()
    assert disputed == report.problem_counts["SingleKnownLeaderPerEpoch"]
    for name, dataset in tables.DATASETS.items():
        rows = pyarrow.parquet.read_table(output / name)
        assert rows.num_rows and tuple(rows.column_names) == dataset.names


@pytest.mark.spark
def test_of_logs_without_a_raft_node_nothing_is_left(spark: Any, tmp_path: Path) -> None:
    from kraftcheck.pipeline.logs.fleet import check_fleet

    place = tmp_path / "fleet" / "one" / "controller-1"
    place.mkdir(parents=True)
    (place / "server.log").write_text("[2026-03-03 17:00:04,494] INFO nothing of raft (x.Y)\n" * 20)
    files = find_files([str(tmp_path / "fleet")], None)
    report = check_fleet(spark, files, Options(), str(tmp_path / "out"), 5)
    assert not report.relevant and not (tmp_path / "out").exists()


def _write_cluster(folder: Path, falls: int) -> None:
    """Nodes 1 and 3 know the same high watermark, and node 2 leads with less; that of node 3 falls then."""
    before, follower = state("Unattached", 5), state("Follower", 5, leader=2)
    later, again = state("Unattached", 6), state("Follower", 6, leader=2)
    high = "Follower high watermark updated to {}"
    known = [*change(before, None), *change(follower, before), high.format(100)]
    standing = state("Prospective", 5, 2, granted=frozenset({2, 3}))
    candidate = state("Candidate", 6, 2, voted=2, granted=frozenset({2, 3}))
    elected = [*change(before, None), *change(standing, before), *change(candidate, standing)]
    elected += change(state("Leader", 6, 2, start=90), candidate)
    falling = [high.format(9_000 - number) for number in range(falls + 1)]
    files = {
        "1/server.log.1": text_of(known, 1),
        "3/server.log": text_of(
            [*known, *change(later, follower), *change(again, later), *falling], 3, start=1
        ),
        "1/server.log": text_of(change(later, follower), 1, start=50_000),
        "2/server.log": text_of(elected, 2, start=60_000),
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)


@pytest.mark.spark
def test_many_problems_and_what_two_nodes_know_alike(spark: Any, tmp_path: Path) -> None:
    from kraftcheck.pipeline.logs.fleet import check_fleet

    one, two = tmp_path / "fleet" / "one", tmp_path / "fleet" / "two"
    _write_cluster(one, 0)
    _write_cluster(two, 1_500)
    alone, single = (read_logs([folder], Options()).findings for folder in (one, two))
    assert single.problem_counts == {"HighWatermarkMonotone": 1_500, "LeaderCompleteness": 1}
    report = check_fleet(spark, find_files([str(tmp_path / "fleet")], None), Options(), None, 1)
    assert report.problem_counts == single.problem_counts + alone.problem_counts
    (expected,), (found,) = alone.problems, report.problems
    assert (found["earlier_file"], found["earlier_line"]) == expected.earlier
    assert found["expected"] == expected.expected


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_many_fleets_are_read_as_kraftcheck_logs_reads_them(spark: Any, tmp_path: Path, seed: int) -> None:
    from kraftcheck.pipeline.logs.fleet import check_fleet

    fleet, output = tmp_path / "fleet", tmp_path / "out"
    made = make_fleet(fleet, FleetOptions(clusters=1 + seed % 9, lines=3_000 + 5_000 * seed, seed=seed))
    check_fleet(spark, find_files([str(fleet)], None), Options(), str(output), 0)
    findings = _findings(spark, output)
    assert unlike_planted(made, _places(fleet, findings)) == []
    assert len(findings) == len(_single(fleet, [one["cluster"] for one in made["clusters"]]))


@pytest.mark.spark
@pytest.mark.nightly
def test_executors_in_processes_of_their_own_find_the_same(tmp_path: Path) -> None:
    import os
    import subprocess
    import sys

    made = make_fleet(tmp_path / "fleet", FleetOptions(clusters=3, lines=6_000, seed=3))
    warehouse = f"spark.sql.warehouse.dir={tmp_path / 'warehouse'}"
    settings = [part for one in (*_SETTINGS, warehouse) for part in ("--conf", one)]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "kraftcheck", "pipeline", "logs", str(tmp_path / "fleet")),
            *("--master", "local-cluster[2,1,2048]", "--json", "--limit", "1000", *settings),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        check=False,
    )
    assert done.returncode == 1, done.stderr[-2000:]
    report = json.loads(done.stdout)
    assert unlike_planted(made, _places(tmp_path / "fleet", report["problems"])) == []


def _touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


def test_files_of_folders_and_globs_and_whose_they_are(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    _touch(tmp_path, "f/a/1/server.log", "f/a/1/server.log.1.gz", "f/a/2/x.json", "f/b/3/deep/controller.log")
    _touch(tmp_path, "f/c/controller.log", "f/top.log", "g/other.json")

    def found(path: str, layout: str | None = None) -> list[tuple[str, str]]:
        files = find_files([str(tmp_path / path)], layout)
        return [(Path(one.name).relative_to(tmp_path).as_posix(), one.cluster) for one in files]

    assert found("f") == [
        ("f/a/1/server.log", "a"),
        ("f/a/1/server.log.1.gz", "a"),
        ("f/b/3/deep/controller.log", "b"),
        ("f/c/controller.log", "c"),
        ("f/top.log", "f"),
    ]
    assert found("f/*/1/*.gz") == [("f/a/1/server.log.1.gz", "a")]
    assert found("f/[ab]/*", "{cluster}/") == found("f")[:3]
    assert found("g/*.json") == [("g/other.json", "g")]
    assert found("f/a", "*/") == [("f/a/1/server.log", "a"), ("f/a/1/server.log.1.gz", "a")]
    for wrong, said in (("none", "there is nothing"), ("g", "no log files"), ("f/z*", "no log files")):
        with pytest.raises(InputError, match=said):
            found(wrong)
    with pytest.raises(InputError, match="does not fit --layout"):
        found("f", "{cluster}/*/")


def test_a_layout_takes_names_apart() -> None:
    pattern = compile_layout("eu-{cluster}/*/controller*")
    assert cluster_of("eu-c1/logs/controller.log.7.gz", "", pattern) == "c1"
    for wrong in ("{cluster}/{cluster}/", "{host}/", "{cluster"):
        with pytest.raises(InputError, match="--layout"):
            compile_layout(wrong)
