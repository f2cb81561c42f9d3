"""Actions of the proof: whether their guards hold, their effects, and sequences of them in one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import z3

from kraftcheck.proof.logic import Symbol, System
from kraftcheck.proof.refinement.abstraction import ProofReplica
from kraftcheck.proof.refinement.formulas import Domain, Fact
from kraftcheck.proof.refinement.written import Written, actions_of

#: The one relation apart from those of :class:`ProofReplica` from which actions remove facts.
KNOWN = "known"
NOTHING: frozenset[Fact] = frozenset()


@dataclass(frozen=True, slots=True)
class Need:
    """A guard requires that ``fact`` holds, or that it does not (``holds`` False)."""

    guard: str
    fact: Fact
    holds: bool


@dataclass(frozen=True, slots=True)
class Fired:
    """An action that was taken.

    ``failed`` are the guards that hold for no messages and no history; ``needs`` are the requirements of the
    others on these; ``replica`` is its state afterwards, ``adds`` are the facts that become true.
    ``forgets``: the replica no longer knows its high watermark.
    """

    failed: tuple[str, ...]
    needs: tuple[Need, ...]
    replica: ProofReplica
    adds: frozenset[Fact]
    forgets: bool


@dataclass(frozen=True)
class _Compiled:
    guards: tuple[tuple[str, Callable[..., bool]], ...]
    replica: tuple[tuple[str, Callable[..., Any]], ...]
    history: tuple[tuple[Symbol, Callable[..., Any], Callable[..., Any]], ...]


class _Asked:
    """The answers for a guard, and its questions."""

    def __init__(self, guard: str, values: dict[Fact, Any]) -> None:
        self._guard = guard
        self._values = values
        self.needs: dict[Need, None] = {}

    def wanted(self, *fact: Any) -> bool:
        self.needs[Need(self._guard, fact, True)] = None
        return True

    def unwanted(self, *fact: Any) -> bool:
        self.needs[Need(self._guard, fact, False)] = None
        return False

    def value(self, *place: Any) -> Any:
        value = self._values.get(place)
        if value is not None:
            self.needs[Need(self._guard, (*place, value), True)] = None
        return value


class Actions:
    """The actions of ``system`` over the elements of ``domain``."""

    def __init__(self, system: System, domain: Domain) -> None:
        self.system = system
        self.domain = domain
        self.by_name = {action.name: action for action in system.actions}
        self._compiled = {name: self._over(action) for name, action in actions_of(system).items()}
        self._known: dict[tuple[Any, ...], Fired] = {}

    def _over(self, action: Written) -> _Compiled:
        domain = self.domain
        return _Compiled(
            tuple((name, body.over(domain)) for name, body in action.guards),
            tuple((name, body.over(domain)) for name, body in action.replica),
            tuple(
                (symbol, body.over(domain), places.over(domain)) for symbol, body, places in action.history
            ),
        )

    def fire(
        self,
        name: str,
        replica: ProofReplica,
        parameters: tuple[Any, ...],
        assumed: frozenset[Fact] = NOTHING,
    ) -> Fired:
        """Take action ``name``; ``parameters`` begin with the acting replica.

        The effect of the action depends on the facts ``assumed``: they become needs, and so does the absence
        of all other facts on which it depends.
        """
        key = name, replica, parameters, assumed
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._fire(name, replica, parameters, assumed)
        return found

    def _fire(
        self, name: str, replica: ProofReplica, parameters: tuple[Any, ...], assumed: frozenset[Fact]
    ) -> Fired:
        compiled = self._compiled[name]
        values = {fact[:-1]: fact[-1] for fact in assumed}
        failed, needs = [], dict[Need, None]()
        for guard, holds in compiled.guards:
            asked = _Asked(guard, values)
            if holds(replica, asked.wanted, asked.unwanted, asked.value, *parameters):
                needs |= asked.needs
            else:
                failed.append(guard)
        after, more = self._replica_after(compiled, replica, parameters, assumed)
        adds, forgets = self._history(compiled, replica, parameters)
        known = [fact[4] for fact in adds if fact[0] == KNOWN]
        covered = None if forgets else replica.covered
        if known:
            covered = max(*known, covered or 0)
        return Fired(
            tuple(failed),
            (*needs, *more),
            replace(replica, covered=covered, **after),
            frozenset(adds),
            forgets,
        )

    def _replica_after(
        self,
        compiled: _Compiled,
        replica: ProofReplica,
        parameters: tuple[Any, ...],
        assumed: frozenset[Fact],
    ) -> tuple[dict[str, Any], Iterable[Need]]:
        actor, replicas = parameters[0], range(self.domain.replicas)
        needs: dict[Need, None] = {}

        def fact(*asked: Any) -> bool:
            needs[Need("what it does", asked, asked in assumed)] = None
            return asked in assumed

        after: dict[str, Any] = {}
        for name, body in compiled.replica:

            def holds(*arguments: Any, body: Callable[..., Any] = body) -> Any:
                return body(replica, fact, None, actor, *arguments, *parameters)

            if name in ("voted", "leader"):
                after[name] = frozenset(each for each in replicas if holds(each))
            elif name == "holds":
                places = product(range(self.domain.offsets), range(self.domain.epochs))
                after[name] = frozenset(place for place in places if holds(*place))
            elif name == "unflushed":
                found = frozenset(offset for offset in range(self.domain.offsets) if holds(offset))
                after[name] = found
            else:
                after[name] = holds()
        return after, needs

    def _history(
        self, compiled: _Compiled, replica: ProofReplica, parameters: tuple[Any, ...]
    ) -> tuple[list[Fact], bool]:
        adds: list[Fact] = []
        forgets = False
        for symbol, body, places in compiled.history:
            is_function = symbol.result is not None
            only = places(replica, *parameters)
            if symbol.name == KNOWN:
                only = (parameters[0], *only[1:])
            for arguments in product(*map(self._among, symbol.sorts, only)):
                found = body(replica, _never, _nothing, *arguments, *parameters)
                if found is not None and (is_function or found):
                    adds.append((symbol.name, *arguments, *([found] if is_function else [])))
                elif symbol.name == KNOWN and not body(replica, _always, _nothing, *arguments, *parameters):
                    forgets = True
        return adds, forgets

    def _among(self, sort: z3.SortRef, only: int | None) -> Iterable[int]:
        """The elements of ``sort``; ``only``: that one, if there is one."""
        elements = self.domain.elements(sort)
        if only is None:
            return elements
        return (only,) if only in elements else ()


def _never(*_: Any) -> bool:
    return False


def _always(*_: Any) -> bool:
    return True


def _nothing(*_: Any) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Taken:
    """An action with its parameters, the replica before it, and the guards that do not hold.

    ``flushes``: whether the replica flushes fetched records, as all possible voters do.
    """

    action: str
    parameters: tuple[Any, ...]
    before: ProofReplica
    failed: tuple[str, ...] = ()
    flushes: bool = True


@dataclass(frozen=True, slots=True)
class Needed:
    """The action number ``place`` of a sequence has this need."""

    place: int
    need: Need


@dataclass(frozen=True, slots=True)
class Sequence:
    """The image of a step in the proof.

    ``taken`` are its actions; ``problems`` describe the parts of the step that no action explains. The
    messages and the history before the step must meet ``needs``; ``adds`` become true, and stay so.
    ``forgets``: the replica no longer knows the records that it knew to be committed; ``knows`` is its
    knowledge afterwards.
    """

    taken: tuple[Taken, ...]
    problems: tuple[str, ...]
    needs: tuple[Needed, ...]
    adds: frozenset[Fact]
    forgets: bool
    knows: frozenset[Fact]


class SequenceBuilder:
    """Takes actions of ``actor``, whose abstraction before them is ``replica``."""

    def __init__(self, actions: Actions, actor: int, replica: ProofReplica, *, flushes: bool = True) -> None:
        self._actions = actions
        self._flushes = flushes
        self.actor = actor
        self.replica = replica
        self.taken: list[Taken] = []
        self.problems: list[str] = []
        self._needs: list[Needed] = []
        self._adds: set[Fact] = set()
        self._knows: set[Fact] = set()
        self._forgets = False

    def take(self, action: str, *parameters: Any, assumed: frozenset[Fact] = NOTHING) -> None:
        """Take ``action``; the acting replica is its first parameter and is left out here."""
        whole = (self.actor, *parameters)
        fired = self._actions.fire(action, self.replica, whole, assumed)
        failed = list(fired.failed)
        for need in fired.needs:
            if need.fact in self._adds:
                if not need.holds:
                    failed.append(need.guard)
            else:
                self._needs.append(Needed(len(self.taken), need))
        failed = list(dict.fromkeys(failed))
        self.taken.append(Taken(action, whole, self.replica, tuple(failed), self._flushes))
        self.replica = fired.replica
        if fired.forgets:
            self._forgets = True
            self._knows.clear()
        for fact in fired.adds:
            (self._knows if fact[0] == KNOWN else self._adds).add(fact)

    def allows(self, action: str, *parameters: Any) -> bool:
        """Whether no guard of ``action`` fails for all messages and all history."""
        return not self._actions.fire(action, self.replica, (self.actor, *parameters)).failed

    def require(self, why: str, *fact: Any) -> None:
        """The effect depends on ``fact``, which an earlier step has made true."""
        if fact not in self._adds:
            self._needs.append(Needed(len(self.taken), Need(why, fact, True)))

    def rule_out(self, why: str, *fact: Any) -> None:
        """The effect depends on the absence of ``fact``: no step has made it true."""
        if fact in self._adds:
            self.problem(why)
        else:
            self._needs.append(Needed(len(self.taken), Need(why, fact, False)))

    def problem(self, text: str) -> None:
        """No action explains a part of the step."""
        self.problems.append(text)

    def sequence(self) -> Sequence:
        """All actions taken."""
        return Sequence(
            tuple(self.taken),
            tuple(dict.fromkeys(self.problems)),
            tuple(dict.fromkeys(self._needs)),
            frozenset(self._adds),
            self._forgets,
            frozenset(self._knows),
        )
