"""Paths into states: those that scenarios give are reached, in every field that a rule reads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kraftcheck.evidence.adapters.asked import Asking
from kraftcheck.evidence.adapters.prologue import prologue, unlike
from kraftcheck.evidence.adapters.stimuli import DriveSequence
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Replica
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.scenario import shipped
from kraftcheck.systems.kraft.text import parse_replica

#: No events lead to these states: an old copy of a file, and one that another release has written.
OTHER_FILES = {("mutants-old-file", 1), ("downgraded-voter-restarts", 3)}


def led_to(target: Replica) -> Replica | None:
    """The replica at the end of the path to ``target``, if there is one."""
    disk, stimuli = prologue(KAFKA, target, target)
    if stimuli is None:
        return None
    asking = Asking(DriveSequence("", KAFKA, target, disk, stimuli))
    assert len(list(asking.questions())) == len(stimuli)
    return asking.replica


@pytest.mark.parametrize(
    "text",
    [
        "unattached epoch=3 log=1@1,1@2 awaiting=2",
        "follower epoch=2 leader=2 log=2@1",
        "follower epoch=2 leader=2 log=2@1 hw=1",
        "follower epoch=2 leader=2 voted=3 log=2@1 hw=1",
        "follower epoch=2 leader=2 log=1@2 hw=1 fetched awaiting=2",
        "follower epoch=2 leader=2 log=1@2 backoff=2",
        "prospective epoch=1 granted=1 rejected=3",
        "candidate epoch=4 log=2@3 rejected=2",
        "leader epoch=2 log=1@1,2@2 start=1 progress=2:3,3:0 hw=3",
        "leader epoch=2 log=1@2 start=0 hw=1 progress=2:1",
        "resigned epoch=2 log=1@1,1@2 awaiting=2,3",
        "resigned epoch=2 log=1@1 successors=none awaiting=2,3",
    ],
)
def test_a_state_is_reached(text: str) -> None:
    target = parse_replica(f"{text} id=1 voters=1,2,3")
    found = led_to(target)
    assert found is not None
    assert not unlike(target, found)


def given() -> Iterator[tuple[str, int]]:
    for name, chosen in shipped().items():
        for word in chosen.replicas.initial:
            if int(word) not in chosen.replicas.stopped:
                yield name, int(word)


@pytest.mark.slow
def test_the_states_that_scenarios_give_are_reached() -> None:
    missed = set()
    for name, replica in given():
        system = build(shipped()[name])
        component = system.wiring.component(replica)
        identity, target = system.identities[component], system.nodes[component].replica
        if target is None:  # Its process cannot start on its disk.
            continue
        disk, stimuli = prologue(system.protocols[component], identity, target)
        if stimuli is None:
            missed.add((name, replica))
            continue
        asking = Asking(DriveSequence("", system.protocols[component], identity, disk, stimuli))
        assert len(list(asking.questions())) == len(stimuli)
        assert asking.replica is not None and not unlike(target, asking.replica), (name, replica)
    assert missed == OTHER_FILES
