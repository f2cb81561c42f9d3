"""Messages, local states and history as the views of a trace print them, whatever their kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kraftcheck.systems.kind import Place
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.kraft.text.fields import NOTHING
from kraftcheck.traces.model import Change

#: What the field "process" says of one that runs.
RUNNING = "running"


def label(message: Any) -> str:
    """A message in a few words: ``VoteRequest(e1 last=0@0)``."""
    return kind_of(message).words.label(message)


def node_fields(node: Any) -> Mapping[str, str]:
    """The fields of the local state of a component."""
    return kind_of(node).words.fields(node)


def compare_nodes(place: Place, before: Any, after: Any) -> tuple[Change, ...]:
    """The fields of a component that differ; what is there no more is not listed where a process ended."""
    if before == after:
        return ()
    old, new = node_fields(before), node_fields(after)
    names = [*new, *(name for name in old if name not in new and new.get("process", RUNNING) == RUNNING)]
    changes = (Change(place, name, old.get(name, NOTHING), new.get(name, NOTHING)) for name in names)
    return tuple(change for change in changes if change.before != change.after)


def compare_history(before: Any, after: Any) -> tuple[Change, ...]:
    """The fields of the history that differ."""
    words = kind_of(before).words
    old, new = words.history_fields(before), words.history_fields(after)
    return tuple(Change(None, name, old[name], new[name]) for name in new if old[name] != new[name])
