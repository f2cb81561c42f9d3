"""What the machine does wrong is no verdict: status 1 says that one differs, and nothing else."""

from __future__ import annotations

import errno
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path

import pytest

from kraftcheck.cli.main import COMMANDS, main
from kraftcheck.engine import jit
from kraftcheck.support import cache, failures
from kraftcheck.support.errors import DiskError, InputError
from kraftcheck.support.exit_codes import EXIT_BROKEN_PIPE, EXIT_DIFFERS
from kraftcheck.support.files import TemporaryFolder
from kraftcheck.support.java import find_java
from tests.house.sources import ROOT
from tests.installed import install

FULL = Path("/dev/full")
COMMAND = [sys.executable, "-m", "kraftcheck"]
#: Of each kind of output: help, lists, reports by print and by rich, JSON.
WORDS = [
    "--help",
    "--version",
    "rules VOTE-10",
    "step candidate shutdown",
    "check single-voter --json",
    "check single-voter",
    "simulate single-voter --walks 3",
    "graph single-voter",
    "mutate --list",
    "prove --list",
    "tlc --list",
]
LARGE = [
    "check three-voters-crash",
    "graph three-voters-crash --max-states 1000000",
    # Other processes do their work.
    "mutate vote-not-persisted --jobs 2",
    "prove --refinement two-voters-restart",
    "prove --refinement --mutants vote-not-persisted",
    "tlc single-voter",
]
nightly = partial(pytest.param, marks=pytest.mark.nightly)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, in which nothing may be left."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert [each.name for each in place.iterdir()] == []


def run(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *words], text=True, check=False, cwd=ROOT, **options)  # type: ignore[call-overload, no-any-return]


def sentence_of(err: str) -> str:
    """The one sentence that was said; a fresh checkout also compiles."""
    told = [line for line in err.splitlines() if "compiling" not in line]
    assert len(told) == 1 and told[0].startswith("kraftcheck: "), err
    return told[0].removeprefix("kraftcheck: ")


@pytest.mark.one_in(3)
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [
        *((each, "") for each in WORDS),
        *((each, "1") for each in ("rules VOTE-10", "check single-voter --json")),
        *(nightly(each, "1") for each in WORDS[:2] + WORDS[3:4] + WORDS[5:6]),
    ],
)
def test_output_without_room(words: str, unbuffered: str) -> None:
    with FULL.open("w") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = run(*words.split(), stdout=full, stderr=subprocess.PIPE, env=environment)
    assert done.returncode == 2
    assert sentence_of(done.stderr).startswith("standard output: cannot be written (No space left on device)")


@pytest.mark.slow
@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_nothing_can_be_said() -> None:
    with FULL.open("w") as full:
        assert run("rules", stdout=full, stderr=full).returncode == 2
        assert run("rules", "NOTHING-1", stdout=subprocess.DEVNULL, stderr=full).returncode == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "unbuffered"),
    [("step candidate shutdown", "1"), ("simulate single-voter --walks 3", ""), ("rules --help", "")],
)
def test_the_reader_closes_the_pipe_early(words: str, unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*COMMAND, *words.split()], text=True, env=environment, **pipes) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == EXIT_BROKEN_PIPE


def closing(*numbers: int) -> dict[str, object]:
    return {"preexec_fn": lambda: [os.close(number) for number in numbers]}


def test_closed_output() -> None:
    done = run("rules", stderr=subprocess.PIPE, **closing(1))
    assert done.returncode == 2
    assert sentence_of(done.stderr).startswith("standard output is closed")


@pytest.mark.slow
def test_closed_errors_do_not_get_into_the_output() -> None:
    done = run("step", "candidate", "shutdown", stdout=subprocess.PIPE, **closing(2))
    assert done.returncode == 0 and done.stdout.startswith("\nQuestion")
    done = run("rules", "NOTHING-1", stdout=subprocess.PIPE, **closing(2))
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.slow
def test_closed_input() -> None:
    done = run("step", "-", "shutdown", stdout=subprocess.PIPE, stderr=subprocess.PIPE, **closing(0))
    assert done.returncode == 2 and done.stdout == ""
    sentence_of(done.stderr)


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "megabytes"),
    [
        *(("check three-voters-crash", size) for size in (100, 560)),
        *((words, 400) for words in LARGE),
        *(nightly(words, size) for words in LARGE[1:] for size in (100, 560)),
        *(nightly(words, size) for words in LARGE for size in (300, 500)),
    ],
)
def test_short_memory(words: str, megabytes: int) -> None:
    most = megabytes << 20
    done = run(
        *words.split(),
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
        timeout=100,
    )
    assert done.returncode in (0, 3)
    said = [line for line in done.stderr.splitlines() if "compiling" not in line]
    # Each process that does a part says it.
    assert set(said) <= {f"kraftcheck: {why}" for why in (failures.OUT_OF_MEMORY, failures.KILLED)}
    assert said or done.returncode == 0 or "undetermined" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    ["mutate vote-not-persisted", "tlc --mutants majority-is-half", nightly("bugs KAFKA-12619")],
)
def test_a_mutant_without_room_on_disk_is_no_verdict(words: str) -> None:
    """Nor is a check of ``impact --run``, which is judged by the same function."""
    done = run(
        *words.split(),
        capture_output=True,
        # Python would keep the first 1,000 bytes of a module that it compiles, for all later processes.
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
    )
    assert done.returncode in (2, 3), done.stdout
    assert "Traceback" not in done.stderr


