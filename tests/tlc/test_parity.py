"""The modules of ``tla/`` compared with the checker: forms of states, small scenarios, mutants, traces."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest

from kraftcheck.checking.mutation import catalogue
from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.engine.graph import collect_graph
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.system import Limits
from kraftcheck.reference.frozen import replace
from kraftcheck.systems import scenario
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.scenario import shipped
from kraftcheck.systems.scenario import find
from kraftcheck.tlc import states as sets
from kraftcheck.tlc.follow import Course, Followed, behaviour, configuration_of, follow
from kraftcheck.tlc.modules import BROKERS_MODULE, Modules
from kraftcheck.tlc.parse import parse_value
from kraftcheck.tlc.values import NoFormError, State, text
from kraftcheck.traces import Trace, json_form
from tests.tlc.tools import tools

MODULES = Modules()
slow = partial(pytest.param, marks=pytest.mark.slow)
#: Without and with changes of the voter set, and violated; the draft of brokers without clocks and with them,
#: and with a link that is cut; and the shipped form.
VIOLATED = "finding-restart-as-candidate"
VIOLATED_OF_BROKERS = "brokers-timeouts-drift"


@cache
def counterexample(name: str = VIOLATED) -> Trace:
    return check(find(name)).traces()[0]


def followed(trace: Trace, course: Course) -> Followed:
    """How far TLC follows ``course``, which is that of ``trace`` or a changed one."""
    configuration = configuration_of(trace.scenario, MODULES, "the trace")
    return follow(course, configuration, trace.property, MODULES, tools())


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "single-voter",
        slow("parity-add-voter"),
        slow("parity-brokers-heartbeats"),
        slow("brokers-serves-delay-1"),
        slow("mutants-brokers-shipped-empty-isr"),
    ],
)
def test_different_states_have_different_forms(name: str) -> None:
    """The forms say all that the states say, and what they say is TLA+."""
    system = kind_of(find(name)).build(find(name))
    _, states = explore_naively(system)
    forms = sets.in_tla(system).forms(system)
    written = {str(sorted((key, text(value)) for key, value in forms.state(each).items())) for each in states}
    assert len(written) == len(states)
    for state in list(states)[:50]:
        for value in forms.state(state).values():
            assert text(parse_value(text(value))) == text(value)


@pytest.mark.parametrize(
    "name",
    [
        next(name for name, each in shipped().items() if each.budgets.snapshots),
        "brokers-legacy",
        "brokers-shipped-data",
        "brokers-data",
        "brokers-shipped-liveness-after-shutdown",
    ],
)
def test_systems_without_a_form_in_the_modules_are_refused(name: str) -> None:
    system = kind_of(find(name)).build(find(name))
    with pytest.raises(NoFormError):
        sets.in_tla(system).forms(system)


def test_every_configuration_is_of_a_shipped_scenario_and_judges_what_exists() -> None:
    assert set(MODULES.names()) <= set(scenario.shipped())
    for name in MODULES.names():
        configuration = MODULES.configuration(name)
        assert f"{configuration.root}.tla" in MODULES.sources()
        assert configuration.initial and configuration.next and configuration.invariants


def test_every_mutant_is_one_of_the_reference_and_replaces_operators_that_exist() -> None:
    sources = MODULES.sources()
    for mutant in MODULES.mutants().values():
        assert mutant.id in catalogue.shipped() and mutant.scenario in MODULES.names()
        configuration = MODULES.mutated(mutant)
        of_brokers = MODULES.configuration(mutant.scenario).root.startswith(BROKERS_MODULE)
        assert configuration.root == ("BrokersMutants" if of_brokers else "KRaftMutants")
        brokers = "".join(source for file, source in sources.items() if file.startswith("Brokers"))
        for old, new in mutant.replaces.items():
            assert configuration.text.count(f"    {old} <- {new}\n") == 1
            if of_brokers:
                assert f"\n{old}(" in brokers and f"\n{new}(" in sources["BrokersMutants.tla"]
        replaced = [line.split()[0] for line in configuration.text.splitlines() if "<-" in line]
        assert of_brokers or len(set(replaced)) == len(replaced) == configuration.text.count("<-")


@pytest.mark.slow
def test_another_protocol_gives_other_states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The comparison notices a difference, and shows it."""
    for path in MODULES.folder.iterdir():
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
@pytest.mark.parametrize("name", [VIOLATED, VIOLATED_OF_BROKERS])
def test_tlc_takes_a_counterexample(name: str) -> None:
    trace = counterexample(name)
    found = followed(trace, behaviour(trace, "the trace"))
    assert found.accepted and found.violated and found.taken == len(trace.steps)


def _without_a_message(state: State) -> State:
    return {**state, "network": ()}


def _with(variable: str, old: str, new: str) -> Callable[[State], State]:
    """A change of a state variable."""
    return lambda state: {**state, variable: parse_value(text(state[variable]).replace(old, new, 1))}


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "place", "change"),
    [
        (VIOLATED, 2, _without_a_message),
        (VIOLATED, 1, _with("disk", "voted |-> None", "voted |-> 1")),
        (VIOLATED, 0, _without_a_message),
        (VIOLATED_OF_BROKERS, 2, _with("control", "epoch |-> 1", "epoch |-> 2")),
    ],
)
def test_tlc_refuses_a_counterexample_with_one_state_changed(
    name: str, place: int, change: Callable[[State], State]
) -> None:
    trace = counterexample(name)
    course = behaviour(trace, "the trace")
    states = list(course.states)
    states[place] = change(states[place])
    assert states[place] != course.states[place]
    found = followed(trace, replace(course, states=tuple(states)))
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
    graph = collect_graph(build(find("single-voter")), limits=Limits(1000))
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


@pytest.mark.slow
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
