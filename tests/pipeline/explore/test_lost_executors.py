"""Executors that are killed in the middle of levels change nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.pipeline.explore.test_every_scenario import CONF, OWN, results

SCENARIO = "addition-answered-on-append"
KILLS = 5


def executors(session: int) -> list[int]:
    """The processes of executors in a session of the system."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            ours = entry.name.isdigit() and os.getsid(int(entry.name)) == session
            if ours and b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to find the executors")
def test_killed_executors(tmp_path: Path) -> None:
    settings = [word for key, value in CONF.items() for word in ("--conf", f"{key}={value}")]
    command = [sys.executable, "-m", "kraftcheck", "pipeline", "explore", SCENARIO, "--json"]
    command += ["--master", "local-cluster[2,1,2048]", "--hand-over", "1000", "--parts", "4", *settings]
    run = tmp_path / "run"
    with (tmp_path / "out").open("w") as out, (tmp_path / "errors").open("w") as errors:
        process = subprocess.Popen(
            [*command, "--dir", run.as_uri()],
            stdout=out,
            stderr=errors,
            cwd=tmp_path,
            start_new_session=True,
        )
        killed: set[int] = set()
        while process.poll() is None and len(killed) < KILLS:
            time.sleep(5)
            on_spark = (run / SCENARIO / "complete").is_dir()
            for executor in sorted(set(executors(process.pid)) - killed)[:1] if on_spark else []:
                os.kill(executor, signal.SIGKILL)
                killed.add(executor)
        process.wait()
    assert process.returncode == 0, (tmp_path / "errors").read_text()[-2000:]
    found = json.loads((tmp_path / "out").read_text())
    assert len(killed) >= 3 and found["spark"]["states"] > 10_000
    expected = results("check", SCENARIO, folder=tmp_path)[SCENARIO]
    assert {key: found[key] for key in found if key not in OWN} == expected
