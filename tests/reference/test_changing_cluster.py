"""The cluster of ``test_cluster`` while its voters change: by AlterQuorum, and with composite keys.

Two replicas begin as voters and the third as observer, which finds the leader by asking. Whatever is lost,
repeated or crashes, the properties of ``test_cluster`` hold, and the voters change one at a time.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Effect, Reply
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, Poll, RequestReceived, ResponseReceived, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import VoterAssignment, Voters
from kraftcheck.reference.messages import (
    AddRaftVoterRequest,
    AlterQuorumRequest,
    AlterQuorumResponse,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    FetchResponse,
    RemoveRaftVoterRequest,
    Request,
)
from kraftcheck.reference.protocol import KIP595, KIP853
from kraftcheck.reference.replica import QuorumState, Replica, Unattached
from kraftcheck.reference.step import Outcome
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, static_voters, voter_set
from tests.reference.test_cluster import GROUPS, IDS, Cluster, runs

CLIENT = -1
FIRST_VOTERS = (1, 2)
TARGETS = st.none() | st.sets(st.sampled_from(IDS), min_size=1).map(sorted).map(tuple)


class ChangingCluster(Cluster):
    """What both ways of changing voters share: a client, and observers that look for the leader."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Request] = []

    def ask(self, node: int, request: Request) -> None:
        """A client that is no node asks; the answer comes to :meth:`answered`."""
        self.asked.append(request)
        self.feed(node, RequestReceived(CLIENT, request, len(self.asked) - 1, now=1))
        self.feed(node, Poll((Timer.LINGER,)))

    def apply(self, node: int, effect: Effect, outcome: Outcome) -> None:
        if isinstance(effect, Reply) and effect.to == CLIENT:
            assert effect.correlation is not None
            self.answered(self.asked[effect.correlation], effect)
            return
        super().apply(node, effect, outcome)

    def answered(self, request: Request, answer: Reply) -> None:
        """Nothing is asked of an answer unless a subclass does."""

    def round(self, group: frozenset[int], polling: frozenset[int]) -> None:
        for node in sorted(polling):
            replica = self.processes[node].replica
            if replica is not None and isinstance(replica.role, Unattached):
                others = sorted(group - {node}, key=lambda other: (other - node) % 3)
                self.feed(node, Poll((), others[0] if others else None))
        super().round(group, polling)

    @rule(group=GROUPS, count=st.integers(2, 10))
    def catch_up(self, group: frozenset[int], count: int) -> None:
        """Nobody waits for old answers any more, and the group works without faults for a while."""
        for node in sorted(group):
            for other in IDS:
                self.request_times_out(node, other)
        for _ in range(count):
            self.round(group, group)


class AlteredCluster(ChangingCluster):
    """KIP-595: AlterQuorum with any targets, cancelled and replaced at any time."""

    protocol = KIP595

    def identity(self, node: int, next_correlation: int) -> Replica:
        endpoints = (Endpoint("CONTROLLER", f"node-{node}", 9093),)
        voters = static_voters(FIRST_VOTERS)
        return Replica(ReplicaKey(node), voters, endpoints=endpoints, next_correlation=next_correlation)

    def feed(self, node: int, event: Event, crash_after: int | None = None) -> None:
        """No timer runs for UpdateRaftVoter: these replicas know kraft.version 0 only."""
        if isinstance(event, Poll):
            event = replace(event, expired=tuple(t for t in event.expired if t is not Timer.UPDATE_VOTER))
        super().feed(node, event, crash_after)

    @rule(node=st.sampled_from(IDS), wanted=TARGETS, count=st.integers(0, 8), group=GROUPS)
    def alter(self, node: int, wanted: tuple[int, ...] | None, count: int, group: frozenset[int]) -> None:
        self.ask(node, AlterQuorumRequest(wanted))
        for _ in range(count):
            self.round(group, group)

    def assignments(self) -> list[VoterAssignment]:
        return [record for _, record in self.committed if isinstance(record, VoterAssignment)]

    def answered(self, request: Request, answer: Reply) -> None:
        """S-40, first half: whoever is told of success finds the target committed."""
        assert isinstance(request, AlterQuorumRequest)
        assert isinstance(answer.response, AlterQuorumResponse)
        if answer.response.error is not ErrorCode.NONE:
            return
        known = self.assignments() or [VoterAssignment(FIRST_VOTERS)]
        if request.target is None:
            assert any(record.target is None for record in (VoterAssignment(FIRST_VOTERS), *known))
        else:
            reached = (VoterAssignment(FIRST_VOTERS), *known)
            assert any(record.wanted == request.target for record in reached)

    @invariant()
    def voters_change_one_at_a_time(self) -> None:
        """S-40, second half."""
        sets = [set(FIRST_VOTERS), *(set(record.voters) for record in self.assignments())]
        assert all(len(one ^ other) <= 1 for one, other in pairwise(sets))

    @invariant()
    def at_most_one_assignment_is_undecided(self) -> None:
        for process in self.processes.values():
            beyond = [offset for offset, _ in process.disk.log.assignments if offset >= len(self.committed)]
            assert len(beyond) <= 1


