"""The invariant of the proof holds along runs of the reference, by the abstraction of these runs."""

import random
from itertools import combinations, product

import pytest
import z3

from model_check.engine.steps import broken_invariants, initial_states, steps
from model_check.engine.system import GlobalState, System
from model_check.kraft.build import build
from model_check.proof.abstraction import Fact, Past, present
from model_check.proof.structures import Search
from model_check.proof.system import FIXED_VOTERS
from model_check.proof.vocabulary import Epoch, Quorum, Replica, Role, majority, member
from model_check.scenario import find

EPOCHS, OFFSETS = 3, 4


class Judge:
    """Says which conjuncts do not hold in the structure of a state of so many voters."""

    def __init__(self, voters: int) -> None:
        self.quorums = [
            set(each)
            for size in range(voters // 2 + 1, voters + 1)
            for each in combinations(range(voters), size)
        ]
        self.search = Search(FIXED_VOTERS, (voters, len(self.quorums), EPOCHS, OFFSETS), ())
        state = FIXED_VOTERS.state()
        self.conjuncts = [
            (each.name, self.search.grounded(each.formula(state))) for each in FIXED_VOTERS.conjuncts
        ]
        for number, quorum in enumerate(self.quorums):
            term = self.search.elements(Quorum)[number]
            self.search.add(majority(term))
            for at, replica in enumerate(self.search.elements(Replica)):
                self.search.add(member(replica, term) == (at in quorum))

    def broken(self, facts: frozenset[Fact], values: dict[str, tuple[str | int, ...]]) -> list[str]:
        elements, state = self.search.elements, FIXED_VOTERS.state()
        literals = []
        for symbol in FIXED_VOTERS.symbols:
            for at in product(*(range(len(elements(sort))) for sort in symbol.sorts)):
                meaning = getattr(state, symbol.name)(
                    *(elements(sort)[number] for sort, number in zip(symbol.sorts, at, strict=True))
                )
                if symbol.result is None:
                    literals.append(meaning if (symbol.name, at) in facts else z3.Not(meaning))
                elif symbol.name == "epoch":
                    literals.append(meaning == elements(Epoch)[int(values["epoch"][at[0]])])
                else:
                    roles = {str(role): role for role in elements(Role)}
                    literals.append(meaning == roles[str(values["role"][at[0]])])
        model = self.search.model_of(literals)
        assert model is not None
        return [
            name
            for name, formula in self.conjuncts
            if not z3.is_true(model.eval(formula, model_completion=True))
        ]


def explored(name: str) -> tuple[System, dict[GlobalState, Past]]:
    """The states of a scenario, each with what a shortest run that leads to it has shown."""
    system = build(find(name))
    ids = tuple(each.id for each in system.identities)
    pasts = {state: Past(ids).after(state) for state in initial_states(system)}
    frontier = list(pasts)
    while frontier:
        following = []
        for state in frontier:
            for step in steps(system, state) if not broken_invariants(system, state) else ():
                if step.cut is None and not step.violations and step.target not in pasts:
                    pasts[step.target] = pasts[state].after(step.target)
                    following.append(step.target)
        frontier = following
    return system, pasts


@pytest.mark.slow
def test_the_invariant_holds_along_runs() -> None:
    judge, seen = Judge(2), set()
    _, pasts = explored("parity-crash")
    for state in random.Random(0).sample(list(pasts), 40):
        facts, values = present(pasts[state], state)
        seen |= {symbol for symbol, _ in facts}
        assert judge.broken(facts, values) == []
    assert seen >= {"led", "record", "assured", "counted", "committed", "known", "stands", "votes"}


def test_an_impossible_past_is_judged_otherwise() -> None:
    state, past = next(iter(explored("single-voter")[1].items()))
    facts, values = present(past, state)
    judge = Judge(1)
    assert judge.broken(facts, values) == []
    assert "CommitNeedsOwnEpoch" in judge.broken(facts | {("committed", (2, 3))}, values)


def test_what_production_acknowledges_unflushed_breaks_the_invariant() -> None:
    system, pasts = explored("finding-restart-before-write-back")
    judge = Judge(2)
    violated = False
    for state, past in pasts.items():
        broken = judge.broken(*present(past, state))
        # The invariant is broken as soon as the fetch is sent, the property when the leader counts it.
        assert broken in ([], ["ToldIsKept"])
        if "AcknowledgedIsDurable" in broken_invariants(system, state):
            violated = True
            assert broken
    assert violated
