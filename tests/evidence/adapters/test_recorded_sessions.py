"""Recorded sessions: what is written reads back, a damaged file is refused, and Kafka's answers agree."""

import gzip
import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.adapters.recorded import hold
from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.adapters.stimuli import Start
from kraftcheck.evidence.adapters.wire import EFFECTS, EVENTS, STATE
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.reference.events import Poll, Timer
from kraftcheck.spec import RELEASES
from kraftcheck.support.errors import InputError
from tests.evidence.adapters.in_process import InProcess, install, write_sequence

SESSIONS = Path(__file__).with_name("sessions")
NAMES = sorted(path.name.split(".jsonl")[0] for path in SESSIONS.iterdir())

Record = Callable[..., Path]


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Record:
    """Records a session of two sequences with the reference, whose hidden state may be changed."""
    for name in ("one", "two"):
        path = tmp_path / f"{name}.json"
        write_sequence(path, name, Start(), Poll((Timer.ELECTION,)), Poll(), Start(), Poll())

    def run(change: Callable[[dict[str, Any]], dict[str, Any]] = lambda answer: answer) -> Path:
        class Changed(ReferenceAdapter):
            def answer(self, question: Fields) -> dict[str, Any]:
                return change(super().answer(question))

        install(monkeypatch, InProcess(Changed()))
        written = tmp_path / "session.jsonl.gz"
        traces = [word for name in ("one", "two") for word in ("--traces", str(tmp_path / f"{name}.json"))]
        main(["drive", "--adapter", "x", *traces, "--keep-going", "--record", str(written)])
        return written

    return run


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def test_a_recorded_session_agrees_with_the_same_reference(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    written = record()
    header, hello, *_ = lines = lines_of(written)
    assert header == {"format": "kraftcheck-drive-session", "version": 2} and hello["type"] == "hello"
    assert [each["sequence"] for each in lines if "sequence" in each] == ["one", "two"]
    capsys.readouterr()
    assert main(["drive", "--session", str(written), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["sequences"], shown["steps"], shown["verdict"]) == (2, 10, "agrees")


def test_a_difference_is_found_again_and_the_search_for_a_shorter_one_is_not_recorded(
    record: Record, capsys: pytest.CaptureFixture[str]
) -> None:
    def votes_for_itself(answer: dict[str, Any]) -> dict[str, Any]:
        if answer.get("state", {}).get("state") == "Prospective":
            answer["state"]["voted"] = [1]
        return answer

    written = record(votes_for_itself)
    assert sum("sequence" in each for each in lines_of(written)) == 2
    capsys.readouterr()
    assert main(["drive", "--session", str(written), "--json"]) == 1
    first, second = json.loads(capsys.readouterr().out)["differences"]
    assert (first["sequence"], first["step"], first["shortened"]) == ("one", 2, None)
    assert second["differences"] == [{"field": "state.voted", "expected": None, "got": [1]}]
    assert main(["drive", "--session", str(written)]) == 1
    assert "Difference in step 2 of two" in capsys.readouterr().out


def test_answers_are_paired_by_the_ids_that_the_implementation_gave(record: Record) -> None:
    def numbered_otherwise(answer: dict[str, Any]) -> dict[str, Any]:
        for effect in answer.get("effects", ()):
            if "correlationId" in effect:
                effect["correlationId"] = 1000 - effect["correlationId"]
        return answer

    assert hold(record(numbered_otherwise), lambda words: None).verdict == "agrees"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: [], "is empty"),
        (lambda lines: lines[:-2], "has no answer"),
        (lambda lines: lines[:-1], "has no end, so the file is cut off"),
        (lambda lines: lines[:-3], "has no end"),
        (lambda lines: [*lines[:-1], {"end": 3}], "has 2 sequences of 3"),
        (lambda lines: [*lines, lines[-2]], "after the end"),
        (lambda lines: [{"format": "other"}, *lines[1:]], "drive --record"),
        (lambda lines: [["a", "list"], *lines[1:]], "drive --record"),
        (lambda lines: [{**lines[0], "version": 1}, *lines[1:]], "only version 2"),
        (lambda lines: [lines[0], *lines[3:]], "handshake"),
        (lambda lines: [*lines[:-1], {"sequence": "x"}, {"end": 3}], "has no step"),
        (lambda lines: [each for each in lines if each.get("type") != "start"], "line 5"),
        (lambda lines: [*lines[:4], {**lines[4], "disk": 1}, *lines[5:]], "line 5: field 'disk'"),
        (lambda lines: [*lines[:5], {"id": 7}, *lines[6:]], "answered question 7"),
        (
            lambda lines: [*lines[:-3], {"sequence": "x"}, *lines[-3:-1], {"end": 3}],
            "must begin with 'start'",
        ),
    ],
)
def test_a_damaged_session_is_refused(record: Record, change: Callable[..., Any], words: str) -> None:
    written = record()
    text = "".join(f"{json.dumps(line)}\n" for line in change(lines_of(written)))
    written.write_bytes(gzip.compress(text.encode()))
    with pytest.raises(InputError, match=words):
        hold(written, lambda said: None)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"neither gzip nor a session", "is no gzip file; give a recorded session"),
        (gzip.compress(b"no session\n", mtime=0), "is not a recorded session"),
        (gzip.compress(b"no session\n", mtime=0)[:12], "damaged or cut off"),
        (gzip.compress(b"\xff\n", mtime=0), "UTF-8"),
    ],
)
def test_a_file_that_is_no_session_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        hold(path, lambda said: None)


def test_a_session_brings_its_own_sequences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drive", "--session", "x", "--scenario", "scenario-a", "--limit", "3"]) == 2
    assert "leave out --scenario and --limit" in capsys.readouterr().err


def test_every_release_has_a_session_of_the_adapter_as_it_is() -> None:
    """All that the protocol has is shown, but for what a release lacks: an older adapter showed less."""
    assert {f"kafka-{release}" for release in RELEASES} == {*NAMES} - {"kafka-4.3.1"}
    for name in NAMES:
        with gzip.open(SESSIONS / f"{name}.jsonl.gz") as lines:
            shown = json.loads([*islice(lines, 3)][-1])["capabilities"]
        lacking = {*EVENTS, *EFFECTS, *STATE} - {*shown["events"], *shown["effects"], *shown["state"]}
        assert lacking <= {"upgradeKRaftVersion", "pendingUpdate"}, name
        assert {"ordered": True, "addresses": True, "draws": True}.items() <= shown.items(), name


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_reference_does_as_the_implementation_did(name: str) -> None:
    path = SESSIONS / f"{name}.jsonl.gz"
    assert path.stat().st_size < 2**20
    report = hold(path, lambda words: None)
    assert [driven.sequence.name for driven in report.failed] == []
    assert report.compared > 3_000
