"""Many scenarios, each in a process of its own: the same output, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib import resources
from pathlib import Path

import pytest

from kraftcheck.cli.commands.check import MANY
from kraftcheck.cli.main import main
from tests.house.processes import NEEDS_PROC, as_usual, cpu_seconds, session, wait_for

SMALL = [
    "finding-single-voter-power-loss",
    "finding-wiped-leader",
    "ping-pong",
    "scenario-a-granting-by-log",
    "single-voter",
    "zombie-leader",
    "zombie-leader-resigns-quietly",
    "zombie-leader-standing-again",
]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("option", ["-v --causes=1", "--json"])
def test_the_output_is_that_of_one_after_another(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(SMALL) >= MANY
    found = []
    for threads in "1", "2":
        assert main(["check", *SMALL, *option.split(), "--threads", threads]) == 0
        out = re.sub(r"\d+\.\d s", "", capsys.readouterr().out)
        found.append(re.sub(r'"(seconds\w*|peak_memory|visited_bytes)": [\d.]+', "", out))
    assert found[0] == found[1]
    if option == "--json":
        assert [json.loads(line)["scenario"] for line in out.splitlines()] == SMALL


def test_only_the_command_itself_shows_progress() -> None:
    terminal, end = os.openpty()
    command = [sys.executable, "-m", "kraftcheck", "check", "--threads", "2", "-v", *SMALL]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=end) as run:
        os.close(end)
        shown = b""
        # On Linux reading fails once no process has the other end.
        with suppress(OSError):
            while part := os.read(terminal, 65536):
                shown += part
        os.close(terminal)
        assert run.wait() == 0
    said = re.findall(r"([a-z-]+) …(.*)", shown.decode())
    assert said
    assert all("scenarios done" in tail for _, tail in said), said


def test_traces_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *SMALL, "--threads", "2", "--traces", str(tmp_path / "traces")]) == 0
    written = sorted(path.name.split(".")[0] for path in (tmp_path / "traces").glob("*.json"))
    assert written == [line.split()[0] for line in capsys.readouterr().out.splitlines() if "violated" in line]


def test_files_with_one_name_have_results_of_their_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / f"{number}.toml" for number in range(MANY)]
    for timers, file in enumerate(files):
        file.write_text(
            f"""name = "same"
about = "A leader needs timers."
replicas = {{ voters = [1, 2] }}
bounds = {{ max-epoch = 1 }}
budgets = {{ timers = {timers} }}
check = {{ goals = ["GoalLeaderElected"] }}
expect = {{ verdict = "holds" }}
"""
        )
    assert main(["check", *map(str, files), "--json", "--threads", "2"]) == 1
    found = [json.loads(line)["as_expected"] for line in capsys.readouterr().out.splitlines()]
    assert found == [False] + [True] * (MANY - 1)


@pytest.mark.parametrize("option", ["--traces", "--checkpoint"])
def test_no_two_scenarios_write_the_same_files(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (resources.files("kraftcheck") / "scenarios/elections/ping-pong.toml").read_text()
    (tmp_path / "other.toml").write_text(text.replace("capacity = 8", "capacity = 7"))
    assert main(["check", "ping-pong", str(tmp_path / "other.toml"), option, str(tmp_path / "out")]) == 2
    said = f"two scenarios are called 'ping-pong'; {option} needs a name for each"
    assert said in capsys.readouterr().err


def test_an_undetermined_run_leaves_no_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kraftcheck", "check", "--threads", "2", "--max-states", "9", *SMALL]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 3
    assert not list(tmp_path.glob("pymp-*"))


def started(*words: str) -> subprocess.Popen[str]:
    """``check`` on two threads, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "kraftcheck", "check", "--threads", "2", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=as_usual,
    )


@NEEDS_PROC
def test_what_is_complete_is_reported_after_an_interrupt(tmp_path: Path) -> None:
    """One process explores the large scenario while the other one explores the rest, in this order."""
    command = started("--json", "--traces", str(tmp_path), "nightly-three-voters", *SMALL)
    try:
        assert wait_for(lambda: list(tmp_path.glob(f"{SMALL[-1]}.*")))
        time.sleep(1)  # Its trace is written; now its result comes.
    finally:
        command.send_signal(signal.SIGINT)
        out, err = command.communicate(timeout=60)
    assert command.returncode == 3 and "interrupted" in err
    assert [json.loads(line)["scenario"] for line in out.splitlines()] == SMALL
    assert wait_for(lambda: not session(command.pid))


@pytest.mark.parametrize(
    ("number", "to_worker", "said"),
    [
        (signal.SIGTERM, False, "kraftcheck: interrupted."),
        (signal.SIGKILL, False, None),
        (signal.SIGKILL, True, "a process that does part of the work was killed"),
    ],
)
@NEEDS_PROC
def test_no_process_outlives_the_command(number: signal.Signals, to_worker: bool, said: str | None) -> None:
    command = started(*["nightly-three-voters"] * MANY)
    workers = wait_for(lambda: [pid for pid in session(command.pid) if cpu_seconds(pid) > 1])
    assert workers
    os.kill(workers[-1] if to_worker else command.pid, number)
    _, err = command.communicate(timeout=60)
    assert command.returncode == (-signal.SIGKILL if said is None else 3)
    assert said is None or said in err
    assert wait_for(lambda: not session(command.pid))
