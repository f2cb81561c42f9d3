"""A process behind an adapter (``docs/drive.md``) as the recorder sees it.

The adapter decides what the replica does; the recorder keeps its clock: which timers have expired, which
requests got no answer in time, and which back-offs are over. What no answer shows (the log, the disk) follows
from the effects that the adapter reports.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from kraftcheck.evidence.adapters.answers import AdapterError, Answer
from kraftcheck.evidence.adapters.session import Session
from kraftcheck.evidence.adapters.wire import (
    EFFECTS,
    EVENTS,
    STATE,
    decode_effect,
    encode_event,
    encode_start,
)
from kraftcheck.evidence.recorder.reported import in_order, replica_of, state_of
from kraftcheck.evidence.recordings.clock import Clock
from kraftcheck.evidence.recordings.fields import Fields, Json
from kraftcheck.evidence.recordings.host import PROBING
from kraftcheck.evidence.recordings.identity import endpoints_of
from kraftcheck.reference import disk as disks
from kraftcheck.reference.config import Times, connection_span, span
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Duration, Effect, Fatal, ForgetRequests, Reply, Send, Stop
from kraftcheck.reference.events import (
    BackoffExpired,
    Event,
    Poll,
    RequestReceived,
    RequestTimedOut,
    ResponseReceived,
    Timer,
)
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import FetchRequest
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.support.errors import InputError

#: What a release may lack: an event that nobody asks for there, and a state that no replica is in.
_OPTIONAL = ("upgradeKRaftVersion", "pendingUpdate")

#: Adapters count from here on: Kafka takes -1 for a time that is not known, and subtracts it from others.
ORIGIN = 1_700_000_000_000


def require_whole(session: Session) -> None:
    """Raise InputError unless the adapter supports and shows all that a recording needs."""
    shown = session.capabilities
    for kind, needed in (("events", EVENTS), ("effects", EFFECTS), ("state", STATE)):
        missing = [name for name in needed if name not in (*getattr(shown, kind), *_OPTIONAL)]
        if missing:
            raise InputError(
                f"{shown.name}: a recording needs what the adapter does not declare in capabilities.{kind}: "
                f"{', '.join(missing)}."
            )
    if not shown.ordered:
        raise InputError(f"{shown.name}: a recording needs effects in the order in which they happened.")


class RefusedError(AdapterError):
    """The implementation has no such process. reason: why, in the adapter's words."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"cannot start a process: {reason}")
        self.reason = self.what.partition(": ")[2]


