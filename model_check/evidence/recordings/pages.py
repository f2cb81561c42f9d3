"""Pages for the browser: what happened before a difference or a finding of a recorded run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from msgspec import UNSET

from kraftcheck import spec
from kraftcheck.evidence.recordings.lines import (
    AdminResultLine,
    ApiVersionsLine,
    CallLine,
    EndLine,
    LostLine,
    NetLine,
    NodeLine,
    PauseLine,
    WipeLine,
)
from kraftcheck.evidence.recordings.outcome import Difference, Finding, RunResult
from kraftcheck.evidence.recordings.recording import Event, Recording, StepEvent
from kraftcheck.evidence.recordings.typed import Json
from kraftcheck.traces.page.document import Arrow, Document, Effect, FieldChange, Lane, Step, texts_of_rules

#: So many events come before the one that a page is about.
MOST_EVENTS = 400

#: The entries of a recorded step that are effects, in the order of the page.
_EFFECTS = ("persist", "log", "cb")
_NOTATION = ("Fields are as recorded.", "hw: high watermark", "leo: end of the log")


def pages(
    recording: Recording, result: RunResult, decided: Mapping[int, Sequence[str]], again: str, most: int
) -> Iterator[tuple[int, Document]]:
    """The pages of the first ``most`` events that differ or show a finding, each with the seq of its event.

    ``decided``: the rules that decided steps, by seq; ``again``: the command that shows the run again.
    """
    shown: dict[int, list[Difference | Finding]] = {}
    everything: list[Difference | Finding] = [*result.report.differences, *result.judgement.findings]
    for each in everything:
        shown.setdefault(each.seq, []).append(each)
    for seq, found in sorted(shown.items())[:most]:
        yield seq, _document(recording, seq, found, decided, again)


def _document(
    recording: Recording,
    seq: int,
    found: Sequence[Difference | Finding],
    decided: Mapping[int, Sequence[str]],
    again: str,
) -> Document:
    first = max(1, seq - MOST_EVENTS)
    window = _Window(recording, first, decided)
    for event in recording.events[first : seq + 1]:
        window.take(event)
    judged = [each for each in found if isinstance(each, Finding)]
    violated = tuple(each.property for each in judged) or ("agreement with the reference",)
    window.end(violated)
    properties = spec.load().properties
    return Document(
        title=f"{recording.name}, seq {seq}",
        about=(
            f"The recorded events {first} to {seq} of {len(recording.events) - 1}, "
            f"{recording.events[first].time} to {recording.events[seq].time} ms.",
            *(f"Known cause: {each.cause}." for each in judged if each.cause),
        ),
        verdict=judged[0].property if judged else "Kafka differs from the reference",
        statement=properties[judged[0].id].statement if judged else "",
        reasons=tuple(_reason(each) for each in found),
        notation=_NOTATION,
        again=again,
        lanes=window.lanes,
        steps=tuple(window.steps),
        arrows=tuple(window.arrows()),
        rules=texts_of_rules(rule for step in window.steps for rule in step.rules),
        hidden=("deadlines",),
    )


def _reason(found: Difference | Finding) -> str:
    if isinstance(found, Finding):
        at = f", node {found.nodes[0]}" if found.nodes else ""
        return f"{found.property}{at}: {found.evidence}"
    return f"{found.field}: the reference has {_text(found.reference)}, Kafka {_text(found.production)}."


def _text(value: Json) -> str:
    """A value in a line; ``None`` is an absent one."""
    return "nothing" if value is None else value if isinstance(value, str) else json.dumps(value)


def _fields(state: Mapping[str, Json] | None, process: str) -> dict[str, str]:
    """A recorded state as a lane shows it, with its role by that name."""
    shown = {"role" if name == "state" else name: _text(value) for name, value in (state or {}).items()}
    return {"process": process, **shown}


def _summary(fields: Mapping[str, str]) -> str:
    """The state of a node in a few words."""
    if fields["process"] != "running":
        return fields["process"]
    return f"{fields['role']}, epoch {fields['epoch']}" if "role" in fields and "epoch" in fields else ""


def _outcome(changes: Sequence[FieldChange]) -> Iterator[str]:
    """The role and the process of a node, where they are others now."""
    after = {each.field: each.after for each in changes}
    if after.get("process") == "running":
        yield "starts"
    elif "process" in after:
        yield after["process"]
        return
    if "role" in after:
        yield f"→ {after['role']}"


class _Window:
    """The steps from event ``first`` on, as they are added."""

    def __init__(self, recording: Recording, first: int, decided: Mapping[int, Sequence[str]]) -> None:
        self._decided = decided
        self._places = {node.id: index for index, node in enumerate(recording.config.nodes)}
        self._fields = {node: {"process": "not started"} for node in self._places}
        self._sent: dict[int, tuple[int, int, int, str]] = {}
        self._ended: dict[int, tuple[int, str]] = {}
        self._waiting: list[str] = []
        self.steps: list[Step] = []
        for event in recording.events[:first]:
            if isinstance(event, StepEvent):
                self._fields[event.node] = self._after(event)
                self._send(event)
            self._arrive(event)
        for mid in self._ended:
            self._sent.pop(mid, None)
        self._ended.clear()
        self.lanes = tuple(
            Lane(f"Node {node}", fields, _summary(fields)) for node, fields in self._fields.items()
        )

    def take(self, event: Event) -> None:
        """Add an event; one of no node is a note of the next step."""
        node = _node(event)
        if node not in self._places:
            if text := _world(event):
                self._waiting.append(text)
            return
        self.steps.append(self._step(event, node))
        self._waiting = []
        if isinstance(event, StepEvent):
            self._send(event)
        self._arrive(event)

    def end(self, violations: tuple[str, ...]) -> None:
        """The last step shows ``violations``; it stands for an event of no node too."""
        for last in self.steps[-1:]:
            notes = (*last.notes, *self._waiting)
            self.steps[-1] = replace(last, violations=violations, notes=notes)

    def arrows(self) -> Iterator[Arrow]:
        """The messages that are sent, received or lost in these steps."""
        for mid, (source, target, sent, text) in self._sent.items():
            ended, how = self._ended.get(mid, (None, "on the way"))
            yield Arrow(source, target, sent, ended, how, False, text)

    def _step(self, event: Event, node: int) -> Step:
        lane, before = self._places[node], self._fields[node]
        if isinstance(event, StepEvent):
            self._fields[node] = self._after(event)
        after = self._fields[node]
        changes = tuple(
            FieldChange(lane, name, before.get(name, "–"), after.get(name, "–"))
            for name in dict.fromkeys((*before, *after))
            if before.get(name) != after.get(name)
        )
        outcome = ", ".join(_outcome(changes))
        return Step(
            lane=lane,
            kind="lose" if isinstance(event.line, LostLine) else "deliver" if event.message else "act",
            head=_head(event),
            events=(f"seq {event.seq}, {event.time} ms",),
            effects=tuple(_effects(event)),
            changes=changes,
            rules=tuple(self._decided.get(event.seq, ())),
            notes=tuple(self._waiting),
            moments=(f"Node {node}, at {event.time} ms: {outcome}",) if outcome else (),
            violations=(),
            summaries=((lane, _summary(after)),) if _summary(after) != _summary(before) else (),
            outcome=outcome,
        )

    def _after(self, event: StepEvent) -> dict[str, str]:
        if isinstance(event.line, EndLine):
            return {"process": "down"}
        return _fields(event.state, "running")

    def _send(self, event: StepEvent) -> None:
        """The messages that the newest step sends, or one before the first."""
        for sent in event.line.sent:
            if sent.destination in self._places:
                places = (self._places[event.node], self._places[sent.destination])
                text = f"{sent.api} {'request' if sent.is_request else 'response'}"
                self._sent[sent.mid] = (*places, len(self.steps), text)

    def _arrive(self, event: Event) -> None:
        if event.message is not None:
            how = "lost" if isinstance(event.line, LostLine) else "delivered"
            self._ended[event.message.mid] = (len(self.steps), how)
        elif isinstance(event.line, ApiVersionsLine):
            self._ended[event.line.mid] = (len(self.steps), "delivered")


def _node(event: Event) -> int | None:
    """The node at which ``event`` happens."""
    line = event.line
    if isinstance(event, StepEvent):
        return event.node
    return (
        line.to
        if isinstance(line, LostLine)
        else line.n
        if isinstance(line, NodeLine | ApiVersionsLine)
        else None
    )


def _head(event: Event) -> str:
    line, message = event.line, event.message
    if message is not None:
        what = f"{message.api} {'request' if message.is_request else 'response'} from {message.source}"
        why = f" is lost ({message.why or line.why})" if isinstance(line, LostLine) else ""
        made = f", made by the network layer: {message.synthetic}" if message.synthetic else ""
        return f"{what}{why}{made}"
    if isinstance(line, CallLine):
        given = f" {line.values}" if line.values else "" if line.version < 0 else f" to {line.version}"
        threw = "" if line.threw is UNSET else f": {line.threw}"
        return f"call {line.call}{given}{threw}"
    if isinstance(line, EndLine):
        return f"the process ends: {line.reason}{' ' if line.exception else ''}{line.exception}"
    if isinstance(line, PauseLine):
        return f"the process is paused for {line.ms} ms"
    if isinstance(line, WipeLine):
        return "an empty disk"
    words = {"start": "the process starts", "tick": "poll", "expire": "parked Fetches expire"}
    return words.get(event.kind, event.kind)


def _effects(event: Event) -> Iterator[Effect]:
    if not isinstance(event, StepEvent):
        return
    for kind in _EFFECTS:
        for entry in event.effects[kind]:
            yield Effect(kind, _text(entry), done=True)


def _world(event: Event) -> str:
    """An event of no node, in words."""
    line = event.line
    if isinstance(line, NetLine):
        return f"{event.time} ms: links that are blocked: {', '.join(line.blocked) or 'none'}"
    if isinstance(line, AdminResultLine):
        return f"{event.time} ms: the client has the answer to {line.api}: error {line.data.error}"
    return ""
