"""Answers that several systems share: only where they are the same, and with the same results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kraftcheck.checking.answers import Answers, tables_of, using
from kraftcheck.checking.coverage.executed import recording
from kraftcheck.checking.ledger import RECORDED
from kraftcheck.checking.run import check
from kraftcheck.cli.main import main
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.steps import initial_states
from kraftcheck.engine.system import Limits, System
from kraftcheck.engine.tables import Tables
from kraftcheck.graphs.states import States, collect_states
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.systems.scenario import Scenario, find
from tests.checking.test_answers import SMALL, SOURCES, checked, no_search
from tests.laboratory.answers.of_mutants import timeless, walked, with_more

#: With voter sets that change, clocks, wiped disks, moves, symmetry, snapshots; of brokers, with ticks too.
VARIOUS = (
    *(
        "divergence",
        "auto-join-once",
        "describe-quorum-parked",
        "disk-loss-dynamic",
        "moved-voter-is-reached",
    ),
    *("nightly-three-voters-symmetry", "fetch-behind-snapshot", "alter-quorum", "finding-removed-candidate"),
    *("brokers-delayed-heartbeat", "brokers-data-crash", "brokers-serves-drift-1"),
)
FEW = Limits(max_states=300)


def varied(data: st.DataObject, scenario: Scenario) -> Scenario:
    """``scenario`` with other amounts of its budgets, and perhaps another beginning, network or aim."""
    budgets = {
        name: data.draw(st.integers(1, 3), name)
        for name in type(scenario.budgets).model_fields
        if getattr(scenario.budgets, name) and name != "ticks"
    }
    update: dict[str, Any] = {"budgets": scenario.budgets.model_copy(update=budgets)}
    if data.draw(st.booleans(), "no goals"):
        update["check"] = scenario.check.model_copy(update={"goals": ()})
    if data.draw(st.booleans(), "other network"):
        other = {
            "capacity": data.draw(st.integers(2, 6)),
            "loss": data.draw(st.sampled_from(["never", "always"])),
        }
        update["network"] = scenario.network.model_copy(update=other)
    if hasattr(scenario, "replicas") and data.draw(st.booleans(), "other beginning"):
        voters = data.draw(st.sampled_from([None, *scenario.replicas.voters]))
        update["replicas"] = scenario.replicas.model_copy(update={"initial_leader": voters})
    return scenario.model_copy(update={**update, "name": "another"})


def system_of(scenario: Scenario) -> System:
    kind = kind_of(scenario)
    return cast(System, kind.up_to_renaming(kind.build(scenario), scenario)[0])


def place_of(system: System) -> object:
    with recording(RECORDED) as ran:
        return Answers(SOURCES, ran, Path())._path(system, "")[0]


def asked(system: System, asker: System, keys: list[int]) -> tuple[Tables, list[Any]]:
    """What ``system`` answers to ``keys``, whose numbers are those of tables of ``asker``, as arrays and as
    values.
    """
    tables = Tables(system)
    for state in initial_states(asker):
        tables.encode(state)
    for key in keys:
        tables.resolve(key)
    tables.settle()
    values = [tables.messages, tables.histories, tables.label_sequences, tables.signal_sequences]
    values += [tables.locals, tables.name_sets, tables.owners, tables.actions, tables.projections]
    return tables, [*values, tables.history_projections, [tables.memo.get(key) for key in keys]]


def differences(system: System, other: System) -> list[int]:
    """The questions that come up in a search of ``system`` and which ``other`` answers in another way."""
    tables = Tables(system)
    explore(system, tables=tables, limits=FEW)
    here, values = asked(system, system, tables.resolved)
    try:
        there, others = asked(other, system, tables.resolved)
    except IndexError:
        return tables.resolved  # With other answers a later question is about what was never seen.
    if (
        here.columns.digest(here.columns.sizes()) != there.columns.digest(there.columns.sizes())
        or values != others
    ):
        return tables.resolved
    random = np.random.default_rng(0)
    for _ in range(20):
        of = [
            [i for i, (c, _) in enumerate(here.locals) if c == component]
            for component in range(system.components)
        ]
        row = np.array([*map(random.choice, of), random.integers(len(here.histories))], np.int32)
        for number in range(len(system.invariants)):
            if here.resolve_verdict(row, number) != there.resolve_verdict(row, number):
                return tables.resolved
    return []


@pytest.mark.slow
@settings(max_examples=25)
@given(st.data())
def test_systems_that_share_a_file_give_the_same_answers(data: st.DataObject) -> None:
    scenario = find(data.draw(st.sampled_from(VARIOUS)))
    try:
        system, other = system_of(scenario), system_of(varied(data, scenario))
    except InputError:
        assume(False)
    assume(place_of(system) == place_of(other))
    assert not differences(system, other)
    assert not differences(other, system)


def changed(scenario: Scenario, table: str, **values: Any) -> Scenario:
    return scenario.model_copy(update={table: getattr(scenario, table).model_copy(update=values)})


def test_the_number_of_crashes_changes_answers() -> None:
    """Crashes within the start after a crash: the comparison can tell."""
    scenario = find(SMALL)
    more = changed(scenario, "budgets", crashes=scenario.budgets.crashes + 1)
    assert differences(system_of(scenario), system_of(more))


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("budgets", {"crashes": 2}),
        ("budgets", {"appends": 1, "resigns": 1}),
        ("network", {"capacity": 7}),
        ("network", {"cut": ("1-2",)}),
        ("bounds", {"max_epoch": 7}),
        ("check", {"only": ("NoFatal",)}),
        ("reduction", {"symmetry": True}),
        ("environment", {"late_calls": True}),
    ],
)
def test_systems_with_other_answers_share_nothing(table: str, values: dict[str, Any]) -> None:
    scenario = find("parity-check-quorum")
    assert place_of(system_of(scenario)) != place_of(system_of(changed(scenario, table, **values)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["divergence-by-offset", "brokers-delayed-heartbeat", "flip-flop"])
def test_a_file_grows_by_what_each_system_asks(name: str, tmp_path: Path) -> None:
    scenario = find(name)
    more = with_more(scenario)
    expected = [timeless(check(each)) for each in (scenario, more)]
    first, second = (checked(each, tmp_path) for each in (scenario, more))
    assert second.exploration.calls < check(more).exploration.calls
    shared = [file for file in tmp_path.iterdir() if "-graph-" not in file.name]
    assert len(shared) == 1
    again = [checked(each, tmp_path, explorer=no_search) for each in (scenario, more)]
    assert [timeless(each) for each in (first, second)] == [timeless(each) for each in again] == expected
    assert [each.exploration.calls for each in again] == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["divergence", "finding-removed-candidate", "brokers-data-without-isr"])
@pytest.mark.parametrize("options", [{"keep_going": True}, {"partial_order": False}, {"limits": Limits(900)}])
def test_other_searches_use_the_answers_and_not_what_was_found(
    name: str, options: dict[str, Any], tmp_path: Path
) -> None:
    scenario = find(name)
    options = {"limits": Limits(20_000), **options}
    checked(with_more(scenario), tmp_path, limits=Limits(20_000))
    cold = checked(scenario, tmp_path, **options)
    again = checked(scenario, tmp_path, **options)
    asked_anew = check(scenario, **options)
    assert again.exploration.calls <= cold.exploration.calls
    assert again.exploration.calls < asked_anew.exploration.calls / 4
    assert timeless(again) == timeless(cold) == timeless(asked_anew)
    with pytest.raises(AssertionError, match="nothing should be explored"):
        checked(scenario, tmp_path, explorer=no_search, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["divergence", "three-voters-crash-symmetry", "finding-removed-candidate"])
@pytest.mark.parametrize("seed", [0, 7])
def test_walks_are_the_same_with_kept_answers(name: str, seed: int, tmp_path: Path) -> None:
    """Also with those of another system, which have other numbers."""
    scenario = find(name)
    expected = walked(system_of(scenario), seed)
    checked(with_more(scenario), tmp_path, limits=Limits(2_000))
    for _ in range(2):
        with recording(RECORDED) as ran, using(Answers(SOURCES, ran, tmp_path)):
            assert walked(system_of(scenario), seed) == expected


def drawn(states: States) -> tuple[object, ...]:
    graph = states.graph
    edges = zip(graph.sources.tolist(), graph.targets.tolist(), graph.labels.tolist(), strict=True)
    named = [(source, target, graph.label_values[label]) for source, target, label in edges]
    return named, [graph.state(number) for number in range(graph.size)], states.violated


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hand-over-at-shutdown", "finding-removed-candidate"])
def test_graphs_are_the_same_with_kept_answers(name: str, tmp_path: Path) -> None:
    system, other = (kind_of(each).build(each) for each in (find(name), with_more(find(name))))
    expected = drawn(collect_states(system, 50_000, max_depth=8))
    for each in (other, system, system):
        with recording(RECORDED) as ran, using(Answers(SOURCES, ran, tmp_path)):
            found = collect_states(each, 50_000, max_depth=8)
    assert drawn(found) == expected
    assert found.graph.exploration.calls == 0


def test_what_was_interrupted_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = system_of(find(SMALL))
    add, left = Tables._add_outcomes, iter(range(5))

    def interrupted(*arguments: Any) -> int:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return add(*arguments)

    monkeypatch.setattr(Tables, "_add_outcomes", interrupted)
    with recording(RECORDED) as ran, using(Answers(SOURCES, ran, tmp_path)):
        assert walked(system).limit == "interrupted"
    assert not [*tmp_path.iterdir()]


def test_a_larger_file_that_was_written_meanwhile_stays(tmp_path: Path) -> None:
    scenario = find(SMALL)
    with recording(RECORDED) as ran, using(Answers(SOURCES, ran, tmp_path)):
        with tables_of(system_of(scenario)) as tables:
            checked(with_more(scenario), tmp_path)
            (file,) = tmp_path.iterdir()
            larger = file.read_bytes()
            explore(tables.system, tables=tables, limits=Limits(5))
        assert file.read_bytes() == larger


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        *(["check", SMALL, *option] for option in (["--keep-going"], ["--no-partial-order"], ["-v"])),
        ["check", SMALL, "--max-states", "100"],
        ["simulate", SMALL, "--walks", "20"],
        ["graph", SMALL],
        ["plan", "voters=1,2,3 lost=2,3", "--goal", "voters=1"],
    ],
    ids=" ".join,
)
def test_no_command_asks_again(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object) -> Any:
        raise AssertionError("was answered before")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ended, said = main(command), capsys.readouterr().out
    for name in ("deliver", "actions"):
        monkeypatch.setattr(KRaftSystem, name, refuse)
    assert main(command) == ended
    first, second = (re.sub(r"[0-9.]+ s\b", "", each) for each in (said, capsys.readouterr().out))
    assert first == second
