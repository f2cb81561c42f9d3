"""The voters where they change by AlterQuorum (KIP-595), read from the records of logs alone; and the
properties of these changes.

An assignment is effective once it is committed. The leader appends one only when the one before is committed,
so that replicas are at most one voter apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from kraftcheck.reference.log import Batch, Log, VoterAssignment
from kraftcheck.reference.replica import Leader, Replica
from kraftcheck.reference.voters import static_voters
from kraftcheck.support.remembering import remembered
from kraftcheck.systems.kraft.membership import KEPT, Keys, Origin, Prefix

Target = tuple[int, ...] | None


@remembered(KEPT)
def assignments_of(batches: Prefix) -> tuple[tuple[int, VoterAssignment], ...]:
    """The assignments in a log, each with its offset."""
    return tuple(
        (batch.base_offset + place, entry)
        for batch in batches
        for place, entry in enumerate(batch.records)
        if isinstance(entry, VoterAssignment)
    )


def is_in(batch: Batch) -> bool:
    """Whether a batch carries an assignment."""
    return bool(assignments_of((batch,)))


def voters_at(origin: Origin, log: Log, offset: int) -> Keys:
    """The voters by the assignment at ``offset``, -1 for those before any assignment."""
    ids = next((each.voters for at, each in assignments_of(log.batches) if at == offset), origin.voters.ids)
    return static_voters(ids).keys


def newest_below(log: Log, high_watermark: int, known: int) -> int:
    """The offset of the newest assignment that a high watermark shows to be committed; at least ``known``."""
    return max((known, *(at for at, _ in assignments_of(log.batches) if at < high_watermark)))


def decided_in(log: Log) -> int:
    """The offset of the newest assignment that a log alone shows to be committed: all but the last one
    are.
    """
    return next((at for at, _ in assignments_of(log.batches)[-2:-1]), -1)


def added(origin: Origin, before: Prefix, change: Batch) -> set[int]:
    """The voters that an assignment adds to the ones in the log ``before``."""
    known = [origin.voters.ids, *(each.voters for _, each in assignments_of(before))]
    return {voter for _, each in assignments_of((change,)) for voter in each.voters} - set(known[-1])


# The properties.


def has_named(origin: Origin, committed: Prefix, target: Target) -> bool:
    """Whether the committed records include an assignment on the way to ``target``, or one without a
    target.
    """
    known = [VoterAssignment(origin.voters.ids), *(each for _, each in assignments_of(committed))]
    if target is None:
        return any(each.target is None for each in known)
    return any(each.wanted == tuple(sorted(target)) for each in known)


def may_be_in_force(committed: Prefix, offset: int | None) -> bool:
    """Whether a leader may count by the assignment at ``offset``: of those committed, one of the last two."""
    places = [-1, *(at for at, _ in assignments_of(committed))]
    return offset is None or offset in places[-2:]


def violations(origin: Origin, replica: Replica) -> Iterator[str]:
    """S-40: neighbouring assignments are one voter apart, and at most one is not committed."""
    known = assignments_of(replica.log.batches)
    if not known:
        return
    sets = [set(origin.voters.ids), *(set(each.voters) for _, each in known)]
    if any(len(one ^ other) > 1 or not other for one, other in pairwise(sets)):
        yield "AlterQuorumReachesItsTarget"
    pending = [at for at, _ in known if at >= (replica.high_watermark or 0)]
    leads = isinstance(replica.role, Leader) and replica.high_watermark is not None
    if leads and len(pending) > 1:
        yield "AlterQuorumReachesItsTarget"


# Goals.


def goals(committed: Prefix) -> Iterator[str]:
    """The outcomes of committed targets: each is reached, or cancelled on the way."""
    known = [each for _, each in assignments_of(committed)]
    for number, each in enumerate(known):
        if each.target is None and any(before.target == each.voters for before in known[:number]):
            yield "GoalQuorumAltered"
    for one, other in pairwise(known):
        if one.voters == other.voters and one.target not in (None, other.target, one.voters):
            yield "GoalAlterationCancelled"
