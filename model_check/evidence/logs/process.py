"""One process of a node: its state, its release, and its transition table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kraftcheck.evidence.history.facts import Report
from kraftcheck.evidence.history.progress import Progress
from kraftcheck.evidence.history.transitions import EITHER, OBSERVER, START, illegal, legal
from kraftcheck.evidence.logs.findings import Where
from kraftcheck.evidence.logs.messages import Transition
from kraftcheck.evidence.logs.releases import Releases, printing, tables_of
from kraftcheck.evidence.logs.states import LoggedState


@dataclass(slots=True)
class Process:
    """A process of a node."""

    releases: Releases
    """The releases that may have written its lines."""
    state: LoggedState | None = None
    state_where: Where | None = None
    attempt: LoggedState | None = None
    attempt_where: Where | None = None
    old_peer: bool = False
    """A peer without pre-votes has answered."""
    progress: Progress = field(default_factory=Progress)

    @property
    def tables(self) -> tuple[str, ...]:
        """The transition tables of its releases."""
        return tables_of(self.releases)

    def recognise(self, fact: Transition, fixed: Releases | None) -> Iterator[str]:
        """Narrow down the releases that print such lines, unless they are ``fixed``; gives notes."""
        new, old = fact.new, fact.old
        if not new.releases or (old is not None and not old.releases):
            yield "unknown-form"
        if fixed is not None:
            if new.releases and not fixed & new.releases:
                yield "other-release"
            return
        found = printing(fact.completed, fact.old_shown, new.releases, None if old is None else old.releases)
        if self.releases <= found:
            return
        narrowed = self.releases & found
        if found and not narrowed:
            yield "other-release"
        self.releases = narrowed or found or self.releases

    def check_legal(self, node: int, fact: Transition, report: Report) -> None:
        """Judge a change by the transition table.

        A smaller epoch is a problem of its own, and no line shows the state before the first one.
        """
        new, old, tables = fact.new, self.state, self.tables
        if fact.starts:
            if not legal(tables, START, new.role, 0, EITHER):
                report(illegal(tables, START, new, 0, self.state_where))
        elif old is not None:
            step = new.epoch - old.epoch
            if step >= 0 and not legal(tables, old.role, new.role, step, self._members(node, old, new)):
                report(illegal(tables, old.role, new, step, self.state_where))

    def _members(self, node: int, old: LoggedState, new: LoggedState) -> frozenset[str]:
        """Whether ``node`` may be voter or observer by its own view; either where lines do not settle it."""
        shown = False
        for view in (new.voters, new.electorate, old.voters, old.electorate):
            if view is not None:
                # The set may hold the node's id with the directory id of another disk.
                if node in view:
                    return EITHER
                shown = True
        known = self.progress.voters
        if known is not None:
            return EITHER if any(key.id == node for key in known) else OBSERVER
        return OBSERVER if shown else EITHER
