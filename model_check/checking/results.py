"""The output of commands that check scenarios: progress, one result each, and a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kraftcheck.checking import findings
from kraftcheck.checking.run import CheckResult
from kraftcheck.engine.watch import INTERRUPTED, Progress
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.terminal import Console, fitted, say
from kraftcheck.systems.kind import Judged
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces import Trace, terminal


def progress_line(progress: Progress) -> str:
    """The status line of a running exploration."""
    estimate = "" if progress.estimate is None else f" of about {progress.estimate:,}"
    phase = f"{progress.phase}: " if progress.phase else ""
    taken = f"{progress.memory / 2**20:,.0f} MiB, {progress.seconds:,.0f} s"
    if progress.phase and not progress.distinct:
        return f"{progress.phase}, {taken}"
    return (
        f"{phase}level {progress.level}, {progress.distinct:,} states{estimate}, "
        f"frontier {progress.frontier:,}, {progress.rate:,.0f} states/s, {taken}"
    )


def as_data(result: CheckResult) -> dict[str, Any]:
    """The result of one scenario for machines."""
    found = result.exploration
    return {
        "scenario": result.scenario.name,
        "protocol": result.scenario.asked_preset,
        "expected": result.scenario.expect.verdict,
        "verdict": result.verdict.value,
        "in_initial_prefix": result.initial_prefix is not None,
        "misconfigured": [
            {"key": each.key, "reason": each.reason, "rule": each.rule} for each in result.misconfigured
        ],
        "as_expected": result.as_expected,
        "differences": list(result.differences),
        "limit": result.limit,
        "checkpoint": {"taken_up_at_depth": result.taken_up, "kept_to_depth": result.kept},
        "distinct_states": found.distinct,
        "interchangeable": list(result.interchangeable),
        "states_with_renamed": found.states,
        "generated_states": found.generated,
        "skipped_steps": found.skipped,
        "depth": found.depth,
        "states_per_level": list(found.levels),
        "cut_by_constraints": found.constrained,
        "violations": [
            {"property": violation.property, "steps": violation.depth} for violation in found.violations
        ],
        "goals_reached": list(found.reached_goals),
        "goals_missing": list(found.missing_goals),
        "reference_calls": found.calls,
        "collision_probability": found.collision_probability,
        "seconds": round(result.seconds, 3),
        "seconds_exploring": round(found.seconds, 3),
        "visited_bytes": found.visited_bytes,
        "visited_bytes_on_disk": found.spilled_bytes,
        "peak_memory": found.peak_memory,
        "liveness": [
            {
                "property": judged.name,
                "holds": None if judged.spent else judged.holds,
                "stem": judged.stem,
                "cycle": judged.cycle,
                "dead_end": judged.dead_end is not None,
                "open_states": judged.open_states,
                "states": judged.states,
                "closed": judged.closed,
                "spent_budgets": _spent_keys(judged),
                "withheld": list(judged.withheld),
            }
            for judged in result.judged
        ],
        "findings": [findings.as_data(known, name) for name, known in _looks_like(result)],
    }


def _looks_like(result: CheckResult) -> list[tuple[str, findings.Known]]:
    """By property the finding that its counterexample looks like."""
    found = ((trace.property, findings.recognised(trace)) for trace in result.traces(seek=False))
    return [(name, known) for name, known in found if name is not None and known is not None]


def report(
    out: Console, result: CheckResult, *, verbose: bool = False, checkpoint: Path | None = None
) -> None:
    """Print the result of one scenario. ``verbose``: expected counterexamples too. ``checkpoint``: the
    folder of its checkpoint, if it has one.
    """
    found = result.exploration
    mark, style = ("as expected", "green") if result.as_expected else ("DIFFERS", "red")
    if result.scenario.asked_preset is not None:
        mark = f"under {result.scenario.asked_preset}"
    if result.undetermined:
        mark, style = f"UNDETERMINED ({result.limit})", "yellow"
    violated = list(_violated(result))
    kept_open = [_kept_open(result.scenario, judged) for judged in result.kept_open]
    verdict = result.verdict.value if not kept_open else f"undetermined: {kept_open[0]}"
    verdict = f"violated: {violated[0]}" if violated else verdict
    cut = sum(found.constrained.values())
    line = (
        f"{result.scenario.name:<32} {verdict}; {_states(result)}, depth {found.depth}, "
        f"{result.seconds:.1f} s" + (f"; {cut:,} successors outside the bounds" if cut else "")
    )
    fitted(out, line, mark, style)
    notes = [f"also violated: {each}" for each in violated[1:]]
    notes += [f"undetermined: {each}" for each in kept_open[not violated :]]
    for note in (*notes, *_notes(result, verbose, checkpoint)):
        say(out, note, indent=4)
    for name, known in _looks_like(result):
        if verbose or result.differences or result.scenario.name not in known.scenarios:
            say(out, findings.in_words(known, name), indent=4, hang=2)
    for difference in () if violated and result.scenario.asked_preset else result.differences:
        say(out, difference, "red", indent=4)
    if result.differences or verbose:
        for trace in result.traces():
            out.print()
            terminal.show(trace, out)
            _say_how_simple(out, result, trace)


def _violated(result: CheckResult) -> Iterator[str]:
    """The violated properties, each with the length of its counterexample."""
    for each in result.exploration.violations:
        yield f"{each.property} in {each.depth} steps"
    for judged in result.judged:
        if judged.lasso is not None:
            yield f"{judged.name} by a cycle of {judged.cycle} steps after {judged.stem}"
        elif judged.dead_end is not None:
            yield f"{judged.name} out of reach after {judged.stem} steps"


def _notes(result: CheckResult, verbose: bool, checkpoint: Path | None) -> Iterator[str]:
    """What the reader of a verdict should know, a sentence each."""
    found = result.exploration
    yield from (_way_out(judged) for judged in result.kept_open)
    for problem in result.misconfigured:
        yield f"explored as configured, although {problem.key} is wrong: {problem.reason} ({problem.rule})"
    yield from _about_checkpoint(result, checkpoint)
    if result.initial_prefix is not None:
        yield "in the run that leads to replicas.initial-leader, after which nothing was explored"
    if verbose and found.skipped:
        factor = (found.generated + found.skipped) / found.generated
        left_out = f"{found.skipped:,} left out that commute: factor {factor:.2f}"
        yield f"{found.generated:,} steps generated, {left_out}"
    if verbose and found.spilled_bytes:
        yield f"{found.spilled_bytes / 2**20:,.0f} MiB of fingerprints were kept on disk"
    for judged in result.judged:
        if judged.open_states:
            share = f"{judged.open_states:,} of {judged.states:,} states"
            yield f"{judged.name}: open beyond the bound on epochs from {share}"
        elif judged.closed and judged.holds and result.scenario.reduction.epochs == "relative":
            states = f"the {judged.states:,} states with relative epochs are all"
            yield f"{judged.name}: for any number of elections, {states}"


def _kept_open(scenario: Scenario, judged: Judged) -> str:
    """The reason why an *eventually* property has no verdict: the spent budgets."""
    values = (getattr(scenario.budgets, name) for name in judged.spent)
    keys = " and ".join(f"{key} = {value}" for key, value in zip(_spent_keys(judged), values, strict=True))
    verb = "is" if len(judged.spent) == 1 else "are"
    return f"{keys} {verb} spent, and {judged.name} then lacks steps that fairness promises"


def _spent_keys(judged: Judged) -> list[str]:
    return [f"budgets.{name.replace('_', '-')}" for name in judged.spent]


def _way_out(judged: Judged) -> str:
    keys = " and ".join(_spent_keys(judged))
    first, *more = judged.withheld
    lacking = first + (f", and {len(more)} more" if more else "")
    return (
        f"{judged.name}: fairness promises steps that need {keys}: {lacking}; leave {keys} out, or set "
        'check.eventually.fairness.timers to "none"'
    )


def _about_checkpoint(result: CheckResult, folder: Path | None) -> Iterator[str]:
    """The depth at which the search resumed, and the command to resume it again."""
    if result.taken_up is not None:
        yield f"taken up at depth {result.taken_up} from the checkpoint"
    if result.kept is not None:
        # Time begins anew with each run, and suffices if the run completed a level.
        completed = result.limit == "max_seconds" and result.kept != result.taken_up
        enough = result.limit == INTERRUPTED or completed
        more = "" if enough else f" with a larger --{str(result.limit).replace('_', '-')}"
        yield f"kept to depth {result.kept} in {folder}: the same command{more} resumes from there"


def _say_how_simple(out: Console, result: CheckResult, trace: Trace) -> None:
    """Whether this counterexample was chosen among those of its length, and by which criterion."""
    judged = {each.property for each in result.exploration.violations}
    if result.initial_prefix is not None or trace.property not in judged:
        return
    found = result.simplest.get(trace.property)
    if found is None:
        say(out, "The limits leave no room to search for a simpler counterexample of this length.")
        return
    faults = ", ".join(found.faults) or "none"
    simplest = (
        "No counterexample of this length is simpler"
        if found.exact
        else "This is one of the simplest counterexamples of its length"
    )
    who = "replicas" if all(isinstance(each, int) for each in trace.replicas) else "participants"
    say(
        out,
        f"{simplest}. Faults: {faults}; {who} that act: {found.actors}; changes from one to another: "
        f"{found.switches}.",
    )


def _states(result: CheckResult) -> str:
    """The number of explored states, and the number of states that they represent."""
    found = result.exploration
    if not result.interchangeable:
        return f"{found.distinct:,} states"
    who = ", ".join(map(str, result.interchangeable))
    return f"{found.distinct:,} states up to renaming of {who} ({found.states:,} in all)"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a summary of many scenarios needs of one. ``states``: distinct ones; ``seconds``: wall time;
    ``preset``: the one that the command chose instead of the scenario's.
    """

    as_expected: bool
    differs: bool
    undetermined: bool
    states: int
    seconds: float
    preset: str | None = None


def outcome(result: CheckResult) -> Outcome:
    """The outcome of one scenario."""
    return Outcome(
        result.as_expected,
        bool(result.differences),
        result.undetermined,
        result.exploration.distinct,
        result.seconds,
        result.scenario.asked_preset,
    )


def summarize(out: Console, outcomes: Sequence[Outcome], seconds: float | None = None) -> None:
    """Print the outcomes of all scenarios together. ``seconds``: those of all where some ran side by side."""
    expected = sum(each.as_expected for each in outcomes)
    states = sum(each.states for each in outcomes)
    seconds = sum(each.seconds for each in outcomes) if seconds is None else seconds
    counted = f"{states:,} distinct states in {seconds:.1f} s"
    preset = next((each.preset for each in outcomes), None)
    what = "as expected" if preset is None else f"hold under {preset}"
    say(out, f"{expected} of {len(outcomes)} scenarios {what}; {counted}", hang=2)


def exit_status(outcomes: Sequence[Outcome]) -> int:
    """1 where a verdict differs, otherwise 3 where one is undetermined, otherwise 0."""
    if any(each.differs for each in outcomes):
        return EXIT_DIFFERS
    return EXIT_UNDETERMINED if any(each.undetermined for each in outcomes) else EXIT_EXPECTED
