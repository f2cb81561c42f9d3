"""Relative epochs: of states that differ only by the number of past elections, one represents all.

Batches that no replica can distinguish from the ones that follow are not in its logs, and epochs that all
replicas have left are 1, 2, ... in their order. docs/engine.md says why that is a bisimulation. The history
of epochs that all have left is dropped, except the last leader, so that no safety property is judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from kraftcheck.engine.steps import ordered
from kraftcheck.engine.system import GlobalState
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch, Log
from kraftcheck.reference.messages import FetchResponse
from kraftcheck.reference.types import Meaning
from kraftcheck.systems.kraft import compaction
from kraftcheck.systems.kraft.compaction import References
from kraftcheck.systems.kraft.history import History
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.rebuilding import EPOCHS, OFFSETS, changed
from kraftcheck.systems.kraft.system import BEYOND, KRaftSystem
from kraftcheck.systems.kraft.wanted import running

T = TypeVar("T")


@dataclass(slots=True)
class _Facts:
    """The epochs and offsets that a part of a state refers to outside its logs."""

    noted: dict[Meaning, set[int]] = field(default_factory=lambda: {one: set() for one in EPOCHS | OFFSETS})

    def note(self, meaning: Meaning, number: int) -> int:
        """Note ``number``."""
        self.noted[meaning].add(number)
        return number


class Relative:
    """The representatives of states in which the components ``running`` may take steps. Of the other
    components only their end is kept, and of states outside the bounds nothing. ``parted``: see
    :mod:`kraftcheck.systems.kraft.compaction`; ``loses``: whether a crash may lose unflushed records.

    It caches the representatives of parts of states.
    """

    def __init__(self, running: Sequence[int], *, parted: bool, loses: bool = False) -> None:
        self._running, self._parted, self._loses = tuple(running), parted, loses
        self._facts: dict[int, tuple[Any, _Facts]] = {}
        self._made: dict[tuple[Any, ...], tuple[Any, Any]] = {}

    def __call__(self, state: GlobalState) -> GlobalState:
        """The representative of ``state``; a representative is its own."""
        if BEYOND in state.locals:
            return GlobalState((BEYOND,) * len(state.locals), (), History(), (0,) * len(state.budgets))
        nodes = [self._kept(number, cast(Node, local)) for number, local in enumerate(state.locals)]
        messages, history = list(state.messages), cast(History, state.history)
        while (batch := self._redundant(nodes, messages, history.committed)) is not None:
            for number in self._running:
                nodes[number] = self._without(nodes[number], batch)
            messages = [self._without(message, batch) for message in messages]
            history = replace(history, committed=compaction.left_of(history.committed, batch))
        return self._renumbered(nodes, messages, history, state.budgets)

    def _renumbered(
        self, nodes: list[Node], messages: list[Any], history: History, budgets: tuple[int, ...]
    ) -> GlobalState:
        """The state with other epochs."""
        lowest = min(_lowest_epoch(nodes[number]) for number in self._running)
        history = _without_past(history, lowest)
        used: set[int] = set()
        for part in (*nodes, *messages, history):
            facts = self._facts_of(part)
            used |= facts.noted[Meaning.EPOCH] | facts.noted[Meaning.LAST_EPOCH]
        past = sorted(epoch for epoch in used if 0 < epoch < lowest)
        names = {epoch: number for number, epoch in enumerate(past, 1)}
        shift = lowest - len(past) - 1
        if lowest and shift:

            def renamed(part: T) -> T:
                return cast(
                    T, changed(part, lambda meaning, number: _epoch(meaning, number, names, lowest, shift))
                )

            how = ("epochs", tuple(past), lowest)
            nodes = [self._remade(how, node, renamed) for node in nodes]
            messages = [self._remade(how, message, renamed) for message in messages]
            history = renamed(history)
        return GlobalState(tuple(nodes), ordered(messages), history, budgets)

    def _kept(self, number: int, node: Node) -> Node:
        if number in self._running:
            return node
        return self._remade(("ended",), node, lambda one: Node(None, Disk(), one.died))

    def _facts_of(self, part: Any) -> _Facts:
        known = self._facts.get(id(part))
        if known is None:
            facts = _Facts()
            changed(part, facts.note)
            known = self._facts[id(part)] = (part, facts)
        return known[1]

    def _remade(self, how: tuple[Any, ...], part: T, make: Callable[[T], T]) -> T:
        """``make(part)``; the part is kept, so that no other object takes its place in memory."""
        known = self._made.get((*how, id(part)))
        if known is None:
            known = self._made[*how, id(part)] = (part, make(part))
        return cast(T, known[1])

    def _without(self, part: T, batch: Batch) -> T:
        return self._remade(("without", batch), part, lambda one: compaction.without(one, batch))

    def _redundant(
        self, nodes: Sequence[Node], messages: Sequence[Any], committed: tuple[Batch, ...]
    ) -> Batch | None:
        living = [nodes[number] for number in self._running]
        logs = [log for node in living for log in _logs(node)]
        if max(len(log.batches) for log in logs) < 2 or any(map(_holds_batches, living)):
            return None
        answers = [each.payload for each in messages if isinstance(each.payload, FetchResponse)]
        parts = [self._facts_of(message) for message in messages]
        parts += [self._facts_of(self._remade(("bare",), node, _without_logs)) for node in living]
        references = References(
            frozenset(number for facts in parts for number in facts.noted[Meaning.END_OFFSET]),
            frozenset(number for facts in parts for number in facts.noted[Meaning.LAST_EPOCH]),
        )
        batches = [answer.batches for answer in answers]
        lasting = min(node.disk.flushed for node in living) if self._loses else None
        return compaction.redundant(
            logs, committed, batches, references, parted=self._parted, lasting=lasting
        )


def relative_epochs(system: KRaftSystem) -> Relative:
    """The representatives of the states of ``system``."""
    limited = any(protocol.fetch_max_batches is not None for protocol in system.protocols)
    crashes = "crashes" in system.budget_names
    loses = crashes and system.wiring.choice.power_loss
    return Relative(running(system), parted=limited or crashes, loses=loses)


def _holds_batches(node: Node) -> bool:
    """Whether a leader keeps batches for the answer to a fetch in purgatory."""
    return node.replica is not None and any(each.response.batches for each in node.replica.parked)


def _logs(node: Node) -> list[Log]:
    return [node.disk.log] if node.replica is None else [node.disk.log, node.replica.log]


def _without_logs(node: Node) -> Node:
    bare = replace(node, disk=replace(node.disk, log=Log()))
    return bare if node.replica is None else replace(bare, replica=replace(node.replica, log=Log()))


def _lowest_epoch(node: Node) -> int:
    """The lower of two epochs: the current one of a replica, and the one after a restart."""
    stored = 0 if node.disk.quorum_state is None else node.disk.quorum_state.epoch
    return stored if node.replica is None else min(stored, node.replica.epoch)


def _epoch(meaning: Meaning, number: int, names: dict[int, int], lowest: int, shift: int) -> int:
    if meaning not in EPOCHS:
        return number
    return number - shift if number >= lowest else names.get(number, number)


def _without_past(history: History, lowest: int) -> History:
    """``history`` without its entries of the epochs before ``lowest``, except the last leader."""
    leaders = tuple(each for each in history.leaders if each[0] >= lowest) or history.leaders[-1:]
    votes = tuple(each for each in history.votes if each[1] >= lowest)
    if leaders == history.leaders and votes == history.votes and not history.committed_epoch:
        return history
    return replace(history, leaders=leaders, votes=votes, committed_epoch=0)
