"""Recorded sessions: all that the driver and an adapter said to each other, in a file.

A session is held against the reference without the implementation: each question is put to the reference
again, and its step is compared with the recorded answer. So a change of the reference shows at once where it
departs from what the implementation did.

The file is gzip with a JSON object a line, UTF-8: ``format`` and ``version``, then the greeting and its
answer, then for each sequence a line ``{"sequence": NAME}`` and its questions (docs/drive.md), each followed
by its answer; and last ``{"end": N}``, where N is the number of sequences.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kraftcheck.evidence.adapters import wire
from kraftcheck.evidence.adapters.answers import AdapterError, Answer, read_answer
from kraftcheck.evidence.adapters.asked import STALE, Question
from kraftcheck.evidence.adapters.draws import Draw
from kraftcheck.evidence.adapters.report import Report
from kraftcheck.evidence.adapters.session import Channel, Correlations, Driven, Session
from kraftcheck.evidence.adapters.silent_leader import SilentLeader
from kraftcheck.evidence.adapters.stimuli import Crash, DriveSequence, Start
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Event, ResponseReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome, start
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import write_atomically
from kraftcheck.support.gzip_lines import gzip_lines

FORMAT, VERSION = "kraftcheck-drive-session", 2

_WHAT = "a recorded session of kraftcheck drive"


# Recording.


class Recorder:
    """Passes lines to an adapter and, if it ``keeps`` them, keeps them with the answers.

    sequence: the name of the sequence under way; ``None``: what is said is not recorded.
    """

    def __init__(self, channel: Channel, *, keeps: bool = True) -> None:
        self._channel = channel
        self._keeps = keeps
        self._lines = [json.dumps({"format": FORMAT, "version": VERSION})]
        self._named: str | None = ""
        self.sequence: str | None = ""

    def exchange(self, line: str) -> str:
        """The answer of the adapter. Raises AdapterError."""
        answer = self._channel.exchange(line)
        if self._keeps and self.sequence is not None:
            if self.sequence != self._named:
                self._lines.append(json.dumps({"sequence": self.sequence}))
            self._lines += [line, answer.strip()]
        self._named = self.sequence
        return answer

    def write(self, path: Path) -> None:
        """Write the session. Raises InputError where that is not possible."""
        end = json.dumps({"end": sum(line.startswith('{"sequence"') for line in self._lines)})
        text = "".join(f"{line}\n" for line in (*self._lines, end))
        write_atomically(path, gzip.compress(text.encode(), mtime=0))


# Reading.


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question as it was asked, and the line that answered it."""

    asked: Fields
    answered: str

    @property
    def number(self) -> int:
        """The number under which it was asked."""
        return self.asked.number("id")


@dataclass(slots=True)
class RecordedSequence:
    """What was said along one sequence."""

    name: str
    exchanges: list[Exchange] = field(default_factory=list)


def read(path: Path) -> Iterator[RecordedSequence]:
    """The sequences of a recorded session; the first is the greeting, without a name. Raises InputError."""
    lines = gzip_lines(path, _WHAT)
    _require_format(path, next(lines, None))
    sequence, count, end = RecordedSequence(""), 0, None
    for text, where in lines:
        if end is not None:
            raise InputError(f"{where}: is after the end of the session; record it again.")
        asked = Fields.of(codec.parse(text, where), where)
        if "sequence" in asked:
            yield sequence
            sequence, count = RecordedSequence(asked.text("sequence")), count + 1
            continue
        if "end" in asked:
            end = asked.number("end")
            continue
        answered = next(lines, None)
        if answered is None:
            raise InputError(f"{where}: the question has no answer, so the file is cut off; record it again.")
        sequence.exchanges.append(Exchange(asked, answered[0]))
    if end != count:
        whole = "has no end" if end is None else f"has {count} sequences of {end}"
        raise InputError(f"{path}: {whole}, so the file is cut off; record it again.")
    yield sequence


def _require_format(path: Path, first: tuple[str, str] | None) -> None:
    if first is None:
        raise InputError(f"{path}: is empty; give {_WHAT}.")
    try:
        header = Fields.of(codec.parse(*first), first[1])
    except InputError:
        header = Fields({}, first[1])
    if header.values.get("format") != FORMAT:
        raise InputError(f"{path}: is not {_WHAT}; give a file that 'kraftcheck drive --record' has written.")
    if header.number("version") != VERSION:
        raise InputError(f"{path}: only version {VERSION} of recorded sessions can be read; record it again.")


# Holding it against the reference.


class _Greeting:
    """Stands for the adapter in the handshake."""

    def __init__(self, greeting: RecordedSequence, path: Path) -> None:
        if len(greeting.exchanges) != 1:
            raise InputError(f"{path}: does not begin with the handshake; record the session again.")
        self._answer = greeting.exchanges[0].answered

    def exchange(self, line: str) -> str:
        return self._answer


