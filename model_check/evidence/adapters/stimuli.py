"""The events at one replica, in order: the unit along which an implementation is driven.

A stimulus is an event of the reference, or a start, a crash, another disk, a late answer, or the expiry of a
fetch in purgatory. Ids of requests and answers and the time are not part of it: the driver assigns them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from kraftcheck.engine.system import PathStep
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Event
from kraftcheck.reference.frozen import Frozen
from kraftcheck.reference.messages import Response
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.types import INT32, Directory, InSequence, Meaning, NodeId, Range
from kraftcheck.reference.voters import Endpoint
from kraftcheck.systems.kraft.scenario import KRaftScenario

Count = Annotated[int, Meaning.PLAIN, Range(0, INT32)]


class Start(Frozen):
    """The process starts on its disk; with ``endpoints`` it listens there from now on."""

    endpoints: InSequence[Endpoint] | None = None


class Crash(Frozen):
    """The process is killed before its last ``undone`` changes of the disk; ``loses_power``: unflushed
    records are lost too.
    """

    undone: Count = 0
    loses_power: bool = False


class ReplaceDisk(Frozen):
    """The process is killed, and its disk is replaced by the one with this directory id: the disk that was
    taken out last, if it has that id, or else an empty one.
    """

    directory: Directory


class WaitExpired(Frozen):
    """The fetch at ``position`` in purgatory (0: the oldest) expires."""

    position: Count


class LateResponse(Frozen):
    """An answer arrives that is no longer awaited: to the last such request to ``source``."""

    source: NodeId
    response: Response


class Pause(Frozen):
    """Nothing happens until shortly before the first running timer expires."""


Stimulus = Start | Crash | ReplaceDisk | WaitExpired | LateResponse | Pause | Event


@dataclass(frozen=True, slots=True)
class Origin:
    """The behaviour of a whole quorum that a sequence is taken from: a scenario and the steps taken.

    ``steps``: for each stimulus the number of the behaviour's step that it belongs to; 0 for a prologue that
    brings the replica into the state in which the scenario begins.
    """

    scenario: KRaftScenario
    path: tuple[PathStep, ...]
    steps: tuple[int, ...]


class DriveSequence(Frozen):
    """The events at one replica.

    identity: the configuration of the replica (its durable and volatile fields are ignored); disk: the disk
    that it finds at its first start; written_back: whether unflushed writes of a crashed process are durable
    when its successor starts; origin: ``None`` for a sequence that belongs to no behaviour of a quorum.
    """

    name: str
    protocol: Protocol
    identity: Replica
    disk: Disk
    stimuli: tuple[Stimulus, ...]
    written_back: bool = False
    origin: Origin | None = None