class CompositeCluster(ChangingCluster):
    """KIP-853 with composite keys: the third replica may be a voter on two disks."""

    protocol = KIP853

    def __init__(self) -> None:
        super().__init__()
        self.disks = dict.fromkeys(IDS, "a")

    def key(self, node: int, disk: str) -> ReplicaKey:
        return ReplicaKey(node, f"{node}{disk}")

    def identity(self, node: int, next_correlation: int) -> Replica:
        endpoints = (Endpoint("CONTROLLER", f"node-{node}", 9093),)
        entries = voter_set(
            Voter(self.key(voter, "a"), (Endpoint("CONTROLLER", f"node-{voter}", 9093),), 0, 1)
            for voter in FIRST_VOTERS
        )
        # The observer has the voters' checkpoint; what becomes of one that has none is a finding of its own
        # (the scenario finding-observer-without-voter-set).
        return Replica(
            self.key(node, self.disks[node]),
            entries,
            endpoints=endpoints,
            next_correlation=next_correlation,
            bootstrap_kraft_version=1,
            max_kraft_version=1,
        )

    @rule(node=st.sampled_from(IDS), new=st.sampled_from(IDS), count=st.integers(0, 8), group=GROUPS)
    def add(self, node: int, new: int, count: int, group: frozenset[int]) -> None:
        endpoints = (Endpoint("CONTROLLER", f"node-{new}", 9093),)
        self.ask(node, AddRaftVoterRequest(self.key(new, self.disks[new]), endpoints))
        for _ in range(count):
            self.round(group, group)

    @rule(node=st.sampled_from(IDS), old=st.sampled_from(IDS), disk=st.sampled_from("ab"), group=GROUPS)
    def remove(self, node: int, old: int, disk: str, group: frozenset[int]) -> None:
        self.ask(node, RemoveRaftVoterRequest(self.key(old, disk)))
        for _ in range(4):
            self.round(group, group)

    @precondition(lambda self: self.disks[3] == "a")
    @rule()
    def replace_disk(self) -> None:
        """The disk of the third replica is lost and its vote with it; so is what it said."""
        self.disks[3] = "b"
        self.processes[3].disk = Disk()
        self.processes[3].replica = None
        self.network = [packet for packet in self.network if 3 not in (packet.source, packet.target)]
        self.votes = {place: vote for place, vote in self.votes.items() if place[0] != 3}
        self.start(3)

    def run(self, node: int, outcome: Outcome, event: Event | None, crash_after: int | None) -> None:
        """A process that dies of what a finding shows is gone, and its death forgotten; :meth:`nobody_died`
        judges all others.
        """
        before = self.processes[node].replica
        earlier = len(self.deaths)
        super().run(node, outcome, event, crash_after)
        if len(self.deaths) > earlier and before is not None and _is_known(before, event, self.deaths[-1]):
            self.deaths.pop()
            self.processes[node].replica = None

    @invariant()
    def sets_change_one_at_a_time(self) -> None:
        records = [record.voters.keys for _, record in self.committed if isinstance(record, Voters)]
        sets = [set(keys) for keys in [self.identity(1, 0).bootstrap_voters.keys, *records]]
        assert all(len(one ^ other) <= 1 for one, other in pairwise(sets))


def _is_known(replica: Replica, event: Event | None, death: str) -> bool:
    """Whether a death is one of three of production: a voter answers BeginQuorumEpoch after its removal (the
    scenario finding-removed-voter-acknowledges), a resigned leader that its receiver has not got among its
    voters does not say where it listens (finding-resigned-leader-unknown), and a leader answers a replica
    that remembers it but not its endpoints (finding-observer-of-one-controller).
    """
    if isinstance(event, ResponseReceived) and isinstance(event.response, FetchResponse):
        remembered = replica.quorum_state.leader is not None and isinstance(replica.role, Unattached)
        return (
            "a Fetch response of the current epoch reached a replica that is no Follower" in death
            and remembered
        )
    if isinstance(event, ResponseReceived) and isinstance(event.response, BeginQuorumEpochResponse):
        return "acknowledged the leader but is not a voter" in death and not replica.voters.find(event.source)
    if not isinstance(event, RequestReceived) or not isinstance(event.request, EndQuorumEpochRequest):
        return False
    leader = event.request.leader
    unknown = not event.request.leader_endpoints and replica.voters.find(leader) is None
    return f"the endpoints of leader {leader} are not known" in death and unknown