def test_what_the_machine_is_to_blame_for() -> None:
    for error in (MemoryError(), OSError(errno.ENOSPC, "No space"), DiskError("levels: no room.")):
        assert failures.of_the_machine(error)
    for other in (InputError("it is bad."), KeyError("gone"), RecursionError()):
        assert failures.of_the_machine(other) is None


def test_a_folder_that_cannot_be_removed_at_once(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later: list[tuple[object, str]] = []
    monkeypatch.setattr("atexit.register", lambda work, name, **options: later.append((work, name)))

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(tempfile.TemporaryDirectory, "_rmtree", fail)
    with TemporaryFolder():
        (folder,) = temporary.iterdir()
    assert later == [(shutil.rmtree, str(folder))]
    folder.rmdir()


def test_a_java_without_memory(temporary: Path) -> None:
    java = temporary / "java"
    java.write_text("#!/bin/sh\necho 'Error occurred during initialization of VM' >&2\nexit 1\n")
    java.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(MemoryError):
        patch.setenv("PATH", f"{temporary}:{os.environ['PATH']}")
        patch.delenv("JAVA_HOME", raising=False)
        find_java("TLC", 11)
    java.unlink()


Failing = Callable[[BaseException], tuple[int, str]]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Failing:
    """The status of a command that raises an error, and what it says."""

    def failing_with(error: BaseException) -> tuple[int, str]:
        def fail(arguments: object) -> int:
            raise error

        monkeypatch.setattr("kraftcheck.cli.commands.rules.run", fail)
        status = main(["rules"])
        captured = capsys.readouterr()
        assert captured.out == ""
        return status, sentence_of(captured.err)

    return failing_with


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (MemoryError(), 3, "out of memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), 3, "out of memory"),
        (RuntimeError("can't start new thread"), 3, "out of memory"),
        (BrokenProcessPool(), 3, "a process that does part of the work was killed"),
        (KeyboardInterrupt(), 3, "interrupted"),
        (OSError(errno.ENOSPC, "No space left", "a\x1bfile"), 2, "a?file: cannot be read or written (No"),
        (PermissionError(errno.EACCES, "Permission denied"), 2, "a file: cannot be read or written (Perm"),
        (
            SyntaxError("invalid syntax", ("vote.py", 7, 1, "", 7, 2)),
            2,
            "vote.py:7: not valid Python (invalid",
        ),
        (ModuleNotFoundError("No module named 'z3'"), 2, "the installation is incomplete (No module named"),
    ],
)
def test_each_failure_has_its_status(error: BaseException, status: int, says: str, failing: Failing) -> None:
    found, sentence = failing(error)
    assert found == status
    assert sentence.startswith(says)


def test_an_internal_error_is_no_verdict(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, failing: Failing
) -> None:
    status, sentence = failing(TypeError("no \x1b[31msuch"))
    assert status == failures.EXIT_INTERNAL == 70
    (report,) = temporary.iterdir()
    assert str(report) in sentence and "\x1b" not in sentence
    assert "in fail" in report.read_text(encoding="utf-8")
    report.unlink()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / "none"))
    assert failing(TypeError("again"))[0] == 70


