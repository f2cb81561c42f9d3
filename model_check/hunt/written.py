"""New violations as scenarios: small, with the verdict that exploring them gives."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kraftcheck.checking import findings
from kraftcheck.checking.run import check
from kraftcheck.checking.smallest_bounds import used
from kraftcheck.engine.system import Limits, Violation
from kraftcheck.hunt.causes import Likeness
from kraftcheck.hunt.search import Sighting
from kraftcheck.reference.frozen import replace
from kraftcheck.support.contents import digest_of
from kraftcheck.support.errors import DiskError, InputError
from kraftcheck.support.files import write_atomically
from kraftcheck.support.toml_form import toml_text
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Expected, Scenario
from kraftcheck.traces import Trace, files
from kraftcheck.traces.build import walk_again
from kraftcheck.traces.json_form import scenario_data

#: So many states are explored to confirm that a written scenario is violated.
MOST_STATES = 500_000
_LONGEST_NAME = 50


@dataclass(frozen=True, slots=True)
class Written:
    """A new violation as a scenario. ``confirmed``: whether exploring it shows it."""

    scenario: Scenario
    trace: Trace
    confirmed: bool


def name_of(likeness: Likeness) -> str:
    """The name of the scenario that shows a violation: the same for all that are alike."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", likeness.property).lower()[: _LONGEST_NAME - 12]
    return f"hunt-{words}-{digest_of(likeness)[:6]}"


def written(sighting: Sighting, name: str, threads: int) -> Written:
    """The scenario that shows ``sighting``: with the bounds that it needs, if exploring that shows it;
    otherwise with those in which it was seen.
    """
    trace = sighting.trace
    wide = _named(_alone(trace), name)
    best = Written(wide, _with_scenario(trace, wide), False)
    for each in (_with_used_bounds(trace, wide), wide):
        if each is not None and (shown := _confirmed(each, threads)) is not None:
            return Written(each, shown, True)
    return best


def write(found: Written, folder: Path) -> None:
    """Write the scenario as ``NAME.toml``, and its trace as ``kraftcheck check --traces`` does."""
    text = toml_text(scenario_data(found.scenario))
    write_atomically(folder / f"{found.scenario.name}.toml", text, create_folder=True)
    files.write([found.trace], folder, findings.faults)


def _alone(trace: Trace) -> Scenario:
    """The scenario of ``trace``, which judges its property alone."""
    scenario, violated = trace.scenario, trace.property or ""
    eventually: tuple[Any, ...] = ()
    if trace.is_of_behaviours:
        eventually = tuple(each for each in scenario.check.eventually if each.property == violated)
        changed: dict[str, Any] = {"eventually": eventually}
    else:
        changed = {"eventually": (), "only": (violated,), "properties": (), "without": ()}
    return scenario.model_copy(update={"check": scenario.check.model_copy(update=changed)})


def _named(scenario: Scenario, name: str) -> Scenario:
    judged = scenario.check
    violates = judged.only or tuple(dict.fromkeys(each.property for each in judged.eventually))
    about = f"Written by kraftcheck hunt: {', '.join(violates)} is violated in a widening of {scenario.name}."
    expect = Expected(verdict="violated", violates=violates)
    return scenario.model_copy(update={"name": name, "about": about, "source": (), "expect": expect})


def _with_used_bounds(trace: Trace, wide: Scenario) -> Scenario | None:
    if trace.is_of_behaviours:
        return None  # A cycle needs room that its own steps do not show.
    try:
        walked = walk_again(kind_of(wide).build(wide), trace)
        path = tuple(taken.step.path for taken in walked.taken)
        return used(wide, Violation(trace.property or "", len(path), path, trace.initial))
    except DiskError:
        raise
    except (InputError, ValueError):
        return None


def _confirmed(scenario: Scenario, threads: int) -> Trace | None:
    """The counterexample of ``scenario`` where exploring it gives the verdict that it expects."""
    try:
        found = check(scenario, threads=threads, limits=Limits(max_states=MOST_STATES))
    except DiskError:
        raise
    except InputError:
        return None
    return found.traces(seek=False)[0] if found.as_expected else None


def _with_scenario(trace: Trace, scenario: Scenario) -> Trace:
    return replace(trace, scenario=scenario)
