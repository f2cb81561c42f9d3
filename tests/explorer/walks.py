"""Scenarios to explore, and paths through them."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from kraftcheck.explorer.events import Event
from kraftcheck.explorer.ground import Ground, Path
from kraftcheck.explorer.here import Here, here
from kraftcheck.systems import scenario

#: Scenarios of both kinds, with faults, voter changes, snapshots, armed timers and clocks.
NAMES = (
    "three-voters-crash",
    "finding-second-leader-of-epoch",
    "disruptive-server",
    "observer-loads-snapshot",
    "brokers-shipped-data-crash",
    "brokers-timeouts-drift",
)

#: A scenario, and which of the possible steps to take.
WALKS = st.tuples(st.sampled_from(NAMES), st.lists(st.integers(0, 99), max_size=9))


@cache
def ground_of(name: str) -> Ground:
    return Ground(scenario.find(name))


def options_of(events: tuple[Event, ...]) -> list[int]:
    return [choice.option for event in events for choice in event.choices]


def walked(ground: Ground, picks: list[int]) -> tuple[Path, Here]:
    """The path that takes the possible steps with these numbers, and what there is at its end."""
    path: Path = ()
    found = here(ground, path)
    for pick in picks:
        options = options_of(found.events)
        if not options:
            break
        path = (*path, options[pick % len(options)])
        found = here(ground, path)
    return path, found
