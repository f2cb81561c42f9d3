"""Small structures: states with a few replicas, epochs and offsets, found by the solver and made smaller."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import z3

from kraftcheck.proof.ground import Domain, Grounding, check, domain, is_in
from kraftcheck.proof.logic import Formula, State, Symbol, System, Term
from kraftcheck.proof.vocabulary import (
    ORIGIN,
    ZERO,
    Epoch,
    Offset,
    Quorum,
    Replica,
    Role,
    Voters,
    at_most,
    member,
)

#: The numbers of replicas, sets of replicas, epochs and offsets, from small to large.
SIZES = ((2, 1, 2, 2), (2, 2, 3, 2), (2, 2, 3, 4), (3, 2, 3, 3), (3, 2, 4, 3), (4, 2, 4, 4))
#: The number of different sets of voters.
VOTER_SETS = 2


@dataclass(frozen=True)
class Fact:
    """A relation that holds of ``terms``, or a function that has ``value`` there; elements by number."""

    symbol: Symbol
    terms: tuple[int, ...]
    value: int | None = None


@dataclass(frozen=True)
class Structure:
    """A state: its facts, the parameters of the action that follows, and the members of each set.

    ``voters``: the members of each set of voters, where they are known.
    """

    facts: tuple[Fact, ...]
    parameters: tuple[tuple[str, str, int], ...]
    sets: tuple[tuple[int, ...], ...]
    voters: tuple[tuple[int, ...], ...] = ()


@cache
def _elements(sizes: tuple[int, int, int, int], voter_sets: int) -> tuple[Domain, Grounding]:
    """The elements of each sort, and the grounding over them.

    All searches of one size share them: the invariant, the largest part of each, is grounded once.
    """
    named = domain(dict(zip((Replica, Quorum, Epoch, Offset), sizes, strict=True)) | {Voters: voter_sets})
    roles = tuple(Role.constructor(number)() for number in range(Role.num_constructors()))
    elements: Domain = {**named, Role: roles}
    return elements, Grounding(elements)


class Search:
    """Looks for a state with few elements in which formulas hold.

    ``system`` gives axioms and symbols; ``terms`` are constants whose values are among the elements.
    """

    def __init__(
        self,
        system: System,
        sizes: tuple[int, int, int, int],
        terms: Sequence[tuple[str, Term]],
        voter_sets: int = VOTER_SETS,
    ) -> None:
        self._system = system
        self._terms = tuple(terms)
        self._elements, self._ground = _elements(sizes, voter_sets)
        self._solver = z3.Solver()
        self._add_elements({sort: found for sort, found in self._elements.items() if sort != Role})
        self.state = system.state()

    def _add_elements(self, named: Mapping[z3.SortRef, Sequence[Term]]) -> None:
        for elements in named.values():
            self._solver.add(z3.Distinct(*elements))
        for _, term in self._terms:
            self._solver.add(is_in(term, self._elements))
        self._solver.add(named[Epoch][0] == ZERO, named[Offset][0] == ORIGIN)
        for sort in (Epoch, Offset):
            for (first, one), (second, other) in product(enumerate(named[sort]), repeat=2):
                self._solver.add(at_most(one, other) == (first <= second))
        state = self._system.state()
        for symbol in self._system.symbols:
            if symbol.result is not None and symbol.result != Role:
                for terms in self._all(symbol.sorts):
                    self._solver.add(is_in(getattr(state, symbol.name)(*terms), self._elements))
        for axiom in self._system.axioms:
            self._solver.add(self._ground(axiom.formula))

    def elements(self, sort: z3.SortRef) -> Sequence[Term]:
        """The elements of a sort."""
        return self._elements[sort]

    def add(self, formula: Formula) -> None:
        """Demand ``formula``."""
        self._solver.add(self._ground(formula))

    def grounded(self, formula: Formula) -> Formula:
        """``formula`` over the elements, without quantifiers."""
        return self._ground(formula)

    def model_of(self, literals: Sequence[Formula]) -> z3.ModelRef | None:
        """The state that ``literals`` describe completely, if it satisfies the demanded formulas."""
        self._solver.push()
        self._solver.add(*literals)
        model = self._solver.model() if check(self._solver) == z3.sat else None
        self._solver.pop()
        return model

    def find(self, seconds: float) -> bool | None:
        """Whether there is such a state; ``None`` if that is not known in time."""
        answer = check(self._solver, seconds)
        return None if answer == z3.unknown else bool(answer == z3.sat)

    def minimise(self, seconds: float) -> z3.ModelRef:
        """A state with as few facts as the search finds in time; call it after ``find`` has returned
        ``True``.
        """
        deadline = time.monotonic() + seconds
        model = self._solver.model()
        atoms = list(self._atoms())
        while (left := deadline - time.monotonic()) > 0:
            count = sum(z3.is_true(model.eval(atom, model_completion=True)) for atom in atoms)
            if count == 0:
                break
            self._solver.push()
            self._solver.add(z3.PbLe([(atom, 1) for atom in atoms], count - 1))
            found = check(self._solver, left) == z3.sat
            model = self._solver.model() if found else model
            self._solver.pop()
            if not found:
                break
        return model

    def holds(self, model: z3.ModelRef, formula: Formula) -> bool:
        """Whether ``formula`` holds in a state that was found."""
        return bool(z3.is_true(model.eval(self._ground(formula), model_completion=True)))

    def _all(self, sorts: Sequence[z3.SortRef]) -> Iterator[tuple[Term, ...]]:
        return product(*(self._elements[sort] for sort in sorts))

    def _atoms(self) -> Iterator[Formula]:
        """The facts that a state has and a simpler one does not: facts, and roles other than the first."""
        for symbol in self._system.symbols:
            for terms in self._all(symbol.sorts):
                meaning = getattr(self.state, symbol.name)(*terms)
                if symbol.result is None:
                    yield meaning
                elif symbol.result == Role:
                    yield meaning != self._elements[Role][0]

    def structure(self, model: z3.ModelRef, state: State) -> Structure:
        """``state``, given in terms of the found state, as facts."""
        # Each value is kept with its number: it has its identity as long as it is there.
        numbers: dict[int, tuple[int, Term]] = {}
        for elements in self._elements.values():
            for place, element in enumerate(elements):
                value = model.eval(element, model_completion=True)
                numbers[value.get_id()] = place, value

        def number(term: Term) -> int:
            return numbers[model.eval(term, model_completion=True).get_id()][0]

        facts = []
        for symbol in self._system.symbols:
            for terms in self._all(symbol.sorts):
                meaning = getattr(state, symbol.name)(*terms)
                at = tuple(number(term) for term in terms)
                if symbol.result is not None:
                    facts.append(Fact(symbol, at, number(meaning)))
                elif self.holds(model, meaning):
                    facts.append(Fact(symbol, at))
        parameters = tuple((name, term.sort().name(), number(term)) for name, term in self._terms)
        sets = tuple(
            tuple(
                at
                for at, replica in enumerate(self._elements[Replica])
                if z3.is_true(model.eval(member(replica, each), model_completion=True))
            )
            for each in self._elements[Quorum]
        )
        return Structure(tuple(facts), parameters, sets)
