"""What properties need beyond the current state, and what steps tell it."""

from __future__ import annotations

from model_check.brokers import names
from model_check.brokers.network import Record
from model_check.engine.system import Recorded
from reference.frozen import Frozen, replace


class Heard(Frozen):
    """The controller has accepted a heartbeat of this life of a broker: an incarnation id or broker epoch."""

    broker: int
    life: int


class Answered(Frozen):
    """A process has taken the answer to its heartbeat."""

    broker: int


class Declared(Frozen):
    """The controller holds a broker to be inactive (or fenced) from here on, or not any more."""

    broker: int
    inactive: bool


class Served(Frozen):
    """A process begins to accept requests of clients, or ends; ``lonely``: for want of the controller."""

    broker: int
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


Label = Heard | Answered | Declared | Served | Passed | Committed | Crashed | Led


class History(Frozen):
    """``lives``: by broker the largest incarnation id or broker epoch whose heartbeat was accepted.
    ``unanswered``: brokers whose last accepted heartbeat has an answer on its way. ``inactive``, ``serving``:
    brokers that the controller holds to be inactive, and that serve; ``since``: by broker how many ticks ago
    it was declared inactive. ``committed``: the records that any leader has committed.
    """

    lives: tuple[tuple[int, int], ...] = ()
    unanswered: tuple[int, ...] = ()
    inactive: tuple[int, ...] = ()
    serving: tuple[int, ...] = ()
    since: tuple[tuple[int, int], ...] = ()
    committed: tuple[Record, ...] = ()


def record(history: History, label: Label, serves_at_most: int | None, kept: frozenset[str]) -> Recorded:
    """The history after ``label``; ``kept``: the properties that are judged, which decide what is kept."""
    if isinstance(label, Heard):
        return _heard(history, label, kept)
    if isinstance(label, Answered):
        return Recorded(replace(history, unanswered=_without(history.unanswered, label.broker)))
    if isinstance(label, Declared):
        return Recorded(_declared(history, label))
    if isinstance(label, Served):
        return _served(history, label)
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
    if names.INACTIVE_BEFORE_FENCED in kept:
        unanswered = _with(unanswered, label.broker)
    goals = (names.GOAL_HEARD_AGAIN,) if label.life > before >= 0 else ()
    return Recorded(replace(history, lives=_sorted(lives), unanswered=unanswered), broken, goals)


def _declared(history: History, label: Declared) -> History:
    change = _with if label.inactive else _without
    since = dict(history.since)
    since.pop(label.broker, None)
    if label.inactive:
        since[label.broker] = 0
    return replace(history, inactive=change(history.inactive, label.broker), since=_sorted(since))


def _served(history: History, label: Served) -> Recorded:
    change = _with if label.serves else _without
    known = label.broker in history.inactive or label.broker in history.unanswered
    broken = (names.INACTIVE_BEFORE_FENCED,) if label.lonely and not known else ()
    return Recorded(replace(history, serving=change(history.serving, label.broker)), broken)


def _passed(history: History, serves_at_most: int | None) -> Recorded:
    """One tick more since brokers were declared inactive; whether one of them serves still."""
    if serves_at_most is None:
        return Recorded(history)
    # Beyond the bound it does not matter by how much.
    since = {broker: min(ticks, serves_at_most) + 1 for broker, ticks in history.since}
    serving = {ticks for broker, ticks in since.items() if broker in history.serving}
    broken = (names.SERVES_BRIEFLY,) if any(ticks > serves_at_most for ticks in serving) else ()
    goals = (f"{names.GOAL_SERVES}{serves_at_most}",) if serves_at_most in serving else ()
    return Recorded(replace(history, since=_sorted(since)), broken, goals)


def _with(some: tuple[int, ...], one: int) -> tuple[int, ...]:
    return tuple(sorted({*some, one}))


def _without(some: tuple[int, ...], one: int) -> tuple[int, ...]:
    return tuple(each for each in some if each != one)


def _sorted(some: dict[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(some.items()))
