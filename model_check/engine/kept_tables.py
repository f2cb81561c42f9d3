"""The contents of tables, to be kept for later explorations of the same system.

A later version of the system may answer some keys in another way: those are asked again when the contents
are taken over. Where all answers are as before, a search would find what it found before: it asks for nothing
that it did not ask for then.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kraftcheck.engine.memo import ACT, DELIVER
from kraftcheck.engine.tables import Tables
from kraftcheck.engine.view import SENDS

#: The lists of values, by their names in :class:`~kraftcheck.engine.tables.Tables`.
_VALUES = (
    *("locals", "messages", "histories", "label_sequences", "signal_sequences", "name_sets"),
    *("owners", "actions", "projections", "history_projections"),
)


@dataclass(frozen=True, slots=True)
class KeptTables:
    """The contents of tables.

    ``columns``: the arrays of :class:`~kraftcheck.engine.tables.Columns`; ``values``: the lists of values;
    ``keys``, ``answers``: int64, the entries of ``memo``, in the order in which they were resolved, and
    ``ran``: int32, by entry the number of what ran for it; ``judged``, ``holds``: those of ``verdicts``;
    ``besides``: the numbers of what ran for all else.
    """

    columns: dict[str, NDArray[Any]]
    values: list[list[Any]]
    most_sends: int
    keys: NDArray[np.int64]
    answers: NDArray[np.int64]
    ran: NDArray[np.int32]
    judged: NDArray[np.int64]
    holds: NDArray[np.uint8]
    besides: tuple[int, ...]


def contents_of(tables: Tables) -> KeptTables:
    """The contents of ``tables``, which note what runs. No search may use them any more."""
    tables.settle()
    tables.note_besides()
    return KeptTables(
        columns={name: column.used.copy() for name, column in vars(tables.columns).items()},
        values=[getattr(tables, name) for name in _VALUES],
        most_sends=tables.most_sends,
        keys=np.array(tables.resolved, np.int64),
        answers=np.array([tables.memo.get(key) for key in tables.resolved], np.int64),
        ran=np.array(tables.ran, np.int32),
        judged=np.array(tables.judged, np.int64),
        holds=np.array([tables.verdicts.get(key) for key in tables.judged], np.uint8),
        besides=tuple(sorted(tables.ran_besides)),
    )


def fill(tables: Tables, kept: KeptTables, valid: NDArray[np.bool_]) -> bool:
    """Put what is ``kept`` into ``tables``, which are new and of the same system. Of the entries those that
    are not ``valid`` any more are asked again; whether all answers are the same.
    """
    for name, values in zip(_VALUES, kept.values, strict=True):
        setattr(tables, name, values)
    for name, column in vars(tables.columns).items():
        column.count = 0
        column.extend(kept.columns[name])
    tables.most_sends = kept.most_sends
    hashes = tables.columns
    tables.hashes_of_locals, tables.hashes_of_messages = (
        each.used.tolist() for each in (hashes.local_hash, hashes.message_hash)
    )
    tables.ids = {(component, local): number for number, (component, local) in enumerate(tables.locals)}
    tables.ids.update((("price", cost), number) for number, cost in enumerate(hashes.prices.used.tolist()))
    by_kind: dict[str, Sequence[Hashable]] = {
        "message": tables.messages,
        "history": tables.histories,
        "labels": tables.label_sequences,
        "signals": tables.signal_sequences,
        "names": tables.name_sets,
    }
    for kind, found in by_kind.items():
        tables.ids.update(((kind, value), number) for number, value in enumerate(found))
    locals_ = (local for _, local in tables.locals)
    tables.hashed = dict(zip(hashes.local_hash.used[:, 0].tolist(), locals_, strict=True))
    tables.hashed.update(zip(hashes.message_hash.used[:, 0].tolist(), tables.messages, strict=True))
    tables.hashed.update(zip(hashes.history_hash.used[:, 0].tolist(), tables.histories, strict=True))
    tables.resolved = kept.keys[valid].tolist()
    tables.ran = kept.ran[valid].tolist()
    tables.ran_besides = set(kept.besides)
    tables.memo.put_all(kept.keys[valid], kept.answers[valid])
    tables.judged = kept.judged.tolist()
    tables.verdicts.put_all(kept.judged, kept.holds.astype(np.int64))
    same = True
    for key, before in zip(kept.keys[~valid].tolist(), kept.answers[~valid].tolist(), strict=True):
        tables.resolve(key)
        same = _is_same(tables, key, before, tables.memo.get(key)) and same
    tables.settle()
    return same


def _is_same(tables: Tables, key: int, before: int, now: int) -> bool:
    """Whether two values of a key stand for one answer."""
    if key >> 60 not in (DELIVER, ACT):
        return before == now
    count = before & 0xFFFFF
    if count != now & 0xFFFFF:
        return False
    pairs = ((_outcome(tables, (first >> 20) + i) for first in (before, now)) for i in range(count))
    return all(one == other for one, other in pairs)


def _outcome(tables: Tables, number: int) -> tuple[Any, ...]:
    row = tables.columns.outcomes.data[number].tolist()
    first, count = row[SENDS] >> 20, row[SENDS] & 0xFFFFF
    row[SENDS] = tables.columns.pool.data[first : first + count].tolist()
    price = tables.columns.prices.data[tables.columns.price.data[number]]
    return tables.actions[number], tables.owners[number], row, int(price)
