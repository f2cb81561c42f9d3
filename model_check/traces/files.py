"""The files of counterexamples that commands write: for tools as JSON, and as a page for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from kraftcheck.support.files import write_atomically
from kraftcheck.traces import json_form
from kraftcheck.traces.model import Trace
from kraftcheck.traces.page import page_of


def write(traces: Iterable[Trace], folder: Path, faults: Callable[[Trace], Mapping[int, str]]) -> None:
    """Write each of ``traces`` as ``SCENARIO.PROPERTY.json`` and ``.html``. Raises InputError for a folder
    that cannot be written. ``faults``: the rules at fault in a trace, by the number of the step.
    """
    for trace in traces:
        name = f"{trace.scenario.name}.{trace.property}"
        write_atomically(folder / f"{name}.json", json_form.dumps(trace), create_folder=True)
        write_atomically(folder / f"{name}.html", page_of(trace, faults=faults(trace)), create_folder=True)
