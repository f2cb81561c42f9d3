"""Local states: the controller, the machine that a process of a broker runs on, and time."""

from __future__ import annotations

from kraftcheck.reference.brokers.broker import Broker
from kraftcheck.reference.brokers.controller import Controller
from kraftcheck.reference.frozen import Frozen
from kraftcheck.systems.brokers.network import Record


class Control(Frozen):
    """The controller, whichever node is active. ``homes``: where the process with an incarnation id runs
    (the draft, in which the store gives these ids). ``silent``: incarnations of processes that are gone or
    cut off, where time-outs depend on it. ``leaving``: see :mod:`kraftcheck.systems.brokers.shutdown_checks`.
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
    """What a process of broker ``id`` runs on; ``broker`` is ``None`` while none runs.

    ``registers``: a process starts and awaits its registration in the store; ``reads``: it is reading the
    metadata log; ``cut``: its link to the controller is cut. ``starts`` counts processes, those before
    the beginning included. ``log`` is on the disk: the records of the partition. A leader knows up to where
    followers hold its log (``ends``, by broker its life and the end), what it has sent them (``sent``, by
    broker its life and the log's epoch and end), and the end of what is committed. ``left``, ``turn``,
    ``moves``: see :class:`Time`.
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

    When a tick is over, all notice at once, and those whose clocks move take their turns: nothing else
    happens anywhere before all have. ``left`` counts the turns that are left; the one of a component comes
    when its ``turn`` of them are left, and takes ``moves`` ticks of its clock.
    """

    ahead: tuple[int, ...]
    left: int = 0
