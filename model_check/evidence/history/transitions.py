"""Changes of role, compared with the effective transition table and the election before them."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Final

from kraftcheck import spec
from kraftcheck.evidence.history.facts import Place, Report, State, Violation

START: Final = spec.START
VOTER: Final = frozenset({"voter"})
OBSERVER: Final = frozenset({"observer"})
EITHER: Final = VOTER | OBSERVER

#: Roles that only a voter takes.
STANDING: Final = ("Prospective", "Candidate", "Leader")


@lru_cache(maxsize=16)
def rows(table: str) -> tuple[spec.Transition, ...]:
    """The transitions of ``table`` that production makes where the specification has a choice."""
    protocol = {**spec.load().defaults, "V-SM": table}
    return tuple(row for row in spec.load().table(table) if row.belongs_to(protocol))


@lru_cache(maxsize=4096)
def legal(tables: tuple[str, ...], old: str, new: str, step: int, members: frozenset[str]) -> bool:
    """Whether one of ``tables`` has a change from role ``old`` to ``new``.

    ``step`` is the epoch after minus the epoch before; ``members`` says whether the replica may be a
    ``voter``, an ``observer`` or either, by its own view.
    """
    changes = {0: {"same"}, 1: {"larger", "plus-one"}}.get(step, {"larger"})
    return step >= 0 and any(
        (row.from_state, row.to_state) == (old, new)
        and row.epoch in changes
        and (row.role == "any" or row.role in members)
        for table in tables
        for row in rows(table)
    )


@lru_cache(maxsize=1024)
def _allowed(tables: tuple[str, ...], old: str) -> str:
    """The changes that ``tables`` allow from role ``old``, for a message."""
    found = [row for table in tables for row in rows(table) if row.from_state == old]
    return ", ".join(dict.fromkeys(f"{row.to_state} ({row.epoch} epoch)" for row in found)) or "nothing"


def illegal(tables: tuple[str, ...], old: str, new: State, step: int, earlier: Place | None) -> Violation:
    """The violation that no one of ``tables`` has a change from role ``old`` to the state ``new``."""
    rules = (
        row.rule
        for table in tables
        for row in spec.load().table(table)
        if (row.from_state, row.to_state) == (old, new.role)
    )
    stays = old == "Resigned" and step <= 0
    also: tuple[str, ...] = ("ResignedLeavesItsEpoch",) if stays else ()
    if new.role == "Candidate" and old not in ("Prospective", START) and "kip996" in tables:
        also += ("CandidateOnlyFromProspective",)
    return Violation(
        "TransitionsLegal",
        f"from {old}: {_allowed(tables, old)}",
        f"{old} to {new.role}, epoch {new.epoch - step} to {new.epoch}, by table {' or '.join(tables)}",
        earlier,
        tuple(dict.fromkeys(rules)),
        also,
    )


def check_leader_kept(old: State, new: State, earlier: Place | None, report: Report) -> None:
    """Judge that a replica does not forget the leader of its epoch."""
    if old.role in ("Leader", "Resigned") or new.epoch != old.epoch or new.leader is not None:
        return
    if isinstance(old.leader, int):
        expected = f"leader {old.leader} of epoch {old.epoch}"
        report(Violation("leader-kept", expected, "none", earlier))


def no_voter(node: int, new: State, voters: Collection[int]) -> Violation:
    """The violation that ``node`` is a candidate and none of ``voters``."""
    ids = ", ".join(str(one) for one in sorted(voters))
    expected, found = f"one of the voters {ids}", f"node {node} is {new.role}"
    return Violation("ObserversStandNoElection", expected, found)


def check_election(granted: Collection[int], electorate: Collection[int], report: Report) -> None:
    """Judge that a majority of ``electorate`` has granted the election that was won."""
    needed = len(electorate) // 2 + 1
    if len(granted) < needed:
        expected = f"{needed} of {len(electorate)} voters to have granted"
        report(Violation("election-majority", expected, f"{len(granted)} of them"))
