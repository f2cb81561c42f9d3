"""What each way of making sequences for `kraftcheck drive` is good for, measured on a recorded session.

Of each way: sequences, steps, the pairs that they cover, and the mutants of the reference that they notice. A
mutant stands for a wrong implementation: the recorded answers of the right one are compared with it, so that
neither Kafka nor a process for each mutant is needed. A kind of differences is an event and a field.

    python -m tests.laboratory.drive.ways SESSION [--every N]
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kraftcheck.checking.mutation import catalogue, patch
from kraftcheck.checking.mutation.catalogue import Mutant
from kraftcheck.checking.mutation.server import Job, Server
from kraftcheck.evidence.adapters.pairs import of_question
from kraftcheck.evidence.adapters.recorded import RecordedSession
from kraftcheck.evidence.adapters.session import kind_of
from kraftcheck.support.arguments import positive
from kraftcheck.support.errors import InputError
from kraftcheck.support.forks import End
from kraftcheck.support.streams import counted
from kraftcheck.systems.kraft.scenario import shipped

#: The ways, with the beginnings of the names of their sequences.
WAYS = {"probe ": "probes", "script ": "scripts", "random ": "random sequences"}
SCENARIOS, LED = "scenarios", "scenarios with an initial leader"
#: Seconds for the comparison with one mutant.
PATIENCE = 600.0
_OF_BROKERS = "kraftcheck.reference.brokers"


@dataclass(slots=True)
class Way:
    """The sequences of one way, and what they have covered and noticed."""

    sequences: int = 0
    steps: int = 0
    pairs: set[str] = field(default_factory=set)
    mutants: set[str] = field(default_factory=set)
    kinds: set[tuple[str, str]] = field(default_factory=set)


def way_of(name: str) -> str:
    """The way in which the sequence of this name was made."""
    for beginning, way in WAYS.items():
        if name.startswith(beginning):
            return way
    scenario = shipped().get(re.sub(r" [0-9]+, replica .*", "", name))
    return LED if scenario is not None and scenario.replicas.initial_leader is not None else SCENARIOS


def covered(session: Path) -> dict[str, Way]:
    """The ways of the sequences in a recorded session."""
    found: dict[str, Way] = {}
    for driven in RecordedSession(session).compared():
        way = found.setdefault(way_of(driven.sequence.name), Way())
        way.sequences += 1
        way.steps += driven.steps
        way.pairs.update(pair for question in driven.questions for pair in of_question(question))
    return found


def noticed(session: str, known: list[str]) -> Iterator[tuple[str, tuple[str, str]]]:
    """In a process with a mutant as the reference: each way that notices it, and the kind of the first
    difference. ``known``: sequences in which the reference itself differs.
    """
    done: set[str] = set()

    def wanted(name: str) -> bool:
        return name not in known and way_of(name) not in done

    for driven in RecordedSession(Path(session)).compared(wanted):
        if driven.failed is not None:
            way = way_of(driven.sequence.name)
            done.add(way)
            yield way, kind_of(driven.failed)


def is_noticed(session: str, first: list[str]) -> Iterator[bool]:
    """In a process with a mutant as the reference: true, once, if a recorded answer tells them apart.

    ``first``: the names of the sequences that are compared before all others.
    """
    early = set(first)
    for wanted in (early.__contains__, lambda name: name not in early):
        if any(driven.failed is not None for driven in RecordedSession(Path(session)).compared(wanted)):
            yield True
            return


def measure(session: Path, mutants: list[Mutant]) -> tuple[dict[str, Way], int]:
    """The ways of a session, with the ``mutants`` that each notices, and how many were tried to the end.
    Raises InputError.
    """
    ways, tried = covered(session), 0
    known = [each.sequence.name for each in RecordedSession(session).compared() if each.failed is not None]
    arguments: dict[str, Any] = {"session": str(session), "known": known}
    with Server() as server:
        for mutant in counted(iter(mutants), len(mutants), "mutants"):
            changed = patch.mutated_sources(mutant)
            job = Job("tests.laboratory.drive.ways:noticed", arguments, PATIENCE, mutant.id, changed)
            ended = server.run(job)
            if ended.end is End.FAILED:
                why = ended.why.splitlines()[-1][:100]
                print(f"{mutant.id} is not counted, for it fails: {why}", file=sys.stderr)
                continue
            if ended.end is not End.DONE:
                raise InputError(f"{session}: mutant {mutant.id}: {ended.why}.")
            tried += 1
            for way, kind in ended.found:
                ways[way].mutants.add(mutant.id)
                ways[way].kinds.add((kind[0], kind[1]))
    return ways, tried


def of_replicas(mutant: Mutant) -> bool:
    """Whether the mutant changes what replicas do, and something can fail then."""
    return mutant.equivalent is None and not any(e.module.startswith(_OF_BROKERS) for e in mutant.edit)


def table(ways: Mapping[str, Way], mutants: int) -> Iterator[str]:
    """The lines of a Markdown table; ``mutants``: the number of those that were tried."""
    pairs, killed = (_only(ways, part) for part in (lambda way: way.pairs, lambda way: way.mutants))
    yield "| Way | Sequences | Steps | Pairs | Its own only | Mutants noticed | Its own only | Kinds |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, way in ways.items():
        yield (
            f"| {name} | {way.sequences:,} | {way.steps:,} | {len(way.pairs):,} | {pairs[name]:,} "
            f"| {len(way.mutants)} of {mutants} | {killed[name]} | {len(way.kinds)} |"
        )
    every = ways.values()
    sums = [sum(way.sequences for way in every), sum(way.steps for way in every)]
    union = len(set[str]().union(*(way.pairs for way in every)))
    seen = len(set[str]().union(*(way.mutants for way in every)))
    kinds = len(set[tuple[str, str]]().union(*(way.kinds for way in every)))
    yield f"| together | {sums[0]:,} | {sums[1]:,} | {union:,} | | {seen} of {mutants} | | {kinds} |"


def _only(ways: Mapping[str, Way], part: Callable[[Way], set[str]]) -> dict[str, int]:
    count = Counter(each for way in ways.values() for each in part(way))
    return {name: sum(count[each] == 1 for each in part(way)) for name, way in ways.items()}


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.laboratory.drive.ways")
    parser.add_argument("session", type=Path, help="a session that 'kraftcheck drive --record' has written")
    parser.add_argument("--every", type=positive, default=1, metavar="N", help="take every Nth mutant only")
    arguments = parser.parse_args()
    mutants = [each for each in catalogue.shipped().values() if of_replicas(each)][:: arguments.every]
    # Processes with mutants import this module, too.
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[3])
    try:
        ways, tried = measure(arguments.session, mutants)
    except InputError as error:
        print(f"ways: {error}", file=sys.stderr)
        return 2
    print("\n".join(table(ways, tried)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
