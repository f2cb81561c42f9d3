"""Traces: behaviours of a scenario, replayed on the reference, and their views.

* :mod:`~model_check.trace.build`: the trace of a violation, a path or a cycle;
* :mod:`~model_check.trace.json_form`: the versioned JSON form;
* :mod:`~model_check.trace.replay`: a trace held against the present reference;
* :mod:`~model_check.trace.terminal`, :mod:`~model_check.trace.markdown`,
  :mod:`~model_check.trace.program`: views for people, and as a pytest program.
"""

from model_check.trace.build import build, build_dead_end, build_lasso, with_room
from model_check.trace.model import Change, Finding, Run, Trace, TraceError, TraceStep

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
