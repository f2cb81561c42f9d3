"""Properties of UpdateRaftVoter, of late answers, and of the records that a new voter really holds."""

from __future__ import annotations

import pytest

from kraftcheck.reference.effects import AppendBatch, Send
from kraftcheck.reference.events import Poll, RequestReceived, ResponseReceived
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, KRaftVersion, Voters
from kraftcheck.reference.messages import ApiVersionsResponse, UpdateRaftVoterRequest
from kraftcheck.reference.protocol import KAFKA, KIP853, Protocol
from kraftcheck.reference.replica import AddingVoter, Follower, Leader, Replica
from kraftcheck.reference.voters import Endpoint, ReplicaKey, Voter, VoterSet, voter_set
from kraftcheck.systems.kraft import voter_checks
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.checks import leader_violations
from kraftcheck.systems.kraft.history import History, record
from kraftcheck.systems.kraft.host import Host
from kraftcheck.systems.kraft.invariants import added_voter_holds_epoch
from kraftcheck.systems.kraft.labels import Refused
from kraftcheck.systems.kraft.membership import Origin
from kraftcheck.systems.kraft.node import Execution, Node
from kraftcheck.systems.kraft.wiring import Wiring
from kraftcheck.systems.scenario import shipped

_ELSEWHERE = (Endpoint("CONTROLLER", "elsewhere", 9093),)


def _leader(name: str = "moved-voter-is-known") -> Node:
    node = build(shipped()[name]).nodes[0]
    assert node.replica is not None and isinstance(node.replica.role, Leader)
    return node


def _update(leader: Replica, epoch: int = 1) -> tuple[RequestReceived, Execution]:
    key = ReplicaKey(2, "d2")
    event = RequestReceived(key.id, UpdateRaftVoterRequest(epoch, key, _ELSEWHERE, 0, 1))
    return event, Host(Wiring(), KAFKA, leader).execute(leader, event)


def _judged(node: Node, event: RequestReceived, execution: Execution) -> set[str]:
    assert node.replica is not None
    after = Node(execution.replica, node.disk)
    found = {*voter_checks.violations(KAFKA, node.replica, event, execution, after)}
    return found | {*leader_violations(node.replica, event, execution)}


def test_an_accepted_update_is_appended() -> None:
    node = _leader()
    assert node.replica is not None
    event, execution = _update(node.replica)
    assert _judged(node, event, execution) == set()
    silent = tuple(each for each in execution.effects if not isinstance(each, AppendBatch))
    assert "VoterChangeIsAsAsked" in _judged(node, event, replace(execution, effects=silent))


@pytest.mark.parametrize("moved", [True, False])
def test_no_voter_asks_for_the_entry_that_it_has(moved: bool) -> None:
    node = build(shipped()["moved-voter-is-known"]).nodes[1]
    voter = node.replica
    assert voter is not None and isinstance(voter.role, Follower)
    entry = voter.own_entry if moved else voter.voters.entry(voter.key)
    assert entry is not None
    asked = UpdateRaftVoterRequest(1, entry.key, entry.endpoints, entry.min_kraft_version, 1)
    sent = Execution((Poll(),), (Send(1, asked),), (), voter)
    found = {*voter_checks.violations(KAFKA, voter, Poll(), sent, node)}
    assert found == (set() if moved else {"VoterChangeIsAsAsked"})


@pytest.mark.slow
@pytest.mark.parametrize("part", ["endpoints", "versions", "others", "with-version"])
def test_the_new_entry_is_the_one_that_was_told(part: str) -> None:
    node = _leader()
    assert node.replica is not None
    event, execution = _update(node.replica)
    number = next(n for n, each in enumerate(execution.effects) if isinstance(each, AppendBatch))
    appended = execution.effects[number]
    assert isinstance(appended, AppendBatch)
    (entry,) = appended.batch.records
    assert isinstance(entry, Voters)
    first, second = entry.voters.voters
    assert second.endpoints == _ELSEWHERE
    changed = {
        "endpoints": (first, replace(second, endpoints=())),
        "versions": (first, replace(second, max_kraft_version=9)),
        "others": (replace(first, endpoints=()), second),
        "with-version": (first, second),
    }[part]
    records = (KRaftVersion(1),) if part == "with-version" else ()
    batch = replace(appended.batch, records=(*records, Voters(voter_set(changed))))
    effects = (*execution.effects[:number], AppendBatch(batch), *execution.effects[number + 1 :])
    assert "VoterChangeIsAsAsked" in _judged(node, event, replace(execution, effects=effects))


