"""Spark's session: which one it is, its errors as sentences, its end, and the progress line."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kraftcheck.pipeline import progress
from kraftcheck.pipeline.daemon import without_archives
from kraftcheck.pipeline.errors import in_a_sentence, start_sentence
from kraftcheck.pipeline.session import chosen_master, settings_of, spark_session
from kraftcheck.support.errors import InputError
from tests.house.processes import of_processes

ROOT = str(Path(__file__).parents[2])
TASK = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "worker.py", line 9, in main
    process()
KeyError: 'first'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "executor.py", line 7, in run
    raise InputError("that is bad.")
"""
STAGE = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task "
    "0.0 in stage 1.0 (TID 1) (here executor driver): java.io.IOException: No space left on device\n"
    "\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)\n\nDriver stacktrace:"
)
CAUSED = "it failed\n\tat x.Y\nCaused by: a.B: no\nCaused by: java.lang.OutOfMemoryError: Java heap space"
YARN = "When running with master 'yarn' either HADOOP_CONF_DIR or YARN_CONF_DIR must be set"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TASK + "kraftcheck.support.errors.InputError: that is bad.\n", "that is bad."),
        (TASK + "ValueError: 7\n\n\tat org.apache.Some.java", "a task of Spark failed: ValueError: 7; "),
        (TASK + "AssertionError\n", "a task of Spark failed: AssertionError; "),
        (STAGE, "Spark failed: No space left on device; "),
        (CAUSED, "Spark failed: OutOfMemoryError: Java heap space; "),
        ("[TABLE_NOT_FOUND] There is none.\n\tat x.Y", "Spark failed: [TABLE_NOT_FOUND] There is none; "),
        ("[NOT_FOUND] None: file:/x. SQLSTATE: 42K03", "Spark failed: [NOT_FOUND] None: file:/x; "),
    ],
)
def test_an_error_is_one_sentence(text: str, said: str) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(InputError) as caught, in_a_sentence():
        raise PySparkException(text)
    sentence = str(caught.value)
    assert sentence.startswith(said) and "\n" not in sentence and sentence.endswith(".")
    assert ("spark.log.level" in sentence) == (said != "that is bad.")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("printed", "why"),
    [
        (['Exception in thread "main" a.b.SparkException: no such master at all'], "no such master at all"),
        (["WARNING: incubator", "", "Too small maximum heap"], "Too small maximum heap"),
        (["10:00:00 ERROR Backend: It was killed. Reason: no master"], "It was killed. Reason: no master"),
        ([f'Exception in thread "main" a.b.SparkException: {YARN}'], YARN),
    ],
)
def test_why_spark_does_not_start(printed: list[str], why: str) -> None:
    from pyspark.errors import PySparkRuntimeError

    error = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    assert start_sentence(error, printed) == f"Spark does not start: {why}."
    named = f"Spark does not start on spark://x:1: {why}; is a cluster there? See --master."
    assert start_sentence(error, printed, "spark://x:1") == named


@pytest.mark.spark
def test_errors_of_a_running_session(spark: Any) -> None:
    def fail(batches: Any) -> Any:
        raise InputError("the task does not like it.")

    with pytest.raises(InputError, match=r"^the task does not like it\.$"), in_a_sentence():
        spark.range(3).mapInArrow(fail, "id bigint").collect()
    with pytest.raises(InputError, match=r"^Spark failed: .*DIVIDE_BY_ZERO"), in_a_sentence():
        spark.range(3).selectExpr("1 / id").collect()


