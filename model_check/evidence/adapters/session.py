"""An adapter: its process; driving it along sequences, every step compared with the reference; and the
shortest sequence that shows a difference.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from typing import Protocol as Interface

from kraftcheck.evidence.adapters import wire
from kraftcheck.evidence.adapters.addressed import address_of
from kraftcheck.evidence.adapters.answers import AdapterError, Answer, Capabilities, read_answer, read_hello
from kraftcheck.evidence.adapters.asked import STALE, Asking, Question, times_of
from kraftcheck.evidence.adapters.comparable import comparable
from kraftcheck.evidence.adapters.compare import Difference, compare
from kraftcheck.evidence.adapters.deployed import deployed
from kraftcheck.evidence.adapters.draws import draw_of
from kraftcheck.evidence.adapters.election_timer import ElectionTimer
from kraftcheck.evidence.adapters.state_machine import StateMachine
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start
from kraftcheck.evidence.adapters.waits import Waits
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.evidence.recordings.state import encode_state
from kraftcheck.reference.effects import ArmTimer, Duration
from kraftcheck.reference.events import ResponseReceived, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import Protocol
from kraftcheck.support.errors import InputError
from kraftcheck.support.line_process import LineProcess, NoAnswerError

#: The reason to skip a step: the adapter could not distinguish the answer from one that is awaited.
NOT_PAIRED = "with a response that no request awaits, before the adapter showed a correlation id"


def words_of(command: str) -> list[str]:
    """A command split as a shell would, but not run by one. Raises InputError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"--adapter: the command cannot be split into words ({error}).") from None
    if not words:
        raise InputError("--adapter: the command is empty; give the program that answers.")
    return words


class AdapterProcess(LineProcess):
    """A running adapter. Raises InputError if the command of ``words`` cannot be started."""

    def __init__(self, words: Sequence[str], timeout: float) -> None:
        try:
            super().__init__(words, timeout, farewell='{"type": "exit"}')
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(
                f"--adapter: {words[0]!r} cannot be run ({reason}); check the command."
            ) from None

    def exchange(self, line: str) -> str:
        """Send a line and wait for the line that answers it. Raises AdapterError."""
        try:
            return super().exchange(line)
        except NoAnswerError as error:
            last = " / ".join(each.strip()[:200] for each in error.errors if each.strip())
            end = f"; the end of its standard error: {last}" if last else ""
            raise AdapterError(error.what, end) from None


class Channel(Interface):
    """Something that answers line by line: the process of an adapter, or one that stands for it."""

    def exchange(self, line: str) -> str:
        """The line that answers ``line``. Raises AdapterError."""


class Failed(NamedTuple):
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
    """The outcome of one sequence. questions: its steps up to the last, also those that were skipped; failed:
    the differing step, which ends the sequence. timer, machine, waits: the election timer, the state machine
    and the sleep of the process.
    """

    sequence: DriveSequence
    timer: ElectionTimer = field(default_factory=ElectionTimer)
    machine: StateMachine = field(default_factory=StateMachine)
    waits: Waits = field(default_factory=Waits)
    questions: list[Question] = field(default_factory=list)
    failed: Failed | None = None


def kind_of(failed: Failed) -> tuple[str, str]:
    """The kind of a difference: what happened, and the field; without the ids of nodes and requests."""
    field = re.sub(r"[0-9]+", "N", failed.differences[0].field)
    return wire.kind_of(failed.question.event), field


#: The correlation id that the adapter gave to each request of a process, by the reference's own.
Correlations = dict[int | None, Json]


