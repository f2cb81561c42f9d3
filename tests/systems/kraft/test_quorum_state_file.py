"""S-41: what a crash may leave of the quorum-state file."""

from __future__ import annotations

import pytest

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Effect, Persist, Transition
from kraftcheck.reference.replica import QuorumState
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft import checks

FOUND, MIXTURE = QuorumState(1, None, ReplicaKey(2)), QuorumState(2, None, ReplicaKey(2))
NEW, LATER = QuorumState(2), QuorumState(3)
IN_2, IN_3 = (Transition("Unattached", "Unattached", epoch) for epoch in (2, 3))
#: What a step writes and changes; the contents that are whole.
STEPS: tuple[tuple[tuple[Effect, ...], set[QuorumState]], ...] = (
    ((Persist(NEW), IN_2), {FOUND, NEW}),
    # What is in between is torn, even though the write goes on and ends well unless the process crashes.
    ((Persist(MIXTURE), Persist(NEW), IN_2), {FOUND, NEW}),
    ((Persist(NEW), IN_2, Persist(LATER), IN_3), {FOUND, NEW, LATER}),
)


@pytest.mark.parametrize(("effects", "whole"), STEPS)
def test_what_was_never_written_as_a_whole_is_torn(
    effects: tuple[Effect, ...], whole: set[QuorumState]
) -> None:
    for left in (FOUND, MIXTURE, NEW, LATER, None):
        expected = () if left in whole else ("QuorumStateIsAtomic",)
        assert checks.cut_short(Disk(FOUND), effects, Disk(left)) == expected
