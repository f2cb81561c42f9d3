"""Histories made up by the table of a release come back from their lines, clean or damaged."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.evidence.logs.layout import PATTERNS
from kraftcheck.evidence.logs.messages import MESSAGES
from kraftcheck.evidence.logs.releases import span, tables_of
from tests.evidence.logs.log_lines import RELEASES, read, shown, steps_of, told_states
from tests.laboratory.logs.synthetic import Step

#: Lines of other loggers: foreign records, a stack trace, text with the words of a raft line in it.
NOISE = (
    b"[2026-01-01 00:00:00,500] INFO [QuorumController id=1] Replayed a record (a.b.QuorumController)\n",
    b"java.lang.IllegalStateException: Completed transition to nowhere\n",
    b"\tat org.apache.kafka.raft.QuorumState.durableTransitionTo(QuorumState.java:758)\n",
    b"\n",
    b"\xff\xfe\x00 not text at all \x80\n",
    b"[2026-01-01 00:00:00,500] WARN [RaftManager id=1] some other message (org.apache.kafka.raft.Other)\n",
    b"x" * 5000 + b"\n",
)


def text_of_steps(steps: list[Step]) -> bytes:
    return "".join(line for step in steps for line in step.lines).encode()


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=6)
@given(data=st.data())
def test_a_legal_history_comes_back_and_is_clean(release: str, data: st.DataObject) -> None:
    steps = steps_of(lambda options: data.draw(st.sampled_from(options)), release, 12)
    report, told = read(text_of_steps(steps))
    assert report.findings.problems == []
    assert not report.findings.notes
    assert told_states(told) == [shown(step.state, release) for step in steps]
    highs = [entry.offset for entry in told if entry.what == "high watermark"]
    assert list(dict.fromkeys(highs)) == [high for step in steps for high in step.highs]
    (spans,) = report.nodes[1].summary.releases
    assert release in spans


@pytest.mark.slow
@pytest.mark.parametrize("release", RELEASES[::3])
@settings(max_examples=20)
@given(data=st.data(), seed=st.randoms(use_true_random=False))
def test_noise_between_the_lines_changes_nothing(release: str, data: st.DataObject, seed: object) -> None:
    steps = steps_of(seed.choice, release, 15)  # type: ignore[attr-defined]
    lines = text_of_steps(steps).splitlines(keepends=True)
    noisy = [
        piece for line in lines for piece in (*data.draw(st.lists(st.sampled_from(NOISE), max_size=2)), line)
    ]
    report, told = read(b"".join(noisy))
    assert report.findings.problems == []
    assert told_states(told) == [shown(step.state, release) for step in steps]
    assert report.files[0].counts.lines == len(noisy)


@settings(max_examples=25)
@given(data=st.data(), seed=st.randoms(use_true_random=False), release=st.sampled_from(RELEASES))
def test_a_cut_line_is_counted_and_does_not_cascade(data: st.DataObject, seed: object, release: str) -> None:
    """Whatever is cut out of one line: at most one problem, and the lines that follow are read again."""
    steps = steps_of(seed.choice, release, 15)  # type: ignore[attr-defined]
    lines = text_of_steps(steps).splitlines(keepends=True)
    at = data.draw(st.integers(0, len(lines) - 2))
    start = data.draw(st.integers(0, len(lines[at]) - 2))
    lines[at] = lines[at][:start] + data.draw(st.sampled_from((b"\n", b"", b"\0\0\0\n")))
    report, told = read(b"".join(lines))
    assert len(report.findings.problems) <= 1
    states = [shown(step.state, release) for step in steps]
    back = told_states(told)
    assert len(back) >= len(steps) - 2
    last_change = max(number for number, line in enumerate(lines) if b"Completed transition" in line)
    assert at >= last_change or back[-1] == states[-1]


@settings(max_examples=20)
@given(data=st.data(), seed=st.randoms(use_true_random=False))
def test_interleaved_writes_are_read_where_a_record_is_whole(data: st.DataObject, seed: object) -> None:
    steps = steps_of(seed.choice, "4.3", 10)  # type: ignore[attr-defined]
    lines = text_of_steps(steps).splitlines(keepends=True)
    at = data.draw(st.integers(1, len(lines) - 1))
    lines[at] = b"[2026-01-01 00:00:00,000] INFO [RaftManager id=1] Comp" + lines[at]
    report, told = read(b"".join(lines))
    assert report.findings.notes["mixed"] == 1
    assert told_states(told) == [shown(step.state, "4.3") for step in steps]
    assert report.findings.problems == []


@pytest.mark.parametrize("release", RELEASES)
def test_the_release_is_recognised(release: str) -> None:
    import random

    report, _ = read(text_of_steps(steps_of(random.Random(3).choice, release, 200)))
    known = {
        "3.3": "3.3 to 3.4",
        "3.4": "3.3 to 3.4",
        "3.8": "3.8",
        "3.9": "3.9",
        "4.0": "4.0",
        "4.1": "4.1",
        **dict.fromkeys(("3.5", "3.6", "3.7"), "3.5 to 3.7"),
    }
    spans = report.nodes[1].summary.releases
    assert [span(one) for one in spans] == [known.get(release, "4.2 to 4.5")]
    assert tables_of(spans[0]) == tables_of(frozenset({release}))


@pytest.mark.parametrize("pattern", PATTERNS[1:])
def test_other_layouts_are_recognised(pattern: str) -> None:
    import random

    steps = steps_of(random.Random(1).choice, "4.3", 20)
    lines = []
    for line in text_of_steps(steps).decode().splitlines():
        time, rest = line[1:24], line[26:]
        level, message = rest.split(" ", 1)
        message, logger = message.rsplit(" (", 1)
        lines.append(
            pattern.replace("%d{yyyy-MM-dd HH:mm:ss}", time[:19])
            .replace("%d{ISO8601}", time)
            .replace("%-5p", f"{level:<5}")
            .replace("%p", level)
            .replace("%c{1}", "QuorumState")
            .replace("%L", "715")
            .replace("%m", message)
            .replace("%c", logger[:-1])
            .replace("%t", "kafka-1-raft-io-thread")
            .replace("%n", "\n")
            .replace("%M", "completed")
            .replace("%d", time)
        )
    report, told = read("".join(lines).encode())
    assert report.findings.problems == []
    assert told_states(told) == [shown(step.state, "4.3") for step in steps]


def test_no_beginning_of_a_message_begins_another() -> None:
    """The scanner takes the first that fits."""
    for one in MESSAGES:
        assert not [other for other in MESSAGES if other != one and other.startswith(one)]
