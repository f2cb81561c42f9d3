"""Sequences as files, and sequences taken from trace files.

A sequence file is JSON with ``"format": "kraftcheck-drive-sequence"``; its values have the form of
:mod:`kraftcheck.support.codec`. Reading rejects every unexpected value, with its place in the file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from kraftcheck.evidence.adapters.extract import moments, sequences
from kraftcheck.evidence.adapters.stimuli import DriveSequence
from kraftcheck.evidence.recordings.fields import Fields
from kraftcheck.reference.frozen import replace
from kraftcheck.support import codec
from kraftcheck.support.codec import Json
from kraftcheck.support.errors import InputError
from kraftcheck.support.files import read_text
from kraftcheck.systems.kraft.build import build
from kraftcheck.systems.kraft.scenario import of_replicas
from kraftcheck.traces import Trace, TraceError, json_form
from kraftcheck.traces.build import build as build_trace
from kraftcheck.traces.build import walk_again

FORMAT, VERSION = "kraftcheck-drive-sequence", 1


# Writing.


def encode(sequence: DriveSequence) -> dict[str, Json]:
    """``sequence`` as JSON data, without its origin."""
    data = codec.encode(replace(sequence, origin=None), DriveSequence)
    assert isinstance(data, dict)
    return {"format": FORMAT, "version": VERSION, **data, "written_back": sequence.written_back}


def dumps(sequence: DriveSequence) -> str:
    """``sequence`` as JSON text, ending with a newline."""
    return json.dumps(encode(sequence), indent=1) + "\n"


# Reading.


def decode(data: Json, where: str) -> DriveSequence:
    """The sequence that JSON data stands for. Raises InputError."""
    fields = Fields.of(data, where)
    if fields.number("version") != VERSION:
        raise InputError(f"{where}: only version {VERSION} of sequence files can be read; make it again.")
    content = {key: value for key, value in fields.values.items() if key not in ("format", "version")}
    return codec.decode(content, DriveSequence, where)


def load(path: Path) -> list[DriveSequence]:
    """The sequences in a file, or in all ``.json`` files of a folder by name; a trace file has one for each
    replica. Raises InputError.
    """
    if os.path.isdir(path):
        files = sorted(path.glob("*.json"))
        if not files:
            raise InputError(f"{path}: holds no .json file; give a folder of trace or sequence files.")
        return [sequence for file in files for sequence in load(file)]
    data = codec.parse(read_text(path, "a trace or sequence file"), str(path))
    if isinstance(data, dict) and data.get("format") == FORMAT:
        return [decode(data, str(path))]
    return _of_trace(json_form.decode(data, str(path)), path)


def _of_trace(trace: Trace, path: Path) -> list[DriveSequence]:
    scenario = of_replicas(trace.scenario, "driving an implementation")
    system = build(scenario, str(path))
    try:
        walk = walk_again(system, trace)
    except TraceError as error:
        raise InputError(f"{path}: the present reference does not take this behaviour ({error}).") from None
    return list(sequences(system, scenario, path.stem, moments(system, walk.taken)))


# The behaviour that contains a difference.


def behaviour(sequence: DriveSequence, position: int) -> Trace | None:
    """The trace of the whole quorum up to the step that stimulus ``position`` belongs to, if there is one."""
    origin = sequence.origin
    if origin is None:
        return None
    system = build(origin.scenario).unjudged()  # The behaviour may go on after a violation.
    return build_trace(system, origin.scenario, origin.path[: origin.steps[position]])
