"""The comparison: a faithful recording agrees, and one wrong field is reported at its event."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_recording import small_recording, write

from model_check.cli import main
from model_check.conform.lockstep import RunReport, compare
from model_check.conform.recording import read

Place = tuple[tuple[str | int, ...], int]


def report_on(folder: Path, lines: list[dict[str, Any]]) -> RunReport:
    return compare(read(write(folder, lines)))


def all_events(report: RunReport) -> int:
    counters = (report.compared, report.world, report.not_covered, report.skipped)
    return sum(sum(counter.values()) for counter in counters)


def test_a_faithful_recording_agrees_whole(tmp_path: Path) -> None:
    report = report_on(tmp_path, small_recording())
    assert report.differences == []
    assert not report.skipped and not report.not_covered
    assert report.compared["recv Vote request"] == 1
    assert all_events(report) == report.recorded
    assert report.rules["VOTE-10"] == 1


def _leaves(value: Any, path: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    if isinstance(value, dict):
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, (*path, key))]
    if isinstance(value, list):
        return [leaf for key, inner in enumerate(value) for leaf in _leaves(inner, (*path, key))]
    return [path]


def _compared_places() -> list[Place]:
    """Each field that a comparison reads, and the event at which a wrong value must be reported."""
    lines = small_recording()
    senders = {sent["mid"]: line["seq"] for line in lines for sent in line.get("out", [])}
    places: list[Place] = []
    for line in lines:
        for part in ("s", "persist", "log"):
            leaves = _leaves(line.get(part), (line["seq"], part)) if part in line else []
            places += [(leaf, line["seq"]) for leaf in leaves]
        if line["ev"] == "inflight":
            places += [(leaf, senders[line["mid"]]) for leaf in _leaves(line["data"], (line["seq"], "data"))]
        if line["ev"] == "end":
            places += [((line["seq"], name), line["seq"]) for name in ("leo", "flushed")]
    return [place for place in places if place[0][-1] not in ("op", "by")]


def _damage(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 100_000
    return "damaged" if value is None else f"{value}?"


@given(st.sampled_from(_compared_places()))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_wrong_field_is_reported_at_its_event(tmp_path: Path, place: Place) -> None:
    path, seq = place
    lines: Any = small_recording()
    container = lines
    for key in path[:-1]:
        container = container[key]
    container[path[-1]] = _damage(container[path[-1]])
    report = report_on(tmp_path, lines)
    assert {difference.seq for difference in report.differences} == {seq}
    assert all_events(report) == report.recorded


@pytest.mark.parametrize("seq", [5, 7])
def test_a_missing_write_is_reported(tmp_path: Path, seq: int) -> None:
    lines = small_recording()
    lines[seq]["persist"].pop()
    assert report_on(tmp_path, lines).differences[0].seq == seq


def test_a_message_that_was_not_sent_is_reported(tmp_path: Path) -> None:
    lines = small_recording()
    del lines[5]["out"]
    difference = report_on(tmp_path, lines).differences[0]
    assert (difference.seq, difference.field, difference.found) == (5, "out.Vote response to 2", None)


def test_a_message_too_many_is_reported(tmp_path: Path) -> None:
    lines = small_recording()
    lines[9]["out"] = [{"mid": 8, "to": 3, "kind": "req", "api": "Fetch"}]
    difference = report_on(tmp_path, lines).differences[0]
    assert (difference.seq, difference.expected) == (9, None)


def test_a_poll_that_should_have_sent_something_is_reported(tmp_path: Path) -> None:
    """Without the line of seq 8 the follower handles the answer to a Fetch that it never sent."""
    lines = small_recording()
    del lines[8]
    lines = [{**line, "seq": seq} for seq, line in enumerate(lines)]
    differences = report_on(tmp_path, lines).differences
    assert differences[0].seq == 8
    assert differences[0].field == "a poll between messages"


def test_a_difference_explains_itself(tmp_path: Path) -> None:
    lines = small_recording()
    lines[5]["s"]["epoch"] = 4
    difference = report_on(tmp_path, lines).differences[0]
    assert (difference.run, difference.node, difference.event) == ("small", 1, "recv Vote request")
    assert (difference.field, difference.expected, difference.found) == ("epoch", 1, 4)
    assert "VOTE-10" in difference.rules
    assert difference.before[-1].startswith("4 tick")


def test_after_a_difference_the_node_is_skipped_and_counted(tmp_path: Path) -> None:
    lines = small_recording()
    lines[5]["s"]["epoch"] = 4
    report = report_on(tmp_path, lines)
    assert dict(report.skipped) == {"after a difference": 6}


def test_what_is_not_covered_is_counted_by_kind(tmp_path: Path) -> None:
    lines = small_recording()
    lines[5]["api"] = "AddRaftVoter"
    report = report_on(tmp_path, lines)
    assert dict(report.not_covered) == {"recv AddRaftVoter request": 1}
    assert dict(report.skipped) == {"after a step that is not covered": 6}
    assert report.differences == []


def test_a_destination_that_is_no_bootstrap_server_is_reported(tmp_path: Path) -> None:
    lines = small_recording()
    lines[2]["out"][0]["to"] = 9
    assert report_on(tmp_path, lines).differences[0].seq == 2


def test_a_server_in_its_back_off_may_not_be_chosen(tmp_path: Path) -> None:
    lines = small_recording()
    lines[4]["out"][0]["to"] = 2
    assert report_on(tmp_path, lines).differences[0].seq == 4


def test_an_election_timeout_out_of_range_is_reported(tmp_path: Path) -> None:
    lines = small_recording()
    lines[5]["s"]["deadlines"]["election"] = 1000
    difference = report_on(tmp_path, lines).differences[0]
    assert (difference.seq, difference.field) == (5, "deadlines.election")


def test_the_command_says_zero_for_agreement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", str(write(tmp_path, small_recording())), "--rules"]) == 0
    printed = capsys.readouterr().out
    assert "VOTE-10" in printed and "never compared" in printed


def test_the_command_says_one_for_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = small_recording()
    lines[5]["s"]["epoch"] = 4
    assert main(["conform", str(write(tmp_path, lines))]) == 1
    assert "seq 5, node 1, recv Vote request: epoch" in capsys.readouterr().out


def test_the_json_report_is_complete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conform", str(write(tmp_path, small_recording())), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    (run,) = report["runs"]
    parts = ("compared", "world", "notCovered", "skipped")
    assert run["recorded"] == sum(sum(run[part].values()) for part in parts)
    assert report["format"] == 1
