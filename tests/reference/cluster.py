"""Three replicas, a network that loses, delays, repeats and reorders, timers at any time, and power failures.

A Hypothesis state machine drives the reference itself. Every effect is applied in its order, and a crash may
fall between any two of them; what was not flushed by then is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import ClassVar
from unittest import TestCase

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kraftcheck.reference import disk as disks
from kraftcheck.reference import events
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import AppendBatch, Effect, Flush, HighWatermark, Reply, Send
from kraftcheck.reference.log import Batch
from kraftcheck.reference.messages import VoteResponse
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import Candidate, Leader, Prospective, Replica
from kraftcheck.reference.step import Outcome, start, step
from kraftcheck.reference.voters import ReplicaKey, VoterSet, matches, static_voters
from kraftcheck.systems.kraft.known_exits import finding_of
from tests.examples import examples

IDS = (1, 2, 3)
EVERYBODY = frozenset(IDS)
NODES = st.sampled_from(IDS)
#: The replicas that can hear each other for a while.
GROUPS = st.sampled_from([frozenset(group) for size in (3, 2, 1) for group in combinations(IDS, size)])


def records_of(batches: tuple[Batch, ...]) -> list[tuple[int, object]]:
    """The records of a log that has all of them, each with its epoch."""
    return [(batch.epoch, record) for batch in batches for record in batch.records]


def past_unflushed_commit(effects: tuple[Effect, ...], crash_after: int) -> int:
    """``crash_after`` so many of ``effects``, or more: a leader without other voters makes records known as
    committed that it has not flushed (finding-single-voter-power-loss), and the power fails after it has.
    """
    happened = effects[:crash_after]
    appended = [index for index, each in enumerate(happened) if isinstance(each, AppendBatch)]
    commits = any(isinstance(each, HighWatermark) for each in happened[appended[0] :]) if appended else False
    if not commits or any(isinstance(each, Flush) for each in happened[appended[-1] :]):
        return crash_after
    flushes = (index for index in range(crash_after, len(effects)) if isinstance(effects[index], Flush))
    return next(flushes, crash_after - 1) + 1


@dataclass
class Process:
    """A replica on its disk; ``replica`` is ``None`` while the process is down."""

    disk: Disk = field(default_factory=Disk)
    replica: Replica | None = None
    known_high_watermark: int | None = None


class Cluster(RuleBasedStateMachine):
    """The cluster, and what must be true of it whatever happens.

    ``voters``, ``kraft_version``: the voters of static configuration or of the checkpoint. ``timers``: those
    that may expire in any role; a timer that does not run is not looked at. ``known_exits``: the findings
    whose exits of a process are no defects here.
    """

    protocol: ClassVar[Protocol] = KAFKA
    voters: ClassVar[VoterSet] = static_voters(IDS)
    kraft_version: ClassVar[int] = 0
    timers: ClassVar[tuple[events.Timer, ...]] = tuple(events.Timer)
    known_exits: ClassVar[tuple[str, ...]] = ("restart-as-candidate",)

    def __init__(self) -> None:
        super().__init__()
        self.processes = {node: Process() for node in IDS}
        self.network: list[tuple[int, events.Event]] = []
        self.leaders: dict[int, int] = {}
        self.votes: dict[tuple[int, int], ReplicaKey] = {}
        self.committed: list[tuple[int, object]] = []
        self.correlations = dict.fromkeys(IDS, 0)
        self.appended = 0  # values, each another one

    def key(self, node: int) -> ReplicaKey:
        return ReplicaKey(node, f"directory-{node}")

    def exit_is_known(self, replica: Replica, event: events.Event | None, outcome: Outcome) -> bool:
        """Whether a finding shows this exit of a process; all others are defects."""
        assert outcome.fatal is not None
        return finding_of(replica, event, outcome.fatal, outcome.rules) in self.known_exits

    # What happens.

    @initialize()
    def boot(self) -> None:
        for node in IDS:
            self.start(node)
        self.election(EVERYBODY, 1, 6)
        self.rounds(EVERYBODY, 2)

    def start(self, node: int) -> None:
        process = self.processes[node]
        process.disk = disks.as_found(process.disk)
        process.replica = process.known_high_watermark = None
        identity = Replica(
            self.key(node),
            self.voters,
            endpoints=static_voters([node]).endpoints(node),
            bootstrap_kraft_version=self.kraft_version,
            max_kraft_version=self.kraft_version,
            next_correlation=self.correlations[node],
        )
        self.run(node, start(self.protocol, identity, process.disk), None, None)

    def feed(self, node: int, event: events.Event, crash_after: int | None = None) -> None:
        replica = self.processes[node].replica
        if replica is not None:
            self.run(node, step(self.protocol, replica, event), event, crash_after)

    def run(self, node: int, outcome: Outcome, event: events.Event | None, crash_after: int | None) -> None:
        """Let the effects happen; ``crash_after`` so many of them the power fails."""
        process = self.processes[node]
        if crash_after is not None:
            crash_after = past_unflushed_commit(outcome.effects, crash_after)
        for effect in outcome.effects[:crash_after]:
            self.apply(node, effect)
        if crash_after is not None and crash_after < len(outcome.effects):
            self.lose_power(node)
        elif outcome.fatal is not None:
            before = process.replica or outcome.replica
            assert self.exit_is_known(before, event, outcome), outcome.fatal.sentence
            process.replica = None
        else:
            process.replica = outcome.replica
            self.correlations[node] = outcome.replica.next_correlation or 0
            self.observe(node, outcome)
            if crash_after is not None:
                self.lose_power(node)

    def apply(self, node: int, effect: Effect) -> None:
        process = self.processes[node]
        process.disk = disks.apply(process.disk, effect)
        if isinstance(effect, Send):
            request = events.RequestReceived(node, effect.request, effect.correlation)
            self.network.append((effect.to, request))
        elif isinstance(effect, Reply):
            self.network.append(
                (effect.to, events.ResponseReceived(node, effect.response, effect.correlation))
            )
        elif isinstance(effect, HighWatermark):
            self.commit(records_of(process.disk.log.batches)[: effect.offset])

    def lose_power(self, node: int) -> None:
        self.crash(node, power=True)

    @rule(node=NODES, timer=st.sampled_from(events.Timer), discovery=st.sampled_from([None, *IDS]))
    def timer_expires(self, node: int, timer: events.Timer, discovery: int | None) -> None:
        if timer in self.timers:
            self.feed(node, events.Poll((timer,), None if discovery == node else discovery))

    @rule(node=NODES)
    def poll(self, node: int) -> None:
        self.feed(node, events.Poll((events.Timer.LINGER, events.Timer.BEGIN_QUORUM_EPOCH)))

    @rule(group=GROUPS, count=st.integers(1, 6))
    def rounds(self, group: frozenset[int], count: int) -> None:
        """The replicas of a group poll and hear each other; what they say to others is lost."""
        for _ in range(count):
            self.round(group, group)

    def round(self, group: frozenset[int], polling: frozenset[int]) -> None:
        for node in sorted(polling):
            self.poll(node)
        waiting, self.network = self.network, []
        for target, event in waiting:
            if {target, event.source} <= group:  # type: ignore[union-attr]
                self.feed(target, event)

    @rule(group=GROUPS, candidate=NODES, count=st.integers(3, 8))
    def election(self, group: frozenset[int], candidate: int, count: int) -> None:
        """A group gives up on its leader, one of it runs, and if it wins, it appends something."""
        for node in sorted(group):
            self.restart(node)
            for other in IDS:
                self.request_times_out(node, other)
            self.feed(node, events.Poll((events.Timer.FETCH,)))
        for _ in range(3):
            replica = self.processes[candidate].replica
            if replica is None or isinstance(replica.role, Prospective | Candidate):
                break
            self.feed(candidate, events.Poll((events.Timer.ELECTION, events.Timer.FETCH)))
        for _ in range(count):
            self.round(group, group & {candidate})
        self.append(candidate)

    @rule(group=GROUPS, node=NODES, count=st.integers(0, 4))
    def work(self, group: frozenset[int], node: int, count: int) -> None:
        """A leader appends, and a group replicates for a while."""
        self.append(node)
        for other in IDS:
            self.request_times_out(node, other)
            self.request_times_out(other, node)
        self.rounds(group, count)

    @precondition(lambda self: self.network)
    @rule(data=st.data(), lost=st.booleans(), repeated=st.booleans())
    def deliver(self, data: st.DataObject, lost: bool, repeated: bool) -> None:
        index = data.draw(st.integers(0, len(self.network) - 1))
        target, event = self.network[index] if repeated else self.network.pop(index)
        if not lost or repeated:
            self.feed(target, event)

    @precondition(lambda self: self.network)
    @rule(data=st.data(), after=st.integers(0, 8))
    def deliver_and_crash(self, data: st.DataObject, after: int) -> None:
        self.feed(*self.network.pop(data.draw(st.integers(0, len(self.network) - 1))), after)

    @rule(node=NODES, other=NODES)
    def request_times_out(self, node: int, other: int) -> None:
        self.feed(node, events.RequestTimedOut(other))
        self.feed(node, events.BackoffExpired(other))

    @rule(node=NODES)
    def fetches_wait_no_longer(self, node: int) -> None:
        replica = self.processes[node].replica
        for parked in replica.parked if replica else ():
            self.feed(node, events.FetchWaitExpired(parked.source, parked.correlation))

    @rule(node=NODES)
    def append(self, node: int) -> None:
        replica = self.processes[node].replica
        if replica is not None and isinstance(replica.role, Leader):
            self.appended += 1
            self.feed(node, events.Append(replica.epoch, (self.appended,)))
            self.feed(node, events.Poll((events.Timer.LINGER,)))

    @rule(node=NODES)
    def resign(self, node: int) -> None:
        replica = self.processes[node].replica
        if replica is not None:
            self.feed(node, events.Resign(replica.epoch))
            self.feed(node, events.Poll())

    @rule(node=NODES, power=st.booleans())
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

    @rule(node=NODES)
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
        elif replica.high_watermark is not None:
            before = process.known_high_watermark
            assert before is None or replica.high_watermark >= before, "the high watermark fell"
        process.known_high_watermark = replica.high_watermark
        voted = replica.quorum_state.voted
        for effect in outcome.effects:
            answer = effect.response if isinstance(effect, Reply) else None
            if isinstance(answer, VoteResponse) and answer.granted and voted is not None:
                first = self.votes.setdefault((node, answer.epoch), voted)
                # After a restart at kraft.version 0 the directory is not known any more (PERSIST-9).
                assert matches(voted, first), f"{node} voted for {first} and {voted} in epoch {answer.epoch}"

    def commit(self, records: list[tuple[int, object]]) -> None:
        agreed = min(len(records), len(self.committed))
        assert records[:agreed] == self.committed[:agreed], "a committed record changed"
        self.committed.extend(records[agreed:])

    # What must be true at any time.

    @invariant()
    def logs_match(self) -> None:
        """Epochs never decrease in a log. Records of one offset and epoch are the same, and so is everything
        before them.
        """
        logs = [records_of(process.disk.log.batches) for process in self.processes.values()]
        for log in logs:
            epochs = [epoch for epoch, _ in log]
            assert epochs == sorted(epochs)
        for one, other in combinations(logs, 2):
            same = [n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a[0] == b[0]]
            if same:
                assert one[: same[-1] + 1] == other[: same[-1] + 1]

    @invariant()
    def leaders_have_what_is_committed(self) -> None:
        running = (process.replica for process in self.processes.values() if process.replica)
        leading = [replica for replica in running if isinstance(replica.role, Leader)]
        if leading and self.committed:
            newest = max(leading, key=lambda replica: replica.epoch)
            if newest.epoch >= max(epoch for epoch, _ in self.committed):
                records = records_of(newest.log.batches)
                assert records[: len(self.committed)] == self.committed


def random_runs(machine: type[Cluster], count: int, steps: int) -> type[TestCase]:
    """A test of so many runs, of at most so many steps; see :func:`tests.examples.examples`. By day they are
    the same runs each time.
    """
    usual = settings.get_profile("day")
    by_day = settings.default is None or settings.default.max_examples == usual.max_examples
    many = settings(examples(count), stateful_step_count=steps, derandomize=by_day)
    return type(f"Test{machine.__name__}", (machine.TestCase,), {"settings": many})
