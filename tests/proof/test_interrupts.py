"""Ctrl-C ends the solver's work."""

import os
import signal
import subprocess
import sys
import threading
import time
from itertools import combinations

import pytest
import z3

from kraftcheck.proof.ground import check
from kraftcheck.support import signals


def hard_question() -> z3.Solver:
    """Thirteen pigeons do not fit into twelve holes, which takes minutes to find."""
    solver = z3.Solver()
    pigeons = [[z3.Bool(f"{pigeon} in {hole}") for hole in range(12)] for pigeon in range(13)]
    solver.add(*(z3.Or(*holes) for holes in pigeons))
    for one, other in combinations(pigeons, 2):
        solver.add(*(z3.Not(z3.And(*both)) for both in zip(one, other, strict=True)))
    return solver


@pytest.mark.slow
def test_an_interrupt_ends_a_question_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.default_int_handler)
    solver = hard_question()
    begin = time.monotonic()
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    with pytest.raises(KeyboardInterrupt), signals.ending():
        timer.start()
        check(solver, 120)
    timer.join()
    assert time.monotonic() - begin < 60


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("seconds", [0.0, 1.0, 2.5])
def test_a_signal_ends_the_command(number: signal.Signals, seconds: float) -> None:
    script = "from kraftcheck.cli.main import script; script()"
    process = subprocess.Popen(
        [sys.executable, "-c", script, "prove", "--json", "--mutants"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(seconds)
    os.kill(process.pid, number)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 3 and "Traceback" not in err, err
