"""The election timer of a process, as an adapter armed it: what is left of it must be what was left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kraftcheck.evidence.adapters.compare import Effect, Remaining
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.reference.events import Timer


@dataclass(slots=True)
class ElectionTimer:
    """deadline: when the timer expires, in ms; ``None``: never, or not known."""

    deadline: int | None = None

    def expected(self, effects: Sequence[dict[str, Json]], now: int) -> list[dict[str, Json]]:
        """The effects of the reference at the time ``now``, with the time that is left where it is known.

        It is not known in a step that arms the timer anew first.
        """
        armed = [each["ms"] for each in effects if _is_election(each)]
        if self.deadline is None or any(ms != "remaining" for ms in armed):
            return list(effects)
        left = Remaining(max(0, self.deadline - now))
        return [{**each, "ms": left} if _is_election(each) else each for each in effects]

    def note(self, shown: Sequence[Effect], now: int, *, backs_off: bool = False) -> None:
        """Remember the last time for which an adapter armed the timer.

        ``backs_off``: for a back-off, below which the election timer runs on: what is left later is left of
        that (Kafka 3.9 and 4.0: CandidateState.remainingElectionTimeMs).
        """
        for each in shown if not backs_off else ():
            ms = each.get("ms")
            if _is_election(each) and ms != "remaining":
                self.deadline = now + ms if isinstance(ms, int) else None


def _is_election(effect: Effect) -> bool:
    return effect["effect"] == "timer" and effect.get("timer") == Timer.ELECTION.value
