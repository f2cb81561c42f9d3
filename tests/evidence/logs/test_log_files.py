"""Files: which are read, in what order, what is wrong with them, and how much memory they take."""

from __future__ import annotations

import errno
import gzip
import os
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.evidence.logs.layout import PATTERNS, compile_pattern
from kraftcheck.evidence.logs.messages import MESSAGES
from kraftcheck.evidence.logs.reader import Options, Reader, read_logs
from kraftcheck.evidence.logs.scan import DROPPED, LONGEST_HIT, LONGEST_LINE, Counts, scan
from kraftcheck.evidence.logs.sources import find_sources
from kraftcheck.evidence.logs.states import VOTERS_KEPT
from kraftcheck.support.errors import InputError
from tests.evidence.logs.log_lines import change, state, steps_of, text_of

LAYOUTS = [compile_pattern(pattern) for pattern in PATTERNS]
STEPS = steps_of(random.Random(5).choice, "4.3", 60)
LINES = [line.encode() for step in STEPS for line in step.lines]
TEXT = b"".join(LINES)


def third(number: int) -> bytes:
    size = len(LINES) // 3
    return b"".join(LINES[number * size : (number + 1) * size if number < 2 else None])


NOISE = b"[2026-01-01 00:00:00,000] INFO nothing (org.apache.kafka.server.Other)\n" * 5000
SMALL_MEMBERS = b"".join(gzip.compress(line) + gzip.compress(b"") for line in LINES) + b"\0" * 100

