"""Reading recordings: damage of every kind ends in one sentence that names the file and the line."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kraftcheck.cli.main import main
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.recording import read, recording_of
from kraftcheck.support.errors import InputError
from tests.evidence.recordings.line_changes import with_anything
from tests.evidence.recordings.small_recording import first, small_recording, write, write_bytes

FUZZ = settings(max_examples=70, suppress_health_check=[HealthCheck.function_scoped_fixture])


def test_a_whole_recording_is_read(tmp_path: Path) -> None:
    recording = read(write(tmp_path, small_recording()))
    assert recording.name == "small"
    assert len(recording.events) == len(small_recording())
    assert [node.id for node in recording.config.nodes] == [1, 2, 3]
    assert recording.messages[0].content.maxWaitMs == 50


def test_a_field_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    lines = [json.dumps(line) for line in small_recording()]
    lines[1] = lines[1].replace("{", '{"t": 1, ', 1)
    folder = write_bytes(tmp_path, gzip.compress("\n".join(lines).encode()), len(lines))
    with pytest.raises(InputError, match="line 2: the key 't' is given twice"):
        read(folder)


@pytest.mark.slow
@given(st.data())
@FUZZ
def test_a_trace_cut_off_anywhere_is_refused(tmp_path: Path, data: st.DataObject) -> None:
    lines = small_recording()
    whole = gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode())
    cut = data.draw(st.integers(0, len(whole) - 1))
    folder = write_bytes(tmp_path, whole[:cut], len(lines))
    with pytest.raises(InputError, match=r"trace\.jsonl\.gz"):
        read(folder)


@pytest.mark.parametrize(
    ("trace", "said"),
    [(b"plain text", "is no gzip file"), (gzip.compress(b""), "empty")],
    ids=("no gzip", "empty"),
)
def test_a_trace_without_lines_is_refused(tmp_path: Path, trace: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(write_bytes(tmp_path, trace, 0))


@pytest.mark.parametrize("missing", ["trace.jsonl.gz", "run.json"])
def test_a_missing_file_is_named(tmp_path: Path, missing: str) -> None:
    folder = write(tmp_path, small_recording())
    (folder / missing).unlink()
    with pytest.raises(InputError, match=missing):
        read(folder)


def test_the_summary_must_agree_with_the_trace(tmp_path: Path) -> None:
    folder = write(tmp_path, small_recording())
    (folder / "run.json").write_text('{"run": "small", "events": 7}')
    with pytest.raises(InputError, match="7"):
        read(folder)


@pytest.mark.slow
@given(st.data())
@FUZZ
def test_lines_out_of_order_are_refused(tmp_path: Path, data: st.DataObject) -> None:
    lines = small_recording()
    first = data.draw(st.integers(0, len(lines) - 2))
    second = data.draw(st.integers(first + 1, len(lines) - 1))
    lines[first], lines[second] = lines[second], lines[first]
    with pytest.raises(InputError, match=f"line {first + 1}: 'seq' is {second}"):
        read(write(tmp_path, lines))


@pytest.mark.parametrize("field", ["t", "ev", "n", "s", "mid", "kind", "api", "from", "corr", "ver", "data"])
def test_a_missing_field_is_named_with_its_line(tmp_path: Path, field: str) -> None:
    lines = small_recording()
    seq = first(lines, "recv")
    del lines[seq][field]
    with pytest.raises(InputError, match=f"line {seq + 1}: field '{field}' is missing"):
        read(write(tmp_path, lines))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        *(
            ((5, "t"), value, "line 6: field 't' must be an integer")
            for value in (None, "x", 1.5, True, [], {})
        ),
        ((5, "t"), 1, "line 6: 't' is 1, before the line above"),
        ((1, "n"), 8, "line 2: the configuration names no node 8"),
        ((40, "ev"), "doze", "line 41: unknown event 'doze'"),
        ((0, "initialKraftVersion"), 7, "line 1: field 'initialKraftVersion' must be 0 or 1, found 7"),
        ((2, "out", 0, "kind"), "x", "line 3: field 'out[0].kind' must be 'req' or 'resp', found 'x'"),
        ((2, "s", "deadlines", "fetch"), [], "field 's.deadlines.*' must be an integer, found a list"),
    ],
)
def test_a_wrong_value_is_named_with_its_line_and_the_expected_ones(
    place: tuple[Any, ...], value: Any, said: str
) -> None:
    lines: Any = json.loads(json.dumps(small_recording()))
    *around, last = place
    part = lines
    for key in around:
        part = part[key]
    part[last] = value
    with pytest.raises(InputError, match=re.escape(said)):
        recording_of(lines)


def test_a_call_has_the_fields_of_its_kind() -> None:
    lines = small_recording()
    seq = first(lines, "api", call="append")
    del lines[seq]["values"]
    with pytest.raises(InputError, match=f"line {seq + 1}: field 'values' is missing"):
        recording_of(lines)


def test_a_message_is_accounted_for_once() -> None:
    lines = small_recording()
    arrivals = [line["seq"] for line in lines if line["ev"] == "recv"]
    lines[arrivals[3]]["mid"] = lines[arrivals[0]]["mid"]
    with pytest.raises(
        InputError, match=f"line {arrivals[3] + 1}: .*accounted for on line {arrivals[0] + 1}"
    ):
        recording_of(lines)


def test_a_message_is_sent_once() -> None:
    lines = small_recording()
    sends = [line["seq"] for line in lines if "out" in line]
    lines[sends[1]]["out"][0]["mid"] = lines[sends[0]]["out"][0]["mid"]
    with pytest.raises(InputError, match=f"line {sends[1] + 1}: .*already sent on line {sends[0] + 1}"):
        recording_of(lines)


def _with_config_at(lines: list[Any], place: int) -> list[Any]:
    moved = [{**lines[0], "t": lines[place]["t"]}] if place else []
    return [*lines[:place], *moved, *lines[max(1, place) :]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: _with_config_at(lines, 0), "'config'"),
        (lambda lines: _with_config_at(lines, 3), "'config'"),
        (lambda lines: [*lines, lines[-1]], "nothing may follow"),
        (lambda lines: lines[:-1], "'final'"),
    ],
    ids=("no first line", "two first lines", "two last lines", "no last line"),
)
def test_a_run_begins_and_ends_once(change: Callable[[list[Any]], list[Any]], said: str) -> None:
    lines = change(small_recording())
    with pytest.raises(InputError, match=said):
        recording_of([{**line, "seq": seq} for seq, line in enumerate(lines)])


@pytest.mark.slow
@given(st.data())
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_a_field_holds_there_is_a_verdict_or_one_sentence(
    tmp_path: Path, data: st.DataObject
) -> None:
    lines = small_recording()
    with_anything(lines, data)
    try:
        report = compare(read(write(tmp_path, lines)))
    except InputError as error:
        assert str(tmp_path) in str(error)
        return
    assert report.recorded == len(lines)


def test_bad_input_ends_with_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", str(tmp_path / "nothing")]) == 2
    assert "nothing: there is no such folder" in capsys.readouterr().err