@pytest.mark.slow
def test_a_refused_update_leaves_no_trace_and_keeps_nobody_in_office() -> None:
    node = _leader("upgrade-three-voters")
    leader = node.replica
    assert leader is not None and isinstance(leader.role, Leader)
    event, execution = _update(leader, epoch=0)
    assert execution.replica.role == leader.role
    assert _judged(node, event, execution) == set()
    noted = (Voter(ReplicaKey(2, "d2"), _ELSEWHERE, 0, 1),)
    roles = {
        "VoterChangeIsAsAsked": replace(leader.role, reported=noted),
        "CheckQuorumNeedsMajority": replace(leader.role, contacts=(2,)),
    }
    for name, role in roles.items():
        assert _judged(node, event, replace(execution, replica=replace(leader, role=role))) == {name}


def test_a_description_of_a_static_voter_is_noted_beside_the_others() -> None:
    node = _leader("upgrade-three-voters")
    assert node.replica is not None
    event, execution = _update(node.replica)
    assert _judged(node, event, execution) == set()
    role = execution.replica.role
    assert isinstance(role, Leader) and len(role.reported) == 1
    forgotten = replace(execution.replica, role=replace(role, reported=()))
    assert "VoterChangeIsAsAsked" in _judged(node, event, replace(execution, replica=forgotten))


def test_an_addition_is_never_told_that_there_is_no_such_voter() -> None:
    """The words are those of the other request, whatever has been committed."""
    two = Origin(voter_set(Voter(ReplicaKey(id, f"d{id}")) for id in (1, 2)), 1)
    three = ReplicaKey(3, "d3")
    assert record(History(origin=two), Refused(three, True, False)).violations == (
        "RefusalTellsCommittedSet",
    )
    assert not record(History(origin=two), Refused(three, False, False)).violations


def test_a_new_voter_holds_the_epoch_in_which_it_was_added() -> None:
    judge = added_voter_holds_epoch((1, 2))
    new, nobody = ReplicaKey(2, "d2"), frozenset[ReplicaKey]()
    leader = (ReplicaKey(1, "d1"), 3, 3, frozenset({new}))
    assert judge.holds((leader, (new, 3, 3, nobody)), None)
    assert not judge.holds((leader, (new, 3, 2, nobody)), None)
    assert not judge.holds((leader, (new, 2, 0, nobody)), None)
    assert judge.holds((leader, (new, 4, 2, nobody)), None)
    assert judge.holds((leader, (ReplicaKey(2, "d2-2"), 3, 0, nobody)), None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "key", "violated"),
    [
        (KAFKA, ReplicaKey(2, "d2-2"), True),
        (KAFKA, ReplicaKey(3, "d3"), False),
        (KIP853, ReplicaKey(2, "d2-2"), False),
        (KIP853, ReplicaKey(2, "d2"), True),
    ],
)
def test_what_an_addition_may_name_twice(protocol: Protocol, key: ReplicaKey, violated: bool) -> None:
    """An id with composite keys, on another disk (VSET-3); a key never."""
    node = _leader()
    leader = node.replica
    assert leader is not None and isinstance(leader.role, Leader)
    change = AddingVoter(-1, 0, Voter(key, _ELSEWHERE), True)
    asking = replace(leader, role=replace(leader.role, change=change))
    voters = sorted((*leader.voters.voters, Voter(key, _ELSEWHERE, 0, 1)), key=lambda voter: voter.key)
    batch = Batch(leader.log.end_offset, leader.epoch, (Voters(VoterSet(tuple(voters))),))
    event = ResponseReceived(key.id, ApiVersionsResponse((0, 1)))
    execution = Execution((event,), (AppendBatch(batch),), (), asking)
    found = {*voter_checks.violations(protocol, asking, event, execution, node)}
    assert ("VoterChangeIsAsAsked" in found) == violated
