"""What more states of each scenario are good for, for the sequences of `kraftcheck drive`.

For each number of states: the sequences of scenarios, the scenarios that are not explored whole, the pairs
that all sequences of `kafka` cover (:mod:`kraftcheck.evidence.adapters.pairs`), and the processor's seconds
for the search.

    python -m tests.laboratory.drive.states 1000 5000 [--save FOLDER]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kraftcheck.evidence.adapters import files
from kraftcheck.evidence.adapters.asked import Asking
from kraftcheck.evidence.adapters.generate import generate
from kraftcheck.evidence.adapters.pairs import of_question
from kraftcheck.evidence.adapters.probes import probes
from kraftcheck.evidence.adapters.random_sequences import default_sequences
from kraftcheck.evidence.adapters.scripts import scripts
from kraftcheck.evidence.adapters.stimuli import DriveSequence
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.support.arguments import positive
from kraftcheck.support.files import write_atomically
from kraftcheck.systems.kraft.scenario import KRaftScenario, shipped


class Searched(NamedTuple):
    """The sequences that so many ``states`` of each scenario give, each with its pairs; how many scenarios
    are explored in part; processor seconds.
    """

    states: int
    sequences: list[tuple[DriveSequence, frozenset[str]]]
    in_part: int
    seconds: float


def pairs_of(sequences: Iterable[DriveSequence]) -> Iterator[frozenset[str]]:
    """The pairs that each sequence covers."""
    for each in sequences:
        yield frozenset().union(*(of_question(question) for question in Asking(each).questions()))


def search(scenarios: list[KRaftScenario], states: int) -> Searched:
    """The sequences that ``states`` of each of ``scenarios`` give under the protocol `kafka`."""
    begin = time.process_time()
    found = generate(scenarios, "kafka", {}, 0, max_states=states)
    seconds = time.process_time() - begin
    sequences = list(zip(found.sequences, pairs_of(found.sequences), strict=True))
    return Searched(states, sequences, len(found.incomplete), seconds)


def row(searched: Searched, others: frozenset[str]) -> str:
    """A row of the table. ``others``: the pairs of the sequences that come of no scenario."""
    pairs = others.union(*(found for _, found in searched.sequences))
    return (
        f"| {searched.states:,} | {len(searched.sequences):,} | {searched.in_part} | {len(pairs):,} "
        f"| {searched.seconds:.0f} |"
    )


def with_more(fewer: Searched, more: Searched, others: frozenset[str]) -> list[DriveSequence]:
    """The sequences of ``more`` that cover a pair which neither ``fewer`` nor ``others`` cover."""
    known = others.union(*(found for _, found in fewer.sequences))
    return [each for each, found in more.sequences if not found <= known]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m tests.laboratory.drive.states")
    parser.add_argument("states", type=positive, nargs="+", metavar="N", help="states of each scenario")
    parser.add_argument(
        "--save", type=Path, help="keep the sequences there that cover new pairs with the last N of two"
    )
    arguments = parser.parse_args()
    written = (*probes(KAFKA), *scripts(KAFKA), *default_sequences(KAFKA, 0))
    others = frozenset().union(*pairs_of(written))
    print("| States | Sequences of scenarios | Scenarios explored in part | Pairs | Seconds |")
    print("|---|---|---|---|---|")
    done: list[Searched] = []
    for number in arguments.states:
        done.append(search(list(shipped().values()), number))
        print(row(done[-1], others), flush=True)
    if len(done) > 1:
        new = with_more(done[-2], done[-1], others)
        print(f"{len(new)} sequences cover new pairs with {done[-1].states:,} states.")
        if arguments.save is not None:
            for number, each in enumerate(new, 1):
                write_atomically(arguments.save / f"{number}.json", files.dumps(each), create_folder=True)


if __name__ == "__main__":
    main()
