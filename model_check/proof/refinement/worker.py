"""Mutants of the reference, each checked in a process forked from one that has imported their common modules.

``python -m kraftcheck.proof.refinement.worker`` is that process. It receives a mutant and a scenario,
separated by a space, and answers with ``found``, the result, and the ``status`` of the forked process.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TextIO

from kraftcheck.checking.mutation import catalogue, warm
from kraftcheck.checking.mutation.worker import become, load
from kraftcheck.engine.prepared import prepare
from kraftcheck.support import forks
from kraftcheck.support.errors import InputError, ProcessKilledError
from kraftcheck.support.failures import ended_by_the_machine

if TYPE_CHECKING:
    from kraftcheck.proof.refinement.run import Work

#: The number of reasons that are reported.
_TOLD = 3
#: The time limit of a mutant, in seconds.
_MOST_SECONDS = 600.0


class Mutants:
    """Checks mutants one after another."""

    def __init__(self) -> None:
        self._server = forks.Server("kraftcheck.proof.refinement.worker")

    def __enter__(self) -> Mutants:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def refute(self, mutant: str, scenario: str) -> dict[str, Any]:
        """Whether ``mutant`` is ``killed`` in ``scenario``; ``why``: the guards or conjuncts that fail.

        Raises InputError where that cannot be judged.
        """
        answer = self._server.ask(f"{mutant} {scenario}")
        if answer is None:
            raise ProcessKilledError
        if ended_by_the_machine(answer["status"]):
            raise ProcessKilledError if answer["status"] < 0 else MemoryError
        if not answer["found"]:
            raise InputError(f"mutant '{mutant}' could not be judged; its process ended without a verdict.")
        found: dict[str, Any] = answer["found"][0]
        if "error" in found:
            raise InputError(found["error"])
        return found


def ready() -> Callable[[str, int], dict[str, Any]]:
    """Import and compile everything that all forked processes need; the function that answers requests."""
    prepare()
    return partial(_answer, warm.image(_load))


def _load() -> None:
    load()
    # Not the proof: where a mutant imports the reference again, Z3 would not declare its sorts again.
    import_module("z3")


def _answer(image: warm.Image, request: str, caller: int) -> dict[str, Any]:
    name, scenario = request.split()
    ended = forks.fork(lambda stream: _check(image, name, scenario, stream), caller, _MOST_SECONDS)
    return {"found": [json.loads(line) for line in ended.lines], "status": ended.status}


def _check(image: warm.Image, name: str, scenario: str, stream: TextIO) -> None:
    try:
        known = catalogue.shipped(None)
        if name not in known:
            raise InputError(f"there is no mutant '{name}'; 'kraftcheck mutate --list' says what there is.")
        become(known[name], image)
        found = _judge(scenario)
    except InputError as error:
        found = {"error": str(error)}
    print(json.dumps(found), file=stream)


def _judge(scenario: str) -> dict[str, Any]:
    from kraftcheck.proof.refinement.run import check_refinement
    from kraftcheck.systems.kraft.scenario import of_replicas
    from kraftcheck.systems.scenario import find

    work = check_refinement(of_replicas(find(scenario), "--refinement"))
    return {
        "killed": not work.refinement.holds,
        "why": _why(work),
        "seconds": round(work.refinement.seconds, 2),
    }


def _why(work: Work) -> list[str]:
    from kraftcheck.proof.refinement.violations import lines_of_lack

    found = [*work.refinement.beginning.lacks, *sorted(work.refinement.unexpected)]
    if work.refinement.disturbed:
        found.append("the step of another replica changes what the proof sees")
    for lack in work.refinement.passed.lacks or work.refinement.on_all_ways.lacks:
        found += dict(lines_of_lack(work, lack))["what fails"]
    told = list(dict.fromkeys(found))[:_TOLD]
    return told + [f"{each.conjunct.name} fails" for each in work.refinement.broken if each.states][:_TOLD]


if __name__ == "__main__":
    sys.exit(forks.serve(ready))
