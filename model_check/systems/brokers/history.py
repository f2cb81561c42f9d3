"""What properties need beyond the current state, and the labels by which steps report it."""

from __future__ import annotations

from collections.abc import Iterable

from kraftcheck.engine.system import Recorded
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.systems.brokers.network import Record


class HeartbeatAccepted(Frozen):
    """The controller has accepted a heartbeat of this incarnation of a broker (an incarnation id or a broker
    epoch), from the process with the incarnation id ``process``.
    """

    broker: int
    incarnation: int
    process: int


class HeartbeatAnswered(Frozen):
    """A process has received the response to its heartbeat."""

    process: int


class Declared(Frozen):
    """From here on the controller holds a process to be inactive (fenced), or active again.

    It says so of a broker id, and so of the process that it knows under this id. When it learns of another
    process under the id, it holds the previous one to be inactive.
    """

    process: int
    inactive: bool


class Started(Frozen):
    """A process starts."""

    process: int


class Ended(Frozen):
    """A process has ended, by a shutdown or a crash."""

    process: int


class Served(Frozen):
    """A process begins or ceases to accept requests of clients; ``without_controller``: it ceases because it
    has not reached the controller for too long.
    """

    process: int
    serves: bool
    without_controller: bool = False


class TickEnded(Frozen):
    """A tick is over on all clocks."""


class Committed(Frozen):
    """A leader holds these records to be committed."""

    records: tuple[Record, ...]


class Crashed(Frozen):
    """A process has crashed."""


class LaterProcessLeads(Frozen):
    """A process that is not the first one on its machine takes itself for the leader."""


Label = (
    HeartbeatAccepted
    | HeartbeatAnswered
    | Declared
    | Started
    | Ended
    | Served
    | TickEnded
    | Committed
    | Crashed
    | LaterProcessLeads
)


class History(Frozen):
    """``newest``: by broker the largest incarnation id or broker epoch whose heartbeat was accepted.
    ``committed``: the records that any leader has committed.

    The other fields hold incarnation ids, as two processes may have one broker id. ``active``: the processes
    that the controller holds to be active. The others are about the processes that run, ``running``:
    ``unanswered``: the response to the last accepted heartbeat is in flight; ``serving``: they accept
    requests; ``inactive_for``: for how many ticks the controller has held them to be inactive.
    """

    newest: tuple[tuple[int, int], ...] = ()
    running: tuple[int, ...] = ()
    active: tuple[int, ...] = ()
    unanswered: tuple[int, ...] = ()
    serving: tuple[int, ...] = ()
    inactive_for: tuple[tuple[int, int], ...] = ()
    committed: tuple[Record, ...] = ()


def beginning(
    running: Iterable[int], active: Iterable[int], serves_at_most: int | None, kept: frozenset[str]
) -> History:
    """The history of a cluster whose processes serve, as far as the properties ``kept`` need it."""
    if serves_at_most is None and "InactiveBeforeSelfFenced" not in kept:
        return History()
    processes = tuple(sorted(running))
    serving = () if serves_at_most is None else processes
    return History(running=processes, active=tuple(sorted(active)), serving=serving)


def record(history: History, label: Label, serves_at_most: int | None, kept: frozenset[str]) -> Recorded:
    """The history after ``label``, as far as the properties ``kept`` need it."""
    match label:
        case HeartbeatAccepted():
            return _heartbeat_accepted(history, label, kept)
        case HeartbeatAnswered(process):
            return Recorded(replace(history, unanswered=_without(history.unanswered, process)))
        case Declared():
            return Recorded(_declared(history, label, serves_at_most))
        case Started(process):
            return Recorded(replace(history, running=_with(history.running, process)))
        case Ended(process):
            return Recorded(_ended(history, process))
        case Served():
            return _served(history, label, serves_at_most)
        case TickEnded():
            return Recorded(history) if serves_at_most is None else _tick_ended(history, serves_at_most)
        case Crashed():
            return Recorded(history, goals=("GoalCrashAfterCommit",) if history.committed else ())
        case LaterProcessLeads():
            return Recorded(history, goals=("GoalLaterLifeLeads",) if history.committed else ())
    known, records = history.committed, label.records
    common = min(len(known), len(records))
    broken = ("CommittedPartitionDataSurvives",) if known[:common] != records[:common] else ()
    longer = records if len(records) > len(known) else known
    return Recorded(replace(history, committed=longer), broken, ("GoalDataCommitted",))


def _heartbeat_accepted(history: History, label: HeartbeatAccepted, kept: frozenset[str]) -> Recorded:
    newest = dict(history.newest)
    before = newest.get(label.broker, -1)
    monotone = ("IncarnationMonotone", "OneLiveIncarnation")
    if kept & {*monotone}:
        newest[label.broker] = max(before, label.incarnation)
    unanswered = history.unanswered
    if "InactiveBeforeSelfFenced" in kept and label.process in history.running:
        unanswered = _with(unanswered, label.process)
    return Recorded(
        replace(history, newest=_sorted(newest), unanswered=unanswered),
        monotone if label.incarnation < before else (),
        ("GoalLaterLifeHeard",) if label.incarnation > before >= 0 else (),
    )


def _declared(history: History, label: Declared, serves_at_most: int | None) -> History:
    change = _without if label.inactive else _with
    ticks = {process: since for process, since in history.inactive_for if process != label.process}
    if label.inactive and label.process in history.running and serves_at_most is not None:
        ticks[label.process] = 0
    return replace(history, active=change(history.active, label.process), inactive_for=_sorted(ticks))


def _ended(history: History, process: int) -> History:
    return replace(
        history,
        running=_without(history.running, process),
        unanswered=_without(history.unanswered, process),
        serving=_without(history.serving, process),
        inactive_for=tuple(each for each in history.inactive_for if each[0] != process),
    )


def _served(history: History, label: Served, serves_at_most: int | None) -> Recorded:
    known = label.process not in history.active or label.process in history.unanswered
    broken = ("InactiveBeforeSelfFenced",) if label.without_controller and not known else ()
    if serves_at_most is None:
        return Recorded(history, broken)
    change = _with if label.serves else _without
    return Recorded(replace(history, serving=change(history.serving, label.process)), broken)


def _tick_ended(history: History, serves_at_most: int) -> Recorded:
    """One tick more for the inactive processes; whether one of them still serves."""
    # Beyond the bound it does not matter by how much.
    ticks = {process: min(before, serves_at_most) + 1 for process, before in history.inactive_for}
    serving = {each for process, each in ticks.items() if process in history.serving}
    broken = ("InactiveBrokerServesBriefly",) if any(each > serves_at_most for each in serving) else ()
    goals = (f"GoalServesTicks{serves_at_most}",) if serves_at_most in serving else ()
    return Recorded(replace(history, inactive_for=_sorted(ticks)), broken, goals)


def _with(processes: tuple[int, ...], one: int) -> tuple[int, ...]:
    return tuple(sorted({*processes, one}))


def _without(processes: tuple[int, ...], one: int) -> tuple[int, ...]:
    return tuple(each for each in processes if each != one)


def _sorted(numbers: dict[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(numbers.items()))
