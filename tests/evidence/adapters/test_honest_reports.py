"""The report on an adapter that shows little, odd things or nothing, and on a run that is cut short."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.cli.commands import drive as command
from kraftcheck.cli.main import main
from kraftcheck.evidence.adapters import files, wire
from kraftcheck.evidence.adapters.answers import AdapterError, read_answer
from kraftcheck.evidence.adapters.report import Report
from kraftcheck.evidence.adapters.scripts import scripts
from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.adapters.stimuli import Crash, Start
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.reference.events import Poll
from kraftcheck.reference.protocol import KAFKA
from tests.evidence.adapters.in_process import InProcess, install, write_sequence

Drive = Callable[..., int]
Answers = dict[str, Any]


class Changed(ReferenceAdapter):
    """The reference, whose capabilities and answers are changed before they are sent."""

    def __init__(self, capabilities: Answers, change: Callable[[str, Answers], Answers]) -> None:
        super().__init__()
        self.capabilities, self.change = capabilities, change

    def hello(self) -> Answers:
        hello = super().hello()
        return {**hello, "capabilities": {**hello["capabilities"], **self.capabilities}}

    def answer(self, question: Fields) -> Answers:
        return self.change(question.text("type"), super().answer(question))


def unchanged(kind: str, answer: Answers) -> Answers:
    return answer


@pytest.fixture
def drive(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Drive:
    """Runs the command on two short sequences with an adapter."""
    folder = tmp_path / "sequences"
    folder.mkdir()
    for name in ("one", "two"):
        write_sequence(folder / f"{name}.json", name, Start(), Poll(), Crash(), Start(), Poll())

    def run(
        *words: str,
        change: Callable[[str, Answers], Answers] = unchanged,
        **capabilities: object,
    ) -> int:
        install(monkeypatch, InProcess(Changed(capabilities, change)))
        return main(["drive", "--adapter", "x", "--traces", str(folder), *words])

    return run


def text_of(capsys: pytest.CaptureFixture[str]) -> str:
    return " ".join(capsys.readouterr().out.split())


# Nothing compared is no pass.


def test_an_adapter_that_supports_nothing_does_not_pass(
    drive: Drive, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(kind: str, answer: Answers) -> Answers:
        return answer if kind == "hello" else {"unsupported": "not today"}

    assert drive(change=refuse) == 3
    text = text_of(capsys)
    assert "nothing could be compared, UNDETERMINED" in text
    assert "rules exercised: 0 of" in text
    assert "not today" in text


def test_an_adapter_that_shows_nothing_does_not_pass(
    drive: Drive, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drive(effects=[], state=[]) == 3
    text = text_of(capsys)
    assert "nothing could be compared, UNDETERMINED" in text
    assert "not exercised, in steps of which the adapter shows nothing: PERSIST-1 INIT" in text
    assert drive("--json", effects=[], state=[]) == 3
    report = json.loads(capsys.readouterr().out)
    assert (report["verdict"], report["stepsCompared"], report["rules"]) == ("undetermined", 0, {})


def test_a_rule_counts_only_where_the_adapter_shows_something(
    drive: Drive, capsys: pytest.CaptureFixture[str]
) -> None:
    """A start transitions and arms timers; ``stop`` and the role are shown, but a start stops nothing."""
    assert drive("--json", effects=["stop"], state=[]) == 0
    report = json.loads(capsys.readouterr().out)
    assert "INIT-1" in report["rulesUnseen"] and "INIT-1" not in report["rules"]
    assert drive("--json", effects=["stop"], state=["state"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"]["INIT-1"] == 4


# What an adapter says of itself.


def test_the_report_says_what_an_adapter_does_not_show(
    drive: Drive, capsys: pytest.CaptureFixture[str]
) -> None:
    shy = {"events": ["start", "request"], "effects": ["response"], "state": ["epoch"], "ordered": False}
    assert drive(**shy) == 0
    text = text_of(capsys)
    for shown in (
        "events response, poll, requestTimedOut",
        "effects persist, append",
        "state state, leader",
        "the order of effects",
        "steps from a step of the kind 'poll' to the next start",
    ):
        assert shown in text


def test_capabilities_that_nobody_knows_are_listed(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    assert drive(wings=True, tail=[1]) == 0
    assert "capabilities of the adapter that were ignored: tail, wings" in text_of(capsys)


def test_nothing_of_an_adapter_is_a_command_to_the_terminal(
    drive: Drive, capsys: pytest.CaptureFixture[str]
) -> None:
    escape = "\x1b[31m\x07\u202e"

    def change(kind: str, answer: Answers) -> Answers:
        if kind == "hello":
            return {**answer, "name": escape, "capabilities": {**answer["capabilities"], escape: 1}}
        return {"unsupported": escape} if kind == "poll" else answer

    assert drive(change=change) == 0
    assert drive(change=lambda kind, answer: answer if kind == "hello" else {"error": escape}) == 2
    wrong = {"effects": [{"effect": "request", "api": escape, "to": 1}], "state": {"state": escape}}
    assert drive(change=lambda kind, answer: answer if kind == "hello" else wrong) == 1
    captured = capsys.readouterr()
    assert "?" in captured.out and "?" in captured.err
    assert all(letter.isprintable() or letter == "\n" for letter in captured.out + captured.err)


WRONG_TYPES: dict[str, list[Any]] = {
    "epoch": ["1", 1.5, True, [], 2**63],
    "isVoter": [1, "true"],
    "state": [1, {}],
    "voted": [[], [1, 2, 3], 1, ["x", 1.5]],
    "voters": [[1], "none", [[]]],
    "election": [{}, {"granted": [1]}, {"granted": ["1"], "rejected": []}],
    "progress": [{"1": 1}, [], {"1": ["x"]}],
    "unacked": [["2"], 2],
    "snapshot": [[1], [1, 2, 3], "1-2"],
    "fetchingSnapshot": [[1, 2], [1, 2, "3"]],
    "pendingAdd": [1, []],
    "pendingRemove": ["1"],
    "logStart": ["0"],
}


def test_a_state_field_of_another_type_is_no_verdict() -> None:
    assert set(WRONG_TYPES) <= set(wire.STATE)
    for name, value in ((name, value) for name, values in WRONG_TYPES.items() for value in values):
        with pytest.raises(AdapterError) as raised:
            read_answer(json.dumps({"id": 1, "effects": [], "state": {name: value}}), 1)
        error = str(raised.value)
        named = f"'state.{name}" in error and ("must be" in error or "is missing" in error)
        assert named or "more than 64 bits" in error, (name, value)


# Runs that are cut short.


def test_a_limit_is_exact(drive: Drive, capsys: pytest.CaptureFixture[str]) -> None:
    for limit, expected in ((4, 4), (7, 7), (9, 9), (10, 10), (11, 10)):
        status = drive("--limit", str(limit), "--json")
        report = json.loads(capsys.readouterr().out)
        assert report["steps"] == expected
        assert status == (0 if limit >= 10 else 3)


def test_places_are_looked_at_before_the_run(
    drive: Drive, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a file"
    file.write_text("")

    def fail(kind: str, answer: Answers) -> Answers:
        pytest.fail("the adapter was asked")

    for words, sentence in (
        (("-o", str(tmp_path)), "is a folder; give the name of a file in it"),
        (("-o", str(tmp_path / "none" / "x.json")), "there is no folder"),
        (("--save", str(file)), "is no folder"),
        (("--save", str(file / "below")), "is no folder"),
    ):
        assert drive(*words, change=fail) == 2
        error = capsys.readouterr().err
        assert sentence in error and error.count("\n") == 1
    assert drive("--save", str(tmp_path / "new" / "folder"), "-o", str(tmp_path / "x.json")) == 0
    assert len(files.load(tmp_path / "new" / "folder")) == 2


def test_an_interrupt_of_the_search_for_traces_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The sequences found by then must not be driven as if they were all."""

    def cut(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    install(monkeypatch, InProcess(Changed({}, unchanged)))
    monkeypatch.setattr("kraftcheck.evidence.adapters.generate.explore", cut)
    assert main(["drive", "--adapter", "x", "--scenario", "ping-pong"]) == 3
    captured = capsys.readouterr()
    assert "kraftcheck: interrupted." in captured.err and not captured.out


@pytest.mark.slow
def test_ctrl_c_while_traces_are_looked_for(tmp_path: Path) -> None:
    started = tmp_path / "started"
    script = f"touch {started}; exec {sys.executable} -m kraftcheck.evidence.adapters.adapter"
    command = shlex.join(["sh", "-c", script])
    run = subprocess.Popen(
        [sys.executable, "-m", "kraftcheck", "drive", "--adapter", command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    for _ in range(1200):
        if started.exists():
            break
        time.sleep(0.05)
    time.sleep(1)
    os.kill(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (3, "")
    assert "kraftcheck: interrupted." in err


# Lists whose order no rule fixes.


def test_the_order_of_voters_in_records_and_snapshots_is_not_compared(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def reverse(value: Any) -> Any:
        if isinstance(value, list):
            return [reverse(each) for each in value]
        if not isinstance(value, dict):
            return value
        turned = {name: reverse(each) for name, each in value.items()}
        for name in ("voters", "grantingVoters"):
            if isinstance(turned.get(name), list):
                turned[name] = turned[name][::-1]
        return turned

    def change(kind: str, answer: Answers) -> Answers:
        return answer if kind == "hello" else {**answer, "effects": reverse(answer["effects"])}

    wanted = ("script create a snapshot: with a voter set", "script add a voter: it commits")
    for number, sequence in enumerate(each for each in scripts(KAFKA) if each.name in wanted):
        (tmp_path / f"{number}.json").write_text(files.dumps(sequence))
    assert len(list(tmp_path.iterdir())) == 2
    install(monkeypatch, InProcess(Changed({}, change)))
    assert main(["drive", "--adapter", "x", "--traces", str(tmp_path)]) == 0


def test_the_verdict_is_last_and_reasons_are_grouped(
    drive: Drive, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = {name: f"no: {name}.toml:{line}: admin.steps: alter" for line, name in enumerate("abc", 1)}
    left_out = {**alike, "d": "no: d.toml:1: another key"}

    def report(**fields: Any) -> Report:
        return Report(**fields, left_out=left_out)

    monkeypatch.setattr(command, "Report", report)
    assert drive() == 0
    lines = capsys.readouterr().out.splitlines()
    assert "left out: 3 scenarios (-v lists them): no: admin.steps: alter" in lines
    assert "left out: d: no: another key" in lines
    assert lines[-1].endswith(": no difference")
    assert drive("--json") == 0
    assert json.loads(capsys.readouterr().out)["leftOut"] == left_out
