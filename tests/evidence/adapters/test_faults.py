"""Faults as they occur in the field are caught, and the rule that they break is named."""

import itertools
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from kraftcheck.cli.main import main
from kraftcheck.evidence.adapters.generate import generate
from kraftcheck.evidence.adapters.scripts import scripts
from kraftcheck.evidence.adapters.session import Session, shrink
from kraftcheck.evidence.adapters.stimuli import DriveSequence
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome
from kraftcheck.systems import scenario
from tests.evidence.adapters.faulty_adapter import BROKEN_RULE, FAULTS, FaultyAdapter
from tests.evidence.adapters.in_process import InProcess

ADAPTER = Path(__file__).with_name("faulty_adapter.py")
#: Faults that scripts bring to light sooner than scenarios do.
SCRIPTED = ("keeps-", "takes-", "adds-", "changes-", "snapshots-")
SCENARIOS = ("mutants-two-candidates", "mutants-diverged", "zombie-leader")


def command(fault: str) -> str:
    return shlex.join([sys.executable, str(ADAPTER), fault])


@pytest.fixture(scope="module")
def sequences() -> list[DriveSequence]:
    chosen = [scenario.shipped()[name] for name in SCENARIOS]
    return generate(chosen, "kafka", {}, 0, max_states=5_000).sequences


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_caught_and_the_rule_is_named(fault: str, sequences: list[DriveSequence]) -> None:
    named: set[str] = set()
    session = Session(InProcess(FaultyAdapter(fault)))
    ways = [scripts(KAFKA), sequences] if fault.startswith(SCRIPTED) else [sequences, scripts(KAFKA)]
    for sequence in itertools.chain(*ways):
        driven = session.drive(sequence)
        if driven.failed is not None and driven.failed.question.outcome is not None:
            named.update(driven.failed.question.outcome.rules)
        if BROKEN_RULE[fault] in named:
            return
    pytest.fail(f"{fault} is not caught by a step of {BROKEN_RULE[fault]}, only by {sorted(named)}")


@pytest.mark.parametrize("fault", ["keeps-that-it-has-fetched", "takes-old-answers"])
def test_what_outlives_its_time_is_caught_by_messages_alone(fault: str) -> None:
    """No implementation has to show its state for that, and no scenario or probe does it."""
    session = Session(InProcess(FaultyAdapter(fault)))
    session.capabilities = session.capabilities._replace(state=frozenset())
    assert any(session.drive(each).failed is not None for each in scripts(KAFKA))


def test_a_late_answer_is_not_sent_to_an_adapter_that_cannot_tell() -> None:
    """One without correlation ids pairs answers itself; the step is passed over, and said to be."""

    class Pairing(FaultyAdapter):
        def show(self, before: Replica, outcome: Outcome) -> dict[str, Any]:
            answer = super().show(before, outcome)
            for effect in answer["effects"]:
                effect.pop("correlationId", None)
            return answer

        def handle(self, kind: str, question: Fields) -> tuple[Replica, Outcome]:
            if kind == "response":
                assert question.value("correlationId") is None
                assert self.replica is not None
                awaited = {each.node: each.correlation for each in self.replica.connections}
                question.values["correlationId"] = awaited[question.number("from")]
            return super().handle(kind, question)

    session = Session(InProcess(Pairing("takes-old-answers")))
    name = "script forgetting: pre-vote of an earlier round"
    driven = session.drive(next(each for each in scripts(KAFKA) if each.name == name))
    assert driven.failed is None
    assert list(driven.skipped.values()) == [1]


def test_a_difference_is_shown_by_a_shorter_sequence() -> None:
    session = Session(InProcess(FaultyAdapter("keeps-votes")))
    driven = next(found for s in scripts(KAFKA) if (found := session.drive(s)).failed is not None)
    shortened = shrink(session, driven)
    again = session.drive(shortened.sequence)
    assert driven.failed is not None and again.failed is not None
    assert len(shortened.sequence.stimuli) < driven.failed.question.position + 1
    assert again.failed.differences[0].field == driven.failed.differences[0].field
    assert again.failed.question.position == len(shortened.sequence.stimuli) - 1


@pytest.mark.slow
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
