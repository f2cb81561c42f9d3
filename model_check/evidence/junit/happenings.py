"""The events at the replicas of a quorum in a behaviour, in the order in which they happen.

The driver of quorums (:mod:`kraftcheck.evidence.quorum`) plays the behaviour with the reference in the place
of an adapter, so that a test takes the very events that real replicas take there: the opening, the polls
between messages, and messages that the driver composes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kraftcheck.evidence.adapters import wire
from kraftcheck.evidence.adapters.answers import Answer, Capabilities
from kraftcheck.evidence.adapters.asked import Question
from kraftcheck.evidence.adapters.session import Correlations, Session, expectation
from kraftcheck.evidence.quorum.member import MESSAGES
from kraftcheck.evidence.quorum.replay import Stopped, play
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.reference.protocol import Protocol
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.system import KRaftSystem
from kraftcheck.traces.walk import Taken


class Happening(NamedTuple):
    """An event at a replica.

    step: the number of the step of the behaviour, 0 on the way to its initial state. data: the message that
    arrives, if another replica sent it: the very object that is among the ``sent`` of that event. sent: the
    messages that the replica sends, in the order of the effects.
    """

    step: int
    question: Question
    protocol: Protocol
    data: Json
    sent: tuple[dict[str, Json], ...]

    @property
    def replica(self) -> int:
        """The id of the replica."""
        return self.question.identity.id


class _Note(Session):
    """A session with the reference, which notes what it is asked."""

    def __init__(self, noted: list[Happening], step: list[int]) -> None:
        self.capabilities = Capabilities(
            "reference", frozenset(wire.EVENTS), frozenset(MESSAGES), frozenset(), True
        )
        self._noted, self._step = noted, step

    def ask(
        self, question: Question, name: str, protocol: Protocol, correlations: Correlations, data: Json = None
    ) -> Answer:
        """What the reference does."""
        effects = [] if question.outcome is None else expectation(question, protocol).effects
        sent = tuple(each for each in effects if each["effect"] in MESSAGES)
        self._noted.append(Happening(self._step[0], question, protocol, data, sent))
        return Answer(tuple(effects), {})


def happenings(
    system: KRaftSystem, scenario: KRaftScenario, taken: Sequence[Taken]
) -> tuple[list[Happening], Stopped | None]:
    """All events of a behaviour; with the reason where a step has no form for a real replica."""
    noted, step = list[Happening](), [0]
    sessions: dict[int, _Note] = {}

    def begin(number: int) -> None:
        step[0] = number

    found = play(system, scenario, taken, lambda each: sessions.setdefault(each, _Note(noted, step)), begin)
    return noted, found.stopped
