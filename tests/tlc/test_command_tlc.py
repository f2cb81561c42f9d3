"""``kraftcheck tlc`` from end to end, with a script in the place of Java that says what TLC would say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kraftcheck.cli.main import main
from kraftcheck.support.errors import InputError
from kraftcheck.systems.scenario import Scenario
from kraftcheck.tlc.compare import Answer, Question, Report, Wanted, ask, differences
from kraftcheck.tlc.install import VARIABLE
from kraftcheck.tlc.modules import Modules
from tests.tlc.test_output import COMPLETE, SEARCHED, message
from tests.tlc.test_process import gone, script

FOUND = "".join((*SEARCHED, *COMPLETE))
VIOLATED = "".join(
    (
        *SEARCHED,
        message(2110, "Invariant NoFatal is violated.", 1),
        message(2217, "1: <Initial predicate>\n/\\ a = 1", 4),
    )
)
#: Where the fake TLC is told to put its dump.
DUMP = 'while [ $# -gt 0 ]; do [ "$1" = -dump ] && dump="$2"; shift; done'


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a Java that runs ``then`` after it has printed ``said``."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "tla2tools.jar"))
    (tmp_path / "tla2tools.jar").write_bytes(b"")
    return tmp_path


def tlc_says(home: Path, said: str, then: str = "exit 0") -> None:
    (home / "said").write_text(said, encoding="utf-8")
    version = """[ "$1" = -version ] && { echo 'openjdk version "17.0.1"' >&2; exit 0; }"""
    script(home / "bin" / "java", f"{version}\ncat '{home}/said'\n{then}")


def report(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_equal_counts_are_the_same(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tlc_says(fake, FOUND)
    assert main(["tlc", "single-voter", "--states", "0", "--json"]) == 0
    found = report(capsys)
    assert (found["status"], found["differences"], found["states"]) == ("same", [], None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "difference"),
    [
        (FOUND.replace("495 distinct", "496 distinct"), "495 distinct states, in TLC 496"),
        (FOUND.replace("search is 15", "search is 16"), "14 as depth, in TLC 15"),
        (VIOLATED, "the checker: holds, 495 states; TLC: violated: NoFatal in 0 steps"),
    ],
)
def test_a_difference_is_told(
    said: str, difference: str, fake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tlc_says(fake, said, "exit 12")
    assert main(["tlc", "single-voter", "--states", "0", "--json"]) == 1
    found = report(capsys)
    assert found["status"] == "differs" and found["differences"] == [difference]
    assert main(["tlc", "single-voter", "--states", "0"]) == 1
    out = capsys.readouterr().out
    assert "DIFFERS" in out and "0 of 1 the same" in out and "\x1b" not in out


@pytest.mark.slow
def test_a_dump_without_our_states_is_a_difference(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = "State 1:\n" + "".join(
        f"/\\ {name} = <<>>\n" for name in ("replica", "disk", "network", "history", "budget")
    )
    tlc_says(fake, FOUND, f"{DUMP}\ncat > \"$dump\" <<'END'\n{state}END")
    assert main(["tlc", "single-voter", "--json"]) == 1
    assert report(capsys)["states"] == {"common": 0, "only_checker": 495, "only_tlc": 1}
    assert main(["tlc", "single-voter"]) == 1
    out = capsys.readouterr().out
    assert out.count("only here:") == 3 and out.count("only in TLC:") == 1
    assert "budget = <<>>" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    "dump", ["", "\\xff", "State 1:\n/\\\\ replica = <<\n", "State 1:\n/\\\\ replica = 1\n"]
)
def test_a_damaged_dump_is_refused(dump: str, fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tlc_says(fake, FOUND, f"{DUMP}\nprintf '{dump}' > \"$dump\"")
    status = main(["tlc", "single-voter"])
    # An empty dump is one without states.
    assert status == (2 if dump else 1)
    assert capsys.readouterr().err.count("\n") == (1 if dump else 0)


@pytest.mark.slow
def test_no_dump_is_refused(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tlc_says(fake, FOUND)
    assert main(["tlc", "single-voter"]) == 2
    assert "TLC's dump: cannot be read" in capsys.readouterr().err


def test_an_end_without_an_answer_is_undetermined(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tlc_says(fake, "".join(SEARCHED) + message(1000, "Java ran out of memory.", 1), "exit 1")
    assert main(["tlc", "single-voter"]) == 3
    out = capsys.readouterr().out
    assert "UNDETERMINED" in out and "Java ran out of memory." in out


@pytest.mark.slow
def test_a_time_limit_leaves_it_undetermined(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tlc_says(fake, "".join(SEARCHED), "sleep 600")
    assert main(["tlc", "single-voter", "--max-seconds", "2", "--json"]) == 3
    found = report(capsys)
    assert found["status"] == "undetermined" and isinstance(found["tlc"], dict)
    assert found["tlc"]["limit"] == "TLC reached max_seconds"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Error: Could not find or load main class tlc2.TLC\n", "TLC cannot be run: "),
        (
            SEARCHED[0] + message(3002, "Parsing or semantic analysis failed.", 1),
            "TLC does not take the modules",
        ),
    ],
)
def test_tlc_that_does_not_begin_is_bad_input(
    said: str, told: str, fake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tlc_says(fake, said, "exit 1")
    assert main(["tlc", "single-voter"]) == 2
    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_is_told_and_leaves_nothing(number: signal.Signals, fake: Path) -> None:
    temporary = fake / "temporary"
    temporary.mkdir()
    tlc_says(fake, "".join(SEARCHED), f"sleep 600 &\necho $! > '{fake}/child'\nwait")
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "kraftcheck", "tlc", "single-voter"]
    process = subprocess.Popen(
        command,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        # Tests that run in the background inherit that SIGINT is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    child = fake / "child"
    for _ in range(600):
        if child.exists() and child.read_text().strip():
            break
        time.sleep(0.1)
    process.send_signal(number)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (3, "kraftcheck: interrupted.\n")
    assert gone(int(child.read_text()))
    assert not [each for each in temporary.iterdir() if each.name.startswith("kraftcheck-tlc-")]


@pytest.mark.slow
def test_two_runs_at_a_time_answer_in_order(fake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first run of TLC waits until the second one is there, and ends after it."""
    first = f"[ ! -e '{fake}/first' ] && touch '{fake}/first'"
    wait = f"for n in $(seq 400); do [ -e '{fake}/second' ] && sleep 0.2 && exit 0; sleep 0.05; done; exit 1"
    tlc_says(fake, FOUND, f"if {first}; then {wait}; fi; touch '{fake}/second'")
    names = ["single-voter", "finding-single-voter-power-loss"]
    assert main(["tlc", *names, "--states", "0", "--jobs", "2", "--json"]) == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(each["name"], each["status"]) for each in found] == list(
        zip(names, ("same", "differs"), strict=True)
    )


