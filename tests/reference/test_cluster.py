"""Three replicas, a network that loses, delays, repeats and reorders, timers at any time, and power failures.

A Hypothesis state machine drives the reference itself. Every effect is applied in its order, and a crash may
fall between any two of them; what was not flushed by then is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kraftcheck.reference import disk as disks
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import (
    Effect,
    Fatal,
    HighWatermark,
    Reply,
    Send,
)
from kraftcheck.reference.events import (
    Append,
    BackoffExpired,
    Event,
    FetchWaitExpired,
    Poll,
    RequestReceived,
    RequestTimedOut,
    Resign,
    ResponseReceived,
    Timer,
)
from kraftcheck.reference.log import Batch
from kraftcheck.reference.messages import Request, Response, VoteResponse
from kraftcheck.reference.protocol import KAFKA, KIP996, Protocol
from kraftcheck.reference.replica import Candidate, Leader, Prospective, Replica
from kraftcheck.reference.step import Outcome, start, step
from kraftcheck.reference.voters import Endpoint, ReplicaKey, matches, static_voters
from tests.examples import examples

IDS = (1, 2, 3)
VOTERS = static_voters(IDS)

#: The replicas that can hear each other for a while.
GROUPS = st.sampled_from(
    [frozenset(group) for group in ((1, 2, 3), (1, 2), (1, 3), (2, 3), (1,), (2,), (3,))]
)

#: The timers that may expire in any role; a timer that does not run is not looked at.
TIMERS = tuple(Timer)


@dataclass(frozen=True)
class InFlight:
    """A message between two replicas."""

    source: int
    target: int
    correlation: int | None
    message: Request | Response
    is_request: bool


@dataclass
class Process:
    """A replica on its disk; ``replica`` is ``None`` while the process is down."""

    disk: Disk = field(default_factory=Disk)
    replica: Replica | None = None
    known_high_watermark: int | None = None


def identity(node: int, next_correlation: int = 0) -> Replica:
    endpoints = (Endpoint("CONTROLLER", f"host-{node}", 9093),)
    key = ReplicaKey(node, f"directory-{node}")
    return Replica(key, VOTERS, endpoints=endpoints, next_correlation=next_correlation)


class Cluster(RuleBasedStateMachine):
    """The cluster, and what must be true of it whatever happens."""

    protocol: Protocol = KAFKA

    def __init__(self) -> None:
        super().__init__()
        self.processes = {node: Process() for node in IDS}
        self.network: list[InFlight] = []
        self.leaders: dict[int, int] = {}
        self.votes: dict[tuple[int, int], ReplicaKey] = {}
        self.committed: list[tuple[int, object]] = []
        self.correlations = dict.fromkeys(IDS, 0)
        self.deaths: list[str] = []

    # What happens.

    @initialize()
    def boot(self) -> None:
        for node in IDS:
            self.start(node)
        self.election(frozenset(IDS), 1, 6, 0)
        self.rounds(frozenset(IDS), 2)

    def start(self, node: int) -> None:
        process = self.processes[node]
        process.disk = disks.as_found(process.disk)
        process.known_high_watermark = None
        born = self.identity(node, self.correlations[node])
        self.run(node, start(self.protocol, born, process.disk), None, None)

    def identity(self, node: int, next_correlation: int) -> Replica:
        return identity(node, next_correlation)

    def feed(self, node: int, event: Event, crash_after: int | None = None) -> None:
        replica = self.processes[node].replica
        if replica is not None:
            self.run(node, step(self.protocol, replica, event), event, crash_after)

    def run(self, node: int, outcome: Outcome, event: Event | None, crash_after: int | None) -> None:
        """Let the effects happen; ``crash_after`` so many of them the power fails."""
        process = self.processes[node]
        for count, effect in enumerate(outcome.effects):
            if crash_after == count:
                self.lose_power(node)
                return
            self.apply(node, effect, outcome)
        if outcome.fatal is not None:
            return
        process.replica = outcome.replica
        self.correlations[node] = outcome.replica.next_correlation or 0
        self.observe(node, outcome)
        if crash_after is not None:
            self.lose_power(node)

    def apply(self, node: int, effect: Effect, outcome: Outcome) -> None:
        process = self.processes[node]
        process.disk = disks.apply(process.disk, effect)
        if isinstance(effect, Send):
            self.network.append(InFlight(node, effect.to, effect.correlation, effect.request, True))
        elif isinstance(effect, Reply):
            self.network.append(InFlight(node, effect.to, effect.correlation, effect.response, False))
        elif isinstance(effect, HighWatermark):
            self.commit(process.disk.log.batches, effect.offset)
        elif isinstance(effect, Fatal):
            self.deaths.append(f"{node}: {effect.reason}")

    def lose_power(self, node: int) -> None:
        process = self.processes[node]
        process.replica = None
        process.disk = disks.lose_power(process.disk)

    @rule(node=st.sampled_from(IDS), timer=st.sampled_from(TIMERS), discovery=st.sampled_from([None, *IDS]))
    def timer_expires(self, node: int, timer: Timer, discovery: int | None) -> None:
        self.feed(node, Poll((timer,), None if discovery == node else discovery))

    @rule(node=st.sampled_from(IDS))
    def poll(self, node: int) -> None:
        self.feed(node, Poll((Timer.LINGER, Timer.BEGIN_QUORUM_EPOCH)))

    @rule(group=GROUPS, count=st.integers(1, 6))
    def rounds(self, group: frozenset[int], count: int) -> None:
        """The replicas of a group poll and hear each other; what they say to others is lost."""
        for _ in range(count):
            self.round(group, group)

    def round(self, group: frozenset[int], polling: frozenset[int]) -> None:
        for node in sorted(polling):
            self.poll(node)
        waiting, self.network = self.network, []
        for packet in waiting:
            if {packet.source, packet.target} <= group:
                self.arrive(packet)

    @rule(group=GROUPS, candidate=st.sampled_from(IDS), count=st.integers(3, 8), value=st.integers(0, 9))
    def election(self, group: frozenset[int], candidate: int, count: int, value: int) -> None:
        """A group gives up on its leader, one of it runs, and if it wins, it appends something."""
        for node in sorted(group):
            if self.processes[node].replica is None:
                self.start(node)
            for other in IDS:
                self.request_times_out(node, other)
            self.feed(node, Poll((Timer.FETCH,)))
        for _ in range(3):
            replica = self.processes[candidate].replica
            if replica is None or isinstance(replica.role, Prospective | Candidate):
                break
            self.feed(candidate, Poll((Timer.ELECTION, Timer.FETCH)))
        for _ in range(count):
            self.round(group, group & {candidate})
        self.append(candidate, value)

    @rule(group=GROUPS, node=st.sampled_from(IDS), value=st.integers(0, 9), count=st.integers(0, 4))
    def work(self, group: frozenset[int], node: int, value: int, count: int) -> None:
        """A leader appends, and a group replicates for a while."""
        self.append(node, value)
        for other in IDS:
            self.request_times_out(node, other)
            self.request_times_out(other, node)
        self.rounds(group, count)

    @precondition(lambda self: self.network)
    @rule(data=st.data(), lost=st.booleans(), repeated=st.booleans())
    def deliver(self, data: st.DataObject, lost: bool, repeated: bool) -> None:
        index = data.draw(st.integers(0, len(self.network) - 1))
        packet = self.network[index] if repeated else self.network.pop(index)
        if not lost or repeated:
            self.arrive(packet)

    @precondition(lambda self: self.network)
    @rule(data=st.data(), after=st.integers(0, 8))
    def deliver_and_crash(self, data: st.DataObject, after: int) -> None:
        packet = self.network.pop(data.draw(st.integers(0, len(self.network) - 1)))
        self.arrive(packet, after)

    def arrive(self, packet: InFlight, crash_after: int | None = None) -> None:
        if self.processes[packet.target].replica is None:
            return
        event: Event
        if packet.is_request:
            assert not isinstance(packet.message, Response)
            event = RequestReceived(packet.source, packet.message, packet.correlation)
        else:
            assert isinstance(packet.message, Response)
            event = ResponseReceived(packet.source, packet.message, packet.correlation)
        self.feed(packet.target, event, crash_after)

    @rule(node=st.sampled_from(IDS), other=st.sampled_from(IDS))
    def request_times_out(self, node: int, other: int) -> None:
        self.feed(node, RequestTimedOut(other))
        self.feed(node, BackoffExpired(other))

    @rule(node=st.sampled_from(IDS))
    def fetches_wait_no_longer(self, node: int) -> None:
        replica = self.processes[node].replica
        for parked in replica.parked if replica else ():
            self.feed(node, FetchWaitExpired(parked.source, parked.correlation))

    @rule(node=st.sampled_from(IDS), value=st.integers(0, 9))
    def append(self, node: int, value: int) -> None:
        replica = self.processes[node].replica
        if replica is not None and isinstance(replica.role, Leader):
            self.feed(node, Append(replica.epoch, (value,)))
            self.feed(node, Poll((Timer.LINGER,)))

    @rule(node=st.sampled_from(IDS))
    def resign(self, node: int) -> None:
        replica = self.processes[node].replica
        if replica is not None:
            self.feed(node, Resign(replica.epoch))
            self.feed(node, Poll())

    @rule(node=st.sampled_from(IDS), power=st.booleans())
    def crash(self, node: int, power: bool) -> None:
        process = self.processes[node]
        process.replica = None
        if power:
            process.disk = disks.lose_power(process.disk)

    @rule(group=GROUPS)
    def power_cut(self, group: frozenset[int]) -> None:
        """Several replicas lose power at once and come back."""
        for node in sorted(group):
            self.lose_power(node)
        for node in sorted(group):
            self.start(node)

    @rule(node=st.sampled_from(IDS))
    def restart(self, node: int) -> None:
        if self.processes[node].replica is None:
            self.start(node)

    # What is noted.

    def observe(self, node: int, outcome: Outcome) -> None:
        replica = outcome.replica
        process = self.processes[node]
        if isinstance(replica.role, Leader):
            known = self.leaders.setdefault(replica.epoch, node)
            assert known == node, f"{known} and {node} lead epoch {replica.epoch}"
        if replica.high_watermark is not None and not isinstance(replica.role, Leader):
            before = process.known_high_watermark
            assert before is None or replica.high_watermark >= before, "the high watermark fell"
        process.known_high_watermark = replica.high_watermark
        for effect in outcome.effects:
            if isinstance(effect, Reply) and isinstance(effect.response, VoteResponse):
                self.note_vote(node, effect, replica)

    def note_vote(self, node: int, reply: Reply, replica: Replica) -> None:
        voted = replica.quorum_state.voted
        assert isinstance(reply.response, VoteResponse)
        if not reply.response.granted or voted is None:
            return
        request_epoch = reply.response.epoch
        first = self.votes.setdefault((node, request_epoch), voted)
        # After a restart at kraft.version 0 the directory is not known any more (PERSIST-9).
        assert matches(voted, first), f"{node} voted for {first} and {voted} in epoch {request_epoch}"

    def commit(self, batches: tuple[Batch, ...], offset: int) -> None:
        records = [(batch.epoch, record) for batch in batches for record in batch.records][:offset]
        agreed = min(len(records), len(self.committed))
        assert records[:agreed] == self.committed[:agreed], "a committed record changed"
        self.committed.extend(records[agreed:])

    # What must be true at any time.

    @invariant()
    def nobody_died(self) -> None:
        assert self.deaths == []

    @invariant()
    def logs_match(self) -> None:
        """Records of one offset and epoch are the same, and so is everything before them."""
        logs = [
            [(batch.epoch, record) for batch in process.disk.log.batches for record in batch.records]
            for process in self.processes.values()
        ]
        for index, one in enumerate(logs):
            for other in logs[index + 1 :]:
                same = [n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a[0] == b[0]]
                if same:
                    assert one[: same[-1] + 1] == other[: same[-1] + 1]

    @invariant()
    def epochs_never_decrease_in_a_log(self) -> None:
        for process in self.processes.values():
            epochs = [batch.epoch for batch in process.disk.log.batches]
            assert epochs == sorted(epochs)

    @invariant()
    def leaders_have_what_is_committed(self) -> None:
        leading = [
            p.replica for p in self.processes.values() if p.replica and isinstance(p.replica.role, Leader)
        ]
        if leading and self.committed:
            newest = max(leading, key=lambda replica: replica.epoch)
            records = [(b.epoch, record) for b in newest.log.batches for record in b.records]
            if newest.epoch >= max(epoch for epoch, _ in self.committed):
                assert records[: len(self.committed)] == self.committed[: len(records)]
                assert len(records) >= len(self.committed)


class DocumentCluster(Cluster):
    """The same under the documents as written."""

    protocol = KIP996


class LongRun(Cluster):
    """The same, with more time to find something."""


def runs(count: int, steps: int) -> settings:
    """So many random runs, of at most so many steps; see :func:`tests.examples.examples`."""
    return settings(examples(count), stateful_step_count=steps)


Cluster.TestCase.settings = runs(80, steps=60)
DocumentCluster.TestCase.settings = runs(80, steps=60)
LongRun.TestCase.settings = runs(250, steps=60)
TestCluster = Cluster.TestCase
TestDocumentCluster = DocumentCluster.TestCase
TestLongRun = pytest.mark.slow(LongRun.TestCase)
