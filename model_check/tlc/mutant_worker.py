"""One mutant of the reference in a given scenario, explored in an interpreter of its own.

``python -m kraftcheck.tlc.mutant_worker ID SCENARIO SECONDS`` makes the mutant before anything of the
reference is imported, and writes the fields of an :class:`Answer <kraftcheck.tlc.compare.Answer>` as JSON,
or an object with the key ``error``.
"""

from __future__ import annotations

import dataclasses
import json
import sys

from kraftcheck.checking.mutation import catalogue
from kraftcheck.checking.mutation.worker import become
from kraftcheck.support import signals
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_UNDETERMINED
from kraftcheck.support.failures import of_the_machine
from kraftcheck.systems.scenario import find


def main(argv: list[str]) -> int:
    """Explore mutant ``argv[0]`` in scenario ``argv[1]``, for at most ``argv[2]`` seconds."""
    try:
        mutant = catalogue.shipped().get(argv[0])
        if mutant is None:
            raise InputError(f"there is no mutant '{argv[0]}'; 'kraftcheck mutate --list' lists them.")
        become(mutant)
        from kraftcheck.tlc.compare import Wanted, our_answer

        answer = our_answer(find(argv[1]), Wanted(max_seconds=float(argv[2])))
        print(json.dumps(dataclasses.asdict(answer)))
    except KeyboardInterrupt:
        return EXIT_UNDETERMINED
    except Exception as error:  # A mutant may break the reference in any way.
        if of_the_machine(error) is not None:
            return EXIT_UNDETERMINED
        what = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        print(json.dumps({"error": what}))
        return 1
    return 0


if __name__ == "__main__":
    with signals.ending():
        sys.exit(main(sys.argv[1:]))
