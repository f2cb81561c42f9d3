"""The questions of an exploration to the reference: every step and start, once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kraftcheck.checking.coverage.outcomes import AnyOutcome, State


@dataclass(frozen=True, slots=True)
class Asked:
    """A step of a node: its protocol, its state before, the event, and the outcome. ``happened``: the event,
    or the disk with which the process of a replica starts.
    """

    protocol: Any
    state: State
    happened: Any
    outcome: AnyOutcome


class Asking:
    """A listener to questions, which keeps each once, in order; see
    :data:`kraftcheck.systems.kraft.wiring.Listener` and :data:`kraftcheck.systems.brokers.wiring.Listener`.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[Any, State, Any], Asked] = {}

    def __iter__(self) -> Iterator[Asked]:
        return iter(self._found.values())

    def __call__(self, protocol: Any, state: State, happened: Any, outcome: AnyOutcome) -> None:
        key = (protocol, state, happened)
        if key not in self._found:
            self._found[key] = Asked(protocol, state, happened, outcome)
