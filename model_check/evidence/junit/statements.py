"""The events at the replicas as statements of a test, in Java."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from kraftcheck.evidence.adapters.asked import STALE, Question
from kraftcheck.evidence.adapters.stimuli import Crash, Start
from kraftcheck.evidence.adapters.wire import encode_question, kind_of
from kraftcheck.evidence.junit import disks
from kraftcheck.evidence.junit.happenings import Happening
from kraftcheck.evidence.junit.messages import NotWritable, composed, constant, literal
from kraftcheck.evidence.recordings.wire_codec import uuid
from kraftcheck.reference import disk as reference_disks
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Fatal
from kraftcheck.reference.events import (
    Append,
    BackoffExpired,
    CreateSnapshot,
    FetchWaitExpired,
    Poll,
    RequestReceived,
    RequestTimedOut,
    Resign,
    ResponseReceived,
    Shutdown,
    Timer,
    UpgradeKRaftVersion,
)
from kraftcheck.reference.messages import ApiVersionsRequest, ApiVersionsResponse
from kraftcheck.reference.voters import Endpoint, VoterSet
from kraftcheck.systems.kraft.text.style import usual_endpoints

#: A jump of the clock that a test shows; shorter times pass with the events.
_SHOWN_MS = 100

#: Of a request the replica that sends it, the number of its process, and the correlation id.
_Sent = tuple[int, int, object]


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of the step of this number (0: before the first one), in lines. ``fatal``: the process of
    the replica ends in it, by an error. ``event``: whether something happens at a replica in it.
    """

    step: int
    lines: tuple[str, ...]
    replica: int = 0
    fatal: bool = False
    event: bool = True


@dataclass(slots=True)
class _Process:
    """What is known of a replica so far: its disk with all that it wrote, the number of its process and the
    time.
    """

    disk: Disk
    directory: str | None
    number: int = 0
    now: int | None = None
    down: bool = True
    endpoints: tuple[Endpoint, ...] = ()


@dataclass(slots=True)
class _Exchanges:
    """The requests that the test looks up, by sender and by the messages themselves."""

    wanted: set[_Sent] = field(default_factory=set)
    names: dict[_Sent, str] = field(default_factory=dict)
    of_request: dict[int, _Sent] = field(default_factory=dict)
    of_response: dict[int, _Sent] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)

    def name(self, sent: _Sent, api: str) -> str:
        """A new name for a request."""
        word = api[0].lower() + api[1:]
        self.counts[word] = self.counts.get(word, 0) + 1
        return self.names.setdefault(sent, f"{word}{self.counts[word]}")


def statements(noted: Sequence[Happening]) -> Iterator[Statement]:
    """The statements of the events ``noted``. Raises NotWritable."""
    writer = _Writer(noted)
    for position, each in enumerate(noted):
        yield from writer.written(position, each)


def name_of(replica: int) -> str:
    """The variable of a replica."""
    return f"replica{replica}"


