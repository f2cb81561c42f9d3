"""Faults as they occur in the field are caught, and the rule that they break is named."""

import shlex
import sys
from pathlib import Path

import pytest

from model_check import scenario
from model_check.cli import main
from model_check.drive.generate import generate
from model_check.drive.process import AdapterProcess
from model_check.drive.session import Session
from model_check.drive.shrink import shrink
from model_check.drive.stimuli import DriveSequence
from tests.drive.faulty_adapter import BROKEN_RULE, FAULTS

ADAPTER = Path(__file__).with_name("faulty_adapter.py")
SCENARIOS = ("mutants-two-candidates", "mutants-diverged", "zombie-leader")


def command(fault: str) -> str:
    return shlex.join([sys.executable, str(ADAPTER), fault])


@pytest.fixture(scope="module")
def sequences() -> list[DriveSequence]:
    chosen = [scenario.shipped()[name] for name in SCENARIOS]
    return generate(chosen, "kafka", {}, 0, max_states=20_000).sequences


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught_and_the_rule_is_named(fault: str, sequences: list[DriveSequence]) -> None:
    named: set[str] = set()
    with AdapterProcess(command(fault), 10) as process:
        session = Session(process)
        for sequence in sequences:
            driven = session.drive(sequence)
            if driven.failed is not None and driven.failed.question.outcome is not None:
                named.update(driven.failed.question.outcome.rules)
            if BROKEN_RULE[fault] in named:
                return
    pytest.fail(f"{fault} is not caught by a step of {BROKEN_RULE[fault]}, only by {sorted(named)}")


def test_a_difference_is_shown_by_a_shorter_sequence(sequences: list[DriveSequence]) -> None:
    with AdapterProcess(command("truncates-too-far"), 10) as process:
        session = Session(process)
        driven = next(found for s in sequences if (found := session.drive(s)).failed is not None)
        shortened = shrink(session, driven)
        again = session.drive(shortened.sequence)
    assert driven.failed is not None and again.failed is not None
    assert len(shortened.sequence.stimuli) < driven.failed.question.position + 1
    assert again.failed.differences[0].field == driven.failed.differences[0].field
    assert again.failed.question.position == len(shortened.sequence.stimuli) - 1


def test_the_report_tells_the_steps_the_field_and_the_rules(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    trace = tmp_path / "trace.json"
    arguments = ["drive", "--adapter", command("truncates-too-far"), "--scenario", "mutants-diverged"]
    assert main([*arguments, "-o", str(trace)]) == 1
    text = capsys.readouterr().out
    assert text.startswith("Difference in step ")
    assert "expected" in text and "got" in text
    assert "FETCH-23" in text
    assert "diverging=" in text
    assert main(["trace", "replay", str(trace)]) == 0
    assert main(["trace", "show", str(trace)]) == 0
