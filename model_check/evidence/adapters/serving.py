"""The reference as an adapter of the drive protocol: an example for authors of adapters, and for tests."""

from __future__ import annotations

import json
from typing import Any, TextIO

from kraftcheck.evidence.adapters.addressed import address_of
from kraftcheck.evidence.adapters.answers import WAIT, WAKE_UP
from kraftcheck.evidence.adapters.asked import times_of
from kraftcheck.evidence.adapters.deadlines import Deadlines
from kraftcheck.evidence.adapters.draws import Draw
from kraftcheck.evidence.adapters.silent_leader import SilentLeader
from kraftcheck.evidence.adapters.waits import wakes
from kraftcheck.evidence.adapters.wire import (
    EFFECTS,
    EVENTS,
    PROTOCOL,
    STATE,
    decode_draw,
    decode_event,
    decode_start,
    encode_effect,
)
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.evidence.recordings.state import encode_state
from kraftcheck.reference.events import Poll
from kraftcheck.reference.frozen import replace
from kraftcheck.reference.protocol import KAFKA
from kraftcheck.reference.replica import Replica
from kraftcheck.reference.step import Outcome, start
from kraftcheck.support.errors import InputError


def serve(adapter: ReferenceAdapter, questions: TextIO, answers: TextIO) -> None:
    """Answer line by line until the exit command. The answer to an invalid question is ``error``."""
    for number, line in enumerate(questions, 1):
        question = json.loads(line)
        if question.get("type") == "exit":
            return
        try:
            answer = adapter.answer(Fields.of(question, f"line {number}"))
        except InputError as error:
            answer = {"error": str(error)}
        print(json.dumps({"id": question.get("id"), **answer}), file=answers, flush=True)


class ReferenceAdapter:
    """A replica that runs the reference."""

    def __init__(self) -> None:
        self.protocol = KAFKA
        self.times = times_of(KAFKA)
        self.replica: Replica | None = None
        self.silent = SilentLeader()
        self.draw: Draw | None = None
        self.deadlines = Deadlines(self.times)

    def hello(self) -> dict[str, Any]:
        """The handshake: the adapter shows all that the reference has; no state machine is given anything."""
        shown = {
            "events": list(EVENTS),
            "effects": [*EFFECTS, WAIT, WAKE_UP],
            "state": list(STATE),
            "ordered": True,
            "addresses": True,
            "draws": True,
        }
        return {"protocol": PROTOCOL, "name": "reference", "capabilities": shown}

    def answer(self, question: Fields) -> dict[str, Any]:
        """The answer to a question, without its id. Raises InputError."""
        kind = question.text("type")
        if kind == "hello":
            return self.hello()
        if kind == "crash":
            self.replica = None
            return {"effects": [], "state": {}}
        if kind == "start":
            self.draw = decode_draw(question)
        before, outcome = self.handle(kind, question)
        if kind == "start":
            self.deadlines = Deadlines(self.times, self.draw)
        answer = self.show(before, outcome)
        self._sleep(kind, question, outcome, answer["effects"])
        return answer

    def handle(self, kind: str, question: Fields) -> tuple[Replica, Outcome]:
        """The step on the reference: the replica before it, and its outcome."""
        if kind == "start":
            identity, disk, self.protocol, self.times = decode_start(question)
            self.silent = SilentLeader()
            return replace(identity, log=disk.log), start(self.protocol, identity, disk)
        if self.replica is None:
            raise InputError(f"{question.where}: no process runs; send 'start' first.")
        return self.replica, self.silent.step(self.protocol, self.replica, decode_event(question))

    def show(self, before: Replica, outcome: Outcome) -> dict[str, Any]:
        """The answer that shows ``outcome``."""
        effects = [
            {**encode_effect(effect, before, self.times, self.draw), **address_of(effect, outcome.replica)}
            for effect in outcome.effects
        ]
        for effect in effects:
            if isinstance(effect.get("ms"), tuple):
                effect["ms"] = effect["ms"][1]
        ended = bool(effects) and effects[-1]["effect"] in ("fatal", "stop")
        self.replica = None if ended else outcome.replica
        return {"effects": effects, "state": {} if ended else encode_state(outcome.replica, stopped=False)}

    def _sleep(self, kind: str, question: Fields, outcome: Outcome, effects: list[dict[str, Any]]) -> None:
        """Add to the effects of a step how long the replica sleeps after it, or what wakes it."""
        now = question.number("now")
        event = decode_event(question) if kind in ("poll", "append", "resign", "shutdown") else None
        self.deadlines.follow(event, outcome.effects, now)
        if self.replica is None:
            return
        if isinstance(event, Poll):
            effects.append({"effect": WAIT, "ms": self.deadlines.longest_wait(outcome.replica, event, now)})
        elif wakes(event, outcome.effects, outcome.replica):
            effects.append({"effect": WAKE_UP})
