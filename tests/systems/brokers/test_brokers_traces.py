"""Counterexamples of brokers: as people read them, as files, replayed, and as programs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kraftcheck.checking.results import report
from kraftcheck.checking.run import check
from kraftcheck.reference.brokers.protocol import KIP343, SHIPPED
from kraftcheck.reference.brokers.starting import first_controller
from kraftcheck.reference.frozen import replace
from kraftcheck.support.errors import InputError
from kraftcheck.support.terminal import console
from kraftcheck.systems.brokers.words import short_event
from kraftcheck.traces import Trace, markdown, terminal
from kraftcheck.traces.json_form import dumps, loads
from kraftcheck.traces.program import source
from kraftcheck.traces.replay import replay
from tests.systems.brokers.broker_samples import shipped

GOLDEN = Path(__file__).parent / "golden"
ROOT = Path(__file__).parents[3]
VIOLATED = (
    "brokers-isr-without-leader-epoch", "brokers-timeouts-swapped", "brokers-data-without-isr",
    "brokers-forgetful-controller",
)  # fmt: skip


def trace_of(name: str) -> Trace:
    """The counterexample of a shipped scenario."""
    result = check(shipped(name))
    assert result.as_expected, result.differences
    return result.traces()[0]


def test_the_terminal_shows_what_a_golden_file_says() -> None:
    """UPDATE_GOLDEN=1 stores the transcript instead, to be read before committing."""
    text = terminal.transcript(trace_of("brokers-isr-without-leader-epoch"), 100)
    file = GOLDEN / "isr-without-leader-epoch-100.txt"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
    assert all(len(line) <= 100 for line in text.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("width", [72, 80, 90])
def test_no_word_is_broken_where_a_lane_is_narrow(width: int) -> None:
    trace = trace_of("brokers-isr-without-leader-epoch")
    narrow, wide = (
        set(re.findall(r"[A-Z]?[a-z]+", terminal.transcript(trace, each))) for each in (width, 1000)
    )
    assert narrow <= wide


def test_a_summary_speaks_of_participants(capsys: pytest.CaptureFixture[str]) -> None:
    report(console(), check(shipped("brokers-timeouts-swapped")), verbose=True)
    said = " ".join(capsys.readouterr().out.split())
    assert "participants that act: 3" in said and "replicas" not in said


def test_what_is_durable_says_of_which_form_it_is() -> None:
    assert "durable=store()" in short_event(first_controller(KIP343))
    assert "durable=metadata-log()" in short_event(first_controller(SHIPPED))


@pytest.mark.slow
@pytest.mark.parametrize("name", VIOLATED)
def test_a_file_says_all_and_replays(name: str) -> None:
    trace = trace_of(name)
    assert loads(dumps(trace)) == trace
    assert replay(trace) is None
    assert trace.property is not None and trace.property in markdown.render(trace)


def test_a_difference_is_told() -> None:
    trace = trace_of("brokers-timeouts-swapped")
    bent = replace(trace, steps=(replace(trace.steps[0], action="no such step"), *trace.steps[1:]))
    difference = replay(bent)
    assert difference is not None and difference.step == 1 and difference.field == "action"


def test_a_file_with_a_wrong_place_is_refused() -> None:
    text = dumps(trace_of("brokers-timeouts-swapped")).replace('"id": "controller"', '"id": 7', 1)
    with pytest.raises(InputError, match=r"nodes\[0\]\.id"):
        loads(text)


@pytest.mark.slow
def test_a_program_takes_the_steps(tmp_path: Path) -> None:
    file = tmp_path / "test_program_of_brokers.py"
    file.write_text(source(trace_of("brokers-timeouts-swapped")), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
