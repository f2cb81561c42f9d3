"""A log in a compression, an encoding, a container's prefix or a pipe: the same lines and the same report."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from kraftcheck.cli.main import main
from kraftcheck.evidence.history.checks import ALL
from kraftcheck.evidence.logs.content import chunks_of
from kraftcheck.evidence.logs.reader import Options, read_logs
from kraftcheck.evidence.logs.report import as_json, exit_status
from kraftcheck.support import files
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_DIFFERS
from tests.evidence.logs.log_lines import change, read, state, steps_of, text_of

TEXT = "".join(line for step in steps_of(random.Random(5).choice, "4.3", 30) for line in step.lines).encode()
WHEN = "2026-01-01T00:00:00.123456789Z"
Draw = Callable[[int], int]


def plain(text: bytes, _: Draw) -> bytes:
    return text


def cri(text: bytes, draw: Draw) -> bytes:
    """As kubelet stores it; some lines are split."""
    found = []
    for line in text.decode().split("\n")[:-1]:
        cut = draw(len(line)) if draw(3) == 2 else 0
        stream = ("stdout", "stderr")[draw(2)]
        found += [f"{WHEN} {stream} P {line[:cut]}\n"] * (cut > 0)
        found.append(f"{WHEN} {stream} F {line[cut:]}\n")
    return "".join(found).encode()


def docker(text: bytes, draw: Draw) -> bytes:
    """As Docker's json-file driver stores it; some lines are split."""
    found = []
    for line in text.decode().split("\n")[:-1]:
        cut = draw(len(line)) if draw(3) == 2 else 0
        for part in (line[:cut], f"{line[cut:]}\n"):
            if part:
                entry = {"log": part, "stream": "stdout", "time": WHEN}
                found.append(json.dumps(entry, ensure_ascii=draw(2) == 0))
    return "".join(f"{line}\n" for line in found).encode()


def prefixed(prefix: str) -> Callable[[bytes, Draw], bytes]:
    def wrap(text: bytes, _: Draw) -> bytes:
        return b"".join(prefix.encode() + line for line in text.splitlines(keepends=True))

    return wrap


ENCODED: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda text: text,
    "utf-16-le": lambda text: b"\xff\xfe" + text.decode("utf-8", "replace").encode("utf-16-le"),
    "utf-16-be": lambda text: b"\xfe\xff" + text.decode("utf-8", "replace").encode("utf-16-be"),
    "utf-8-bom": lambda text: b"\xef\xbb\xbf" + text,
}
COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda text: text,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.ZstdCompressor(write_checksum=True).compress,
    "two bzip2": lambda text: bz2.compress(text[:100]) + bz2.compress(text[100:]),
    "two zstd": lambda text: zstandard.compress(text[:100]) + zstandard.compress(text[100:]),
}
PREFIXES = {
    "kubectl timestamps": f"{WHEN} ",
    "kubectl prefix": "[pod/kafka-controller-0/kafka] ",
    "kubectl both": f"[pod/kafka-controller-0/kafka] {WHEN} ",
    "journald short": "Jan 01 00:00:00 10-0-0-7.example kafka-server-start.sh[812]: ",
    "journald full": "Thu 2026-01-01 00:00:00 UTC ten kafka[812]: ",
    "journald iso": "2026-01-01T00:00:00+0000 10-0-0-7 kafka[812]: ",
    "compose": "kafka-1  | ",
}


def coloured(text: bytes, _: Draw) -> bytes:
    """As a terminal shows it: the level, and what Compose puts before a line."""
    lines = [line.replace(b" INFO ", b" \x1b[32mINFO\x1b[m ") for line in text.splitlines(keepends=True)]
    return b"".join(b"\x1b[36mkafka-1  | \x1b[0m" + line for line in lines)


def collected(text: bytes, _: Draw) -> bytes:
    """As Fluent Bit sends it."""
    return b"".join(json.dumps({"log": line.decode()}).encode() + b"\n" for line in text.splitlines())


WRAPPED = (plain, cri, docker, coloured, collected, *map(prefixed, PREFIXES.values()))


def content(data: bytes, size: int = 1 << 20) -> tuple[bytes, list[str]]:
    damaged: list[str] = []
    return b"".join(chunks_of(io.BytesIO(data), damaged, size)), damaged


