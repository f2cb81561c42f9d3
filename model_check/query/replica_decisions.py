"""The decisions of replicas, as decision tables show them: the reference is asked about every situation of a
table (:mod:`kraftcheck.query.decision_table`).
"""

from __future__ import annotations

from typing import Literal

from kraftcheck.query.ask import ask, expecting_answer
from kraftcheck.query.decision_table import Decision
from kraftcheck.reference import effects, messages
from kraftcheck.reference.errors import ErrorCode
from kraftcheck.reference.events import Event
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Leader, QuorumState, Replica
from kraftcheck.reference.step import Outcome
from kraftcheck.reference.transitions import role_name
from kraftcheck.systems.kraft.possible import problems

Situation = tuple[Replica, Event | Literal["start"]]


def decision(protocol: Protocol, situation: Situation) -> Decision | None:
    """What is decided in a situation; ``None`` if it cannot occur."""
    replica, event = situation
    if event != "start" and any(problems(replica)):
        return None
    replica = expecting_answer(replica, event)
    return describe(replica, ask(protocol, replica, event).outcome)


def describe(before: Replica, outcome: Outcome) -> Decision:
    """What an outcome decided, in words that do not depend on the numbers of the situation: the answer, the
    role afterwards, what the quorum-state file then holds, and the timers armed.
    """
    after = outcome.replica
    change = "" if after.epoch == before.epoch else ", larger epoch"
    answer, persisted, timers = (
        _answer(before, outcome),
        _persisted(before.quorum_state, outcome),
        _timers(outcome),
    )
    role = "process ends" if outcome.fatal else f"{role_name(after.role)}{change}"
    results = {"answer": answer, "next role": role, "persisted": persisted, "timers": timers}
    written = "persists nothing" if persisted == "no" else f"persists {persisted}"
    armed = "" if timers == "none" else f"; timer {timers}"
    return Decision(tuple(results.items()), f"{answer}; {role}; {written}{armed}", outcome.rules)


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
    parts = [_response(effect.response) for effect in outcome.effects if isinstance(effect, effects.Reply)]
    if outcome.replica.parked and not parts:
        parts.append("parked")
    parts += ["backs off"] if _backs_off(before, outcome.replica) else []
    parts += ["queues records"] if _queues(before, outcome.replica) else []
    kinds = {
        effects.AppendBatch: "appends",
        effects.Truncate: "truncates",
        effects.HighWatermark: "high watermark moves",
        effects.Stop: "stops",
    }
    for kind, text in kinds.items():
        if any(isinstance(effect, kind) for effect in outcome.effects):
            parts.append(text)
    sent = [effect.request for effect in outcome.effects if isinstance(effect, effects.Send)]
    for request in {type(request).__name__: request for request in sent}.values():
        name = type(request).__name__.removesuffix("Request")
        pre_vote = isinstance(request, messages.VoteRequest) and request.pre_vote
        parts.append(f"sends {'pre-vote ' if pre_vote else ''}{name}")
    return ", ".join(parts) or "nothing"


def _response(response: messages.Response) -> str:
    if response.error is not ErrorCode.NONE:
        return f"{response.error.name} (top level)"
    if not isinstance(response, messages.EpochResponse | messages.DescribeQuorumResponse):
        return ErrorCode.NONE.name
    if response.partition_error is not ErrorCode.NONE:
        return response.partition_error.name
    if isinstance(response, messages.VoteResponse):
        return "granted" if response.granted else "refused"
    if isinstance(response, messages.FetchResponse):
        if response.diverging is not None:
            return "diverging epoch"
        return "records" if response.batches else "no records"
    return ErrorCode.NONE.name


def _persisted(before: QuorumState, outcome: Outcome) -> str:
    written = [effect.quorum_state for effect in outcome.effects if isinstance(effect, effects.Persist)]
    if not written:
        return "no"
    last = written[-1]
    parts = ["epoch" if last.epoch == before.epoch else "larger epoch"]
    parts += [] if last.leader is None else ["leader"]
    return " + ".join(parts + ([] if last.voted is None else ["vote"]))


def _timers(outcome: Outcome) -> str:
    armed = {effect.timer: effect for effect in outcome.effects if isinstance(effect, effects.ArmTimer)}
    return ", ".join(f"{timer.value}={_duration(effect)}" for timer, effect in armed.items()) or "none"


def _duration(effect: effects.ArmTimer) -> str:
    duration = effect.duration
    if not isinstance(duration, effects.SuccessorBackoff):
        return duration.name.lower().replace("_", "-")
    if duration.position and duration.position >= duration.count:
        return "not a successor"
    return f"successor {duration.position + 1}"
