"""Sequences of steps of one replica, from behaviours of whole quorums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kraftcheck.checking.counterexamples import simplest_of
from kraftcheck.engine.system import Violation
from kraftcheck.evidence.adapters.asked import Asking
from kraftcheck.evidence.adapters.extract import moments, sequences
from kraftcheck.evidence.adapters.generate import generate
from kraftcheck.evidence.adapters.scripts import scripts
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.traces.build import walk
from kraftcheck.vectors.asked import Asked

#: Longer ones are rather split up by people who look for what differs.
MOST_STEPS = 60
#: How far a scenario is explored for behaviours that show much.
MAX_STATES = 3_000

Found = tuple[Replica, tuple[Asked | None, ...]]


def covering(scenario: KRaftScenario) -> Iterator[DriveSequence]:
    """What ``kraftcheck drive`` puts to an implementation of production's protocol from this scenario."""
    yield from generate([scenario], "kafka", {}, 0, max_states=MAX_STATES).sequences


def scripted() -> Iterator[DriveSequence]:
    """The scripts of ``kraftcheck drive``: what scenarios do not come to."""
    yield from scripts(KAFKA)


def counterexamples(
    system: KRaftSystem, scenario: KRaftScenario, violations: Sequence[Violation]
) -> Iterator[DriveSequence]:
    """What each replica does in the simplest counterexamples."""
    for name, found in simplest_of(system, violations).items():
        walked = walk(system, found.violation.path, found.violation.initial)
        taken = moments(system, walked.taken)
        yield from sequences(system, scenario, f"{scenario.name} {name}", taken)


def asked(sequence: DriveSequence) -> Found | None:
    """The steps of ``sequence``; ``None`` where nothing happens in it or too much."""
    identity = replace(sequence.identity, next_correlation=0)
    steps: list[Asked | None] = []
    for question in Asking(sequence, pure=True).questions():
        if isinstance(question.event, Crash):
            steps.append(None)
            continue
        assert question.outcome is not None
        if isinstance(question.event, Start):
            steps.append(Asked(sequence.protocol, identity, question.disk, question.outcome))
        else:
            assert question.before is not None
            steps.append(Asked(sequence.protocol, question.before, question.event, question.outcome))
    while steps and steps[-1] is None:
        steps.pop()
    return (identity, tuple(steps)) if 0 < len(steps) <= MOST_STEPS else None


def found_in(driven: Iterable[DriveSequence]) -> Iterator[tuple[Protocol, Found]]:
    """The sequences among ``driven`` that make vectors, with their protocols."""
    for sequence in driven:
        try:
            found = asked(sequence)
        except InputError:
            continue
        if found is not None:
            yield sequence.protocol, found
