"""Boolean circuits of and-gates, each made once, and whether their outputs can be true.

A literal is a number: that of an input or gate, negative for its negation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import z3

from kraftcheck.proof.ground import check

Literal: TypeAlias = int
TRUE: Literal = 1
FALSE: Literal = -1


class Circuit:
    """Inputs, gates over them, and literals that are demanded."""

    def __init__(self) -> None:
        self._size = TRUE
        self._gates: dict[tuple[Literal, Literal], Literal] = {}
        self._clauses: list[tuple[Literal, ...]] = [(TRUE,)]

    def input(self) -> Literal:
        """A new input."""
        self._size += 1
        return self._size

    def both(self, one: Literal, other: Literal) -> Literal:
        """Both are true."""
        if one == FALSE or other == FALSE or one == -other:
            return FALSE
        if one in (TRUE, other):
            return other
        if other == TRUE:
            return one
        key = (one, other) if one < other else (other, one)
        gate = self._gates.get(key)
        if gate is None:
            gate = self._gates[key] = self.input()
            self._clauses += ((-gate, one), (-gate, other), (gate, -one, -other))
        return gate

    def either(self, one: Literal, other: Literal) -> Literal:
        """At least one is true."""
        return -self.both(-one, -other)

    def every(self, literals: Iterable[Literal]) -> Literal:
        """All are true."""
        found = TRUE
        for each in literals:
            found = self.both(found, each)
            if found == FALSE:
                break
        return found

    def some(self, literals: Iterable[Literal]) -> Literal:
        """At least one is true."""
        return -self.every(-each for each in literals)

    def choose(self, condition: Literal, one: Literal, other: Literal) -> Literal:
        """``one`` if the condition is true, otherwise ``other``."""
        if one == other:
            return one
        return self.either(self.both(condition, one), self.both(-condition, other))

    def at_least(self, literals: Sequence[Literal]) -> list[Literal]:
        """For each number from 0 on: at least so many are true."""
        found = [TRUE]
        for each in literals:
            carried = [FALSE, *(self.both(count, each) for count in found)]
            found = [self.either(one, other) for one, other in zip([*found, FALSE], carried, strict=True)]
        return found

    def one_of(self, size: int) -> list[Literal]:
        """New inputs of which exactly one is true."""
        inputs = [self.input() for _ in range(size)]
        self._clauses.append(tuple(inputs))
        self._clauses += [(-one, -other) for at, one in enumerate(inputs) for other in inputs[:at]]
        return inputs

    def demand_order(self, one: Sequence[Literal], other: Sequence[Literal]) -> None:
        """Read as binary numbers of equal length, ``one`` is not smaller than ``other``."""
        same = TRUE
        for first, second in zip(one, other, strict=True):
            self.demand(-same, first, -second)
            same = self.both(same, self.choose(first, second, -second))

    def demand(self, *clause: Literal) -> None:
        """At least one of these has to be true."""
        if TRUE not in clause:
            self._clauses.append(clause)

    def solve(self, seconds: float, wanted: Sequence[Literal] = ()) -> frozenset[Literal] | bool | None:
        """The inputs and gates that are true if all demands are met and ``wanted``; ``False`` if that cannot
        be, ``None`` if that is not known in time.
        """
        clauses = [*self._clauses, *((each,) for each in wanted)]
        text = [f"p cnf {self._size} {len(clauses)}"]
        text += [" ".join(map(str, clause)) + " 0" for clause in clauses]
        solver = z3.SolverFor("QF_FD")
        # Runs are shorter if an action is not taken unless it has to be.
        solver.set("phase", "always_false")
        solver.from_string("\n".join(text) + "\n")
        answer = check(solver, seconds)
        if answer != z3.sat:
            return None if answer == z3.unknown else False
        model = solver.model()
        return frozenset(
            int(each.name().removeprefix("k!")) for each in model.decls() if z3.is_true(model[each])
        )
