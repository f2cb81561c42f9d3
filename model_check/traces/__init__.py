"""Traces: behaviours of a scenario, replayed on the reference, and their views.

* :mod:`~kraftcheck.traces.build`: the trace of a violation, a path or a cycle;
* :mod:`~kraftcheck.traces.json_form`: the versioned JSON form;
* :mod:`~kraftcheck.traces.replay`: a trace held against the present reference;
* :mod:`~kraftcheck.traces.view`: what a trace shows, as lines of text, built once for all views;
* :mod:`~kraftcheck.traces.terminal`, :mod:`~kraftcheck.traces.brief`, :mod:`~kraftcheck.traces.markdown`,
  :mod:`~kraftcheck.traces.program`: the views for people, and as a pytest program.
"""

from kraftcheck.traces.build import build, build_dead_end, build_lasso, with_room
from kraftcheck.traces.model import Change, Finding, Run, Trace, TraceError, TraceStep

__all__ = [
    "Change",
    "Finding",
    "Run",
    "Trace",
    "TraceError",
    "TraceStep",
    "build",
    "build_dead_end",
    "build_lasso",
    "with_room",
]
