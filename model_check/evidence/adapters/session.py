"""Driving an adapter along sequences of stimuli, and comparing every step with the reference."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from kraftcheck.evidence.adapters import wire
from kraftcheck.evidence.adapters.answers import Answer, Capabilities, read_answer, read_hello
from kraftcheck.evidence.adapters.asked import STALE, Asking, Question, times_of
from kraftcheck.evidence.adapters.compare import Difference, compare, unknown_fields
from kraftcheck.evidence.adapters.process import AdapterError, AdapterProcess
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.state import encode_state
from kraftcheck.reference.events import ResponseReceived
from kraftcheck.reference.frozen import replace

#: The reason to skip a step: the adapter could not distinguish the answer from one that is awaited.
NOT_PAIRED = "with a response that no request awaits, before the adapter showed a correlation id"


class _LimitError(Exception):
    """The number of steps that may be driven is used up."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A step in which the adapter differs: the question, and the differing places of the answer."""

    question: Question
    differences: tuple[Difference, ...]


@dataclass(slots=True, kw_only=True)
class Counts:
    """steps: the number of steps taken, crashes included; compared: the number of them that could have
    differed. decided: the rules that decided a step; rules: for each, the number of steps that the adapter
    shows at least in part. skipped: steps that were not taken, by reason; not_known: fields of messages that
    were skipped. limited: the limit was reached before the end.
    """

    steps: int = 0
    compared: int = 0
    decided: set[str] = field(default_factory=set)
    rules: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    not_known: set[str] = field(default_factory=set)
    limited: bool = False

    def count(self, other: Counts) -> None:
        """Add another outcome to this one."""
        self.steps += other.steps
        self.compared += other.compared
        self.decided |= other.decided
        self.rules.update(other.rules)
        self.skipped.update(other.skipped)
        self.not_known |= other.not_known
        self.limited |= other.limited


@dataclass(slots=True, kw_only=True)
class Driven(Counts):
    """The outcome of one sequence. failed: the differing step, which ends the sequence."""

    sequence: DriveSequence
    failed: Failed | None = None


