"""Conversion patterns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.evidence.logs.layout import PATTERNS, compile_pattern
from kraftcheck.support.errors import InputError

MESSAGE = b"Completed transition to X"

LINES = [
    (
        PATTERNS[0],
        b"[2026-06-26 09:50:15,605] INFO [RaftManager id=7] %s (org.apache.kafka.raft.QuorumState)",
    ),
    (
        PATTERNS[0],
        b"[2022-06-26 09:50:15,605] WARN [RaftManager nodeId=7] %s (org.apache.kafka.raft.QuorumState)\r",
    ),
    (
        PATTERNS[1],
        b"2026-06-26 09:50:15 INFO  [kafka-7-raft-io-thread] QuorumState:715 - [RaftManager id=7] %s",
    ),
    (PATTERNS[2], b"2026-06-26T09:50:15,605 INFO [Node 7] %s (org.apache.kafka.raft.QuorumState)"),
    (PATTERNS[2], b"2026-06-26 09:50:15,605 INFO [RaftManager id=7] %s (org.apache.kafka.raft.QuorumState)"),
    (
        PATTERNS[3],
        b"2026-06-26 09:50:15,605 INFO [RaftManager id=7] %s (org.apache.kafka.raft.QuorumState) [main]",
    ),
    (
        "%d{HH:mm:ss.SSS} [%t] %-5level %logger{36} - %msg%n",
        b"09:50:15.605 [main] INFO  o.a.k.Q - [Node 7] %s",
    ),
    ("%p;%d{dd MMM yyyy HH:mm:ss,SSS};%m;%t%n", b"INFO;26 Jun 2026 09:50:15,605;[RaftManager id=7] %s;raft"),
    ("100%% %d %m", b"100% 2026-06-26 09:50:15,605 [RaftManager id=7] %s"),
]


@pytest.mark.parametrize(("pattern", "line"), LINES, ids=lambda value: str(value)[:30])
def test_a_line_is_taken_apart(pattern: str, line: bytes) -> None:
    line = line.replace(b"%s", MESSAGE)
    layout = compile_pattern(pattern)
    found = layout.read(line, line.index(MESSAGE))
    assert found is not None
    assert (found.node, found.message, found.mixed) == (7, MESSAGE, False)
    assert layout.moment(found.time)[3:6] == (9, 50, 15)
    assert layout.time(line) == found.time


def test_a_line_without_its_end_is_not_read() -> None:
    layout = compile_pattern(PATTERNS[0])
    line = b"[2026-06-26 09:50:15,605] INFO [RaftManager id=2] Completed transition to X"
    assert layout.read(line, line.index(MESSAGE)) is None


def test_times_that_do_not_sort_as_text_are_compared_by_what_they_mean() -> None:
    layout = compile_pattern("%d{dd MMM yyyy HH:mm:ss} %m")
    assert not layout.sortable
    assert layout.goes_back(b"01 Feb 2026 00:00:00", b"02 Feb 2026 00:00:00")
    assert not layout.goes_back(b"01 Mar 2026 00:00:00", b"28 Feb 2026 00:00:00")
    assert layout.goes_back(b"28 Feb 2026 00:00:00", b"01 Mar 2026 00:00:00")


@pytest.mark.parametrize(
    "pattern", ["", "%m", "%d", "%d %m %m", "%d %d %m", "%d %q %m", "%d{QQ} %m", "%d{} %", "% %d %m", "%m %d"]
)
def test_a_pattern_that_is_not_understood_is_bad_input(pattern: str) -> None:
    with pytest.raises(InputError, match="--pattern"):
        compile_pattern(pattern)


@given(st.text(alphabet="%dmpctLXn{}[]()-.5 yMHs'\\*+?^$|", max_size=20))
def test_no_pattern_raises_anything_else(pattern: str) -> None:
    try:
        layout = compile_pattern(pattern)
    except InputError:
        return
    layout.read(b"[2026-06-26 09:50:15,605] INFO [RaftManager id=2] Completed transition to X (a.B)", 50)
