"""Scenarios of the seeds in which voters change: their sizes, and how AlterQuorum is offered."""

from __future__ import annotations

import pytest

from kraftcheck.checking.run import check
from kraftcheck.reference.effects import Reply
from kraftcheck.reference.events import RequestReceived, Resign
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, LeaderChange, VoterAssignment
from kraftcheck.reference.messages import AlterQuorumRequest
from kraftcheck.reference.protocol import KIP595
from kraftcheck.reference.replica import AlteringQuorum, Leader
from kraftcheck.reference.voters import static_voters
from kraftcheck.systems.kraft import assignments, voter_checks
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.history import History, record
from kraftcheck.systems.kraft.host import Host
from kraftcheck.systems.kraft.labels import Altered, Committed
from kraftcheck.systems.kraft.membership import Origin
from kraftcheck.systems.kraft.network import CLIENT
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.wiring import Wiring
from kraftcheck.systems.scenario import shipped
from tests.systems.kraft.small import ALTERING, alone, explored

VIOLATED = {
    "disk-loss-table": ("LeaderCompleteness", 10, 70675),
    "disk-loss-table-votes": ("WipedReplicaIsAnother", 3, 114),
}
UNSETTLED = [
    ("composite-keys-second-disk-lost", 2557),
    ("finding-alter-quorum-leader-leaves", 451),
    pytest.param("finding-alter-quorum-unseen-addition", 4647, marks=pytest.mark.slow),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "found"), VIOLATED.items())
def test_what_a_lost_disk_violates(name: str, found: tuple[str, int, int]) -> None:
    exploration = explored(name)
    (violation,) = exploration.violations
    assert (violation.property, violation.depth, exploration.distinct) == found


@pytest.mark.slow
@pytest.mark.parametrize(("name", "states"), UNSETTLED)
def test_what_is_never_settled(name: str, states: int) -> None:
    """With composite keys the old key counts until the new one is known to be a voter (C-16)."""
    result = check(shipped()[name])
    assert result.as_expected, result.differences
    (judged,) = result.judged
    assert not judged.holds and result.exploration.distinct == states
    assert (judged.cycle == 4) == name.startswith("composite-keys")


def test_a_leader_is_asked_to_alter_the_quorum() -> None:
    system = build(alone(**ALTERING))
    asked = [str(each.action) for each in system.actions(0, system.nodes[0]) if "alter" in str(each.action)]
    assert asked == ["alter quorum at 1 (2,3)", "alter quorum at 1 (cancel)"]


OPENING = Batch(0, 1, (LeaderChange(1, (1, 2), ()),))
WANTED = Batch(1, 1, (VoterAssignment((1, 2), (2, 3)),))
GROWN = Batch(2, 1, (VoterAssignment((1, 2, 3), (2, 3)),))
GIVEN_UP = Batch(3, 1, (VoterAssignment((1, 2, 3)),))
SHRUNK = Batch(3, 1, (VoterAssignment((2, 3), (2, 3)),))
REACHED = Batch(4, 1, (VoterAssignment((2, 3)),))


def _after(*batches: Batch) -> History:
    return History(committed=batches, origin=Origin(static_voters((1, 2)), 0))


@pytest.mark.parametrize(
    ("committed", "target", "violated"),
    [
        ((OPENING,), (2, 3), True),
        ((OPENING,), (1, 2), False),
        ((OPENING,), None, False),
        ((OPENING, WANTED), (2, 3), False),
        ((OPENING, WANTED), (1, 3), True),
    ],
)
def test_success_names_a_target_that_is_committed(
    committed: tuple[Batch, ...], target: assignments.Target, violated: bool
) -> None:
    assert bool(record(_after(*committed), Altered(1, target)).violations) == violated


@pytest.mark.parametrize(("assignment", "violated"), [(-1, True), (1, False), (2, False), (3, True)])
def test_a_leader_commits_by_one_of_the_last_two_assignments(assignment: int, violated: bool) -> None:
    prefix = (OPENING, WANTED, GROWN, SHRUNK)
    label = Committed(1, prefix, 1, voters=static_voters((1, 2)).keys, assignment=assignment)
    found = record(_after(OPENING, WANTED, GROWN), label).violations
    assert ("AlterQuorumReachesItsTarget" in found) == violated


def test_goals_of_alterations() -> None:
    assert not [*assignments.goals((OPENING, WANTED, GROWN))]
    assert [*assignments.goals((OPENING, WANTED, GROWN, GIVEN_UP))] == ["GoalAlterationCancelled"]
    assert [*assignments.goals((OPENING, WANTED, GROWN, SHRUNK, REACHED))] == ["GoalQuorumAltered"]


@pytest.mark.slow
@pytest.mark.parametrize("answers", [0, 1, 2])
def test_who_asks_for_an_alteration_waits_or_has_one_answer(answers: int) -> None:
    node = build(shipped()["alter-quorum-unknown"]).nodes[0]
    assert node.replica is not None
    event = RequestReceived(CLIENT, AlterQuorumRequest((1, 2, 3)), 0)
    execution = Host(Wiring(), KIP595, node.replica).execute(node.replica, event)
    (refusal,) = (each for each in execution.effects if isinstance(each, Reply))
    others = tuple(each for each in execution.effects if each is not refusal)
    told = replace(execution, effects=others + answers * (refusal,))
    found = {*voter_checks.violations(KIP595, node.replica, event, told, Node(told.replica, node.disk))}
    assert found == (set() if answers == 1 else {"VoterChangeIsAnswered"})


def test_who_waits_for_an_alteration_is_told_when_the_leader_leaves() -> None:
    node = build(shipped()["alter-quorum-unknown"]).nodes[0]
    assert node.replica is not None and isinstance(node.replica.role, Leader)
    waiting = replace(
        node.replica, role=replace(node.replica.role, alterations=(AlteringQuorum(-1, 1, (1,)),))
    )
    leaving = Resign(waiting.epoch)
    execution = Host(Wiring(), KIP595, waiting).execute(waiting, leaving)
    after = Node(execution.replica, node.disk)
    assert "VoterChangeIsAnswered" not in {
        *voter_checks.violations(KIP595, waiting, leaving, execution, after)
    }
    silent = tuple(each for each in execution.effects if not isinstance(each, Reply))
    found = {*voter_checks.violations(KIP595, waiting, leaving, replace(execution, effects=silent), after)}
    assert "VoterChangeIsAnswered" in found
