"""``kraftcheck simulate``: explore a scenario by random walks."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from kraftcheck.checking import findings
from kraftcheck.checking.answers import kept_answers, tables_of
from kraftcheck.engine.shrink import shrink
from kraftcheck.engine.simulate import simulate
from kraftcheck.engine.system import Exploration, Limits
from kraftcheck.engine.watch import INTERRUPTED
from kraftcheck.reference.frozen import replace
from kraftcheck.support import streams
from kraftcheck.support.arguments import (
    KEEPS_ANSWERS,
    add_json,
    byte_count,
    flag,
    positive,
    thread_count,
    whole_number,
)
from kraftcheck.support.exit_codes import EXIT_DIFFERS, EXIT_EXPECTED, EXIT_UNDETERMINED
from kraftcheck.support.files import require_folder_can_be_written
from kraftcheck.support.outputs import print_output
from kraftcheck.support.streams import status
from kraftcheck.support.terminal import console, say
from kraftcheck.systems import scenario
from kraftcheck.systems.kinds import kind_of
from kraftcheck.systems.other_protocol import add_protocol, under
from kraftcheck.systems.scenario import Scenario
from kraftcheck.traces import build, files, json_form, terminal
from kraftcheck.traces.paths import path_text


def configure(parser: argparse.ArgumentParser) -> None:
    """Define the command's arguments."""
    parser.epilog = (
        "Each walk draws how readily replicas act, messages are lost and budgets are spent. The same seed "
        "takes the same walks, whatever the number of threads. Random walks can show that a property is "
        "violated, never that it holds: without a violation the exit status is 3. Steps that a "
        f"counterexample does not need are removed; it may still not be a shortest one. {KEEPS_ANSWERS}"
    )
    parser.add_argument("scenario", metavar="NAME|FILE", help="the scenario")
    add_protocol(parser)
    parser.add_argument(
        "--seed", type=whole_number, default=0, help="the same seed takes the same walks (default: 0)"
    )
    parser.add_argument("--walks", type=positive, default=1000, help="number of walks (default: 1,000)")
    parser.add_argument("--depth", type=positive, default=100, help="most steps of a walk (default: 100)")
    parser.add_argument(
        "--threads", type=thread_count, default=os.cpu_count() or 1, metavar="N", help="default: all cores"
    )
    parser.add_argument(
        "--max-memory", type=byte_count, metavar="SIZE", help="stop when more memory is used, e.g. 8G"
    )
    parser.add_argument("--max-seconds", type=positive, metavar="S", help="stop after S seconds")
    flag(parser, "--keep-going", says="go on after the first violated property")
    parser.add_argument(
        "--shrink",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="leave out of a counterexample what it does not need (default)",
    )
    parser.add_argument(
        "--traces", type=Path, metavar="DIR", help="write counterexamples there, as JSON and HTML"
    )
    add_json(parser)
    flag(parser, "-v", "--verbose", says="show an expected counterexample as well")


@kept_answers()
def run(arguments: argparse.Namespace) -> int:
    """Take the walks. Exit status: 0 the expected violation, 1 an unexpected one, 3 none."""
    require_folder_can_be_written(arguments.traces, "--traces")
    chosen = under(scenario.find(arguments.scenario), arguments.protocol)
    system = kind_of(chosen).build(chosen, arguments.scenario)
    with status(quiet=arguments.json) as tell, tables_of(system) as tables:
        found = simulate(
            system,
            arguments.seed,
            arguments.walks,
            arguments.depth,
            threads=arguments.threads,
            keep_going=arguments.keep_going or len(chosen.expect.violates) > 1,
            limits=Limits(max_memory=arguments.max_memory, max_seconds=arguments.max_seconds),
            progress=lambda progress: tell(f"{chosen.name}: {progress}"),
            tables=tables,
        )
    walked = {each.property: each.depth for each in found.violations}
    if arguments.shrink:
        shrunk = tuple(shrink(system, each).violation for each in found.violations)
        found = replace(found, violations=shrunk)
    unexpected = chosen.expect.unexpected(found)
    code = exit_status(chosen, found)
    traces = [build(system, chosen, violation) for violation in found.violations]
    if arguments.traces is not None:
        files.write(traces, arguments.traces, findings.faults)
    if found.limit == INTERRUPTED:
        streams.say("kraftcheck: interrupted.")
    if arguments.json:
        counts = {name: getattr(arguments, name) for name in ("seed", "walks", "depth")}
        data = {"scenario": chosen.name, **counts, "unexpected": list(unexpected), **_as_data(found)}
        data["eventually_not_judged"] = [each.property for each in chosen.check.eventually]
        data["violations"] = [
            {
                "property": trace.property,
                "walked_steps": walked[trace.property or ""],
                "path": path_text(trace.path),
                "trace": json_form.encode(trace),
            }
            for trace in traces
        ]
        print_output("simulation", data)
        return code
    _report(chosen, found, walked, code, arguments.seed)
    for trace in traces:
        if arguments.verbose or trace.property in unexpected:
            print()
            terminal.show(trace)
    return code


def exit_status(chosen: Scenario, found: Exploration) -> int:
    """1: an unexpected violation; 0: all expected ones, of which there are some; 3: anything else."""
    if chosen.expect.unexpected(found):
        return EXIT_DIFFERS
    violated = {violation.property for violation in found.violations}
    complete = violated >= set(chosen.expect.violates) if chosen.expect.verdict == "violated" else False
    return EXIT_EXPECTED if violated and complete else EXIT_UNDETERMINED


def _report(chosen: Scenario, found: Exploration, walked: dict[str, int], status: int, seed: int) -> None:
    first = found.violations[0] if found.violations else None
    verdict = f"violated: {first.property} in {first.depth} steps" if first else "no violation found"
    if first and walked[first.property] > first.depth:
        verdict += f" (of {walked[first.property]} that the walk took)"
    marks = {
        EXIT_EXPECTED: "as expected",
        EXIT_DIFFERS: "DIFFERS",
        EXIT_UNDETERMINED: "UNDETERMINED, walks prove nothing",
    }
    out = console()
    say(out, f"{chosen.name}: {verdict}; {marks[status]}", hang=4)
    stopped = {
        "max_seconds": "; stopped by --max-seconds",
        "max_memory": "; stopped by --max-memory",
        "interrupted": "; interrupted",
    }
    say(
        out,
        f"seed {seed}: {found.generated:,} steps, about {found.distinct:,} distinct states, "
        f"longest walk {found.depth}, {found.deadlocks:,} walks ended in a state without steps, "
        f"{found.seconds:.1f} s" + stopped.get(found.limit or "", ""),
        indent=2,
        hang=2,
    )
    if chosen.check.goals:
        missing = ", ".join(found.missing_goals) or "none"
        reached = ", ".join(found.reached_goals) or "none"
        say(out, f"goals reached: {reached}; not reached: {missing}", indent=2, hang=2)
    if chosen.check.eventually:
        say(out, "eventually properties are not judged by walks", indent=2)


def _as_data(found: Exploration) -> dict[str, object]:
    return {
        "verdict": found.verdict.value,
        "limit": found.limit,
        "steps": found.generated,
        "distinct_states": found.distinct,
        "longest_walk": found.depth,
        "deadlocks": found.deadlocks,
        "goals_reached": list(found.reached_goals),
        "goals_missing": list(found.missing_goals),
        "seconds": round(found.seconds, 3),
    }
