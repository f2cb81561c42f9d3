"""Counterexamples that are known of one release, taken under the preset of another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kraftcheck.checking import by_release
from kraftcheck.support.errors import InputError
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.other_protocol import under
from kraftcheck.traces import Trace, TraceError, json_form
from kraftcheck.traces.build import violating, walk_again


def known_counterexamples(folder: Path | None) -> dict[str, list[Trace]]:
    """The counterexamples in the trace files of ``folder`` (``None``: there are none), by scenario. Raises
    InputError.
    """
    if folder is not None and not folder.is_dir():
        raise InputError(f"--traces: {folder} is no folder; 'kraftcheck check --traces DIR' writes one.")
    found: dict[str, list[Trace]] = {}
    for path in sorted(folder.glob("*.json")) if folder is not None else ():
        trace = json_form.load(path)
        if trace.property is not None:
            found.setdefault(trace.scenario.name, []).append(trace)
    return found


def under_release(traces: Sequence[Trace], release: str) -> tuple[Trace, ...]:
    """``traces`` under the preset of ``release``; none unless all of them violate the same there.

    Steps alone do not violate an *eventually* property: its traces count as not taken.
    """
    if any(each.is_of_behaviours for each in traces):
        return ()
    try:
        return tuple(_again(each, by_release.preset_of(release)) for each in traces)
    except (InputError, TraceError):
        return ()


def _again(trace: Trace, preset: str) -> Trace:
    scenario = under(trace.scenario, preset)
    walked = walk_again(kind_of(scenario).build(scenario), trace)
    return violating(walked, scenario, str(trace.property))
