"""Symmetry: states that differ only in which component is which are explored once.

A system may name permutations of its components under which it behaves the same (scalarsets: Ip and Dill,
"Better verification through symmetry", 1996). Every interned value then has its content hash under each of
them, a state one fingerprint under each, and the least of these names its orbit: only that goes to the
visited set. The search explores the state of an orbit that was reached first, by steps of the system: traces
need no translation back.

Sound only if the system really behaves the same: a step that a state has, each of its images must have, with
the image as its target, and invariants must not distinguish them. Systems promise that, and the engine checks
it: initial states must be images of each other, and a sample of the system's other answers is compared with
its answers for the images. A difference ends the search with SymmetryError.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from kraftcheck.engine.system import GlobalState, Outcome, Signal, SymmetryError, System

#: So many questions of each kind are compared under all permutations, and every so-many-th after that.
ALWAYS, EVERY = 200, 50


class Symmetry:
    """The permutations of ``system``, the identity first, and the images of values under them.

    Raises SymmetryError if they are not a group.
    """

    def __init__(self, system: System) -> None:
        identity = tuple(range(system.components))
        self.system = system
        self.permutations = system.permutations or (identity,)
        self._asked: Counter[str] = Counter()
        known = set(self.permutations)
        closed = all(tuple(p[q[c]] for c in identity) in known for p in known for q in known)
        if self.permutations[0] != identity or len(known) != len(self.permutations) or not closed:
            raise SymmetryError("the permutations are no group that begins with the identity")

    @property
    def trivial(self) -> bool:
        """Whether there is nothing but the identity."""
        return len(self.permutations) == 1

    def images(self, value: Hashable) -> list[Hashable]:
        """``value`` (a message, label or history) under each permutation."""
        return [value, *(self.system.renamed(i, value) for i in range(1, len(self.permutations)))]

    def locals(self, component: int, local: Hashable) -> list[tuple[int, Hashable]]:
        """Under each permutation, the component in the place of ``component``, and its local state."""
        images = zip(self.permutations, self.images(local), strict=True)
        return [(permutation[component], image) for permutation, image in images]

    def check_initial(self, states: Sequence[GlobalState]) -> None:
        """Raise SymmetryError unless every image of an initial state is an initial state."""
        if self.trivial:
            return
        known = {self._shape(state) for state in states}
        for number in range(1, len(self.permutations)):
            for state in states:
                if self._shape(self.image(number, state)) not in known:
                    raise SymmetryError(f"an initial state changes under {self.permutations[number]}")

    @staticmethod
    def _shape(state: GlobalState) -> Hashable:
        return state.locals, frozenset(Counter(state.messages).items()), state.history, state.budgets

    def image(self, number: int, state: GlobalState) -> GlobalState:
        """``state`` under permutation ``number``; messages in no particular order."""
        if number == 0:
            return state
        permutation = self.permutations[number]
        locals_: list[Any] = [None] * len(state.locals)
        for component, local in enumerate(state.locals):
            locals_[permutation[component]] = self.system.renamed(number, local)
        messages = tuple(self.system.renamed(number, message) for message in state.messages)
        return GlobalState(
            tuple(locals_), messages, self.system.renamed(number, state.history), state.budgets
        )

    def _others(self, kind: str) -> range:
        """The numbers of the permutations but the identity, for a sample of the questions of each kind."""
        if self.trivial:
            return range(0)
        self._asked[kind] += 1
        asked = self._asked[kind]
        return range(1, len(self.permutations)) if asked <= ALWAYS or asked % EVERY == 0 else range(0)

    def check_outcomes(
        self, component: int, local: Hashable, message: Hashable | None, outcomes: Sequence[Outcome]
    ) -> None:
        """For a sample: compare ``outcomes`` with those of the images. Raises SymmetryError."""
        for number in self._others("outcomes"):
            at = self.permutations[number][component]
            there = self.system.renamed(number, local)
            if message is None:
                found = self.system.actions(at, there)
            else:
                found = self.system.deliver(at, there, self.system.renamed(number, message))
            expected = Counter(self._outcome(number, outcome) for outcome in outcomes)
            if expected != Counter(self._outcome(0, outcome) for outcome in found):
                raise SymmetryError(
                    f"{'actions' if message is None else 'a delivery'} of component {component} and of "
                    f"{at}, which takes its place, differ; state {local!r}, message {message!r}"
                )

    def _outcome(self, number: int, outcome: Outcome) -> Hashable:
        """The image of ``outcome`` under a permutation, except its name."""

        def renamed(value: Hashable) -> Hashable:
            return self.system.renamed(number, value) if number else value

        return (
            renamed(outcome.local),
            frozenset(Counter(map(renamed, outcome.sends)).items()),
            tuple(map(renamed, outcome.labels)),
            tuple(sorted(outcome.costs)),
            tuple(self.signal(number, signal) for signal in outcome.signals),
            outcome.consumes,
            outcome.repeatable,
            frozenset(outcome.violations),
            frozenset(outcome.goals),
        )

    def signal(self, number: int, signal: Signal) -> Signal:
        """``signal`` under permutation ``number``."""
        permutation = self.permutations[number]
        destination = None if signal.destination is None else permutation[signal.destination]
        content = self.system.renamed(number, signal.content) if signal.content is not None else None
        return Signal(permutation[signal.component], destination, content)

    def check_record(self, history: Hashable, labels: Sequence[Hashable], result: Any) -> None:
        """For a sample: compare the result of recording ``labels`` with that of their images."""
        for number in self._others("records"):
            value = self.system.renamed(number, history)
            names: set[str] = set()
            for label in labels:
                recorded = self.system.record(value, self.system.renamed(number, label))
                value = recorded.history
                names.update(recorded.violations, recorded.goals)
            if (value, names) != (self.system.renamed(number, result[0]), result[1]):
                raise SymmetryError(f"the history tells components apart: {labels!r} after {history!r}")

    def check_signal(self, signals: Sequence[Signal], message: Hashable, result: Hashable | None) -> None:
        """For a sample: compare ``message`` after ``signals`` with its images after theirs."""
        for number in self._others("signals"):
            left: Hashable | None = self.system.renamed(number, message)
            for signal in signals:
                if left is not None:
                    left = self.system.signal_message(self.signal(number, signal), left)
            if left != (None if result is None else self.system.renamed(number, result)):
                raise SymmetryError(f"signals tell components apart: {message!r} after {signals!r}")

    def check_signal_local(
        self, signals: Sequence[Signal], component: int, local: Hashable, result: Hashable
    ) -> None:
        """For a sample: compare a local state after other components' ``signals`` with its images after
        theirs.
        """
        for number in self._others("signals of others"):
            at = self.permutations[number][component]
            left = self.system.renamed(number, local)
            for signal in (self.signal(number, signal) for signal in signals):
                if signal.component != at:
                    left = self.system.signal_local(signal, at, left)
            if left != self.system.renamed(number, result):
                raise SymmetryError(f"signals tell components apart: {local!r} after {signals!r}")

    def check_value(self, destination: int, expiry: int | None, message: Hashable) -> None:
        """For a sample: compare the destination and the expiry of a message with those of its images."""
        for number in self._others("messages"):
            image = self.system.renamed(number, message)
            at = self.permutations[number][destination]
            if self.system.destination(image) != at or self.system.expiry(image) != expiry:
                raise SymmetryError(f"the network tells components apart: {message!r}")

    def check_local(self, component: int, local: Hashable) -> None:
        """For a sample: compare the constraint and the clock of a local state with those of its images."""
        within, clock = self.system.within, self.system.clock
        for number in self._others("locals"):
            at, image = self.permutations[number][component], self.system.renamed(number, local)
            if (within(at, image), clock(at, image)) != (within(component, local), clock(component, local)):
                raise SymmetryError(f"bounds or clocks tell components apart: {local!r}")

    def check_invariant(
        self, invariant: int, locals_: Sequence[Hashable], history: Hashable, holds: bool
    ) -> None:
        """For a sample: compare the verdict of an invariant on a state with those on its images."""
        judged = self.system.invariants[invariant]
        for number in self._others("invariants"):
            state = self.image(number, GlobalState(tuple(locals_), (), history, ()))
            parts = tuple(judged.project(c, local) for c, local in enumerate(state.locals))
            if judged.holds(parts, judged.project_history(state.history)) != holds:
                raise SymmetryError(f"invariant {judged.name} tells components apart")
