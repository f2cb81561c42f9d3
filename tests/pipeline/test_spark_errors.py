"""Errors of Spark become one sentence."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.pipeline.session import sql_settings
from kraftcheck.pipeline.spark_errors import in_a_sentence, interrupts_first, quiet_gateway
from kraftcheck.pipeline.virtual_machine import Printed
from kraftcheck.support.errors import InputError

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


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TASK + "kraftcheck.support.errors.InputError: that is bad.\n", "that is bad."),
        (
            TASK + "ValueError: 7\n\n\tat org.apache.Some.java",
            "a task of Spark failed: ValueError: 7; ",
        ),
        (TASK + "AssertionError\n", "a task of Spark failed: AssertionError; "),
        (STAGE, "Spark could not do it: No space left on device; "),
        (
            "it failed\n\tat x.Y\nCaused by: a.B: no\nCaused by: java.lang.OutOfMemoryError: Java heap space",
            "could not do it: OutOfMemoryError: Java heap space; ",
        ),
        ("[TABLE_NOT_FOUND] There is none.\n\tat x.Y", "could not do it: [TABLE_NOT_FOUND] There is none; "),
        ("[NOT_FOUND] None: file:/x. SQLSTATE: 42K03", "could not do it: [NOT_FOUND] None: file:/x; "),
    ],
)
def test_what_happened_is_in_the_sentence(text: str, said: str) -> None:
    pytest.importorskip("pyspark")
    from pyspark.errors import PySparkException

    with pytest.raises(InputError) as caught, in_a_sentence():
        raise PySparkException(text)
    sentence = str(caught.value)
    assert said in sentence and "\n" not in sentence and sentence.endswith(".")
    assert ("spark.log.level" in sentence) == (said != "that is bad.")


@pytest.mark.spark
@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (['Exception in thread "main" a.b.SparkException: no such master at all'], "no such master at all"),
        (["WARNING: incubator", "", "Too small maximum heap"], "Too small maximum heap"),
        (["10:00:00 ERROR Backend: It was killed. Reason: no master"], "It was killed. Reason: no master"),
    ],
)
def test_why_spark_does_not_start(said: list[str], reason: str) -> None:
    pytest.importorskip("pyspark")
    from pyspark.errors import PySparkRuntimeError

    from kraftcheck.pipeline.spark_errors import start_sentence

    error = PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
    assert start_sentence(error, said) == f"Spark does not start: {reason}."
    named = f"Spark does not start on spark://x:1: {reason}; is a cluster there? See --master."
    assert start_sentence(error, said, "spark://x:1") == named


@pytest.mark.spark
def test_a_real_error_of_spark(spark: Any) -> None:
    def fail(batches: Any) -> Any:
        raise InputError("the task does not like it.")

    with pytest.raises(InputError, match=r"^the task does not like it\.$"), in_a_sentence():
        spark.range(3).mapInArrow(fail, "id bigint").collect()
    with (
        sql_settings(spark, {"spark.sql.ansi.enabled": "true"}),
        pytest.raises(InputError, match="DIVIDE_BY_ZERO"),
        in_a_sentence(),
    ):
        spark.range(3).selectExpr("1 / id").collect()
    assert spark.conf.get("spark.sql.ansi.enabled") == "true"


def test_what_the_machine_prints_is_kept_until_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    receive, send = os.pipe()
    printed = Printed()
    os.write(send, b"one\ntwo\nhalf")
    os.close(send)
    printed.read(receive)
    assert printed.until_end() == ["one", "two"]
    for act, shown in ((printed.hand_on, "later\n"), (printed.leave_out, "")):
        act()
        receive, send = os.pipe()
        os.write(send, b"later\n")
        os.close(send)
        printed.read(receive)
        captured = capsys.readouterr()
        assert (captured.out, captured.err) == ("", shown)
    assert list(printed.lines) == ["one", "two"]


def test_what_the_gateway_logs_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with quiet_gateway():
        for text in ("KeyboardInterrupt while sending command.", "something else"):
            logging.error(text)
    logging.error("Exception while sending command.")
    assert [record.msg for record in caplog.records] == ["something else", "Exception while sending command."]


def test_an_error_that_an_interrupt_led_to_is_an_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt), interrupts_first():
        try:
            raise KeyboardInterrupt
        finally:
            raise InputError("no answer.")
    with pytest.raises(InputError), interrupts_first():
        raise InputError("bad.")


def _command(*words: str) -> list[str]:
    settings = ["--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1"]
    return [sys.executable, "-m", "kraftcheck", "pipeline", *words, *settings]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--master", "local[x]"], "Could not parse Master URL: 'local[x]'"),
        (["--master", "yarn"], "either HADOOP_CONF_DIR or YARN_CONF_DIR must be set"),
        (["--master", "local[1]", "--conf", "spark.driver.memory=much"], "Invalid maximum heap size"),
        (["--master", "local[1]", "--conf", "spark.serializer=no.Such"], "ClassNotFoundException: no.Such"),
        (
            ["--master", "local[1]", "--conf", "spark.sql.shuffle.partitions=x"],
            "spark.sql.shuffle.partitions",
        ),
        (["--master", "local[1]", "--conf", "spark.pyspark.python=/none"], "No such file or directory"),
    ],
)
def test_a_session_that_cannot_be_had(options: list[str], said: str, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    results = str(tmp_path / "results")
    environment = {name: value for name, value in os.environ.items() if "_CONF_DIR" not in name}
    done = subprocess.run(
        _command("campaign", "--scenario", "single-voter", "--results", results, *options),
        env={**environment, "PYTHONPATH": ROOT},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert said in done.stderr and done.stderr.startswith("kraftcheck: ") and done.stderr.count("\n") == 1


@pytest.mark.spark
@pytest.mark.slow
def test_ctrl_c_in_the_middle(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    results = tmp_path / "results"
    with subprocess.Popen(
        _command("campaign", "variants", "--results", str(results), "--master", "local[2]"),
        env={**os.environ, "PYTHONPATH": ROOT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A group of its own, all of which a terminal would tell.
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        while not (results / "cells.v3").exists() and process.poll() is None:
            time.sleep(0.5)
        time.sleep(3)
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 3 and out == ""
    assert err.splitlines()[0].endswith("of which 0 are finished")
    assert err.splitlines()[1:] == ["kraftcheck: interrupted."]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("group", [False, True])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_spark_starts_leaves_nothing_behind(
    tmp_path: Path, number: signal.Signals, group: bool
) -> None:
    pytest.importorskip("pyspark")
    with subprocess.Popen(
        _command("campaign", "--report", str(tmp_path), "--master", "local[1]"),
        env={**os.environ, "PYTHONPATH": ROOT, "KRAFTCHECK_TEST": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        mark = f"KRAFTCHECK_TEST={tmp_path}".encode()
        while len(_with(mark)) < 2 and process.poll() is None:
            time.sleep(0.1)
        # The machine is there, and does not listen yet.
        time.sleep(0.7)
        (os.killpg if group else os.kill)(process.pid, number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (3, "", "kraftcheck: interrupted.\n")
    assert _with(mark) == []


def _with(mark: bytes) -> list[str]:
    """The processes whose environment has ``mark``."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            found += [place.parent.name] if mark in place.read_bytes() else []
        except OSError:
            continue
    return found
