"""What properties need beyond the current state, and what steps tell it."""

from __future__ import annotations

from collections.abc import Iterable

from kraftcheck.engine.system import Recorded
from kraftcheck.reference.frozen import Frozen, replace
from kraftcheck.systems.brokers import names
from kraftcheck.systems.brokers.network import Record


class Heard(Frozen):
    """The controller has accepted a heartbeat of this life of a broker (an incarnation id or broker epoch),
    from the process with this incarnation id.
    """

    broker: int
    life: int
    process: int


class Answered(Frozen):
    """A process has taken the answer to its heartbeat."""

    process: int


class Declared(Frozen):
    """The controller does not hold a process to be active (or unfenced) any more, or does again. That it is
    inactive is said of a broker id, and of the process that the controller means by it then; from when it
    means another one, it holds the former one to be gone.
    """

    process: int
    inactive: bool


class Started(Frozen):
    """A process runs from here on."""

    process: int


class Ended(Frozen):
    """A process is gone, in order or by a crash."""

    process: int


class Served(Frozen):
    """A process begins to accept requests of clients, or ends; ``lonely``: for want of the controller."""

    process: int
    serves: bool
    lonely: bool = False


class Passed(Frozen):
    """A tick is over on all clocks."""


class Committed(Frozen):
    """A leader holds these records for committed."""

    records: tuple[Record, ...]


class Crashed(Frozen):
    """A process is gone without order."""


class Led(Frozen):
    """A process takes itself for the leader that is not the first one on its machine."""


Label = Heard | Answered | Declared | Started | Ended | Served | Passed | Committed | Crashed | Led


class History(Frozen):
    """``lives``: by broker the largest incarnation id or broker epoch whose heartbeat was accepted.
    ``committed``: the records that any leader has committed.

    The rest is about processes, by incarnation id, as two of them may have one broker id. ``running``: those
    that run, of which alone the rest is kept but ``held``: those that the controller holds to be active.
    ``unanswered``: whose last accepted heartbeat has an answer on its way. ``serving``: those that serve;
    ``since``: how many ticks ago the controller gave one up.
    """

    lives: tuple[tuple[int, int], ...] = ()
    running: tuple[int, ...] = ()
    held: tuple[int, ...] = ()
    unanswered: tuple[int, ...] = ()
    serving: tuple[int, ...] = ()
    since: tuple[tuple[int, int], ...] = ()
    committed: tuple[Record, ...] = ()


def beginning(
    running: Iterable[int], held: Iterable[int], serves_at_most: int | None, kept: frozenset[str]
) -> History:
    """The history of a cluster whose processes serve; what is kept depends on what is judged."""
    if serves_at_most is None and names.INACTIVE_BEFORE_FENCED not in kept:
        return History()
    lives = tuple(sorted(running))
    return History(running=lives, held=tuple(sorted(held)), serving=() if serves_at_most is None else lives)


def record(history: History, label: Label, serves_at_most: int | None, kept: frozenset[str]) -> Recorded:
    """The history after ``label``; ``kept``: the properties that are judged, which decide what is kept."""
    if isinstance(label, Heard):
        return _heard(history, label, kept)
    if isinstance(label, Answered):
        return Recorded(replace(history, unanswered=_without(history.unanswered, label.process)))
    if isinstance(label, Declared):
        return Recorded(_declared(history, label, serves_at_most))
    if isinstance(label, Started):
        return Recorded(replace(history, running=_with(history.running, label.process)))
    if isinstance(label, Ended):
        return Recorded(_ended(history, label.process))
    if isinstance(label, Served):
        return _served(history, label, serves_at_most)
    if isinstance(label, Passed):
        return _passed(history, serves_at_most)
    known = history.committed
    if isinstance(label, Crashed | Led):
        goal = names.GOAL_CRASH if isinstance(label, Crashed) else names.GOAL_LATER_LIFE_LEADS
        return Recorded(history, goals=(goal,) if known else ())
    common = min(len(known), len(label.records))
    broken = (names.COMMITTED_SURVIVES,) if known[:common] != label.records[:common] else ()
    longer = label.records if len(label.records) > len(known) else known
    return Recorded(replace(history, committed=longer), broken, (names.GOAL_COMMITTED,))


def _heard(history: History, label: Heard, kept: frozenset[str]) -> Recorded:
    lives = dict(history.lives)
    before = lives.get(label.broker, -1)
    broken = (names.INCARNATION_MONOTONE, names.ONE_LIVE_INCARNATION) if label.life < before else ()
    if names.INCARNATION_MONOTONE in kept or names.ONE_LIVE_INCARNATION in kept:
        lives[label.broker] = max(before, label.life)
    unanswered = history.unanswered
    if names.INACTIVE_BEFORE_FENCED in kept and label.process in history.running:
        unanswered = _with(unanswered, label.process)
    goals = (names.GOAL_HEARD_AGAIN,) if label.life > before >= 0 else ()
    return Recorded(replace(history, lives=_sorted(lives), unanswered=unanswered), broken, goals)


def _declared(history: History, label: Declared, serves_at_most: int | None) -> History:
    change = _without if label.inactive else _with
    since = dict(history.since)
    since.pop(label.process, None)
    if label.inactive and label.process in history.running and serves_at_most is not None:
        since[label.process] = 0
    return replace(history, held=change(history.held, label.process), since=_sorted(since))


def _ended(history: History, process: int) -> History:
    since = dict(history.since)
    since.pop(process, None)
    return replace(
        history,
        running=_without(history.running, process),
        unanswered=_without(history.unanswered, process),
        serving=_without(history.serving, process),
        since=_sorted(since),
    )


def _served(history: History, label: Served, serves_at_most: int | None) -> Recorded:
    known = label.process not in history.held or label.process in history.unanswered
    broken = (names.INACTIVE_BEFORE_FENCED,) if label.lonely and not known else ()
    if serves_at_most is None:
        return Recorded(history, broken)
    change = _with if label.serves else _without
    return Recorded(replace(history, serving=change(history.serving, label.process)), broken)


def _passed(history: History, serves_at_most: int | None) -> Recorded:
    """One tick more since processes were given up; whether one of them serves still."""
    if serves_at_most is None:
        return Recorded(history)
    # Beyond the bound it does not matter by how much.
    since = {process: min(ticks, serves_at_most) + 1 for process, ticks in history.since}
    serving = {ticks for process, ticks in since.items() if process in history.serving}
    broken = (names.SERVES_BRIEFLY,) if any(ticks > serves_at_most for ticks in serving) else ()
    goals = (f"{names.GOAL_SERVES}{serves_at_most}",) if serves_at_most in serving else ()
    return Recorded(replace(history, since=_sorted(since)), broken, goals)


def _with(some: tuple[int, ...], one: int) -> tuple[int, ...]:
    return tuple(sorted({*some, one}))


def _without(some: tuple[int, ...], one: int) -> tuple[int, ...]:
    return tuple(each for each in some if each != one)


def _sorted(some: dict[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(some.items()))
