"""The reference behind the drive protocol: ``python -m kraftcheck.evidence.adapters.adapter``.

With ``--mutant ID`` it runs the reference with one guard removed (``kraftcheck mutate``), which must be made
before anything of the reference is imported.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from kraftcheck.checking.mutation import catalogue, patch
from kraftcheck.support.closest import did_you_mean
from kraftcheck.support.errors import InputError


def main(argv: Sequence[str] | None = None) -> int:
    """Answer questions from standard input on standard output until the input ends."""
    parser = argparse.ArgumentParser(prog="kraftcheck.evidence.adapters.adapter", description=__doc__)
    parser.add_argument("--mutant", metavar="ID", help="run this mutant of the reference instead")
    arguments = parser.parse_args(argv)
    try:
        finder, changed = None, dict[str, str]()
        if arguments.mutant is not None:
            mutants = catalogue.shipped()
            if arguments.mutant not in mutants:
                hint = did_you_mean(arguments.mutant, mutants) or "; see 'kraftcheck mutate --list'."
                raise InputError(f"there is no mutant '{arguments.mutant}'{hint}")
            changed = patch.mutated_sources(mutants[arguments.mutant])
            finder = patch.install(arguments.mutant, changed)
        from kraftcheck.evidence.adapters.serving import ReferenceAdapter, serve

        if finder is not None and finder.applied != changed.keys():
            raise InputError(
                f"mutant '{arguments.mutant}' changes {', '.join(sorted(changed))}, "
                "which no question to a replica reaches; choose a mutant of replicas."
            )
        serve(ReferenceAdapter(), sys.stdin, sys.stdout)
    except InputError as error:
        print(f"kraftcheck.evidence.adapters.adapter: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
