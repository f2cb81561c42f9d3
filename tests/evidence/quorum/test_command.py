"""The command ``kraftcheck reproduce``: arguments, output and exit status."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.adapters.serving import ReferenceAdapter
from kraftcheck.evidence.adapters.wire import EFFECTS
from kraftcheck.evidence.quorum.chosen import of_release, sources
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome
from kraftcheck.support.errors import InputError
from tests.evidence.adapters.faulty_adapter import FaultyAdapter
from tests.evidence.adapters.in_process import InProcess
from tests.house.sources import ROOT
from tests.house.test_outputs import objects, valid

REFERENCE = shlex.join([sys.executable, "-m", "kraftcheck.evidence.adapters.adapter"])

PAGE = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")

Reproduce = Callable[..., int]
Capture = pytest.CaptureFixture[str]


class Refusing(ReferenceAdapter):
    """An adapter that refuses steps of one type."""

    def __init__(self, kind: str, api: str = "") -> None:
        super().__init__()
        self.kind, self.api = kind, api

    def answer(self, question: Fields) -> dict[str, Any]:
        asked = question.values
        if asked["type"] == self.kind and asked.get("api", "") == self.api:
            return {"unsupported": "not written yet"}
        return super().answer(question)


class Showing(ReferenceAdapter):
    """An adapter that shows only these effects."""

    def __init__(self, *effects: str) -> None:
        super().__init__()
        self.effects = effects

    def hello(self) -> dict[str, Any]:
        hello = super().hello()
        return {**hello, "capabilities": {**hello["capabilities"], "effects": list(self.effects)}}


class WithoutAddresses(ReferenceAdapter):
    """An adapter that does not show where its requests go."""

    def hello(self) -> dict[str, Any]:
        hello = super().hello()
        return {**hello, "capabilities": {**hello["capabilities"], "addresses": False}}


class Broken(ReferenceAdapter):
    """An adapter with a defect of its own."""

    def handle(self, kind: str, question: Fields) -> tuple[Replica, Outcome]:
        raise InputError("out of order")


@pytest.fixture
def reproduce(monkeypatch: pytest.MonkeyPatch) -> Reproduce:
    """Runs the command with adapters of one kind, each in this process."""

    def run(adapter: Callable[[], ReferenceAdapter], *words: str) -> int:
        monkeypatch.setattr(
            "kraftcheck.evidence.adapters.started.AdapterProcess", lambda *_: InProcess(adapter())
        )
        return main(["reproduce", "--adapter", "x", *words])

    return run


@pytest.mark.slow
def test_a_finding_is_confirmed(reproduce: Reproduce, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce(ReferenceAdapter, "wiped-leader", "finding-leader-removal-timed-out", "-v") == 0
    shown = capsys.readouterr().out
    assert "finding-wiped-leader (NoFatal): confirmed on reference, 4 of 4 steps" in shown
    assert "2. replica 1: looks for the leader (at 2)" in shown
    assert "2 of 2 behaviours confirmed" in shown


def test_scenarios_are_taken_under_the_preset_of_the_kafka(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kafka 3.9 keeps no vote together with a leader, so that one of the scenarios cannot begin there."""
    monkeypatch.setattr("kraftcheck.evidence.kafka.build.preset", lambda *_: "kafka-3.9")
    monkeypatch.setattr("kraftcheck.evidence.kafka.build.command", lambda *_: ["x"])
    monkeypatch.setattr(
        "kraftcheck.evidence.adapters.started.AdapterProcess", lambda *_: InProcess(ReferenceAdapter())
    )
    assert main(["reproduce", "restart-as-candidate", "wiped-leader", "--kafka", "x"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "finding-wiped-leader (NoFatal): confirmed on reference, 4 of 4 steps" in shown
    assert (
        "left out: finding-restart-as-candidate: " in shown
        and "no vote is kept together with a leader" in shown
    )


@pytest.mark.parametrize("option", [(), ("--json",)])
def test_nothing_is_confirmed_where_all_is_left_out(
    option: tuple[str, ...], reproduce: Reproduce, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("restart-as-candidate", "--protocol", "kafka-3.9", *option)
    assert reproduce(ReferenceAdapter, *words) == 3
    captured = capsys.readouterr()
    shown = captured.err if option else captured.out
    assert "left out: finding-restart-as-candidate: " in shown
    assert not option or not captured.out


def test_scenarios_of_kafka_are_taken_under_the_preset_of_its_release() -> None:
    (kafka,), _ = sources(["finding-wiped-leader"])
    assert of_release([kafka], "kafka-4.3") == of_release([kafka], "kafka-4.4") == [kafka]
    (older,) = of_release([kafka], "kafka-4.1")
    assert older.scenario is not None and older.scenario.asked_preset == "kafka-4.1"
    (former,), _ = sources(["only-voter-restarts"])
    (newer,) = of_release([former], "kafka-4.4")
    assert newer.scenario is not None and newer.scenario.asked_preset == "kafka-4.4"
    (document,), _ = sources(["kip-996-as-written"])
    assert of_release([document], "kafka-4.1") == [document]


def test_a_difference_is_shown(reproduce: Reproduce, capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce(lambda: FaultyAdapter("no-error-for-a-fenced-epoch"), "wiped-leader") == 1
    shown = capsys.readouterr().out
    assert "reference differs in step 3 of 4" in shown
    assert "expected  74" in shown and "got       0" in shown and "EPOCH-4" in shown


class Timing(ReferenceAdapter):
    """An adapter whose timers take longer, or of which one is not armed."""

    def __init__(self, unarmed: str = "") -> None:
        super().__init__()
        self.unarmed = unarmed

    def show(self, before: Replica, outcome: Outcome) -> dict[str, Any]:
        shown = super().show(before, outcome)
        effects = [
            each for each in shown["effects"] if each.get("timer", "") != self.unarmed or not self.unarmed
        ]
        for effect in effects:
            if type(effect.get("ms")) is int:
                effect["ms"] += 10_000
        return {**shown, "effects": effects}


def test_times_of_timers_are_not_compared_but_that_they_are_armed(
    reproduce: Reproduce, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce(Timing, "wiped-leader") == 0
    assert reproduce(lambda: Timing("check-quorum"), "wiped-leader") == 1
    shown = capsys.readouterr().out
    assert "timer check-quorum" in shown and '"not armed"' in shown


def test_json_is_valid(reproduce: Reproduce, capsys: pytest.CaptureFixture[str]) -> None:
    adapter = lambda: FaultyAdapter("no-error-for-a-fenced-epoch")  # noqa: E731
    assert reproduce(adapter, "wiped-leader", "finding-single-voter-power-loss", "--json") == 1
    one, other = (valid(text, "reproduction") for text in objects(capsys.readouterr().out))
    assert (one["verdict"], one["steps"], one["taken"], one["stopped"]["step"]) == ("differs", 4, 2, 3)
    assert one["stopped"]["replica"] == 2 and one["stopped"]["event"] == "request"
    assert one["stopped"]["differences"][0]["expected"] == 74
    assert (other["verdict"], other["stopped"]) == ("confirmed", None)


@pytest.mark.parametrize(
    ("adapter", "reason"),
    [
        (lambda: Refusing("crash"), "confirmed"),
        (lambda: Refusing("start"), "the adapter refuses the step: not written yet"),
        (lambda: Refusing("request", "Fetch"), "the adapter refuses the step: not written yet"),
    ],
)
def test_a_step_that_is_refused_leaves_it_open(
    adapter: Callable[[], ReferenceAdapter],
    reason: str,
    reproduce: Reproduce,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert reproduce(adapter, "wiped-leader") == (0 if reason == "confirmed" else 3)
    assert reason in capsys.readouterr().out


@pytest.mark.parametrize("hidden", [("fatal",), ("fatal", "persist")])
def test_nothing_is_confirmed_on_an_adapter_that_hides_what_a_verdict_rests_on(
    hidden: tuple[str, ...], reproduce: Reproduce, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = [each for each in EFFECTS if each not in hidden]
    assert reproduce(lambda: Showing(*shown), "wiped-leader") == 3
    out = " ".join(capsys.readouterr().out.split())
    assert f"does not show what the verdict rests on: {', '.join(hidden)}" in out


@pytest.mark.slow
@pytest.mark.parametrize(("adapter", "status"), [(ReferenceAdapter, 0), (WithoutAddresses, 3)])
def test_a_behaviour_of_addresses_is_confirmed_where_requests_show_theirs(
    adapter: Callable[[], ReferenceAdapter], status: int, reproduce: Reproduce, capsys: Capture
) -> None:
    """A voter advertises an address at which it does not listen: requests to it are refused."""
    assert reproduce(adapter, "finding-voter-advertises-unreachable") == status
    out = " ".join(capsys.readouterr().out.split())
    assert ("does not show what the verdict rests on: addresses" in out) == (status == 3)


@pytest.mark.parametrize(
    ("adapter", "sentence"),
    [
        (lambda: Showing("persist", "append"), "does not show the messages that its replica sends"),
        (
            Broken,
            "answered with an error: out of order, in step 1 of replica 1 (start), in finding-wiped-leader",
        ),
    ],
)
def test_an_adapter_that_does_not_work(
    adapter: Callable[[], ReferenceAdapter],
    sentence: str,
    reproduce: Reproduce,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert reproduce(adapter, "wiped-leader") == 2
    captured = capsys.readouterr()
    assert sentence in captured.err and captured.err.count("\n") == 1 and not captured.out


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("single-voter", "no property is violated there"),
        ("finding-alter-quorum-leader-leaves", "have no form on the wire"),
        ("finding-late-registration", "no scenario of replicas"),
        ("no-such.json", "there is no such file"),
        ("wiped-leadr", "no scenario 'wiped-leadr'; did you mean 'wiped-leader'"),
        ("xyzzy", "docs/findings.md lists the findings, and 'kraftcheck check --list' the scenarios"),
    ],
)
def test_what_cannot_be_reproduced(
    word: str, sentence: str, reproduce: Reproduce, capsys: pytest.CaptureFixture[str]
) -> None:
    assert reproduce(ReferenceAdapter, word) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err and captured.err.count("\n") == 1


def test_a_trace_file(reproduce: Reproduce, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trace.json"
    assert main(["trace", "show", "finding-restart-as-candidate", "--path", "0,1,1,1", "--json"]) == 0
    text = capsys.readouterr().out
    file.write_text(text)
    assert reproduce(ReferenceAdapter, str(file)) == 0
    assert "trace.json (NoFatal): confirmed on reference, 4 of 4 steps" in capsys.readouterr().out
    data = json.loads(text)
    data["steps"][0]["action"] = "flies away"
    file.write_text(json.dumps(data))
    assert reproduce(ReferenceAdapter, str(file)) == 2
    assert "step 1, action: recorded flies away" in capsys.readouterr().err


@pytest.mark.parametrize("changed", [{"nodes": []}, {"violations": []}, {"budgets": []}], ids=str)
def test_what_the_reference_does_not_do_is_not_confirmed(
    reproduce: Reproduce, tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: dict[str, Any]
) -> None:
    """The trace of an edited reference may have the same events, with other results."""
    assert main(["trace", "show", "finding-restart-as-candidate", "--path", "0,1,1,1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    data["steps"][-1].update(changed)
    (tmp_path / "trace.json").write_text(json.dumps(data))
    assert reproduce(ReferenceAdapter, str(tmp_path / "trace.json")) == 2
    assert "the present reference does not do what the trace records" in capsys.readouterr().err


def test_the_examples_of_the_page_are_true(
    reproduce: Reproduce, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "112")
    examples = re.findall(r"^\$ kraftcheck reproduce (\S+) --adapter '(.*)'(.*)\n([^$]*?)^```", PAGE, re.M)
    assert len(examples) == 2
    for word, command, options, shown in examples:
        fault = command.partition("faulty_adapter ")[2]
        adapter = (lambda fault=fault: FaultyAdapter(fault)) if fault else ReferenceAdapter
        assert reproduce(adapter, word, *options.split()) == bool(fault)
        assert capsys.readouterr().out == shown


@pytest.mark.slow
def test_processes_are_started_and_ended(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "wiped-leader", "--adapter", REFERENCE]) == 0
    assert main(["reproduce", "wiped-leader", "--adapter", "no-such-program"]) == 2
    assert "'no-such-program' cannot be run" in capsys.readouterr().err
