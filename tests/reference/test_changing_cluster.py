"""The cluster while its voters change: by AlterQuorum, and with composite keys.

Two replicas begin as voters and the third as observer, which finds the leader by asking. Whatever is lost,
repeated or crashes, the properties of the cluster hold, and the voters change one at a time.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from kraftcheck.reference import messages
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Effect, Reply
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Poll, RequestReceived, Timer
from kraftcheck.reference.log import VoterAssignment, Voters
from kraftcheck.reference.protocol import KIP595, KIP853
from kraftcheck.reference.replica import Unattached
from kraftcheck.reference.voters import ReplicaKey, Voter, static_voters, voter_set
from kraftcheck.systems.kraft.administration import first_directory, next_directory
from tests.reference.cluster import EVERYBODY, GROUPS, IDS, NODES, Cluster, random_runs

CLIENT = -1
FIRST_VOTERS = (1, 2)
TARGETS = st.none() | st.sets(NODES, min_size=1).map(sorted).map(tuple)


class ChangingCluster(Cluster):
    """What both ways of changing voters share: a client, and observers that look for the leader."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[messages.Request] = []

    def ask(self, node: int, request: messages.Request, group: frozenset[int], rounds: int) -> None:
        """A client asks, and a group works for a while; the answer comes to :meth:`answered`."""
        self.asked.append(request)
        self.feed(node, RequestReceived(CLIENT, request, len(self.asked) - 1, now=1))
        self.feed(node, Poll((Timer.LINGER,)))
        for _ in range(rounds):
            self.round(group, group)

    def apply(self, node: int, effect: Effect) -> None:
        if isinstance(effect, Reply) and effect.to == CLIENT:
            assert effect.correlation is not None
            self.answered(self.asked[effect.correlation], effect)
        else:
            super().apply(node, effect)

    def answered(self, request: messages.Request, answer: Reply) -> None:
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
        """No replica waits for old answers any more, and the group works without faults for a while."""
        for node in sorted(group):
            for other in IDS:
                self.request_times_out(node, other)
        for _ in range(count):
            self.round(group, group)


class AlteredCluster(ChangingCluster):
    """KIP-595: AlterQuorum with any targets, cancelled and replaced at any time."""

    protocol = KIP595
    voters = static_voters(FIRST_VOTERS)
    timers = tuple(timer for timer in Timer if timer is not Timer.UPDATE_VOTER)  # of kraft.version 1

    def key(self, node: int) -> ReplicaKey:
        return ReplicaKey(node)

    @rule(node=NODES, wanted=TARGETS, count=st.integers(0, 8), group=GROUPS)
    def alter(self, node: int, wanted: tuple[int, ...] | None, count: int, group: frozenset[int]) -> None:
        self.ask(node, messages.AlterQuorumRequest(wanted), group, count)

    def assignments(self) -> list[VoterAssignment]:
        """The first voters, and the committed assignments."""
        records = [record for _, record in self.committed if isinstance(record, VoterAssignment)]
        return [VoterAssignment(FIRST_VOTERS), *records]

    def answered(self, request: messages.Request, answer: Reply) -> None:
        """S-40, first half: a client that receives success finds the target committed."""
        assert isinstance(request, messages.AlterQuorumRequest)
        assert isinstance(answer.response, messages.AlterQuorumResponse)
        if answer.response.error is ErrorCode.NONE:
            wanted = request.target
            assert any(
                (each.target if wanted is None else each.wanted) == wanted for each in self.assignments()
            )

    @invariant()
    def voters_change_one_at_a_time(self) -> None:
        """S-40, second half."""
        sets = [set(record.voters) for record in self.assignments()]
        assert all(len(one ^ other) <= 1 for one, other in pairwise(sets))

    @invariant()
    def at_most_one_assignment_is_undecided(self) -> None:
        for process in self.processes.values():
            beyond = [offset for offset, _ in process.disk.log.assignments if offset >= len(self.committed)]
            assert len(beyond) <= 1


