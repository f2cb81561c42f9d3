"""Asking the reference in the short form, so that a test reads like the table it comes from."""

from __future__ import annotations

from kraftcheck.query.ask import expecting_answer
from kraftcheck.reference.effects import ArmTimer, Duration, Effect, Persist, Reply, Send, SuccessorBackoff
from kraftcheck.reference.events import Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import FetchResponse, Request, Response, VoteResponse
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.step import Outcome, step
from kraftcheck.reference.transitions import role_name
from kraftcheck.systems.kraft.text import parse_event, parse_replica


def ask(replica: str | Replica, event: str, protocol: Protocol = KAFKA) -> Outcome:
    """The outcome of an event; a response is awaited unless the replica says whom it waits for."""
    before = parse_replica(replica) if isinstance(replica, str) else replica
    happening = parse_event(event, before)
    return step(protocol, expecting_answer(before, happening), happening)


def response(outcome: Outcome) -> Response:
    """The one response that was sent."""
    (reply,) = (effect for effect in outcome.effects if isinstance(effect, Reply))
    return reply.response


def granted(outcome: Outcome) -> bool:
    answer = response(outcome)
    assert isinstance(answer, VoteResponse)
    return answer.granted


def fetched(outcome: Outcome) -> FetchResponse:
    answer = response(outcome)
    assert isinstance(answer, FetchResponse)
    return answer


def persisted(outcome: Outcome) -> tuple[QuorumState, ...]:
    """What the quorum-state file held, one value after the other."""
    return tuple(effect.quorum_state for effect in outcome.effects if isinstance(effect, Persist))


def sent(outcome: Outcome) -> dict[int, Request]:
    """The requests sent, by destination."""
    return {effect.to: effect.request for effect in outcome.effects if isinstance(effect, Send)}


def armed(outcome: Outcome) -> dict[Timer, Duration | SuccessorBackoff]:
    """The timers armed, each with the last duration given to it."""
    return {effect.timer: effect.duration for effect in outcome.effects if isinstance(effect, ArmTimer)}


def role(outcome: Outcome) -> str:
    return role_name(outcome.replica.role)


def of_kind(outcome: Outcome, kind: type[Effect]) -> list[Effect]:
    return [effect for effect in outcome.effects if isinstance(effect, kind)]


def with_high_watermark(replica: Replica, offset: int | None) -> Replica:
    return replace(replica, high_watermark=offset)
