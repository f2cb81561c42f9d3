"""Answers that are kept between explorations: used where they hold, and never where they do not."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from kraftcheck.checking import answers
from kraftcheck.checking.answers import Answers, using
from kraftcheck.checking.coverage.executed import Place, recording
from kraftcheck.checking.ledger import RECORDED, Sources
from kraftcheck.checking.mutation import catalogue, patch
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.checking.mutation.server import Job, Server
from kraftcheck.checking.run import CheckResult, check
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import UNLIMITED, Exploration, Limits, System
from kraftcheck.engine.tables import Tables
from kraftcheck.reference.voters import majority
from kraftcheck.support.contents import NoContentsError
from kraftcheck.support.forks import End
from kraftcheck.support.places import REFERENCE, file_of
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario, find
from tests.laboratory.answers.of_mutants import as_kept, timeless, with_more

ROOT = Path(__file__).parents[2]
SOURCES = Sources.installed()
SMALL = "former-candidate-restarts"
EXPLORED, PREPARED = (f"tests.laboratory.answers.of_mutants:{name}" for name in ("explored", "prepare"))
#: With an *eventually* property; whose coverage is noted; of brokers; with symmetry; violated.
VARIOUS = (
    *("hand-over-at-shutdown", "auto-join-once", "brokers-delayed-heartbeat"),
    *("parity-crash", "brokers-data-without-leader-epoch"),
)


def checked(
    scenario: Scenario,
    folder: Path,
    sources: Sources = SOURCES,
    explorer: Callable[..., Exploration] = explore,
    limits: Limits = UNLIMITED,
    **more: Any,
) -> CheckResult:
    with recording(RECORDED) as ran, using(Answers(sources, ran, folder)):
        return check(scenario, limits=limits, explorer=explorer, **more)


def no_search(*_: object, **__: object) -> Exploration:
    raise AssertionError("nothing should be explored")


@pytest.mark.parametrize("name", [SMALL, *(pytest.param(each, marks=pytest.mark.slow) for each in VARIOUS)])
def test_the_result_is_the_same_and_nothing_is_asked_again(name: str, tmp_path: Path) -> None:
    scenario = find(name)
    first, again = checked(scenario, tmp_path), checked(scenario, tmp_path)
    assert first.as_expected and first.exploration.calls > 0
    assert again.exploration.calls == 0
    assert timeless(again) == timeless(first) == timeless(check(scenario))


@pytest.mark.parametrize("name", [SMALL, *(pytest.param(each, marks=pytest.mark.slow) for each in VARIOUS)])
def test_other_code_with_the_same_answers_is_asked_and_nothing_is_explored(name: str, tmp_path: Path) -> None:
    scenario = find(name)
    first = checked(scenario, tmp_path)
    module = "brokers.step" if name.startswith("brokers") else "step"
    module = f"{REFERENCE}.{module}"
    source = (file_of(module) or tmp_path).read_text(encoding="utf-8")
    other = SOURCES.replaced({module: re.sub(r"(?m)^    return ", "    pass\n    return ", source)})
    again = checked(scenario, tmp_path, other, no_search)
    assert 0 < again.exploration.calls <= first.exploration.calls
    assert timeless(again) == timeless(first)


def test_all_can_be_searched_again(tmp_path: Path) -> None:
    scenario = find(SMALL)
    first = checked(scenario, tmp_path)
    with (
        pytest.raises(AssertionError, match="nothing should be explored"),
        recording(RECORDED) as ran,
        using(Answers(SOURCES, ran, tmp_path, always_search=True)),
    ):
        check(scenario, explorer=no_search)
    with recording(RECORDED) as ran, using(Answers(SOURCES, ran, tmp_path, always_search=True)):
        again = check(scenario)
    assert again.exploration.calls == 0 and timeless(again) == timeless(first)


@pytest.mark.slow
def test_other_expectations_have_the_same_answers(tmp_path: Path) -> None:
    scenario = find(SMALL)
    checked(scenario, tmp_path)
    other = scenario.model_copy(update={"about": "", "tags": ()})
    assert checked(other, tmp_path).exploration.calls == 0
    bounded = scenario.model_copy(
        update={"budgets": scenario.budgets.model_copy(update={"crashes": scenario.budgets.crashes + 1})}
    )
    assert checked(bounded, tmp_path).exploration.calls > 0


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"kraftcheck", None])
def test_a_damaged_file_counts_as_none(damage: bytes | None, tmp_path: Path) -> None:
    scenario = find(SMALL)
    first = checked(scenario, tmp_path)
    (file,) = tmp_path.glob("*.answers")
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if damage is None else damage)
    again = checked(scenario, tmp_path)
    assert again.exploration.calls == first.exploration.calls
    assert file.read_bytes()[:20] == content[:20]


def test_values_of_other_code_are_not_even_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = find(SMALL)
    first = checked(scenario, tmp_path)

    def refuse(_: bytes) -> object:
        raise AssertionError("should not be read")

    monkeypatch.setattr(pickle, "loads", refuse)
    module = f"{REFERENCE}.messages"
    source = (file_of(module) or tmp_path).read_text(encoding="utf-8")
    other = SOURCES.replaced({module: f"{source}\nX = 1\n"})
    assert checked(scenario, tmp_path, other).exploration.calls == first.exploration.calls


def test_what_others_may_write_is_not_read(tmp_path: Path) -> None:
    scenario = find(SMALL)
    first = checked(scenario, tmp_path)
    tmp_path.chmod(0o777)
    assert checked(scenario, tmp_path).exploration.calls == first.exploration.calls


def test_a_state_that_the_code_refuses_now_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = find(SMALL)
    first = checked(scenario, tmp_path)

    def refuse(*_: object) -> bool:
        raise AssertionError("no replica is ever in this state")

    monkeypatch.setattr(answers, "fill", refuse)
    again = checked(scenario, tmp_path)
    assert again.exploration.calls == first.exploration.calls
    assert timeless(again) == timeless(first)


def test_nothing_is_kept_of_a_system_that_cannot_be_told_from_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> str:
        raise NoContentsError("function")

    monkeypatch.setattr(answers, "digest_of", refuse)
    assert checked(find(SMALL), tmp_path).as_expected
    assert not [*tmp_path.iterdir()]


def test_what_is_no_value_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> bytes:
        raise TypeError("cannot pickle 'generator' object")

    monkeypatch.setattr(pickle, "dumps", refuse)
    assert checked(find(SMALL), tmp_path).as_expected
    assert not [*tmp_path.iterdir()]


def test_values_that_code_of_the_reference_makes_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = find(SMALL)
    first = checked(scenario, tmp_path)
    read = pickle.loads

    def as_after_init(content: bytes) -> object:
        majority(3)
        return read(content)

    monkeypatch.setattr(pickle, "loads", as_after_init)
    assert checked(scenario, tmp_path).exploration.calls == first.exploration.calls


def test_answers_depend_on_what_makes_the_initial_states(monkeypatch: pytest.MonkeyPatch) -> None:
    system = cast(System, kind_of(find(SMALL)).build(find(SMALL)))
    states = system.initial_states()
    monkeypatch.setattr(system, "initial_states", lambda: states if majority(3) else [])
    with recording(RECORDED) as ran:
        ran.take()
        tables = Tables(system, ran)
        explore(system, tables=tables)
        found = ran.footprints()
    assert any(Place(f"{REFERENCE}.voters", "majority") in found[number] for number in tables.ran_besides)


def mutants_of_scenarios(largest: int) -> list[Mutant]:
    """The mutants that are noticed in scenarios with at most so many states."""
    found = [(find(each.scenario), each) for each in catalogue.shipped().values() if each.equivalent is None]
    return [each for scenario, each in found if (scenario.expect.states or 10**9) <= largest]


@pytest.mark.slow
@pytest.mark.parametrize("largest", [30, pytest.param(10**9, marks=pytest.mark.nightly)])
def test_no_answer_of_the_reference_is_taken_for_that_of_a_mutant(
    largest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers are those of the reference without a mutation, of two systems that share them for the most
    part; each mutant uses what is left of them, in a search and in random walks.
    """
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # Processes with mutants import the laboratory.
    mutants = mutants_of_scenarios(largest)
    assert len(mutants) > 15
    taken, known = 0, set[str]()
    with Server() as server:
        for mutant in mutants:
            scenario = find(mutant.scenario)
            if scenario.name not in known:
                known.add(scenario.name)
                for kept in (as_kept(scenario), with_more(as_kept(scenario))):
                    checked(kept, tmp_path, limits=Limits(max_states=5_000))
            changed = patch.mutated_sources(mutant)
            arguments = {"scenario": mutant.scenario, "changed": changed, "folder": str(tmp_path)}
            ended = server.run(Job(EXPLORED, arguments, 600, mutant.id, changed, PREPARED))
            assert ended.end is End.DONE, (mutant.id, ended.why)
            (found,) = ended.found
            assert found["same"], mutant.id
            taken += found["taken"]
    assert taken > 0