class Session:
    """An adapter that has been greeted. ``steps`` counts the steps taken, at most ``limit`` of them.

    Raises AdapterError if the adapter does not answer the greeting by the protocol.
    """

    def __init__(self, process: Channel, limit: int | None = None) -> None:
        self._process = process
        self._limit = limit
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
        sequence = deployed(sequence)
        driven = Driven(sequence=sequence)
        detached: str | None = None
        correlations: Correlations = {}
        draw = draw_of(sequence.name) if self.capabilities.draws else None
        for question in Asking(sequence, draw=draw).questions():
            driven.questions.append(question)
            if isinstance(question.event, Start):
                detached, correlations = None, {}
            detached = detached or self._refusal(question)
            if detached is not None or _is_lost(question, correlations):
                driven.skipped[detached or NOT_PAIRED] += 1
                continue
            if isinstance(question.event, Crash) and "crash" not in self.capabilities.events:
                continue
            if self._limit is not None and self.steps >= self._limit:
                driven.limited = True
                break
            answer = self.ask(question, sequence.name, sequence.protocol, correlations)
            if answer.unsupported is not None:
                detached = f"after a step that the adapter refuses: {answer.unsupported[:100]}"
                driven.skipped[detached] += 1
                continue
            driven.steps += 1
            if question.outcome is not None:
                self.judge(driven, question, answer, correlations)
            if driven.failed is not None:
                break
        return driven

    def _refusal(self, question: Question) -> str | None:
        kind = wire.kind_of(question.event)
        if kind in self.capabilities.events or kind == "crash":
            return None
        return f"from a step of the kind '{kind}' to the next start"

    def exchange(self, asked: Json, place: str) -> Answer:
        """The answer to the message ``asked``, which gets the next id. Raises AdapterError, which names
        ``place``.
        """
        self.steps += 1
        try:
            return read_answer(self._process.exchange(json.dumps({"id": self.steps, **asked})), self.steps)
        except AdapterError as error:
            raise error.placed(place) from None

    def ask(
        self, question: Question, name: str, protocol: Protocol, correlations: Correlations, data: Json = None
    ) -> Answer:
        """The answer of the adapter to ``question``, a step of the sequence ``name``. ``correlations`` has
        the ids of the adapter's requests; ``data``: the message that arrives, where another adapter has sent
        it. Raises AdapterError, which names the step.
        """
        asked = wire.encode_question(question, protocol)
        if data is not None:
            asked["data"] = data
        if isinstance(question.event, ResponseReceived):
            own = question.event.correlation
            asked["correlationId"] = STALE if own in (None, STALE) else correlations.get(own)
        return self.exchange(asked, f"in step {question.position + 1} of {name} ({asked['type']})")

    def judge(self, driven: Driven, question: Question, answer: Answer, correlations: Correlations) -> None:
        """Compare the answer with the outcome of the reference, and count the rules that it shows."""
        outcome = question.outcome
        assert outcome is not None
        expected = expectation(question, driven.sequence.protocol)
        unknown: set[str] = set()
        if isinstance(question.event, Start):
            driven.timer, driven.machine = ElectionTimer(), StateMachine()
            driven.waits = Waits.of(question, driven.sequence.protocol)
        expected = expected._replace(effects=driven.timer.expected(expected.effects, question.now))
        backs_off = ArmTimer(Timer.ELECTION, Duration.SEPARATE_BACKOFF) in outcome.effects
        driven.timer.note(answer.effects, question.now, backs_off=backs_off)
        found = (
            *expected.differences(self.capabilities, answer, unknown),
            *driven.machine.differences(self.capabilities, question, answer.effects),
            *driven.waits.differences(self.capabilities, question, answer.effects),
        )
        if found:
            driven.compared += 1
            driven.failed = Failed(question, found)
            return
        shown, effects = expected.shown_by(self.capabilities), expected.effects
        driven.decided.update(outcome.rules)
        driven.not_known |= unknown
        kinds = {effect["effect"] for effect in effects}
        # That there is no effect shows, too.
        visible = bool(kinds & shown.effects) or bool(shown.effects and not effects)
        driven.compared += visible or bool(shown.state)
        if visible or (shown.state and not effects) or self._state_shows(question, expected.state):
            driven.rules.update(outcome.rules)
        note_correlations(correlations, expected, answer)

    def _state_shows(self, question: Question, state: dict[str, Json]) -> bool:
        before = {} if question.before is None else encode_state(question.before, stopped=False)
        return any(state.get(name) != before.get(name) for name in self.capabilities.state)


