"""Every conjunct of the invariant in every explored state, with a shortest run to it as its past.

A conjunct reads some fields of the replicas and some facts of a state. States that agree in these are judged
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from kraftcheck.proof.logic import Conjunct, System
from kraftcheck.proof.refinement import kernels
from kraftcheck.proof.refinement.abstraction import SYMBOLS, NotAbstract, ProofReplica, abstraction_of
from kraftcheck.proof.refinement.exploration import Explored
from kraftcheck.proof.refinement.formulas import ROLES, Domain
from kraftcheck.proof.refinement.transitions import WORD, Bits, Facts
from kraftcheck.proof.refinement.written import conjunct_of
from kraftcheck.proof.vocabulary import Epoch, Offset
from kraftcheck.systems.kraft.node import Node

#: The largest number of values in an intermediate result.
_AT_ONCE = 8_000_000
_REPLICA = "Replica"


@dataclass(frozen=True)
class Broken:
    """``conjunct`` does not hold in ``state``, the first of ``states``, none of which is after a step that is
    a listed difference (of ``after_difference`` that are, where ``states`` is 0).
    """

    conjunct: Conjunct
    state: int
    states: int
    after_difference: int


@dataclass(frozen=True)
class Verdicts:
    """``broken`` conjuncts, and the number of different evaluated structures, for all conjuncts together."""

    broken: tuple[Broken, ...]
    evaluated: int


class Structures:
    """The structures of the states of ``explored``.

    ``pasts``: uint64[states, words], the facts of each state's past. A local state that the abstraction does
    not know (``unknown``) is left out.
    """

    def __init__(
        self, explored: Explored, system: System, facts: Facts, pasts: Bits, component_of: Mapping[int, int],
        voters: frozenset[int],
    ) -> None:  # fmt: skip
        self.explored = explored
        self.system = system
        self.facts = facts
        self.pasts = pasts
        self.replicas: list[ProofReplica] = []
        self.unknown: list[int] = []
        for number, (_, local) in enumerate(explored.tables.locals):
            try:
                self.replicas.append(abstraction_of(cast(Node, local), dict(component_of)))
            except NotAbstract:
                self.replicas.append(ProofReplica())
                self.unknown.append(number)
        self._symbols = {symbol.name: symbol for symbol in system.symbols}
        self.domain = Domain(explored.locals_.shape[1], *self._sizes(), voters)
        self._sets = {each: number for number, each in enumerate(self.domain.sets)}

    def _sizes(self) -> tuple[int, int]:
        """The number of epochs and offsets that occur."""
        sizes = {Epoch.name(): 1, Offset.name(): 1}
        for replica in self.replicas:
            sizes[Epoch.name()] = max(sizes[Epoch.name()], replica.epoch + 1)
            sizes[Offset.name()] = max(sizes[Offset.name()], replica.end[0] + 1)
        for fact in self.facts.numbers:
            symbol = self._symbols.get(fact[0])
            if symbol is None:
                continue
            sorts = [*symbol.sorts, *([symbol.result] if symbol.result is not None else [])]
            for sort, value in zip(sorts, fact[1:], strict=True):
                if sort.name() in sizes:
                    sizes[sort.name()] = max(sizes[sort.name()], value + 1)
        return sizes[Epoch.name()], sizes[Offset.name()]

    def read_by(self, conjunct: Conjunct) -> tuple[frozenset[str], frozenset[str]]:
        """The fields of replicas and the facts that ``conjunct`` reads."""
        found = self._symbols.keys() & conjunct_of(self.system, conjunct).reads
        return frozenset(found & set(SYMBOLS)), frozenset(found - set(SYMBOLS))

    def mask(self, symbols: frozenset[str]) -> Bits:
        """The bits of the facts of ``symbols``."""
        return self.facts.row(fact for fact in list(self.facts.numbers) if fact[0] in symbols)

    def representatives(
        self, fields: frozenset[str], symbols: frozenset[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """States that differ in the parts that are read: the first of each class, and the class of each
        state.
        """
        components = self.explored.locals_.shape[1]
        projected = np.empty((components, len(self.replicas)), np.uint64)
        for number, replica in enumerate(self.replicas):
            text = repr([(name, _ordered(getattr(replica, name))) for name in sorted(fields)])
            for component in range(components):
                digest = blake2b(f"{component}|{text}".encode(), digest_size=8).digest()
                projected[component, number] = int.from_bytes(digest, "little")
        found = np.empty(self.explored.states, np.uint64)
        kernels.digests(self.explored.locals_, projected, self.pasts, self.mask(symbols), found)
        _, firsts, kinds = np.unique(found, return_index=True, return_inverse=True)
        return firsts.astype(np.int64), kinds.astype(np.int64)

    def values(self, states: NDArray[np.int64], names: frozenset[str]) -> dict[str, NDArray[Any]]:
        """An array of each symbol of ``names``; axis 0 are the ``states``."""
        return {
            name: self._of_replicas(name, states) if name in SYMBOLS else self._of_past(name, states)
            for name in names
        }

    def _of_replicas(self, name: str, states: NDArray[np.int64]) -> NDArray[Any]:
        """A field of all replicas: its value in each local state, then the local states of the states."""
        locals_ = self.explored.locals_[states]
        numbers, places = np.unique(locals_, return_inverse=True)
        shape = self.domain.shape(self._symbols[name])[1:]
        kind = np.int64 if self._symbols[name].result is not None else bool
        table = np.zeros((len(numbers), *shape), kind)
        for row, number in enumerate(numbers.tolist()):
            value = getattr(self.replicas[number], name)
            if name == "role":
                table[row] = ROLES.index(value)
            elif isinstance(value, frozenset):
                for each in value:
                    table[(row, *each) if isinstance(each, tuple) else (row, each)] = True
            else:
                table[row] = value
        return table[places.reshape(locals_.shape)]

    def _of_past(self, name: str, states: NDArray[np.int64]) -> NDArray[Any]:
        symbol = self._symbols[name]
        kind = np.int64 if symbol.result is not None else bool
        found = np.zeros((len(states), *self.domain.shape(symbol)), kind)
        pasts = self.pasts[states]
        for fact, number in self.facts.numbers.items():
            if fact[0] != name:
                continue
            held = pasts[:, number // WORD] >> np.uint64(number % WORD) & np.uint64(1) != 0
            if symbol.result is None:
                found[(slice(None), *fact[1:])] = held
            else:
                place, value = (slice(None), *fact[1:-1]), fact[-1]
                found[place] = np.where(held, self._sets.get(value, value), found[place])
        return found


def _ordered(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value


def judge(
    structures: Structures,
    outside: NDArray[np.bool_],
    progress: Callable[[str, int], None] | None = None,
    conjuncts: Sequence[Conjunct] | None = None,
) -> Verdicts:
    """Evaluate every conjunct in every state.

    ``outside``: the states after a step that is a listed difference. A conjunct that fails only there is a
    consequence of that.
    """
    broken, evaluated = [], 0
    for fields, symbols, group in _grouped(structures, conjuncts or structures.system.conjuncts):
        firsts, kinds = structures.representatives(fields, symbols)
        for conjunct in group:
            if progress is not None:
                progress(conjunct.name, len(firsts))
            holds = _evaluate(structures, conjunct, firsts, fields | symbols)
            evaluated += len(firsts)
            if not holds.all():
                broken.append(_broken(conjunct, ~holds[kinds], outside))
    return Verdicts(tuple(broken), evaluated)


def _broken(conjunct: Conjunct, fails: NDArray[np.bool_], outside: NDArray[np.bool_]) -> Broken:
    within = fails & ~outside
    chosen = within if within.any() else fails
    first = int(np.flatnonzero(chosen)[0])
    return Broken(conjunct, first, int(within.sum()), int((fails & outside).sum()))


def _grouped(
    structures: Structures, conjuncts: Sequence[Conjunct]
) -> Iterator[tuple[frozenset[str], frozenset[str], list[Conjunct]]]:
    """The conjuncts that read the same, together."""
    groups: dict[tuple[frozenset[str], frozenset[str]], list[Conjunct]] = {}
    for conjunct in conjuncts:
        groups.setdefault(structures.read_by(conjunct), []).append(conjunct)
    for (fields, symbols), group in groups.items():
        yield fields, symbols, group


def _evaluate(
    structures: Structures, conjunct: Conjunct, states: NDArray[np.int64], names: frozenset[str]
) -> NDArray[np.bool_]:
    whole = conjunct_of(structures.system, conjunct)
    size = max(1, _AT_ONCE // whole.instances(structures.domain))
    holds = whole.over(structures.domain)
    found = np.empty(len(states), bool)
    for begin in range(0, len(states), size):
        part = states[begin : begin + size]
        found[begin : begin + size] = holds(len(part), structures.values(part, names))
    return found