@pytest.mark.spark
def test_an_error_that_an_interrupt_caused_is_an_interrupt(
    spark: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(KeyboardInterrupt), in_a_sentence():
        try:
            raise KeyboardInterrupt
        finally:
            raise InputError("no answer.")
    for text in ("KeyboardInterrupt while sending command.", "something else"):
        logging.error(text)
    assert [record.msg for record in caplog.records] == ["something else"]


# Which session.


def test_settings_are_words_of_spark() -> None:
    assert settings_of(["spark.executor.memory=2g", "spark.a=b=c"]) == {
        "spark.executor.memory": "2g",
        "spark.a": "b=c",
    }
    for wrong in ("spark.executor.memory", "memory=2g", "=", ""):
        with pytest.raises(InputError, match=r"expected spark\.KEY=VALUE"):
            settings_of([wrong])


def test_the_master_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("MASTER", "local[3]")
    given = {"spark.master": "local[2]"}
    assert chosen_master("local[1]", given) == "local[1]"
    assert chosen_master(None, given) == "local[2]"
    assert chosen_master(None, {}) == "local[3]"
    for master, settings, place in (
        ("mesos://x", {}, "--master"),
        (None, {"spark.master": "mesos://x"}, "--conf spark.master"),
    ):
        with pytest.raises(InputError, match=f"^{place}: expected local"):
            chosen_master(master, settings)
    monkeypatch.setenv("MASTER", "mesos://x")
    with pytest.raises(InputError, match=r"^the variable MASTER: expected local"):
        chosen_master(None, {})
    monkeypatch.delenv("MASTER")
    assert chosen_master(None, {}) == "local[*]"
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert chosen_master(None, {}) is None


def test_without_pyspark_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'kraftcheck\[spark\]'"), spark_session("tests"):
        pass


@pytest.mark.parametrize("missing", [None, "pyspark", "py4j"])
def test_archives_leave_the_path_of_workers_where_packages_are_installed(
    tmp_path: Path, missing: str | None
) -> None:
    for name in {"pyspark", "py4j"} - {missing}:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    path = ["", "/spark/pyspark.zip", "/spark/jars/spark-core.jar", str(tmp_path)]
    assert without_archives(path) == (path if missing else ["", str(tmp_path)])


@pytest.mark.spark
def test_workers_of_a_local_session_have_no_archives(spark: Any) -> None:
    def paths(_: Any) -> list[str]:
        return [entry for entry in sys.path if entry.endswith((".jar", ".zip"))]

    assert spark.sparkContext.parallelize([0], 1).flatMap(paths).collect() == []


# The whole, in processes of their own.


@contextmanager
def _command(*words: str, mark: str = "") -> Iterator[subprocess.Popen[str]]:
    quick = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    settings = [f"--conf={each}" for each in (quick, "spark.ui.enabled=false", "spark.driver.host=127.0.0.1")]
    kept = {name: value for name, value in os.environ.items() if "_CONF_DIR" not in name}
    with subprocess.Popen(
        [sys.executable, "-m", "kraftcheck", "pipeline", *words, *settings],
        env={**kept, "PYTHONPATH": ROOT, "KRAFTCHECK_TEST": mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A group of its own, all of which a terminal would tell.
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        yield process


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--master local[1] --conf spark.driver.memory=much", "Invalid maximum heap size"),
        ("--master local[1] --conf spark.pyspark.python=/none", "No such file or directory"),
        pytest.param("--master yarn", "HADOOP_CONF_DIR", marks=pytest.mark.nightly),
        pytest.param(
            "--master local[1] --conf spark.serializer=no.Such",
            "ClassNotFoundException: no.Such",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_a_session_that_cannot_be_had(tmp_path: Path, options: str, sentence: str) -> None:
    campaign = ("campaign", "--scenario", "single-voter", "--results", str(tmp_path / "results"))
    with _command(*campaign, *options.split()) as process:
        out, err = process.communicate(timeout=240)
    assert (process.returncode, out) == (2, "")
    assert sentence in err and err.startswith("kraftcheck: ") and err.count("\n") == 1


@pytest.mark.spark
@pytest.mark.slow
def test_ctrl_c_in_the_middle(tmp_path: Path) -> None:
    results = tmp_path / "results"
    large = ("campaign", "--scenario", "bench-three-voters")
    with _command(*large, "--results", str(results), "--master", "local[2]") as process:
        # The plan is complete; the only cell begins.
        while not any(results.glob("plans/[0-9]*")) and process.poll() is None:
            time.sleep(0.5)
        time.sleep(2)
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 3 and out == ""
    assert err.splitlines()[0] == "1 cells, of which 0 are finished"
    assert err.splitlines()[1:] == ["kraftcheck: interrupted."]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "group"),
    [(signal.SIGINT, True), pytest.param(signal.SIGTERM, False, marks=pytest.mark.nightly)],
)
def test_a_signal_while_spark_starts_leaves_nothing_behind(
    tmp_path: Path, number: signal.Signals, group: bool
) -> None:
    mark = str(tmp_path)
    with _command("campaign", "--report", mark, "--master", "local[1]", mark=mark) as process:
        while len(_with(mark)) < 2 and process.poll() is None:
            time.sleep(0.1)
        # The Java process is there, and does not listen yet.
        time.sleep(0.7)
        (os.killpg if group else os.kill)(process.pid, number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (3, "", "kraftcheck: interrupted.\n")
    until = time.monotonic() + 30
    while _with(mark) and time.monotonic() < until:
        time.sleep(0.2)
    assert _with(mark) == []


def _with(mark: str) -> list[int]:
    """The processes whose environment has ``mark``."""
    return [pid for pid, environ in of_processes("environ") if f"KRAFTCHECK_TEST={mark}".encode() in environ]


# The progress line.


class Tracker:
    """Two stages run, one of which has just ended."""

    def getActiveStageIds(self) -> list[int]:
        return [3, 4, 5]

    def getStageInfo(self, stage: int) -> SimpleNamespace | None:
        if stage == 4:
            return None
        return SimpleNamespace(stageId=stage, numTasks=1000 * stage, numCompletedTasks=stage)


def test_the_progress_line_counts_the_tasks_of_all_stages_that_run() -> None:
    tracker: Any = Tracker()
    assert progress.line("logs", tracker) == "logs (8 of 8,000 tasks of stage 5)"
    idle: Any = SimpleNamespace(getActiveStageIds=list)
    assert progress.line("logs", idle) == "logs"


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_has_a_progress_line(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "_SECONDS", 0.01)
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1" if terminal else "")
    asked: list[str] = []

    def noted(what: str, tracker: Any) -> str:
        asked.append(what)
        raise OSError("Spark is ending.")

    monkeypatch.setattr(progress, "line", noted)
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=Tracker))
    with progress.progress(session, "logs") as tell:
        tell("more logs")
        deadline = time.monotonic() + 10
        while terminal and len(asked) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
    captured = capsys.readouterr()
    assert captured.out == "" and ("more logs" in captured.err) == terminal
    assert not terminal or set(asked) <= {"logs …", "more logs"}
