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
from functools import cache
from pathlib import Path
from typing import Any, cast

from kraftcheck.support import codec
from kraftcheck.support.codec import Json, show
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text
from kraftcheck.support.printable import json_text
from kraftcheck.systems import scenario
from kraftcheck.systems.kind import Files, Run
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.reading import (
    FLAG,
    NUMBER,
    PLACE,
    TEXT,
    Form,
    fields,
    items,
    keys,
    optional,
    refuse,
    row,
    word,
)
from kraftcheck.traces.model import Change, Finding, Trace, TraceStep

FORMAT, VERSION = "kraftcheck-trace", 4
#: The keys of a file, in their order.
_KEYS = (
    "format", "version", "digest", "scenario", "property", "reasons", "path", "loop", "initial", "nodes",
    "in_flight", "budgets", "steps",
)  # fmt: skip


# Writing.


def dumps(trace: Trace, *, indent: int | None = 1) -> str:
    """``trace`` as JSON text, ending with a newline."""
    return json_text(encode(trace), indent) + "\n"


def encode(trace: Trace) -> dict[str, Json]:
    """``trace`` as JSON data."""
    scenario = scenario_data(trace.scenario)
    forms = _forms(kind_of(trace.scenario).files)
    beginning = {key: forms[key].write(getattr(trace, key)) for key in forms if key not in _FINDING}
    return {
        "format": FORMAT,
        "version": VERSION,
        "digest": _digest(scenario, trace.property),
        "scenario": scenario,
        **encode_finding(trace.finding),
        **beginning,
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


def encode_step(step: TraceStep, files: Files) -> Json:
    """A step as JSON data; ``files`` belongs to the kind of the scenario."""
    return _step(files).write(step)


# The forms of the parts, for writing and reading.


_CHANGE = fields(Change, replica=optional(PLACE), field=TEXT, before=TEXT, after=TEXT)
_BUDGET = row(name=TEXT, left=NUMBER)
_FINDING = ("property", "reasons")


def _forms(files: Files) -> dict[str, Form]:
    """By key the forms of the parts of a trace, except its scenario."""
    return {
        "property": optional(TEXT),
        "reasons": items(TEXT),
        "path": items(NUMBER),
        "loop": optional(NUMBER),
        "initial": NUMBER,
        "nodes": items(files.local),
        "in_flight": items(files.message),
        "budgets": items(_BUDGET),
        "steps": items(_step(files)),
    }


@cache
def _step(files: Files) -> Form:
    messages = items(files.message)
    run = fields(
        Run,
        start=FLAG,
        events=files.events,
        short=items(TEXT),
        rules=items(TEXT),
        effects=files.effects,
        completed=NUMBER,
    )
    return fields(
        TraceStep,
        number=NUMBER,
        replica=PLACE,
        kind=word("deliver", "act", "lose"),
        action=TEXT,
        option=NUMBER,
        choice=NUMBER,
        duplicate=FLAG,
        message=optional(files.message),
        runs=items(Form(run.write, lambda data, where: _coherent(run.read(data, where), where))),
        changes=items(_CHANGE),
        nodes=items(files.local),
        sent=messages,
        lost=messages,
        forgotten=messages,
        in_flight=messages,
        history=items(_CHANGE),
        budgets=items(_BUDGET),
        violations=items(TEXT),
    )


def _coherent(run: Run, where: str) -> Run:
    if not run.start and not run.events:
        refuse(f"{where}.events", "at least one event unless the process starts", "none")
    if run.completed > len(run.effects):
        refuse(f"{where}.completed", f"at most {len(run.effects)}", str(run.completed))
    return run


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
    as_it_is = Form(lambda value: value, lambda data, where: data)
    given = keys(data, where, dict.fromkeys(_KEYS, as_it_is))
    if given["digest"] != _digest(given["scenario"], given["property"]):
        raise InputError(
            f"{where}: the digest is that of another scenario or property, so one of them was changed after "
            "the trace was made; make the trace again with 'kraftcheck check'."
        )
    chosen = _scenario(given["scenario"], f"{where}.scenario")
    forms = _forms(kind_of(chosen).files)
    found = {key: form.read(given[key], f"{where}.{key}") for key, form in forms.items()}
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


def _scenario(data: Json, where: str) -> scenario.Scenario:
    if not isinstance(data, dict):
        refuse(where, "an object", show(data))
    return scenario.from_data(cast(dict[str, Any], data), where)
