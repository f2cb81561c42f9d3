"""The inputs of a step's outcomes apart from the replica itself: links, releases, faults and voters."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Event
from kraftcheck.reference.fatal import FatalReason
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome, start, step
from kraftcheck.systems.kraft.membership import Origin

#: Receives every question to the reference: the replica before it (of a start: its configuration), the event
#: (of a start: the disk that it finds), and the outcome.
Listener = Callable[[Protocol, Replica, Event | Disk, Outcome], None]


@dataclass(frozen=True, slots=True)
class Wiring:
    """The inputs of an outcome apart from the replica itself.

    component: index of a replica id; cut: directed links (from, to) that carry nothing; no_pre_vote: replicas
    that do not know pre-vote; flag_ignored: senders whose pre-vote flag such a replica does not see, so that
    it takes the request for a standard one; forgotten_stay: whether forgotten requests stay in flight; crash:
    a budget index, ``None`` where the fault is off; power_loss: whether a crash may lose the unflushed tail;
    written_back: whether unflushed data of a crashed process is durable when the next one starts; boundaries:
    whether a crash may fall between the effects of a step or of a start; crashes: how many there may be in
    all; duplicate: a budget index, ``None``: a request arrives once; wipe: a budget index, ``None``: no disk
    is replaced by an empty one; restore: a budget index, ``None``: no disk that was taken out is put back in;
    ``crashes_at``, ``wipes_at``: the ids of those that may be hit.

    origin: the effective voter set and version before any record, where voter sets may change or snapshots
    are taken; addable: the ids of the replicas that may be added to the voter set; targets: those of the
    AlterQuorum requests (KIP-595), in the order of the admin client's steps, ``None`` where voters do not
    change that way; ignored_fatals: reasons for an exit that are not judged; the process restarts; any_order:
    whether requests that go out one after the other go out in any order, where a crash falls between them;
    idle_left_out: whether answers without new information are left out of the model; listener: receives every
    question to the reference. starts: the results of
    starts, by replica and disk (:func:`kraftcheck.systems.kraft.outcomes.course`); start_verdicts: the
    properties they violate and the goals they reach, by the replica before and the disk.
    """

    component: Callable[[int], int] = int
    cut: frozenset[tuple[int, int]] = frozenset()
    no_pre_vote: frozenset[int] = frozenset()
    flag_ignored: frozenset[int] = frozenset()
    forgotten_stay: bool = True
    crash: int | None = None
    power_loss: bool = False
    written_back: bool = False
    boundaries: bool = False
    crashes: int = 0
    duplicate: int | None = None
    wipe: int | None = None
    restore: int | None = None
    crashes_at: frozenset[int] = frozenset()
    wipes_at: frozenset[int] = frozenset()
    origin: Origin | None = None
    addable: frozenset[int] = frozenset()
    targets: tuple[tuple[int, ...] | None, ...] | None = None
    ignored_fatals: frozenset[FatalReason] = frozenset()
    any_order: bool = False
    idle_left_out: bool = False
    listener: Listener | None = None
    starts: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False, repr=False)
    start_verdicts: dict[tuple[Replica, Disk], tuple[tuple[str, ...], tuple[str, ...]]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    def ask(self, protocol: Protocol, replica: Replica, happened: Event | Disk) -> Outcome:
        """The step of the reference by an event, or the start of the process that ``replica`` configures on a
        disk.
        """
        if isinstance(happened, Disk):
            outcome = start(protocol, replica, happened)
        else:
            outcome = step(protocol, replica, happened)
        if self.listener is not None:
            self.listener(protocol, replica, happened, outcome)
        return outcome
