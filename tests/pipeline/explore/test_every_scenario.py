"""Every CI scenario as a user explores it: natively, and on Spark from the first level on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.systems.scenario import shipped

MASTERS = ("local[2]", "local-cluster[2,1,2048]")
#: Executors and the driver share what the machine has; each virtual machine is short of work.
CONF = {
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
#: What differs from run to run, or from engine to engine.
OWN = {"seconds", "seconds_exploring", "peak_memory", "visited_bytes", "checkpoint", "spark"}


def results(*words: str, folder: Path) -> dict[str, dict[str, Any]]:
    """By scenario, what a command found."""
    command = [sys.executable, "-m", "kraftcheck", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr[-2000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {each["scenario"]: {key: each[key] for key in each if key not in OWN} for each in found}


def assert_the_same(names: list[str], master: str, folder: Path) -> None:
    settings = [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]
    options = ["--master", master, "--parts", "2", "--hand-over", "0", *settings]
    found = results("pipeline", "explore", *names, *options, folder=folder)
    expected = results("check", *names, folder=folder)
    assert list(found) == names
    for name in names:
        assert found[name] == expected[name], name


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize("master", MASTERS)
def test_every_ci_scenario(tmp_path: Path, master: str) -> None:
    names = [name for name, scenario in shipped().items() if "ci" in scenario.tags]
    assert_the_same(names, master, tmp_path)


@pytest.mark.spark
def test_some_ci_scenarios_on_a_cluster(tmp_path: Path) -> None:
    """One that holds and one that is violated, of replicas and of brokers."""
    names = [
        "disruptive-server", "finding-restart-as-candidate", "parity-brokers-faults",
        "brokers-data-two-with-one-id",
    ]  # fmt: skip
    assert_the_same(names, "local-cluster[2,1,2048]", tmp_path)