class AdapterHost:
    """The replica behind ``session`` as a process; arguments, attributes and methods as
    :class:`~kraftcheck.evidence.recorder.hosts.Hosted` describes them.
    """

    def __init__(
        self,
        session: Session,
        draw: random.Random,
        protocol: Protocol,
        times: Times,
        servers: Mapping[int, int],
        identity: Replica,
        disk: Disk,
        now: int,
    ) -> None:
        self._session, self._draw, self._servers = session, draw, servers
        self._clock, self._times = Clock(times), times
        self._awaited: dict[int, int] = {}
        self._unanswered: dict[int, int] = {}
        self._backing_off: dict[int, int] = {}
        self._correlations: dict[int, int] = {}
        self._fetches: set[int] = set()
        self._raw: dict[int, Json] = {}
        self._due: dict[Timer, int] = {}
        self._below_back_off: tuple[int, int] | None = None
        back_off = span(times, Duration.ELECTION_BACKOFF)
        assert back_off is not None
        self._longest_back_off = back_off.high
        self._failure = ""
        self._unshown = False
        self._state: Json = {}
        self.effects: list[Effect] = []
        self.stopped = False
        self._disk = disk
        self._replica = replace(identity, log=disk.log)
        # A broker has no listener in the quorum, but an adapter may need one to name its own.
        shown = replace(identity, endpoints=endpoints_of(identity.id))
        self._exchange({"type": "start", **encode_start(shown, disk, protocol)}, now)
        if self._clock.deadlines.get(Timer.ELECTION, now) is None:
            # It is drawn for an observer, too, although it decides nothing (Kafka: QuorumState.initialize).
            self._clock.deadlines[Timer.ELECTION] = now + self._election_timeout()

    @property
    def replica(self) -> Replica:
        """The replica as far as the recorder needs it."""
        return self._replica

    @property
    def upgrades(self) -> bool:
        """Whether kraft.version can be finalized."""
        return "upgradeKRaftVersion" in self._session.capabilities.events

    # Steps.

    def begin(self) -> None:
        """A new recorded step begins."""
        self.effects, self._raw, self._unshown = [], {}, False

    def feed(self, stimulus: Event, now: int, raw: Json = None) -> None:
        """One step of the adapter."""
        asked = encode_event(stimulus, now)
        if raw is not None:
            asked["data"] = raw
        if isinstance(stimulus, ResponseReceived):
            own = stimulus.correlation
            asked["correlationId"] = next((a for a, o in self._correlations.items() if o == own), -1)
            if self._unanswered.get(stimulus.source) == own:
                self._unanswered.pop(stimulus.source)
                self._awaited.pop(stimulus.source, None)
                # The protocol does not show whether the replica takes the answer for a failure, nor, once the
                # request has timed out, whether it has noticed that.
                until = now + connection_span(self._times, awaiting=False).low
                self._backing_off[stimulus.source] = until
        elif isinstance(stimulus, RequestReceived) and isinstance(stimulus.request, FetchRequest):
            assert stimulus.correlation is not None
            self._fetches.add(stimulus.correlation)
        elif isinstance(stimulus, RequestReceived) and isinstance(stimulus.request, PROBING):
            # The replica itself decides whether it looks at the connection, and so notices a time-out.
            self._end_waits(now, stimulus.request.voter.id)
        self._exchange(asked, now)

    def round(self, now: int) -> None:
        """The first half of a round of the poll loop.

        Bootstrap servers that certainly are ready come first; those that perhaps back off are tried as long
        as nothing happens.
        """
        expired = self._clock.expired(now)
        self._end_waits(now, None)
        ready = [server for server in self._servers if server not in self._awaited]
        self._draw.shuffle(ready)
        ready.sort(key=lambda server: server in self._backing_off)
        self.feed(Poll(expired, ready[0] if ready else None, now), now)
        for server in ready[1:]:
            if self.effects or ready[0] not in self._backing_off:
                return
            # A timer that has expired and changed nothing is still expired.
            self.feed(Poll(self._clock.expired(now), server, now), now)

    def _end_waits(self, now: int, of: int | None) -> None:
        for node, until in list(self._awaited.items()):
            if until <= now and of in (None, node):
                del self._awaited[node]
                self.feed(RequestTimedOut(node), now)
        for node, until in list(self._backing_off.items()):
            if until <= now and of in (None, node):
                del self._backing_off[node]
                self.feed(BackoffExpired(node), now)

    # What the recorder asks for.

    def due(self) -> Iterator[int]:
        """The expiry of timers and requests, and the ends of back-offs."""
        yield from self._clock.due()
        yield from self._awaited.values()
        if not isinstance(self._replica.role, Leader):
            # A leader does not wake up for a connection (Kafka: KafkaRaftClient.pollLeader); it would notice
            # too early a check-quorum timer that had expired while it was the only voter.
            yield from self._backing_off.values()

    def waits(self, request: int) -> bool:
        """Whether the Fetch with this message id has no answer yet."""
        return request in self._fetches

    def state(self, now: int) -> Json:
        """The state that the adapter showed last, with the deadlines of its timers."""
        state = dict(self._state)
        if self.stopped:
            state.pop("shuttingDown", None)
        state["deadlines"] = self._clock.displayed(state["state"], len(state["voters"]), now)
        return state

    def arms_unshown(self) -> bool:
        """Whether a step since the last :meth:`begin` restarted a timer that states do not show."""
        return self._unshown

    def raw(self, sent: Effect) -> Json:
        """The content of a sent message as the adapter reported it."""
        return self._raw[id(sent)]

    def reason(self) -> str:
        """The reason of the last failure, in the adapter's words."""
        return self._failure

    # The adapter.

    def _exchange(self, asked: Json, now: int) -> None:
        place = f"in a {asked['type']} at node {self._replica.id}"
        answer = self._session.exchange({**asked, "now": ORIGIN + now}, place)
        if answer.unsupported is not None:
            if asked["type"] == "start":
                raise RefusedError(answer.unsupported)
            raise AdapterError(f"cannot take a step: {answer.unsupported}").placed(place)
        try:
            self._take(answer, now)
        except (InputError, ValueError) as error:
            if isinstance(error, AdapterError):
                raise
            raise AdapterError(f"gave a wrong answer: {str(error).rstrip('.')}").placed(place) from None

    def _take(self, answer: Answer, now: int) -> None:
        for shown in in_order(answer.effects):
            fields = Fields(dict(shown), "effect")
            if shown["effect"] == "timer":
                self._arm(Timer(fields.text("timer")), shown.get("ms"), now)
            elif shown["effect"] in ("fatal", "callFailed"):
                self._failure = fields.text("reason")
            for effect in decode_effect(fields):
                self._follow(effect, shown, now)
        if answer.state:
            self._state = state_of(answer.state, ORIGIN)
        elif not any(isinstance(effect, Stop | Fatal) for effect in self.effects):
            raise InputError("it shows no state")
        if self._state:
            self._replica = replica_of(self._replica, self._state, self._disk.log)

    def _follow(self, effect: Effect, shown: Mapping[str, Json], now: int) -> None:
        self._disk = disks.apply(self._disk, effect)
        if isinstance(effect, Send):
            own = len(self._correlations)
            self._correlations[-1 if effect.correlation is None else effect.correlation] = own
            until = now + connection_span(self._times, awaiting=True).low
            self._awaited[effect.to], self._unanswered[effect.to] = until, own
            self._backing_off.pop(effect.to, None)
            effect = replace(effect, correlation=own)
        elif isinstance(effect, Reply):
            self._fetches.discard(-1 if effect.correlation is None else effect.correlation)
        elif isinstance(effect, ForgetRequests):
            if effect.node is None:
                for waits in (self._awaited, self._unanswered, self._backing_off):
                    waits.clear()
            else:
                # The request has timed out. Kafka takes a late answer for a failure until it next looks at
                # the connection, so that answer may still start a back-off.
                self._awaited.pop(effect.node, None)
        elif isinstance(effect, Stop):
            self.stopped = True
        if isinstance(effect, Send | Reply):
            self._raw[id(effect)] = shown["data"]
        self.effects.append(effect)

    def _arm(self, timer: Timer, ms: Json, now: int) -> None:
        """The adapter arms a timer. What it would draw at random, the recorder draws.

        An election timer that expires when the one before would have is what is left of that; so is one of
        1 ms after that, for a timer expires in a poll only. After a back-off it may be what is left of the
        election timer below it (Kafka 3.9 and 4.0).
        """
        self._unshown |= not Clock.is_shown(timer)
        if ms is None:
            self._clock.deadlines[timer] = None
            self._due.pop(timer, None)
        elif isinstance(ms, int):
            before, due = self._due.get(timer), now + ms
            self._due[timer] = due
            if timer is Timer.ELECTION and before is not None and max(before, now + 1) == due:
                return
            if timer is Timer.ELECTION:
                below, self._below_back_off = self._below_back_off, None
                if below is not None and max(below[0], now + 1) == due:
                    self._due[timer], self._clock.deadlines[timer] = below
                    return
                if ms > self._longest_back_off:
                    ms = self._election_timeout()
                elif before is not None and (deadline := self._clock.deadlines[timer]) is not None:
                    self._below_back_off = before, deadline
            self._clock.deadlines[timer] = now + ms

    def _election_timeout(self) -> int:
        base = self._times.election_timeout
        return base + self._draw.randrange(base)