class Session:
    """An adapter that has been greeted. ``steps`` counts the steps taken, at most ``limit`` of them.

    Raises AdapterError if the adapter does not answer the greeting by the protocol.
    """

    def __init__(self, process: AdapterProcess, limit: int | None = None) -> None:
        self._process = process
        self._limit = limit
        self._asked = 0
        self.steps = 0
        greeting = {"id": 0, "type": "hello", "protocol": wire.PROTOCOL, "name": "kraftcheck"}
        try:
            self.capabilities: Capabilities = read_hello(process.exchange(json.dumps(greeting)))
        except AdapterError as error:
            raise error.placed("in the handshake") from None

    def drive(self, sequence: DriveSequence) -> Driven:
        """Drive the adapter along ``sequence`` up to the first step that differs, or to the limit.

        Raises AdapterError, which names the step.
        """
        driven = Driven(sequence=sequence)
        try:
            self._drive(driven)
        except _LimitError:
            driven.limited = True
        return driven

    def _drive(self, driven: Driven) -> None:
        sequence = driven.sequence
        detached: str | None = None
        correlations: dict[int | None, Json] = {}
        for question in Asking(sequence).questions():
            if isinstance(question.event, Start):
                detached, correlations = None, {}
            detached = detached or self._refusal(question)
            if detached is not None or self._is_lost(question, correlations):
                driven.skipped[detached or NOT_PAIRED] += 1
                continue
            answer = self._ask(sequence, question, correlations)
            if answer is None:
                continue
            if answer.unsupported is not None:
                detached = f"after a step that the adapter refuses: {answer.unsupported[:100]}"
                driven.skipped[detached] += 1
                continue
            if self._judge(driven, question, answer, correlations):
                return

    def _refusal(self, question: Question) -> str | None:
        kind = wire.kind_of(question.event)
        if kind in self.capabilities.events or kind == "crash":
            return None
        return f"from a step of the kind '{kind}' to the next start"

    def _is_lost(self, question: Question, correlations: dict[int | None, Json]) -> bool:
        """Whether an adapter could not distinguish this answer from one that is awaited."""
        event = question.event
        if not isinstance(event, ResponseReceived):
            return False
        if event.correlation == STALE:
            return not any(isinstance(given, int) for given in correlations.values())
        return not _is_awaited(question, event) and not isinstance(correlations.get(event.correlation), int)

    def _ask(
        self, sequence: DriveSequence, question: Question, correlations: dict[int | None, Json]
    ) -> Answer | None:
        """Put the question. ``None`` where there is no question."""
        if isinstance(question.event, Crash) and "crash" not in self.capabilities.events:
            return None
        if self._limit is not None and self.steps >= self._limit:
            raise _LimitError
        self.steps += 1
        self._asked += 1
        asked = wire.encode_question(question, sequence.identity, sequence.protocol)
        if isinstance(question.event, ResponseReceived):
            own = question.event.correlation
            asked["correlationId"] = STALE if own in (None, STALE) else correlations.get(own)
        try:
            line = self._process.exchange(json.dumps({"id": self._asked, **asked}))
            return read_answer(line, self._asked)
        except AdapterError as error:
            step = f"step {question.position + 1} of {sequence.name} ({asked['type']})"
            raise error.placed(f"in {step}") from None

    def _judge(
        self, driven: Driven, question: Question, answer: Answer, correlations: dict[int | None, Json]
    ) -> bool:
        """Compare and count; whether there is a difference."""
        sequence, outcome = driven.sequence, question.outcome
        driven.steps += 1
        if outcome is None:
            return False
        before = question.before or outcome.replica
        effects = [wire.encode_effect(e, before, times_of(sequence.protocol)) for e in outcome.effects]
        state = {} if question.ended else encode_state(outcome.replica, stopped=False)
        shown = self.capabilities
        if question.ended:
            shown = replace(shown, state=frozenset())
        try:
            found = tuple(compare(shown, effects, state, answer.effects, answer.state))
        except RecursionError:
            raise AdapterError("the adapter gave a wrong answer: it is nested too deeply.") from None
        if found:
            driven.compared += 1
            driven.failed = Failed(question, found)
            return True
        driven.decided.update(outcome.rules)
        visible = _is_visible(shown, effects)
        if visible or shown.state:
            driven.compared += 1
        if visible or (shown.state and not effects) or self._state_shows(question, state):
            driven.rules.update(outcome.rules)
        for mine, theirs in _requests(effects, answer.effects):
            correlations[mine["correlationId"]] = theirs.get("correlationId")
        for mine, theirs in zip(effects, answer.effects, strict=False):
            for part in ("data", "quorumState"):
                driven.not_known |= unknown_fields(mine.get(part), theirs.get(part))
        return False

    def _state_shows(self, question: Question, state: dict[str, Json]) -> bool:
        before = {} if question.before is None else encode_state(question.before, stopped=False)
        return any(state.get(name) != before.get(name) for name in self.capabilities.state)


def _is_awaited(question: Question, event: ResponseReceived) -> bool:
    known = () if question.before is None else question.before.connections
    return any(each.awaiting and each.correlation == event.correlation for each in known)


def _is_visible(shown: Capabilities, effects: list[dict[str, Json]]) -> bool:
    """Whether an adapter shows any of these effects, or, where there are none, that there are none."""
    return any(effect["effect"] in shown.effects for effect in effects) or bool(shown.effects and not effects)


def _requests(
    effects: list[dict[str, Json]], found: tuple[dict[str, Json], ...]
) -> Iterator[tuple[dict[str, Json], dict[str, Json]]]:
    """The requests of a step, each with the one in the adapter's report."""
    for mine in effects:
        if mine["effect"] == "request":
            for theirs in found:
                if theirs.get("effect") == "request" and theirs.get("to") == mine["to"]:
                    yield mine, theirs
