"""Requests reach a replica only at the address at which it listens."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kraftcheck.engine.steps import initial_states, steps
from kraftcheck.engine.system import GlobalState
from kraftcheck.reference.effects import Transition
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event, RequestReceived, ResponseReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import (
    ApiVersionsRequest,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import (
    AddingVoter,
    Connection,
    Election,
    Follower,
    Leader,
    Prospective,
    QuorumState,
    Replica,
    Unattached,
)
from kraftcheck.reference.step import step
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, static_voters
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kraft import address_checks, addresses
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Execution, Node
from kraftcheck.systems.kraft.scenario import KRaftScenario
from kraftcheck.systems.kraft.step import Action
from kraftcheck.systems.kraft.system import KRaftSystem
from tests.systems.kraft.small import changed

OLD, NEW = addresses.first_endpoints(1), addresses.first_endpoints(1, moved=True)
MORE = addresses.first_endpoints(1, moved=True, second=True)
SERVER = addresses.first_endpoints(2)
FETCH = FetchRequest(1, ReplicaKey(2), 0, 0, None, 0)


def follower(endpoints: tuple[Endpoint, ...] = NEW) -> Replica:
    return Replica(
        ReplicaKey(2), static_voters((1, 2)), quorum_state=QuorumState(1, 1), role=Follower(endpoints)
    )


# The address that a sender knows.


def test_a_follower_finds_its_leader_where_that_said_it_listens() -> None:
    assert addresses.known_to(follower(), 1, FETCH, OLD) == NEW[0]


def test_a_replica_without_a_leader_asks_a_server_where_it_is_configured() -> None:
    lost = replace(follower(), role=Unattached(), quorum_state=QuorumState(1))
    assert addresses.known_to(lost, 2, FETCH, SERVER) == SERVER[0]
    assert addresses.known_to(follower(), 2, FETCH, SERVER) == SERVER[0]


def test_voters_find_each_other_in_their_voter_set() -> None:
    vote = VoteRequest(2, ReplicaKey(2), None, 0, 0, True)
    assert addresses.known_to(follower(), 1, vote, SERVER) == OLD[0]


def test_a_leader_tries_the_address_that_the_admin_client_names() -> None:
    change = AddingVoter(-1, None, Voter(ReplicaKey(3, "d3"), MORE), True)
    leader = replace(follower(), role=Leader(0, (), (), change=change))
    assert addresses.known_to(leader, 3, ApiVersionsRequest(), SERVER) == MORE[0]


def test_without_the_listener_of_the_voters_no_address_is_known() -> None:
    assert addresses.known_to(follower(MORE[1:]), 1, FETCH, OLD) is None


def test_a_replica_that_moves_twice_is_back() -> None:
    assert addresses.elsewhere(1, OLD) == NEW
    assert addresses.elsewhere(1, addresses.elsewhere(1, MORE)) == MORE


# Deliveries.


def system(**changes: Any) -> KRaftSystem:
    return build(cast(KRaftScenario, changed("leader-moves", **changes)))


def act(system: KRaftSystem, state: GlobalState, kind: str) -> GlobalState:
    found = [
        each.target
        for each in steps(system, state)
        if each.outcome is not None and isinstance(each.outcome.action, Action)
        if each.outcome.action.kind == kind and not each.outcome.action.crashes
    ]
    assert found, kind
    return found[0]


def test_a_request_to_an_address_that_a_replica_has_left_is_not_delivered() -> None:
    tested = system()
    (begun,) = initial_states(tested)
    moved = act(tested, begun, "move")
    node = cast(Node, moved.locals[0])
    assert node.replica is not None and node.replica.endpoints == NEW
    fetch = next(m for m in cast(tuple[InFlight, ...], moved.messages) if m.destination == 1)
    assert fetch.address == OLD[0]
    (refused,) = tested.deliver(0, node, fetch)
    assert refused.local is node and str(refused.action).startswith("not reached at 1 (by FetchRequest")
    (answer,) = cast(tuple[InFlight, ...], refused.sends)
    assert isinstance(answer.payload, FetchResponse) and answer.destination == fetch.source
    assert answer.payload.error is ErrorCode.BROKER_NOT_AVAILABLE
    assert not tested.deliver(0, node, replace(fetch, answerable=False))[0].sends


def test_without_addresses_requests_have_none() -> None:
    tested = system(network__addresses="ignored", budgets={}, environment__moves_at=[])
    (begun,) = initial_states(tested)
    assert all(message.address is None for message in cast(tuple[InFlight, ...], begun.messages))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"network__addresses": "ignored"}, "budgets.moves, replicas.misadvertised: need"),
        ({"budgets": {}}, "there are no budgets.moves to spend there"),
        ({"budgets": {"moves": 1, "wipes": 1}}, "budgets.moves: goes without budgets.wipes"),
        ({"network__idle_answers": "left-out"}, "network.idle-answers: 'left-out' needs"),
        ({"replicas__moved": [1], "replicas__misadvertised": [1]}, "is not in replicas.moved"),
    ],
)
def test_keys_that_contradict_each_other_are_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        system(**changes)


# S-43.


def judged(before: Replica, event: Event, endpoints: tuple[Endpoint, ...], *, newly: bool) -> list[str]:
    after = replace(before, role=Follower(endpoints), quorum_state=QuorumState(1, 1))
    done = step(Protocol(), before, event)
    assert done.replica.quorum_state == after.quorum_state
    effects = [each for each in done.effects if newly or not isinstance(each, Transition)]
    return list(address_checks.violations(before, event, Execution((event,), tuple(effects), (), after)))


LOST = replace(follower(), role=Unattached(), quorum_state=QuorumState(1), connections=(Connection(2, True),))
LOSING = Prospective(Election((1, 2), (2,)), NEW)
PROSPECTIVE = replace(LOST, role=LOSING, quorum_state=QuorumState(1, 1), connections=(Connection(1, True),))
REJECTED = ResponseReceived(1, VoteResponse(1, 1))
NAMED = ResponseReceived(2, BeginQuorumEpochResponse(1, 1, NEW))
UNNAMED = ResponseReceived(2, BeginQuorumEpochResponse(1, 1))
ANNOUNCED = RequestReceived(1, BeginQuorumEpochRequest(1, 1, None, MORE))


@pytest.mark.parametrize(
    ("before", "event", "endpoints", "newly", "holds"),
    [
        (LOST, NAMED, NEW, True, True),
        (LOST, NAMED, OLD, True, False),
        (LOST, UNNAMED, OLD, True, True),
        (LOST, UNNAMED, NEW, True, False),
        # It loses the election, and follows the leader that it knew.
        (PROSPECTIVE, REJECTED, NEW, True, True),
        (PROSPECTIVE, REJECTED, OLD, True, False),
        (follower(), ANNOUNCED, MORE, True, True),
        (follower(), ANNOUNCED, NEW, False, False),
        (follower(), NAMED, OLD, False, True),
    ],
)
def test_a_follower_knows_the_endpoints_that_were_named(
    before: Replica, event: Event, endpoints: tuple[Endpoint, ...], newly: bool, holds: bool
) -> None:
    found = judged(before, event, endpoints, newly=newly)
    assert found == ([] if holds else ["LeaderEndpointsAreKnown"])
