"""TLC itself on a toy module: what it counts, its dump, a violation, a module that it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraftcheck.tlc import states as sets
from kraftcheck.tlc.parse import StateReader
from kraftcheck.tlc.process import DUMP, Job, Ran, run, workplace
from kraftcheck.tlc.values import Model, State, function, record, set_of, text
from tests.tlc.tools import tools

TOY = (Path(__file__).parent / "Toy.tla").read_text(encoding="utf-8")
SETTINGS = "INIT Init\nNEXT Next\nCONSTANTS\n    None = None\n    Most = 3\nINVARIANT "


def search(invariant: str, module: str = TOY) -> tuple[Ran, list[State]]:
    """The reports of TLC on the toy, and the states that it dumps."""
    with workplace() as folder:
        job = Job({"Toy.tla": module}, "Toy", SETTINGS + invariant, dump=True)
        done = run(tools(), job, folder)
        dump = folder / DUMP
        if not dump.exists():
            return done, []
        with dump.open(encoding="utf-8") as lines:
            return done, list(StateReader().dump(lines))


def expected() -> list[State]:
    """The 16 states of the toy, made here."""
    found: list[State] = []
    for longest in range(4):
        for count in range(4):
            bag = function([(record(type="x", n=count - 1), 1), (record(type="y", n=-1), 2)])
            right = record(
                count=count,
                seen='a "b" \\' if count else Model("None"),
                bag=bag if count else (),
            )
            found.append({"left": tuple(set_of([n, -1]) for n in range(longest)), "right": right})
    return found


@pytest.mark.slow
def test_counts_depth_and_states() -> None:
    done, dumped = search("Whatever")
    said = done.said
    assert said.success and done.trouble is None
    # 24 steps and the initial state; seven levels.
    assert (said.distinct, said.generated, said.depth, said.left) == (16, 25, 7, 0)
    keyed = [{sets._key(state): state for state in side} for side in (expected(), dumped)]
    compared = sets.compare(*keyed)
    assert compared.same and compared.common == 16


@pytest.mark.slow
def test_a_violation_has_the_shortest_behaviour() -> None:
    done, _ = search("Small")
    assert (done.said.violated, done.said.behaviour, done.trouble) == ("Small", 3, None)


@pytest.mark.slow
def test_a_module_that_tlc_refuses() -> None:
    done, _ = search("Whatever", TOY.replace("Init ==", "Init =="[:-1]))
    assert not done.said.distinct and done.trouble is not None and "\n" not in done.trouble
    assert done.trouble.startswith("Parsing or semantic analysis failed. ") and "line 1" in done.trouble


@pytest.mark.slow
def test_an_expression_without_a_value_is_told() -> None:
    done, _ = search("Whatever", TOY.replace("Len(left) < Most", "Len(left) < None"))
    assert done.trouble is not None and not done.said.success


@pytest.mark.parametrize("missing", [0, 7])
def test_states_that_one_side_alone_has_are_shown(missing: int) -> None:
    whole = {sets._key(state): state for state in expected()}
    left = dict(list(whole.items())[:missing] + list(whole.items())[missing + 1 :])
    compared = sets.compare(whole, left)
    assert (compared.common, compared.only_checker, compared.only_tlc) == (15, 1, 0)
    (only,) = compared.examples_checker
    assert text(only.state["left"]) == text(expected()[missing]["left"]) and only.unlike is None
