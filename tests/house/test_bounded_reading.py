"""Whatever a file from outside is, reading it ends soon, and one sentence says what is wrong with it."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.cli.main import main
from kraftcheck.evidence.recordings import recording
from kraftcheck.support import files, gzip_lines
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text
from kraftcheck.systems.scenario import parse

SCENARIO = """
name = "good"
about = "a good one"
replicas = { voters = [1] }
expect = { verdict = "holds" }
"""
#: Commands and the files that they take.
COMMANDS = (
    ["check", "FILE"],
    ["simulate", "FILE"],
    ["hunt", "FILE", "-o", "FOLDER"],
    ["graph", "FILE"],
    ["trace", "show", "FILE"],
    ["trace", "replay", "FILE"],
    ["tlc", "--trace", "FILE"],
    ["step", "@FILE", "poll"],
    ["conform", "FILE"],
    ["logs", "FILE"],
    ["rules", "--count", "FILE", "-o", "REPORT"],
)


def _pipe(place: Path) -> str:
    os.mkfifo(place / "pipe")
    return str(place / "pipe")


def _huge(place: Path) -> str:
    """A file of holes."""
    with (place / "huge").open("wb") as file:
        file.truncate(2**30)
    return str(place / "huge")


HOSTILE: dict[str, Callable[[Path], str]] = {
    "a pipe without a writer": _pipe,
    "an endless device": lambda place: "/dev/zero",
    "a folder": lambda place: f"{place}/",
    "a name that is too long": lambda place: f"{place}/{'x' * 5_000}",
    "a huge file": _huge,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        pytest.param(kind, words, id=f"{kind}-{' '.join(words)}")
        for kind in HOSTILE
        for words in COMMANDS
        if (kind, words[0]) != ("a huge file", "logs")  # Logs may be of any size.
    ],
)
def test_each_command_refuses_it_at_once(
    kind: str,
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "WRITER_SECONDS", 0.1)
    name = HOSTILE[kind](tmp_path)
    begin = time.monotonic()
    assert main([word.replace("FILE", name) for word in words]) == 2
    assert time.monotonic() - begin < 20
    out, error = capsys.readouterr()
    assert out == "" and error.count("\n") == 1 and error.endswith(".\n") and len(error) < 900
    assert not (tmp_path / "REPORT").exists()


def test_a_pipe_with_a_writer_is_read(tmp_path: Path) -> None:
    pipe = Path(_pipe(tmp_path))
    writer = threading.Thread(target=lambda: pipe.write_text(SCENARIO))
    writer.start()
    assert read_text(pipe, "a scenario file") == SCENARIO
    writer.join()


@pytest.mark.slow
def test_a_writer_may_take_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "WRITER_SECONDS", 0.1)
    read, write = os.pipe()

    def late() -> None:
        time.sleep(0.5)
        os.write(write, b"late")
        os.close(write)

    threading.Thread(target=late).start()
    assert read_text(Path(f"/dev/fd/{read}"), "a scenario file") == "late"
    os.close(read)


@pytest.mark.slow
def test_a_closed_standard_input_is_bad_input() -> None:
    command = [sys.executable, "-m", "kraftcheck", "trace", "replay", "-"]
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (
        2,
        "kraftcheck: standard input: is closed; give a trace file there.\n",
    )


def test_byte_order_marks(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"\xef\xbb\xbfname")
    assert read_text(file, "a scenario file") == "name"
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        file.write_bytes(("\ufeff" * (encoding != "utf-16") + SCENARIO).encode(encoding))
        with pytest.raises(InputError, match="UTF-16"):
            read_text(file, "a scenario file")


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 100_000 + " = 1",
        '"a b"' + ' . "a b"' * 50_000 + " = 1",
        "x = { a" + ".a" * 100_000 + " = 1 }",
        "[a" + ".a" * 100_000 + "]",
        "x = " + "[" * 400_000,
        "x = " + "{ a = " * 100_000,
        SCENARIO + f"budgets = {{ timers = {'9' * 10_000} }}",
        SCENARIO + f"budgets = {{ timers = 0x{'f' * 50_000} }}",
        SCENARIO + "budgets = { timers = nan }",
        SCENARIO + "budgets = { timers = 1e999999 }",
        SCENARIO + f"check = {{ goals = ['{'g' * 100_000}'] }}",
        SCENARIO.replace("good", "g" * 100_000),
        SCENARIO + "'\\ud800' = 1",
    ],
    ids=range(13),
)
def test_a_hostile_scenario_is_refused_at_once(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hostile.toml"
    file.write_text(text)
    begin = time.monotonic()
    assert main(["check", str(file)]) == 2
    assert time.monotonic() - begin < 10
    error = capsys.readouterr().err
    assert error.count("\n") <= 3 and len(error) < 900 and "docs/scenarios.md" in error


@given(st.integers(101, 3_000), st.sampled_from(["a", '"."', "'a b'", '"\\""', "\u2028a"]))
def test_no_key_of_many_parts_reaches_the_parser(parts: int, part: str) -> None:
    with pytest.raises(InputError, match="dots"):
        parse(SCENARIO + ".".join([part] * (parts + 1)) + " = 1", "file")


def _run(folder: Path, content: bytes) -> Path:
    (folder / "run.json").write_text('{"run": "x", "events": 1}')
    with gzip.open(folder / "trace.jsonl.gz", "wb") as file:
        file.write(content)
    return folder


@pytest.mark.slow
def test_a_recording_is_read_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"line 1: longer than 1,048,576 bytes"):
        recording.read(_run(tmp_path, b"\0" * 2**25))
    line = b'{"seq": 0, "t": 0, "ev": "note", "x": "' + b"x" * 10**6 + b'"}\n'
    monkeypatch.setattr(recording._Reading, "take", lambda self, shown, where: None)
    with pytest.raises(InputError, match=r"line 17: the file is compressed more than 200 times"):
        recording.read(_run(tmp_path, line * 30))
    monkeypatch.setattr(gzip_lines, "MAX_BYTES", 10**7)
    with pytest.raises(InputError, match=r"line 10: .* take more than 10,000,000 bytes"):
        recording.read(_run(tmp_path, line * 30))


@pytest.mark.slow
def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    """300 MB in a file of 300 KB, as the events of a run and as a log."""
    with gzip.open(tmp_path / "trace.jsonl.gz", "wb") as file:
        for _ in range(300):
            file.write(b"\0" * 10**6)
    (tmp_path / "run.json").write_text('{"run": "x", "events": 1}')
    (tmp_path / "server.log.gz").write_bytes((tmp_path / "trace.jsonl.gz").read_bytes())
    for words in (["conform", "."], ["logs", "server.log.gz"]):
        code = (
            "import re, sys; from kraftcheck.cli.main import main; status = main(sys.argv[1:]);"
            "print(status, re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        status, kilobytes = map(int, done.stdout.split())
        assert status == 2 and kilobytes < 150_000, done.stderr
