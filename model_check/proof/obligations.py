"""The proof obligations of a transition system, one implication at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kraftcheck.proof.logic import Action, Conjunct, Formula, State, Step, System, Term

#: In place of the name of an action: the conjunct holds in the initial states; the invariant implies it.
INITIALLY, ALWAYS = "initially", "always"


@dataclass(frozen=True)
class Obligation:
    """``hypotheses`` and the axioms imply ``goal``.

    ``terms`` are the parameters of the action with their names; ``before`` and ``after`` its states. Outside
    actions there is only one state.
    """

    action: str
    conjunct: str
    says: str
    hypotheses: tuple[Formula, ...]
    goal: Formula
    terms: tuple[tuple[str, Term], ...]
    before: State
    after: State | None

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return f"{self.action}:{self.conjunct}"


@dataclass(frozen=True)
class Unchanged:
    """A conjunct that an action cannot affect: there is nothing to prove."""

    action: str
    conjunct: str


@dataclass(frozen=True)
class Possibility:
    """An action can be taken from some state in which the invariant holds, or there is an initial state."""

    action: str
    hypotheses: tuple[Formula, ...]
    terms: tuple[tuple[str, Term], ...]
    before: State


#: Takes the name of an action (or its replacement) and that of a conjunct.
Wanted = Callable[[str, str], bool]


def everything(action: str, conjunct: str) -> bool:
    """All obligations are wanted."""
    return True


def obligations(system: System, wanted: Wanted = everything) -> Iterator[Obligation | Unchanged]:
    """The obligations of ``system``, as far as they are ``wanted``."""
    state = system.state()
    start = system.initial(state)
    for conjunct in system.conjuncts:
        if wanted(INITIALLY, conjunct.name):
            yield _of_state(INITIALLY, conjunct, (start,), state)
    held = system.invariant
    for action in system.actions:
        yield from of_action(system, action, held, wanted=wanted)
    for theorem in system.theorems:
        if wanted(ALWAYS, theorem.name):
            yield _of_state(ALWAYS, theorem, held, state)


def of_action(
    system: System,
    action: Action,
    held: tuple[Formula, ...],
    change: Callable[[Action, Step], Step] | None = None,
    wanted: Wanted = everything,
) -> Iterator[Obligation | Unchanged]:
    """The obligations of ``action``, given the invariant, which ``held`` before it; with ``change``, of the
    action with another step.
    """
    state = system.state()
    terms, step = action.step(state)
    if change is not None:
        step = change(action, step)
    after = state.after(step.updates)
    names = tuple(name for name, _ in action.parameters)
    named = tuple(zip(names, terms, strict=True))
    named += tuple(each for principle in step.principles for each in principle.constants)
    known = held + tuple(guard.formula for guard in step.needed)
    known += tuple(principle.formula for principle in step.principles)
    for lemma in step.lemmas:
        if wanted(action.name, lemma.name):
            yield Obligation(action.name, lemma.name, lemma.says, known, lemma.formula, named, state, after)
        known += (lemma.formula,)
    for conjunct, before in zip(system.conjuncts, held, strict=True):
        if not wanted(action.name, conjunct.name):
            continue
        goal = conjunct.formula(after)
        if goal.eq(before):
            yield Unchanged(action.name, conjunct.name)
        else:
            yield Obligation(action.name, conjunct.name, conjunct.says, known, goal, named, state, after)
    for each in system.changes:
        if wanted(action.name, each.name):
            goal = each.formula(state, after)
            if goal.eq(each.formula(state, state)):
                yield Unchanged(action.name, each.name)
            else:
                yield Obligation(action.name, each.name, each.says, known, goal, named, state, after)


def possibilities(system: System) -> Iterator[Possibility]:
    """The obligations that there are initial states and that each action can be taken: otherwise the proofs
    about them are vacuous.
    """
    state = system.state()
    held = system.invariant
    yield Possibility(INITIALLY, (system.initial(state),), (), state)
    for action in system.actions:
        terms, step = action.step(state)
        guards = tuple(guard.formula for guard in step.guards)
        names = tuple(name for name, _ in action.parameters)
        yield Possibility(action.name, held + guards, tuple(zip(names, terms, strict=True)), state)


def _of_state(place: str, conjunct: Conjunct, hypotheses: tuple[Formula, ...], state: State) -> Obligation:
    goal = conjunct.formula(state)
    return Obligation(place, conjunct.name, conjunct.says, hypotheses, goal, (), state, None)
