"""The part of a step that an implementation can show: some effects mean nothing outside the reference."""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.evidence.adapters.asked import Question
from kraftcheck.evidence.adapters.compare import Effect
from kraftcheck.evidence.adapters.stimuli import Start
from kraftcheck.reference.events import Timer

Effects = list[Effect]


def comparable(
    question: Question, expected: Sequence[Effect], found: Sequence[Effect]
) -> tuple[Effects, Effects]:
    """The effects of the reference and of an adapter that are to be compared.

    When a process starts, no answer is awaited, and where it ends, none matters, so no request is forgotten.
    No process looks at an election timer that never expires. A process that supports kraft.version
    0 alone reports itself as a voter only under a larger one.
    """
    never, ignored = set[str](), set[str]()
    if isinstance(question.event, Start):
        never |= {each["timer"] for each in expected if each["effect"] == "timer" and each["ms"] is None}
    if isinstance(question.event, Start) or any(each["effect"] == "fatal" for each in expected):
        ignored.add("forgetRequests")
    assert question.outcome is not None
    if not question.outcome.replica.describes_itself:
        never.add(Timer.UPDATE_VOTER.value)

    def kept(effect: Effect) -> bool:
        is_timer = effect["effect"] == "timer"
        return effect["effect"] not in ignored and not (is_timer and str(effect.get("timer")) in never)

    return [each for each in expected if kept(each)], [each for each in found if kept(each)]
