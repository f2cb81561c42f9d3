"""Recording what scenarios and conformance vectors execute of the reference: ``make executed``."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from kraftcheck.checking.coverage.executed import recording
from kraftcheck.checking.coverage.functions import functions_of, sources_in
from kraftcheck.checking.coverage.index import CHECKS, SCENARIO, VECTORS, Executed, Index, write
from kraftcheck.checking.run import check
from kraftcheck.engine.prepared import prepare
from kraftcheck.support.arguments import cores
from kraftcheck.support.exit_codes import EXIT_BAD_INPUT, EXIT_EXPECTED
from kraftcheck.support.parallel import processes
from kraftcheck.support.places import folder_of, root
from kraftcheck.support.streams import say
from kraftcheck.systems.coverage import RULE
from kraftcheck.systems.scenario import Scenario, shipped
from kraftcheck.vectors import files
from kraftcheck.vectors.vector import difference

#: The tags of the scenarios that are quick enough to be recorded and run.
TAGS = frozenset({"ci", "mutants"})
COMMAND = "make executed"


def record(count: int, progress: Callable[[str], None]) -> None:
    """Record all checks with ``count`` processes and write the file of the package; takes minutes.

    Raises InputError where there are no vectors, which only a checkout has.
    """
    checks: dict[str, Executed] = {}
    for name, found in chain(_vectors(), _scenarios(count)):
        checks[name] = found
        progress(f"{name}: {len(found.functions)} functions, {found.seconds:.1f} s")
    functions = functions_of(sources_in(root()))
    digests = {name: each.digest for name, each in functions.items()}
    write(folder_of("kraftcheck") / "checking" / "coverage" / CHECKS, Index(checks, digests), COMMAND)


def recorded_scenarios() -> list[Scenario]:
    """The shipped scenarios that belong to the recording."""
    return [scenario for scenario in shipped().values() if TAGS & {*scenario.tags}]


def _scenarios(count: int) -> Iterator[tuple[str, Executed]]:
    prepare()  # Otherwise each process compiles.
    with processes(count) as pool:
        yield from pool.map(_scenario, recorded_scenarios())


def _scenario(scenario: Scenario) -> tuple[str, Executed]:
    with recording() as ran:
        result = check(scenario, coverage=True)
    items = result.covered.items if result.covered is not None else frozenset()
    rules = frozenset(name for kind, name in items if kind == RULE)
    seconds = result.exploration.seconds
    return f"{SCENARIO} {scenario.name}", Executed(frozenset(ran.names), rules, seconds)


def _vectors() -> Iterator[tuple[str, Executed]]:
    for entry, members in files.read(root() / "tests" / "vectors"):
        begin = time.monotonic()
        with recording() as ran:
            for number, each in enumerate(members):
                difference(each, f"{entry['file']}: vectors[{number}]")
        seconds = time.monotonic() - begin
        yield f"{VECTORS} {entry['file']}", Executed(frozenset(ran.names), frozenset(entry["rules"]), seconds)


def main(arguments: Sequence[str]) -> int:
    """Record all; the exit status. It refuses ``arguments``: there are none."""
    if arguments:
        say(f"kraftcheck.impact.record: expected no arguments, not {shlex.join(arguments)}: it records all.")
        return EXIT_BAD_INPUT
    record(cores(), say)
    return EXIT_EXPECTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
