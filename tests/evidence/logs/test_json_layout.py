"""Logs in JSON: the same history as of the text that Kafka prints by itself."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.evidence.logs.json_layout import json_layout
from kraftcheck.evidence.logs.reader import Options, read_logs
from kraftcheck.evidence.logs.report import as_json
from kraftcheck.support.errors import InputError
from tests.evidence.logs.log_lines import change, read, state, steps_of, text_of
from tests.examples import examples

TEXT = "".join(line for step in steps_of(random.Random(5).choice, "4.3", 30) for line in step.lines)
FATAL = "Encountered fatal fault: Unexpected error in raft IO thread"
THREAD = "kafka-1-raft-io-thread"
Form = Callable[[datetime, str, str, str, str], Mapping[str, Any]]


def json_layout_form(when: datetime, level: str, logger: str, message: str, thrown: str) -> Mapping[str, Any]:
    """log4j's JsonLayout, compact."""
    seconds, nanos = divmod(round(when.timestamp() * 1000), 1000)
    more = {"thrown": {"name": "x.Y", "message": "m", "extendedStackTrace": thrown}} if thrown else {}
    return {
        "instant": {"epochSecond": seconds, "nanoOfSecond": nanos * 1_000_000},
        "thread": THREAD,
        "level": level,
        "loggerName": logger,
        "message": message,
        **more,
        "endOfBatch": False,
        "threadPriority": 5,
    }


def millis_form(when: datetime, level: str, logger: str, message: str, thrown: str) -> Mapping[str, Any]:
    more = {"thrown": thrown} if thrown else {}
    return {"timeMillis": round(when.timestamp() * 1000), "level": level, "message": message} | more


def ecs_form(when: datetime, level: str, logger: str, message: str, thrown: str) -> Mapping[str, Any]:
    """JsonTemplateLayout, EcsLayout.json."""
    more = {"error.type": "x.Y", "error.message": "m", "error.stack_trace": thrown} if thrown else {}
    return {
        "@timestamp": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "log.level": level,
        "message": message,
        "process.thread.name": THREAD,
        "log.logger": logger,
        **more,
    }


def logstash_form(when: datetime, level: str, logger: str, message: str, thrown: str) -> Mapping[str, Any]:
    """LogstashJsonEventLayoutV1.json, in another time zone."""
    there = when.astimezone(datetime.strptime("+0530", "%z").tzinfo)
    more = {"exception": {"exception_class": "x.Y", "stacktrace": thrown}} if thrown else {}
    return {
        "@version": 1,
        "source_host": "kafka-0",
        "message": message,
        "thread_name": THREAD,
        "@timestamp": there.isoformat(timespec="milliseconds"),
        "level": level,
        "logger_name": logger,
        **more,
    }


def gelf_form(when: datetime, level: str, logger: str, message: str, thrown: str) -> Mapping[str, Any]:
    more = {"full_message": thrown} if thrown else {}
    return {
        "version": "1.1",
        "short_message": message,
        "timestamp": when.timestamp(),
        "_logger": logger,
    } | more


def plain_form(when: datetime, level: str, logger: str, message: str, thrown: str) -> Mapping[str, Any]:
    more = {"stack_trace": thrown} if thrown else {}
    return {"time": f"{when:%Y-%m-%dT%H:%M:%S},{when.microsecond // 1000:03}", "msg": message} | more


FORMS = (json_layout_form, millis_form, ecs_form, logstash_form, gelf_form, plain_form)


def in_json(text: str, form: Form) -> bytes:
    """The records of ``text``, which has the pattern of Kafka, as JSON lines."""
    lines = []
    for line in text.splitlines():
        when = datetime.strptime(line[1:24], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
        level, _, rest = line[26:].partition(" ")
        message, _, logger = rest[:-1].rpartition(" (")
        lines.append(json.dumps(form(when, level, logger, message, "")))
    return "".join(f"{line}\n" for line in lines).encode()


@pytest.mark.parametrize("prefix", ["", "2026-01-01T00:00:00.123456789Z stdout F ", "kafka-1  | "])
@pytest.mark.parametrize("form", FORMS)
def test_json_is_read_like_text(form: Form, prefix: str) -> None:
    data = in_json(TEXT, form)
    if prefix:
        data = b"".join(prefix.encode() + line for line in data.splitlines(keepends=True))
    from tests.evidence.logs.test_log_content import content

    (report, told), (expected, expected_told) = read(content(data)[0]), read(TEXT.encode())
    assert told == expected_told
    assert as_json(report)["nodes"] == as_json(expected)["nodes"]
    assert not report.findings.problems and not report.findings.notes
    assert report.files[0].counts.records == report.files[0].counts.lines


@pytest.mark.parametrize("form", FORMS)
def test_the_exception_of_a_fatal_fault_is_in_its_record(form: Form) -> None:
    text = text_of(change(state("Unattached", 1), None)).decode()
    when = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=1)
    fault = form(when, "ERROR", "x.FaultHandler", FATAL, "java.lang.IllegalStateException: no\n\tat x.Y")
    report, _ = read(in_json(text, form) + json.dumps(fault).encode() + b"\n" + in_json(text[:0], form))
    (problem,) = report.findings.problems
    assert problem.check == "NoFatal" and "IllegalStateException: no" in problem.found


def test_a_record_that_is_cut_short_is_counted() -> None:
    lines = in_json(TEXT, ecs_form).splitlines(keepends=True)
    report, _ = read(b"".join([*lines[:4], lines[4][:-9] + b"\n", *lines[5:]]))
    assert report.findings.notes["unreadable"] == 1 and not report.findings.problems


@pytest.mark.parametrize("indent", [2, None])
def test_json_that_cannot_be_read_is_one_sentence(indent: int | None, tmp_path: Path) -> None:
    """Objects over several lines, and those that name their message otherwise."""
    records = [json.loads(line) for line in in_json(TEXT, plain_form).splitlines()]
    texts = [json.dumps({"MESSAGE": each["msg"]}, indent=indent) for each in records]
    (tmp_path / "a.log").write_text("\n".join(texts))
    with pytest.raises(InputError, match="expected one object a line with 'message' and '@timestamp'"):
        read_logs([tmp_path / "a.log"], Options())


LINES = in_json(TEXT, json_layout_form).splitlines(keepends=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
KEYS = st.sampled_from(
    ["instant", "@timestamp", "timeMillis", "time", "message", "msg", "thrown", "error", "level"]
)


@pytest.mark.slow
@examples(200)
@given(st.data())
def test_hostile_records_are_counted_and_raise_nothing(data: st.DataObject) -> None:
    lines = list(LINES[:6])
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        if data.draw(st.booleans()):
            changed = json.loads(LINES[at])
            changed[data.draw(KEYS)] = data.draw(VALUES)
            if data.draw(st.booleans()):
                changed.pop("instant", None)
            lines[at] = json.dumps(changed).encode() + b"\n"
        else:
            line = bytearray(lines[at])
            line[data.draw(st.integers(0, len(line) - 2))] = data.draw(st.integers(0, 255))
            lines[at] = bytes(line)
    lines.append(f'{{"message":"{FATAL}","thrown":{json.dumps(data.draw(VALUES))}}}\n'.encode())
    as_json(read(b"".join(lines))[0])


def test_what_is_nested_too_deeply_is_no_record() -> None:
    deep = b'{"message":' + b"[" * 100_000 + b"] Completed transition to "
    assert json_layout().read(deep, deep.index(b"Completed")) is None
