"""Whether a change of state is in the transition table of a release."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from kraftcheck import spec
from kraftcheck.evidence.logs.states import Key, LoggedState

START: Final = spec.START
EITHER: Final = frozenset({"voter", "observer"})
_OBSERVER: Final = frozenset({"observer"})


def _production(table: str) -> dict[str, str]:
    """What production does where the catalogue has a choice."""
    return {**spec.load().defaults, "V-SM": table}


def legal(tables: tuple[str, ...], old: str, new: str, step: int, members: frozenset[str]) -> bool:
    """Whether one of ``tables`` has a change from role ``old`` to ``new``.

    ``step`` is the epoch after minus the epoch before; ``members`` says whether the node may be a ``voter``,
    an ``observer`` or either, by its own view.
    """
    if step < 0:
        return False
    return _legal(tables, old, new, min(step, 2), members)


@lru_cache(maxsize=4096)
def _legal(tables: tuple[str, ...], old: str, new: str, step: int, members: frozenset[str]) -> bool:
    return any(_in_table(table, old, new, step, members) for table in tables)


def _in_table(table: str, old: str, new: str, step: int, members: frozenset[str]) -> bool:
    changes = {0: {"same"}, 1: {"larger", "plus-one"}, 2: {"larger"}}[step]
    protocol = _production(table)
    return any(
        row.from_state == old
        and row.to_state == new
        and row.epoch in changes
        and (row.role == "any" or row.role in members)
        for row in spec.load().table(table)
        if row.belongs_to(protocol)
    )


def members(node: int, old: LoggedState, new: LoggedState, known: frozenset[Key] | None) -> frozenset[str]:
    """Whether ``node`` may be voter or observer by its own view; either where lines do not settle it.

    ``known`` is the voter set that its lines showed last, if they showed one.
    """
    shown = False
    for view in (new.voters, new.electorate, old.voters, old.electorate):
        if view is not None:
            # The set may hold the node's id with the directory id of another disk.
            if node in view:
                return EITHER
            shown = True
    if known is not None:
        return EITHER if any(key.id == node for key in known) else _OBSERVER
    return _OBSERVER if shown else EITHER


@lru_cache(maxsize=1024)
def rows(tables: tuple[str, ...], old: str) -> str:
    """What ``tables`` allow from role ``old``, for a message."""
    found = dict.fromkeys(
        f"{row.to_state} ({row.epoch} epoch)"
        for table in tables
        for row in spec.load().table(table)
        if row.from_state == old and row.belongs_to(_production(table))
    )
    return ", ".join(found) or "nothing"


def rules_about(tables: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    """Ids of the rules on changes from ``old`` to ``new``; empty if no table has one."""
    found = (row for table in tables for row in spec.load().table(table))
    return tuple(dict.fromkeys(row.rule for row in found if row.from_state == old and row.to_state == new))
