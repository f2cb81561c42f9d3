"""One question to the reference: what does this replica do on this event, under this protocol?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kraftcheck.reference.disk import Disk
from kraftcheck.reference.events import Event, Poll, ResponseReceived, Timer
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import Protocol
from kraftcheck.reference.replica import Connection, Replica
from kraftcheck.reference.step import Outcome, start, step
from kraftcheck.support import codec
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_standard_input, read_text
from kraftcheck.systems.kraft.node import expired_at_once
from kraftcheck.systems.kraft.possible import require_consistent
from kraftcheck.systems.kraft.text.event import parse_event
from kraftcheck.systems.kraft.text.replica import parse_replica

#: The word for a start of the process, which is no event of a running replica.
START: Literal["start"] = "start"
#: The longest description of a replica or an event.
MAX_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Answer:
    """What a replica did: the event (``"start"``: the process starts), the replica before, the outcome."""

    event: Event | Literal["start"]
    before: Replica
    outcome: Outcome


def ask(protocol: Protocol, replica: Replica, event: Event | Literal["start"]) -> Answer:
    """Put the question. A start takes the durable fields of ``replica`` as what is on its disk."""
    if event == START:
        disk = Disk(replica.quorum_state, replica.log, replica.log.end_offset)
        return Answer(event, replica, start(protocol, replica, disk))
    assert not isinstance(event, str)
    return Answer(event, replica, step(protocol, replica, event))


def ask_next_poll(protocol: Protocol, answer: Answer) -> Answer:
    """The poll round that follows, in which a timer that was armed with no delay has expired already."""
    expired = expired_at_once(answer.outcome.effects)
    poll = Poll(tuple(timer for timer in Timer if timer in expired))
    return ask(protocol, answer.outcome.replica, poll)


# Reading the question.


def texts(replica_argument: str, event_argument: str) -> tuple[str, str]:
    """The texts that two arguments stand for: themselves, ``@file``, or ``-``, the standard input. Raises
    InputError.
    """
    if replica_argument == event_argument == "-":
        raise InputError(
            "replica and event cannot both come from standard input; give one of them as '@file'."
        )
    return _text(replica_argument, "replica"), _text(event_argument, "event")


def _text(argument: str, what: str) -> str:
    if argument != "-" and not argument.startswith("@"):
        return argument
    wanted = f"a {what} in the short form or as JSON"
    if argument == "-":
        return read_standard_input(wanted, most=MAX_BYTES)
    return read_text(Path(argument[1:]), wanted, most=MAX_BYTES)


def read_replica(text: str) -> Replica:
    """The replica that a text describes, in the short form or as JSON. Raises InputError."""
    text = text.strip()
    if text.startswith("{"):
        return codec.decode(innermost(codec.parse(text, "replica")), Replica, "replica")
    return parse_replica(text)


def innermost(data: codec.Json) -> codec.Json:
    """The state in what ``step --json`` prints: of the last step, after it. Other data is left as it is."""
    if isinstance(data, dict) and isinstance(steps := data.get("steps"), list) and steps:
        data = steps[-1]
    for key in ("outcome", "replica", "state"):
        if isinstance(data, dict) and isinstance(inner := data.get(key), dict):
            data = inner
    return data


def read_event(text: str, replica: Replica) -> Event | Literal["start"]:
    """The event that a text describes, in the short form or as JSON. Raises InputError."""
    text = text.strip()
    if text == START:
        return START
    if text.startswith("{"):
        event: Event = codec.loads(text, Event, "event")
        return event
    return parse_event(text, replica)


def expecting_answer(replica: Replica, event: Event | Literal["start"]) -> Replica:
    """``replica`` awaiting the response that ``event`` brings, unless something is known of that node."""
    if not isinstance(event, ResponseReceived):
        return replica
    if any(known.node == event.source for known in replica.connections):
        return replica
    awaited = Connection(event.source, True, event.correlation)
    connections = sorted((*replica.connections, awaited), key=lambda known: known.node)
    return replace(replica, connections=tuple(connections))


def question(replica_text: str, event_text: str) -> tuple[Replica, Event | Literal["start"], bool]:
    """The replica and the event that two texts describe, and whether the replica was assumed to wait for
    the response that the event brings: a replica that says nothing of its connections is. Raises InputError.
    """
    replica = read_replica(replica_text)
    event = read_event(event_text, replica)
    if event != START:
        require_consistent(replica)
    silent = not replica.connections and "awaiting=none" not in replica_text.split()
    asked = expecting_answer(replica, event) if silent else replica
    return asked, event, asked != replica