class _Writer:
    def __init__(self, noted: Sequence[Happening]) -> None:
        self._noted = noted
        self._processes: dict[int, _Process] = {}
        self._exchanges = _exchanges_of(noted)
        self._voters: dict[VoterSet, str] = {}

    def written(self, position: int, each: Happening) -> Iterator[Statement]:
        """The statements of one event."""
        question, step = each.question, each.step
        known = self._processes.get(each.replica)
        if known is not None and known.now is not None and question.now - known.now > _SHOWN_MS:
            yield self._line(each, f"time.sleep({question.now - known.now});", event=False)
        if isinstance(question.event, Start):
            yield from self._start(each)
        elif isinstance(question.event, Crash):
            yield from self._crash(position, each)
        else:
            yield from self._event(position, each)
        process = self._processes[each.replica]
        process.now = question.now
        if question.outcome is not None:
            for effect in question.outcome.effects:
                process.disk = reference_disks.apply(process.disk, effect)
        yield from self._looked_up(each, step)

    def _line(self, each: Happening, text: str, *, event: bool = True) -> Statement:
        return Statement(each.step, (f"{name_of(each.replica)}.{text}",), each.replica, _dies(each), event)

    # Processes and their disks.

    def _start(self, each: Happening) -> Iterator[Statement]:
        question, name = each.question, name_of(each.replica)
        known, directory = self._processes.get(each.replica), question.identity.key.directory
        if known is None or known.directory != directory:
            if known is not None:
                yield self._line(each, f"replaceDisk({literal(uuid(directory))});", event=False)
            setup = [*self._configured(each), *self._moved(each, known)]
            setup += disks.formatted(name, question.identity, self._voters)
            setup += disks.contents(name, Disk(), question.disk)
            for text in setup:
                yield Statement(each.step, (text,), each.replica, event=False)
            yield self._line(each, "start();")
        else:
            yield from self._again(each, known)
        number = 0 if known is None else known.number + 1
        endpoints = question.identity.endpoints
        self._processes[each.replica] = _Process(
            question.disk, directory, number, down=False, endpoints=endpoints
        )

    def _configured(self, each: Happening) -> Iterator[str]:
        identity, name = each.question.identity, name_of(each.replica)
        if not identity.can_become_voter:
            yield f"{name}.canBecomeVoter = false;"
        if identity.auto_join:
            yield f"{name}.autoJoin = true;"
        if identity.max_kraft_version != 1:
            yield f"{name}.maxKRaftVersion = {identity.max_kraft_version};"

    def _moved(self, each: Happening, known: _Process | None) -> Iterator[str]:
        """Where the process listens, if not where the one before it did, or as every replica does."""
        identity = each.question.identity
        before = usual_endpoints(identity.id) if known is None else known.endpoints
        if identity.endpoints and identity.endpoints != before:
            yield disks.listener(name_of(each.replica), identity)

    def _again(self, each: Happening, known: _Process) -> Iterator[Statement]:
        """The same disk, or what a crash leaves of it."""
        found = each.question.disk
        if not known.down:
            yield from self._killed(each, known, found)
        changed = list(disks.quorum_state(name_of(each.replica), known.disk, found))
        changed += self._moved(each, known)
        yield from (Statement(each.step, (text,), each.replica, event=False) for text in changed)
        yield self._line(each, "start();")

    def _killed(self, each: Happening, known: _Process, left: Disk) -> Iterator[Statement]:
        before, end = known.disk.log, left.log.end_offset
        if left.log.batches != before.batches[: len(left.log.batches)]:
            raise NotWritable("a replica finds records again that it had truncated")
        if (left.log.start_offset, left.log.snapshots) != (before.start_offset, before.snapshots):
            raise NotWritable("a crash undoes a change of a snapshot")
        yield self._line(each, f"kill({end}, {min(left.flushed, end)});", event=False)
        known.down = True

    def _crash(self, position: int, each: Happening) -> Iterator[Statement]:
        """The process ends; its disk is as the next process finds it."""
        known = self._processes[each.replica]
        later = (
            other.question
            for other in self._noted[position + 1 :]
            if other.replica == each.replica and isinstance(other.question.event, Start)
        )
        found = next(later, each.question)
        if found.identity.key.directory == known.directory:
            yield from self._killed(each, known, found.disk)

    # Events.

    def _event(self, position: int, each: Happening) -> Iterator[Statement]:
        event = each.question.event
        if isinstance(event, RequestReceived):
            yield from self._request(each, event)
        elif isinstance(event, ResponseReceived):
            yield from self._response(position, each, event)
        else:
            text = _call(each.question)
            if text is not None:
                yield self._line(each, text)
            if isinstance(event, CreateSnapshot) and event.delete_prefix:
                deletes = f"deleteBeforeSnapshot({event.id.end_offset}, {event.id.epoch});"
                yield self._line(each, deletes, event=False)

    def _request(self, each: Happening, event: RequestReceived) -> Iterator[Statement]:
        if isinstance(event.request, ApiVersionsRequest):
            return  # The server around the raft module answers it.
        sent = self._exchanges.of_request.get(id(each.data))
        if sent is not None:
            yield self._line(each, f"receive({self._exchanges.names[sent]});")
            return
        shown = encode_question(each.question, each.protocol)
        name = self._exchanges.name((each.replica, -1, event.correlation), shown["api"])
        lines = composed(shown["api"], shown["data"] if each.data is None else each.data, is_request=True)
        lines = [f"Exchange {name} = new Exchange({lines[0]}", *lines[1:-1], f"{lines[-1]});"]
        yield Statement(each.step, tuple(lines), each.replica, event=False)
        yield self._line(each, f"receive({name});")

    def _response(self, position: int, each: Happening, event: ResponseReceived) -> Iterator[Statement]:
        if event.correlation in (None, STALE):
            return  # No request awaits it: the client would ignore it.
        asked = (each.replica, self._processes[each.replica].number, event.correlation)
        name = self._exchanges.names.get(asked)
        if name is None:
            raise NotWritable(
                f"replica {each.replica} receives a response to a request of an earlier process"
            )
        method = "handleResponse" if self._sends_by_timer(position) else "receiveResponse"
        answered = self._exchanges.of_response.get(id(each.data))
        if answered is not None and not isinstance(event.response, ApiVersionsResponse):
            other = self._exchanges.names[answered]
            more = "" if other == name else f", {other}.response"
            yield self._line(each, f"{method}({name}{more});")
            return
        shown = encode_question(each.question, each.protocol)
        lines = composed(shown["api"], shown["data"] if each.data is None else each.data, is_request=False)
        call = f"{name_of(each.replica)}.{method}({name}, {lines[0]}"
        yield Statement(
            each.step, (call, *lines[1:-1], f"{lines[-1]});"), each.replica, _dies(each), event=True
        )

    def _sends_by_timer(self, position: int) -> bool:
        """Whether a timer sends a request in the round after the event at ``position``: in any round between
        them the connection would be taken by the next fetch.
        """
        this, *later = self._noted[position:]
        event = next((each.question.event for each in later if each.replica == this.replica), None)
        return isinstance(event, Poll) and Timer.UPDATE_VOTER in event.expired

    def _looked_up(self, each: Happening, step: int) -> Iterator[Statement]:
        """The requests of this event that arrive or are answered later."""
        number = self._processes[each.replica].number
        for effect in each.sent:
            sent = (each.replica, number, effect.get("correlationId"))
            if effect["effect"] == "request" and sent in self._exchanges.wanted:
                name = self._exchanges.name(sent, str(effect["api"]))
                call = f"{name_of(each.replica)}.sent(ApiKeys.{constant(str(effect['api']))}, {effect['to']})"
                yield Statement(step, (f"Exchange {name} = {call};",), each.replica, event=False)