class LongAlteration(AlteredCluster):
    """The same, with more time to find something."""


class LongReplacement(CompositeCluster):
    """The same, with more time to find something."""


AlteredCluster.TestCase.settings = runs(60, steps=50)
CompositeCluster.TestCase.settings = runs(60, steps=50)
LongAlteration.TestCase.settings = runs(300, steps=50)
LongReplacement.TestCase.settings = runs(300, steps=50)
TestAlteredCluster = AlteredCluster.TestCase
TestCompositeCluster = CompositeCluster.TestCase
TestLongAlteration = pytest.mark.slow(LongAlteration.TestCase)
TestLongReplacement = pytest.mark.slow(LongReplacement.TestCase)


def test_no_other_death_is_taken_for_a_known_one() -> None:
    replica = Replica(ReplicaKey(1, "1a"), static_voters((1, 2)))
    resigned = RequestReceived(3, EndQuorumEpochRequest(1, 3, ()))
    unknown = "1: the endpoints of leader 3 are not known"
    assert _is_known(replica, resigned, unknown)
    assert not _is_known(replace(replica, bootstrap_voters=static_voters((1, 2, 3))), resigned, unknown)
    assert not _is_known(replica, resigned, "1: the endpoints of leader 2 are not known")
    assert not _is_known(replica, RequestReceived(3, BeginQuorumEpochRequest(1, 3, None, ())), unknown)
    assert not _is_known(replica, Poll(), unknown)
    answer = ResponseReceived(3, BeginQuorumEpochResponse(1))
    outside = "1: node 3 acknowledged the leader but is not a voter"
    assert _is_known(replica, answer, outside)
    assert not _is_known(replica, answer, unknown)
    assert not _is_known(replace(replica, bootstrap_voters=static_voters((1, 2, 3))), answer, outside)
    fetched = ResponseReceived(3, FetchResponse(1, 3))
    no_follower = "1: a Fetch response of the current epoch reached a replica that is no Follower"
    remembering = replace(replica, quorum_state=QuorumState(1, leader=3))
    assert _is_known(remembering, fetched, no_follower)
    assert not _is_known(replica, fetched, no_follower)
    assert not _is_known(remembering, fetched, unknown)


# The machines above would pass if nothing ever changed; without faults everything is reached.


def test_alter_quorum_replaces_everybody() -> None:
    cluster = AlteredCluster()
    cluster.boot()
    everybody = frozenset(IDS)
    cluster.catch_up(everybody, 5)
    cluster.alter(1, (3,), 18, everybody)
    cluster.election(everybody, 3, 6, 7)
    cluster.catch_up(everybody, 10)
    cluster.nobody_died()
    steps = [record for record in cluster.assignments() if isinstance(record, VoterAssignment)]
    assert steps == [
        VoterAssignment((1, 2), (3,)),
        VoterAssignment((1, 2, 3), (3,)),
        VoterAssignment((1, 3), (3,)),
        VoterAssignment((3,), (3,)),
        VoterAssignment((3,)),
    ]
    assert cluster.leaders[max(cluster.leaders)] == 3


def test_a_disk_is_replaced_by_adding_before_removing() -> None:
    cluster = CompositeCluster()
    cluster.boot()
    everybody = frozenset(IDS)
    cluster.catch_up(everybody, 6)
    cluster.add(1, 3, 10, everybody)
    cluster.replace_disk()
    cluster.catch_up(everybody, 10)
    cluster.add(1, 3, 10, everybody)
    cluster.remove(1, 3, "a", everybody)
    cluster.catch_up(everybody, 6)
    cluster.nobody_died()
    sets = [record.voters.keys for _, record in cluster.committed if isinstance(record, Voters)]
    first, second = cluster.key(1, "a"), cluster.key(2, "a")
    old, new = cluster.key(3, "a"), cluster.key(3, "b")
    assert sets[-3:] == [(first, second, old), (first, second, old, new), (first, second, new)]
