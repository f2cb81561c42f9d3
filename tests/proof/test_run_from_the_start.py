"""Runs of the transition systems from their initial states: what is proved is proved of something."""

import pytest
import z3

from kraftcheck.proof.logic import Formula, State, System
from kraftcheck.proof.structures import Search
from kraftcheck.proof.system import CHANGING_VOTERS, FIXED_VOTERS, SYSTEMS
from kraftcheck.proof.vocabulary import ORIGIN, ZERO, Replica, member

ELECTION = [
    "become-prospective",
    "become-candidate",
    "ask-for-votes",
    "hear-of-epoch",
    "grant-vote",
    "become-leader",
]
REPLICATION = ["append", "flush", "count-own-log", "tell-leader", "follow", "fetch", "take-records", "flush"]
COMMITMENT = ["fetch", "count-fetch", "commit"]
LEARNING = ["take-records", "learn-high-watermark"]
CHANGE = [
    "append-voters",
    "flush",
    "count-own-log",
    "take-records",
    "flush",
    "fetch",
    "count-fetch",
    "commit",
]
PRE_VOTES = [
    "become-prospective",
    "ask-for-pre-vote",
    "grant-pre-vote",
    "become-candidate",
    "become-prospective",
    "ask-for-pre-vote",
    "hear-of-pre-vote",
]
RETURNING = [
    *ELECTION,
    "tell-leader",
    "follow",
    "hear-from-leader",
    "become-prospective",
    "return-to-leader",
    "become-prospective",
    "lose-pre-vote",
    "resign",
    "restart",
    "leave-resigned",
]
# Two is a majority alone: it leads without a record that the leader before it has appended.
DIVERGENCE = [
    "become-prospective",
    "ask-for-pre-vote",
    "grant-pre-vote",
    *ELECTION[1:],
    "append",
    "become-prospective",
    "become-candidate",
    "become-leader",
    "tell-leader",
    "follow",
    "truncate",
]


def unrolled(system: System, names: list[str]) -> tuple[list[Formula], dict[str, z3.ExprRef], State]:
    """The guards of these actions, one after the other, their parameters, and the state at the end."""
    actions = {action.name: action for action in system.actions}
    state, guards, parameters = system.state(), [], {}
    for number, name in enumerate(names):
        action = actions[name]
        terms = {word: z3.Const(f"{number}.{word}", sort) for word, sort in action.parameters}
        step = action.does(state, *terms.values())
        guards += [guard.formula for guard in step.guards]
        parameters |= {f"{name}.{word}": term for word, term in terms.items()}
        state = state.after(step.updates)
    return guards, parameters, state


def search_for(
    system: System, names: list[str], sizes: tuple[int, int, int, int]
) -> tuple[Search, dict[str, z3.ExprRef]]:
    guards, parameters, last = unrolled(system, names)
    search = Search(system, sizes, [(str(term), term) for term in _terms(system, names)])
    for formula in (system.initial(search.state), *guards):
        search.add(formula)
    for conjunct in system.conjuncts:
        search.add(conjunct.formula(last))
    return search, parameters


def _terms(system: System, names: list[str]) -> list[z3.ExprRef]:
    actions = {action.name: action for action in system.actions}
    return [
        z3.Const(f"{number}.{word}", sort)
        for number, name in enumerate(names)
        for word, sort in actions[name].parameters
    ]


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


def test_a_voter_set_is_changed_and_committed() -> None:
    names = ELECTION + REPLICATION + COMMITMENT + CHANGE
    search, parameters = search_for(CHANGING_VOTERS, names, (2, 2, 2, 3))
    # The last commitment is that of the new voter set, by a majority of that set.
    search.add(parameters["commit.set"] == parameters["append-voters.offset"])
    search.add(parameters["append-voters.set"] != search.state.set_of(ORIGIN, ZERO))
    assert search.find(120)


def test_nobody_is_elected_without_votes() -> None:
    names = [name for name in ELECTION if name not in ("grant-vote", "hear-of-epoch")]
    search, parameters = search_for(FIXED_VOTERS, names, (2, 1, 2, 2))
    winner, majority = parameters["become-leader.r"], parameters["become-leader.majority"]
    assert search.find(60)
    other = z3.Const("other", Replica)
    search.add(z3.And(other != winner, member(other, majority)))
    search.add(z3.Or(*(other == each for each in search.elements(Replica))))
    assert search.find(60) is False
