"""The views for people: the terminal, Markdown, and the pytest program."""

from __future__ import annotations

import os
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from kraftcheck.reference.frozen import replace
from kraftcheck.systems.kraft.build import build as build_system
from kraftcheck.traces import TraceError, build, build_lasso, markdown, program, terminal
from kraftcheck.traces.program import Behaviour
from tests.traces.trace_samples import FAULTY, POWER_LOSS, UNSTABLE, counterexample, scenario_of

GOLDEN = Path(__file__).parent / "golden"
BOTH = pytest.mark.parametrize("data", (UNSTABLE, POWER_LOSS), ids=lambda data: data["name"])


def _compare_with_golden(name: str, text: str) -> None:
    """Compare with a stored transcript; UPDATE_GOLDEN=1 stores it instead, to be read before committing."""
    file = GOLDEN / name
    if os.environ.get("UPDATE_GOLDEN") == "1":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@BOTH
@pytest.mark.parametrize("width", (60, 100))
def test_terminal_transcript(data: dict[str, Any], width: int) -> None:
    text = terminal.transcript(counterexample(data), width)
    _compare_with_golden(f"{data['name']}-{width}.txt", text)
    assert all(len(line) <= width for line in text.splitlines())


@BOTH
def test_markdown(data: dict[str, Any]) -> None:
    _compare_with_golden(f"{data['name']}.md", markdown.render(counterexample(data)))


@BOTH
def test_program_text(data: dict[str, Any]) -> None:
    _compare_with_golden(f"{data['name']}.py.txt", program.source(counterexample(data)))


def test_no_colour_off_a_terminal() -> None:
    out = StringIO()
    terminal.show(counterexample(UNSTABLE), Console(file=out, width=100))
    assert "\x1b" not in out.getvalue()
    assert out.getvalue() == terminal.transcript(counterexample(UNSTABLE), 100)
    coloured = StringIO()
    console = Console(file=coloured, width=100, force_terminal=True, color_system="standard")
    terminal.show(counterexample(UNSTABLE), console)
    assert "\x1b" in coloured.getvalue()


def test_verbose_shows_every_effect_and_event() -> None:
    trace = counterexample(UNSTABLE)
    joined = " ".join(terminal.transcript(trace, 60, verbose=True).split())
    for step in trace.steps:
        for run in step.runs:
            assert all(f"event: {short}"[:30] in joined for short in run.short)
    assert "persist epoch=2" in joined


def test_control_characters_of_a_file_are_not_obeyed() -> None:
    trace = counterexample(UNSTABLE)
    steps = (replace(trace.steps[0], action="timer at 2 (\x1b[31m)"), *trace.steps[1:])
    for render in (terminal.transcript, markdown.render):
        assert "\x1b" not in render(replace(trace, steps=steps))


def test_a_cycle_is_announced() -> None:
    chosen = scenario_of(FAULTY)
    system = build_system(chosen)
    trace = build_lasso(system, chosen, "SomethingEventually", (), ())
    assert "is violated by staying in the initial state for ever" in terminal.transcript(trace, 100)
    assert "expect_cycle(after=0)" in program.source(trace)


def test_the_catalogue_has_the_statement() -> None:
    text = " ".join(terminal.transcript(counterexample(POWER_LOSS), 100).split())
    assert "Violated: StateMachineSafety (S-17) No two replicas ever apply different records" in text
    assert "where the Value at offset 1 of epoch 1 was committed before." in text


@BOTH
def test_the_program_runs(data: dict[str, Any]) -> None:
    module: dict[str, Any] = {}
    exec(program.source(counterexample(data)), module)
    (test,) = (value for name, value in module.items() if name.startswith("test_"))
    test()


def test_a_program_notices_another_protocol() -> None:
    trace = counterexample(UNSTABLE)
    run = Behaviour({key: value for key, value in UNSTABLE.items() if key != "protocol"})
    with pytest.raises((AssertionError, TraceError)):
        for step in trace.steps:
            run.take(step.action)
            for change in step.changes:
                assert change.replica is not None
                run.expect(change.replica, **{change.field.replace(" ", "_"): change.after})


def test_a_program_names_what_is_offered() -> None:
    with pytest.raises(TraceError, match="'nonsense' is not offered; there are FetchRequest at 1"):
        Behaviour(UNSTABLE).take("nonsense")


def test_an_empty_behaviour_has_views() -> None:
    chosen = scenario_of(UNSTABLE)
    trace = build(build_system(chosen), chosen, ())
    assert "No property is violated so far." in terminal.transcript(trace)
    assert "--path none" in markdown.render(trace)
