"""What an implementation is sent in the place of what a scenario says, and what is not compared."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kraftcheck.evidence.adapters.answers import Capabilities
from kraftcheck.evidence.adapters.asked import Question
from kraftcheck.evidence.adapters.comparable import comparable
from kraftcheck.evidence.adapters.compare import compare
from kraftcheck.evidence.adapters.deployed import CLUSTER, deployed, modelled, uuid_of
from kraftcheck.evidence.adapters.stimuli import DriveSequence, Start
from kraftcheck.evidence.adapters.wire import EFFECTS
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Poll, RequestReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import VoteRequest
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.step import start
from kraftcheck.reference.voters import ReplicaKey, static_voters

SHOWN = Capabilities("all", frozenset(), frozenset(EFFECTS), frozenset(), ordered=True)


@given(st.text(max_size=40), st.text(max_size=40))
def test_ids_of_directories_become_different_uuids(one: str, other: str) -> None:
    first, second = uuid_of(one), uuid_of(other)
    assert re.fullmatch("[A-Za-z0-9_-]{21}[AQgw]", first)
    assert uuid_of(first) == first
    assert (first == second) == (one == other) or one in (first, second) or other in (first, second)


def test_words_stay_readable() -> None:
    assert uuid_of("d1") == "d1AAAAAAAAAAAAAAAAAAAA"


def test_every_id_in_a_sequence_is_a_uuid_and_the_rest_stays() -> None:
    request = RequestReceived(
        2, VoteRequest(5, ReplicaKey(2, "d2"), ReplicaKey(1, "d1"), 0, 0, pre_vote=False), 0, 0
    )
    identity = Replica(ReplicaKey(1, "d1"), static_voters((1, 2)))
    disk = Disk(QuorumState(4, voted=ReplicaKey(2, "d2")), directory="d1")
    found = deployed(DriveSequence("x", KAFKA, identity, disk, (Start(), request, Poll())))
    assert found.identity.key == ReplicaKey(1, uuid_of("d1")) and found.identity.cluster_id == CLUSTER
    assert found.disk.quorum_state is not None and found.disk.quorum_state.voted == ReplicaKey(
        2, uuid_of("d2")
    )
    assert repr(found.stimuli[1]) == repr(request).replace("'d1'", repr(uuid_of("d1"))).replace(
        "'d2'", repr(uuid_of("d2"))
    )
    assert deployed(found) == found


def test_a_process_without_an_id_of_its_directory_gets_one_and_keeps_its_own_cluster() -> None:
    identity = Replica(ReplicaKey(7), static_voters((7,)), cluster_id="mine")
    found = deployed(DriveSequence("x", KAFKA, identity, Disk(), (Start(),))).identity
    assert found.key.directory == uuid_of("directory-7-") and found.cluster_id == "mine"
    assert found.bootstrap_voters == identity.bootstrap_voters


@pytest.mark.parametrize(
    ("mine", "theirs", "same"),
    [
        ([None], [None, None], True),
        ([None], [2, None], True),
        ([2], [2, 2], True),
        ([2], [3], False),
        ([2], [None], False),
        ([], [None], False),
    ],
)
def test_forgetting_twice_is_forgetting_once(
    mine: list[int | None], theirs: list[int | None], same: bool
) -> None:
    expected, found = (
        [{"effect": "forgetRequests", "node": node} for node in each] for each in (mine, theirs)
    )
    assert (not list(compare(SHOWN, expected, {}, found, {}))) == same


def test_at_a_start_nothing_is_forgotten_and_no_timer_is_compared_that_never_expires() -> None:
    observer = Replica(ReplicaKey(9), static_voters((1, 2)), max_kraft_version=0)
    outcome = start(KAFKA, observer, Disk())
    never = {"effect": "timer", "timer": "election", "ms": None}
    drawn = [{**never, "ms": 1500}, {"effect": "forgetRequests", "node": None}]
    reports = [{"effect": "timer", "timer": "update-voter", "ms": 1}]
    begun = Question(0, 1, Start(), observer, None, outcome, Disk())
    assert comparable(begun, [never], [*drawn, *reports]) == ([], [])
    later = Question(1, 2, Poll(), observer, observer, outcome, Disk())
    assert comparable(later, [never], [*drawn, *reports]) == ([never], drawn)


@pytest.mark.parametrize("key", [ReplicaKey(1, "d1"), ReplicaKey(2, "d2-3"), ReplicaKey(3, None)])
def test_what_a_deployed_replica_sends_has_the_ids_of_the_model_again(key: ReplicaKey) -> None:
    request = VoteRequest(1, key, ReplicaKey(2, "d2"), 0, 0, pre_vote=False)
    identity = Replica(key, static_voters((1, 2, 3)))
    sequence = deployed(DriveSequence("x", KAFKA, identity, Disk(), (RequestReceived(2, request),)))
    assert sequence.identity.key.directory is not None and sequence.identity.cluster_id == CLUSTER
    assert modelled(sequence.identity) == identity
    (received,) = sequence.stimuli
    assert isinstance(received, RequestReceived) and modelled(received.request) == request
    sent = replace(request, candidate=sequence.identity.key, cluster_id=CLUSTER)
    assert modelled(sent) == request