def texts() -> st.SearchStrategy[bytes]:
    lines = TEXT.splitlines(keepends=True)
    other = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=30)
    noise = other.map(lambda text: f"[2026-01-01 00:00:00,000] INFO {text} (a.B)\n".encode())
    return st.lists(st.one_of(st.sampled_from(lines), noise), min_size=1, max_size=30).map(b"".join)


@pytest.mark.slow
@settings(max_examples=60)
@given(
    text=texts(),
    wrap=st.sampled_from(WRAPPED),
    encode=st.sampled_from(sorted(ENCODED)),
    compress=st.sampled_from(sorted(COMPRESSED)),
    size=st.sampled_from((1, 7, 100, 1 << 20)),
    data=st.data(),
)
def test_what_was_put_around_a_log_comes_off(
    text: bytes, wrap: Any, encode: str, compress: str, size: int, data: st.DataObject
) -> None:
    random_draw = random.Random(data.draw(st.integers(0, 2**32)))
    packed = COMPRESSED[compress](
        ENCODED[encode](wrap(text, lambda most: random_draw.randrange(max(1, most))))
    )
    back, damaged = content(packed, size)
    assert damaged == []
    assert back == text
    (report, told), (expected, expected_told) = read(back), read(text)
    assert as_json(report) == as_json(expected) and told == expected_told


