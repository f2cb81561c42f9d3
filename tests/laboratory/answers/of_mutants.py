"""A mutant checked with the kept answers of the reference, in the process that has become the mutant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from kraftcheck.checking.answers import Answers, tables_of, using
from kraftcheck.checking.coverage.executed import Place, Recording, is_of
from kraftcheck.checking.ledger import RECORDED, Sources
from kraftcheck.checking.run import CheckResult, check
from kraftcheck.engine.simulate import simulate
from kraftcheck.engine.system import Exploration, Limits, System
from kraftcheck.engine.tables import Tables
from kraftcheck.support import places
from kraftcheck.support.errors import InputError
from kraftcheck.systems.scenario import Scenario, find

#: The states after which both end.
_ENOUGH = Limits(max_states=3_000)


class _Taken(Answers):
    """Answers that are only taken: what runs is not noted here."""

    def keep(self, tables: Tables, what: str = "", found: object = None) -> None:
        pass


@cache
def prepare() -> Sources:
    """The sources, with all that is asked of them known but of what a job changes."""
    sources = Sources.installed()
    assert sources.rest
    for module in places.modules():
        if is_of(module, RECORDED):
            sources.seen(Place(module, ""), "")
    return sources


def explored(scenario: str, changed: Mapping[str, str], folder: str) -> Iterator[dict[str, Any]]:
    """Whether the result is the ``same`` as without kept answers, and how much was ``taken``.

    Where a mutant changes more than functions, nothing that is kept is read.
    """
    sources = prepare().replaced(changed)
    if sources.rest != prepare().rest:
        yield {"same": True, "taken": 0}
        return
    chosen = as_kept(find(scenario))
    answers = _Taken(sources, Recording([]), Path(folder))
    found, expected = _result(chosen, answers), _result(chosen, None)
    yield {"same": found == expected, "taken": len(answers.used())}


def as_kept(scenario: Scenario) -> Scenario:
    """``scenario`` without what is expected of it: the answers do not depend on that."""
    return scenario.model_copy(update={"expect": type(scenario.expect)(verdict="holds")})


def with_more(scenario: Scenario) -> Scenario:
    """``scenario`` with one more of each budget; not of crashes, on whose number answers depend."""
    more = {
        name: getattr(scenario.budgets, name) + 1
        for name in type(scenario.budgets).model_fields
        if getattr(scenario.budgets, name) and name not in ("crashes", "ticks")
    }
    return scenario.model_copy(update={"budgets": scenario.budgets.model_copy(update=more)})


def _result(scenario: Scenario, answers: Answers | None) -> object:
    """What a search finds, and random walks."""
    try:
        with using(answers):
            found = check(scenario, limits=_ENOUGH)
            return timeless(found), walked(cast(System, found.system))
    except InputError as error:
        return str(error)


def walked(system: System, seed: int = 0, walks: int = 100) -> Exploration:
    """Random walks of ``system``, without what they cost."""
    with tables_of(system) as tables:
        found = simulate(system, seed, walks, 30, keep_going=True, tables=tables)
    return replace(found, seconds=0.0, calls=0, peak_memory=0)


def timeless(result: CheckResult) -> tuple[object, ...]:
    """All of a result but its costs."""
    found = replace(result.exploration, seconds=0.0, calls=0, peak_memory=0, visited_bytes=0, spilled_bytes=0)
    return found, result.differences, result.liveness, result.covered
