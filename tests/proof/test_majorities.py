"""The formulas that are proved for any number of voters are those of the reference: its functions are run
for each number of voters up to nine, and give what the formulas give."""

from itertools import combinations_with_replacement

import pytest
import z3

from kraftcheck.proof import run
from kraftcheck.proof.arithmetic import MOST_VOTERS, STATEMENTS
from kraftcheck.proof.logic import Statement
from kraftcheck.proof.majorities import is_heard_enough, is_lost, majority, watermark_index
from kraftcheck.proof.solve import Verdict
from kraftcheck.reference.effects import ArmTimer
from kraftcheck.reference.events import Timer
from kraftcheck.reference.progress import advance_high_watermark, count_contact, count_own_log
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Election, Leader, Progress, QuorumState, Replica
from kraftcheck.reference.transitions import is_lost as reference_is_lost
from kraftcheck.reference.transitions import is_won as reference_is_won
from kraftcheck.reference.voters import ReplicaKey, static_voters
from kraftcheck.reference.voters import majority as reference_majority
from kraftcheck.reference.work import Work

each_number = pytest.mark.parametrize("voters", range(1, MOST_VOTERS + 1))


def value(term: z3.ExprRef) -> int | bool:
    """A term without variables."""
    found = z3.simplify(term)
    return z3.is_true(found) if z3.is_bool(found) else found.as_long()


def leader(voters: int, progress: tuple[Progress, ...], own: int = 1, contacts: tuple[int, ...] = ()) -> Work:
    role = Leader(0, (own,), progress, contacts=contacts)
    return Work(
        KAFKA, Replica(ReplicaKey(own), static_voters(range(1, voters + 1)), QuorumState(1, own), role=role)
    )


@each_number
def test_a_majority_is_as_many_as_the_reference_says(voters: int) -> None:
    assert value(majority(z3.IntVal(voters))) == reference_majority(voters)


@each_number
def test_an_election_is_lost_when_the_reference_says(voters: int) -> None:
    ids = tuple(range(1, voters + 1))
    for granted in range(voters + 1):
        assert reference_is_won(Election(ids, ids[:granted])) == (2 * granted > voters)
        for rejected in range(voters - granted + 1):
            election = Election(ids, ids[:granted], ids[granted : granted + rejected])
            formula = is_lost(z3.IntVal(voters), z3.IntVal(rejected))
            assert reference_is_lost(election) == value(formula)


@each_number
def test_a_leader_has_heard_from_enough_when_the_reference_says(voters: int) -> None:
    """Both of a leader that is a voter and of one that is none."""
    for own, first in ((1, 2), (voters + 1, 1)):
        for heard in range(1, voters - first + 2):
            contacts = tuple(range(first, first + heard))
            work = leader(voters, (), own, contacts[:-1])
            count_contact(work, ReplicaKey(contacts[-1]))
            renewed = any(isinstance(each, ArmTimer) for each in work.effects)
            formula = is_heard_enough(z3.IntVal(voters), z3.IntVal(heard), z3.IntVal(own == 1))
            assert renewed == value(formula)
            assert all(each.timer is Timer.CHECK_QUORUM for each in work.effects)


@each_number
def test_an_observer_is_not_heard(voters: int) -> None:
    heard = tuple(range(2, reference_majority(voters)))
    work = leader(voters, (), contacts=heard)
    count_contact(work, ReplicaKey(voters + 1))
    assert voters == 1 or not work.effects


@each_number
def test_the_high_watermark_is_at_the_index_of_the_formula(voters: int) -> None:
    index = value(watermark_index(z3.IntVal(voters)))
    for ends in combinations_with_replacement((None, 1, 2, 3), voters):
        known = [-1 if end is None else end for end in ends]
        progress = tuple(Progress(ReplicaKey(1 + at), end) for at, end in enumerate(ends))
        work = leader(voters, progress)
        advance_high_watermark(work)
        taken = sorted(known, reverse=True)[int(index)]
        assert work.replica.high_watermark == (taken if taken > 0 else None)
        reached = [end for end in known if 2 * sum(other >= end for other in known) > voters]
        assert taken == max(reached)


@each_number
def test_a_leader_that_is_no_voter_and_observers_do_not_count(voters: int) -> None:
    """Voters have one record, the leader and an observer two."""
    progress = tuple(Progress(ReplicaKey(1 + at), 1) for at in range(voters))
    work = leader(voters, progress, own=voters + 1)
    work.update_role(observers=(Progress(ReplicaKey(voters + 2), 2),))
    count_own_log(work)
    advance_high_watermark(work)
    assert work.replica.high_watermark == 1


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: each.name)
def test_every_statement_is_decided_as_it_says(statement: Statement) -> None:
    assert run.carry_out(run.Work(None, statement), 60).verdict is Verdict.PROVED
