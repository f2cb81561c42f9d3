"""Asking the reference in the short form, so that a test reads like the table it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from kraftcheck.query.ask import expecting_answer
from kraftcheck.reference.disk import Disk
from kraftcheck.reference.effects import Effect, Persist, Reply, Send
from kraftcheck.reference.events import Event
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.messages import Request, Response
from kraftcheck.reference.protocol import KAFKA, Protocol
from kraftcheck.reference.replica import QuorumState, Replica
from kraftcheck.reference.step import Outcome, start, step
from kraftcheck.reference.transitions import role_name
from kraftcheck.systems.kraft.text import describe_effect, parse_event, parse_replica
from kraftcheck.systems.kraft.text.event import message_words
from kraftcheck.systems.kraft.text.fields import fields_of

#: The labels of effects that a case may say are the only ones of their kind.
LABELS = ("arm timer", "send", "reply", "persist", "truncate", "commit", "append", "answer leader")


def ask(replica: str | Replica, event: str | Event, protocol: Protocol = KAFKA) -> Outcome:
    """The outcome of an event; a response is awaited unless the replica says whom it waits for.

    The event ``start``: the process starts again with the durable state of ``replica``.
    """
    before = parse_replica(replica) if isinstance(replica, str) else replica
    if event == "start":
        return start(protocol, before, Disk(before.quorum_state, before.log, before.log.end_offset))
    happening = parse_event(event, before) if isinstance(event, str) else event
    return step(protocol, expecting_answer(before, happening), happening)


def after(replica: str | Replica, events: str, protocol: Protocol = KAFKA) -> Replica:
    """The replica after some events (see :class:`Case`), in none of which its process exits."""
    for event in _lines(events):
        outcome = ask(replica, event, protocol)
        assert outcome.fatal is None, outcome.fatal
        replica = outcome.replica
    assert isinstance(replica, Replica)
    return replica


def response(outcome: Outcome) -> Response:
    """The one response that was sent."""
    (reply,) = (effect for effect in outcome.effects if isinstance(effect, Reply))
    return reply.response


def persisted(outcome: Outcome) -> tuple[QuorumState, ...]:
    """What the quorum-state file held, one value after the other."""
    return tuple(effect.quorum_state for effect in outcome.effects if isinstance(effect, Persist))


def sent(outcome: Outcome) -> dict[int, Request]:
    """The requests sent, by destination."""
    return {effect.to: effect.request for effect in outcome.effects if isinstance(effect, Send)}


def role(outcome: Outcome) -> str:
    return role_name(outcome.replica.role)


def of_kind(outcome: Outcome, kind: type[Effect]) -> list[Effect]:
    return [effect for effect in outcome.effects if isinstance(effect, kind)]


# Tables of cases.


@dataclass(frozen=True)
class Case:
    """A replica takes ``events``, each on its own line or separated by `` | ``; ``then`` lists what is true
    after the last one. An event may be followed by `` => `` and what is true after this one.

    The items of such a list are separated by ``; ``. Each is the beginning of a piece of :func:`pieces`, or
    with ``$`` at its end the whole piece; ``no send`` is true if there is no such piece, ``only send to 2``
    if it is the only piece with this label, and ``persist < reply`` if the first effect with one label
    precedes the first with the other. An event by which the process exits must be said to: ``exits``.
    """

    name: str
    replica: str | Replica
    events: str | Event
    then: str = ""
    protocol: Protocol = KAFKA


def _lines(events: str) -> list[str]:
    return [line.strip() for line in re.split(r" \| |\n(?!\s*=>)", events) if line.strip()]


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
    replica = parse_replica(case.replica) if isinstance(case.replica, str) else case.replica
    lines = _lines(case.events) if isinstance(case.events, str) else [case.events]
    for number, line in enumerate(lines, start=1):
        event, *then = re.split(r"\s+=> ", line) if isinstance(line, str) else [line]
        then += [case.then] * (number == len(lines) and bool(case.then))
        before = replica
        if event != "start":
            before = expecting_answer(before, parse_event(event, before) if isinstance(event, str) else event)
        outcome = ask(before, event, case.protocol)
        replica, found = outcome.replica, pieces(before, outcome)
        said = [item.strip() for items in then for item in items.split("; ")]
        if not any(item.startswith("exits") for item in said):
            said.append("no exits")
        wrong = [item for item in said if not is_true(item, found)]
        assert not wrong, "\n".join([f"{event}: not true: {'; '.join(wrong)}", *found])


def is_true(item: str, found: list[str]) -> bool:
    """Whether an item of a list of a :class:`Case` is true of the pieces of an outcome."""

    def starts(text: str) -> list[int]:
        begin = re.escape(text.removesuffix("$")) + ("$" if text.endswith("$") else r"(?![\w/-]|,\w)")
        return [at for at, piece in enumerate(found) if re.match(begin, piece)]

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
