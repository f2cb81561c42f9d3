"""Traces as JSON: versioned, complete, and read strictly.

A file says what was done in the values of the reference (:mod:`kraftcheck.support.codec`), together with what
people want to read (``changes``, ``short`` events, ``history``, ``reasons``) as texts. Reading refuses, with
the place in the file, whatever does not belong there; ``loads(dumps(trace)) == trace`` for every trace.
:func:`kraftcheck.traces.replay.replay` compares what a file says with what the reference does. What it cannot
derive, the scenario and which property is violated, has a ``digest``, which reading compares.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from kraftcheck.support import codec
from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text
from kraftcheck.support.printable import json_text
from kraftcheck.systems import scenario
from kraftcheck.systems.kind import Files, Flying, Place, Run
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.reading import (
    Reader,
    flag,
    items,
    keys,
    number,
    optional,
    place,
    refuse,
    show,
    text,
    value,
    word,
)
from kraftcheck.traces.model import Change, Finding, Trace, TraceStep

FORMAT, VERSION = "kraftcheck-trace", 3
#: The keys of a file, in their order.
_KEYS = (
    "format", "version", "digest", "scenario", "property", "reasons", "path", "loop", "initial", "nodes",
    "in_flight", "budgets", "steps",
)  # fmt: skip
_KINDS = ("deliver", "act", "lose")


# Writing.


def dumps(trace: Trace, *, indent: int | None = 1) -> str:
    """``trace`` as JSON text, ending with a newline."""
    return json_text(encode(trace), indent) + "\n"


def encode(trace: Trace) -> dict[str, Json]:
    """``trace`` as JSON data."""
    files = kind_of(trace.scenario).files
    scenario = scenario_data(trace.scenario)
    return {
        "format": FORMAT,
        "version": VERSION,
        "digest": _digest(scenario, trace.property),
        "scenario": scenario,
        **encode_finding(trace.finding),
        "path": list(trace.path),
        "loop": trace.loop,
        "initial": trace.initial,
        "nodes": _encode_nodes(trace.nodes, files),
        "in_flight": _encode_messages(trace.in_flight, files),
        "budgets": _encode_budgets(trace.budgets),
        "steps": [encode_step(step, files) for step in trace.steps],
    }


def encode_finding(finding: Finding | None) -> dict[str, Json]:
    """The property that is violated and the reasons; ``null`` and none if there is no finding."""
    if finding is None:
        return {"property": None, "reasons": []}
    return {"property": finding.property, "reasons": list(finding.reasons)}


def _digest(scenario: Json, violated: Json) -> str:
    """Of what a trace is about."""
    text = json.dumps([scenario, violated], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def scenario_data(chosen: scenario.Scenario) -> dict[str, Json]:
    """A scenario as data that :func:`kraftcheck.systems.scenario.from_data` reads; defaults are left out."""
    return cast(dict[str, Json], chosen.model_dump(mode="json", by_alias=True, exclude_defaults=True))


def encode_step(step: TraceStep, files: Files) -> dict[str, Json]:
    """A step as JSON data; ``files`` belongs to the model of the scenario."""
    return {
        "number": step.number,
        "replica": step.replica,
        "kind": step.kind,
        "action": step.action,
        "option": step.option,
        "choice": step.choice,
        "duplicate": step.duplicate,
        "message": None if step.message is None else files.encode_message(step.message),
        "runs": [_encode_run(run, files) for run in step.runs],
        "changes": _encode_changes(step.changes),
        "nodes": _encode_nodes(step.nodes, files),
        "sent": _encode_messages(step.sent, files),
        "lost": _encode_messages(step.lost, files),
        "forgotten": _encode_messages(step.forgotten, files),
        "in_flight": _encode_messages(step.in_flight, files),
        "history": _encode_changes(step.history),
        "budgets": _encode_budgets(step.budgets),
        "violations": list(step.violations),
    }


def _encode_run(run: Run, files: Files) -> Json:
    return {
        "start": run.start,
        "events": codec.encode(run.events, files.events),
        "short": list(run.short),
        "rules": list(run.rules),
        "effects": codec.encode(run.effects, files.effects),
        "completed": run.completed,
    }


def _encode_changes(changes: Sequence[Change]) -> Json:
    return [
        {"replica": each.replica, "field": each.field, "before": each.before, "after": each.after}
        for each in changes
    ]


def _encode_budgets(budgets: Sequence[tuple[str, int]]) -> Json:
    return [{"name": name, "left": left} for name, left in budgets]


def _encode_nodes(nodes: Sequence[tuple[Place, Any]], files: Files) -> Json:
    return [files.encode_local(place, node) for place, node in nodes]


def _encode_messages(messages: Sequence[Flying], files: Files) -> Json:
    return [files.encode_message(message) for message in messages]


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
            f"{where}: this is version {show(version)} of the format, and only version {VERSION} can be "
            "read; make the trace again with 'kraftcheck check'."
        )
    given = keys(data, where, dict.fromkeys(_KEYS, _as_it_is))
    if given["digest"] != _digest(given["scenario"], given["property"]):
        raise InputError(
            f"{where}: the digest is that of another scenario or property, so one of them was changed after "
            "the trace was made; make the trace again with 'kraftcheck check'."
        )
    chosen = _scenario(given["scenario"], f"{where}.scenario")
    files = kind_of(chosen).files
    readers: dict[str, Reader[Any]] = {
        "property": optional(text),
        "reasons": items(text),
        "path": items(number),
        "loop": optional(number),
        "initial": number,
        "nodes": items(files.decode_local),
        "in_flight": items(files.decode_message),
        "budgets": items(_budget),
        "steps": items(_step(files)),
    }
    found = {key: read(given[key], f"{where}.{key}") for key, read in readers.items()}
    trace = Trace(
        chosen,
        found["initial"],
        found["nodes"],
        found["in_flight"],
        found["budgets"],
        found["steps"],
        None if found["property"] is None else Finding(found["property"], found["reasons"]),
        found["loop"],
    )
    _require_coherent(trace, found["path"], found["reasons"], where)
    return trace


def _require_coherent(trace: Trace, path: tuple[int, ...], reasons: tuple[str, ...], where: str) -> None:
    """Whether what the file says twice agrees, and names only what there is."""
    known = set(trace.replicas)
    if len(known) < len(trace.nodes):
        refuse(f"{where}.nodes", "each replica once", "one of them twice")
    if trace.path != path:
        refuse(f"{where}.path", "the options of the steps", "other numbers")
    if trace.finding is None and reasons:
        refuse(f"{where}.reasons", "none without a property", f"{len(reasons)}")
    if trace.loop is not None and trace.loop > len(trace.steps):
        refuse(f"{where}.loop", f"a number up to {len(trace.steps)}", str(trace.loop))
    if trace.loop is not None and not trace.is_of_behaviours:
        refuse(f"{where}.loop", "null, as check.eventually does not ask for the property", str(trace.loop))
    for index, step in enumerate(trace.steps):
        place = f"{where}.steps[{index}]"
        if step.number != index + 1:
            refuse(f"{place}.number", str(index + 1), str(step.number))
        named = [step.replica, *(replica for replica, _ in step.nodes)]
        for replica in named:
            if replica not in known:
                refuse(place, f"one of the replicas {', '.join(map(str, trace.replicas))}", str(replica))
        if (step.message is None) != (step.kind == "act"):
            refuse(f"{place}.message", "a message, except for an act", "the opposite")


def _as_it_is(data: Json, where: str) -> Json:
    return data


def _scenario(data: Json, where: str) -> scenario.Scenario:
    if not isinstance(data, dict):
        refuse(where, "an object", show(data))
    return scenario.from_data(cast(dict[str, Any], data), where)


def _step(files: Files) -> Reader[TraceStep]:
    messages = items(files.decode_message)
    readers: dict[str, Reader[Any]] = {
        "number": number,
        "replica": place,
        "kind": word(_KINDS),
        "action": text,
        "option": number,
        "choice": number,
        "duplicate": flag,
        "message": optional(files.decode_message),
        "runs": items(_run(files)),
        "changes": items(_change),
        "nodes": items(files.decode_local),
        "sent": messages,
        "lost": messages,
        "forgotten": messages,
        "in_flight": messages,
        "history": items(_change),
        "budgets": items(_budget),
        "violations": items(text),
    }
    return lambda data, where: TraceStep(**keys(data, where, readers))


def _run(files: Files) -> Reader[Run]:
    readers: dict[str, Reader[Any]] = {
        "start": flag,
        "events": value(files.events),
        "short": items(text),
        "rules": items(text),
        "effects": value(files.effects),
        "completed": number,
    }

    def read_run(data: Json, where: str) -> Run:
        found = keys(data, where, readers)
        if not found["start"] and not found["events"]:
            refuse(f"{where}.events", "at least one event unless the process starts", "none")
        if found["completed"] > len(found["effects"]):
            refuse(f"{where}.completed", f"at most {len(found['effects'])}", str(found["completed"]))
        return Run(**found)

    return read_run


def _change(data: Json, where: str) -> Change:
    readers: dict[str, Reader[Any]] = {
        "replica": optional(place),
        "field": text,
        "before": text,
        "after": text,
    }
    return Change(**keys(data, where, readers))


def _budget(data: Json, where: str) -> tuple[str, int]:
    found = keys(data, where, {"name": text, "left": number})
    return found["name"], found["left"]
