"""The notation of formulas: what a text means, and what is no formula."""

import pytest
import z3

from kraftcheck.proof.logic import every, some
from kraftcheck.proof.notation import Language, parse
from kraftcheck.proof.system import FIXED_VOTERS
from kraftcheck.proof.vocabulary import CONSTANTS, LEADER, ZERO, Epoch, Replica, before

S = FIXED_VOTERS.state()
SORTS = {symbol.name: symbol.sorts for symbol in FIXED_VOTERS.symbols}
LANGUAGE = Language(SORTS, {}, CONSTANTS, {"leads": (("r",), parse("role(r) == Leader"))})
R, E = z3.Const("r", Replica), z3.Const("e", Epoch)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("opened(e)", S.opened(E)),
        ("not opened(e) and leads(r)", z3.And(z3.Not(S.opened(E)), S.role(R) == LEADER)),
        ("opened(e) or led(e, r) and opened(e)", z3.Or(S.opened(E), z3.And(S.led(E, R), S.opened(E)))),
        (
            "opened(e) => led(e, r) => epoch(r) < e",
            z3.Implies(S.opened(E), z3.Implies(S.led(E, R), before(S.epoch(R), E))),
        ),
        (
            "every k: leads(k) => opened(e)",
            every((Replica,), lambda k: z3.Implies(S.role(k) == LEADER, S.opened(E))),
        ),
        ("some f: led(f, r)", some((Epoch,), lambda f: S.led(f, R))),
        ("opened(e) == (e != zero)", S.opened(E) == (E != ZERO)),
    ],
)
def test_a_text_means_a_formula(text: str, meaning: z3.BoolRef) -> None:
    assert LANGUAGE.formula(text, S, {"r": R, "e": E}).eq(meaning)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("opened(e) := true", lambda f: z3.Or(S.opened(f), f == E)),
        ("opened(e) := false", lambda f: z3.And(S.opened(f), f != E)),
        ("opened(f) := opened(f) and f <= e", lambda f: z3.And(S.opened(f), z3.Not(before(E, f)))),
        ("opened(e) := leads(r)", lambda f: z3.If(f == E, S.role(R) == LEADER, S.opened(f))),
    ],
)
def test_an_update_is_of_one_place_or_of_all(text: str, meaning: object) -> None:
    symbol, found = LANGUAGE.update(text, {"r": R, "e": E}, S)
    other = z3.Const("other", Epoch)
    assert symbol == "opened" and callable(meaning)
    solver = z3.Solver()
    solver.add(found(other) != meaning(other))
    assert solver.check() == z3.unsat


@pytest.mark.parametrize(
    "text", ["", "opened(e", "opened(e))", "a ? b", "every: opened(e)", "and", "a == b == c"]
)
def test_another_text_is_no_formula(text: str) -> None:
    with pytest.raises(ValueError, match="no formula"):
        parse(text)


def test_a_prime_is_the_state_after_a_step() -> None:
    after = S.after([])
    assert LANGUAGE.formula("opened'(e)", S, {"e": E}, after).eq(S.opened(E))
    with pytest.raises(ValueError, match="no symbol has the variable 'f'"):
        LANGUAGE.formula("every f: f == f", S)
    with pytest.raises(KeyError):
        LANGUAGE.formula("opened(f)", S)