def entry(node: int, disk: str = "a") -> Voter:
    directory = first_directory(node)
    key = ReplicaKey(node, directory if disk == "a" else next_directory(directory))
    return Voter(key, static_voters([node]).endpoints(node), 0, 1)


class CompositeCluster(ChangingCluster):
    """KIP-853 with composite keys: the third replica may be a voter on two disks.

    The observer has the voters' checkpoint; what becomes of one that has none is a finding of its own (the
    scenario finding-observer-without-voter-set).
    """

    protocol = KIP853
    voters = voter_set(map(entry, FIRST_VOTERS))
    kraft_version = 1
    known_exits = (
        "restart-under-removed-leader", "observer-without-voter-set", "removed-voter-acknowledges",
        "resigned-leader-unknown", "wiped-leader",
    )  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.disks = dict.fromkeys(IDS, "a")

    def key(self, node: int) -> ReplicaKey:
        return entry(node, self.disks[node]).key

    @rule(node=NODES, new=NODES, count=st.integers(0, 8), group=GROUPS)
    def add(self, node: int, new: int, count: int, group: frozenset[int]) -> None:
        self.ask(node, messages.AddRaftVoterRequest(self.key(new), entry(new).endpoints), group, count)

    @rule(node=NODES, old=NODES, disk=st.sampled_from("ab"), group=GROUPS)
    def remove(self, node: int, old: int, disk: str, group: frozenset[int]) -> None:
        self.ask(node, messages.RemoveRaftVoterRequest(entry(old, disk).key), group, 4)

    @precondition(lambda self: self.disks[3] == "a")
    @rule()
    def replace_disk(self) -> None:
        """The disk of the third replica is lost and its vote with it; so is what it said."""
        self.disks[3] = "b"
        self.processes[3].disk = Disk()
        self.network = [(to, event) for to, event in self.network if 3 not in (to, event.source)]  # type: ignore[union-attr]
        self.votes = {place: vote for place, vote in self.votes.items() if place[0] != 3}
        self.start(3)

    @invariant()
    def sets_change_one_at_a_time(self) -> None:
        records = [record.voters for _, record in self.committed if isinstance(record, Voters)]
        sets = [set(voters.keys) for voters in (self.voters, *records)]
        assert all(len(one ^ other) <= 1 for one, other in pairwise(sets))


TestAlteredCluster = random_runs(AlteredCluster, 10, steps=50)
TestCompositeCluster = random_runs(CompositeCluster, 10, steps=50)
TestManyAlterations = pytest.mark.slow(random_runs(AlteredCluster, 150, steps=50))
TestManyReplacements = pytest.mark.slow(random_runs(CompositeCluster, 150, steps=50))


# The machines above would pass if nothing ever changed; without faults everything is reached.


def test_alter_quorum_replaces_all_voters() -> None:
    cluster = AlteredCluster()
    cluster.boot()
    cluster.catch_up(EVERYBODY, 5)
    cluster.alter(1, (3,), 18, EVERYBODY)
    cluster.election(EVERYBODY, 3, 6)
    cluster.catch_up(EVERYBODY, 10)
    assert cluster.assignments() == [
        VoterAssignment((1, 2)),
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
    cluster.catch_up(EVERYBODY, 6)
    cluster.add(1, 3, 10, EVERYBODY)
    cluster.replace_disk()
    cluster.catch_up(EVERYBODY, 10)
    cluster.add(1, 3, 10, EVERYBODY)
    cluster.remove(1, 3, "a", EVERYBODY)
    cluster.catch_up(EVERYBODY, 6)
    sets = [record.voters.keys for _, record in cluster.committed if isinstance(record, Voters)]
    first, second, old, new = (entry(*each).key for each in ((1,), (2,), (3,), (3, "b")))
    assert sets[-3:] == [(first, second, old), (first, second, old, new), (first, second, new)]
