"""Scenarios as a user explores them on clusters of several processes, and natively."""

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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.systems.scenario import shipped
from tests.house.processes import of_processes, session

ROOT = str(Path(__file__).parents[3])
LOCAL_CLUSTER = "local-cluster[2,1,2048]"
#: Executors and the driver share what the machine has; each Java process is short of work.
CONF = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
#: What differs from run to run, or from engine to engine.
OWN = {
    "seconds", "seconds_exploring", "peak_memory", "visited_bytes", "checkpoint", "spark",
    "collision_probability",
}  # fmt: skip
#: A scenario with levels of more than a thousand states.
LARGER = "addition-answered-on-append"


@contextmanager
def _running(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A command, in ``folder`` and in a session of its own; it has no kept answers."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    with (
        (folder / "out").open("w") as out,
        (folder / "errors").open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "kraftcheck", *words, "--json"],
            stdout=out, stderr=errors, cwd=folder, text=True, start_new_session=True, env=environment,
        ) as process,
    ):  # fmt: skip
        yield process


def _found(folder: Path, process: subprocess.Popen[str]) -> dict[str, dict[str, Any]]:
    """By scenario, what a command found."""
    assert process.wait() == 0, (folder / "errors").read_text()[-2000:]
    found = [json.loads(line) for line in (folder / "out").read_text().splitlines()]
    return {each["scenario"]: each for each in found}


def _explored(*options: str, **conf: str) -> list[str]:
    """The words of the command that explores on Spark."""
    settings = {**CONF, **{key.replace("_", "."): value for key, value in conf.items()}}
    return ["pipeline", "explore", *options, *(f"--conf={key}={value}" for key, value in settings.items())]


def _require_the_same(folder: Path, found: dict[str, dict[str, Any]], names: list[str]) -> None:
    with _running(folder, "check", *names) as process:
        expected = _found(folder, process)
    assert list(found) == list(expected) == names
    for name in names:
        assert {key: found[name][key] for key in found[name] if key not in OWN} == {
            key: expected[name][key] for key in expected[name] if key not in OWN
        }, name


def _on_spark(folder: Path, names: list[str], master: str, hand_over: int) -> None:
    options = ("--master", master, "--parts", "2", "--hand-over", str(hand_over))
    with _running(folder, *_explored(*names, *options)) as process:
        found = _found(folder, process)
    assert not hand_over or all(each["spark"]["states"] for each in found.values())
    _require_the_same(folder, found, names)


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize("master", ["local[2]", LOCAL_CLUSTER])
def test_every_ci_scenario(tmp_path: Path, master: str) -> None:
    names = [name for name, scenario in shipped().items() if "ci" in scenario.tags]
    _on_spark(tmp_path, names, master, hand_over=0)


@pytest.mark.spark
def test_some_ci_scenarios_on_a_cluster(tmp_path: Path) -> None:
    """One that holds, and one that is violated: the last levels of each on an executor with two tasks."""
    names = ["cordoned-leader", "brokers-data-without-isr"]
    _on_spark(tmp_path, names, "local-cluster[1,2,2048]", hand_over=7)


# Executors that are killed in the middle of levels change nothing.


def executors(leader: int) -> list[int]:
    """The processes of executors in the session of a process."""
    commands = dict(of_processes("cmdline"))
    return [pid for pid in session(leader) if b"CoarseGrainedExecutorBackend" in commands.get(pid, b"")]


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to find the executors")
def test_killed_executors(tmp_path: Path) -> None:
    run, killed = tmp_path / "run", set[int]()
    options = ("--master", LOCAL_CLUSTER, "--hand-over", "1000", "--parts", "4", "--dir", run.as_uri())
    with _running(tmp_path, *_explored(LARGER, *options)) as process:
        while process.poll() is None and len(killed) < 5:
            time.sleep(5)
            on_spark = (run / LARGER / "complete").is_dir()
            for executor in sorted(set(executors(process.pid)) - killed)[:1] if on_spark else []:
                os.kill(executor, signal.SIGKILL)
                killed.add(executor)
        found = _found(tmp_path, process)
    assert len(killed) >= 3 and found[LARGER]["spark"]["states"] > 10_000
    _require_the_same(tmp_path, found, [LARGER])


# A standalone cluster: master, worker and executors are processes of their own.


@dataclass
class Cluster:
    """A standalone cluster: the address of its master, its workers, and the file of what all of them say."""

    master: str
    workers: list[subprocess.Popen[bytes]]
    log: Path


@contextmanager
def standalone_cluster(folder: Path, workers: int = 1) -> Iterator[Cluster]:
    """A master and workers with two cores in all, which end with the block."""
    pyspark = pytest.importorskip("pyspark", reason="needs PySpark: pip install 'kraftcheck[spark]'")
    home = Path(pyspark.__file__).parent
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    master = f"spark://127.0.0.1:{port}"
    hidden = ("--host", "127.0.0.1", "--webui-port", "0")
    work = ("--cores", str(2 // workers), "--memory", "4g", "--work-dir", str(folder / "work"))
    servers = [("master.Master", *hidden, "--port", port)]
    servers += [("worker.Worker", *hidden, *work, master)] * workers
    environment = os.environ | {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    log = folder / "servers"
    running: list[subprocess.Popen[bytes]] = []
    try:
        for name, *words in servers:
            with log.open("ab") as out:
                command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *words]
                running.append(subprocess.Popen(command, stdout=out, stderr=out, env=environment))
        until = time.monotonic() + 60
        while log.read_text().count("Successfully registered with master") < workers:
            assert time.monotonic() < until, log.read_text()[-2000:]
            time.sleep(0.5)
        yield Cluster(master, running[1:], log)
    finally:
        for process in reversed(running):
            process.send_signal(signal.SIGTERM)
            process.wait()


@pytest.mark.nightly
@pytest.mark.spark
def test_a_standalone_cluster(tmp_path: Path) -> None:
    # Executors begin in a folder of the worker's, and get the path of kraftcheck with their environment.
    own = {
        "spark_executorEnv_PYTHONPATH": ROOT,
        "spark_pyspark_python": sys.executable,
        "spark_executor_memory": "2g",
    }
    with standalone_cluster(tmp_path) as cluster:
        options = ("--master", cluster.master, "--dir", (tmp_path / "run").as_uri(), "--hand-over", "1000")
        with _running(tmp_path, *_explored(LARGER, *options, **own)) as process:
            found = _found(tmp_path, process)
    assert found[LARGER]["spark"]["states"] > 10_000
    _require_the_same(tmp_path, found, [LARGER])
