"""How long an implementation sleeps after each poll, and which calls wake it: no timer may pass unnoticed.

The reference has no such effects: what they may be follows from its timers.

Source: Kafka: KafkaRaftClient.poll, append, resign, shutdown; RaftMessageQueue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kraftcheck.evidence.adapters.answers import WAIT, WAKE_UP, Capabilities
from kraftcheck.evidence.adapters.asked import Question, times_of
from kraftcheck.evidence.adapters.compare import Difference
from kraftcheck.evidence.adapters.deadlines import Deadlines
from kraftcheck.reference.effects import ArmTimer, Effect
from kraftcheck.reference.events import Append, Poll, Resign, Shutdown, Timer
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import Leader, Replica

Effects = Sequence[Mapping[str, Any]]


class Waits:
    """The sleep of one process, which begins with the step in which it starts."""

    def __init__(self, deadlines: Deadlines | None = None) -> None:
        self._deadlines = deadlines or Deadlines(times_of(KAFKA))

    @classmethod
    def of(cls, question: Question, protocol: Protocol) -> Waits:
        """Those of the process that ``question`` starts."""
        return cls(Deadlines(times_of(protocol), question.draw))

    def differences(self, shown: Capabilities, question: Question, effects: Effects) -> Iterator[Difference]:
        """A sleep that is too long, and a call that does not wake the process. After a step that ends the
        process neither counts.
        """
        outcome, event = question.outcome, question.event
        assert outcome is not None
        self._deadlines.follow(event, outcome.effects, question.now)
        if question.ended:
            return
        if isinstance(event, Poll) and WAIT in shown.effects:
            yield from self._sleep(outcome.replica, event, question.now, effects)
        woken = any(each["effect"] == WAKE_UP for each in effects)
        if WAKE_UP in shown.effects and not woken and wakes(event, outcome.effects, outcome.replica):
            yield Difference(WAKE_UP, "the poll loop is woken", None)

    def _sleep(self, replica: Replica, poll: Poll, now: int, effects: Effects) -> Iterator[Difference]:
        longest = self._deadlines.longest_wait(replica, poll, now)
        found = [each.get("ms") for each in effects if each["effect"] == WAIT]
        ms = found[-1] if found else "no wait"
        fits = type(ms) is int and ms >= 0 and (longest is None or ms <= longest)
        if not fits and not (ms is None and longest is None):
            yield Difference(f"{WAIT}: ms", _at_most(longest), ms)


def _at_most(longest: int | None) -> str:
    return "a number, or null" if longest is None else f"at most {longest} ms, when a timer expires"


def wakes(event: object, effects: Sequence[Effect], after: Replica) -> bool:
    """Whether a call of the state machine, or a shutdown, gives the next poll something to do that no sleep
    has been measured for.
    """
    if isinstance(event, Shutdown):
        return True
    if isinstance(event, Append):
        return any(isinstance(each, ArmTimer) and each.timer is Timer.LINGER for each in effects)
    return isinstance(event, Resign) and isinstance(after.role, Leader) and after.role.resign_requested
