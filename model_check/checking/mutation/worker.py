"""The explorations of a mutation campaign, as jobs of :mod:`kraftcheck.checking.mutation.server`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from kraftcheck.checking.coverage import executed
from kraftcheck.checking.ledger import RECORDED
from kraftcheck.checking.run import CheckResult, check
from kraftcheck.engine.steps import replay
from kraftcheck.engine.system import Limits
from kraftcheck.support.files import write_atomically
from kraftcheck.systems import citations
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.scenario import Scenario, find
from kraftcheck.traces import brief as in_brief
from kraftcheck.traces.model import Trace
from kraftcheck.traces.page import html
from kraftcheck.traces.page.document import document_of
from kraftcheck.traces.terminal import transcript


def control(scenario: str, timeout: float) -> Iterator[dict[str, Any]]:
    """The result of a scenario, and the functions of the reference that ran."""
    with executed.recording(RECORDED) as ran:
        result = check(find(scenario), limits=Limits(max_seconds=timeout))
    more = {"differences": list(result.differences), "as_expected": result.as_expected}
    yield _summary(None, result) | more | {"ran": [[*place, flags] for place, flags in ran.flags.items()]}


def prepare_controls() -> None:
    """What all controls share: marked code of the reference, and the rules that it names."""
    executed.prepare(RECORDED)
    citations.in_reference()


def explore(
    scenario: str,
    judged: Sequence[str | None],
    timeout: float,
    width: int | None,
    brief: bool,
    page: Mapping[str, str] | None = None,
) -> Iterator[dict[str, Any]]:
    """The result of a scenario for each property that is judged alone (see :func:`judging`).

    With ``width`` counterexamples are in full, for that width; with ``brief`` in a few words a step. With
    ``page`` they are pages in its ``folder``: it has the ``mutant``'s name and what it is ``about``.
    """
    chosen = find(scenario)
    for name in judged:
        result = check(judging(chosen, name), limits=Limits(max_seconds=timeout))
        more = {"trace": _trace(result)}
        if (width is not None or brief or page) and (traces := result.traces()):
            shortest = min(traces, key=lambda trace: len(trace.steps))
            if width is not None or brief:
                whole = in_brief.render(shortest) if width is None else transcript(shortest, width)
                more["trace"] = whole.splitlines()
            if page:
                _write_page(shortest, **page)
        yield _summary(name, result) | more


def _write_page(trace: Trace, folder: str, mutant: str, about: str) -> None:
    shown = document_of(trace, [f"The reference has the edit of {mutant}: {about}"])
    text = html.page(replace(shown, title=f"{mutant}: {shown.title}", again=f"kraftcheck mutate {mutant} -v"))
    write_atomically(Path(folder) / f"{mutant}.{trace.property}.html", text, create_folder=True)


def judging(scenario: Scenario, name: str | None) -> Scenario:
    """``scenario`` judging ``name`` alone: a safety property, or one of its goals or *eventually* properties.

    ``None``: all the properties that it judges anyway, without the goals. Exits that a finding shows are
    ignored in each case. What the scenario covers is not noted. A goal or an *eventually* property is judged
    without those of states and steps, which would be violated first and end the exploration.
    """
    eventually = tuple(each for each in scenario.check.eventually if each.property == name)
    nothing = {"properties": (), "only": (), "without": (), "goals": (), "eventually": ()}
    alone = scenario.check.model_copy(update=nothing)
    if name is None:
        check = scenario.check.model_copy(update={"goals": ()})
    elif eventually:
        check = alone.model_copy(update={"eventually": eventually, **_no_safety(scenario)})
    elif name in scenario.check.goals:
        check = alone.model_copy(update={"goals": (name,), **_no_safety(scenario)})
    else:
        check = alone.model_copy(update={"only": (name,)})
    expect = scenario.expect.model_copy(update={"covers": ()})
    return scenario.model_copy(update={"check": check, "expect": expect})


def _no_safety(scenario: Scenario) -> dict[str, Any]:
    """What leaves out the properties of states and steps, also of the run to an initial leader if the kind of
    scenario has one.
    """
    changes = {"without": tuple(kind_of(scenario).build(scenario).properties), "initial_prefix": False}
    return {key: value for key, value in changes.items() if key in type(scenario.check).model_fields}


def _summary(name: str | None, result: CheckResult) -> dict[str, Any]:
    found = result.exploration
    first = next(iter(violated(result)), None)
    return {
        "judged": name,
        "verdict": verdict(result),
        "property": None if first is None else first.property,
        "steps": None if first is None else first.steps,
        "states": found.distinct,
        "seconds": round(found.seconds, 3),
        "limit": result.limit,
    }


def verdict(result: CheckResult) -> str:
    """``violated``, ``holds`` or ``undetermined``."""
    return "violated" if violated(result) else result.verdict.name.lower()


class Violated(NamedTuple):
    """The violated property, and the steps of the counterexample; ``None``: there is none, as of goals."""

    property: str
    kind: Literal["safety", "eventually", "goal"]
    steps: int | None


def violated(result: CheckResult) -> list[Violated]:
    """The violations: properties, safety properties first and by length, and then goals that were not
    reached, possibly because a violation ended the exploration.
    """
    found = result.exploration
    safety = sorted(found.violations, key=lambda violation: violation.depth)
    unfair = [judged for judged in result.judged if judged.violated]
    missing = found.missing_goals if not result.undetermined else ()
    return [
        *(Violated(violation.property, "safety", violation.depth) for violation in safety),
        *(Violated(judged.name, "eventually", judged.stem + judged.cycle) for judged in unfair),
        *(Violated(goal, "goal", None) for goal in missing),
    ]


def _trace(result: CheckResult) -> list[str]:
    """The shortest counterexample of a safety property in words, a line a step. Empty if there is none."""
    if not result.exploration.violations:
        return []
    shortest = min(result.exploration.violations, key=lambda violation: violation.depth)
    lines = []
    for number, (path, outcome, _) in enumerate(replay(result.system, shortest.path, shortest.initial), 1):
        what = f"the network loses {path.message}" if outcome is None else str(outcome.action)
        lines.append(f"{number:3}  {what}")
    return lines
