"""Runs of the transition systems from their initial states: what is proved is proved of something."""

from itertools import product
from typing import Any

import pytest
import z3

from kraftcheck.proof.logic import Formula, State, System
from kraftcheck.proof.structures import Search
from kraftcheck.proof.system import CHANGING_VOTERS, FIXED_VOTERS, SYSTEMS
from kraftcheck.proof.vocabulary import (
    ORIGIN,
    ZERO,
    Quorum,
    Replica,
    Voters,
    changes_one,
    majority_of,
    member,
)


def run(names: str) -> list[str]:
    """Actions one after the other."""
    return names.split()


ELECTION = run("become-prospective become-candidate ask-for-votes hear-of-epoch grant-vote become-leader")
REPLICATION = run("append flush count-own-log tell-leader follow fetch take-records flush")
COMMITMENT = run("fetch count-fetch commit")
LEARNING = run("take-records learn-high-watermark")
CHANGE = run("append-voters flush count-own-log take-records flush fetch count-fetch commit")
PRE_VOTES = [
    *run("become-prospective ask-for-pre-vote grant-pre-vote become-candidate"),
    *run("become-prospective ask-for-pre-vote hear-of-pre-vote"),
]
RETURNING = [
    *ELECTION,
    *run("tell-leader follow hear-from-leader become-prospective return-to-leader become-prospective"),
    *run("lose-pre-vote resign restart leave-resigned"),
]
# Two is a majority alone: it leads without a record that the leader before it has appended.
DIVERGENCE = [
    *run("become-prospective ask-for-pre-vote grant-pre-vote"),
    *ELECTION[1:],
    *run("append become-prospective become-candidate become-leader tell-leader follow truncate"),
]


def unrolled(
    system: System, names: list[str]
) -> tuple[list[Formula], dict[str, z3.ExprRef], list[z3.ExprRef], State]:
    """The guards of these actions, their parameters by name and all of them, and the last state."""
    actions = {action.name: action for action in system.actions}
    state, guards, parameters, terms = system.state(), list[Formula](), dict[str, z3.ExprRef](), []
    for number, name in enumerate(names):
        action = actions[name]
        own = {word: z3.Const(f"{number}.{word}", sort) for word, sort in action.parameters}
        step = action.does(state, *own.values())
        guards += [guard.formula for guard in step.guards]
        parameters |= {f"{name}.{word}": term for word, term in own.items()}
        terms += own.values()
        state = state.after(step.updates)
    return guards, parameters, terms, state


def search_for(
    system: System, names: list[str], sizes: tuple[int, int, int, int]
) -> tuple[Search, dict[str, z3.ExprRef]]:
    guards, parameters, terms, last = unrolled(system, names)
    search = Search(system, sizes, [(str(term), term) for term in terms])
    for formula in (system.initial(search.state), *guards):
        search.add(formula)
    for conjunct in system.conjuncts:
        search.add(conjunct.formula(last))
    return search, parameters


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_record_is_committed_and_known_to_be(system: System) -> None:
    search, _ = search_for(system, ELECTION + REPLICATION + COMMITMENT + LEARNING, (2, 1, 2, 2))
    assert search.find(120)


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
@pytest.mark.parametrize(
    "names", [PRE_VOTES, RETURNING, DIVERGENCE], ids=["pre-votes", "returning", "divergence"]
)
def test_other_actions_are_taken_from_the_start(system: System, names: list[str]) -> None:
    search, _ = search_for(system, names, (2, 1, 3, 2))
    assert search.find(120)


def test_every_action_is_in_a_run() -> None:
    taken = {*ELECTION, *REPLICATION, *COMMITMENT, *LEARNING, *CHANGE, *PRE_VOTES, *RETURNING, *DIVERGENCE}
    assert taken == {action.name for system in SYSTEMS for action in system.actions}


@pytest.mark.slow
def test_a_voter_set_is_changed_and_committed() -> None:
    names = ELECTION + REPLICATION + COMMITMENT + CHANGE
    search, parameters = search_for(CHANGING_VOTERS, names, (2, 2, 2, 3))
    # The last commitment is that of the new voter set, by a majority of that set.
    search.add(parameters["commit.set"] == parameters["append-voters.offset"])
    search.add(parameters["append-voters.set"] != search.state.set_of(ORIGIN, ZERO))
    assert search.find(120)


@pytest.mark.slow
def test_nobody_is_elected_without_votes() -> None:
    names = [name for name in ELECTION if name not in ("grant-vote", "hear-of-epoch")]
    search, parameters = search_for(FIXED_VOTERS, names, (2, 1, 2, 2))
    winner, majority = parameters["become-leader.r"], parameters["become-leader.majority"]
    assert search.find(60)
    other = z3.Const("other", Replica)
    search.add(z3.And(other != winner, member(other, majority)))
    search.add(z3.Or(*(other == each for each in search.elements(Replica))))
    assert search.find(60) is False


