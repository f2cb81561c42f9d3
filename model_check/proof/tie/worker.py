"""One mutant of the reference, judged by the proof in an interpreter of its own.

``python -m model_check.proof.tie.worker MUTANT SCENARIO`` makes the mutant before anything of the reference
is imported, and writes one JSON object to standard output.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from model_check import signals
from model_check.errors import InputError
from model_check.failures import EXIT_UNDETERMINED, of_the_machine
from model_check.mutation import catalogue
from model_check.mutation.worker import become

if TYPE_CHECKING:
    from model_check.proof.tie.run import Work

#: How many reasons are told.
_TOLD = 3


def main() -> int:
    """Judge the mutant that is named; 0 if it came to a verdict."""
    name, scenario = sys.argv[1:]
    known = catalogue.shipped(None)
    try:
        if name not in known:
            raise InputError(f"there is no mutant '{name}'; 'kraftcheck mutate --list' says what there is.")
        become(known[name])
        found = _judge(scenario)
    except KeyboardInterrupt:
        return EXIT_UNDETERMINED
    except Exception as error:
        if of_the_machine(error) is not None:
            return EXIT_UNDETERMINED
        if not isinstance(error, InputError):
            raise
        found = {"error": str(error)}
    print(json.dumps(found))
    return "error" in found


def _judge(scenario: str) -> dict[str, Any]:
    from model_check.kraft.scenario import of_replicas
    from model_check.proof.tie.run import tie
    from model_check.scenario import find

    work = tie(of_replicas(find(scenario), "--tie"))
    return {
        "breaks": not work.tie.holds,
        "why": _why(work),
        "seconds": round(work.tie.seconds, 2),
    }


def _why(work: Work) -> list[str]:
    from model_check.proof.tie.report import lines_of_lack

    found = [*work.tie.beginning.lacks, *sorted(work.tie.unexpected)]
    if work.tie.disturbed:
        found.append("the step of another replica changes what the proof sees")
    for lack in work.tie.passed.lacks or work.tie.on_all_ways.lacks:
        found += dict(lines_of_lack(work, lack))["what fails"]
    told = list(dict.fromkeys(found))[:_TOLD]
    return told + [f"{each.conjunct.name} fails" for each in work.tie.broken if each.states][:_TOLD]


if __name__ == "__main__":
    with signals.ending():
        sys.exit(main())
