"""One mutant of the reference, judged by the proof in an interpreter of its own.

``python -m kraftcheck.proof.refinement.worker MUTANT SCENARIO`` makes the mutant before anything of the
reference is imported, and writes one JSON object to standard output.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from kraftcheck.checking.mutation import catalogue
from kraftcheck.checking.mutation.worker import become
from kraftcheck.support import signals
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_UNDETERMINED
from kraftcheck.support.failures import of_the_machine

if TYPE_CHECKING:
    from kraftcheck.proof.refinement.run import Work

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
    with signals.ending():
        sys.exit(main())
