"""Traces as JSON: versioned, complete, and read strictly.

A file says what was done in the values of the reference (:mod:`model_check.codec`), and beside them what
people want to read (``changes``, ``short`` events, ``history``, ``reasons``) as texts. Reading refuses, with
the place in the file, whatever does not belong there, and makes the first two again from the states;
``loads(dumps(trace)) == trace`` for every trace.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from model_check import codec, scenario
from model_check.codec import Json
from model_check.errors import InputError
from model_check.files import read_text
from model_check.kraft.clock import Clock
from model_check.kraft.network import InFlight
from model_check.kraft.node import Node
from model_check.trace.model import Change, Finding, Run, Trace, TraceStep
from model_check.trace.words import compare_nodes, short_events
from reference.disk import Disk
from reference.effects import Effect
from reference.events import Event
from reference.frozen import replace
from reference.messages import Message
from reference.replica import Replica

FORMAT, VERSION = "kraftcheck-trace", 1
MAX_STEPS = 100_000

T = TypeVar("T")
Reader = Callable[[Json, str], T]
_KINDS = ("deliver", "act", "lose")


# Writing.


def dumps(trace: Trace, *, indent: int | None = 1) -> str:
    """``trace`` as JSON text, ending with a newline."""
    return json.dumps(encode(trace), indent=indent, ensure_ascii=False) + "\n"


def encode(trace: Trace) -> dict[str, Json]:
    """``trace`` as JSON data."""
    finding = trace.finding
    return {
        "format": FORMAT,
        "version": VERSION,
        "scenario": scenario_data(trace.scenario),
        "property": None if finding is None else finding.property,
        "reasons": [] if finding is None else list(finding.reasons),
        "path": list(trace.path),
        "loop": trace.loop,
        "initial": trace.initial,
        "nodes": _encode_nodes(trace.nodes),
        "in_flight": _encode_messages(trace.in_flight),
        "budgets": _encode_budgets(trace.budgets),
        "steps": [_encode_step(step) for step in trace.steps],
    }


def scenario_data(chosen: scenario.Scenario) -> dict[str, Json]:
    """A scenario as data that :func:`model_check.scenario.from_data` reads; defaults are left out."""
    return cast(dict[str, Json], chosen.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def _encode_step(step: TraceStep) -> dict[str, Json]:
    return {
        "number": step.number,
        "replica": step.replica,
        "kind": step.kind,
        "action": step.action,
        "option": step.option,
        "choice": step.choice,
        "duplicate": step.duplicate,
        "message": None if step.message is None else _encode_message(step.message),
        "runs": [_encode_run(run) for run in step.runs],
        "changes": _encode_changes(step.changes),
        "nodes": _encode_nodes(step.nodes),
        "sent": _encode_messages(step.sent),
        "lost": _encode_messages(step.lost),
        "forgotten": _encode_messages(step.forgotten),
        "in_flight": _encode_messages(step.in_flight),
        "history": _encode_changes(step.history),
        "budgets": _encode_budgets(step.budgets),
        "violations": list(step.violations),
    }


def _encode_run(run: Run) -> Json:
    return {
        "start": run.start,
        "events": codec.encode(run.events, tuple[Event, ...]),
        "short": list(run.short),
        "rules": list(run.rules),
        "effects": codec.encode(run.effects, tuple[Effect, ...]),
        "completed": run.completed,
    }


def _encode_changes(changes: Sequence[Change]) -> Json:
    return [
        {"replica": each.replica, "field": each.field, "before": each.before, "after": each.after}
        for each in changes
    ]


def _encode_budgets(budgets: Sequence[tuple[str, int]]) -> Json:
    return [{"name": name, "left": left} for name, left in budgets]


def _encode_nodes(nodes: Sequence[tuple[int, Node]]) -> Json:
    return [
        {
            "id": replica,
            "replica": codec.encode(node.replica, Replica | None),
            "disk": codec.encode(node.disk, Disk),
            "died": node.died,
            **({} if node.clock is None else {"clock": node.clock.now}),
        }
        for replica, node in nodes
    ]


def _encode_messages(messages: Sequence[InFlight]) -> Json:
    return [_encode_message(message) for message in messages]


def _encode_message(message: InFlight) -> Json:
    return {
        "source": message.source,
        "destination": message.destination,
        "payload": codec.encode(message.payload, Message),
        "answerable": message.answerable,
    }


# Reading.


def load(path: Path) -> Trace:
    """The trace in the file ``path``. Raises InputError."""
    return loads(read_text(path, "a trace file"), str(path))


def loads(text: str, where: str = "trace") -> Trace:
    """The trace that JSON text stands for. Raises InputError."""
    return decode(codec.parse(text, where), where)


def decode(data: Json, where: str = "trace") -> Trace:
    """The trace that JSON data stands for. Raises InputError."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f'{where}: not a trace file, which begins with "format": "{FORMAT}".')
    version = data.get("version")
    if type(version) is not int or version != VERSION:
        raise InputError(
            f"{where}: this is version {_show(version)} of the format, and only version {VERSION} can be "
            "read; make the trace again with 'kraftcheck check'."
        )
    found = _fields(
        data,
        where,
        {
            "format": _text,
            "version": _number,
            "scenario": _scenario,
            "property": _optional(_text),
            "reasons": _items(_text),
            "path": _items(_number),
            "loop": _optional(_number),
            "initial": _number,
            "nodes": _items(_node),
            "in_flight": _items(_message),
            "budgets": _items(_budget),
            "steps": _items(_step),
        },
    )
    trace = Trace(
        found["scenario"],
        found["initial"],
        found["nodes"],
        found["in_flight"],
        found["budgets"],
        _with_texts(found["nodes"], found["steps"]),
        None if found["property"] is None else Finding(found["property"], found["reasons"]),
        found["loop"],
    )
    _require_coherent(trace, found["path"], found["reasons"], where)
    return trace


