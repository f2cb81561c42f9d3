"""Errors of Spark, of its Java process and of its tasks, each as one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kraftcheck.support.errors import InputError

_MORE = "--conf spark.log.level=ERROR tells more"
#: Characters of a reason that are shown, and causes of causes that are followed.
_LONGEST, _DEEPEST = 300, 20
_INPUT_ERROR = f"{InputError.__module__}.{InputError.__name__}"
#: The last lines that Python prints of an exception of a task: its class and the first line of its text.
_PYTHON = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t|].*\n|\n)*([A-Za-z_][\w.]*)(?:: (.*))?")
_JAVA = re.compile(r"(?:^Caused by|most recent failure: .*?\)): ([\w.$]+): (.*)", re.MULTILINE)
#: What a Java process that does not start prints, and what it logs of a cluster that it cannot reach.
_MAIN = re.compile(r'^Exception in thread "main" ([\w.$]+): (.*)', re.MULTILINE)
_LOGGED = re.compile(r" ERROR \S+: (.*)")
#: What Spark adds to its messages for programs.
_STATE = re.compile(r"\.? SQLSTATE: \w{5}\.?$")


def spark_errors() -> tuple[type[Exception], ...]:
    """The exceptions that PySpark raises; it must be installed."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (Py4JError, PySparkException)


@contextmanager
def in_a_sentence() -> Iterator[None]:
    """Raises InputError for an error of Spark or of a task, and KeyboardInterrupt for any error that an
    interrupt caused: PySpark asks Java for something even then, and may get no answer.
    """
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            cause = cause.__context__
        if isinstance(error, spark_errors()):
            raise InputError(sentence(error)) from None
        raise


def sentence(error: BaseException) -> str:
    """The reason of an error; for an InputError of a task its own text."""
    from py4j.protocol import Py4JNetworkError

    if isinstance(error, Py4JNetworkError):
        return "Spark's Java process has ended; has it run out of memory (spark.driver.memory)?"
    if raised := _PYTHON.findall(str(error)):
        name, text = raised[-1]
        if name == _INPUT_ERROR:
            return str(text).strip()
        return f"a task of Spark failed: {_named(name, text)}; {_MORE}."
    return f"Spark failed: {reason(error)}; {_MORE}."


def start_sentence(error: BaseException, printed: Sequence[str], master: str | None = None) -> str:
    """Why Spark does not start. ``printed``: the lines of its Java process; ``master``: a cluster's URL."""
    from py4j.protocol import Py4JNetworkError

    text = "\n".join(printed)
    logged = _LOGGED.findall(text)
    if found := _MAIN.findall(text):
        why = _named(*found[-1])
    elif logged and ("Reason: " in logged[-1] or isinstance(error, Py4JNetworkError)):
        why = _short(logged[-1])
    elif "JAVA_GATEWAY_EXITED" in str(error):
        lines = [line for line in printed if line.strip() and not line.startswith("WARNING:")]
        why = ": ".join(_short(line) for line in lines[:2]) or reason(error)
    else:
        why = reason(error)
    if master is None:
        return f"Spark does not start: {why}."
    return f"Spark does not start on {master}: {why}; is a cluster there? See --master."


def reason(error: BaseException) -> str:
    """The innermost cause of ``error`` on one line, without the stack."""
    found = _JAVA.findall(str(error))
    java: Any = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    for _ in range(_DEEPEST):
        if java is None:
            break
        found.append((java.getClass().getName(), java.getMessage() or ""))
        java = java.getCause()
    if found:
        return _named(*found[-1])
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return _short(lines[0]) if lines else type(error).__name__


def _named(name: str, text: str) -> str:
    """``text`` of the exception ``name``, which stands before a short text that says little by itself."""
    text = _short(text.partition("\n")[0])
    short = re.split(r"[.$]", name)[-1]
    if not text or text == "null":
        return short
    return text if len(text.split()) > 4 else f"{short}: {text}"


def _short(text: str) -> str:
    return _STATE.sub("", " ".join(text.split())).rstrip(".;")[:_LONGEST]
