"""Searches up to renaming of components, against searches of all states."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given

from kraftcheck.engine.checkpoint import Checkpoint
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.graph import collect_graph
from kraftcheck.engine.reference_explorer import explore_naively
from kraftcheck.engine.symmetry import Symmetry
from kraftcheck.engine.system import GlobalState, Limits, Outcome, Recorded, SymmetryError
from tests.engine.random_symmetric import RandomSymmetric, systems
from tests.engine.replayed import confirms
from tests.engine.synthetic import Node, Synthetic
from tests.examples import examples


@pytest.mark.slow
@pytest.mark.parametrize(
    "bounds",
    [
        {"nodes": 2, "epochs": 2, "entries": 1},
        {"nodes": 3, "epochs": 1, "entries": 1, "restarts": 0, "capacity": 5},
        {"nodes": 3, "epochs": 2, "entries": 1, "restarts": 1, "capacity": 3},
        {"nodes": 4, "epochs": 1, "entries": 1, "restarts": 0, "capacity": 4},
    ],
)
def test_one_state_of_each_orbit(bounds: dict[str, Any]) -> None:
    whole = explore(Synthetic(**bounds))
    reduced = explore(Synthetic(**bounds, symmetry=True), threads=2)
    assert reduced.states == whole.distinct == whole.states
    assert reduced.distinct < whole.distinct
    assert (reduced.verdict, reduced.depth) == (whole.verdict, whole.depth)
    assert (reduced.reached_goals, reduced.missing_goals) == (whole.reached_goals, whole.missing_goals)


@pytest.mark.slow
@examples(80)
@given(systems())
def test_as_the_oracle_up_to_renaming(system: RandomSymmetric) -> None:
    """The same verdict, depth, violations and goals as all states give, and one state of each orbit."""
    naive, states = explore_naively(replace(system, permutations=()), Limits(max_states=2_000))
    assume(naive.limit is None)
    symmetry = Symmetry(system)
    orbits = {
        frozenset(
            (image.locals, tuple(sorted(image.messages, key=repr)), image.history, image.budgets)
            for image in (symmetry.image(number, state) for number in range(len(symmetry.permutations)))
        )
        for state in states
    }
    for threads in (1, 2):
        found = explore(system, threads=threads)
        assert (found.states, found.distinct) == (naive.distinct, len(orbits))
        assert (found.verdict, found.depth) == (naive.verdict, naive.depth)
        assert (found.reached_goals, found.missing_goals) == (naive.reached_goals, naive.missing_goals)
        violated = {(each.property, each.depth) for each in found.violations}
        assert violated == {(each.property, each.depth) for each in naive.violations}
        assert all(confirms(system, each) for each in found.violations)


@pytest.mark.slow
def test_the_same_on_any_number_of_threads_and_taken_up_again(tmp_path: Path) -> None:
    system = Synthetic(nodes=3, epochs=2, entries=1, restarts=1, capacity=3, symmetry=True)
    one, two = explore(system), explore(system, threads=2)
    assert (one.levels, one.generated, one.states) == (two.levels, two.generated, two.states)
    for states in (100, 1_000):
        checkpoint = Checkpoint(tmp_path, "test", every=0.0)
        explore(system, limits=Limits(max_states=states), checkpoint=checkpoint)
        checkpoint.close()
    again = explore(system, checkpoint=Checkpoint(tmp_path, "test", every=0.0))
    assert (one.levels, one.generated, one.states) == (again.levels, again.generated, again.states)


class Generous(Synthetic):
    """Nodes vote as often as they are asked."""

    def _vote(self, component: int, local: Node, message: Any) -> Outcome:
        forgotten = Node(local.epoch, local.role, -1, local.votes, local.log, local.acked)
        return super()._vote(component, forgotten, message)


def test_counterexamples_are_runs_of_the_system() -> None:
    plain = Generous(epochs=1, entries=0, restarts=0)
    whole = explore(plain)
    reduced = explore(Generous(epochs=1, entries=0, restarts=0, symmetry=True))
    found = [(violation.property, violation.depth) for violation in whole.violations]
    assert found and found == [(violation.property, violation.depth) for violation in reduced.violations]
    assert all(confirms(plain, violation) for violation in reduced.violations)


class Partial(Synthetic):
    """Node 0 is another one than the others, in one way or another, whatever it says."""

    def __init__(self, where: str) -> None:
        super().__init__(nodes=3, epochs=2, entries=1, restarts=1, capacity=4, symmetry=True)
        self.where = where

    def actions(self, component: int, local: Any) -> list[Outcome]:
        found = super().actions(component, local)
        return found[1:] if self.where == "actions" and component == 0 else found

    def within(self, component: int, local: Any) -> bool:
        if self.where == "within" and component == 0 and local.epoch > 1:
            return False
        return super().within(component, local)

    def record(self, history: Any, label: Any) -> Recorded:
        if self.where == "record" and label[1] == 0:
            return Recorded(history)
        return super().record(history, label)

    def initial_states(self) -> list[GlobalState]:
        (state,) = super().initial_states()
        if self.where == "initial state":
            return [GlobalState((Node(epoch=1), *state.locals[1:]), (), (), state.budgets)]
        return [state]

    def signal_message(self, signal: Any, message: Any) -> Any:
        if self.where == "forgetting" and signal.component == 0:
            return message
        return super().signal_message(signal, message)


@pytest.mark.parametrize("where", ["actions", "within", "record", "initial state", "forgetting"])
def test_a_system_that_tells_components_apart_is_found_out(where: str) -> None:
    with pytest.raises(SymmetryError):
        explore(Partial(where))


def test_permutations_must_be_a_group() -> None:
    system = Synthetic(symmetry=True)
    for wrong in [tuple(permutations(range(3)))[::-1], ((0, 1, 2), (1, 2, 0))]:
        system.permutations = wrong
        with pytest.raises(SymmetryError, match="group"):
            explore(system)


def test_graphs_show_all_states() -> None:
    with pytest.raises(ValueError, match="all states"):
        collect_graph(Synthetic(symmetry=True))
