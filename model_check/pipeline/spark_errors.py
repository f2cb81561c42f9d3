"""What Spark, its Java virtual machine and its tasks say of an error, in one sentence."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kraftcheck.support.errors import InputError

#: How to see all that Spark has to say.
MORE = "--conf spark.log.level=ERROR tells more"
_MOST = 300
_DEPTH = 20
_INPUT_ERROR = f"{InputError.__module__}.{InputError.__name__}"
#: The end of what Python prints of an exception: its class and the first line of its text.
_PYTHON = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t|].*\n|\n)*([A-Za-z_][\w.]*)(?:: (.*))?")
#: What a virtual machine that does not come up says of why.
_NO_MACHINE = re.compile(r'^Exception in thread "main" ([\w.$]+): (.*)', re.MULTILINE)
_FROM_TASK = re.compile(r"most recent failure: .*?\): ([\w.$]+): (.*)")
_CAUSED = re.compile(r"^Caused by: ([\w.$]+): (.*)", re.MULTILINE)
#: The scheduler of a cluster that cannot be had.
_ERROR = re.compile(r" ERROR \S+: (.*)")
_REASON = re.compile(r" ERROR .*?: (.*Reason: .*)")
#: What to do about a file that is not as it was written, where no pipeline knows better.
REPAIR = "remove the folder that it is in, and run again what made it"
#: A file of a data set that a task could not read.
_FILE = re.compile(r"\[FAILED_READ_FILE[.\w]*\].*? file:?\s+(?:file:/*(?=/))?(\S+\.parquet)\b")
#: What says that it is there and may be read.
_DAMAGE = re.compile(
    r"(Checksum error|is not a Parquet file|Could not read footer|corrupt|magic number|ParquetDecoding|"
    r"EOFException|Reached the end of stream|can not read class|Required field|COLUMN_DATA_TYPE_MISMATCH)",
    re.IGNORECASE,
)
#: What Spark puts after its sentence for programs.
_FOR_PROGRAMS = re.compile(r"\.? SQLSTATE: \w{5}\.?$")


def spark_errors() -> tuple[type[Exception], ...]:
    """The exceptions that Spark raises; PySpark is there."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (Py4JError, PySparkException)


@contextmanager
def in_a_sentence(repair: str = REPAIR) -> Iterator[None]:
    """Raises InputError for an error of Spark, or of one of its tasks, that comes out of the context.

    ``repair``: what to do about a file of a data set that is not as it was written.
    """
    try:
        yield
    except spark_errors() as error:
        raise InputError(sentence(error, repair)) from None


@contextmanager
def interrupts_first() -> Iterator[None]:
    """Raises KeyboardInterrupt for an error of the context that an interrupt led to: PySpark asks Java for
    something even then, and may get no answer.
    """
    try:
        yield
    except Exception as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, KeyboardInterrupt):
                raise KeyboardInterrupt from None
            cause = cause.__context__
        raise


def damaged(file: str, reason: str, repair: str) -> str:
    """The sentence for a ``file`` that is not as it was written."""
    if "checksum" in reason.lower():
        reason = "its checksum in .crc does not fit"
    reason = re.sub(rf"(file:/*)?{re.escape(file)} ?", "", reason)
    return f"{file}: is damaged, or no Parquet ({_short(reason)}); {repair}."


@contextmanager
def quiet_gateway() -> Iterator[None]:
    """Py4J logs, with a traceback each, that an answer of Spark did not come: at Ctrl-C, or where Spark's
    process ends. Both are told in a sentence; in the context in that alone.
    """
    root = logging.getLogger()
    root.addFilter(not_of_gateway)
    try:
        yield
    finally:
        root.removeFilter(not_of_gateway)


def not_of_gateway(record: logging.LogRecord) -> bool:
    """Whether a record is none of those."""
    return "while sending command" not in str(record.msg)


def sentence(error: BaseException, repair: str = REPAIR) -> str:
    """What went wrong in the middle of work; of an InputError of a task its own sentence."""
    from py4j.protocol import Py4JNetworkError

    if isinstance(error, Py4JNetworkError):
        return "Spark's Java process has ended; has it run out of memory (spark.driver.memory)?"
    text = _whole(error)
    if raised := _PYTHON.findall(text):
        name, told = raised[-1]
        if name == _INPUT_ERROR:
            return str(told).strip()
        return f"a task of Spark failed: {_named(name, told)}; {MORE}."
    found = _CAUSED.findall(text) or _FROM_TASK.findall(text)
    reason = _named(*found[-1]) if found else first_line(error)
    if (file := _FILE.search(text)) and _DAMAGE.search(text):
        return damaged(file[1], reason, repair)
    return f"Spark could not do it: {reason}; {MORE}."


def start_sentence(error: BaseException, said: Sequence[str], master: str | None = None) -> str:
    """Why Spark does not start; ``said``: the lines that its virtual machine has printed; ``master``: the URL
    of a cluster that is asked for.
    """
    from py4j.protocol import Py4JNetworkError

    text = "\n".join(said)
    if found := _NO_MACHINE.findall(text):
        reason = _named(*found[-1])
    elif found := _REASON.findall(text):
        reason = _short(found[-1])
    elif "JAVA_GATEWAY_EXITED" in str(error):
        lines = [line for line in said if line.strip() and not line.startswith("WARNING:")]
        reason = ": ".join(_short(line) for line in lines[:2]) or first_line(error)
    elif isinstance(error, Py4JNetworkError) and (found := _ERROR.findall(text)):
        reason = _short(found[-1])
    else:
        reason = innermost(error)
    if master is None:
        return f"Spark does not start: {reason}."
    return f"Spark does not start on {master}: {reason}; is a cluster there? See --master."


def first_line(error: BaseException) -> str:
    """What ``error`` of Spark or of its virtual machine says, in a line, without the stack."""
    from py4j.protocol import Py4JJavaError

    text = str(error.java_exception.getMessage()) if isinstance(error, Py4JJavaError) else str(error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _short(_FOR_PROGRAMS.sub("", lines[0])) if lines else type(error).__name__


def innermost(error: BaseException) -> str:
    """What the exception says that ``error`` of Spark comes from in the end."""
    return _named_cause(error) or first_line(error)


def _whole(error: BaseException) -> str:
    """All that is known of ``error``: the texts of the causes of causes."""
    causes = [f"Caused by: {java.getClass().getName()}: {java.getMessage()}" for java in _causes(error)]
    return "\n".join([str(error), *causes])


def _causes(error: BaseException) -> Iterator[Any]:
    """The exceptions of Java that ``error`` comes from, the innermost last, without that of the job."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    for _ in range(_DEPTH):
        java = None if java is None else java.getCause()
        if java is None:
            return
        yield java


def _named_cause(error: BaseException) -> str | None:
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if java is None:
        return None
    *_, last = [java, *_causes(error)]
    return _named(last.getClass().getName(), last.getMessage() or "")


def _named(name: str, text: str) -> str:
    """The exception ``name`` with ``text``, which alone would say too little where it is short."""
    text = _short(text.partition("\n")[0])
    short = re.split(r"[.$]", name)[-1]
    if not text or text == "null":
        return short
    return text if len(text.split()) > 4 else f"{short}: {text}"


def _short(text: str) -> str:
    return " ".join(text.split()).rstrip(".;")[:_MOST]