def _dies(each: Happening) -> bool:
    outcome = each.question.outcome
    return outcome is not None and bool(outcome.effects) and isinstance(outcome.effects[-1], Fatal)


def _exchanges_of(noted: Sequence[Happening]) -> _Exchanges:
    """Which requests are needed later: because they arrive, or because a response to them does."""
    found, numbers = _Exchanges(), dict[int, int]()
    received: dict[tuple[int, object], _Sent] = {}
    for each in noted:
        event = each.question.event
        if isinstance(event, Start):
            numbers[each.replica] = numbers.get(each.replica, -1) + 1
        elif isinstance(event, RequestReceived) and id(each.data) in found.of_request:
            sent = found.of_request[id(each.data)]
            found.wanted.add(sent)
            received[each.replica, event.correlation] = sent
        elif isinstance(event, ResponseReceived) and event.correlation not in (None, STALE):
            found.wanted.add((each.replica, numbers[each.replica], event.correlation))
        for effect in each.sent:
            if effect["effect"] == "request":
                sent = (each.replica, numbers[each.replica], effect["correlationId"])
                found.of_request[id(effect["data"])] = sent
            elif (each.replica, effect["requestId"]) in received:
                found.of_response[id(effect["data"])] = received[each.replica, effect["requestId"]]
    return found


def _call(question: Question) -> str | None:
    """The call at the replica for an event without a message; ``None`` where nothing has to be called."""
    event = question.event
    if isinstance(event, Poll):
        if event.discovery is not None:
            return f"lookForLeaderAt({event.discovery});"
        timers = ", ".join(literal(_camel(timer.value)) for timer in event.expired)
        return f"expire({timers});" if timers else None
    if isinstance(event, RequestTimedOut | BackoffExpired):
        return f"connectionIsReady({event.node});"
    if isinstance(event, FetchWaitExpired) and question.before is not None:
        waiting = [(parked.source, parked.correlation) for parked in question.before.parked]
        return f"fetchWaitExpires({waiting.index((event.source, event.correlation))});"
    if isinstance(event, Append):
        return f"append({event.epoch}, {_values(event.values)});"
    if isinstance(event, Resign):
        return f"resign({event.epoch});"
    if isinstance(event, UpgradeKRaftVersion):
        return f"upgradeKRaftVersion({event.epoch}, {event.version});"
    if isinstance(event, CreateSnapshot):
        values = f", {_values(event.values)}" if event.values else ""
        return f"createSnapshot({event.id.end_offset}, {event.id.epoch}{values});"
    if isinstance(event, Shutdown):
        return "shutdown();"
    raise NotWritable(f"it has the event '{kind_of(event)}', for which the test has no words")


def _values(values: Sequence[int]) -> str:
    return ", ".join(literal(str(value)) for value in values)


def _camel(name: str) -> str:
    return re.sub("-(.)", lambda found: found[1].upper(), name)


def wrapped(statement: Statement, before: str, after: str) -> Statement:
    """``statement`` as a lambda within a call: ``before`` and ``after`` stand around it."""
    first, *rest = statement.lines
    lines = [f"{before}{first}", *rest]
    lines[-1] = lines[-1].removesuffix(";") + after
    return replace(statement, lines=tuple(lines))
