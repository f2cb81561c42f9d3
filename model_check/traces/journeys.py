"""Where each message of a trace is sent and where it ends, so that a view can draw it as an arrow.

A trace has the messages that are in flight after each step; :func:`journeys` joins them to journeys.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from kraftcheck.systems.kind import Flying
from kraftcheck.traces.model import Trace, TraceStep


class End(StrEnum):
    """How a journey ends: on the way means that it has not ended within the trace."""

    DELIVERED = "delivered"
    LOST = "lost"
    CUT_LINK = "cut link"
    NO_LONGER_MATTERS = "no longer matters"
    ON_THE_WAY = "on the way"


@dataclass(frozen=True, slots=True)
class Journey:
    """A message from the step that sends it to the one that ends it.

    ``sent``: the number of the step, 0 for a message in flight at the beginning; ``ended``: the number of the
    step, ``None`` if the message is on the way; ``copy``: whether an earlier delivery left a copy, which this
    is.
    """

    message: Flying
    sent: int
    ended: int | None
    end: End
    copy: bool = False


def journeys(trace: Trace) -> tuple[Journey, ...]:
    """All journeys of ``trace``, in the order in which they begin.

    Of equal messages the one that was sent first ends first. A message that changes on the way, such as a
    request whose sender has stopped waiting for the answer, stays the same journey.
    """
    network = _Network()
    for message in trace.in_flight:
        network.send(message, 0)
    for step in trace.steps:
        network.take(step)
    return tuple(sorted(network.all(), key=lambda journey: journey.sent))


@dataclass(slots=True, eq=False)  # Equal messages are different journeys.
class _Sent:
    message: Flying
    step: int
    copy: bool = False


@dataclass(slots=True)
class _Network:
    """The messages in flight, the oldest first, and the journeys that have ended."""

    flying: list[_Sent] = field(default_factory=list)
    ended: list[Journey] = field(default_factory=list)

    def send(self, message: Flying, step: int) -> None:
        self.flying.append(_Sent(message, step))

    def take(self, step: TraceStep) -> None:
        if step.kind != "lose":
            self.ended += (Journey(each, step.number, step.number, End.CUT_LINK) for each in step.lost)
        for message in step.sent:
            self.send(message, step.number)
        copy = None
        if step.message is not None:
            sent = next(each for each in self.flying if each.message == step.message)
            self._end(sent, step, End.LOST if step.kind == "lose" else End.DELIVERED)
            copy = _Sent(sent.message, sent.step, copy=True)
        left = Counter(step.in_flight)
        gone = [each for each in self.flying if not _taken(left, each.message)]
        if copy is not None and _taken(left, copy.message):
            self.flying.append(copy)
        changed: dict[object, deque[Flying]] = {}
        for message in left.elements():
            changed.setdefault(_kind(message), deque()).append(message)
        for each in gone:
            if waiting := changed.get(_kind(each.message)):
                each.message = waiting.popleft()
            else:
                self._end(each, step, End.NO_LONGER_MATTERS)

    def _end(self, sent: _Sent, step: TraceStep, end: End) -> None:
        self.flying.remove(sent)
        self.ended.append(Journey(sent.message, sent.step, step.number, end, sent.copy))

    def all(self) -> Iterable[Journey]:
        yield from self.ended
        for each in self.flying:
            yield Journey(each.message, each.step, None, End.ON_THE_WAY, each.copy)


def _kind(message: Flying) -> object:
    """What a message keeps when it changes on the way."""
    return message.source, message.destination, type(message.payload)


def _taken(left: Counter[Flying], message: Flying) -> bool:
    """Whether ``left`` has had ``message``, which is taken out."""
    has = left[message] > 0
    left[message] -= has
    return has
