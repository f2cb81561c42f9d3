"""Effects on logs and on commitment, as actions of the proof."""

from __future__ import annotations

from kraftcheck.proof.refinement.own import records_of
from kraftcheck.proof.refinement.scene import Scene
from kraftcheck.reference import disk as disks
from kraftcheck.reference import effects, messages
from kraftcheck.reference.log import Batch
from kraftcheck.reference.replica import Follower, Leader, Replica
from kraftcheck.systems.kraft.node import Execution


class LogEffects(Scene):
    """The images of the log's effects in the proof."""

    #: Whether the log was flushed, so that a leader may count it.
    counts_flush = False

    def append(self, batch: Batch) -> None:
        walk = self.walk
        if walk.own.role == "Leader":
            if batch.epoch != walk.own.epoch:
                walk.problem(f"a leader of epoch {walk.own.epoch} appends records of epoch {batch.epoch}")
            self._append_as_leader(batch)
            return
        response = self.payload
        if not isinstance(response, messages.FetchResponse):
            walk.problem("records are taken over that no leader has sent")
            return
        epoch = walk.own.epoch
        taken = frozenset(
            ("record", epoch, offset + 1, batch.epoch)
            for offset in range(batch.base_offset, batch.end_offset)
        )
        if self.changing:
            self._take_over_voters(batch)
        walk.take("take-records", epoch, *walk.own.end, batch.end_offset, assumed=taken)

    def _take_over_voters(self, batch: Batch) -> None:
        """Records that a replica takes over carry the voter sets that their leader has appended, and no
        others.
        """
        after = self.voter_sets(disks.apply(self.disk, effects.AppendBatch(batch)).log)
        for offset in range(batch.base_offset + 1, batch.end_offset + 1):
            record = offset, batch.epoch
            if record in after:
                self.walk.require("brings the voter set of the leader", "set_of", *record, after[record])
            else:
                self.walk.rule_out("brings no voter set, as with the leader", "config", *record)

    def _append_as_leader(self, batch: Batch) -> None:
        walk, (place, voters) = self.walk, self.voters()
        after = self.voter_sets(disks.apply(self.disk, effects.AppendBatch(batch)).log)
        for offset in range(batch.base_offset + 1, batch.end_offset + 1):
            new = after.get((offset, batch.epoch)) if self.changing else None
            if new is None:
                walk.take("append", offset)
                continue
            committed = walk.own.covered or 0
            assumed = frozenset({("set_of", *place, voters)})
            walk.take("append-voters", offset, *place, committed, new, assumed=assumed)
            place, voters = (offset, batch.epoch), new

    def has_fetched(self, after: Replica) -> None:
        """An answer without records is an action too: no record follows the end of the log."""
        walk = self.walk
        fetched = isinstance(after.role, Follower) and after.role.has_fetched
        if not fetched or walk.own.fetching:
            return
        if isinstance(self.payload, messages.FetchResponse):
            walk.take("take-records", walk.own.epoch, *walk.own.end, walk.own.end[0])
        elif isinstance(self.payload, messages.UpdateRaftVoterResponse):
            walk.take("hear-from-leader")

    def flush(self, offset: int) -> None:
        if any(each > offset for each in self.walk.own.unflushed):
            self.walk.problem(f"the log is flushed up to {offset} and not whole")
            return
        self.walk.take("flush")
        self.counts_flush = True

    def truncate(self, offset: int) -> None:
        walk, response = self.walk, self.payload
        if not isinstance(response, messages.FetchResponse) or response.diverging is None:
            walk.problem("the log is truncated without a diverging epoch from a leader")
            return
        left = disks.apply(self.disk, effects.Truncate(offset)).log
        last = max((each for each, _ in records_of(left)), default=0)
        diverging = response.diverging
        walk.take("truncate", walk.own.epoch, *walk.own.end, diverging.epoch, diverging.offset + 1, last)

    # -- commitment -----------------------------------------------------------------------------------

    def count_fetch(self, request: messages.FetchRequest) -> None:
        """A leader counts a fetch of a voter; it must not use the fetch of another replica."""
        voter = self.component_of.get(request.replica.id)
        if voter is None or request.epoch != self.walk.own.epoch:
            return
        parameters = voter, request.offset, request.last_epoch
        if self.walk.allows("count-fetch", *parameters):
            self.walk.take("count-fetch", *parameters)

    def high_watermark(self, offset: int, execution: Execution, before: Replica | None) -> None:
        walk = self.walk
        if walk.own.role == "Leader":
            self._commit(offset, _end_offsets(before, execution))
            return
        response = self.payload
        if not isinstance(response, messages.FetchResponse) or response.high_watermark is None:
            walk.problem("a high watermark is learned that no leader has sent")
            return
        walk.take("learn-high-watermark", walk.own.epoch, *walk.own.end, response.high_watermark)

    def _commit(self, offset: int, ends: dict[int, int]) -> None:
        walk = self.walk
        if isinstance(self.payload, messages.FetchRequest):
            fetcher = self.payload.replica.id
            ends[fetcher] = max(self.payload.offset, ends.get(fetcher, 0))
        voters = self.voters()[1]
        having = {self.component_of[each] for each, end in ends.items() if end >= offset}
        quorum = frozenset((having & voters) - {self.actor})
        if 2 * len(quorum) <= len(voters) and self.actor in voters:
            quorum |= {self.actor}
        if self.actor in quorum and (walk.own.flushed or offset in walk.own.unflushed):
            walk.take("count-own-log", *walk.own.end)
        epoch = next((epoch for place, epoch in walk.own.holds if place == offset), None)
        if epoch is None:
            walk.problem(f"a leader commits to {offset}, where its log has no record")
            return
        place, assumed = self.in_force()
        walk.take("commit", offset, epoch, quorum, *place, assumed=assumed)


def _end_offsets(before: Replica | None, execution: Execution) -> dict[int, int]:
    """The ends of replicas' logs as a leader knows them, by replica id."""
    ends: dict[int, int] = {}
    for replica in (before, execution.replica):
        role = None if replica is None else replica.role
        if isinstance(role, Leader):
            for entry in (*role.observers, *role.progress):
                ends[entry.id] = max(ends.get(entry.id, 0), entry.end_offset or 0)
    return ends
