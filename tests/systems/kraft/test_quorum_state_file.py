"""S-41: what a crash may leave of the quorum-state file."""

from __future__ import annotations

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Effect, Persist, Transition
from kraftcheck.reference.replica import QuorumState
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft import checks, names

FOUND = QuorumState(1, None, ReplicaKey(2))
MIXTURE = QuorumState(2, None, ReplicaKey(2))
NEW = QuorumState(2)
TORN = (names.QUORUM_STATE_IS_ATOMIC,)


def _left(state: QuorumState | None, *effects: Effect) -> tuple[str, ...]:
    return checks.cut_short(Disk(FOUND), effects, Disk(state))


def test_the_file_before_a_change_and_after_it_are_whole() -> None:
    change = (Persist(NEW), Transition("Unattached", "Unattached", 2))
    assert _left(FOUND, *change) == _left(NEW, *change) == ()


def test_a_file_in_between_is_torn() -> None:
    """Even though the write goes on and ends well unless the process crashes."""
    change = (Persist(MIXTURE), Persist(NEW), Transition("Unattached", "Unattached", 2))
    assert _left(MIXTURE, *change) == TORN
    assert _left(FOUND, *change) == _left(NEW, *change) == ()


def test_a_file_that_is_lost_is_torn() -> None:
    assert _left(None, Persist(NEW), Transition("Unattached", "Unattached", 2)) == TORN


def test_every_change_of_a_step_counts() -> None:
    again = QuorumState(3)
    changes = (
        Persist(NEW),
        Transition("Unattached", "Unattached", 2),
        Persist(again),
        Transition("Unattached", "Unattached", 3),
    )
    assert _left(NEW, *changes) == _left(again, *changes) == ()
    assert _left(MIXTURE, *changes) == TORN