def test_bad_input_is_told_after_the_comparisons_before_it(
    fake: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask_one(scenario: Scenario, modules: Modules, wanted: Wanted, report: Report) -> Question:
        if scenario.name != "single-voter":
            raise InputError("no such thing.")
        return ask(scenario, modules, wanted, report)

    monkeypatch.setattr("kraftcheck.cli.commands.tlc.ask", ask_one)
    tlc_says(fake, FOUND)
    command = ["tlc", "single-voter", "finding-single-voter-power-loss", "--jobs", "2", "--states", "0"]
    assert main(command) == 2
    out, error = capsys.readouterr()
    assert "single-voter" in out and "no such thing" in error


HOLDS = Answer(10, 20, 5, (), None, 1.0)
BROKEN = Answer(7, 9, 3, ("A", "B"), 3, 1.0)


@pytest.mark.parametrize(
    ("ours", "theirs", "count"),
    [
        (HOLDS, HOLDS, 0),
        (HOLDS, Answer(10, 21, 5, (), None, 9.0), 0),
        (HOLDS, Answer(11, 20, 6, (), None, 1.0), 2),
        (HOLDS, Answer(10, 20, None, (), None, 1.0), 1),
        (HOLDS, BROKEN, 1),
        (BROKEN, Answer(5, 9, 2, ("B",), 3, 1.0), 0),
        (BROKEN, Answer(5, 9, 2, ("C",), 3, 1.0), 1),
        (BROKEN, Answer(5, 9, 2, ("A",), 4, 1.0), 1),
        (HOLDS, Answer(11, 20, 5, (), None, 1.0, "TLC reached max_seconds"), 0),
    ],
)
def test_what_counts_as_a_difference(ours: Answer, theirs: Answer, count: int) -> None:
    assert len(differences(ours, theirs)) == count


def test_with_several_workers_depth_and_steps_are_not_compared() -> None:
    assert not differences(HOLDS, Answer(10, 20, 6, (), None, 1.0, exact=False))
    assert not differences(BROKEN, Answer(10, 20, 6, ("C",), 8, 1.0, exact=False))
    assert differences(HOLDS, Answer(11, 20, 5, (), None, 1.0, exact=False))
