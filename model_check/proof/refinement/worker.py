"""The process in which mutants of the reference are checked: one forked from it for each.

``python -m kraftcheck.proof.refinement.worker`` receives a mutant and a scenario, separated by a space. It
answers with ``found``, the result, and the ``status`` with which the forked process ended.
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
from kraftcheck.support.errors import InputError

if TYPE_CHECKING:
    from kraftcheck.proof.refinement.run import Work

#: The number of reasons that are reported.
_TOLD = 3
#: The time limit of a mutant, in seconds.
_MOST_SECONDS = 600.0


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