class Expectation(NamedTuple):
    """What the reference does in a step: its effects as lines of an adapter show them, and the state
    afterwards, which is empty where the process has ended.
    """

    question: Question
    effects: list[dict[str, Json]]
    state: dict[str, Json]

    def shown_by(self, capabilities: Capabilities) -> Capabilities:
        """The part of ``capabilities`` that is compared."""
        return capabilities if self.state else capabilities._replace(state=frozenset())

    def differences(
        self, capabilities: Capabilities, answer: Answer, unknown: set[str] | None = None
    ) -> tuple[Difference, ...]:
        """See :func:`kraftcheck.evidence.adapters.compare.compare`. Raises AdapterError."""
        shown = self.shown_by(capabilities)
        try:
            wanted, got = comparable(self.question, self.effects, answer.effects)
            return tuple(compare(shown, wanted, self.state, got, answer.state, unknown))
        except RecursionError:
            raise AdapterError("the adapter gave a wrong answer: it is nested too deeply.") from None


def expectation(question: Question, protocol: Protocol) -> Expectation:
    """What the reference does in a step that is not a crash."""
    outcome, times = question.outcome, times_of(protocol)
    assert outcome is not None
    before = question.before or outcome.replica
    effects = [
        {**wire.encode_effect(effect, before, times, question.draw), **address_of(effect, outcome.replica)}
        for effect in outcome.effects
    ]
    return Expectation(
        question, effects, {} if question.ended else encode_state(outcome.replica, stopped=False)
    )


def note_correlations(correlations: Correlations, expected: Expectation, answer: Answer) -> None:
    """Add the ids that the adapter gave to the requests of an answer without differences."""
    for mine in expected.effects:
        for theirs in answer.effects:
            if mine["effect"] == theirs["effect"] == "request" and theirs.get("to") == mine["to"]:
                correlations[mine["correlationId"]] = theirs.get("correlationId")


def _is_lost(question: Question, correlations: Correlations) -> bool:
    """Whether an adapter could not distinguish this answer from one that is awaited."""
    event = question.event
    if not isinstance(event, ResponseReceived):
        return False
    if event.correlation == STALE:
        return not any(isinstance(given, int) for given in correlations.values())
    known = () if question.before is None else question.before.connections
    awaited = any(each.awaiting and each.correlation == event.correlation for each in known)
    return not awaited and not isinstance(correlations.get(event.correlation), int)


#: The largest number of times that the adapter is driven again.
MAX_RUNS = 80


def shrink(session: Session, driven: Driven, max_runs: int = MAX_RUNS) -> Driven:
    """``driven``, or a shorter sequence whose last step differs in the same field.

    Stimuli are left out greedily, large parts first. An adapter that fails meanwhile ends the search.
    """
    assert driven.failed is not None
    field = driven.failed.differences[0].field
    best = cut(driven)
    size = _length(best) // 2
    runs = 0
    while size >= 1:
        begin = 1
        while begin + size <= _length(best) - 1 and runs < max_runs:
            runs += 1
            shorter = _try(session, _without(best, begin, size), field)
            if shorter is None:
                begin += size
            else:
                best = shorter
        size = size // 2
    return best


def cut(driven: Driven) -> Driven:
    """``driven`` without the steps after the difference."""
    return replace(driven, sequence=_without(driven, 1, 0))


def _length(driven: Driven) -> int:
    assert driven.failed is not None
    return driven.failed.question.position + 1


def _without(driven: Driven, begin: int, size: int) -> DriveSequence:
    stimuli = driven.sequence.stimuli[: _length(driven)]
    return replace(driven.sequence, stimuli=stimuli[:begin] + stimuli[begin + size :], origin=None)


def _try(session: Session, sequence: DriveSequence, field: str) -> Driven | None:
    try:
        found = session.drive(sequence)
    except AdapterError:
        return None
    same = found.failed is not None and found.failed.differences[0].field == field
    return found if same else None
