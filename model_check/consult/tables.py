"""Decision tables of the handlers, computed by asking the reference about every situation of a small domain.

A table has columns of conditions. Each combination of their values is turned into a replica and an event, the
reference is asked, and rows that are decided alike are merged (:mod:`model_check.consult.cover`). Nothing
here knows what a handler does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from model_check.consult.ask import ask, expecting_answer
from model_check.consult.consistency import problems
from model_check.consult.cover import Cell, Row, cover
from reference.effects import (
    AppendBatch,
    ArmTimer,
    HighWatermark,
    Persist,
    Reply,
    Send,
    Stop,
    SuccessorBackoff,
    Truncate,
)
from reference.errors import ErrorCode
from reference.events import Event
from reference.messages import (
    DescribeQuorumResponse,
    EpochResponse,
    FetchResponse,
    Response,
    VoteRequest,
    VoteResponse,
)
from reference.protocol import Protocol
from reference.replica import Leader, QuorumState, Replica
from reference.step import Outcome
from reference.transitions import role_name

Situation = tuple[Replica, Event | Literal["start"]]


@dataclass(frozen=True, slots=True)
class Table:
    """A decision table: its conditions, what it takes for granted, and how a combination becomes a situation.

    ``situation`` gets the value of each column by its name and returns ``None`` for what cannot occur.
    """

    name: str
    about: str
    assumes: str
    columns: Mapping[str, tuple[str, ...]]
    situation: Callable[[Mapping[str, str]], Situation | None]


@dataclass(frozen=True, slots=True)
class Decision:
    """What is decided: the answer, the role afterwards, what the quorum-state file then holds, the timers
    armed, and the rules.
    """

    answer: str
    next_role: str
    persisted: str
    timers: str
    rules: tuple[str, ...]


def decide(table: Table, protocol: Protocol) -> Mapping[Cell, Decision]:
    """The decision on every combination of conditions that can occur."""
    decisions: dict[Cell, Decision] = {}
    for cell in itertools.product(*table.columns.values()):
        situation = table.situation(dict(zip(table.columns, cell, strict=True)))
        if situation is None:
            continue
        replica, event = situation
        if event != "start" and any(problems(replica)):
            continue
        replica = expecting_answer(replica, event)
        decisions[cell] = describe(replica, ask(protocol, replica, event).outcome)
    return decisions


def rows(table: Table, protocol: Protocol) -> tuple[Row[Decision], ...]:
    """The merged rows of a table, in the order of its columns' values."""
    return cover(tuple(table.columns.values()), decide(table, protocol))


def describe(before: Replica, outcome: Outcome) -> Decision:
    """What an outcome decided, in words that do not depend on the numbers of the situation."""
    after = outcome.replica
    change = "" if after.epoch == before.epoch else ", larger epoch"
    return Decision(
        answer=_answer(before, outcome),
        next_role="process ends" if outcome.fatal else f"{role_name(after.role)}{change}",
        persisted=_persisted(before.quorum_state, outcome),
        timers=_timers(outcome),
        rules=outcome.rules,
    )


def _backs_off(before: Replica, after: Replica) -> bool:
    """Whether some node is sent nothing for a while that was not avoided before."""
    avoided = {known.node for known in before.connections if not known.awaiting}
    return any(not known.awaiting and known.node not in avoided for known in after.connections)


def _queues(before: Replica, after: Replica) -> bool:
    """Whether the leader has more to append than it had."""
    if not isinstance(before.role, Leader) or not isinstance(after.role, Leader):
        return False
    return len(after.role.pending) > len(before.role.pending)


def _answer(before: Replica, outcome: Outcome) -> str:
    if outcome.fatal:
        return "dies"
    parts = [_response(effect.response) for effect in outcome.effects if isinstance(effect, Reply)]
    if outcome.replica.parked and not parts:
        parts.append("parked")
    parts += ["backs off"] if _backs_off(before, outcome.replica) else []
    parts += ["queues records"] if _queues(before, outcome.replica) else []
    kinds = {
        AppendBatch: "appends",
        Truncate: "truncates",
        HighWatermark: "high watermark moves",
        Stop: "stops",
    }
    for kind, text in kinds.items():
        if any(isinstance(effect, kind) for effect in outcome.effects):
            parts.append(text)
    sent = [effect.request for effect in outcome.effects if isinstance(effect, Send)]
    for request in {type(request).__name__: request for request in sent}.values():
        name = type(request).__name__.removesuffix("Request")
        pre_vote = isinstance(request, VoteRequest) and request.pre_vote
        parts.append(f"sends {'pre-vote ' if pre_vote else ''}{name}")
    return ", ".join(parts) or "nothing"


def _response(response: Response) -> str:
    if response.error is not ErrorCode.NONE:
        return f"{response.error.name} (top level)"
    if not isinstance(response, EpochResponse | DescribeQuorumResponse):
        return ErrorCode.NONE.name
    if response.partition_error is not ErrorCode.NONE:
        return response.partition_error.name
    if isinstance(response, VoteResponse):
        return "granted" if response.granted else "refused"
    if isinstance(response, FetchResponse):
        if response.diverging is not None:
            return "diverging epoch"
        return "records" if response.batches else "no records"
    return ErrorCode.NONE.name


def _persisted(before: QuorumState, outcome: Outcome) -> str:
    written = [effect.quorum_state for effect in outcome.effects if isinstance(effect, Persist)]
    if not written:
        return "no"
    last = written[-1]
    parts = ["epoch" if last.epoch == before.epoch else "larger epoch"]
    parts += [] if last.leader is None else ["leader"]
    return " + ".join(parts + ([] if last.voted is None else ["vote"]))


def _timers(outcome: Outcome) -> str:
    armed = {effect.timer: effect for effect in outcome.effects if isinstance(effect, ArmTimer)}
    return ", ".join(f"{timer.value}={_duration(effect)}" for timer, effect in armed.items()) or "none"


def _duration(effect: ArmTimer) -> str:
    duration = effect.duration
    if not isinstance(duration, SuccessorBackoff):
        return duration.name.lower().replace("_", "-")
    if duration.position and duration.position >= duration.count:
        return "not a successor"
    return f"successor {duration.position + 1}"
