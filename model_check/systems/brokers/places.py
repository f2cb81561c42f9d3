"""Local states: the controller, the machine that a process of a broker runs on, and time."""

from __future__ import annotations

from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.frozen import Frozen
from kraftcheck.systems.brokers.network import Record


class Control(Frozen):
    """The controller, whichever node is active. ``homes``: the place of the process with an incarnation id
    (the draft, in which the store gives these ids). ``silent``: the incarnations that have ended or are cut
    off, if time-outs depend on it. ``leaving``: see :mod:`kraftcheck.systems.brokers.controller_step`.
    ``left``, ``turn``, ``moves``: see :class:`Time`.
    """

    controller: Controller
    homes: tuple[tuple[int, str], ...] = ()
    silent: tuple[int, ...] = ()
    leaving: tuple[tuple[int, int], ...] = ()
    left: int = 0
    turn: int = 0
    moves: int = 0


class Machine(Frozen):
    """The machine of a process of broker ``id``; ``broker`` is ``None`` while none runs.

    ``registers``: a starting process awaits its registration in the store; ``reads``: the process is reading
    the metadata log; ``cut``: its link to the controller is cut. ``starts`` counts processes, including those
    before the beginning. ``log``, on the disk: the records of the partition. A leader knows up to which
    offset followers hold its log (``ends``: broker, its incarnation, the end), what it has sent them
    (``sent``: broker, its incarnation, epoch and end of the log), and how many records are committed.
    ``left``, ``turn``, ``moves``: see :class:`Time`.
    """

    id: int
    broker: Broker | None = None
    registers: bool = False
    reads: bool = False
    cut: bool = False
    starts: int = 0
    log: tuple[Record, ...] = ()
    ends: tuple[tuple[int, int, int], ...] = ()
    sent: tuple[tuple[int, int, int, int], ...] = ()
    committed: int = 0
    left: int = 0
    turn: int = 0
    moves: int = 0


class Time(Frozen):
    """Physical time, in ticks: by how many each clock is ahead of it, the controller's first.

    A tick reaches all components at once. The components whose clocks move then take turns, and nothing else
    happens until all have had theirs. ``left`` counts the remaining turns; that of a component comes when its
    ``turn`` of them are left, and is ``moves`` ticks of its clock long.
    """

    ahead: tuple[int, ...]
    left: int = 0
