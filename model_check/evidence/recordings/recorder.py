"""The lines of a recording, written for a process of the reference: the counterpart of :mod:`.nodes`.

For recordings of a simulated cluster (:mod:`.simulation`), which tests and benchmarks need where no
recording of production is at hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from kraftcheck.evidence.recordings.encode_log import encode_batch, encode_quorum_state
from kraftcheck.evidence.recordings.fields import Json
from kraftcheck.reference.effects import AppendBatch, Effect, Flush, Persist, Truncate
from kraftcheck.reference.replica import Replica


def effects_shown(effects: Sequence[Effect], before: Replica, calls: list[Json], *, leads: bool) -> Json:
    """The lists ``log``, ``persist`` and ``cb`` of a line; empty ones are left out."""
    lists = {
        "log": _log(effects, leads=leads),
        "persist": [
            encode_quorum_state(effect.quorum_state, before)
            for effect in effects
            if isinstance(effect, Persist)
        ],
        "cb": calls,
    }
    return {name: entries for name, entries in lists.items() if entries}


def _log(effects: Sequence[Effect], *, leads: bool) -> list[Json]:
    operations: list[Json] = []
    for effect in effects:
        if isinstance(effect, AppendBatch) and leads:
            operations.append({"op": "append", "by": "leader", "batches": [encode_batch(effect.batch)]})
        elif isinstance(effect, AppendBatch):
            _append(operations, effect)
        elif isinstance(effect, Flush | Truncate):
            name = "flush" if isinstance(effect, Flush) else "truncate"
            operations.append({"op": name, "to": effect.offset})
    return operations


def _append(operations: list[Json], effect: AppendBatch) -> None:
    batch = effect.batch
    if operations and operations[-1]["op"] == "append":
        operations[-1] |= {"end": batch.end_offset, "lastEpoch": batch.epoch}
    else:
        operations.append(
            {
                "op": "append",
                "by": "follower",
                "base": batch.base_offset,
                "end": batch.end_offset,
                "lastEpoch": batch.epoch,
            }
        )
