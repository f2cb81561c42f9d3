"""The times of a recorded run: the due times of polls, the travel times of messages, and the times without
steps.

A recorded poll takes no time. So a ``tick`` is at the ms at which an event was due, and no step is after a
deadline or inside a pause. A message travels as long as the network of the run may take, in order on each
link. No line fixes the times at which the simulator acts (starts, calls, faults).

Source: the recorder's loop and network (MANIFEST of the recorded runs).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import UNSET

from kraftcheck.evidence.recordings.clock import Clock
from kraftcheck.evidence.recordings.exceptions import SPINNING
from kraftcheck.evidence.recordings.lines import ApiVersionsLine, PauseLine
from kraftcheck.evidence.recordings.outcome import Found
from kraftcheck.evidence.recordings.recording import NOT_RAFT, Event, Recording, StepEvent
from kraftcheck.evidence.recordings.transport import Flight
from kraftcheck.evidence.recordings.typed import Json

#: A loop that polls more often than this within one ms is moved on by one ms.
_SPINS = 8

#: The timer by which a leader announces itself again, as states show it.
_ANNOUNCES = "beginQuorumEpoch"


@dataclass(slots=True)
class _Node:
    """The position of a node: its last step (line, own clock), the number of steps since its clock or a
    message last advanced it, the deadlines that it shows and at which its loop wakes up, and its last pause
    (line, first and last global ms).
    """

    seq: int = -1
    now: int = -1
    steps: int = 0
    deadlines: Mapping[str, Json] = field(default_factory=dict)
    paused_at: int | None = None
    paused_from: int = -1
    paused_until: int = -1


class Spacing:
    """The known times up to the line that was read last."""

    def __init__(self, recording: Recording) -> None:
        self._nodes: dict[int, _Node] = {}
        self._arrived: dict[tuple[int, int], Flight] = {}
        self._end = recording.events[-1].time
        self._config = recording.config
        self._announcing = recording.config.timeouts.times.fetch_timeout // 2
        network = recording.config.network
        self._shortest = network.delay_min
        longest = network.delay_max
        self._longest = None if longest is UNSET else longest + network.tail_max

    def step(
        self, event: StepEvent, clock: Clock | None, shutdown_at: int | None, flights: Mapping[int, Flight]
    ) -> Iterator[Found | str]:
        """Compare the time of a step with the due times; a string is an exception to count.

        ``clock``: the timers of the process before the step; ``None`` where they are not known.
        """
        node = self._nodes.setdefault(event.node, _Node())
        if event.kind != "start":
            yield from _in_time(node, event, self._earlier(event))
        if event.kind == "tick" and clock is not None:
            yield from _due(node, event, self._earlier(event), (*clock.due(), shutdown_at))
        elif event.kind == "recv":
            yield from self._travels(event, flights, node)
        same = event.kind == "tick" and event.now == node.now
        node.steps = node.steps + 1 if same else 1
        node.seq, node.now = event.seq, event.now
        shown = {} if event.state is None else event.state["deadlines"]
        announced = event.kind == "tick" and shown.get(_ANNOUNCES) == event.now + self._announcing
        # The poll that has announced the leader sleeps without regard to the timer that it has just restarted
        # (Kafka: KafkaRaftClient.maybeSendBeginQuorumEpochRequests).
        node.deadlines = {name: at for name, at in shown.items() if not (announced and name == _ANNOUNCES)}
        if event.kind in ("start", "end"):
            node.paused_at, node.paused_until = None, -1

    def world(self, event: Event, flights: Mapping[int, Flight]) -> Iterator[Found]:
        """A line that is no step: a pause begins, a message reaches a server or is left over."""
        line = event.line
        if isinstance(line, PauseLine):
            node = self._nodes.setdefault(line.n, _Node())
            until = event.time + line.ms
            if until > node.paused_until:
                node.paused_at, node.paused_until = event.seq, until
                node.paused_from = max(event.time, node.paused_from)
        elif isinstance(line, ApiVersionsLine):
            yield from self._delay(event, flights.get(line.mid), _Node())
        elif event.kind == "inflight" and event.time != self._end:
            yield Found("t", self._end, event.time)

    def _earlier(self, event: StepEvent) -> int:
        """The reading of the node's own clock one ms before ``event``; a fast clock skips numbers."""
        config = self._config.node(event.node)
        if config is None or not config.is_skewed:
            return event.now - 1
        return min(*config.local_times(event.time - 1), event.now - 1)

    def _travels(self, event: StepEvent, flights: Mapping[int, Flight], node: _Node) -> Iterator[Found]:
        message = event.message
        assert message is not None
        flight = flights.get(message.mid)
        if flight is None or message.synthetic is not None:
            return
        if message.is_request or message.api != NOT_RAFT:
            # The answer of a node's server was made before the step that lists it.
            yield from self._delay(event, flight, node)
        link = (flight.node, event.node)
        before = self._arrived.get(link)
        if before is not None and (before.seq, before.sent.mid) > (flight.seq, flight.sent.mid):
            yield Found("mid", f"message {before.sent.mid} of the same link later", message.mid, before.seq)
        else:
            self._arrived[link] = flight

    def _delay(self, event: Event, flight: Flight | None, node: _Node) -> Iterator[Found]:
        if flight is None:
            return
        earliest = flight.time + self._shortest
        waits = node.paused_until if node.paused_until >= flight.time else -1
        latest = None if self._longest is None else max(flight.time + self._longest, waits)
        if event.time < earliest or (latest is not None and event.time > latest):
            span = f"{earliest} or later" if latest is None else f"from {earliest} to {latest}"
            yield Found("t", span, event.time, flight.seq)


def _in_time(node: _Node, event: StepEvent, earlier: int) -> Iterator[Found]:
    """The loop takes no step while it is paused, and none after the first deadline that it shows."""
    if event.kind not in ("end", "api") and node.paused_from < event.time < node.paused_until:
        yield Found("t", f"{node.paused_until} or later: the process is paused", event.time, node.paused_at)
    ahead = [at for at in node.deadlines.values() if type(at) is int and at > node.now]
    if ahead and earlier >= min(ahead) and event.time > node.paused_until:
        yield Found("t", f"a poll at {min(ahead)}, when a timer expires", event.now, node.seq)


def _due(node: _Node, event: StepEvent, earlier: int, due: Sequence[int | None]) -> Iterator[Found | str]:
    """A poll with a visible effect follows a step at once, or comes when an event is ``due``."""
    times = [at for at in due if at is not None]
    if event.now == node.now or any(earlier < at <= event.now for at in times):
        return
    if event.time == node.paused_until and any(at <= event.now for at in times):
        return
    if event.now == node.now + 1 and node.steps > _SPINS:
        yield SPINNING
        return
    ahead = sorted({node.now, *(at for at in times if at > node.now)})
    yield Found("t", f"when something is due: {', '.join(map(str, ahead))}", event.now, node.seq)
