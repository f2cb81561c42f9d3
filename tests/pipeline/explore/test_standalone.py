"""A standalone cluster of Spark on this machine: master, worker and executors are processes of their own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.pipeline.explore.test_every_scenario import CONF, OWN, results

SCENARIO = "addition-answered-on-append"
DEPLOY = "org.apache.spark.deploy"
#: Most seconds until a worker has found its master.
START = 60


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[str]:
    """The address of a master with one worker of two cores, which end with the block."""
    pyspark = pytest.importorskip("pyspark", reason="needs PySpark: pip install 'kraftcheck[spark]'")
    home = Path(pyspark.__file__).parent
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    hidden = ["--host", "127.0.0.1", "--webui-port", "0"]
    servers = (
        ["master.Master", *hidden, "--port", str(port)],
        [
            "worker.Worker",
            *hidden,
            "--cores",
            "2",
            "--memory",
            "4g",
            "--work-dir",
            str(folder / "work"),
            master,
        ],
    )
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    log = folder / "servers"
    running: list[subprocess.Popen[bytes]] = []
    try:
        for name, *words in servers:
            with log.open("ab") as out:
                command = [str(home / "bin" / "spark-class"), f"{DEPLOY}.{name}", *words]
                running.append(subprocess.Popen(command, stdout=out, stderr=out, env=environment))
        until = time.monotonic() + START
        while "Successfully registered with master" not in log.read_text():
            assert time.monotonic() < until, log.read_text()[-2000:]
            time.sleep(0.5)
        yield master
    finally:
        for process in reversed(running):
            process.send_signal(signal.SIGTERM)
            process.wait()


@pytest.mark.nightly
@pytest.mark.spark
def test_a_standalone_cluster(tmp_path: Path) -> None:
    # Executors begin in a folder of the worker's, and get the path of kraftcheck with their environment.
    settings = CONF | {
        "spark.executorEnv.PYTHONPATH": str(Path(__file__).parents[3]),
        "spark.pyspark.python": sys.executable,
        "spark.executor.memory": "2g",
    }
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    with standalone_cluster(tmp_path) as master:
        command = [sys.executable, "-m", "kraftcheck", "pipeline", "explore", SCENARIO, "--json"]
        done = subprocess.run(
            [
                *command,
                "--master",
                master,
                "--dir",
                (tmp_path / "run").as_uri(),
                "--hand-over",
                "1000",
                *words,
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["spark"]["states"] > 10_000
    expected = results("check", SCENARIO, folder=tmp_path)[SCENARIO]
    assert {key: found[key] for key in found if key not in OWN} == expected
