"""One mutant, or the reference as it is, explored in a process of its own.

``python -m kraftcheck.checking.mutation.worker ID`` makes the mutant before anything of the reference is
imported, explores its scenario, and writes JSON lines: one object for each exploration, or one with the key
``error``. ``--control SCENARIO`` explores the unmutated reference. In campaigns
:mod:`kraftcheck.checking.mutation.server` forks it.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

from kraftcheck.checking.mutation import catalogue, patch
from kraftcheck.support.errors import InputError
from kraftcheck.support.exit_codes import EXIT_UNDETERMINED
from kraftcheck.support.failures import of_the_machine
from kraftcheck.systems.scenario import Scenario, find

if TYPE_CHECKING:
    from kraftcheck.checking.mutation.warm import Image
    from kraftcheck.checking.run import CheckResult
    from kraftcheck.engine.system import Limits


def main(argv: Sequence[str] | None = None, stream: TextIO = sys.stdout, image: Image | None = None) -> int:
    """Run the worker with ``argv``, which writes to ``stream``; 0 if all explorations had a result.

    ``image``: this process has imported the reference.
    """
    parser = argparse.ArgumentParser(prog="kraftcheck.checking.mutation.worker", description=__doc__)
    parser.add_argument("mutant", nargs="?")
    parser.add_argument("--control", metavar="SCENARIO")
    parser.add_argument("--catalogue", type=Path, metavar="FILE")
    parser.add_argument("--timeout", type=float, metavar="SECONDS")
    parser.add_argument("--width", type=int, metavar="COLUMNS", help="print counterexamples in full")
    parser.add_argument("--brief", action="store_true", help="print counterexamples with a few words a step")
    arguments = parser.parse_args(argv)
    try:
        if arguments.control is not None:
            results = _control(find(arguments.control), arguments.timeout)
        else:
            mutant = catalogue.shipped(arguments.catalogue)[arguments.mutant]
            become(mutant, image)
            results = _mutant(mutant, arguments.timeout, arguments.width, brief=arguments.brief)
        for result in results:
            print(json.dumps(result), file=stream, flush=True)
    except KeyboardInterrupt:
        return EXIT_UNDETERMINED
    except Exception as error:  # A mutant may break the reference in any way; the campaign reports it.
        limit = of_the_machine(error)
        more = {"error": _what(error)} if limit is None else {"limit": limit}
        print(json.dumps(more), file=stream, flush=True)
        return 1 if limit is None else EXIT_UNDETERMINED
    return 0


def _what(error: Exception) -> str:
    if isinstance(error, InputError):
        return str(error)
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({where.filename}, line {where.lineno})"


def _control(scenario: Scenario, timeout: float | None) -> Iterator[dict[str, Any]]:
    from kraftcheck.checking.coverage.executed import recording
    from kraftcheck.checking.ledger import RECORDED
    from kraftcheck.checking.run import check

    with recording(RECORDED) as ran:
        result = check(scenario, limits=_limits(timeout))
    more = {"differences": list(result.differences), "as_expected": result.as_expected}
    yield _summary(None, result) | more | {"ran": [[*place, flags] for place, flags in ran.flags.items()]}


def _mutant(
    mutant: catalogue.Mutant, timeout: float | None, width: int | None, *, brief: bool = False
) -> Iterator[dict[str, Any]]:
    from kraftcheck.checking.run import check
    from kraftcheck.traces import brief as in_brief
    from kraftcheck.traces.terminal import transcript

    scenario = find(mutant.scenario)
    for name in mutant.expect or (None,):
        result = check(judging(scenario, name), limits=_limits(timeout))
        more = {"trace": _trace(result)}
        if (width is not None or brief) and (traces := result.traces()):
            shortest = min(traces, key=lambda trace: len(trace.steps))
            whole = in_brief.render(shortest) if width is None else transcript(shortest, width)
            more["trace"] = whole.splitlines()
        yield _summary(name, result) | more


def become(mutant: catalogue.Mutant, image: Image | None = None) -> None:
    """Make this process use ``mutant`` instead of the reference. Raises InputError.

    ``image``: the process as it was forked, with the reference imported; ``None``: none of it is imported
    yet.
    """
    if image is not None:
        if _replaced(mutant, image):
            return
        image.forget()
    finder = patch.install(mutant)
    load()
    if finder.applied != set(finder.edits):
        raise _never_imported(mutant, set(finder.edits) - finder.applied)


def _replaced(mutant: catalogue.Mutant, image: Image) -> bool:
    """Whether ``mutant`` could be made by replacing code; if not, some of it may be replaced."""
    if missing := {edit.module for edit in mutant.edit} - set(sys.modules):
        raise _never_imported(mutant, missing)
    return all(
        image.become(module, patch.source_of(module, mutant.id), changed, patch.file_of(module, mutant.id))
        for module, changed in patch.mutated_sources(mutant).items()
    )


def _never_imported(mutant: catalogue.Mutant, modules: set[str]) -> InputError:
    missing = ", ".join(sorted(modules))
    return InputError(f"mutant '{mutant.id}': {missing} is never imported; edit another module.")


def load() -> None:
    """Import the reference, and the modules that explore scenarios of all kinds."""
    for name in ("engine.simulate", "checking.run", "traces.brief", "traces.terminal"):
        import_module(f"kraftcheck.{name}")


def judging(scenario: Scenario, name: str | None) -> Scenario:
    """``scenario`` judging ``name`` alone: a safety property, or one of its goals or *eventually* properties.

    ``None``: all the properties that it judges anyway, without the goals. Exits that a finding shows are
    ignored in each case. What the scenario covers is not noted.
    """
    eventually = tuple(each for each in scenario.check.eventually if each.property == name)
    nothing = {"properties": (), "only": (), "without": (), "goals": (), "eventually": ()}
    alone = scenario.check.model_copy(update=nothing)
    if name is None:
        check = scenario.check.model_copy(update={"goals": ()})
    elif eventually:
        check = alone.model_copy(update={"eventually": eventually})
    elif name in scenario.check.goals:
        check = alone.model_copy(update={"goals": (name,)})
    else:
        check = alone.model_copy(update={"only": (name,)})
    expect = scenario.expect.model_copy(update={"covers": ()})
    return scenario.model_copy(update={"check": check, "expect": expect})


def _limits(timeout: float | None) -> Limits:
    from kraftcheck.engine.system import Limits

    return Limits(max_seconds=timeout)


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
    from kraftcheck.engine.steps import replay

    if not result.exploration.violations:
        return []
    shortest = min(result.exploration.violations, key=lambda violation: violation.depth)
    lines = []
    for number, (path, outcome, _) in enumerate(replay(result.system, shortest.path, shortest.initial), 1):
        what = f"the network loses {path.message}" if outcome is None else str(outcome.action)
        lines.append(f"{number:3}  {what}")
    return lines


if __name__ == "__main__":
    sys.exit(main())
