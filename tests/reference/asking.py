"""Asking the reference in the short form, so that a test reads like the table it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from kraftcheck.query.ask import expecting_answer
from kraftcheck.reference.effects import ArmTimer, Duration, Effect, Persist, Reply, Send, SuccessorBackoff
from kraftcheck.reference.events import Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import FetchResponse, Request, Response, VoteResponse
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.step import Outcome, step
from kraftcheck.reference.transitions import role_name
from kraftcheck.systems.kraft.text import describe_effect, parse_event, parse_replica
from kraftcheck.systems.kraft.text.event import message_words
from kraftcheck.systems.kraft.text.fields import fields_of

#: The labels of effects that a case may say are the only ones of their kind.
LABELS = ("arm timer", "send", "reply", "persist", "truncate", "commit", "append", "answer leader")


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


# Tables of cases.


@dataclass(frozen=True)
class Case:
    """A replica takes ``events``, which `` | `` separates; ``then`` lists, separated by ``; ``, what is true
    after the last one.

    Each item is the beginning of a piece of :func:`pieces`; ``no send`` is true if there is no such piece,
    ``only send to 2`` if it is the only piece with this label, and ``persist < reply`` if the first effect
    with one label precedes the first with the other.
    """

    name: str
    replica: str
    events: str
    then: str
    protocol: Protocol = KAFKA


def pieces(before: Replica, outcome: Outcome) -> list[str]:
    """An outcome in pieces: role and epoch, effects, words of the response, fields of the replica, rules."""
    effects = [" ".join(describe_effect(effect)) for effect in outcome.effects]
    replies = (effect.response for effect in outcome.effects if isinstance(effect, Reply))
    words = [f"answer {word}" for reply in replies for word in message_words(reply)]
    fields = [f"{name}={value}" for name, value in fields_of(outcome.replica).items()]
    facts = ["nothing"] * (not effects) + ["unchanged"] * (outcome.replica == before)
    if replace(outcome.replica, connections=()) == replace(before, connections=()):
        facts.append("otherwise unchanged")  # but for the requests under way
    role = f"{role_name(outcome.replica.role)} {outcome.replica.epoch}"
    return [role, *effects, *words, *facts, *fields, *outcome.rules]


def check(case: Case) -> None:
    """Fail unless everything is true that a case lists."""
    replica: str | Replica = case.replica
    for event in case.events.split(" | "):
        before = parse_replica(replica) if isinstance(replica, str) else replica
        before = expecting_answer(before, parse_event(event, before))
        outcome = ask(before, event, case.protocol)
        replica = outcome.replica
    found = pieces(before, outcome)
    wrong = [item for item in case.then.split("; ") if not _is_true(item, found)]
    assert not wrong, "\n".join([f"not true: {'; '.join(wrong)}", *found])


def _is_true(item: str, found: list[str]) -> bool:
    def starts(text: str) -> list[int]:
        return [at for at, piece in enumerate(found) if re.match(rf"{re.escape(text)}(?![\w-])", piece)]

    if " < " in item:
        firsts = [starts(text)[0] for text in item.split(" < ")]
        return firsts == sorted(firsts)
    if item.startswith("no "):
        return not starts(item.removeprefix("no "))
    if item.startswith("only "):
        text = item.removeprefix("only ")
        label = next(label for label in LABELS if text.startswith(label))
        return starts(text) == starts(label)
    return bool(starts(item))


def table(cases: Iterable[Case]) -> pytest.MarkDecorator:
    """Run a test once for each case."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)
