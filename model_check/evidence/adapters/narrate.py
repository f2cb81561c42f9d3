"""The steps of one replica in words, as ``kraftcheck trace show`` prints them."""

from __future__ import annotations

from collections.abc import Iterator

from kraftcheck.evidence.adapters.asked import Asking, Question
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start
from kraftcheck.reference.effects import Effect, Reply, Send
from kraftcheck.reference.events import Poll, RequestReceived, ResponseReceived
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.text import describe_effect, describe_event
from kraftcheck.systems.kraft.words import FOLLOWING
from kraftcheck.traces.view import describe
from kraftcheck.traces.words import compare_nodes, label

#: Fields that follow from other shown fields, or are known to the driver only.
_LEFT_OUT = FOLLOWING | {"voters", "process", "next correlation"}


def questions_until(sequence: DriveSequence, position: int) -> list[Question]:
    """The steps of ``sequence`` up to and including the one of stimulus ``position``."""
    return [each for each in Asking(sequence).questions() if each.position <= position]


def head(question: Question, replica: int) -> str:
    """The event, in a few words."""
    event = question.event
    if isinstance(event, Start):
        return "the process starts"
    if isinstance(event, Crash):
        return "the process is killed" + (" and power is lost" if event.loses_power else "")
    if isinstance(event, RequestReceived):
        return f"←{event.source} {label(InFlight(event.source, replica, event.request))}"
    if isinstance(event, ResponseReceived):
        return f"←{event.source} {label(InFlight(event.source, replica, event.response))}"
    if isinstance(event, Poll):
        found = f"poll, looks for the leader at {event.discovery}" if event.discovery is not None else "poll"
        timers = ", ".join(timer.value for timer in event.expired)
        return f"{found}; expired: {timers}" if timers else found
    assert question.before is not None
    return describe_event(event, question.before)


def lines(question: Question, replica: int, *, verbose: bool = False) -> Iterator[str]:
    """The result of the reference in a step: changed fields, messages, the rules that decide."""
    outcome = question.outcome
    if outcome is None:
        return
    if verbose:
        for number, effect in enumerate(outcome.effects, 1):
            yield f"{number}. {' '.join(describe_effect(effect))}"
    before, after = Node(question.before, question.disk), Node(outcome.replica, question.disk)
    for change in compare_nodes(replica, before, after):
        if verbose or change.field not in _LEFT_OUT:
            yield describe(change)
    yield from _messages(outcome.effects, replica)
    if outcome.fatal is not None:
        yield f"exits: {outcome.fatal.sentence}"
    if outcome.rules:
        yield f"by {', '.join(outcome.rules)}"


def _messages(effects: tuple[Effect, ...], replica: int) -> Iterator[str]:
    texts: dict[str, list[int]] = {}
    for effect in effects:
        if isinstance(effect, Send | Reply):
            content = effect.request if isinstance(effect, Send) else effect.response
            texts.setdefault(label(InFlight(replica, effect.to, content)), []).append(effect.to)
    for text, destinations in texts.items():
        yield f"→{','.join(map(str, destinations))} {text}"
