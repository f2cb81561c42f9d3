"""The system's answers as arrays of integers: interned values, outcomes, fingerprint parts.

Every local state (with its component), message, history, sequence of labels and sequence of signals gets a
number when it is first seen. Results for pairs of them are kept in one map (``memo``), which the kernels
read; a key that they do not find is resolved here, by the system, once.

Fingerprints do not depend on those numbers: each value has a 64-bit hash of its ``repr``, salted with its
kind and its place, and a state's fingerprint is made of sums over its parts (messages add up as a multiset;
see :mod:`kraftcheck.engine.hashing`). So equal states have equal fingerprints in every run, and a successor's
fingerprint is its parent's plus the differences of the changed parts. (Sums of random 64-bit values as
multiset hashes: Clarke et al., "Incremental multiset hash functions", ASIACRYPT 2003, MSet-Add-Hash.)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.columns import Columns
from kraftcheck.engine.hashing import (
    MASK64,
    MAX_BUDGETS,
    TAG,
    budget_hash,
    content_hash,
    signed,
    text_hash,
    with_tags,
)
from kraftcheck.engine.memo import ACT, DELIVER, LIMIT, RECORD, SIGNAL_MESSAGE, Memo
from kraftcheck.engine.native_map import NativeMap
from kraftcheck.engine.symmetry import Symmetry
from kraftcheck.engine.system import GlobalState, Loss, Outcome, PathStep, Signal, System
from kraftcheck.engine.texts import Texts
from kraftcheck.engine.view import (
    ADVANCES,
    BEFORE,
    CONSUMES,
    DUPLICATE,
    EXTRA,
    LINK,
    LOSE,
    MAY_EXPIRE,
    NEVER,
    OUTSIDE,
    REPEATABLE,
    TURNS_BACK,
    Room,
    View,
)


class Footprints(Protocol):
    """What notes the code that runs."""

    def take(self) -> int:
        """The number of what ran since the last time; what runs equally has the same number."""
        ...


class Tables:
    """The tables of one system.

    ``calls`` counts calls of ``System.deliver`` and ``System.actions``. ``resolved`` are the keys of ``memo``
    in the order in which they were resolved, which alone decides the numbers of all interned values;
    ``judged`` the keys of ``verdicts`` in theirs. ``footprints``: notes which code of the system runs, and
    ``ran`` is then the number of what ran for each of ``resolved``, ``ran_besides`` those of all else.
    ``interrupted``: an answer may be there in part only.
    """

    def __init__(self, system: System, footprints: Footprints | None = None) -> None:
        if len(system.budgets) > MAX_BUDGETS or any(not 0 <= b <= 255 for b in system.budgets):
            raise ValueError(f"at most {MAX_BUDGETS} budgets of 0 to 255 each, not {system.budgets}")
        self.system = system
        self.calls = 0
        self.resolved: list[int] = []
        self.judged: list[int] = []
        self.footprints = footprints
        self.ran: list[int] = []
        self.ran_besides: set[int] = set()
        self.interrupted = False
        self.memo = Memo()
        self.verdicts = NativeMap()
        self.locals: list[tuple[int, Hashable]] = []
        self.messages: list[Hashable] = []
        self._texts: dict[int, str] = {}
        self.histories: list[Hashable] = []
        self.label_sequences: list[tuple[Hashable, ...]] = []
        self.signal_sequences: list[tuple[Signal, ...]] = []
        self.name_sets: list[tuple[str, ...]] = []
        # As in the arrays for the kernels, then the tags; sums of a few are faster over Python's integers.
        self.hashes_of_locals: list[list[int]] = []
        self.hashes_of_messages: list[list[int]] = []
        self.owners: list[tuple[int, int, int]] = []
        self.actions: list[Hashable] = []
        self.projections: list[tuple[Hashable, ...]] = []
        self.history_projections: list[tuple[Hashable, ...]] = []
        self._repr = Texts()
        self._hashes_of_parts: dict[Hashable, int] = {}
        self.ids: dict[Hashable, int] = {}
        self.hashed: dict[int, Hashable] = {}
        self.most_sends = 0
        self.symmetry = Symmetry(system)
        self.columns = Columns(len(self.symmetry.permutations), len(system.invariants) + 1)
        self._budget_hash = budget_hash()
        # Number 0 is "nothing" in each, so that the kernels can skip it without a look-up.
        self.intern_labels(())
        self.intern_signals(())
        self._intern("names", (), self.name_sets, ())
        self.columns.prices.append(0)

    # -- interning ---------------------------------------------------------------------------------

    def _intern(self, kind: Hashable, value: Hashable, values: list[Any], item: Any) -> tuple[int, bool]:
        number = self.ids.get((kind, value))
        if number is not None:
            return number, False
        number = len(values)
        if number >= LIMIT:
            raise OverflowError(f"more than {LIMIT} values of kind {kind!r}")
        self.ids[kind, value] = number
        values.append(item)
        return number, True

    def _hash(self, salt: Hashable, value: Hashable) -> int:
        """The content hash of ``value``. Raises ValueError if another value has the same hash.

        Fingerprints are sums of these hashes: different states would be taken for one.
        """
        found = text_hash(salt, self._repr.of(value))
        if self.hashed.setdefault(found, value) != value:
            raise ValueError(f"two values that differ have the same text: {value!r}")
        return found

    def intern_local(self, component: int, local: Hashable) -> int:
        """The number of a component's local state (numbers are shared by all components)."""
        number, new = self._intern(component, local, self.locals, (component, local))
        if new:
            images = self.symmetry.locals(component, local)
            hashes = with_tags([self._hash(("local", at), image) for at, image in images])
            self.hashes_of_locals.append(hashes)
            self.columns.local_hash.append(hashes)
            self.columns.outside.append(not self.system.within(component, local))
            self.columns.clock.append(self.system.clock(component, local))
            self.symmetry.check_local(component, local)
            parts = tuple(inv.project(component, local) for inv in self.system.invariants)
            self.projections.append(parts)
            self.columns.projection_hash.append(self._projection_hashes(component, parts))
        return number

    def intern_message(self, message: Hashable) -> int:
        """The number of a message."""
        number, new = self._intern("message", message, self.messages, message)
        if new:
            if message is None:
                raise ValueError("None is not a message")
            hashes = with_tags([self._hash("message", it) for it in self.symmetry.images(message)])
            self.hashes_of_messages.append(hashes)
            self.columns.message_hash.append(hashes)
            self.columns.destination.append(self.system.destination(message))
            expiry = self.system.expiry(message)
            self.columns.expiry.append(NEVER if expiry is None else expiry)
            self.symmetry.check_value(self.system.destination(message), expiry, message)
        return number

    def intern_history(self, history: Hashable) -> int:
        """The number of a history."""
        number, new = self._intern("history", history, self.histories, history)
        if new:
            images = self.symmetry.images(history)
            self.columns.history_hash.append(with_tags([self._hash("history", image) for image in images]))
            parts = tuple(inv.project_history(history) for inv in self.system.invariants)
            self.history_projections.append(parts)
            self.columns.history_projection_hash.append(self._projection_hashes("history", parts))
        return number

    def intern_labels(self, labels: tuple[Hashable, ...]) -> int:
        """The number of a sequence of labels."""
        return self._intern("labels", labels, self.label_sequences, labels)[0]

    def intern_signals(self, signals: tuple[Signal, ...]) -> int:
        """The number of a sequence of signals."""
        return self._intern("signals", signals, self.signal_sequences, signals)[0]

    def intern_names(self, names: tuple[str, ...]) -> int:
        """The number of a set of property names or goal names (below 2**16)."""
        if not names:
            return 0
        names = tuple(sorted(set(names)))
        number = self._intern("names", names, self.name_sets, names)[0]
        if number >= 1 << 16:
            raise OverflowError("more than 65536 different sets of properties or goals")
        return number

    def _projection_hashes(self, place: Hashable, parts: tuple[Hashable, ...]) -> NDArray[np.uint64]:
        """The hashes of what each invariant keeps, then one of them all. Most new values differ from others
        in what no invariant keeps: a part is hashed when it is first seen in its place.
        """
        hashes = []
        for i, part in enumerate(parts):
            key = (place, i, part)
            known = self._hashes_of_parts.get(key)
            if known is None:
                known = self._hashes_of_parts[key] = self._hash(("projection", i, place), part)
            hashes.append(known)
        return np.array([*hashes, content_hash(("projections", place), tuple(hashes))], np.uint64)

    # -- resolving keys that the kernels did not find -------------------------------------------------

    def resolve(self, key: int) -> None:
        """Ask the system for the value of memo key ``key``; kernels see it after :meth:`settle`."""
        if key in self.memo:
            return
        kind, a, b = key >> 60, key >> 30 & (LIMIT - 1), key & (LIMIT - 1)
        self.note_besides()
        answer = self._asked(kind, a, b)
        if self.footprints is not None:
            self.ran.append(self.footprints.take())
        value = self._interned(kind, a, b, answer)
        self.resolved.append(key)
        self.memo.put_later(key, value)

    def _asked(self, kind: int, a: int, b: int) -> Any:
        """The system's answer for a key; none of its values has been interned yet."""
        if kind in (DELIVER, ACT):
            component, local = self.locals[a]
            self.calls += 1
            if kind == ACT:
                return self.system.actions(component, local)
            return self.system.deliver(component, local, self.messages[b])
        if kind == RECORD:
            return self._recorded(self.histories[a], self.label_sequences[b])
        if kind == SIGNAL_MESSAGE:
            return self._message_after(self.signal_sequences[a], self.messages[b])
        return self._signal_local(a, *self.locals[b])

    def _interned(self, kind: int, a: int, b: int, answer: Any) -> int:
        """The value of a key, from the system's answer."""
        if kind in (DELIVER, ACT):
            return self._add_outcomes(a, b if kind == DELIVER else -1, answer)
        if kind == RECORD:
            history, violations, goals = answer
            names = {*violations, *goals}
            self.symmetry.check_record(self.histories[a], self.label_sequences[b], (history, names))
            sets = self.intern_names(violations) << 30 | self.intern_names(goals) << 46
            return self.intern_history(history) | sets
        if kind == SIGNAL_MESSAGE:
            self.symmetry.check_signal(self.signal_sequences[a], self.messages[b], answer)
            return 0 if answer is None else self.intern_message(answer) + 1
        component, local = self.locals[b]
        self.symmetry.check_signal_local(self.signal_sequences[a], component, local, answer)
        value = self.intern_local(component, answer)
        if self.columns.clock.data[value] != self.columns.clock.data[b]:
            raise ValueError(f"a signal of another component changes the clock of {local!r}")
        return value

    def note_besides(self) -> None:
        """What ran until now concerns more than one key: the numbers of values and what they stand for."""
        if self.footprints is not None:
            self.ran_besides.add(self.footprints.take())

    def settle(self) -> None:
        """Let the kernels see the resolved entries. No kernel may be running."""
        self.memo.settle()

    def _add_outcomes(self, local: int, message: int, outcomes: Sequence[Outcome]) -> int:
        start = self.columns.outcomes.count
        component = self.locals[local][0]
        delivered = None if message < 0 else self.messages[message]
        self.symmetry.check_outcomes(component, self.locals[local][1], delivered, outcomes)
        for choice, outcome in enumerate(outcomes):
            self.owners.append((component, message, choice))
            self.actions.append(outcome.action)
            self.columns.outcomes.append(self._outcome_row(local, message, outcome))
            self.columns.price.append(self._price(outcome))
        if self.columns.outcomes.count >= LIMIT or len(outcomes) >= 1 << 18:
            raise OverflowError("too many outcomes")
        return start << 20 | len(outcomes)

    def _outcome_row(self, before: int, message: int, outcome: Outcome) -> tuple[int, ...]:
        component = self.locals[before][0]
        signals = self.intern_signals(outcome.signals)
        # Another component's signal changes the actor's new local state; that depends on the outcome alone.
        local = self.intern_local(component, self._signal_local(signals, component, outcome.local))
        sends = [self.intern_message(m) for m in outcome.sends]
        first = self.columns.pool.count
        for number in sends:
            self.columns.pool.append(number)
        self.most_sends = max(self.most_sends, len(sends))
        consumes = outcome.consumes and message >= 0
        difference = self._difference(before, local, sends, message if consumes else None)
        self.columns.differences.append(difference)
        flags = component << 8 | (message + 1) << 32
        flags |= (CONSUMES if consumes else 0) | (OUTSIDE if self.columns.outside.data[local] else 0)
        flags |= REPEATABLE if consumes and outcome.repeatable else 0
        clock, expiry = self.columns.clock.data, self.columns.expiry.data
        flags |= TURNS_BACK if clock[local] < clock[before] else 0
        flags |= ADVANCES if clock[local] > clock[before] else 0
        flags |= MAY_EXPIRE if any(expiry[number] != NEVER for number in sends) else 0
        names = self.intern_names(outcome.violations) << 32 | self.intern_names(outcome.goals)
        labels = self.intern_labels(outcome.labels)
        return (
            signed(difference[0]),
            difference[len(difference) // 2],
            local,
            flags,
            first << 20 | len(sends),
            labels,
            signals,
            names,
        )

    def _price(self, outcome: Outcome) -> int:
        """The number of the price of ``outcome``: one byte for each budget; -1 if one is above the largest
        budget, and so never paid. Raises OverflowError beyond 2**16 prices.
        """
        if not outcome.costs:
            return 0
        costs = [outcome.costs.count(i) for i in range(len(self.system.budgets))]
        if len(outcome.costs) != sum(costs):
            raise ValueError(f"{outcome.action}: costs {outcome.costs} name a budget that is not there")
        price = -1 if max(costs) > 255 else sum(c << 8 * i for i, c in enumerate(costs))
        number = self.ids.setdefault(("price", price), self.columns.prices.count)
        if number >= 1 << 16:
            raise OverflowError("more than 65536 different prices of steps")
        if number == self.columns.prices.count:
            self.columns.prices.append(price)
        return number

    def _difference(self, before: int, after: int, sends: list[int], consumed: int | None) -> list[int]:
        """The contribution of a step to the sums under each permutation, then to the tags."""
        hashes_of = self.hashes_of_messages
        pairs = zip(self.hashes_of_locals[after], self.hashes_of_locals[before], strict=True)
        total = [new - old for new, old in pairs]
        for number in sends:
            total = [one + other for one, other in zip(total, hashes_of[number], strict=True)]
        if consumed is not None:
            total = [one - other for one, other in zip(total, hashes_of[consumed], strict=True)]
        half = len(total) // 2
        return [*(each & MASK64 for each in total[:half]), *(each & TAG for each in total[half:])]

    def _recorded(
        self, history: Hashable, labels: tuple[Hashable, ...]
    ) -> tuple[Hashable, tuple[str, ...], tuple[str, ...]]:
        """The history after ``labels``, and the names of the violations and goals on the way."""
        violations: tuple[str, ...] = ()
        goals: tuple[str, ...] = ()
        for label in labels:
            recorded = self.system.record(history, label)
            history = recorded.history
            violations += recorded.violations
            goals += recorded.goals
        return history, violations, goals

    def _message_after(self, signals: tuple[Signal, ...], message: Hashable | None) -> Hashable | None:
        """The message, or ``None`` when it leaves the network."""
        for signal in signals:
            if message is not None:
                message = self.system.signal_message(signal, message)
        return message

    def _signal_local(self, signals: int, component: int, local: Hashable) -> Hashable:
        for signal in self.signal_sequences[signals]:
            if signal.component != component:
                local = self.system.signal_local(signal, component, local)
        return local

    def resolve_verdict(self, row: NDArray[np.int32], invariant: int) -> bool:
        """Evaluate one invariant on the state in ``row`` and keep the verdict for its projections, which is
        returned.
        """
        width = self.system.components
        key = int(self.columns.history_projection_hash.data[row[width], invariant])
        key += sum(int(self.columns.projection_hash.data[local, invariant]) for local in row[:width])
        # Kernels use the same 63 bits; 0 is kept for "empty".
        key = (key & (MASK64 >> 1)) or 1
        known = self.verdicts.get(key)
        if known >= 0:
            return known == 1
        projections = tuple(self.projections[local][invariant] for local in row[:width])
        holds = self.system.invariants[invariant].holds(
            projections, self.history_projections[row[width]][invariant]
        )
        locals_ = [self.locals[local][1] for local in row[:width]]
        self.symmetry.check_invariant(invariant, locals_, self.histories[row[width]], holds)
        self.verdicts.put(key, 1 if holds else 0)
        self.judged.append(key)
        return holds

    # -- rows and states ---------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """Columns of a row: locals, history, two of packed budgets, message slots, two on the last step."""
        return self.system.components + 3 + self.system.network.capacity + EXTRA

    def encode(self, state: GlobalState) -> NDArray[np.int32]:
        """The row of ``state``, to which no step has led.

        Messages are ordered by hash; an empty slot is -1.
        """
        n = self.system.components
        row = np.full(self.width, -1, np.int32)
        row[LINK], row[BEFORE] = LOSE, 0
        row[:n] = [self.intern_local(c, local) for c, local in enumerate(state.locals)]
        row[n] = self.intern_history(state.history)
        packed = sum(value << 8 * i for i, value in enumerate(state.budgets))
        row[n + 1], row[n + 2] = packed & 0x7FFFFFFF, packed >> 31
        messages = [self.intern_message(m) for m in state.messages]
        messages.sort(key=lambda number: int(self.columns.message_hash.data[number, 0]))
        row[n + 3 : n + 3 + len(messages)] = messages
        return row

    def fingerprints(self, rows: NDArray[np.int32]) -> NDArray[np.uint64]:
        """The fingerprints of ``rows`` (also of those that are marked as not to be expanded).

        Sums under each permutation, then tags; :func:`orbits` turns them into the form of the visited set.
        Raises IndexError for a number without a value.
        """
        n = self.system.components
        numbers = rows[:, : n + 1].astype(np.int64)
        numbers[:, 0] = np.where(numbers[:, 0] < 0, ~numbers[:, 0], numbers[:, 0])
        found = self.columns.history_hash.used[numbers[:, n]]
        for component in range(n):
            found += self.columns.local_hash.used[numbers[:, component]]
        permutations = found.shape[1] // 2
        packed = rows[:, n + 1].astype(np.int64) | rows[:, n + 2].astype(np.int64) << 31
        for i in range(MAX_BUDGETS):
            found[:, :permutations] += self._budget_hash[i][packed >> 8 * i & 255][:, None]
        for slot in range(n + 3, rows.shape[1] - EXTRA):
            held = rows[:, slot] >= 0
            found[held] += self.columns.message_hash.used[rows[held, slot]]
        found[:, permutations:] &= TAG
        return found

    def decode(self, row: NDArray[np.int32]) -> GlobalState:
        """The state in ``row`` (also of one that is marked as not to be expanded)."""
        n = self.system.components
        first = int(row[0])
        numbers = [first if first >= 0 else ~first, *row[1:n].tolist()]
        packed = int(row[n + 1]) | int(row[n + 2]) << 31
        messages = sorted((m for m in row[n + 3 : -EXTRA].tolist() if m >= 0), key=self._text_of)
        return GlobalState(
            tuple(self.locals[number][1] for number in numbers),
            tuple(self.messages[m] for m in messages),
            self.histories[row[n]],
            tuple(packed >> 8 * i & 255 for i in range(len(self.system.budgets))),
        )

    def _text_of(self, number: int) -> str:
        """The ``repr`` of message ``number``, by which messages in flight are in order."""
        known = self._texts.get(number)
        if known is None:
            known = self._texts[number] = repr(self.messages[number])
        return known

    def path_step(self, code: int) -> PathStep:
        """The step that ``code`` stands for."""
        number, kind = code >> 2, code & 3
        if kind == LOSE:
            message = self.messages[number]
            return PathStep("lose", self.system.destination(message), message, 0)
        component, delivered, choice = self.owners[number]
        if delivered < 0:
            return PathStep("act", component, None, choice)
        return PathStep("deliver", component, self.messages[delivered], choice, kind == DUPLICATE)

    def view(self) -> View:
        """The current arrays; valid until the tables grow."""
        network = self.system.network
        loss = {Loss.NEVER: 0, Loss.WHEN_FULL: 1, Loss.ALWAYS: 2}[network.loss]
        price = 1 << 8 * network.duplicate_budget if network.duplicate_budget >= 0 else 0
        return View(
            answers=self.memo.answers,
            verdicts=self.verdicts.pairs,
            budget_hash=self._budget_hash,
            components=self.system.components,
            capacity=network.capacity,
            loss=loss,
            duplicates=int(network.duplicates),
            duplicate_cost=price,
            **{name: column.data for name, column in vars(self.columns).items()},
        )

    @property
    def room(self) -> Room:
        """The room that kernels need for what they write."""
        changes = 2 * self.system.components + 2 * self.system.network.capacity + self.most_sends + 8
        changes = changes if len(self.symmetry.permutations) > 1 else 0
        return Room(len(self.name_sets), self.columns.prices.count, changes)
