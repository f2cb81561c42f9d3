"""Log records as JSON, one object a line: log4j's JsonLayout and JsonTemplateLayout, and what logstash reads.

They name the same things differently; a record is read by whichever names it has, so that one layout reads
them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from typing import Any, Final

import msgspec

from kraftcheck.evidence.logs.layout import CONTEXT, PATTERNS, Found, Layout, compile_pattern

_DECODER: Final = msgspec.json.Decoder(dict[str, Any])
_CONTEXT: Final = re.compile(CONTEXT)
#: Names of the message: JsonLayout, ECS and logstash; GELF; others.
_MESSAGES: Final = ("message", "short_message", "msg", "@message")
#: Names of the time, the more exact ones first. ``instant`` is an object of JsonLayout.
_TIMES: Final = ("instant", "@timestamp", "timeMillis", "timestamp", "time", "ts")
#: Names of the exception, and within it of its text.
_EXCEPTIONS: Final = ("thrown", "exception", "error", "stack_trace", "error.stack_trace", "full_message")
_TRACES: Final = ("extendedStackTrace", "stacktrace", "stack_trace", "exception_message", "message")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
#: A number that is larger counts milliseconds, not seconds: as seconds it is a time in the year 5138.
_SECONDS: Final = 10**11


@dataclass(frozen=True, slots=True)
class JsonLayout(Layout):
    """The layout of JSON records. Their times are in the form of Kafka's own pattern, in UTC where the record
    names a zone.
    """

    def read(self, line: bytes, at: int) -> Found | None:
        """The record of ``line`` whose message starts at ``at``; None if it is no such JSON object."""
        record = _record(line)
        message = b"" if record is None else _message(record)
        context = _CONTEXT.match(message)
        time = None if record is None else _time(record)
        if context is None or time is None:
            return None
        said = message[context.end() :].rstrip()
        # The message may hold another one within it; the line is about the one that begins it.
        if said[:_COMPARED] != line[at : at + _COMPARED]:
            return None
        return Found(int(context["node"]), time, said, mixed=False)

    def time(self, line: bytes) -> bytes | None:
        """The time of the record; None if the line is none."""
        record = _record(line)
        return None if record is None else _time(record)

    def begins(self, line: bytes) -> bool:
        """Whether ``line`` begins like a record, whole or not."""
        return line.startswith(b'{"')

    def exception(self, lines: bytes) -> bytes:
        """The beginning of the exception of the first of these ``lines``."""
        record = _record(lines.partition(b"\n")[0])
        return b"" if record is None else next(_texts(record), "").strip().encode("utf-8", "replace")


#: So many bytes of a message tell whether it is the one that was looked for.
_COMPARED: Final = 12


@cache
def json_layout() -> JsonLayout:
    """The layout of JSON records."""
    shipped = compile_pattern(PATTERNS[0])
    values = {each.name: getattr(shipped, each.name) for each in fields(Layout)}
    return JsonLayout(**values | {"pattern": "JSON, one object a line"})


@lru_cache(maxsize=4)
def _record(line: bytes) -> Mapping[str, Any] | None:
    if not line.startswith(b"{"):
        return None
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _message(record: Mapping[str, Any]) -> bytes:
    for name in _MESSAGES:
        value = record.get(name)
        if isinstance(value, dict):  # JsonLayout with objectMessageAsJsonObject, and messages with parameters
            value = value.get("message", value.get("formattedMessage"))
        if isinstance(value, str):
            return value.encode("utf-8", "replace")
    return b""


def _time(record: Mapping[str, Any]) -> bytes | None:
    for name in _TIMES:
        if name in record:
            try:
                moment = _moment(record[name])
            except (ValueError, OverflowError, TypeError, KeyError):
                continue
            return moment.isoformat(" ", "milliseconds")[:23].replace(".", ",").encode()
    return None


def _moment(value: Any) -> datetime:
    """Raises ValueError, OverflowError, TypeError or KeyError where ``value`` is no time."""
    if isinstance(value, dict):
        seconds = timedelta(seconds=value["epochSecond"], microseconds=value.get("nanoOfSecond", 0) // 1000)
        return _EPOCH + seconds
    if isinstance(value, str):
        # 2026-01-01T00:00:00,123 as well, as log4j prints it.
        moment = datetime.fromisoformat(value.replace(",", "."))
        return moment if moment.tzinfo is None else moment.astimezone(UTC)
    if isinstance(value, bool):
        raise TypeError
    return _EPOCH + timedelta(**{"milliseconds" if value > _SECONDS else "seconds": value})


def _texts(record: Mapping[str, Any]) -> Iterator[str]:
    """The texts of the exception, the whole trace first."""
    for name in (*_EXCEPTIONS, "error.message"):
        value = record.get(name)
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from (value[each] for each in _TRACES if isinstance(value.get(each), str))