@settings(max_examples=30)
@given(st.data(), st.sampled_from(["gzip", "bzip2", "xz", "zstd"]))
def test_compressed_data_that_ends_early_or_is_damaged_is_named(data: st.DataObject, kind: str) -> None:
    packed = bytearray(COMPRESSED[kind](TEXT))
    if data.draw(st.booleans()):
        packed = packed[: data.draw(st.integers(10, len(packed) - 1))]
    else:
        packed[data.draw(st.integers(len(packed) // 3, len(packed) // 2))] ^= 0xFF
    back, damaged = content(bytes(packed), 100)
    assert len(damaged) == 1 or back == TEXT


@pytest.mark.slow
@pytest.mark.parametrize("compress", [bz2.compress, lzma.compress, zstandard.compress, gzip.compress])
def test_a_bomb_is_read_a_piece_at_a_time(compress: Callable[[bytes], bytes]) -> None:
    packed, most = compress(bytes(50_000_000)), 0
    for piece in chunks_of(io.BytesIO(packed), []):
        most = max(most, len(piece))
    assert most <= 16 << 20


def test_without_its_package_zstandard_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    (tmp_path / "a.log").write_bytes(zstandard.compress(TEXT))
    with pytest.raises(InputError, match=r"a\.log: is compressed with Zstandard; .*kraftcheck\[zst\]"):
        read_logs([tmp_path], Options())


# --- pipes and standard input -------------------------------------------------------------------------------


def written(pipe: Path | int, data: bytes) -> threading.Thread:
    def write() -> None:
        with open(pipe, "wb") as file:
            file.write(data)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def test_pipes_are_read_in_the_order_of_their_first_records(tmp_path: Path) -> None:
    lines = TEXT.splitlines(keepends=True)
    halves = b"".join(lines[len(lines) // 2 :]), gzip.compress(b"".join(lines[: len(lines) // 2]))
    pipes = [tmp_path / "one", tmp_path / "two"]
    for pipe, half in zip(pipes, halves, strict=True):
        os.mkfifo(pipe)
        written(pipe, half)
    report = read_logs(pipes, Options())
    assert [file.path for file in report.files] == pipes[::-1]
    assert report.findings.problems == []


def test_a_descriptor_as_a_shell_gives_it_and_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    thread = written(writing, bz2.compress(TEXT))
    report = read_logs([Path(f"/dev/fd/{reading}")], Options())
    thread.join()
    os.close(reading)
    assert report.nodes[1].summary.transitions
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bz2.compress(TEXT))))
    assert main(["logs", "-", "--json"]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["nodes"] == json.loads(json.dumps(as_json(report)))["nodes"]


def test_a_pipe_without_a_writer_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "WRITER_SECONDS", 0.1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe that no process writes to"):
        read_logs([tmp_path / "pipe"], Options())


# --- what the level leaves out, disorder, history -----------------------------------------------------------


def test_the_checks_that_the_level_leaves_out_are_listed() -> None:
    start = state("Unattached", 0)
    follower = change(start, None) + change(state("Follower", 1, leader=2), start)
    debug = "Follower high watermark updated to 3"
    trace = "Follower end offset updated to OffsetAndEpoch[offset=5, epoch=1] after append"
    levels, verdicts = [], []
    for more in ([], [debug], [debug, trace]):
        report, _ = read(text_of([*follower, *more]))
        levels.append({one["level"] for one in as_json(report)["notJudged"]})
        verdicts.append(as_json(report)["verdicts"])
    assert levels == [{"DEBUG", "TRACE"}, {"TRACE"}, set()]
    shown = [(one["log-end"]["verdict"], one["LeaderCompleteness"]["because"]) for one in verdicts]
    assert shown == [("not judged", "no line of DEBUG of node 1"), ("not judged", ""), ("holds", "")]
    for one in verdicts:
        assert set(one) == set(ALL)
        assert one["EpochMonotone"] == {"verdict": "holds", "because": ""}
        assert one["RecordIdentity"]["verdict"] == "not judged" and one["RecordIdentity"]["because"]
    wrong, _ = read(text_of(change(start, None) + change(state("Follower", 1, leader=1), start)))
    assert as_json(wrong)["verdicts"]["ResignedLeavesItsEpoch"]["verdict"] == "violated"


def test_the_last_line_says_how_many_checks_the_level_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start = state("Unattached", 0)
    follower = change(start, None) + change(state("Follower", 1, leader=2), start)
    debug = "Follower high watermark updated to 3"
    trace = "Follower end offset updated to OffsetAndEpoch[offset=5, epoch=1] after append"
    ends = []
    for more in ([], [debug], [debug, trace]):
        (tmp_path / "node.log").write_bytes(text_of([*follower, *more]))
        main(["logs", str(tmp_path / "node.log")])
        said = capsys.readouterr().out.splitlines()[-1]
        ends.append(re.sub(r"\d+", "n", said.partition("; the log level leaves out ")[2]))
    assert ends == ["n and a part of n", "n", ""]


@settings(max_examples=20)
@given(st.randoms(use_true_random=False))
def test_problems_of_shuffled_lines_are_in_doubt(chance: random.Random) -> None:
    lines = TEXT.splitlines(keepends=True)
    chance.shuffle(lines)
    report, _ = read(b"".join(lines))
    assert report.findings.doubtful == report.findings.problem_counts
    assert not report.findings.problems or report.findings.notes["time-back"]


def test_a_problem_long_after_a_clock_was_set_back_is_no_less_one() -> None:
    start, follower = state("Unattached", 0), state("Follower", 1, leader=2)
    lines = text_of([*change(start, None), *change(follower, start)]).splitlines(keepends=True)
    later = text_of(change(state("Unattached", 5), state("Follower", 3, leader=3)), start=600_000)
    back = text_of(["Follower high watermark updated to 3"])
    highs = [f"Follower high watermark updated to {n}" for n in (4, 5)]
    between = text_of([*highs, *change(state("Unattached", 2), follower)], start=500_000)
    report, _ = read(b"".join([*lines, back, between, later]))
    assert report.findings.notes["time-back"] == 1
    assert not report.findings.doubtful and report.findings.problem_counts
    assert exit_status(as_json(report)) == EXIT_DIFFERS


def test_only_problems_in_doubt_leave_it_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = TEXT.splitlines(keepends=True)
    at = next(n for n, line in enumerate(lines) if n > 8 and b"Completed" in line)
    lines[at], lines[at + 3] = lines[at + 3], lines[at]
    (tmp_path / "a.log").write_bytes(b"".join(lines))
    assert main(["logs", str(tmp_path)]) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "in doubt, as the lines are out of order: sort them by time" in out
    assert "the time of this log goes back at" in out


def test_the_history_of_several_nodes_is_one_by_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for node in (1, 2):
        start = state("Unattached", 0, node)
        messages = change(start, None) + change(state("Follower", 1, node, leader=3), start)
        (tmp_path / f"{node}.log").write_bytes(text_of(messages, node, start=node))
    assert main(["logs", str(tmp_path), "--history", "--json"]) == 0
    steps = json.loads(capsys.readouterr().out)["history"]
    times = [step["time"] for step in steps]
    assert times == sorted(times) and len({step["node"] for step in steps[:2]}) == 2
