"""Formulas over sorts of a few elements each, without quantifiers: where there is a model, it is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from itertools import product

import z3

from kraftcheck.proof.logic import Formula, Term
from kraftcheck.support import signals

_MILLISECONDS = 1000
#: The time before the solver is interrupted again, in seconds: it ignores an interrupt between two steps.
_AGAIN = 0.2
#: The solver's value for no limit.
_NO_LIMIT = 2**32 - 1

#: The elements of each sort.
Domain = Mapping[z3.SortRef, Sequence[Term]]


def domain(sizes: Mapping[z3.SortRef, int]) -> dict[z3.SortRef, tuple[Term, ...]]:
    """Constants for the elements of each sort."""
    return {
        sort: tuple(z3.Const(f"{sort.name()}!{number}", sort) for number in range(size))
        for sort, size in sizes.items()
    }


class Grounding:
    """Replaces quantifiers by their instances over ``elements``; equal subterms are built once.

    The innermost quantifier is replaced first: the solver makes the instances of the others by itself.
    """

    def __init__(self, elements: Domain) -> None:
        self._elements = elements
        self._known: dict[tuple[int, tuple[z3.SortRef, ...]], tuple[Formula, Formula]] = {}

    def __call__(self, formula: Formula) -> Formula:
        """``formula`` over the elements."""
        return self._grounded(formula, ())

    def _grounded(self, formula: Formula, bound: tuple[z3.SortRef, ...]) -> Formula:
        """The same for a formula within quantifiers; ``bound``: the sorts of their variables, by number."""
        key = formula.get_id(), bound
        if key not in self._known:
            self._known[key] = (formula, self._ground(formula, bound))
        return self._known[key][1]

    def _ground(self, formula: Formula, bound: tuple[z3.SortRef, ...]) -> Formula:
        if z3.is_quantifier(formula):
            sorts = tuple(formula.var_sort(number) for number in range(formula.num_vars()))
            # The variable with the number 0 is the last one.
            body = self._grounded(formula.body(), (*reversed(sorts), *bound))
            outer = [z3.Var(number, sort) for number, sort in enumerate(bound)]
            values = product(*(self._elements[sort] for sort in sorts))
            instances = [z3.substitute_vars(body, *reversed(each), *outer) for each in values]
            return z3.And(*instances) if formula.is_forall() else z3.Or(*instances)
        if not z3.is_bool(formula) or not formula.num_args():
            return formula
        arguments = formula.children()
        grounded = [self._grounded(argument, bound) for argument in arguments]
        same = all(one.get_id() == other.get_id() for one, other in zip(arguments, grounded, strict=True))
        return formula if same else formula.update(*grounded)


def is_in(term: Term, elements: Domain) -> Formula:
    """``term`` is one of the elements of its sort."""
    return z3.Or(*(term == each for each in elements[term.sort()]))


def check(solver: z3.Solver, seconds: float | None = None) -> z3.CheckSatResult:
    """The solver's answer, unknown after ``seconds`` (``None``: no limit).

    The solver runs in a thread of its own: Python handles signals in the main thread, and only between two
    calls of a library. Raises KeyboardInterrupt if a signal arrives, once the solver has stopped.
    """
    solver.set("timeout", _NO_LIMIT if seconds is None else max(int(seconds * _MILLISECONDS), 1))
    solver.set("ctrl_c", False)
    answer: Future[z3.CheckSatResult] | None = None
    with ThreadPoolExecutor(1) as pool:
        try:
            with signals.waiting():  # An interrupt within `submit` would leave a lock of the pool held.
                answer = pool.submit(solver.check)
            # The signal may have interrupted another thread: the main thread checks for it periodically.
            while not wait([answer], _AGAIN).done:
                pass
            return answer.result()
        except KeyboardInterrupt:
            while answer is not None and not answer.done():
                solver.ctx.interrupt()
                wait([answer], _AGAIN)
            raise