#: Files, those that are read, in order, and those that are copies: each time one whole history.
FOLDERS: dict[str, tuple[dict[str, bytes], list[str], list[str]]] = {
    "rotated files are read oldest first": (
        {
            "server.log": third(2),
            "server.log.1": third(1),
            "server.log.2.gz": gzip.compress(third(0)),
            "notes.md": b"no log",
        },
        ["server.log.2.gz", "server.log.1", "server.log"],
        [],
    ),
    "two appenders of log4j write each line to one file": (
        {"server.log": b"".join(line + line for line in LINES)},
        ["server.log"],
        [],
    ),
    "a copy is read once": ({"a.log": TEXT, "b.log.gz": gzip.compress(TEXT)}, ["a.log"], ["b.log.gz"]),
    "a copy of a file that grew since hides nothing": (
        {"a.log": NOISE + TEXT[: len(TEXT) // 2], "b.log": NOISE + TEXT},
        ["a.log", "b.log"],
        [],
    ),
    "many small members of gzip, and NUL bytes": ({"a.log.gz": SMALL_MEMBERS}, ["a.log.gz"], []),
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_files_are_one_history(tmp_path: Path, folder: str) -> None:
    files, read, copies = FOLDERS[folder]
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    report = read_logs([tmp_path, tmp_path / read[0]], Options())
    assert [Path(file.path).name for file in report.files] == read
    assert [Path(path).name for path in report.copies] == copies
    assert report.findings.problems == [] and not report.findings.notes["gaps"]
    assert not any(file.damaged for file in report.files)
    assert report.nodes[1].summary.transitions == len(STEPS)
    doubled = report.findings.notes["repeated"] >= len(STEPS)
    assert doubled == folder.startswith("two appenders")


def test_a_missing_middle_is_a_gap(tmp_path: Path) -> None:
    (tmp_path / "server.log.2026-06-26-11").write_bytes(third(2))
    (tmp_path / "server.log.2026-06-26-09").write_bytes(third(0))
    report = read_logs([tmp_path], Options())
    assert report.findings.problems == []
    assert report.findings.notes["gaps"] <= 1


def test_a_gzip_that_ends_early_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT)
    (tmp_path / "a.log.gz").write_bytes(packed[: len(packed) // 2])
    report = read_logs([tmp_path], Options())
    assert report.files[0].damaged == "the compressed data ends early"
    assert 0 < report.nodes[1].summary.transitions < len(STEPS)
    assert report.findings.problems == []


UNUSABLE = {
    "empty": b"",
    "noise": random.Random(1).randbytes(1_000_000),
    "zeros": bytes(3_000_000),
    "one line": b"x" * 3_000_000,
    "truncated gzip": gzip.compress(TEXT)[:15],
    "another program": b"Jun 26 09:50:15 host sshd[1]: hello\n" * 1000,
    "other layout": b"".join(line.replace(b"[2026-", b"<2026-") for line in LINES),
}


@pytest.mark.parametrize("what", ["missing", "folder", *UNUSABLE])
def test_input_that_is_no_raft_log_is_one_sentence(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x.log"
    if what == "folder":
        path.mkdir()
    elif what != "missing":
        path.write_bytes(UNUSABLE[what])
    with pytest.raises(InputError) as raised:
        read_logs([path], Options())
    message = str(raised.value)
    assert str(path) in message
    assert "\n" not in message
    assert len(message) < 600


def test_a_name_that_no_file_can_have_is_bad_input() -> None:
    with pytest.raises(InputError):
        read_logs([Path("a\0b")], Options())


def test_noise_among_good_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(TEXT)
    (tmp_path / "b.log").write_bytes(random.Random(1).randbytes(100_000))
    report = read_logs([tmp_path], Options())
    assert [file.relevant > 0 for file in report.files] == [True, False]
    assert report.files[1].counts.invalid > 0
    assert report.files[1].counts.nul > 0


def test_files_are_ordered_by_their_first_record(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(third(2))
    (tmp_path / "z.log").write_bytes(b"a line before\n" + third(0))
    sources, _ = find_sources([tmp_path], LAYOUTS)
    assert [source.path.name for source in sources] == ["z.log", "a.log"]


# --- scanning -----------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(st.data())
def test_where_chunks_end_does_not_matter(data: st.DataObject) -> None:
    ends = sorted(data.draw(st.lists(st.integers(0, len(TEXT)), max_size=20)))
    pieces = [TEXT[a:b] for a, b in zip([0, *ends], [*ends, len(TEXT)], strict=True)]
    whole, parts = Counts(), Counts()
    assert list(scan(pieces, parts)) == list(scan([TEXT], whole))
    assert parts == whole


def test_line_numbers_and_counts() -> None:
    counts = Counts()
    text = b"first\n\n" + TEXT.rstrip(b"\n")
    hits = list(scan([text], counts))
    assert [text.split(b"\n")[number - 1] for number, _, _, _ in hits] == [line for _, line, _, _ in hits]
    assert counts.lines == text.count(b"\n") + 1
    assert counts.records == len(LINES)


def test_a_line_of_endless_length_is_dropped_and_counted() -> None:
    counts = Counts()
    long = b"[2026-01-01 00:00:00,000] INFO [RaftManager id=1] Completed transition to " * 50_000
    assert len(long) > 2 * LONGEST_LINE
    pieces = [long[at : at + 100_000] for at in range(0, len(long), 100_000)]
    hits = list(scan([TEXT, *pieces, b"\n", TEXT], counts))
    assert counts.overlong == 1
    assert sum(hit[3] != DROPPED for hit in hits) == 2 * len(list(scan([TEXT], Counts())))
    assert counts.lines == 2 * len(LINES) + 1


WORDS = [text.encode() if isinstance(text, str) else text for text in MESSAGES]


@settings(max_examples=80)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.sampled_from(WORDS),
            st.sampled_from(LINES),
            st.sampled_from(
                (
                    b"\n",
                    b"[2026-01-01 00:00:00,000] INFO [RaftManager id=1] ",
                    b" (a.B)\n",
                    b"9" * 30,
                    b"(((((",
                    b"LogOffsetMetadata(offset=1, metadata=",
                    b"OffsetAndEpoch[offset=5, epoch=99]",
                )
            ),
        ),
        max_size=30,
    )
)
def test_no_bytes_raise(pieces: list[bytes]) -> None:
    reader = Reader(Options())
    reader.read(Path("x.log"), [b"".join(pieces)], None)
    report = reader.finish()
    assert sum(report.findings.problem_counts.values()) >= len(report.findings.problems)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file() -> None:
    """20 MB of text in which every process repeats itself: restarts, epochs, high watermarks without end."""

    def endless(size: int) -> Iterator[bytes]:
        offset = 0
        epoch = 0
        filler = b"[2026-01-01 00:00:00,000] DEBUG something else (a.B)\n" * 1000
        for _ in range(size):
            epoch, offset = epoch + 1, offset + 10
            old = state("Follower", epoch, leader=2, high=offset)
            yield filler + text_of([*change(state("Follower", epoch + 1, leader=2, high=offset), old)])

    def peak(size: int) -> int:
        tracemalloc.start()
        reader = Reader(Options())
        reader.read(Path("x.log"), endless(size), None)
        reader.finish()
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(20)
    small, large = peak(50), peak(400)
    assert large < small + 1_000_000
    assert large < 16_000_000


def test_lines_read_twice_within_one_ms_are_overlap(tmp_path: Path) -> None:
    """The second file begins with lines of the time at which the first ends."""
    now = "2026-01-01 00:00:00,000"
    lines = [b"[" + now.encode() + line[24:] for line in LINES]
    for cut in range(2, len(lines) - 1, 5):
        (tmp_path / "a.log").write_bytes(b"".join(lines[:cut]))
        (tmp_path / "b.log").write_bytes(b"".join(lines[cut - 2 :]))
        report = read_logs([tmp_path], Options())
        assert report.findings.problems == []
        assert report.findings.notes == {"overlap": 2}
        assert report.nodes[1].summary.transitions == len(STEPS)


@pytest.mark.parametrize("count", (VOTERS_KEPT, VOTERS_KEPT + 1))
def test_sets_of_voters_that_no_quorum_has_are_not_read(count: int) -> None:
    """They would fill the memory: sets of voters are kept."""
    ids = ", ".join(map(str, range(count)))
    keys = ", ".join(f"ReplicaKey(id={one}, directoryId=d{one})" for one in range(count))
    election = ", ".join(f"{one}=GRANTED" for one in range(count))
    messages = [
        f"Latest set of voters is VoterSet(voters={{{keys}}}) at offset 1",
        f"Completed transition to Unattached(epoch=1, voters=[{ids}], electionTimeoutMs=1)",
        "Completed transition to CandidateState(localId=1, epoch=1, retries=1, "
        f"voteStates={{{election}}}, highWatermark=Optional.empty, electionTimeoutMs=1)",
    ]
    for message in messages:
        reader = Reader(Options())
        reader.read(Path("one.log"), [text_of([message])], None)
        assert reader.findings.notes["unreadable"] == (count > VOTERS_KEPT)


@pytest.mark.parametrize("size", (LONGEST_HIT, LONGEST_LINE))
def test_a_line_may_have_been_lost_in_one_that_is_too_long(size: int) -> None:
    """Power was lost: the file has a hole, and the line behind it belongs to the hole's line."""
    cut = next(at for at, line in enumerate(LINES) if at > 5 and b"Attempting" in line)
    hole = [b"".join(LINES[:cut]), b"\0" * size, b"".join(LINES[cut : cut + 1]), b"".join(LINES[cut + 2 :])]
    reader = Reader(Options())
    report = reader.read(Path("hole.log"), hole, None)
    assert reader.findings.problems == []
    assert report.counts.overlong == 1
    assert report.counts.lines == len(LINES) - 1


def test_a_folder_that_may_not_be_read_is_not_without_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(place: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", place)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)"):
        find_sources([tmp_path], LAYOUTS)