@pytest.mark.parametrize("words", ["--version", "-V"])
def test_version(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([words]) == 0
    said = capsys.readouterr().out
    assert said.startswith("kraftcheck ") and "numba" in said and said.count("\n") == 1


def test_only_verdicts_have_status_1() -> None:
    """No command raises ``SystemExit(1)``, or returns a plain 1."""
    assert EXIT_DIFFERS == 1
    for name in COMMANDS:
        text = (ROOT / "model_check" / "cli" / "commands" / f"{name}.py").read_text(encoding="utf-8")
        assert "SystemExit" not in text and "sys.exit" not in text and "return 1\n" not in text


# -- where compiled code is kept ------------------------------------------------------------------


def test_the_private_folder_is_of_this_user_alone(temporary: Path) -> None:
    folder = jit.private_folder()
    assert folder == jit.private_folder() and folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o777)
    with pytest.raises(PermissionError):
        jit.private_folder()
    folder.rmdir()
    # A link, wherever it leads, is not the folder that was created.
    (temporary / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(temporary / "elsewhere")
    with pytest.raises(OSError):
        jit.private_folder()
    folder.unlink()
    (temporary / "elsewhere").rmdir()
    temporary.chmod(0o777)
    with pytest.raises(PermissionError):
        jit.private_folder()


@pytest.mark.parametrize(
    ("above", "mode", "sources", "trusted"),
    [
        (0o755, 0o755, 0o755, True),
        (0o755, 0o757, 0o755, False),
        (0o777, 0o755, 0o755, False),
        (0o1777, 0o755, 0o755, True),
        (0o1777, 0o1777, 0o755, False),
        (0o755, 0o775, 0o755, False),
        (0o775, 0o775, 0o775, True),
    ],
)
def test_compiled_code_is_used_only_where_others_cannot_write(
    above: int, mode: int, sources: int, trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, folder, own = tmp_path / "named", tmp_path / "named" / "cache", tmp_path / "sources"
    for each, its in ((named, above), (folder, mode), (own, sources)):
        each.mkdir()
        each.chmod(its)
    monkeypatch.setattr(cache, "__file__", str(own / "cache.py"))
    assert cache.can_be_trusted(folder) == trusted


def test_a_named_folder_that_others_can_write_is_not_used(
    temporary: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    named = temporary / "named"
    named.mkdir()
    named.chmod(0o777)
    monkeypatch.setattr(jit._CONFIG, "CACHE_DIR", str(named))
    with caplog.at_level("INFO", "kraftcheck"):
        kept = [jit._cache_of(function) for function in (as_another_user, install)]
    assert {str(each.cache_path).startswith(str(jit.private_folder())) for each in kept} == {True}
    told = [line for line in caplog.messages if "is not used, as others can write" in line]
    assert len(told) == len(set(told)) > 0
    shutil.rmtree(jit.private_folder())
    shutil.rmtree(named)


def test_kernels_take_constants_from_files_with_kernels_alone() -> None:
    """Of these files compiled code has a digest: it is compiled anew where one of them has changed."""
    texts = {path.stem: path.read_text() for path in Path(jit.__file__).parent.glob("*.py")}
    kernels = {name: text for name, text in texts.items() if "from kraftcheck.engine.jit import" in text}
    known = {f"kraftcheck.engine.{name}" for name in ("jit", *kernels)}
    assert "expand" in kernels
    for name, text in kernels.items():
        assert set(re.findall(r"from (kraftcheck\S*) import", text)) <= known, name


def as_another_user() -> list[str]:
    """Runs a command as a user who owns nothing here, and may read what is closed to others.

    Skips the test where that is not possible.
    """
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        warnings.warn("NOT RUN: only root, with setpriv, can become another user", stacklevel=1)
        pytest.skip("needs root and setpriv")
    rights = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *rights]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kept", ["nowhere", *map(nightly, ("among the temporary files", "in a named folder"))]
)
def test_an_installation_and_a_home_that_cannot_be_written(kept: str, tmp_path: Path) -> None:
    """By another user, who may write neither the working directory either."""
    other = as_another_user()
    install(tmp_path)
    home, named, shared = tmp_path / "home", tmp_path / "named", tmp_path / "tmp"
    home.mkdir()
    for each in (named, shared):
        each.mkdir()
        # What others may rename is not trusted: a folder for temporary files has the sticky bit.
        each.chmod(0o777 if kept == "nowhere" else 0o1777)
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(tmp_path), "TMPDIR": str(shared)}
    environment.pop("XDG_CACHE_HOME", None)
    environment["NUMBA_OPT"] = "1"  # Compiles in less time; without any optimization nothing is kept.
    if kept == "in a named folder":
        environment["NUMBA_CACHE_DIR"] = str(named)

    def check() -> subprocess.CompletedProcess[str]:
        command = [*other, *COMMAND, "check", "single-voter"]
        return subprocess.run(command, env=environment, cwd=home, capture_output=True, text=True, check=False)

    done = check()
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("kraftcheck: compiling") and done.stderr.count("\n") == 1
    places = {"among the temporary files": shared, "in a named folder": named, "nowhere": "not kept"}
    assert str(places[kept]) in done.stderr
    if kept == "nowhere":
        assert list(shared.iterdir()) == []
    else:
        again = check()
        assert (again.returncode, again.stderr) == (0, "")