def _with_texts(nodes: tuple[tuple[int, Node], ...], steps: tuple[TraceStep, ...]) -> tuple[TraceStep, ...]:
    """``steps`` with the changes that their states show, and with their events in the short form."""
    known, found = dict(nodes), []
    for step in steps:
        after = dict(step.nodes)
        pairs = [(each, known[each], after[each]) for each in known if each in after]
        changes = tuple(change for pair in pairs for change in compare_nodes(*pair))
        runs = step.runs
        if step.replica in known:
            runs = tuple(replace(run, short=short_events(run.events, known[step.replica])) for run in runs)
        found.append(replace(step, changes=changes, runs=runs))
        known |= after
    return tuple(found)


def _require_coherent(trace: Trace, path: tuple[int, ...], reasons: tuple[str, ...], where: str) -> None:
    """Whether what the file says twice agrees, and names only what there is."""
    known = set(trace.replicas)
    if len(known) < len(trace.nodes):
        _refuse(f"{where}.nodes", "each replica once", "one of them twice")
    if trace.path != path:
        _refuse(f"{where}.path", "the options of the steps", "other numbers")
    if trace.finding is None and reasons:
        _refuse(f"{where}.reasons", "none without a property", f"{len(reasons)}")
    if trace.loop is not None and trace.loop > len(trace.steps):
        _refuse(f"{where}.loop", f"a number up to {len(trace.steps)}", str(trace.loop))
    for index, step in enumerate(trace.steps):
        place = f"{where}.steps[{index}]"
        if step.number != index + 1:
            _refuse(f"{place}.number", str(index + 1), str(step.number))
        named = [step.replica, *(replica for replica, _ in step.nodes)]
        for replica in named:
            if replica not in known:
                _refuse(place, f"one of the replicas {', '.join(map(str, trace.replicas))}", str(replica))
        if (step.message is None) != (step.kind == "act"):
            _refuse(f"{place}.message", "a message, except for an act", "the opposite")


def _scenario(data: Json, where: str) -> scenario.Scenario:
    if not isinstance(data, dict):
        _refuse(where, "an object", _show(data))
    return scenario.from_data(cast(dict[str, Any], data), where)


def _step(data: Json, where: str) -> TraceStep:
    return TraceStep(
        **_fields(
            data,
            where,
            {
                "number": _number,
                "replica": _number,
                "kind": _word(_KINDS),
                "action": _text,
                "option": _number,
                "choice": _number,
                "duplicate": _flag,
                "message": _optional(_message),
                "runs": _items(_run),
                "changes": _items(_change),
                "nodes": _items(_node),
                "sent": _items(_message),
                "lost": _items(_message),
                "forgotten": _items(_message),
                "in_flight": _items(_message),
                "history": _items(_change),
                "budgets": _items(_budget),
                "violations": _items(_text),
            },
        )
    )


