"""The comparison: a faithful recording agrees, and one wrong field is reported at its event."""

from __future__ import annotations

import random
from typing import Any

import pytest
from msgspec import structs

from kraftcheck.evidence.recorder.simulation import Simulation
from kraftcheck.evidence.recordings.exceptions import EXCEPTIONS
from kraftcheck.evidence.recordings.lines import STEPS, WORLD
from kraftcheck.evidence.recordings.outcome import Difference, RunReport
from kraftcheck.evidence.recordings.recording import StepEvent, recording_of
from kraftcheck.evidence.recordings.spacing import Spacing
from tests.evidence.recordings.line_changes import any_change, is_reported
from tests.evidence.recordings.line_disorder import any_disorder, is_noticed
from tests.evidence.recordings.small_recording import (
    agrees,
    all_events,
    eventful_recording,
    first,
    renumbered,
    report_on,
    small_recording,
)

Lines = list[dict[str, Any]]


def at(report: RunReport, seq: int) -> list[Difference]:
    return [difference for difference in report.differences if difference.seq == seq]


def granting(lines: Lines) -> int:
    """The line on which a vote is granted: the epoch and the vote are written."""
    return next(
        line["seq"]
        for line in lines
        if (line["ev"], line.get("api")) == ("recv", "Vote") and len(line.get("persist", ())) == 2
    )


def test_a_faithful_recording_agrees_whole() -> None:
    report = agrees(small_recording())
    assert not report.not_covered
    assert report.compared["recv Vote request"] == 4
    assert all_events(report) == report.recorded
    assert report.rules["VOTE-10"] == 2


@pytest.mark.slow
def test_the_order_of_answers_is_compared() -> None:
    lines = list(eventful_recording())
    seq = next(
        line["seq"]
        for line in lines
        if len(line.get("out", ())) > 1 and all(sent["kind"] == "resp" for sent in line["out"])
    )
    lines[seq] = {**lines[seq], "out": lines[seq]["out"][::-1]}
    assert {difference.field for difference in at(report_on(lines), seq)} == {"out.mid", "out.order"}


def test_every_kind_of_event_that_is_covered_agrees() -> None:
    lines = list(eventful_recording())
    report = agrees(lines)
    assert not report.not_covered
    covered = STEPS | WORLD - {"apiVersions", "adminResult", "note"}
    assert {line["ev"] for line in lines} == covered
    assert {line["s"]["state"] for line in lines if "s" in line} == {
        *("Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned")
    }
    assert report.exceptions.keys() <= EXCEPTIONS.keys()
    assert report.exceptions["random election timeout"] > 10


@pytest.mark.parametrize(
    "count", [pytest.param(20, marks=pytest.mark.slow), pytest.param(300, marks=pytest.mark.nightly)]
)
def test_a_step_left_out_or_doubled_or_exchanged_is_noticed(count: int) -> None:
    lines, draw = eventful_recording(), random.Random(1)
    disorders = (any_disorder(lines, draw) for _ in range(count))
    assert [what for what, changed in disorders if not is_noticed(changed)] == []


@pytest.mark.parametrize(
    ("seed", "changes"),
    [
        pytest.param(1, 40, marks=pytest.mark.slow),
        *(pytest.param(seed, 200, marks=pytest.mark.nightly) for seed in range(6, 10)),
    ],
)
def test_one_wrong_field_is_reported_at_its_event(seed: int, changes: int) -> None:
    lines, draw = eventful_recording(), random.Random(seed)
    made = [any_change(lines, draw) for _ in range(changes)]
    assert [str(each) for each in made if not is_reported(each)] == []


def test_a_message_that_was_not_sent_is_reported_where_it_should_have_been() -> None:
    lines = small_recording()
    seq = first(lines, "recv", api="Vote", kind="req")
    (sent,) = lines[seq].pop("out")
    found = report_on(lines).differences
    assert (found[0].seq, found[0].field, found[0].production) == (
        seq,
        f"out.Vote response to {sent['to']}",
        None,
    )
    assert any(one.field == "mid" and one.production == sent["mid"] for one in found)


def test_the_content_of_a_message_is_reported_at_both_lines() -> None:
    lines = small_recording()
    arrival = first(lines, "recv", api="Vote", kind="resp")
    lines[arrival]["data"]["topics"][0]["partitions"][0]["leaderEpoch"] += 1
    (sender,) = [
        line["seq"] for line in lines for sent in line.get("out", ()) if sent["mid"] == lines[arrival]["mid"]
    ]
    difference = at(report_on(lines), sender)[0]
    assert (difference.seq, difference.shown_at) == (sender, arrival)


