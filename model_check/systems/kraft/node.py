"""A node: a replica that runs on a disk; and an execution of its process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cached_property
from typing import TypeVar, cast

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import (
    AppendBatch,
    ArmTimer,
    Effect,
    Fatal,
    Reply,
    Stop,
)
from kraftcheck.reference.events import Event, Poll, Timer
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.log import Batch
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    Response,
    UpdateRaftVoterRequest,
    VoteResponse,
)
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.types import InSequence, Name
from kraftcheck.reference.voters import ReplicaKey
from kraftcheck.systems.kraft.clock import Clock
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.timers import Timers, is_due_at_once

E = TypeVar("E")

#: A follower reports its own entry in the voter set by one of these.
OWN_MEMBERSHIP = (AddRaftVoterRequest, RemoveRaftVoterRequest, UpdateRaftVoterRequest)


class Ended(Enum):
    """The reasons other than a fatal why no process runs, in the words of a trace."""

    STOPPED = "stopped for the whole run"
    OUTSIDE = "outside the bounds"
    UNREADABLE = "cannot start: its log begins where no snapshot ends"

    def __repr__(self) -> str:
        return self.name


class Node(Frozen):
    """A replica (``None``: the process does not run) and the contents of its disk.

    ``died`` is the reason why the process exited, if it did not exit gracefully; ``replaced`` the disk that
    was taken out last, where it may be put back in; ``clock`` that of the machine, where clocks run;
    ``timers`` those of the process, where they expire only if they were armed; ``unread`` an answer that it
    has prepared, and whose records are read from the log later.
    """

    replica: Replica | None
    disk: Disk
    died: Fatal | Ended | None = None
    replaced: Disk | None = None
    clock: Clock | None = None
    timers: Timers | None = None
    unread: InFlight | None = None

    def key(self, id: int) -> ReplicaKey:
        """The key of the replica with this id: the directory is that of the disk."""
        return ReplicaKey(id, self.disk.directory)

    @property
    def end(self) -> str:
        """Why the process does not run, for people; empty if there is no reason."""
        if isinstance(self.died, Fatal):
            return self.died.sentence
        return "" if self.died is None else self.died.value


class Execution(Frozen, dict=True):
    """An event carried through: the events fed to the reference, all effects, the rules, the replica.

    ``timers``: those of the process afterwards, where they expire only if they were armed. What many
    properties of the step ask for is found once.
    """

    events: InSequence[Event]
    effects: InSequence[Effect]
    rules: InSequence[Name]
    replica: Replica
    timers: Timers | None = None

    @property
    def ended(self) -> Fatal | Stop | None:
        """The effect by which the process ended in this execution, or ``None``."""
        last = self.effects[-1] if self.effects else None
        return last if isinstance(last, Fatal | Stop) else None

    def all(self, kind: type[E]) -> Sequence[E]:
        """The effects of a class, in order."""
        return cast(Sequence[E], self._by_class.get(kind, ()))

    @cached_property
    def _by_class(self) -> dict[type, list[Effect]]:
        found: dict[type, list[Effect]] = {}
        for effect in self.effects:
            found.setdefault(type(effect), []).append(effect)
        return found

    @property
    def appended(self) -> list[Batch]:
        """The batches that are appended."""
        return [effect.batch for effect in self.all(AppendBatch)]

    @cached_property
    def responses(self) -> tuple[Response, ...]:
        """The answers to requests."""
        return tuple(effect.response for effect in self.all(Reply))

    @cached_property
    def found_expired(self) -> tuple[Timer, ...]:
        """The timers that a poll round of this execution has found expired."""
        return tuple(timer for event in self.events if isinstance(event, Poll) for timer in event.expired)

    @property
    def grants_vote(self) -> bool:
        """Whether a vote or pre-vote is granted in this execution."""
        return any(isinstance(each, VoteResponse) and each.granted for each in self.responses)

    def arms(self, timer: Timer) -> bool:
        """Whether ``timer`` is armed in this execution."""
        return any(effect.timer is timer for effect in self.all(ArmTimer))


def expired_at_once(effects: Iterable[Effect]) -> tuple[Timer, ...]:
    """Timers armed with no time at all: the poll routine that follows finds them expired."""
    armed = (effect for effect in effects if isinstance(effect, ArmTimer))
    return tuple(effect.timer for effect in armed if is_due_at_once(effect.duration))