def _run(data: Json, where: str) -> Run:
    found = _fields(
        data,
        where,
        {
            "start": _flag,
            "events": _value(tuple[Event, ...]),
            "short": _items(_text),
            "rules": _items(_text),
            "effects": _value(tuple[Effect, ...]),
            "completed": _number,
        },
    )
    if not found["start"] and not found["events"]:
        _refuse(f"{where}.events", "at least one event unless the process starts", "none")
    if found["completed"] > len(found["effects"]):
        _refuse(f"{where}.completed", f"at most {len(found['effects'])}", str(found["completed"]))
    return Run(**found)


def _change(data: Json, where: str) -> Change:
    readers: dict[str, Reader[Any]] = {
        "replica": _optional(_number),
        "field": _text,
        "before": _text,
        "after": _text,
    }
    return Change(**_fields(data, where, readers))


def _node(data: Json, where: str) -> tuple[int, Node]:
    readers: dict[str, Reader[Any]] = {
        "id": _number,
        "replica": _value(Replica | None),
        "disk": _value(Disk),
        "died": _optional(_text),
    }
    # Only where clocks run.
    clocked = isinstance(data, dict) and "clock" in data
    found = _fields(data, where, {**readers, "clock": _number} if clocked else readers)
    clock = Clock(found["clock"]) if clocked else None
    return found["id"], Node(found["replica"], found["disk"], found["died"], clock=clock)


def _message(data: Json, where: str) -> InFlight:
    readers: dict[str, Reader[Any]] = {
        "source": _number,
        "destination": _number,
        "payload": _value(Message),
        "answerable": _flag,
    }
    return InFlight(**_fields(data, where, readers))


def _budget(data: Json, where: str) -> tuple[str, int]:
    found = _fields(data, where, {"name": _text, "left": _number})
    return found["name"], found["left"]


# The parts of which readers are made.


def _fields(data: Json, where: str, readers: Mapping[str, Reader[Any]]) -> dict[str, Any]:
    """The values of an object that has exactly the keys of ``readers``."""
    if not isinstance(data, dict):
        _refuse(where, "an object", _show(data))
    for key in data:
        if key not in readers:
            _refuse(where, f"only the keys {', '.join(readers)}", json.dumps(key[:40]))
    for key in readers:
        if key not in data:
            _refuse(where, f"the key {key!r}", "none")
    return {key: read(data[key], f"{where}.{key}") for key, read in readers.items()}


def _items(read: Reader[T]) -> Reader[tuple[T, ...]]:
    def read_items(data: Json, where: str) -> tuple[T, ...]:
        if not isinstance(data, list):
            _refuse(where, "an array", _show(data))
        if len(data) > MAX_STEPS:
            _refuse(where, f"at most {MAX_STEPS:,} items", f"{len(data):,}")
        return tuple(read(item, f"{where}[{index}]") for index, item in enumerate(data))

    return read_items


def _optional(read: Reader[T]) -> Reader[T | None]:
    return lambda data, where: None if data is None else read(data, where)


def _value(kind: Any) -> Reader[Any]:
    """A value of the reference."""
    return lambda data, where: codec.decode(data, kind, where)


def _text(data: Json, where: str) -> str:
    return codec.decode(data, str, where)


def _flag(data: Json, where: str) -> bool:
    return codec.decode(data, bool, where)


def _number(data: Json, where: str) -> int:
    number = codec.decode(data, int, where)
    if not 0 <= number <= codec.INT32:
        _refuse(where, f"a number from 0 to {codec.INT32}", str(number))
    return number


def _word(allowed: tuple[str, ...]) -> Reader[str]:
    def read_word(data: Json, where: str) -> str:
        if not isinstance(data, str) or data not in allowed:
            _refuse(where, f"one of {', '.join(allowed)}", _show(data))
        return data

    return read_word


def _refuse(where: str, expected: str, found: str) -> NoReturn:
    raise InputError(f"{where}: expected {expected}, found {found}.")


def _show(data: object) -> str:
    if isinstance(data, dict | list):
        return "an object" if isinstance(data, dict) else "an array"
    text = json.dumps(data) if not isinstance(data, int) or abs(data) < 10**30 else "a huge number"
    return text if len(text) < 60 else text[:57] + "..."
