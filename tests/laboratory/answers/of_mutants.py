"""A mutant explored with the kept answers of the reference, in the process that has become the mutant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from kraftcheck.checking.answers import Answers
from kraftcheck.checking.coverage.executed import Place, Recording, is_of
from kraftcheck.checking.ledger import RECORDED, Sources
from kraftcheck.engine.explorer import explore
from kraftcheck.engine.system import Exploration, Limits, System
from kraftcheck.support import places
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import find

#: The states after which both end.
_ENOUGH = Limits(max_states=3_000)


@cache
def prepare() -> Sources:
    """The sources, with those of the reference taken apart: all jobs share them."""
    sources = Sources.installed()
    for module in places.modules():
        if is_of(module, RECORDED):
            sources.seen(Place(module, ""), "")
    return sources


def explored(scenario: str, changed: Mapping[str, str], folder: str) -> Iterator[dict[str, Any]]:
    """Whether the result is the ``same`` as without kept answers, and how many were ``taken``."""
    chosen = find(scenario)
    system, _ = kind_of(chosen).up_to_renaming(kind_of(chosen).build(chosen), chosen)
    sources = prepare().replaced(changed)
    answers = Answers(sources, Recording([]), Path(folder))
    tables = answers.tables(cast(System, system))
    taken = len(tables.resolved)
    found = answers.found(tables) or explore(cast(System, system), tables=tables, limits=_ENOUGH)
    expected = explore(cast(System, system), limits=_ENOUGH)
    yield {"same": _timeless(found) == _timeless(expected), "taken": taken}


def _timeless(found: Exploration) -> Exploration:
    return replace(found, seconds=0.0, calls=0, peak_memory=0, visited_bytes=0)