class _Replayed:
    """The reference along the questions of one recorded sequence."""

    def __init__(self) -> None:
        self.protocol = KAFKA
        self.replica: Replica | None = None
        self._identity: Replica | None = None
        self.correlations: Correlations = {}
        self._silent = SilentLeader()
        self._draw: Draw | None = None

    def question(self, asked: Fields, position: int) -> Question:
        """The step of the reference. Raises InputError."""
        now, before = asked.number("now"), self.replica
        event: Event | Start | Crash = Crash()
        outcome: Outcome | None = None
        disk = Disk()
        kind = asked.text("type")
        if kind == "start":
            self._identity, disk, self.protocol, _ = wire.decode_start(asked)
            event, before, outcome = Start(), None, start(self.protocol, self._identity, disk)
            self.correlations, self._silent, self._draw = {}, SilentLeader(), wire.decode_draw(asked)
        elif before is None:
            raise InputError(f"{asked.where}: no process runs; the sequence must begin with 'start'.")
        elif kind != "crash":
            event = self._event(asked, before)
            outcome = self._silent.step(self.protocol, before, event)
        assert self._identity is not None
        question = Question(position, now, event, self._identity, before, outcome, disk, self._draw)
        self.replica = None if outcome is None or question.ended else outcome.replica
        return question

    def _event(self, asked: Fields, before: Replica) -> Event:
        """The event, an answer with the reference's own correlation id for the recorded one: requests that
        leave together may be numbered in any order.
        """
        if asked.text("type") != "response":
            return wire.decode_event(asked)
        source, given = asked.number("from"), asked.value("correlationId")
        own = [mine for mine, theirs in self.correlations.items() if theirs == given and given is not None]
        if given is None:
            own = [each.correlation for each in before.connections if each.node == source and each.awaiting]
        event = wire.decode_event(Fields({**asked.values, "correlationId": STALE}, asked.where))
        assert isinstance(event, ResponseReceived)
        return replace(event, correlation=own[-1]) if own else event


class RecordedSession:
    """A recorded session that is compared with the reference. Raises InputError, as its method does."""

    def __init__(self, path: Path) -> None:
        self._path, self._sequences = path, read(path)
        greeting = next(self._sequences)
        try:
            self._session = Session(_Greeting(greeting, path))
        except AdapterError as error:
            raise InputError(f"{path}: {error}") from None
        self.capabilities = self._session.capabilities

    def compared(self, wanted: Callable[[str], bool] = lambda name: True) -> Iterator[Driven]:
        """The comparison of each sequence, once, whose name is ``wanted`` when its turn comes."""
        for sequence in self._sequences:
            if wanted(sequence.name):
                yield _hold(self._session, sequence, self._path)


def hold(path: Path, tell: Callable[[str], None]) -> Report:
    """The recorded answers in the file ``path`` compared with the steps of the reference; ``tell`` receives
    words about the progress. Raises InputError.
    """
    session = RecordedSession(path)
    report = Report(capabilities=session.capabilities, protocol=KAFKA)
    for number, driven in enumerate(session.compared(), 1):
        tell(f"comparing: sequence {number}")
        report.protocol = driven.sequence.protocol
        report.add(driven)
        if driven.failed is not None:
            report.shortened.append(driven)
    return report


def _hold(session: Session, sequence: RecordedSequence, path: Path) -> Driven:
    """The comparison of one sequence, up to the first step that differs."""
    replayed = _Replayed()
    driven: Driven | None = None
    refused: str | None = None
    for position, exchange in enumerate(sequence.exchanges):
        if exchange.asked.text("type") == "start":
            refused = None
        elif refused is not None:
            assert driven is not None
            driven.skipped[refused] += 1
            continue
        question = replayed.question(exchange.asked, position)
        driven = driven or _driven(sequence.name, exchange.asked, replayed.protocol)
        driven.questions.append(question)
        answer = _answer(exchange, path)
        if answer.unsupported is not None:
            refused = f"after a step that the adapter refuses: {answer.unsupported[:100]}"
            driven.skipped[refused] += 1
            continue
        driven.steps += 1
        if question.outcome is not None:
            session.judge(driven, question, answer, replayed.correlations)
        if driven.failed is not None:
            break
    if driven is None:
        raise InputError(f"{path}: sequence '{sequence.name}' has no step; record the session again.")
    return driven


def _driven(name: str, first: Fields, protocol: Protocol) -> Driven:
    identity, disk, _, _ = wire.decode_start(first)
    return Driven(sequence=DriveSequence(name, protocol, identity, disk, ()))


def _answer(exchange: Exchange, path: Path) -> Answer:
    try:
        return read_answer(exchange.answered, exchange.number)
    except AdapterError as error:
        raise InputError(f"{path}: {error.placed(f'in answer {exchange.number}')}") from None
