"""Actions of the proof taken one after the other by one replica within one step, and their needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kraftcheck.proof.refinement.firing import KNOWN, NOTHING, Actions, Need
from kraftcheck.proof.refinement.formulas import Fact
from kraftcheck.proof.refinement.own import Own


@dataclass(frozen=True, slots=True)
class Taken:
    """An action with its parameters, the replica before it, and the guards that do not hold.

    ``flushes``: whether the replica flushes fetched records, as all possible voters do.
    """

    action: str
    parameters: tuple[Any, ...]
    before: Own
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


class Walk:
    """Takes actions of ``actor``, whose abstraction before them is ``own``."""

    def __init__(self, actions: Actions, actor: int, own: Own, *, flushes: bool = True) -> None:
        self._actions = actions
        self._flushes = flushes
        self.actor = actor
        self.own = own
        self.taken: list[Taken] = []
        self.problems: list[str] = []
        self._needs: list[Needed] = []
        self._adds: set[Fact] = set()
        self._knows: set[Fact] = set()
        self._forgets = False

    def take(self, action: str, *parameters: Any, assumed: frozenset[Fact] = NOTHING) -> None:
        """Take ``action``; the acting replica is its first parameter and is left out here."""
        whole = (self.actor, *parameters)
        fired = self._actions.fire(action, self.own, whole, assumed)
        failed = list(fired.failed)
        for need in fired.needs:
            if need.fact in self._adds:
                if not need.holds:
                    failed.append(need.guard)
            else:
                self._needs.append(Needed(len(self.taken), need))
        failed = list(dict.fromkeys(failed))
        self.taken.append(Taken(action, whole, self.own, tuple(failed), self._flushes))
        self.own = fired.own
        if fired.forgets:
            self._forgets = True
            self._knows.clear()
        for fact in fired.adds:
            (self._knows if fact[0] == KNOWN else self._adds).add(fact)

    def allows(self, action: str, *parameters: Any) -> bool:
        """Whether no guard of ``action`` fails for all messages and all history."""
        return not self._actions.fire(action, self.own, (self.actor, *parameters)).failed

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
