"""Random sequences: long, seeded, with peers that the driver composes.

Every sequence leads one replica from a disk through many roles. Each stimulus is chosen at random among those
that may happen to the replica as it is: polls with expired timers, lost requests, answers to what it has
asked, requests of peers, input of its state machine, crashes. The peers keep to one leader in an epoch, most
of the time; their logs are whatever the answer at hand needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeVar

from kraftcheck.evidence.adapters import random_messages as messages
from kraftcheck.evidence.adapters.asked import Asking
from kraftcheck.evidence.adapters.choosing import covering
from kraftcheck.evidence.adapters.deadlines import running_timers
from kraftcheck.evidence.adapters.random_messages import Peers
from kraftcheck.evidence.adapters.scripts import beginnings
from kraftcheck.evidence.adapters.stimuli import (
    Crash,
    DriveSequence,
    LateResponse,
    Pause,
    Start,
    Stimulus,
    WaitExpired,
)
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Send
from kraftcheck.reference.events import (
    Append,
    BackoffExpired,
    CreateSnapshot,
    Poll,
    RequestReceived,
    RequestTimedOut,
    Resign,
    ResponseReceived,
    Shutdown,
    Timer,
    UpgradeKRaftVersion,
)
from kraftcheck.reference.log import SnapshotId
from kraftcheck.reference.messages import FetchRequest, FetchResponse, Request
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Connection, Leader, Replica

T = TypeVar("T")

#: How many sequences there are by default, and the steps of each: those of which the part that covers
#: something is driven, and longer ones, which are driven whole.
COUNT, LENGTH = 300, 60
LONG_COUNT, LONG_LENGTH = 40, 200

#: The chance that a timer that runs expires at a poll, and that a poll looks for a leader.
_EXPIRES, _DISCOVERS = 0.2, 0.3
#: The chance that a follower fetches undisturbed until it looks at its own entry in the voter set.
_WAITS = 0.04


def default_sequences(protocol: Protocol, seed: int) -> Iterator[DriveSequence]:
    """Those that ``kraftcheck drive`` takes: some chosen for the pairs that they cover, and longer ones."""
    yield from covering(random_sequences(protocol, seed, COUNT, LENGTH))
    yield from random_sequences(protocol, seed, LONG_COUNT, LONG_LENGTH)


def random_sequences(protocol: Protocol, seed: int, count: int, length: int) -> Iterator[DriveSequence]:
    """``count`` sequences of ``length`` stimuli; the same for the same ``seed``."""
    places = beginnings(protocol)
    for number in range(count):
        identity, disk = places[number % len(places)]
        course = _Course(protocol, identity, disk, Random(f"{seed}/{length}/{number}"))
        name = f"random {number + 1} of {length} steps, seed {seed}"
        yield DriveSequence(name, protocol, identity, disk, course.stimuli(length))


class _Course:
    """One sequence under way: the replica that takes its steps, and the last request to each node."""

    def __init__(self, protocol: Protocol, identity: Replica, disk: Disk, random: Random) -> None:
        self._random = random
        self._asking = Asking(DriveSequence("random", protocol, identity, disk, ()))
        self._peers = Peers(identity, random)
        self._asked: dict[int, Request] = {}
        self._timed_out = False
        self._unnoticed: set[int] = set()
        self._period = protocol.update_voter_period
        self._planned: list[Callable[[Replica], Stimulus]] = []

    def stimuli(self, length: int) -> tuple[Stimulus, ...]:
        """The stimuli of the whole sequence."""
        found: list[Stimulus] = []
        for position in range(length):
            replica = self._asking.replica
            stimulus = Start() if replica is None else self._next(replica)
            found.append(stimulus)
            question = self._asking.ask(position, stimulus)
            for effect in () if question is None or question.outcome is None else question.outcome.effects:
                if isinstance(effect, Send):
                    self._asked[effect.to] = effect.request
                    self._unnoticed.discard(effect.to)
        return tuple(found)

    def _next(self, replica: Replica) -> Stimulus:
        """What happens next: the kinds that are possible now, by their weights."""
        self._peers.knows(replica)
        if self._timed_out:
            # Kafka notices a time-out at its next poll; until then it would still take the answer.
            self._timed_out = False
            return self._poll(replica)
        if self._waits(replica):
            return self._planned.pop(0)(replica)
        awaited = [each for each in replica.connections if each.awaiting]
        waiting = [each for each in replica.connections if not each.awaiting]
        leads = isinstance(replica.role, Leader)
        kinds: list[tuple[int, Callable[[], Stimulus]]] = [
            (30, lambda: self._poll(replica)),
            (18 if leads else 8, lambda: self._request(replica)),
            (2, lambda: self._crash()),
            (4 if leads else 1, lambda: Append(replica.epoch, tuple(self._some_values()))),
            (1, lambda: Resign(replica.epoch - (self._random.random() < 0.1))),
            (4 if replica.high_watermark else 0, lambda: self._snapshot(replica)),
            (1, lambda: UpgradeKRaftVersion(replica.epoch, self._random.randint(0, 1))),
        ]
        if self._random.random() < 0.1:
            kinds.append((1, Shutdown))
        if awaited:
            kinds += [(30, lambda: self._answer(replica, self._one_of(awaited)))]
            kinds += [(4, lambda: self._times_out(self._one_of(awaited)))]
        if waiting:
            kinds += [(8, lambda: BackoffExpired(self._one_of(waiting).node))]
        if replica.parked:
            kinds += [(4, lambda: WaitExpired(self._random.randrange(len(replica.parked))))]
        if late := [node for node in sorted(self._asked) if node not in self._unnoticed]:
            kinds += [(1, lambda: self._late(replica, self._one_of(late)))]
        weights = [weight for weight, _ in kinds]
        return self._random.choices(kinds, weights)[0][1]()

    def _waits(self, replica: Replica) -> bool:
        """Whether the replica follows a plan: it fetches until it looks at its own entry. Without one the
        fetch timer expires before a period of several fetch timeouts is over.
        """
        if Timer.UPDATE_VOTER not in running_timers(replica):
            self._planned = []
        elif not self._planned and self._period > 1 and self._random.random() < _WAITS:
            rounds = (lambda _: Poll(), lambda _: Pause(), self._nothing_new)
            self._planned = [*rounds * self._period, lambda _: Poll((Timer.UPDATE_VOTER,))]
        return bool(self._planned)

    def _nothing_new(self, replica: Replica) -> Stimulus:
        """The answer of the leader to the fetch that awaits one; without such a fetch a poll."""
        leader = replica.quorum_state.leader
        awaits = any(each.awaiting and each.node == leader for each in replica.connections)
        if leader is None or not awaits or not isinstance(self._asked[leader], FetchRequest):
            return Poll()
        return ResponseReceived(leader, FetchResponse(replica.epoch, leader))

    def _one_of(self, things: Sequence[T]) -> T:
        return self._random.choice(things)

    def _poll(self, replica: Replica) -> Poll:
        expired = tuple(t for t in running_timers(replica) if self._random.random() < _EXPIRES)
        # As RequestManager finds a ready bootstrap server: never while an answer is awaited.
        busy = {connection.node for connection in replica.connections}
        idle = not any(connection.awaiting for connection in replica.connections)
        servers = [node for node in self._peers.voters if node not in busy] if idle else []
        found = self._random.random() < _DISCOVERS and bool(servers)
        return Poll(expired, self._one_of(servers) if found else None)

    def _request(self, replica: Replica) -> RequestReceived:
        return RequestReceived(*messages.request(self._peers, replica))

    def _answer(self, replica: Replica, connection: Connection) -> ResponseReceived:
        asked = self._asked[connection.node]
        return ResponseReceived(
            connection.node, messages.response(self._peers, replica, connection.node, asked)
        )

    def _times_out(self, connection: Connection) -> RequestTimedOut:
        # A poll that has nothing to send to the node leaves it unnoticed (RequestManager.isReady).
        self._timed_out = True
        self._unnoticed.add(connection.node)
        return RequestTimedOut(connection.node)

    def _late(self, replica: Replica, node: int) -> LateResponse:
        return LateResponse(node, messages.response(self._peers, replica, node, self._asked[node]))

    def _crash(self) -> Crash:
        return Crash(self._random.choice((0, 0, 1, 2)), loses_power=self._random.random() < 0.4)

    def _some_values(self) -> list[int]:
        return [self._random.randint(1, 9) for _ in range(self._random.randint(1, 3))]

    def _snapshot(self, replica: Replica) -> CreateSnapshot:
        """At the end of a committed batch that no snapshot has yet, and now and then at an impossible
        place.
        """
        newest = max((snapshot.id.end_offset for snapshot in replica.log.snapshots), default=0)
        committed = [
            SnapshotId(batch.end_offset, batch.epoch)
            for batch in replica.log.batches
            if newest < batch.end_offset <= (replica.high_watermark or 0)
        ]
        anywhere = SnapshotId(replica.log.end_offset + self._random.randint(1, 2), replica.epoch)
        usual = committed and self._random.random() < 0.9
        id = self._one_of(committed) if usual else anywhere
        return CreateSnapshot(id, (7,), messages.SNAPSHOT_SIZE, delete_prefix=self._random.random() < 0.5)
