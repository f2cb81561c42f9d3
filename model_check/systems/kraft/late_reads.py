"""Answers whose records are read later than they are prepared, where a scenario has such.

An answer to a fetch is fixed when it is prepared, but its records are a range of the log file, which the
network thread of the leader reads when it sends them (KAFKA-18723). If the replica has lost its leadership,
and has truncated its log, the range may hold records of a larger epoch. If it holds less than it did, the
connection is closed, and no answer arrives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from kraftcheck.engine.system import Outcome
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.log import Batch
from kraftcheck.reference.messages import FetchResponse
from kraftcheck.systems.kraft.network import InFlight
from kraftcheck.systems.kraft.node import Node
from kraftcheck.systems.kraft.step import Action, Also, Step


def postponed(step: Step, before: Node) -> Iterator[Step]:
    """``step``, of a process that runs on, with one of its answers postponed; it postpones one at a time."""
    local = cast(Node, step.outcome.local)
    if before.unread is not None or local.replica is None or step.restarted is not None:
        return
    for place, sent in enumerate(cast(tuple[InFlight, ...], step.outcome.sends)):
        if isinstance(sent.payload, FetchResponse) and sent.payload.batches:
            action = cast(Action, step.outcome.action).with_also(Also.READ_LATER)
            others = step.outcome.sends[:place] + step.outcome.sends[place + 1 :]
            outcome = replace(step.outcome, action=action, local=replace(local, unread=sent), sends=others)
            yield replace(step, outcome=outcome)


def read(node: Node) -> Iterator[Step]:
    """The records of the postponed answer are read: with what is left the same, that is a slow message."""
    unread = node.unread
    if unread is None or node.replica is None:
        return
    prepared = cast(FetchResponse, unread.payload).batches
    found = _between(node.replica.log.batches, prepared[0].base_offset, prepared[-1].end_offset)
    if found and found != prepared and found[-1].end_offset == prepared[-1].end_offset:
        action = Action("reads records", node.replica.id, f"for {unread.destination}")
        sent = replace(unread, payload=replace(unread.payload, batches=found))
        yield Step(Outcome(action, replace(node, unread=None), sends=(sent,)), None, 0)


def _between(batches: tuple[Batch, ...], first: int, end: int) -> tuple[Batch, ...]:
    return tuple(batch for batch in batches if first <= batch.base_offset and batch.end_offset <= end)


def forgotten(node: Node, forgetful: int, peer: int | None, here: int) -> Node:
    """``node``, replica ``here``, after replica ``forgetful`` has forgotten its requests to ``peer``."""
    unread = node.unread
    if unread is None or unread.destination != forgetful or peer not in (None, here):
        return node
    return replace(node, unread=None)
