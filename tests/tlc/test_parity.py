"""The modules of ``tla/`` beside the checker: forms of states, small scenarios, mutants, traces."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.engine.graph import collect_graph
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.reference.frozen import replace
from kraftcheck.systems import scenario
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.scenario import shipped
from kraftcheck.systems.scenario import find
from kraftcheck.tlc import states as sets
from kraftcheck.tlc.compare import Status, Wanted, ask, ask_about_mutant
from kraftcheck.tlc.follow import Course, behaviour, configuration_of, follow
from kraftcheck.tlc.modules import Modules
from kraftcheck.tlc.parse import parse_value
from kraftcheck.tlc.replicas import Forms
from kraftcheck.tlc.values import NoFormError, State, text
from kraftcheck.traces import Trace, json_form
from tests.tlc.tools import compared, tools

#: One without and one with changes of the voter set, and one that is violated.
SMALL = ("single-voter", "parity-add-voter", "finding-single-voter-power-loss")
MUTANTS = ("majority-is-half", "two-changes-at-once")
VIOLATED = "finding-restart-as-candidate"


def counterexample() -> Trace:
    return check(find(VIOLATED)).traces()[0]


def course_of(trace: Trace) -> Course:
    return behaviour(trace, "the trace")


@pytest.mark.parametrize("name", ["single-voter", pytest.param("parity-add-voter", marks=pytest.mark.slow)])
def test_different_states_have_different_forms(name: str) -> None:
    """The forms say all that the states say, and what they say is TLA+."""
    system = build(find(name))
    _, states = explore_naively(system)
    forms = Forms(system)
    written = {str(sorted((key, text(value)) for key, value in forms.state(each).items())) for each in states}
    assert len(written) == len(states)
    for state in list(states)[:50]:
        for value in forms.state(state).values():
            assert text(parse_value(text(value))) == text(value)


def test_states_that_the_modules_cannot_say_are_refused() -> None:
    chosen = next(each for each in shipped().values() if each.budgets.snapshots)
    with pytest.raises(NoFormError):
        Forms(build(chosen))


def test_every_configuration_is_of_a_shipped_scenario_and_judges_what_exists() -> None:
    modules = Modules()
    assert set(modules.names()) <= set(scenario.shipped())
    for name in modules.names():
        configuration = modules.configuration(name)
        assert f"{configuration.root}.tla" in modules.sources()
        assert configuration.initial and configuration.next and configuration.invariants


def test_every_mutant_is_one_of_the_reference() -> None:
    from kraftcheck.checking.mutation import catalogue

    modules = Modules()
    for mutant in modules.mutants().values():
        assert mutant.id in catalogue.shipped() and mutant.scenario in modules.names()
        text_ = modules.mutated(mutant).text
        for old, new in mutant.replaces.items():
            assert text_.count(f"    {old} <- {new}\n") == 1
        assert len({line.split()[0] for line in text_.splitlines() if "<-" in line}) == text_.count("<-")


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_small_scenarios_are_the_same(name: str) -> None:
    found = compared(partial(ask, find(name), Modules()), Wanted(compare_states=20_000))
    assert found.status is Status.SAME, found.differences
    if found.checker.verdict == "holds":
        assert found.states is not None and found.states.common == found.checker.distinct_states


@pytest.mark.slow
def test_another_protocol_gives_other_states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The comparison notices a difference, and shows it."""
    for path in Modules().folder.iterdir():
        if path.suffix in (".tla", ".cfg"):
            source = path.read_text(encoding="utf-8")
            (tmp_path / path.name).write_text(source.replace("Appends = 1", "Appends = 0"), encoding="utf-8")
    jar = str(tools().jar)
    assert main(["tlc", "single-voter", "--jar", jar, "--modules", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "DIFFERS" in out and "only here:" in out and "only in TLC:" in out
    assert "unlike the most similar state of the other side:" in out
    assert all(len(line) < 130 for line in out.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_killed_by_both(name: str) -> None:
    modules = Modules()
    found = compared(partial(ask_about_mutant, modules.mutants()[name], modules), Wanted())
    assert found.status is Status.SAME, found.differences
    assert found.checker.violated and found.tlc.violated


@pytest.mark.slow
def test_tlc_takes_a_counterexample() -> None:
    trace, modules = counterexample(), Modules()
    configuration = configuration_of(trace.scenario, modules, "the trace")
    found = follow(course_of(trace), configuration, trace.property, modules, tools())
    assert found.accepted and found.violated and found.taken == len(trace.steps)


def _without_a_message(state: State) -> State:
    return {**state, "network": ()}


def _with_a_vote(state: State) -> State:
    changed = text(state["disk"]).replace("voted |-> None", "voted |-> 1", 1)
    return {**state, "disk": parse_value(changed)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "change"), [(2, _without_a_message), (1, _with_a_vote), (0, _without_a_message)]
)
def test_tlc_refuses_a_counterexample_with_one_state_changed(place: int, change: object) -> None:
    trace, modules = counterexample(), Modules()
    course = course_of(trace)
    states = list(course.states)
    assert callable(change)
    states[place] = change(states[place])
    assert states[place] != course.states[place]
    configuration = configuration_of(trace.scenario, modules, "the trace")
    found = follow(replace(course, states=tuple(states)), configuration, trace.property, modules, tools())
    assert not found.accepted and found.taken == place - 1
    if place:
        assert found.unlike


@pytest.mark.slow
def test_the_command_follows_a_trace_and_writes_its_module(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "trace.json"
    file.write_text(json_form.dumps(counterexample()), encoding="utf-8")
    jar = str(tools().jar)
    assert main(["tlc", "--trace", str(file), "--jar", jar]) == 0
    assert capsys.readouterr().out == "TLC takes all 4 steps, NoFatal is violated.\n"
    assert main(["tlc", "--trace", str(file), "-o", str(tmp_path / "files")]) == 0
    assert {"Followed.tla", "Followed.cfg", "KRaft.tla"} <= {
        each.name for each in (tmp_path / "files").iterdir()
    }


def test_generated_states_are_counted_as_tlc_counts_them() -> None:
    """As TLC says of ``single-voter``; we count more outcomes, and no initial state."""
    graph = collect_graph(build(find("single-voter")), max_states=1000)
    assert sets.generated_as_tlc_counts(graph) == 1289
    assert graph.exploration is not None and graph.exploration.generated == 1317


# The command.


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-such-scenario"], "there is no scenario 'no-such-scenario'"),
        (["five-voters-flip-flop"], "has no TLA+ configuration"),
        (["--mutants", "no-such-mutant"], "has no TLA+ counterpart"),
        (["--tag", "bench"], "no scenario with a TLA+ configuration"),
        (["single-voter", "--jar", "none.jar"], "none.jar is no file"),
        (["single-voter", "--modules", "/nowhere"], "there are no TLA+ modules"),
        (["--workers", "0"], "expected a whole number greater than 0"),
        (["--states", "9" * 30], "expected a number from 0 on"),
        (["--trace", "none.json"], "none.json"),
        (["--trace", "x.json", "single-voter"], "--trace goes with no scenario"),
        (["--trace", "x.json", "--list"], "takes no --trace"),
        (["single-voter", "-o", "files"], "-o: is for --trace"),
        (["single-voter", "--tag", "ci"], "--tag and --small choose among all scenarios"),
        (["--mutants", "--small"], "--tag and --small choose among all scenarios"),
        (["--threads", "1000"], "expected at most 256"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_bad_input_is_told_in_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kraftcheck.tlc.install.find_java", lambda user, oldest: "java")
    assert main(["tlc", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.startswith("kraftcheck: ") and error.count("\n") == 1


def test_the_scenarios_with_a_configuration_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tlc", "--list"]) == 0
    everything = capsys.readouterr().out.split()
    assert main(["tlc", "--list", "--small"]) == 0
    small = capsys.readouterr().out.split()
    assert "single-voter" in small and set(small) < set(everything)
    assert main(["tlc", "--list", "--mutants"]) == 0
    assert len(capsys.readouterr().out.split()) >= 8


def test_a_trace_of_another_scenario_of_that_name_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = counterexample()
    data = json_form.scenario_data(trace.scenario) | {"bounds": {"max-epoch": 5}}
    file = tmp_path / "trace.json"
    file.write_text(
        json_form.dumps(replace(trace, scenario=scenario.from_data(data, "other"))), encoding="utf-8"
    )
    assert main(["tlc", "--trace", str(file)]) == 2
    assert "is not the shipped" in capsys.readouterr().err


@pytest.mark.parametrize(
    "damage", ["", "[[mutant]]\nid = 1\n", "\x00", '[[mutant]]\nid = "a"\nscenario = "b"\nreplaces = {}\n']
)
def test_damaged_mutants_are_refused(damage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "A.tla").write_text("", encoding="utf-8")
    (tmp_path / "mutants.toml").write_text(damage, encoding="utf-8")
    assert main(["tlc", "--mutants", "--list", "--modules", str(tmp_path)]) == 2
    assert "mutants.toml:" in capsys.readouterr().err