def test_a_poll_that_should_have_sent_something_is_reported() -> None:
    """Without the line that sends a Fetch the follower handles the answer to one that it never sent."""
    lines = small_recording()
    seq = next(
        line["seq"] for line in lines[110:] if line["ev"] == "tick" and line["s"]["state"] == "Follower"
    )
    node = lines[seq]["n"]
    del lines[seq]
    differences = report_on(renumbered(lines)).differences
    assert any(one.node == node and one.field == "a poll between messages" for one in differences)


def test_a_difference_explains_itself() -> None:
    lines = small_recording()
    seq = granting(lines)
    lines[seq]["s"]["epoch"] = 4
    difference = at(report_on(lines), seq)[0]
    assert difference.event == "recv Vote request"
    assert (difference.field, difference.reference, difference.production) == ("epoch", 1, 4)
    assert "VOTE-10" in difference.rules
    assert difference.before and difference.before[-1].split()[1].strip(":") in ("tick", "recv")


def test_after_a_difference_the_node_is_skipped_and_counted() -> None:
    lines = small_recording()
    seq = granting(lines)
    lines[seq]["s"]["epoch"] = 4
    report = report_on(lines)
    later = sum(line.get("n") == lines[seq]["n"] for line in lines[seq + 1 :])
    assert dict(report.skipped) == {"after a difference": later}
    assert all_events(report) == report.recorded


def test_what_is_not_covered_is_counted_by_kind_and_ends_the_comparison_of_its_node() -> None:
    lines = small_recording()
    request = {
        "mid": 9999,
        "kind": "req",
        "api": "ElectLeaders",
        "from": -1,
        "corr": 9999,
        "ver": 1,
        "data": {},
    }
    added = {"t": lines[130]["t"], "n": 1, "ev": "recv", **request, "s": lines[125]["s"]}
    lines.insert(131, {"seq": 0, **added})
    report = report_on(renumbered(lines))
    later = sum(line.get("n") == 1 for line in lines[132:])
    assert dict(report.not_covered) == {"recv ElectLeaders request": 1}
    assert dict(report.skipped) == {"after a step that is not covered": later}
    assert all_events(report) == report.recorded and not report.is_whole


def test_an_election_timeout_out_of_range_is_reported() -> None:
    lines = small_recording()
    seq = granting(lines)
    lines[seq]["s"]["deadlines"]["election"] = lines[seq]["t"] + 99
    assert "from" in str(at(report_on(lines), seq)[0].reference)


def test_a_drawn_timeout_that_changes_names_the_line_of_the_draw() -> None:
    lines = small_recording()
    seq = granting(lines)
    lines[seq]["s"]["deadlines"]["election"] += 1
    found = [one for one in report_on(lines).differences if one.field == "deadlines.election"]
    assert found and found[0].shown_at == seq


def test_an_unknown_field_is_counted_and_named() -> None:
    lines = small_recording()
    lines[1]["zone"] = "a"
    report = agrees(lines)
    assert report.exceptions["unknown field"] == 1 and dict(report.unknown) == {"start.zone": 1}


# What the loop of a leader and the end of a process do without an event.


def test_a_graceful_stop_flushes_the_log() -> None:
    simulation = Simulation(11, brokers=1, hurry=5)
    for node in (1, 2, 3, 101):
        simulation.at(20 * node if node < 9 else 450, lambda node=node: simulation.start(node))
    for time in range(500, 900, 50):
        simulation.at(time, lambda: simulation.append(2))
    simulation.at(900, lambda: simulation.shut_down(101))
    simulation.run(1100)
    lines = simulation.finish()
    (end,) = [line for line in lines if line["ev"] == "end"]
    assert end["log"] == [{"op": "flush", "to": end["leo"]}] and end["leo"] > 1
    assert not report_on(lines).differences
    end["flushed"], end["log"] = 0, []
    assert "reason" in {one.field for one in report_on(lines).differences}


@pytest.mark.parametrize(("announced_at", "wakes"), [(50, True), (100, False)])
def test_the_poll_that_announces_a_leader_sleeps_past_the_timer_that_it_restarts(
    announced_at: int, wakes: bool
) -> None:
    """A poll is due when a leader announces itself again, except after the one that announced it last."""
    recording = recording_of(small_recording())
    steps = [event for event in recording.events if isinstance(event, StepEvent) and event.kind == "tick"]
    interval = recording.config.timeouts.times.fetch_timeout // 2
    deadline = announced_at + interval

    def tick(now: int) -> StepEvent:
        state = {**(steps[0].state or {}), "deadlines": {"beginQuorumEpoch": deadline}}
        line = structs.replace(steps[0].line, time=now)
        return structs.replace(steps[0], line=line, now=now, shown={**steps[0].shown, "s": state})

    spacing = Spacing(recording)
    list(spacing.step(tick(100), None, None, {}))
    assert bool(list(spacing.step(tick(deadline + 40), None, None, {}))) == wakes
