"""An adapter that does not keep to the protocol: one sentence, exit status 2, and nothing left running."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.cli.main import main
from kraftcheck.evidence.adapters.stimuli import Start
from kraftcheck.reference.events import Poll
from kraftcheck.support.line_process import shown as show_line
from tests.evidence.adapters.broken_adapter import HELLO
from tests.evidence.adapters.in_process import Answering, install, write_sequence

NEEDS_PROC = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(),
    reason="what becomes of a process is read from /proc, which only Linux has",
)

ADAPTER = Path(__file__).with_name("broken_adapter.py")

#: A process that goes wrong, and the sentence on it.
PROCESSES = {
    "silent-greeting": "gave no answer within 0.5 s, in the handshake",
    "silent": "gave no answer within 0.5 s",
    "dies": "exit code 7, in step 1 of a start (start); the end of its standard error: first line / segmen",
    "is-killed": "was ended by signal SIGKILL",
    "closes-its-output": "closed its output",
    "chatters": "the end of the chatter",
    "not-utf8": "sent a line that is not UTF-8",
    "no-line-break": "sent more than 1 MiB without a line break",
}
GOOD = {"id": 1, "effects": [], "state": {}}
NONE = {"events": [], "effects": [], "state": []}
#: The first wrong line, changes of the greeting or an answer to the first step, and what is said of it.
LINES: dict[str, tuple[dict[str, Any] | str, str]] = {
    "other version": ({"protocol": 2}, "speaks version 2 of the drive protocol, and this is version 1"),
    "no capabilities": ({"capabilities": None}, "field 'capabilities' must be an object"),
    "unknown capability": (
        {"capabilities": NONE | {"events": ["start", "dance"]}},
        "capabilities.events: expected names of start, request",
    ),
    "no start": ({"capabilities": NONE}, "an adapter without 'start' cannot be driven"),
    "not JSON": ("Starting up...", "not JSON at line 1, column 1"),
    "pretty-printed": (
        "{",
        "the line begins '{' and has no end: an answer is one object on one line, in step 1 of",
    ),
    "ends in the middle": (json.dumps(GOOD)[:-3], "has no end: an answer is one object on one line"),
    "escape codes": ("\x1b[31m\x07", r"the line begins '\x1b[31m\x07', in step 1 of a start (start)."),
    "a number of no field": (
        json.dumps(GOOD | {"effects": [{"effect": "flush", "to": 2**63}]}),
        "answer 1: the number 9223372036854775808 has more than 64 bits",
    ),
    "wrong id": ('{"id": 99}', "answered question 99 when asked question 1"),
    "no id": ("{}", "field 'id' is missing"),
    "an array": ("[1]", "expected a JSON object, found a list"),
    "effects no list": ('{"id": 1, "effects": 5}', "field 'effects' must be a list"),
    "unknown effect": (
        '{"id": 1, "effects": [{"effect": "smile"}]}',
        "effects[0].effect: expected one of persist",
    ),
    "state no object": ('{"id": 1, "effects": [], "state": []}', "field 'state' must be an object"),
    "a huge number": ('{"id": ' + "9" * 10_000 + "}", "too many digits"),
    "deep": ("[" * 100_000, "nested too deeply"),
    "a key twice": ('{"id": 1, "id": 1}', "the key 'id' is given twice"),
    "an error": ('{"id": 1, "error": "no such store"}', "answered with an error: no such store"),
}


@pytest.fixture
def sequence(tmp_path: Path) -> str:
    return write_sequence(tmp_path / "sequence.json", "a start", Start(), Poll())


def drive(*words: str, sequence: str, timeout: str = "5") -> int:
    command = shlex.join([sys.executable, str(ADAPTER), *words])
    return main(["drive", "--adapter", command, "--traces", sequence, "--timeout", timeout])


def require_sentence(capsys: pytest.CaptureFixture[str], sentence: str) -> None:
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.startswith("kraftcheck: the adapter ")
    assert captured.err.count("\n") == 1
    assert not captured.out


@pytest.mark.slow
@pytest.mark.parametrize("way", PROCESSES)
def test_each_process_has_its_sentence(
    way: str, sequence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kraftcheck.support.line_process.MAX_LINE_BYTES", 2**20)
    monkeypatch.setattr("kraftcheck.support.line_process.GRACE_SECONDS", 0.2)
    assert drive(way, sequence=sequence, timeout="0.5" if "silent" in way else "5") == 2
    require_sentence(capsys, PROCESSES[way])


@pytest.mark.parametrize("wrong", LINES)
def test_each_line_has_its_sentence(
    wrong: str, sequence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said, sentence = LINES[wrong]
    hello = HELLO | said if isinstance(said, dict) else HELLO
    answers = iter([json.dumps(hello), said])
    install(monkeypatch, Answering(lambda _: str(next(answers))))
    assert main(["drive", "--adapter", "x", "--traces", sequence]) == 2
    require_sentence(capsys, sentence)


@pytest.mark.parametrize("way", ["extra-line", "extra-no-break-space", "extra-blanks-and-more"])
def test_an_extra_line_is_noticed(way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Either the end of the line or the next question is read first."""
    path = write_sequence(tmp_path / "sequence.json", "x", Poll(), Start(), Start())
    assert drive(way, sequence=path) in (1, 2)
    captured = capsys.readouterr()
    assert "Difference" in captured.out or "no question asked for" in captured.err
    assert captured.err.count("\n") == bool(captured.err)


@given(data=st.binary(max_size=300) | st.text("\u00a0\u2028\x1c\t x", max_size=300).map(str.encode))
def test_any_bytes_can_be_shown(data: bytes) -> None:
    shown = show_line(data)
    assert shown.isprintable() and len(shown) <= 82
    assert shown[0] == shown[-1] == "'"
    if data.strip():
        assert len(shown) > 2


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("/no/such/program", "cannot be run"),
        ("", "the command is empty"),
        ("a 'b", "cannot be split"),
        ("x\0y", "cannot be run"),
    ],
)
def test_a_command_that_cannot_be_run(
    command: str, sentence: str, sequence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drive", "--adapter", command, "--traces", sequence]) == 2
    assert sentence in capsys.readouterr().err


def is_running(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return status not in ("Z", "X")


def wait_until_gone(*pids: int) -> bool:
    for _ in range(100):
        if not any(map(is_running, pids)):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.slow
@NEEDS_PROC
def test_an_adapter_that_ignores_its_end_is_ended_with_its_children(
    sequence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kraftcheck.support.line_process.GRACE_SECONDS", 0.2)
    pids = tmp_path / "pids"
    assert drive("ignores-its-end", str(pids), sequence=sequence) == 2
    assert wait_until_gone(*map(int, pids.read_text().split()))


@NEEDS_PROC
@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_child(sent: signal.Signals, sequence: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    # After its answer the adapter sleeps; the handshake's time-out is far away.
    script = tmp_path / "sleeper.py"
    script.write_text(
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(pids)!r} + '.part', 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        f"os.rename({str(pids)!r} + '.part', {str(pids)!r})\n"
        "time.sleep(600)\n"
    )
    command = shlex.join([sys.executable, str(script)])
    words = [sys.executable, "-m", "kraftcheck", "drive", "--adapter", command, "--traces", sequence]
    run = subprocess.Popen(
        [*words, "--timeout", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Where the tests run in the background a shell may have told them to ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        for _ in range(1200):
            if pids.exists():
                break
            time.sleep(0.05)
        os.kill(run.pid, sent)
        run.communicate(timeout=60)
    finally:
        run.kill()
    assert run.returncode == 3
    assert wait_until_gone(*map(int, pids.read_text().split()))
