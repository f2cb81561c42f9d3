"""From runs of the checker to structures of the proof, with fixed voters.

A structure has symbols for what no replica keeps: messages that were sent once, and history. So it belongs to
a run, not to a state: :class:`Past` collects, state by state, what was seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from model_check.engine.system import GlobalState
from model_check.kraft.network import InFlight
from model_check.kraft.node import Node
from reference.log import Log
from reference.messages import FetchRequest, FetchResponse, VoteRequest
from reference.replica import Candidate, Follower, Leader, Prospective, QuorumState, Replica

#: A symbol and its arguments: a relation that holds. Replicas are numbered from 0; an epoch is its number, an
#: offset the reference's plus 1, so that 0 is the start.
Fact = tuple[str, tuple[int, ...]]
START = (0, 0)


def records(log: Log) -> frozenset[tuple[int, int]]:
    """Offset and epoch of each record of ``log``, and of the start."""
    found = {
        (offset + 1, batch.epoch)
        for batch in log.batches
        for offset in range(batch.base_offset, batch.end_offset)
    }
    return frozenset(found | {START})


def _stored(node: Node) -> QuorumState:
    return node.disk.quorum_state or QuorumState()


@dataclass(frozen=True)
class Past:
    """What a run has shown so far: facts that stay."""

    ids: tuple[int, ...]
    facts: frozenset[Fact] = frozenset({("record", (0, *START))})

    def after(self, state: GlobalState) -> Past:
        """With what ``state`` shows."""
        found = set(self.facts)
        for number, node in enumerate(state.locals):
            assert isinstance(node, Node)
            found.update(self._of_node(number, node))
        for message in state.messages:
            assert isinstance(message, InFlight)
            found.update(self._of_message(message, state, self.facts))
        return Past(self.ids, frozenset(found))

    def _of_node(self, number: int, node: Node) -> Iterator[Fact]:
        stored, log = _stored(node), records(node.disk.log)
        epoch = stored.epoch
        if epoch:
            yield "opened", (epoch,)
        if stored.voted is not None:
            yield "votes", (number, epoch, self.ids.index(stored.voted.id))
        if stored.leader is not None:
            leader = self.ids.index(stored.leader)
            yield "claimed", (epoch, leader)
            if leader == number:
                yield from (("led", (epoch, number)), ("votes", (number, epoch, number)))
                yield from (("record", (epoch, *record)) for record in log)
        if node.replica is not None:
            yield from self._of_role(number, node.replica, log)

    def _of_role(self, number: int, replica: Replica, log: frozenset[tuple[int, int]]) -> Iterator[Fact]:
        role, epoch = replica.role, replica.epoch
        if isinstance(role, Prospective | Candidate):
            symbol = "would" if isinstance(role, Prospective) else "votes"
            for voter in role.election.granted:
                yield symbol, (self.ids.index(voter), epoch, number)
        if not isinstance(role, Leader):
            return
        for entry in role.progress:
            counted = [record for record in log if record[0] <= (entry.end_offset or 0)]
            for record in counted if entry.end_offset is not None else ():
                yield "counted", (epoch, self.ids.index(entry.id), *record)
                if entry.id == replica.id and record[1] == epoch:
                    yield "assured", (number, epoch, record[0])
        if replica.high_watermark is not None:
            yield "committed", (epoch, replica.high_watermark)

    def _of_message(self, message: InFlight, state: GlobalState, before: frozenset[Fact]) -> Iterator[Fact]:
        payload = message.payload
        if isinstance(payload, VoteRequest):
            symbol = "asks" if payload.pre_vote else "stands"
            at = (self.ids.index(message.source), payload.epoch, payload.end_offset, payload.last_epoch)
            yield symbol, at
        elif isinstance(payload, FetchRequest):
            number = self.ids.index(message.source)
            fetched = ("fetched", (number, payload.epoch, payload.offset, payload.last_epoch))
            yield fetched
            node = state.locals[number]
            assert isinstance(node, Node)
            for offset, epoch in records(node.disk.log) if fetched not in before else ():
                if epoch == payload.epoch and offset <= payload.offset:
                    yield "assured", (number, epoch, offset)
        elif isinstance(payload, FetchResponse):
            for batch in payload.batches:
                for offset in range(batch.base_offset, batch.end_offset):
                    yield "record", (payload.epoch, offset + 1, batch.epoch)


def present(past: Past, state: GlobalState) -> tuple[frozenset[Fact], dict[str, tuple[str | int, ...]]]:
    """The facts of ``state``, those of the past included, and the epoch and role of each replica."""
    found = set(past.facts)
    roles, epochs = [], []
    for number, node in enumerate(state.locals):
        assert isinstance(node, Node)
        stored = _stored(node)
        epochs.append(stored.epoch)
        roles.append("Unattached" if node.replica is None else type(node.replica.role).__name__)
        held = records(node.disk.log)
        found |= {("holds", (number, *record)) for record in held}
        found |= {("unflushed", (number, offset)) for offset, _ in held if offset > node.disk.flushed}
        if stored.voted is not None:
            found.add(("voted", (number, past.ids.index(stored.voted.id))))
        if stored.leader is not None:
            found.add(("leader", (number, past.ids.index(stored.leader))))
        if node.replica is not None:
            found |= set(_of_process(past, number, node.replica))
    return frozenset(found), {"epoch": tuple(epochs), "role": tuple(roles)}


def _of_process(past: Past, number: int, replica: Replica) -> Iterator[Fact]:
    if isinstance(replica.role, Follower) and replica.role.has_fetched:
        yield "fetching", (number,)
    known = replica.high_watermark
    if known is None:
        return
    commitments = sorted(terms for symbol, terms in past.facts if symbol == "committed")
    reason = next(terms for terms in commitments if terms[1] >= known and terms[0] <= replica.epoch)
    for offset in range(known + 1):
        yield "known", (number, *reason, offset)