#: The sets of voters and majorities of the runs below, of replicas 0 to 2.
EVERYBODY, FIRST, FIRST_TWO, OUTER, LAST_TWO = SETS = ({0, 1, 2}, {0}, {0, 1}, {0, 2}, {1, 2})
START = (0, 0)
ELECTED = [
    ("become-candidate", 0, 1, EVERYBODY),
    ("ask-for-votes", 0, *START),
    ("hear-of-epoch", 2, 1),
    ("grant-vote", 2, 0, 1, *START),
    ("become-leader", 0, OUTER, *START),
]
#: The error in Raft's first single-server changes: a leader of epoch 1 commits what that of epoch 2 lacks.
LOST_RECORD = [
    *ELECTED,
    ("append-voters", 0, 2, *START, 0, OUTER),
    ("append-voters", 0, 3, 2, 1, 2, FIRST),
    ("flush", 0),
    ("count-own-log", 0, 3, 1),
    ("commit", 0, 2, 1, FIRST, 3, 1),
    ("become-candidate", 1, 2, EVERYBODY),
    ("ask-for-votes", 1, *START),
    ("hear-of-epoch", 2, 2),
    ("grant-vote", 2, 1, 2, *START),
    ("become-leader", 1, LAST_TWO, *START),
]
TWO_LEADERS = [
    *ELECTED,
    ("tell-leader", 0, 0),
    ("append", 0, 1),
    ("flush", 0),
    ("count-own-log", 0, 1, 1),
    ("follow", 2, 1, 0),
    ("take-records", 2, 1, *START, 1),
    ("flush", 2),
    ("fetch", 2, 1, 1),
    ("count-fetch", 0, 2, 1, 1),
    ("commit", 0, 1, 1, OUTER, *START),
    ("append-voters", 0, 2, *START, 1, OUTER),
    ("append-voters", 0, 3, 2, 1, 1, FIRST),
    ("flush", 0),
    ("follow", 1, 1, 0),
    ("take-records", 1, 1, *START, 1),
    ("flush", 1),
    ("become-candidate", 1, 2, EVERYBODY),
    ("ask-for-votes", 1, 1, 1),
    ("hear-of-epoch", 2, 2),
    ("grant-vote", 2, 1, 2, 1, 1),
    ("become-leader", 1, LAST_TWO, *START),
    ("become-candidate", 0, 2, EVERYBODY),
    ("become-leader", 0, FIRST, 3, 1),
]


def with_sets() -> Search:
    """A search among three replicas in which sets of voters, and majorities of them, are :data:`SETS`."""
    search = Search(CHANGING_VOTERS, (3, len(SETS), 3, 4), (), len(SETS))
    quorums, voters = search.elements(Quorum), search.elements(Voters)
    for (one, quorum), (other, whole) in product(
        zip(SETS, quorums, strict=True), zip(SETS, voters, strict=True)
    ):
        search.add(majority_of(quorum, whole) == (one <= other and 2 * len(one) > len(other)))
    for (one, before), (other, after) in product(zip(SETS, voters, strict=True), repeat=2):
        search.add(changes_one(before, after) == (one < other and len(other - one) == 1))
    for one, quorum in zip(SETS, quorums, strict=True):
        for number, replica in enumerate(search.elements(Replica)):
            search.add(member(replica, quorum) == (number in one))
    return search


@pytest.mark.slow
@pytest.mark.parametrize(
    ("taken", "guard", "broken"),
    [
        (LOST_RECORD, "a record of its own epoch is committed", "CommittedRecordIsInLaterLogs"),
        (TWO_LEADERS, "and the last voter set with it", "SingleLeaderPerEpoch"),
    ],
    ids=["without-VSET-9", "without-VSET-8"],
)
def test_without_a_guard_a_run_breaks_the_invariant(
    taken: list[tuple[Any, ...]], guard: str, broken: str
) -> None:
    """The run keeps to all guards but ``guard``, which it breaks (and pre-votes, which are left out)."""
    actions = {action.name: action for action in CHANGING_VOTERS.actions}
    search = with_sets()
    state, kept, left_out = search.state, [CHANGING_VOTERS.initial(search.state)], []
    kept.append(state.set_of(ORIGIN, ZERO) == search.elements(Voters)[0])
    for name, *values in taken:
        terms = []
        for (_, sort), value in zip(actions[name].parameters, values, strict=True):
            number = SETS.index(value) if sort in (Quorum, Voters) else value
            terms.append(search.elements(sort)[number])
        step = actions[name].does(state, *terms)
        guards = step.needed if name == "become-candidate" else step.guards
        kept += [each.formula for each in guards if each.name != guard]
        left_out += [each.formula for each in guards if each.name == guard]
        state = state.after(step.updates)
    conjunct = next(each for each in CHANGING_VOTERS.conjuncts if each.name == broken)
    for formula in (*kept, z3.Not(z3.And(left_out)), z3.Not(conjunct.formula(state))):
        search.add(formula)
    assert search.find(60)
