"""Ctrl-C is not lost in calls of the solver's library."""

import contextlib
import ctypes
import signal
import threading
import time
from itertools import combinations

import pytest
import z3

from kraftcheck.proof.ground import check
from kraftcheck.proof.interrupts import noticed


@pytest.fixture(autouse=True)
def handled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's own handler, also where whoever runs the tests has the signal ignored."""
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.default_int_handler)


def test_an_interrupt_that_was_dropped_ends_the_next_question() -> None:
    with noticed(), contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), noticed():
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        check(z3.Solver(), 1)


def hard_question() -> z3.Solver:
    """Thirteen pigeons do not fit into twelve holes, which takes minutes to find."""
    solver = z3.Solver()
    pigeons = [[z3.Bool(f"{pigeon} in {hole}") for hole in range(12)] for pigeon in range(13)]
    solver.add(*(z3.Or(*holes) for holes in pigeons))
    for one, other in combinations(pigeons, 2):
        solver.add(*(z3.Not(z3.And(*both)) for both in zip(one, other, strict=True)))
    return solver


def test_an_interrupt_ends_a_question_under_way() -> None:
    solver = hard_question()
    begin = time.monotonic()
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    with pytest.raises(KeyboardInterrupt), noticed():
        timer.start()
        check(solver, 120)
    timer.join()
    assert time.monotonic() - begin < 60


def test_an_interrupt_that_became_another_exception_is_one_again() -> None:
    with pytest.raises(KeyboardInterrupt), noticed():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ctypes.ArgumentError("argument 1") from None


def test_other_exceptions_stay_what_they_are() -> None:
    with pytest.raises(ctypes.ArgumentError), noticed():
        raise ctypes.ArgumentError("argument 1")
