"""The logs of fleets on Spark: the same findings as `kraftcheck logs`, whatever is damaged or missing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.evidence.logs.reader import Options, read_logs
from kraftcheck.evidence.logs.report import as_json, exit_status
from kraftcheck.pipeline.datasets import read
from kraftcheck.pipeline.logs import tables
from kraftcheck.pipeline.logs.files import cluster_of, compile_layout, find_files
from kraftcheck.pipeline.logs.fleet import merged, print_fleet
from kraftcheck.pipeline.logs.read import read_clusters
from kraftcheck.support.errors import InputError
from kraftcheck.support.terminal import console
from tests.evidence.logs.fleets import Finding, unlike_planted
from tests.evidence.logs.log_lines import change, state, text_of
from tests.laboratory.logs.make_fleet import FleetOptions, make_fleet

_SETTINGS = ("spark.ui.enabled=false", "spark.sql.shuffle.partitions=2")


def _problems(spark: Any, output: Path) -> list[dict[str, Any]]:
    data = read(spark, tables.DATASETS["problems"], f"{output}/problems")
    return [row.asDict() for row in data.collect()]


def _places(folder: Path, problems: list[dict[str, Any]]) -> list[Finding]:
    return [
        (
            one["cluster"],
            one["check"],
            one["node"],
            Path(one["file"]).relative_to(folder).as_posix(),
            one["line"],
        )
        for one in problems
    ]


def _single(folder: Path, clusters: list[str]) -> list[dict[str, Any]]:
    """The problems that `kraftcheck logs` finds in each cluster."""
    return [
        {"cluster": cluster, **problem}
        for cluster in clusters
        for problem in as_json(read_logs([folder / cluster], Options()))["problems"]
    ]


def _alike(problems: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(problem, sort_keys=True) for problem in problems)


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
    problems = _problems(spark, output)
    assert unlike_planted(made, _places(fleet, problems)) == []
    assert _alike(problems) == _alike(_single(fleet, [one["cluster"] for one in made["clusters"]]))
    assert report["problemCounts"].total() == len(problems) == len(made["planted"])
    assert len(report["problems"]) == 5
    assert report["missing"] == [{"cluster": "cluster-002", "nodes": [5]}]
    damaged = {Path(one["file"]).name for one in report["files"] if one["damaged"]}
    assert damaged == {"short.log.gz", "damaged.log.gz"}
    plain = [one for one in report["files"] if not one["damaged"] and not one["relevant"]]
    assert [(Path(one["file"]).name, one["nulBytes"]) for one in plain] == [("other.log", 1)]
    assert len(report["copies"]) == 1
    history = read(spark, tables.DATASETS["history"], f"{output}/history").where("leader is not null")
    known = history.groupBy("cluster", "epoch").agg({"leader": "min", "*": "count"}).count()
    assert known <= read(spark, tables.DATASETS["epochs"], f"{output}/epochs").count()
    leaders = history.select("cluster", "epoch", "leader").distinct().groupBy("cluster", "epoch").count()
    assert leaders.where("count > 1").count() == report["problemCounts"]["SingleKnownLeaderPerEpoch"]
    for name, dataset in tables.DATASETS.items():
        rows = pyarrow.parquet.read_table(output / name)
        assert rows.num_rows and tuple(rows.column_names) == dataset.names


@pytest.mark.spark
def test_of_logs_without_a_raft_node_nothing_is_left(spark: Any, tmp_path: Path) -> None:
    from kraftcheck.pipeline.logs.fleet import check_fleet, is_of_raft

    place = tmp_path / "fleet" / "one" / "controller-1"
    place.mkdir(parents=True)
    (place / "server.log").write_text("[2026-03-03 17:00:04,494] INFO nothing of raft (x.Y)\n" * 20)
    files = find_files([str(tmp_path / "fleet")], None)
    report = check_fleet(spark, files, Options(), str(tmp_path / "out"), 5)
    assert not is_of_raft(report) and not (tmp_path / "out").exists()


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
    assert report["problemCounts"] == single.problem_counts + alone.problem_counts
    (expected,), (found,) = alone.problems, report["problems"]
    assert found["earlier"] == str(expected.earlier)
    assert found["expected"] == expected.expected


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(10))
def test_many_fleets_are_read_as_kraftcheck_logs_reads_them(spark: Any, tmp_path: Path, seed: int) -> None:
    from kraftcheck.pipeline.logs.fleet import check_fleet

    fleet, output = tmp_path / "fleet", tmp_path / "out"
    made = make_fleet(fleet, FleetOptions(clusters=1 + seed % 9, lines=3_000 + 5_000 * seed, seed=seed))
    check_fleet(spark, find_files([str(fleet)], None), Options(), str(output), 0)
    problems = _problems(spark, output)
    assert unlike_planted(made, _places(fleet, problems)) == []
    assert len(problems) == len(_single(fleet, [one["cluster"] for one in made["clusters"]]))


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


def test_the_rows_of_a_cluster_have_the_columns_of_the_data_sets(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    _write_cluster(tmp_path, 1)
    vote = (
        "Vote request VoteRequestData(clusterId='{}', voterId=1, topics=[TopicData(partitions=[PartitionData("
    )
    vote += (
        "partitionIndex=0, replicaEpoch=6, replicaId=3, lastOffsetEpoch=5, lastOffset=90, preVote=false)])])"
    )
    votes = [f"{vote.format(cluster)} with epoch 6 is rejected" for cluster in ("ours", "theirs")]
    (tmp_path / "1/server.log").write_bytes(
        (tmp_path / "1/server.log").read_bytes() + text_of(votes, 1, start=90_000)
    )
    files = [{"file": str(file), "size": file.stat().st_size} for file in sorted(tmp_path.glob("*/*"))]
    given = arrow.RecordBatch.from_pylist([{"cluster": "one", "files": files}])
    rows: dict[str, list[dict[str, Any]]] = {}
    for batch in read_clusters([given], Options(), 10):
        for row in batch.to_pylist():
            rows.setdefault(row["kind"], []).append({"cluster": row["cluster"], **json.loads(row["detail"])})
    for kind, dataset in tables.DATASETS.items():
        assert all(set(dataset.names) <= set(row) for row in rows[kind]), kind
    answers = [(row["node"], row["candidate"]) for row in rows["history"] if row["what"] == "vote rejected"]
    assert answers == [(1, 3), (1, 3)]
    assert {row["epoch"]: row["knownBy"] for row in rows["epochs"]} == {5: [1, 3], 6: [2, 3]}
    whole = merged([(row["cluster"], row) for row in rows["clusters"]], 3)
    assert whole["mixed"][0]["ids"] == ["ours", "theirs"]


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


def test_a_fleet_is_printed_as_the_logs_of_one_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_cluster(tmp_path / "one", 0)
    _write_cluster(tmp_path / "two", 5)
    reports = [(name, as_json(read_logs([tmp_path / name], Options()))) for name in ("one", "two")]
    whole = merged([(name, report | {"missing": [7] * (name == "two")}) for name, report in reports], 3)
    assert whole["problemCounts"] == {"HighWatermarkMonotone": 5, "LeaderCompleteness": 2}
    assert [problem["cluster"] for problem in whole["problems"]] == ["one", "two", "two"]
    assert exit_status(whole) == 1
    print_fleet(console(), whole, "out", 3)
    printed = " ".join(capsys.readouterr().out.split())
    assert "of 6 nodes of 2 clusters" in printed and "two: no logs of voter 7, so not compared" in printed
    assert "problem 1: LeaderCompleteness, one, node 2" in printed
    assert "7 problems in the logs of 6 nodes of 2 clusters: HighWatermarkMonotone 5," in printed
    assert "the first 3 are shown" in printed
