"""What a quorum reports, held against disks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.disks.disk import read_disk
from kraftcheck.evidence.disks.quorum import Quorum
from kraftcheck.evidence.disks.reported import held_against, read_described, read_metrics
from kraftcheck.support.errors import InputError
from tests.evidence.disks.test_disks import THREE
from tests.laboratory.disks.written import directory, write_disk

STATUS = """ClusterId:              CzTpK1ayRZa0IUObDHa1xQ
LeaderId:               1
LeaderEpoch:            1
HighWatermark:          5
MaxFollowerLag:         0
MaxFollowerLagTimeMs:   -1
CurrentVoters:          %s
CurrentObservers:       []
"""
NEW = (
    f'[{{"id": 1, "directoryId": "{directory(1)}", "endpoints": ["CONTROLLER://a:9093"]}}, '
    '{"id": 2}, {"id": 3}]'
)
REPLICATION = """NodeId\tDirectoryId           \tLogEndOffset\tLag\tLastFetch...\tLastCaughtUp...\tStatus
1     \tAAAAAAAAAAAAAAAAAAAAAQ\t5           \t0  \t17 ms ago         \t17 ms ago            \tLeader  \t
3     \tAAAAAAAAAAAAAAAAAAAAAw\t5           \t0  \t170 ms ago        \t170 ms ago           \tFollower\t
"""
OLD_REPLICATION = """NodeId\tLogEndOffset\tLag\tLastFetch...\tLastCaughtUp...\tStatus
3     \t5           \t0  \t1690000000000     \t1690000000000        \tFollower
"""
METRICS = """# HELP kafka_server_raft_metrics_high_watermark The high watermark
# TYPE kafka_server_raft_metrics_high_watermark untyped
kafka_server_raft_metrics_high_watermark 5.0
kafka_server_raft_metrics_log_end_offset{instance="c3"} 5.0
kafka_server_raft_metrics_current_epoch 1.0
kafka_server_raft_metrics_commit_latency_avg NaN
kafka_server_other 7
"""


def said(folder: Path, *, status: str = "", metrics: str = "", end: int = 3) -> set[str]:
    """The kinds that are observed with a log of node 3 of so many batches."""
    disks = (*THREE[:2], replace(THREE[2], log=THREE[2].log[:end]))
    quorum = Quorum(tuple(read_disk(write_disk(folder, each)) for each in disks))
    file = folder / "said"
    file.write_text(status or metrics)
    described = [read_described(file)] if status else []
    values = [read_metrics(f"3={file}")] if metrics else []
    return {"!" * each.is_problem + each.kind for each in held_against(quorum, described, values)}


@pytest.mark.parametrize("voters", ["[1,2,3]", NEW])
def test_a_status_that_fits(voters: str, tmp_path: Path) -> None:
    assert said(tmp_path, status=STATUS % voters) == set()


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("HighWatermark:          5", "HighWatermark:          9", "!committed-records-missing"),
        ("LeaderEpoch:            1", "LeaderEpoch:            0", "older-report"),
        ("[1,2,3]", "[1,2,4]", "!reported-voters-differ"),
        ("[1,2,3]", NEW.replace(directory(1), directory(9)), "!reported-voters-differ"),
        ("LeaderId:               1", "LeaderId:               2", "!two-leaders"),
    ],
)
def test_a_status_that_does_not_fit(old: str, new: str, kind: str, tmp_path: Path) -> None:
    assert said(tmp_path, status=(STATUS % "[1,2,3]").replace(old, new)) == {kind}


@pytest.mark.parametrize("table", [REPLICATION, OLD_REPLICATION, STATUS % "[1,2,3]" + REPLICATION])
def test_the_ends_of_logs(table: str, tmp_path: Path) -> None:
    assert said(_made(tmp_path, "a"), status=table) == set()
    # Without a high watermark it may have been truncated.
    shorter = "!log-is-shorter" if "HighWatermark" in table else "log-is-shorter"
    assert said(_made(tmp_path, "b"), status=table, end=1) == {shorter}


def _made(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def test_metrics(tmp_path: Path) -> None:
    assert said(_made(tmp_path, "a"), metrics=METRICS) == set()
    assert said(_made(tmp_path, "b"), metrics=METRICS, end=1) == {"!log-is-shorter"}
    later = METRICS.replace("epoch 1.0", "epoch 4.0").replace("watermark 5.0", "watermark 6.0")
    assert said(_made(tmp_path, "c"), metrics=later) == {"!epoch-is-lost", "!committed-records-missing"}
    strimzi = METRICS.replace("raft_metrics", "raftmetrics")
    assert said(_made(tmp_path, "d"), metrics=strimzi, end=1) == {"!log-is-shorter"}


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", "has neither a LeaderEpoch"),
        ("LeaderEpoch: many", "LeaderEpoch: is 'many'"),
        ("LeaderEpoch: 1\nCurrentVoters: [1,", "CurrentVoters: is no list"),
        ('LeaderEpoch: 1\nCurrentVoters: [{"name": 1}]', "CurrentVoters: is no list"),
        ("NodeId LogEndOffset\n1 far", "LogEndOffset: is 'far'"),
        ("Foo NodeId LogEndOffset\n1 x 5", "NodeId: is 'x'"),
    ],
)
def test_a_status_that_is_none(text: str, place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(InputError, match="file: ") as error:
        read_described(tmp_path / "file")
    assert place in str(error.value) and str(error.value).endswith("--replication.")


def test_metrics_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kafka_server_other 7\n")
    for text in (
        f"3={tmp_path / 'file'}",
        str(tmp_path / "file"),
        f"x={tmp_path / 'file'}",
        "9" * 5000 + "=f",
    ):
        with pytest.raises(InputError):
            read_metrics(text)


def test_the_command_holds_both_against_the_disks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    disks = _made(tmp_path, "disks")
    for each in (*THREE[:2], replace(THREE[2], log=THREE[2].log[:1])):
        write_disk(disks, each)
    (tmp_path / "status").write_text(STATUS % "[1,2,3]" + REPLICATION)
    (tmp_path / "metrics").write_text(METRICS)
    metrics = f"3={tmp_path / 'metrics'}"
    assert main(["inspect", str(disks), "--status", str(tmp_path / "status"), "--metrics", metrics]) == 1
    assert capsys.readouterr().out.count("has lost records") == 2
