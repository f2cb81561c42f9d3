"""A trace as a sequence diagram in Mermaid, which GitHub and GitLab draw."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kraftcheck.support.printable import printable, shortened
from kraftcheck.systems.kind import Place, called
from kraftcheck.traces.journeys import End, Journey, journeys
from kraftcheck.traces.model import Trace
from kraftcheck.traces.view import CYCLE, StepView, moments_of, view_of

#: GitHub draws no diagram of more than 50,000 characters; longer traces show the steps around their moments.
MOST_STEPS = 150
_MOST_LETTERS = 90


def render(trace: Trace) -> str:
    """``trace`` as a diagram. A message is an arrow where it is received or lost; of a long trace the steps
    that change no role, epoch, high watermark or the like are left out, which the diagram says.
    """
    return "\n".join(_lines(trace)) + "\n"


def _lines(trace: Trace) -> Iterator[str]:
    view = view_of(trace)
    names = {place: f"P{index}" for index, place in enumerate(trace.replicas)}
    everyone = list(names.values())
    found = journeys(trace)
    yield "sequenceDiagram"
    yield f"  %% {_text(view.title)}"
    yield from (f"  participant {name} as {_text(called(place))}" for place, name in names.items())
    shown = _shown(trace)
    for step, seen in zip(trace.steps, view.steps, strict=True):
        if seen.begins_cycle:
            yield _note(everyone, CYCLE)
        if step.number not in shown:
            if step.number - 1 in shown or step.number == 1:
                yield _note(everyone, f"steps left out: {_left_out(step.number, shown)}")
            continue
        yield from _of_step(seen, [each for each in found if each.ended == step.number], names)
        for text in moments_of(step):
            yield _note([names[seen.actor]], text)
        for name in step.violations:
            yield _note(everyone, f"violates {name}")
    for reason in view.reasons:
        yield _note(everyone, reason)


def _of_step(seen: StepView, ended: Sequence[Journey], names: dict[Place, str]) -> Iterator[str]:
    came = [each for each in ended if each.end in (End.DELIVERED, End.LOST)]
    for each in came:
        arrow = "-x" if each.end is End.LOST else "->>"
        source, target = names[each.message.source], names[each.message.destination]
        yield f"  {source}{arrow}{target}: {seen.number}. {_text(seen.head.partition(' ')[2])}"
    if not came:
        yield _note([names[seen.actor]], f"{seen.number}. {seen.head}")


def _shown(trace: Trace) -> set[int]:
    """The numbers of the steps that the diagram has: all, or the last ones with moments and violations."""
    if len(trace.steps) <= MOST_STEPS:
        return {step.number for step in trace.steps}
    telling = [step.number for step in trace.steps if step.violations or any(moments_of(step))]
    return {*telling[-MOST_STEPS + 1 :], len(trace.steps)}


def _left_out(number: int, shown: set[int]) -> int:
    return min(later for later in shown if later > number) - number


def _note(names: Sequence[str], text: str) -> str:
    where = ",".join(dict.fromkeys((names[0], names[-1])))
    return f"  note over {where}: {_text(text)}"


def _text(text: str) -> str:
    """``text`` without what Mermaid would take for its own syntax: it has entities for such characters."""
    plain = shortened(printable(text), _MOST_LETTERS)
    return re.sub(r"[#;<>&\"`{}\[\]\\%]", lambda found: f"#{ord(found[0])};", plain)
