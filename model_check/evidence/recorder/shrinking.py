"""The smallest schedule that still gives a difference of the same kind, by leaving choices out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import structs

from kraftcheck.evidence.recorder.running import Compared
from kraftcheck.evidence.recorder.schedule import Cluster, Schedule

#: The largest number of times that a schedule is recorded again.
MAX_RUNS = 60

#: Settings of a cluster that have less to them than others.
SIMPLER: tuple[Mapping[str, Any], ...] = (
    {"drop": 0.0},
    {"slow": 0.0, "tail": 0},
    {"skew": {}},
    {"brokers": 0},
    {"joiners": 0},
)


def shrink(
    schedule: Schedule,
    found: Compared,
    again: Callable[[Schedule], Compared],
    *,
    seconds: float,
    max_runs: int = MAX_RUNS,
) -> tuple[Schedule, Compared]:
    """A smaller schedule whose first difference has the kind of ``found``, and what it gives.

    ``again`` records and compares a schedule. The time after the difference goes first, then settings of the
    cluster, then choices, large parts first. After ``seconds`` no further schedule is tried.
    """
    best, runs, end = (schedule, found), 0, time.monotonic() + seconds

    def is_over() -> bool:
        return runs >= max_runs or time.monotonic() >= end

    def smaller(tried: Schedule) -> bool:
        nonlocal best, runs
        if is_over() or tried == best[0]:
            return False
        runs += 1
        result = again(tried)
        if result.kind != found.kind:
            return False
        until = min(tried.until, result.time + 1)
        best = _cut(tried, until), result
        return True

    best = _cut(schedule, min(schedule.until, found.time + 1)), found
    for changes in SIMPLER:
        smaller(_with(best[0], structs.replace(best[0].cluster, **changes)))
    size = max(1, len(best[0].choices) // 2)
    while size:
        begin = 0
        while begin < len(best[0].choices) and not is_over():
            choices = best[0].choices
            left = choices[:begin] + choices[begin + size :]
            if not smaller(structs.replace(best[0], choices=left)):
                begin += size
        size //= 2
    return best


def _cut(schedule: Schedule, until: int) -> Schedule:
    kept = tuple(choice for choice in schedule.choices if choice.at <= until)
    return structs.replace(schedule, until=until, choices=kept)


def _with(schedule: Schedule, cluster: Cluster) -> Schedule:
    """``schedule`` on another cluster, without the choices that concern nodes that it has not."""
    nodes = (None, *cluster.nodes)
    kept = tuple(
        choice
        for choice in schedule.choices
        if {choice.node, choice.to, *(node for link in choice.links for node in link)} <= set(nodes)
    )
    return structs.replace(schedule, cluster=cluster, choices=kept)
