"""The pages of differences and findings: what the recording says up to the event, and only that."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.recordings import pages
from kraftcheck.evidence.recordings.lockstep import compare
from kraftcheck.evidence.recordings.outcome import Difference, Judgement, RunReport, RunResult
from kraftcheck.evidence.recordings.recording import Recording, StepEvent, recording_of
from kraftcheck.traces.page.document import Document
from kraftcheck.traces.page.html import page
from tests.browser import NEEDS_AXE, NEEDS_CHROMIUM, browser, inaccessible, problems
from tests.evidence.recordings.small_recording import small_recording, write

DATA = re.compile(r'<script type="application/json" id="document">(.*?)</script>', re.DOTALL)


def documents(recording: Recording, decided: dict[int, tuple[str, ...]]) -> list[tuple[int, Document]]:
    """The pages of differences at every event."""
    found = [Difference(event.seq, None, None, "tick", "hw", 1, 2) for event in recording.events[1:]]
    result = RunResult(RunReport(recording.name, differences=found), Judgement())
    return list(pages.pages(recording, result, decided, "again", len(found)))


@pytest.mark.slow
@pytest.mark.parametrize("most", [400, 5])
def test_a_page_says_what_the_recording_says(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "MOST_EVENTS", most)
    recording = recording_of(small_recording())
    decided: dict[int, tuple[str, ...]] = {}
    compare(recording, decided=decided)
    found = documents(recording, decided)
    assert [seq for seq, _ in found] == [event.seq for event in recording.events[1:]]
    places = [node.id for node in recording.config.nodes]
    for seq, document in found:
        lanes = [dict(lane.fields) for lane in document.lanes]
        for step in document.steps:
            for change in step.changes:
                assert change.lane is not None and lanes[change.lane].get(change.field, "–") == change.before
                lanes[change.lane][change.field] = change.after
        shown: dict[int, dict[str, Any]] = {}
        for event in recording.events[: seq + 1]:
            if isinstance(event, StepEvent):
                shown[event.node] = event.state or {}
        for node, state in shown.items():
            lane = lanes[places.index(node)]
            assert lane["process"] == ("running" if state else "down")
            if state:
                assert (lane["role"], lane["epoch"]) == (state["state"], json.dumps(state["epoch"]))
        ends = [lane.summary for lane in document.lanes]
        for step in document.steps:
            for at, summary in step.summaries:
                ends[at] = summary
        for lane, summary in zip(lanes, ends, strict=True):
            assert summary == (
                f"{lane['role']}, epoch {lane['epoch']}" if lane["process"] == "running" else lane["process"]
            )
        told = [text for step in document.steps for text in step.moments]
        assert all(re.fullmatch(r"Node \d+, at \d+ ms: [^–]+", text) for text in told), told
        rules = {rule for step in document.steps for rule in step.rules}
        assert rules == {rule for at in decided if seq - most <= at <= seq for rule in decided[at]}
        assert document.verdict == "Kafka differs from the reference"


@pytest.mark.slow
def test_every_message_is_an_arrow() -> None:
    recording = recording_of(small_recording())
    _, document = documents(recording, {})[-1]
    steps = [event for event in recording.events if isinstance(event, StepEvent)]
    places = {node.id for node in recording.config.nodes}
    between = [sent for event in steps for sent in event.line.sent if sent.destination in places]
    assert len(document.arrows) == len(between) > 0
    received = {event.message.mid for event in steps if event.message is not None}
    delivered = [arrow for arrow in document.arrows if arrow.end == "delivered"]
    assert len(delivered) == len([sent for sent in between if sent.mid in received])
    for arrow in delivered:
        assert arrow.ended is not None and arrow.sent < arrow.ended
        assert document.steps[arrow.sent - 1].lane == arrow.source
        assert document.steps[arrow.ended - 1].lane == arrow.target


@pytest.mark.slow
def test_the_command_writes_a_page_for_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = small_recording()
    end = next(line for line in lines if line["ev"] == "end")
    end.update(reason="fatal", exception="</script><script>alert(1)</script>")
    run, folder = write(tmp_path / "run-1", lines), tmp_path / "pages"
    assert main(["conform", str(run), "--html", str(folder)]) == 1
    text = (folder / f"run-1.{end['seq']}.html").read_text(encoding="utf-8")
    assert text.count("<script") == 2
    data = DATA.search(text)
    assert data is not None
    document = json.loads(data[1])
    assert document["reasons"][-1].startswith("NoFatal, node 1: the process ends")
    assert document["steps"][-1]["violations"] == ["NoFatal"]
    assert document["steps"][-1]["head"].endswith(end["exception"])
    assert document["again"] == f"kraftcheck conform {run}"

    write(tmp_path / "other" / "run-1", lines)
    assert main(["conform", str(tmp_path), "--html", str(folder)]) == 2
    assert "two runs are called 'run-1'" in capsys.readouterr().err


@pytest.mark.slow
@NEEDS_CHROMIUM
@NEEDS_AXE
def test_a_page_is_accessible(tmp_path: Path) -> None:
    recording = recording_of(small_recording())
    decided: dict[int, tuple[str, ...]] = {}
    compare(recording, decided=decided)
    seq, document = documents(recording, decided)[-1]
    file = tmp_path / f"run.{seq}.html"
    file.write_text(page(document), encoding="utf-8")
    with browser() as driver:
        for step in (0, len(document.steps)):
            driver.get(f"{file.as_uri()}#step={step}")
            driver.refresh()
            assert inaccessible(driver) == []
        assert problems(driver) == []
